//! The send plan on a whole connection: what a scheduler binds ahead, sends on several subflows, or leaves.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER, wild};
use transport::congestion::View;
use transport::path_manager::PathAction;
use transport::scheduler::{
    Choice, Context, Decision, Demand, MinRtt, PacketScheduler, Redundant, SubflowSet, contract, usable,
};
use transport::{Config, Event, Instant, Protocol, ReceiveBuffer, SubflowId};

/// Binds everything at once, in turns: so many segments to each subflow that works. What DAPS and OTIAS need is of this kind.
#[derive(Debug)]
struct Ahead {
    turn: Vec<u64>,
    at: usize,
}

impl PacketScheduler for Ahead {
    fn name(&self) -> &'static str {
        "ahead"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        if demand != Demand::New {
            return MinRtt.choose(demand, group, context);
        }
        let only_backups = !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
        for _ in 0..group.len() {
            let r = self.at % group.len();
            self.at += 1;
            if group.get(r).is_some_and(|v| v.active && !v.potentially_failed && (only_backups || !v.backup)) {
                let bytes = self.turn[r % self.turn.len()] * u64::from(group[r].mss);
                return Decision::Bind { on: SubflowSet::one(r), bytes };
            }
        }
        Decision::Wait { until: Instant::NEVER }
    }
}

/// Sends each segment on all subflows at once, when all have room.
#[derive(Debug)]
struct Together;

impl PacketScheduler for Together {
    fn name(&self) -> &'static str {
        "together"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        if demand != Demand::New || group.iter().filter(|v| v.active).count() < 2 {
            return MinRtt.choose(demand, group, context);
        }
        if group.iter().all(usable) {
            Decision::Send { on: SubflowSet((1 << group.len()) - 1), burst: 2 }
        } else {
            Decision::Blocked
        }
    }
}

/// Binds a hundred segments to the first subflow, repeats them on the second one, and binds the rest when nothing waits on
/// the first: when it was asked, and what waited there.
#[derive(Debug)]
struct Overtaken(Arc<Mutex<Vec<(u64, u64)>>>);

impl PacketScheduler for Overtaken {
    fn name(&self) -> &'static str {
        "overtaken"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        if demand != Demand::New || group.iter().filter(|v| v.active).count() < 2 {
            return MinRtt.choose(demand, group, context);
        }
        let queued_bytes = context.counters(0).queued_bytes;
        self.0.lock().unwrap().push((context.now.as_nanos(), queued_bytes));
        if context.sent_bytes == 2_000 {
            Decision::Bind { on: SubflowSet::one(0), bytes: 100 * u64::from(group[0].mss) }
        } else if queued_bytes > 0 {
            Decision::Repeat { on: SubflowSet::one(1), from: context.acknowledged_bytes, to: context.sent_bytes }
        } else {
            Decision::Bind { on: SubflowSet::one(1), bytes: context.available_bytes }
        }
    }
}

fn ahead(turn: &[u64]) -> Choice {
    let turn = turn.to_vec();
    Choice::custom("ahead", move |_| Box::new(Ahead { turn: turn.clone(), at: 0 }))
}

/// What went over the paths from the server: for each, every range of data at its time, in order.
type Sent = Rc<RefCell<BTreeMap<usize, Vec<(u64, u64, u64)>>>>;

