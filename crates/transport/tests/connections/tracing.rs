//! What a traced connection tells: each kind of event in a small case, against what is known of the case.

use std::collections::BTreeSet;

use crate::common::{CLIENT, MS, Pair, Path, Recorder, SECOND, SERVER, strip};
use transport::path_manager::PathAction;
use transport::scheduler::Choice;
use transport::trace::{
    AddressOption, Decided, Direction, FallbackReason, LossRule, Pause, Reason, Recovery, ReinjectionReason, Sent,
    Spurious, Timer, TimerChange, Verdict, WindowReason,
};
use transport::{
    Config, Event, Instant, LocalAddress, LossDetection, Protocol, ReceiveBuffer, SubflowId, TcpOptions, TraceEvent,
};

/// Data of a full segment under TCP with timestamps.
const MSS: u64 = 1448;
const SIZE: u64 = 400_000;
const FIRST: SubflowId = SubflowId(0);
const SECOND_SUBFLOW: SubflowId = SubflowId(1);

type Told = Vec<(u64, TraceEvent)>;

/// The server sends `SIZE` bytes by TCP over one path of 50 ms RTT; `lost` says which of its data segments are.
fn tcp(tcp: TcpOptions, path: Path, lost: &'static [u64]) -> Told {
    let congestion = transport::congestion::Choice::named("reno").unwrap();
    let config = Config { protocol: Protocol::Tcp, congestion, tcp, ..Config::default() };
    let mut pair = Pair::new(1, [config.clone(), config], vec![path]);
    let recorder = pair.trace(SERVER);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    let mut sent = 0;
    pair.tap(move |_, side, _, s| {
        let data = side == SERVER && s.payload.len > 0;
        sent += u64::from(data);
        !(data && lost.contains(&sent))
    });
    pair.connection(SERVER).offer(SIZE);
    let now_ns = pair.now_ns;
    pair.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(pair.run_until(100 * SECOND, |p| p.saw(SERVER, Event::Flushed)));
    recorder.events()
}

fn path() -> Path {
    Path::clean(25 * MS)
}

/// Events of these kinds, in order.
fn of(told: &Told, names: &[&str]) -> Vec<TraceEvent> {
    told.iter().map(|(_, event)| event.clone()).filter(|event| names.contains(&event.name())).collect()
}

fn losses(told: &Told) -> Vec<(u64, u64, LossRule)> {
    let lost = |event: TraceEvent| match event {
        TraceEvent::SegmentLost { subflow: FIRST, seq, bytes, rule, .. } => Some((seq, bytes, rule)),
        _ => None,
    };
    of(told, &["tcp:segment_lost"]).into_iter().filter_map(lost).collect()
}

/// Sent again: first sequence number and why.
fn again(told: &Told) -> Vec<(u64, Sent)> {
    let sent = |event: TraceEvent| match event {
        TraceEvent::SegmentSent { seq, why, .. } if why != Sent::New => Some((seq, why)),
        _ => None,
    };
    of(told, &["tcp:segment_sent"]).into_iter().filter_map(sent).collect()
}

fn windows(told: &Told, reason: WindowReason) -> Vec<(f64, Option<f64>)> {
    let window = |event: TraceEvent| match event {
        TraceEvent::WindowChanged { cwnd_segments, ssthresh_segments, why, .. } if why == reason => {
            Some((cwnd_segments, ssthresh_segments))
        }
        _ => None,
    };
    of(told, &["tcp:window_changed"]).into_iter().filter_map(window).collect()
}

/// First sequence number of the nth data segment.
fn seq(nth: u64) -> u64 {
    1 + (nth - 1) * MSS
}

