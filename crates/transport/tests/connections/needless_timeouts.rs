//! No retransmission timeout where SACK could repair: over paths that lose, but neither reorder nor change their delay,
//! each timeout of a sender with RACK is explained by what the network lost. The judge knows only the segments: what
//! was sent, what the network dropped, and what the sender heard.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{CLIENT, MS, Pair, Path, SECOND};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::congestion::Choice;
use transport::{Config, Instant, LossDetection, Protocol, ReceiveBuffer, SubflowId, TcpOptions, scheduler};

/// Sequence numbers start anywhere: they are counted from the first that was sent on the path.
#[derive(Clone, Debug)]
enum Seen {
    Sent {
        at_ns: u64,
        from: u32,
        to: u32,
    },
    Heard {
        at_ns: u64,
        ack: u32,
        sacked: Vec<(u32, u32)>,
    },
    /// In either direction.
    Dropped {
        at_ns: u64,
    },
}

/// One path's log, from the sender's SYN on.
#[derive(Default, Debug)]
struct Log {
    base: Option<u32>,
    seen: Vec<Seen>,
}

impl Log {
    fn place(&self, seq: u32) -> u32 {
        seq.wrapping_sub(self.base.unwrap_or(seq))
    }
}

/// A range of sequence numbers, when it was first and when last sent, and when it was reported as received.
struct Range {
    from: u32,
    to: u32,
    first_ns: u64,
    last_ns: u64,
    sacked_ns: Option<u64>,
}

/// Why the timeout at `timeout_ns` was needless, if it was. `cwnd`: the window before it, segments.
fn needless(log: &[Seen], timeout_ns: u64, cwnd: f64) -> Option<String> {
    let mut ranges: Vec<Range> = Vec::new();
    let (mut acknowledged, mut acknowledged_ns, mut rtt_max_ns) = (0, 0, 0);
    let mut answers: Vec<(u64, u64)> = Vec::new();
    for seen in log {
        match seen {
            Seen::Sent { at_ns, from, to } if *at_ns < timeout_ns => {
                let known = ranges.iter_mut().filter(|range| range.from < *to && *from < range.to);
                let mut covered = *from;
                for range in known {
                    range.last_ns = *at_ns;
                    covered = covered.max(range.to);
                }
                if covered < *to {
                    let (first_ns, last_ns) = (*at_ns, *at_ns);
                    ranges.push(Range { from: covered, to: *to, first_ns, last_ns, sacked_ns: None });
                }
            }
            Seen::Heard { at_ns, ack, sacked } if *at_ns < timeout_ns => {
                if *ack > acknowledged {
                    (acknowledged, acknowledged_ns) = (*ack, *at_ns);
                }
                let mut youngest_ns = None;
                for range in ranges.iter_mut().filter(|range| range.sacked_ns.is_none()) {
                    let within = |&(from, to): &(u32, u32)| from <= range.from && range.to <= to;
                    if range.to <= acknowledged || sacked.iter().any(within) {
                        range.sacked_ns = Some(*at_ns);
                        youngest_ns = youngest_ns.max(Some(range.last_ns));
                        if range.first_ns == range.last_ns {
                            rtt_max_ns = rtt_max_ns.max(at_ns - range.first_ns);
                        }
                    }
                }
                // Of what a later acknowledgment covers too, only the last says how long an answer takes.
                answers.extend(youngest_ns.map(|sent_ns| (*at_ns, at_ns - sent_ns)));
            }
            _ => {}
        }
    }
    let left = ranges.iter().find(|range| range.to > acknowledged)?;
    let lost =
        log.iter().any(|seen| matches!(seen, Seen::Dropped { at_ns } if (left.last_ns..timeout_ns).contains(at_ns)));
    let answered_ns = log.iter().find_map(|seen| match seen {
        Seen::Heard { at_ns, ack, .. } if *at_ns >= timeout_ns && *ack >= left.to => Some(*at_ns),
        _ => None,
    });
    // A queue that has just grown: the timeout is at least the last sample R before it, as SRTT' + 4·RTTVAR' ≥ R where
    // R ≥ SRTT (RFC 6298 §2.3), and no more is promised. What is heard while the timer runs does not move it (§5.3: only an
    // acknowledgment of new data does).
    let armed_ns = acknowledged_ns.max(left.last_ns);
    let known_ns = answers.iter().rfind(|&&(at_ns, _)| at_ns <= armed_ns).map_or(0, |&(_, took_ns)| took_ns);
    let slower = answered_ns.is_none_or(|at_ns| at_ns - left.last_ns > known_ns);
    if !lost && !slower {
        return Some(format!("{} to {}: nothing was lost since it was last sent", left.from, left.to));
    }
    // RFC 8985 §6.2: what was sent later has arrived, and the reordering window (at most the smoothed RTT) is over. What was
    // sent twice says nothing: which copy arrived cannot be told in all cases (step 2).
    let later = ranges.iter().filter(|range| range.first_ns > left.last_ns && range.first_ns == range.last_ns);
    let heard = later.filter_map(|range| Some((range.sacked_ns? + rtt_max_ns, range.from))).min();
    let (due_ns, by) = heard.filter(|&(due_ns, _)| due_ns < timeout_ns)?;
    // What was sent after all that arrived (and was sent once) may still be under way; where it fills the window, there is
    // no room to repair.
    let arrived = ranges.iter().filter(|range| range.sacked_ns.is_some() && range.first_ns == range.last_ns);
    let latest_ns = arrived.map(|range| range.last_ns).max().unwrap_or(0);
    let under_way = ranges.iter().filter(|range| range.sacked_ns.is_none() && range.last_ns >= latest_ns).count();
    if under_way as f64 + 1.0 > cwnd {
        return None;
    }
    Some(format!(
        "{} to {} was last sent at {} and lost; {by}, sent later, had arrived by {due_ns}",
        left.from, left.to, left.last_ns
    ))
}

