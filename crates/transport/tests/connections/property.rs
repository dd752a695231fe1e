//! Whatever the paths do, exactly the bytes that were sent arrive, in order, once, and the connection ends. The
//! harness checks the place of every span that is read.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use transport::congestion::Choice;
use transport::trace::{Recovery, Sent};
use transport::{
    Config, Event, Instant, LossDetection, Protocol, ReceiveBuffer, SubflowId, TcpOptions, TraceEvent, scheduler,
};

fn path() -> impl Strategy<Value = Path> {
    (
        1u64..300,
        prop_oneof![Just(0u64), 1u64..100],
        prop_oneof![Just(0u64), Just(500_000), Just(10_000_000)],
        prop_oneof![Just(0u64), 1u64..50, 50u64..200],
        prop_oneof![Just(0u64), 1u64..200],
        prop::collection::vec((0u64..20_000, 1u64..10_000), 0..3),
        prop::collection::vec((0u64..20_000, 1u64..3_000), 0..3),
    )
        .prop_map(|(delay, jitter, rate_bps, loss, duplication, dead, stalls)| Path {
            delay_ns: delay * MS,
            jitter_ns: jitter * MS,
            rate_bps,
            loss,
            duplication,
            dead_ns: dead.into_iter().map(|(from, len)| (from * MS, (from + len) * MS)).collect(),
            stall_ns: stalls.into_iter().map(|(from, len)| (from * MS, (from + len) * MS)).collect(),
        })
}

fn scheduler() -> impl Strategy<Value = scheduler::Choice> {
    prop_oneof![
        9 => prop::sample::select(scheduler::Choice::samples()),
        1 => any::<u64>().prop_map(crate::common::wild),
    ]
}

fn control() -> impl Strategy<Value = Choice> {
    prop::sample::select(Choice::samples())
}

fn tcp_options() -> impl Strategy<Value = TcpOptions> {
    let mostly = || prop_oneof![9 => Just(true), 1 => Just(false)];
    let tso = prop::bool::weighted(0.25);
    (mostly(), mostly(), any::<bool>(), mostly(), any::<bool>(), any::<bool>(), any::<bool>(), tso, 1u32..4).prop_map(
        |(sack, timestamps, rack, frto, ecn, nagle, pacing, tso, segments_per_ack)| TcpOptions {
            sack,
            timestamps,
            loss_detection: if rack { LossDetection::RackTlp } else { LossDetection::Sack },
            frto,
            ecn,
            nagle,
            pacing,
            tso,
            segments_per_ack,
            ..TcpOptions::default()
        },
    )
}

fn config() -> impl Strategy<Value = Config> {
    (
        any::<bool>(),
        control(),
        scheduler(),
        prop_oneof![Just(ReceiveBuffer::Auto), (3_000u64..200_000).prop_map(ReceiveBuffer::Fixed)],
        prop_oneof![Just(1460u16), 200u16..9000],
        tcp_options(),
        any::<bool>(),
    )
        .prop_map(|(mptcp, congestion, scheduler, receive_buffer, mss, tcp, checksum)| Config {
            protocol: if mptcp { Protocol::Mptcp } else { Protocol::Tcp },
            congestion,
            scheduler,
            receive_buffer,
            mss,
            tcp,
            checksum,
            ..Config::default()
        })
}

/// Four hours of virtual time: what is not done by then is stuck. One path that loses a fifth each way, with segments of
/// 200 bytes and without SACK, takes more than half an hour once in some ten thousand transfers.
const LONG: u64 = 4 * 3_600 * SECOND;

fn check(
    seed: u64,
    configs: [Config; 2],
    paths: Vec<Path>,
    bytes: [u64; 2],
    pause_ms: u64,
) -> Result<(), TestCaseError> {
    check_pair(&mut Pair::new(seed, configs, paths), bytes, pause_ms, LONG)
}