#[test]
fn a_loss_is_told_with_its_rule_the_recovery_and_the_window() {
    for (loss_detection, rule) in
        [(LossDetection::RackTlp, LossRule::RackTime), (LossDetection::Sack, LossRule::DuplicateAcks)]
    {
        let told = tcp(TcpOptions { loss_detection, ..TcpOptions::default() }, path(), &[60]);
        assert_eq!(losses(&told), [(seq(60), MSS, rule)]);
        assert_eq!(again(&told), [(seq(60), Sent::Retransmission)]);
        let phases = of(&told, &["tcp:recovery_entered", "tcp:recovery_left"]);
        let [
            TraceEvent::RecoveryEntered { after: Recovery::Loss, recovery_point, .. },
            TraceEvent::RecoveryLeft { .. },
        ] = phases[..]
        else {
            panic!("{phases:?}")
        };
        // RecoveryPoint is SND.NXT, behind a whole segment; and recovery ends with the window at the threshold: half of what
        // it was.
        assert!(recovery_point > seq(61) && (recovery_point - 1).is_multiple_of(MSS), "{recovery_point}");
        let (_, halved) = windows(&told, WindowReason::Loss)[0];
        let before = windows(&told, WindowReason::Acknowledgment);
        let grown =
            before.iter().filter(|(_, ssthresh)| ssthresh.is_none()).map(|(cwnd, _)| *cwnd).next_back().unwrap();
        assert_eq!(halved, Some(grown / 2.0));
        // Proportional rate reduction has come to the threshold by then, so that the end of recovery changes nothing.
        assert_eq!(windows(&told, WindowReason::Recovery).last(), Some(&(halved.unwrap(), halved)));
        assert_eq!(windows(&told, WindowReason::Recovered), []);
        assert_eq!(windows(&told, WindowReason::Begin), [(10.0, None)]);
    }
}

#[test]
fn a_timeout_is_told_with_the_timer_that_expired() {
    let last = SIZE.div_ceil(MSS);
    let lost: &'static [u64] = Box::leak(vec![last].into_boxed_slice());
    let told = tcp(TcpOptions { loss_detection: LossDetection::Sack, ..TcpOptions::default() }, path(), lost);
    assert_eq!(losses(&told), [(seq(last), SIZE % MSS, LossRule::Timeout)]);
    assert_eq!(again(&told), [(seq(last), Sent::Timeout)]);
    assert_eq!(windows(&told, WindowReason::Timeout)[0].0, 1.0);
    let timers = of(&told, &["tcp:timer_updated"]);
    let expired = |event: &&TraceEvent| matches!(event, TraceEvent::TimerUpdated { change: TimerChange::Expired, .. });
    let expired: Vec<_> = timers.iter().filter(expired).collect();
    assert!(
        matches!(expired[..], [TraceEvent::TimerUpdated { subflow: Some(FIRST), timer: Timer::Retransmission, .. }]),
        "{expired:?}"
    );
    // It tells when it was to expire, which is when it did.
    let at = told.iter().find(|(_, event)| event == expired[0]).unwrap();
    assert!(matches!(at.1, TraceEvent::TimerUpdated { at_ns: Some(at_ns), .. } if at_ns == at.0));
    let entered = of(&told, &["tcp:recovery_entered"]);
    assert!(matches!(entered[..], [TraceEvent::RecoveryEntered { after: Recovery::Timeout, .. }]), "{entered:?}");
}

#[test]
fn a_probe_that_repairs_the_tail_is_told_as_probe_and_as_loss() {
    let last = SIZE.div_ceil(MSS);
    let lost: &'static [u64] = Box::leak(vec![last].into_boxed_slice());
    let told = tcp(TcpOptions::default(), path(), lost);
    assert_eq!(again(&told), [(seq(last), Sent::Probe)]);
    let probes = |event: &TraceEvent| {
        matches!(event, TraceEvent::TimerUpdated { timer: Timer::Probe, change: TimerChange::Expired, .. })
    };
    assert_eq!(told.iter().filter(|(_, event)| probes(event)).count(), 1);
    // What follows the probe tells that it filled a hole (RFC 8985 §7.4.2).
    let config = Config { protocol: Protocol::Tcp, ..Config::default() };
    let mut pair = Pair::new(1, [config.clone(), config], vec![path()]);
    let recorder = pair.trace(SERVER);
    let mut sent = 0;
    pair.tap(move |_, side, _, s| {
        sent += u64::from(side == SERVER && s.payload.len > 0);
        !(side == SERVER && s.payload.len > 0 && sent == 10)
    });
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(10 * MSS);
    pair.run_until(3 * SECOND, |_| false);
    pair.connection(SERVER).offer(10 * MSS);
    pair.run_until(6 * SECOND, |_| false);
    assert_eq!(losses(&recorder.events()), [(seq(10), MSS, LossRule::TailLossProbe)]);
    assert_eq!(windows(&recorder.events(), WindowReason::TailLossProbe).len(), 1);
}