/// The first needless timeout of a transfer from the client, and how many timeouts there were.
fn play(seed: u64, configs: [Config; 2], paths: Vec<Path>, losses: [u64; 2], bytes: u64) -> Result<usize, String> {
    let count = paths.len();
    let logs: Rc<RefCell<Vec<Log>>> = Rc::new(RefCell::new((0..count).map(|_| Log::default()).collect()));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut pair = Pair::new(seed, configs, paths);
    let sent = Rc::clone(&logs);
    pair.tap(move |now_ns, side, path, segment| {
        let log = &mut sent.borrow_mut()[path];
        let kept = rng.next_u64() % 1000 >= losses[side];
        if side == CLIENT {
            let from = *log.base.get_or_insert(segment.seq);
            let from = segment.seq.wrapping_sub(from);
            let length = segment.payload.len + u32::from(segment.flags.syn()) + u32::from(segment.flags.fin());
            if length > 0 {
                log.seen.push(Seen::Sent { at_ns: now_ns, from, to: from + length });
            }
        }
        if !kept {
            log.seen.push(Seen::Dropped { at_ns: now_ns });
        }
        kept
    });
    let heard = Rc::clone(&logs);
    pair.listen(move |now_ns, to, path, segment| {
        if to != CLIENT || !segment.flags.ack() {
            return;
        }
        let log = &mut heard.borrow_mut()[path];
        let sacked = segment
            .options
            .sack
            .as_slice()
            .iter()
            .map(|block| (log.place(block.left), log.place(block.right)))
            .collect();
        let ack = log.place(segment.ack);
        log.seen.push(Seen::Heard { at_ns: now_ns, ack, sacked });
    });
    pair.connection(CLIENT).offer(bytes);
    pair.connection(CLIENT).close(Instant::ZERO);
    // The window of each subflow, and since when.
    let mut windows: Vec<Vec<(u64, f64)>> = Vec::new();
    pair.run_until(7_200 * SECOND, |p| {
        let now_ns = p.now_ns;
        let views = p.connection(CLIENT).views();
        windows.resize(views.len().max(windows.len()), Vec::new());
        for (known, view) in windows.iter_mut().zip(views) {
            if known.last().is_none_or(|&(_, cwnd)| cwnd != view.cwnd) {
                known.push((now_ns, view.cwnd));
            }
        }
        p.read[1 - CLIENT] == bytes
    });
    if pair.read[1 - CLIENT] != bytes {
        return Ok(0); // a handshake that failed, or a path that loses nearly everything: the other properties ask that
    }
    let logs = logs.take();
    let connection = pair.connection(CLIENT);
    let mut timeouts = 0;
    for subflow in (0..connection.subflow_count() as u8).map(SubflowId) {
        let std::net::IpAddr::V4(address) = connection.tuple(subflow).local.ip() else { unreachable!() };
        let log = &logs[usize::from(address.octets()[2])];
        for timeout_ns in connection.timeout_times(subflow).iter().map(|at| at.as_nanos()) {
            timeouts += 1;
            let before = windows[usize::from(subflow.0)].iter().rfind(|&&(since_ns, _)| since_ns < timeout_ns);
            let cwnd = before.map_or(1.0, |&(_, cwnd)| cwnd);
            if let Some(why) = needless(&log.seen, timeout_ns, cwnd) {
                return Err(format!("subflow {}, timeout at {timeout_ns}: {why}", subflow.0));
            }
        }
    }
    Ok(timeouts)
}

fn path() -> impl Strategy<Value = Path> {
    let rate = prop_oneof![Just(0u64), Just(500_000), Just(2_000_000), Just(20_000_000)];
    (1u64..300, rate).prop_map(|(delay_ms, rate_bps)| Path { rate_bps, ..Path::clean(delay_ms * MS) })
}

fn config() -> impl Strategy<Value = Config> {
    let options = (any::<[bool; 5]>(), 1u32..4);
    let buffer = prop_oneof![Just(ReceiveBuffer::Auto), (60_000u64..400_000).prop_map(ReceiveBuffer::Fixed)];
    let control = prop::sample::select(Choice::samples());
    let scheduler = prop::sample::select(scheduler::Choice::samples());
    (options, control, scheduler, any::<bool>(), 500u16..9000, buffer).prop_map(
        |((flags, segments_per_ack), congestion, scheduler, mptcp, mss, receive_buffer)| {
            let [timestamps, frto, nagle, pacing, ecn] = flags;
            let loss_detection = LossDetection::RackTlp;
            let tcp = TcpOptions {
                timestamps,
                frto,
                nagle,
                pacing,
                ecn,
                loss_detection,
                segments_per_ack,
                ..TcpOptions::default()
            };
            let protocol = if mptcp { Protocol::Mptcp } else { Protocol::Tcp };
            Config { protocol, congestion, scheduler, mss, receive_buffer, tcp, ..Config::default() }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn no_timeout_where_sack_could_repair(
        seed: u64,
        config in config(),
        paths in prop::collection::vec(path(), 1..4),
        losses in (prop_oneof![Just(0u64), 1u64..50, 50u64..200], prop_oneof![3 => Just(0u64), 1 => 1u64..100]),
        bytes in 1u64..400_000,
    ) {
        let played = play(seed, [config.clone(), config], paths, [losses.0, losses.1], bytes);
        prop_assert!(played.is_ok(), "{}", played.unwrap_err());
    }
}