/// A connection on which all subflows stand and the first 2000 bytes were exchanged.
fn pair(scheduler: Choice, receive_buffer: ReceiveBuffer, paths: Vec<Path>) -> (Pair, Sent) {
    let count = paths.len();
    let config = Config { scheduler, receive_buffer, ..Config::default() };
    let mut p = Pair::new(1, [config.clone(), config], paths);
    assert!(p.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    p.connection(SERVER).offer(2_000);
    p.run_until(2 * SECOND, |_| false);
    assert_eq!(p.connection(SERVER).views().iter().filter(|v| v.active).count(), count);
    let sent = Sent::default();
    let log = Rc::clone(&sent);
    p.tap(move |now_ns, side, path, segment| {
        if side == SERVER && segment.payload.len > 0 {
            let (from, len) = (segment.payload.offset, u64::from(segment.payload.len));
            log.borrow_mut().entry(path).or_default().push((now_ns, from, from + len));
        }
        true
    });
    (p, sent)
}

fn finish(p: &mut Pair, bytes: u64) -> u64 {
    let begin_ns = p.now_ns;
    p.connection(SERVER).offer(bytes);
    p.connection(SERVER).close(Instant::from_nanos(begin_ns));
    assert!(p.run_until(begin_ns + 600 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "read {:?}", p.read);
    assert_eq!(p.read[CLIENT], bytes + 2_000);
    p.now_ns - begin_ns
}

fn reinjections(p: &mut Pair) -> u64 {
    let count = p.connection(SERVER).subflow_count() as u8;
    (0..count).map(|r| p.connection(SERVER).statistics(SubflowId(r)).reinjections).sum()
}

fn bytes_on(sent: &Sent, path: usize) -> u64 {
    sent.borrow().get(&path).map_or(0, |all| all.iter().map(|&(_, from, to)| to - from).sum())
}

#[test]
fn what_need_not_be_sent_any_more_makes_room_at_once() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&log);
    let choice = Choice::custom("overtaken", move |_| Box::new(Overtaken(Arc::clone(&own))));
    let (mut p, _) = pair(choice, ReceiveBuffer::Auto, vec![Path::clean(150 * MS), Path::clean(5 * MS)]);
    finish(&mut p, 400_000);
    let log = log.lock().unwrap();
    let emptied = log.windows(2).find(|two| two[0].1 > 0 && two[1].1 == 0).expect("it becomes empty");
    // All of it came over the other path. The first acknowledgment on this one clears it, and the scheduler is asked then.
    assert!(emptied[0].1 > 10_000, "{emptied:?}");
    assert_eq!(emptied[0].0, emptied[1].0);
}

#[test]
fn the_schedulers_of_these_tests_conform() {
    contract::check(|| Box::new(Ahead { turn: vec![5, 1], at: 0 })).unwrap();
    contract::check(|| Box::new(Redundant::default())).unwrap();
}

#[test]
fn a_segment_for_two_subflows_goes_out_on_both_at_once() {
    let together = Choice::custom("together", |_| Box::new(Together));
    // Where the window is the limit, each subflow waits for its own acknowledgment to tell that it opened (RFC 8684 §3.3.5).
    let (mut p, sent) = pair(together, ReceiveBuffer::Fixed(4 << 20), vec![Path::clean(20 * MS), Path::clean(20 * MS)]);
    finish(&mut p, 300_000);
    let sent = sent.borrow();
    assert_eq!(sent[&0], sent[&1], "the same, at the same times");
    assert_eq!(sent[&0].iter().map(|&(_, from, to)| to - from).sum::<u64>(), 300_000);
    assert_eq!(reinjections(&mut p), 300_000_u64.div_ceil(1420));
}