/// The last of all is lost with one before it. Nothing behind it can tell, but the retransmission of the other does, which was sent later
/// (RFC 8985 §6.2 step 5): no timeout.
#[test]
fn a_tail_that_is_lost_with_another_is_found_by_the_retransmission() {
    let last = SIZE.div_ceil(MSS);
    let lost: &'static [u64] = Box::leak(vec![last - 4, last].into_boxed_slice());
    let told = tcp(TcpOptions::default(), path(), lost);
    assert_eq!(
        losses(&told),
        [(seq(last - 4), MSS, LossRule::RackTime), (seq(last), SIZE - (last - 1) * MSS, LossRule::RackTime)]
    );
    assert_eq!(again(&told).iter().map(|(_, why)| *why).collect::<Vec<_>>(), [Sent::Retransmission; 2]);
}

#[test]
fn a_loss_that_was_none_is_told_with_what_shows_it() {
    let stalled = Path { stall_ns: vec![(350 * MS, 950 * MS)], ..path() };
    for (timestamps, shown_by) in [(true, Spurious::Timestamps), (false, Spurious::FRto)] {
        let told = tcp(TcpOptions { timestamps, ..TcpOptions::default() }, stalled.clone(), &[]);
        let spurious = of(&told, &["tcp:loss_spurious"]);
        assert_eq!(spurious, [TraceEvent::LossSpurious { subflow: FIRST, shown_by }]);
        let undone = windows(&told, WindowReason::Undo);
        let timeout = |(_, event): &(u64, TraceEvent)| {
            matches!(event, TraceEvent::WindowChanged { why: WindowReason::Timeout, .. })
        };
        let at = told.iter().position(timeout).unwrap();
        let (before, _) = *windows(&told[..at].to_vec(), WindowReason::Acknowledgment).last().unwrap();
        assert_eq!(undone.len(), 1);
        // The window of before returns (RFC 4015 §3), and what the same acknowledgment covers opens it further.
        assert!((before..before + 10.0).contains(&undone[0].0), "{before} {undone:?}");
    }
}

/// The server sends over two paths, which both stand; what it decides from there on.
fn two_paths(config: Config, paths: Vec<Path>, bytes: u64, until_ns: u64) -> (Pair, Recorder) {
    let mut pair = Pair::new(1, [config.clone(), config], paths);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(1);
    assert!(pair.run_until(3 * SECOND, |p| p.connection(SERVER).views().iter().filter(|v| v.active).count() == 2));
    pair.run_until(4 * SECOND, |_| false);
    let recorder = pair.trace(SERVER);
    pair.connection(SERVER).offer(bytes);
    pair.run_until(until_ns, |_| false);
    (pair, recorder)
}

#[test]
fn the_scheduler_s_choice_is_told_with_what_stood_against_the_others() {
    let (_, recorder) =
        two_paths(Config::default(), vec![Path::clean(10 * MS), Path::clean(40 * MS)], 100_000, 4 * SECOND + MS);
    let told = recorder.events();
    let choices: Vec<_> = of(&told, &["mptcp:scheduled"]);
    // Ten segments fit in the window of the faster path, ten more in that of the other.
    for (n, choice) in choices.iter().enumerate() {
        let TraceEvent::Scheduled { scheduler, decision, chosen, reason, candidates, carried_by, .. } = choice else {
            unreachable!()
        };
        assert_eq!((*scheduler, candidates.len(), carried_by), ("min-rtt", 2, &None));
        let verdicts = [candidates[0].verdict, candidates[1].verdict];
        let expected = match n {
            0..10 => (Decided::Send, vec![FIRST], Reason::ShortestRtt, [Verdict::Chosen, Verdict::Slower]),
            10..20 => (Decided::Send, vec![SECOND_SUBFLOW], Reason::OnlyOne, [Verdict::WindowFull, Verdict::Chosen]),
            _ => (Decided::Blocked, vec![], Reason::NoneCould, [Verdict::WindowFull; 2]),
        };
        assert_eq!((*decision, chosen.clone(), *reason, verdicts), expected, "{n}: {choice:?}");
        if n < 10 {
            assert_eq!((candidates[0].in_flight_segments, candidates[0].room_segments), (n as u32, 10 - n as u32));
        }
        assert!(candidates[0].srtt_ns < 30 * MS && candidates[1].srtt_ns > 75 * MS);
    }
    assert_eq!(choices.len(), 21, "the refusal is told once");
    assert_eq!(of(&told, &["mptcp:paused"]), [TraceEvent::Paused { why: Pause::Blocked }]);
    // Each segment has its mapping: DSNs follow one another, and SSNs those of its subflow.
    let mappings: Vec<_> = of(&told, &["mptcp:mapping"]);
    assert_eq!(mappings.len(), 20);
    for pair in mappings.windows(2) {
        let [
            TraceEvent::Mapping { dsn, bytes, subflow, ssn, .. },
            TraceEvent::Mapping { dsn: next, subflow: on, ssn: next_ssn, .. },
        ] = pair
        else {
            unreachable!()
        };
        assert_eq!(dsn + bytes, *next);
        assert!(subflow != on || u64::from(*ssn) + bytes == u64::from(*next_ssn));
    }
}