fn check_pair(pair: &mut Pair, bytes: [u64; 2], pause_ms: u64, within_ns: u64) -> Result<(), TestCaseError> {
    let up = pair.run_until(within_ns, |p| {
        (p.saw(CLIENT, Event::Established) && p.saw(SERVER, Event::Established))
            || p.saw(CLIENT, Event::Aborted)
            || p.saw(SERVER, Event::Aborted)
    });
    prop_assert!(up, "the handshake is stuck");
    if pair.saw(CLIENT, Event::Aborted) || pair.saw(SERVER, Event::Aborted) {
        return Ok(()); // six SYNs were lost, which is in order
    }
    for side in [CLIENT, SERVER] {
        pair.connection(side).offer(bytes[side]);
        let now_ns = pair.now_ns;
        pair.connection(side).close(Instant::from_nanos(now_ns));
    }
    // An application that stops reading for a while closes the window.
    pair.reading[SERVER] = false;
    let until_ns = pair.now_ns + pause_ms * MS;
    pair.run_until(until_ns, |_| false);
    pair.reading[SERVER] = true;
    let ended = |p: &mut Pair, side| p.saw(side, Event::Closed) || p.saw(side, Event::Aborted);
    let done = pair.run_until(within_ns, |p| ended(p, CLIENT) && ended(p, SERVER));
    prop_assert!(done, "stuck: read {:?} of {:?}, {:?}", pair.read, bytes, pair.events);
    // The last acknowledgment may be lost until TIME-WAIT is over (no protocol can do more), but not a byte.
    prop_assert_eq!([pair.read[SERVER], pair.read[CLIENT]], bytes, "{:?}", pair.events);
    prop_assert!(pair.saw(CLIENT, Event::EndOfStream) && pair.saw(SERVER, Event::EndOfStream), "{:?}", pair.events);
    Ok(())
}

/// What the short way is made for, or all that there is.
fn config_with_shortcuts() -> impl Strategy<Value = Config> {
    let reinjection = prop_oneof![Just("none"), Just("orp")];
    let plain = (config(), reinjection).prop_map(|(config, reinjection)| {
        let loss_detection = LossDetection::RackTlp;
        let tcp = TcpOptions { loss_detection, sack: true, ecn: false, pacing: false, ..config.tcp };
        let scheduler = scheduler::Choice::with("min-rtt", [("reinjection", reinjection)]).expect("in the table");
        Config { tcp, checksum: false, scheduler, ..config }
    });
    prop_oneof![3 => plain, 1 => config()]
}

/// What was heard agrees with what the ends have counted: data sent and sent again, timeouts, losses undone, reinjections; and
/// windows, as the last change has left them.
fn check_traces(traces: &[Vec<(u64, TraceEvent)>; 2], pair: &Pair) -> Result<(), TestCaseError> {
    for (side, events) in traces.iter().enumerate() {
        let Some(id) = pair.ids[side] else { continue };
        let connection = pair.hosts[side].connection(id);
        prop_assert!(events.is_sorted_by_key(|(at_ns, _)| *at_ns));
        for r in (0..connection.subflow_count() as u8).map(SubflowId) {
            let counted = connection.statistics(r);
            let count = |is: &dyn Fn(&TraceEvent) -> bool| events.iter().filter(|(_, event)| is(event)).count() as u64;
            let sent = |wanted: Sent| {
                let is = |event: &TraceEvent| match event {
                    TraceEvent::SegmentSent { subflow, bytes, why, .. } => {
                        *subflow == r && *bytes > 0 && *why == wanted
                    }
                    _ => false,
                };
                count(&is)
            };
            let again = sent(Sent::Retransmission) + sent(Sent::Timeout) + sent(Sent::Probe);
            prop_assert_eq!(again, counted.retransmissions);
            prop_assert_eq!(sent(Sent::Reinjection), counted.reinjections);
            prop_assert_eq!(again + sent(Sent::Reinjection) + sent(Sent::New), counted.data_segments_sent);
            let undone = count(&|event| matches!(event, TraceEvent::LossSpurious { subflow, .. } if *subflow == r));
            prop_assert_eq!(undone, counted.undone);
            let entered = |event: &TraceEvent| matches!(event, TraceEvent::RecoveryEntered { subflow, after: Recovery::Timeout, .. } if *subflow == r);
            prop_assert_eq!(count(&entered), counted.timeouts);
            let windows = events.iter().rev().filter_map(|(_, event)| match event {
                TraceEvent::WindowChanged { subflow, cwnd_segments, .. } if *subflow == r => Some(*cwnd_segments),
                _ => None,
            });
            prop_assert_eq!(windows.into_iter().next(), Some(counted.cwnd_segments));
        }
    }
    Ok(())
}

