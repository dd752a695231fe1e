//! Whatever the paths do, exactly the bytes that were sent arrive, in order, once, and the connection ends. The
//! harness checks the place of every span that is read.

mod common;

use common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use proptest::prelude::*;
use transport::congestion::{Choice, Variant};
use transport::{Config, Event, LossDetection, Protocol, ReceiveBuffer, TcpOptions, scheduler};

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
        Just(scheduler::Choice::MinRtt),
        Just(scheduler::Choice::MinRttOrp),
        (1u32..4, any::<bool>())
            .prop_map(|(segments, cwnd_limited)| scheduler::Choice::RoundRobin { segments, cwnd_limited }),
        Just(scheduler::Choice::Redundant),
        Just(scheduler::Choice::Blest),
        Just(scheduler::Choice::Linux),
    ]
}

fn control() -> impl Strategy<Value = Choice> {
    let controls: Vec<Choice> = transport::congestion::NAMES
        .iter()
        .flat_map(|(name, _)| [None, Some(Variant::Paper), Some(Variant::Linux)].map(|v| Choice::by_name(name, v)))
        .flatten()
        .collect();
    prop::sample::select(controls)
}

fn tcp_options() -> impl Strategy<Value = TcpOptions> {
    let mostly = || prop_oneof![9 => Just(true), 1 => Just(false)];
    (mostly(), mostly(), any::<bool>(), mostly(), any::<bool>(), any::<bool>(), any::<bool>(), 1u32..4).prop_map(
        |(sack, timestamps, rack, frto, ecn, nagle, pacing, segments_per_ack)| TcpOptions {
            sack,
            timestamps,
            loss_detection: if rack { LossDetection::RackTlp } else { LossDetection::Sack },
            frto,
            ecn,
            nagle,
            pacing,
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

/// Half an hour of virtual time: what is not done by then is stuck.
const LONG: u64 = 1_800 * SECOND;

fn check(
    seed: u64,
    configs: [Config; 2],
    paths: Vec<Path>,
    bytes: [u64; 2],
    pause_ms: u64,
) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(seed, configs, paths);
    let up = pair.run_until(LONG, |p| {
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
        pair.connection(side).close(now_ns);
    }
    // An application that stops reading for a while closes the window.
    pair.reading[SERVER] = false;
    let until_ns = pair.now_ns + pause_ms * MS;
    pair.run_until(until_ns, |_| false);
    pair.reading[SERVER] = true;
    let ended = |p: &mut Pair, side| p.saw(side, Event::Closed) || p.saw(side, Event::Aborted);
    let done = pair.run_until(LONG, |p| ended(p, CLIENT) && ended(p, SERVER));
    prop_assert!(done, "stuck: read {:?} of {:?}, {:?}", pair.read, bytes, pair.events);
    // The last acknowledgment may be lost until TIME-WAIT is over (no protocol can do more), but not a byte.
    prop_assert_eq!([pair.read[SERVER], pair.read[CLIENT]], bytes, "{:?}", pair.events);
    prop_assert!(pair.saw(CLIENT, Event::EndOfStream) && pair.saw(SERVER, Event::EndOfStream), "{:?}", pair.events);
    Ok(())
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
}