#[test]
fn a_path_that_dies_is_suspected_and_what_it_carried_goes_to_the_other() {
    let dies = Path { dead_ns: vec![(4 * SECOND, 60 * SECOND)], ..Path::clean(10 * MS) };
    let (_, recorder) = two_paths(Config::default(), vec![dies, Path::clean(40 * MS)], 50_000, 6 * SECOND);
    let told = recorder.events();
    let queued = of(&told, &["mptcp:reinjection_queued"]);
    let TraceEvent::ReinjectionQueued { from, data_offset, bytes, why } = &queued[0] else { unreachable!() };
    // All ten segments of the first window, and the tail loss probe's, went there and nothing came back.
    let carried = of(&told, &["tcp:segment_sent"]).into_iter().filter_map(|event| match event {
        TraceEvent::SegmentSent { subflow: FIRST, why: Sent::New, data_offset, bytes, .. } => {
            Some((data_offset, data_offset + bytes))
        }
        _ => None,
    });
    let carried: Vec<_> = carried.collect();
    assert_eq!((*from, *why), (Some(FIRST), ReinjectionReason::SubflowTimeout));
    assert_eq!(*data_offset, carried[0].0);
    assert_eq!(data_offset + bytes, carried.iter().map(|&(_, end)| end).max().unwrap());
    let again = of(&told, &["mptcp:reinjected"]);
    for (event, (at, end)) in again.iter().zip(&carried) {
        let TraceEvent::Reinjected { from, to, data_offset, bytes, why } = event else { unreachable!() };
        assert_eq!((&from[..], *to, *why), (&[FIRST][..], SECOND_SUBFLOW, ReinjectionReason::SubflowTimeout));
        assert!((*data_offset, data_offset + bytes) == (*at, *end), "{event:?} {at} {end}");
    }
    assert!(again.len() >= 10);
    let suspected = TraceEvent::PathState { subflow: FIRST, active: true, suspected: true, backup: false };
    let at = |wanted: &TraceEvent| told.iter().position(|(_, event)| event == wanted).unwrap();
    assert!(at(&suspected) < at(&queued[0]) && at(&queued[0]) < at(&again[0]));
    let refused = |event: &TraceEvent| {
        matches!(event, TraceEvent::Scheduled { carried_by: Some(by), candidates, reason: Reason::OnlyOne, .. }
            if by[..] == [FIRST] && candidates[0].verdict == Verdict::Suspected)
    };
    assert!(told.iter().any(|(_, event)| refused(event)));
}

#[test]
fn the_data_level_s_acknowledgments_are_told_with_the_subflow_that_they_came_by() {
    let (pair, recorder) =
        two_paths(Config::default(), vec![Path::clean(10 * MS), Path::clean(40 * MS)], 40_000, 5 * SECOND);
    let acks: Vec<_> = of(&recorder.events(), &["mptcp:data_ack"]);
    let offsets: Vec<_> = acks
        .iter()
        .map(|event| match event {
            TraceEvent::DataAck { subflow: Some(_), data_offset, window_bytes } if *window_bytes > 0 => *data_offset,
            _ => panic!("{event:?}"),
        })
        .collect();
    assert!(offsets.is_sorted_by(|a, b| a < b), "{offsets:?}");
    assert_eq!(offsets.last(), Some(&40_001));
    assert_eq!(pair.read[CLIENT], 40_001);
}