/// All segments that were sent, and when, and what the ends know and have counted at the end.
fn played(
    seed: u64,
    configs: [Config; 2],
    paths: Vec<Path>,
    bytes: [u64; 2],
    pause_ms: u64,
    traced: bool,
) -> Result<(Vec<String>, String), TestCaseError> {
    let mut pair = Pair::new(seed, configs, paths);
    let traces = traced.then(|| [CLIENT, SERVER].map(|side| pair.trace(side)));
    let log = Rc::new(RefCell::new(Vec::new()));
    let sent = Rc::clone(&log);
    pair.tap(move |now_ns, side, path, segment| {
        sent.borrow_mut().push(format!("{now_ns} {side} {path} {segment:?}"));
        true
    });
    check_pair(&mut pair, bytes, pause_ms, LONG)?;
    let mut known = format!("{} {:?}", pair.now_ns, pair.events);
    for side in [CLIENT, SERVER] {
        let Some(id) = pair.ids[side] else { continue };
        let connection = pair.hosts[side].connection(id);
        let subflows = 0..connection.subflow_count() as u8;
        let statistics: Vec<_> = subflows.map(|r| connection.statistics(SubflowId(r))).collect();
        let (views, timeout) = (connection.views(), connection.next_timeout());
        known += &format!("\n{statistics:?} {views:?} {timeout:?} {:?}", connection.out_of_order_delays());
    }
    if let Some(traces) = traces {
        check_traces(&traces.map(|trace| trace.events()), &pair)?;
    }
    Ok((log.take(), known))
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, ..ProptestConfig::with_cases(400) })]

    /// Both directions at once, over one to four paths that lose, reorder, duplicate, delay, die and return. The
    /// client's first path never dies for good, so the connection must end.
    #[test]
    fn every_byte_arrives_once_and_in_order(
        seed: u64,
        client in config(),
        server in config(),
        paths in prop::collection::vec(path(), 1..5),
        bytes in [0u64..400_000, 0u64..400_000],
        pause_ms in prop_oneof![Just(0u64), 0u64..5_000],
    ) {
        check(seed, [client, server], paths, bytes, pause_ms)?;
    }

    /// With and without the short way for segments in order every segment is the same, at the same time.
    #[test]
    fn shortcuts_change_nothing(
        seed: u64,
        client in config_with_shortcuts(),
        server in config_with_shortcuts(),
        paths in prop::collection::vec(path(), 1..5),
        bytes in (0u64..400_000, prop_oneof![Just(0u64), 0u64..400_000]),
        pause_ms in prop_oneof![Just(0u64), 0u64..5_000],
    ) {
        let ways = [true, false].map(|shortcuts| {
            let configs = [&client, &server].map(|c| Config { tcp: TcpOptions { shortcuts, ..c.tcp }, ..c.clone() });
            played(seed, configs, paths.clone(), [bytes.0, bytes.1], pause_ms, false)
        });
        let [short, long] = ways;
        let ((short, short_known), (long, long_known)) = (short?, long?);
        let differ = short.iter().zip(&long).position(|(a, b)| a != b);
        prop_assert!(differ.is_none(), "{:?}", differ.map(|n| (&short[n], &long[n])));
        prop_assert_eq!(short.len(), long.len());
        prop_assert_eq!(short_known, long_known);
    }

    /// The integral of a window over time is that of the windows seen after each event, whatever ends them: losses,
    /// timeouts, and pauses of an application that does not fill its window.
    #[test]
    fn the_mean_window_is_that_of_the_windows(
        seed: u64,
        client in config(),
        server in config(),
        paths in prop::collection::vec(path(), 1..5),
        pieces in prop::collection::vec((0u64..100_000, 0u64..5_000), 1..8),
    ) {
        let mut pair = Pair::new(seed, [client, server], paths);
        let mut seen: BTreeMap<(usize, u8), (u64, f64, f64)> = BTreeMap::new();
        let mut wrong = None;
        let mut compare = |pair: &mut Pair| {
            for side in [CLIENT, SERVER] {
                let Some(id) = pair.ids[side] else { continue };
                let (now_ns, connection) = (pair.now_ns, pair.hosts[side].connection(id));
                for r in 0..connection.subflow_count() as u8 {
                    let s = connection.statistics(SubflowId(r));
                    if s.established_ns == 0 {
                        continue;
                    }
                    let counted =
                        s.cwnd_integral_segment_ns + s.cwnd_segments * (now_ns - s.cwnd_integral_until_ns) as f64;
                    let (since_ns, cwnd, sum) = seen.entry((side, r)).or_insert((now_ns, 0.0, counted));
                    *sum += *cwnd * (now_ns - *since_ns) as f64;
                    (*since_ns, *cwnd) = (now_ns, s.cwnd_segments);
                    if (*sum - counted).abs() > 1e-9 * *sum {
                        wrong.get_or_insert((now_ns, side, r, *sum, counted));
                    }
                }
            }
            false
        };
        pair.run_until(SECOND, &mut compare);
        for (bytes, pause_ms) in pieces {
            for side in [CLIENT, SERVER] {
                if pair.ids[side].is_some() {
                    pair.connection(side).offer(bytes);
                }
            }
            let until_ns = pair.now_ns + pause_ms * MS;
            pair.run_until(until_ns, &mut compare);
        }
        prop_assert!(wrong.is_none(), "{wrong:?}");
    }

    /// Whether somebody hears why, every segment is the same, at the same time; and what is heard adds up.
    #[test]
    fn a_trace_changes_nothing(
        seed: u64,
        configs in [config(), config()],
        paths in prop::collection::vec(path(), 1..5),
        bytes in [0u64..400_000, 0u64..400_000],
        pause_ms in prop_oneof![Just(0u64), 0u64..5_000],
    ) {
        let [off, on] = [false, true].map(|traced| played(seed, configs.clone(), paths.clone(), bytes, pause_ms, traced));
        let ((off, off_known), (on, on_known)) = (off?, on?);
        let differ = off.iter().zip(&on).position(|(a, b)| a != b);
        prop_assert!(differ.is_none(), "{:?}", differ.map(|n| (&off[n], &on[n])));
        prop_assert_eq!(off.len(), on.len());
        prop_assert_eq!(off_known, on_known);
    }
}