#[test]
fn what_is_bound_ahead_goes_out_once_and_in_order_whatever_the_window() {
    for buffer in [ReceiveBuffer::Fixed(1 << 20), ReceiveBuffer::Fixed(40_000)] {
        let (mut p, sent) = pair(ahead(&[5, 1]), buffer, vec![Path::clean(10 * MS), Path::clean(50 * MS)]);
        p.connection(SERVER).offer(200_000);
        let until_ns = p.now_ns + MS;
        p.run_until(until_ns, |_| false);
        // Far more is bound than the windows of ten segments allow, but no more than the peer does.
        let server = p.connection(SERVER);
        let queued: Vec<_> = server.views().iter().map(|v| v.queued).collect();
        assert!(queued[0] > 0 && (queued[1] > 0 || buffer == ReceiveBuffer::Fixed(40_000)), "{queued:?}");
        assert!(server.views().iter().all(|v| v.in_flight <= 10), "{:?}", server.views());
        match buffer {
            ReceiveBuffer::Fixed(40_000) => assert!(server.bytes_unacknowledged() - server.bytes_unsent() <= 40_000),
            _ => assert_eq!(server.bytes_unsent(), 0),
        }
        finish_from(&mut p, 200_000);
        let sent = sent.borrow();
        for all in sent.values() {
            assert!(all.windows(2).all(|two| two[0].2 <= two[1].1), "out of order on a subflow");
        }
        let total: u64 = sent.values().flatten().map(|&(_, from, to)| to - from).sum();
        assert_eq!((total, reinjections(&mut p)), (200_000, 0), "sent twice, with nothing lost");
        let share = sent[&1].iter().map(|&(_, from, to)| to - from).sum::<u64>() as f64 / 200_000.0;
        assert!((share - 1.0 / 6.0).abs() < 0.03, "{share}");
    }
}

/// As [`finish`], of what was offered already.
fn finish_from(p: &mut Pair, bytes: u64) {
    let now_ns = p.now_ns;
    p.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(p.run_until(now_ns + 600 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "read {:?}", p.read);
    assert_eq!(p.read[CLIENT], bytes + 2_000);
}

#[test]
fn what_is_bound_to_a_path_that_dies_is_delivered_within_its_timeout() {
    let dead = Path { dead_ns: vec![(2_060 * MS, 3_600 * SECOND)], ..Path::clean(20 * MS) };
    let (mut p, sent) = pair(ahead(&[1, 1]), ReceiveBuffer::Fixed(1 << 20), vec![dead, Path::clean(20 * MS)]);
    let took_ns = finish(&mut p, 500_000);
    // 500 kB take 415 ms on one path of 10 Mbit/s. The timeout of the other is of 40 ms and at least 200 ms, and a queue of
    // some ten segments.
    assert!(took_ns < 60 * MS + 280 * MS + 415 * MS + 100 * MS, "{took_ns}");
    // Again is sent what was under way on the dead path, not what waited there.
    let (doubled, lost) = (bytes_on(&sent, 0) + bytes_on(&sent, 1) - 500_000, bytes_on(&sent, 0));
    assert!(doubled <= lost && lost < 150_000, "{doubled} sent twice, {lost} on the dead path");
}

#[test]
fn what_is_bound_to_a_subflow_that_closes_or_becomes_a_backup_goes_to_the_other_and_is_sent_once() {
    let actions = [
        PathAction::Close { local_id: 0, remote_id: 0 },
        PathAction::SetBackup { local_id: 0, remote_id: 0, backup: true },
    ];
    for action in actions {
        let (mut p, sent) =
            pair(ahead(&[1, 1]), ReceiveBuffer::Fixed(1 << 20), vec![Path::clean(20 * MS), Path::clean(30 * MS)]);
        p.connection(SERVER).offer(300_000);
        let now_ns = p.now_ns;
        p.run_until(now_ns + 5 * MS, |_| false);
        let before = bytes_on(&sent, 0);
        let now_ns = p.now_ns;
        p.connection(SERVER).act(Instant::from_nanos(now_ns), action);
        finish_from(&mut p, 300_000);
        assert_eq!(bytes_on(&sent, 0), before, "{action:?}: nothing more goes out there");
        assert_eq!(bytes_on(&sent, 0) + bytes_on(&sent, 1), 300_000, "{action:?}: sent twice");
        assert_eq!(reinjections(&mut p), 0);
    }
}

#[test]
fn redundancy_sends_every_byte_once_on_every_subflow() {
    // Three equal paths; on a slower one what the others have brought in the meantime is left out.
    let redundant = || Choice::named("redundant").unwrap();
    let (mut p, sent) = pair(redundant(), ReceiveBuffer::Auto, vec![Path::clean(20 * MS); 3]);
    finish(&mut p, 250_000);
    for all in sent.borrow().values() {
        let ranges: Vec<_> = all.iter().map(|&(_, from, to)| (from, to)).collect();
        assert!(ranges.windows(2).all(|two| two[0].1 == two[1].0), "{ranges:?}");
        assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (2_000, 252_000));
    }
    let slow = Path { rate_bps: 1_000_000, ..Path::clean(100 * MS) };
    let (mut p, sent) = pair(redundant(), ReceiveBuffer::Auto, vec![Path::clean(20 * MS), slow]);
    finish(&mut p, 250_000);
    assert_eq!(bytes_on(&sent, 0), 250_000);
    assert!(bytes_on(&sent, 1) < 150_000);
    assert!(sent.borrow()[&1].windows(2).all(|two| two[0].2 <= two[1].1), "twice on one subflow");
}