#[test]
fn a_fallback_is_told_at_both_ends_with_its_reason() {
    for (stripped, reasons) in [(CLIENT, [FallbackReason::NotCapable; 2]), (SERVER, [FallbackReason::NotCapable; 2])] {
        let mut pair = Pair::new(1, [Config::default(), Config::default()], vec![path()]);
        let recorders = [CLIENT, SERVER].map(|side| pair.trace(side));
        pair.tap(move |_, side, _, segment| {
            if side == stripped && segment.flags.syn() {
                strip(segment);
            }
            true
        });
        assert!(pair.run_until(5 * SECOND, |p| p.saw(SERVER, Event::Established)));
        pair.connection(SERVER).offer(10_000);
        pair.run_until(8 * SECOND, |p| p.read[CLIENT] == 10_000);
        for (recorder, why) in recorders.iter().zip(reasons) {
            let fallback = of(&recorder.events(), &["mptcp:fallback"]);
            assert_eq!(fallback, [TraceEvent::Fallback { subflow: FIRST, why }], "{stripped}");
        }
    }
    // Later on the only subflow: options are lost.
    let mut pair = Pair::new(1, [Config::default(), Config::default()], vec![path()]);
    let recorder = pair.trace(SERVER);
    pair.tap(|now_ns, _, _, segment| {
        if now_ns > SECOND {
            strip(segment);
        }
        true
    });
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(10_000_000);
    pair.run_until(3 * SECOND, |_| false);
    let fallback = of(&recorder.events(), &["mptcp:fallback"]);
    assert_eq!(fallback, [TraceEvent::Fallback { subflow: FIRST, why: FallbackReason::OptionsLost }]);
}