/// What the next case of a scheduler is: two ends, paths, and how much is sent.
fn transfer() -> impl Strategy<Value = (u64, [Config; 2], Vec<Path>, [u64; 2], u64)> {
    let paths = prop::collection::vec(path(), 1..5);
    let pause = prop_oneof![Just(0u64), 0u64..5_000];
    (any::<u64>(), config(), config(), paths, [0u64..400_000, 0u64..400_000], pause)
        .prop_map(|(seed, client, server, paths, bytes, pause_ms)| (seed, [client, server], paths, bytes, pause_ms))
}

/// `SCHEDULER_CASES` random transfers (100) with each scheduler at both ends, and with other values of its parameters.
#[test]
fn every_scheduler_brings_everything_over_any_paths() {
    #[allow(clippy::disallowed_methods)] // how many cases are run, not what they give
    let cases = std::env::var("SCHEDULER_CASES").map_or(100, |cases| cases.parse().expect("a whole number"));
    for choice in scheduler::Choice::samples() {
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        // The same cases for each, every time: there is nothing to remember.
        let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
        let mut runner = TestRunner::new_with_rng(config, rng);
        let done = runner.run(&transfer(), |(seed, configs, paths, bytes, pause_ms)| {
            let configs = configs.map(|c| Config { protocol: Protocol::Mptcp, scheduler: choice.clone(), ..c });
            check_pair(&mut Pair::new(seed, configs, paths), bytes, pause_ms, LONG)
        });
        assert!(done.is_ok(), "{choice:?}: {}", done.unwrap_err());
        println!("{choice:?}: {cases} transfers");
    }
}