#[test]
fn redundancy_leaves_backups_alone_until_they_are_needed() {
    let dead = Path { dead_ns: vec![(2_100 * MS, 3_600 * SECOND)], ..Path::clean(20 * MS) };
    let (mut p, sent) =
        pair(Choice::named("redundant").unwrap(), ReceiveBuffer::Auto, vec![dead, Path::clean(30 * MS)]);
    let now_ns = p.now_ns;
    p.connection(SERVER)
        .act(Instant::from_nanos(now_ns), PathAction::SetBackup { local_id: 0, remote_id: 1, backup: true });
    let took_ns = finish(&mut p, 400_000);
    let first_ns = sent.borrow()[&1][0].0;
    assert!(first_ns > 2_100 * MS, "used at {first_ns} ns, while the other worked");
    assert!(took_ns < 1_200 * MS, "{took_ns}");
    assert!(sent.borrow()[&1].windows(2).all(|two| two[0].2 <= two[1].1), "twice on the backup");
}

#[test]
fn after_a_fallback_what_was_bound_is_sent_over_tcp() {
    for seed in 0..20 {
        let config = Config { scheduler: wild(seed), ..Config::default() };
        let mut p = Pair::new(seed, [config.clone(), config], vec![Path::clean(20 * MS)]);
        p.follow_first = true; // a subflow whose options were lost on its way in is another connection
        // Options get lost in the middle of the transfer.
        p.tap(|now_ns, _, _, segment| {
            if now_ns > 150 * MS {
                crate::common::strip(segment);
            }
            true
        });
        assert!(p.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
        p.connection(SERVER).offer(300_000);
        finish_fallback(&mut p, 300_000);
    }
}

fn finish_fallback(p: &mut Pair, bytes: u64) {
    let now_ns = p.now_ns;
    p.connection(SERVER).close(Instant::from_nanos(now_ns));
    let ended = |p: &mut Pair| p.saw(SERVER, Event::Flushed) || p.saw(SERVER, Event::Aborted);
    assert!(p.run_until(now_ns + 600 * SECOND, ended), "stuck: read {:?}", p.read);
    // What is in flight must be contiguous for a fallback (RFC 8684 §3.7); else the connection is reset.
    if p.saw(SERVER, Event::Flushed) {
        assert_eq!(p.read[CLIENT], bytes);
    }
}

#[test]
fn under_tcp_nobody_is_asked() {
    let never = Choice::custom("never", |_| Box::new(Never));
    let config = Config { protocol: Protocol::Tcp, scheduler: never, ..Config::default() };
    let mut p = Pair::new(1, [config.clone(), config], vec![Path::clean(20 * MS)]);
    crate::common::transfer(&mut p, SERVER, 100_000);
}

#[derive(Debug)]
struct Never;

impl PacketScheduler for Never {
    fn name(&self) -> &'static str {
        "never"
    }

    fn choose(&mut self, _: Demand, _: &[View], _: &Context) -> Decision {
        panic!("asked under TCP");
    }
}