#[test]
fn addresses_and_priorities_are_told_by_who_sends_and_who_takes_them() {
    let mut pair = Pair::new(1, [Config::default(), Config::default()], vec![path()]);
    let recorders = [CLIENT, SERVER].map(|side| pair.trace(side));
    let second = LocalAddress { id: 3, address: "10.9.9.10".parse().unwrap(), backup: false };
    pair.hosts[SERVER].set_addresses(&[second]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(100_000);
    pair.run_until(2 * SECOND, |_| false);
    let now_ns = pair.now_ns;
    pair.connection(CLIENT)
        .act(Instant::from_nanos(now_ns), PathAction::SetBackup { local_id: 0, remote_id: 3, backup: true });
    pair.run_until(3 * SECOND, |_| false);
    let now_ns = pair.now_ns;
    pair.connection(SERVER).act(Instant::from_nanos(now_ns), PathAction::Withdraw { local_id: 3 });
    pair.run_until(4 * SECOND, |_| false);
    let told = recorders.map(|recorder| {
        let address = |event| match event {
            TraceEvent::Address { option, direction, address_id, address, backup, .. } => {
                (option, direction, address_id, address, backup)
            }
            _ => unreachable!(),
        };
        of(&recorder.events(), &["mptcp:address"]).into_iter().map(address).collect::<Vec<_>>()
    });
    use AddressOption::{AddAddr, AddAddrEcho, MpPrio, RemoveAddr};
    let named = || Some("10.9.9.10".to_owned());
    let both = |server: Direction, client: Direction| {
        [
            (AddAddr, server, Some(3), named(), None),
            (AddAddrEcho, client, Some(3), named(), None),
            (MpPrio, client, None, None, Some(true)),
            (RemoveAddr, server, Some(3), None, None),
        ]
    };
    assert_eq!(told[SERVER], both(Direction::Sent, Direction::Received));
    assert_eq!(told[CLIENT], both(Direction::Received, Direction::Sent));
}

fn penalised() -> Told {
    // A small buffer and a slow second path: the first segment sent there holds back all others.
    let scheduler = Choice::with("min-rtt", [("reinjection", "orp")]).expect("in the table");
    let config = Config { scheduler, receive_buffer: ReceiveBuffer::Fixed(60_000), ..Config::default() };
    let slow = Path { rate_bps: 500_000, ..Path::clean(200 * MS) };
    two_paths(config, vec![Path::clean(10 * MS), slow], 2_000_000, 12 * SECOND).1.events()
}

#[test]
fn a_penalty_halves_the_window_and_is_told() {
    let told = penalised();
    let at = told.iter().position(|(_, event)| event.name() == "mptcp:penalised").expect("the slow path is penalised");
    let TraceEvent::Penalised { subflow: SECOND_SUBFLOW, cwnd_segments, .. } = told[at].1 else {
        panic!("{:?}", told[at])
    };
    let before = told[..at].iter().rev().find_map(|(_, event)| match event {
        TraceEvent::SegmentSent { subflow: SECOND_SUBFLOW, cwnd_segments, .. } => Some(*cwnd_segments),
        _ => None,
    });
    assert!(before.is_some_and(|before| cwnd_segments <= before / 2.0 + 0.5), "{before:?} {cwnd_segments}");
    assert!(
        matches!(told[at + 1].1, TraceEvent::WindowChanged { subflow: SECOND_SUBFLOW, cwnd_segments: now, why: WindowReason::Penalty, .. } if now == cwnd_segments)
    );
    // What the slow path carries is sent on the fast one by the scheduler's own rule.
    let again = |event: &TraceEvent| matches!(event, TraceEvent::Reinjected { from, to: FIRST, why: ReinjectionReason::Scheduler, .. } if from[..] == [SECOND_SUBFLOW]);
    assert!(told.iter().any(|(_, event)| again(event)));
}

#[test]
fn every_kind_occurs_and_every_kind_has_its_name_and_fields_in_json() {
    let mut pair = Pair::new(1, [Config::default(), Config::default()], vec![path()]);
    let recorder = pair.trace(CLIENT);
    pair.tap(|_, side, _, segment| {
        if side == SERVER && segment.flags.syn() {
            strip(segment);
        }
        true
    });
    pair.run_until(SECOND, |_| false);
    let second = LocalAddress { id: 3, address: "10.9.9.10".parse().unwrap(), backup: false };
    let mut addresses = Pair::new(1, [Config::default(), Config::default()], vec![path()]);
    addresses.hosts[SERVER].set_addresses(&[second]);
    let addressed = addresses.trace(SERVER);
    addresses.run_until(SECOND, |p| p.saw(SERVER, Event::Established));
    addresses.connection(SERVER).offer(10_000);
    addresses.run_until(2 * SECOND, |_| false);
    let stalled = Path { stall_ns: vec![(350 * MS, 950 * MS)], ..path() };
    let dies = Path { dead_ns: vec![(4 * SECOND, 60 * SECOND)], ..Path::clean(10 * MS) };
    let dead = two_paths(Config::default(), vec![dies, Path::clean(40 * MS)], 50_000, 6 * SECOND).1;
    let all = [
        recorder.events(),
        addressed.events(),
        penalised(),
        dead.events(),
        tcp(TcpOptions::default(), path(), &[60]),
        tcp(TcpOptions::default(), stalled, &[]),
    ];
    let mut seen = BTreeSet::new();
    for (_, event) in all.iter().flatten() {
        seen.insert(event.name());
        let json = serde_json::to_value(event).unwrap();
        let kind = TraceEvent::KINDS.iter().find(|kind| kind.0 == event.name()).expect("in the list");
        assert_eq!(json["name"], event.name());
        let fields: BTreeSet<&str> = json["data"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, kind.1.iter().copied().collect());
    }
    let kinds: BTreeSet<&str> = TraceEvent::KINDS.iter().map(|kind| kind.0).collect();
    assert_eq!(seen, kinds, "{:?} do not occur", kinds.difference(&seen));
}

#[test]
fn the_page_lists_every_event_with_its_fields() {
    let page = include_str!("../../../../docs/how-to/trace.md");
    let row = |(name, fields, doc): &(&str, &[&str], &str)| {
        let fields: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
        format!("| `{name}` | {} | {} |", fields.join(", "), doc.trim())
    };
    let listed: Vec<_> =
        page.lines().filter(|line| line.starts_with("| `tcp:") || line.starts_with("| `mptcp:")).collect();
    assert_eq!(listed, TraceEvent::KINDS.iter().map(row).collect::<Vec<_>>());
}
