use super::*;
use crate::transmitter::Transmitter;

const MS: u64 = 1_000_000;

fn standard() -> DualPi2 {
    let control = Config {
        limit: Limit::Packets(1_000),
        target_ns: 15 * MS,
        update_ns: 15 * MS,
        alpha_per_s: 0.15,
        beta_per_s: 3.0,
        coupling: 2.0,
        step_ns: MS,
        classic_share: 0.1,
    };
    DualPi2::new(control)
}

/// A packet of 1,500 bytes that waits behind `packets` others, or finds the queue empty.
fn arrive(queue: &mut DualPi2, now_ns: u64, ecn: Ecn, packets: u64) -> Result<Entry, DropReason> {
    let transmitter = Transmitter::new(1);
    let (bytes, waits) = (1_500 * packets, packets > 0);
    queue.admit(Arrival {
        now_ns,
        size: 1_500,
        ecn,
        packets,
        bytes,
        sending_bytes: 0,
        flow: 0_u64.into(),
        waits,
        transmitter: &transmitter,
    })
}

fn wait(queue: &mut DualPi2, now_ns: u64, ecn: Ecn) {
    assert_eq!(arrive(queue, now_ns, ecn, 1), Ok(Entry::Plain));
}

/// A packet waits from 0 on. At 15 ms: p′ = 0.15·0 + 3·0.015 = 0.045. At 30 ms: + 0.15·0.015 + 3·0.015 = 0.09225. It
/// leaves, and at 45 ms the delay is 0: − 0.15·0.015 − 3·0.03, limited to 0. The L queue's delay counts likewise.
#[test]
fn steps_worked_by_hand() {
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        let mut queue = standard();
        wait(&mut queue, 0, ecn);
        let mut base_at = |ms: u64| {
            queue.catch_up(ms * MS);
            queue.base
        };
        assert_eq!(base_at(14), 0.0);
        assert!((base_at(15) - 0.045).abs() < 1e-12);
        assert!((base_at(31) - 0.09225).abs() < 1e-12);
        assert!(queue.next(32 * MS).is_some());
        queue.catch_up(45 * MS);
        assert!(queue.base.abs() < 1e-12, "{}", queue.base);
    }
}

/// p′ = 0.25: one in 16 packets of the C queue, every second packet of the L queue (k = 2), evenly spread.
#[test]
fn signals_are_coupled_and_even() {
    let mut queue = standard();
    queue.base = 0.25;
    let low: Vec<_> = (0..4).map(|_| queue.verdict(true, Ecn::Ect1, false)).collect();
    assert_eq!(low, [Verdict::Send, Verdict::Mark, Verdict::Send, Verdict::Mark]);
    for (ecn, expected) in [(Ecn::NotEct, Verdict::Drop), (Ecn::Ect0, Verdict::Mark)] {
        let classic: Vec<_> = (0..32).map(|_| queue.verdict(false, ecn, false)).collect();
        let signals: Vec<_> = (0..32).filter(|&i| classic[i] != Verdict::Send).collect();
        assert_eq!(signals, [15, 31]);
        assert!(signals.iter().all(|&i| classic[i] == expected));
    }
}

/// From the step on, every packet of the L queue is marked except the last: fewer than two packets are no queue.
#[test]
fn the_low_queue_has_a_step() {
    let mut queue = standard();
    for _ in 0..3 {
        wait(&mut queue, 0, Ecn::Ect1);
    }
    assert_eq!(queue.next(MS - 1), Some((0, Verdict::Send)));
    assert_eq!(queue.next(MS), Some((0, Verdict::Mark)));
    assert_eq!(queue.next(2 * MS), Some((0, Verdict::Send)));
    assert_eq!(queue.next(3 * MS), None);
    // The C queue has no step.
    wait(&mut queue, 3 * MS, Ecn::Ect0);
    wait(&mut queue, 3 * MS, Ecn::Ect0);
    assert_eq!(queue.next(9 * MS), Some((0, Verdict::Send)));
}

/// Of a hundred packets sent while both queues wait, ten are from the C queue. A packet that comes to an empty L queue
/// goes next, or after at most one packet of the C queue.
#[test]
fn the_low_queue_goes_first_but_for_a_tenth() {
    let mut queue = standard();
    for _ in 0..200 {
        wait(&mut queue, 0, Ecn::NotEct);
        wait(&mut queue, 0, Ecn::Ect1);
    }
    let (low, classic) = (queue.low.waiting.len(), queue.classic.waiting.len());
    for _ in 0..100 {
        assert!(queue.next(1).is_some());
    }
    assert_eq!((low - queue.low.waiting.len(), classic - queue.classic.waiting.len()), (90, 10));
    let mut queue = standard();
    for _ in 0..50 {
        wait(&mut queue, 0, Ecn::NotEct);
    }
    for _ in 0..20 {
        assert!(queue.next(1).is_some());
    }
    wait(&mut queue, 2, Ecn::Ect1);
    assert!(queue.next(2).is_some());
    assert!(queue.low.waiting.is_empty(), "what the C queue sent alone counts for nothing");
}

/// p′ = 0.75: p_CL would be 1.5. The L queue drops with probability 0.5625 and marks the rest; the C queue drops
/// regardless of ECN.
#[test]
fn overload_drops_in_both_queues() {
    let mut queue = standard();
    queue.base = 0.75;
    let low: Vec<_> = (0..100).map(|_| queue.verdict(true, Ecn::Ect1, false)).collect();
    let count = |verdicts: &[Verdict], verdict| verdicts.iter().filter(|&&v| v == verdict).count();
    assert_eq!((count(&low, Verdict::Drop), count(&low, Verdict::Mark)), (56, 44));
    let classic: Vec<_> = (0..100).map(|_| queue.verdict(false, Ecn::Ect0, false)).collect();
    assert_eq!((count(&classic, Verdict::Drop), count(&classic, Verdict::Mark)), (56, 0));
    // A packet that finds the queue empty is dropped on arrival.
    queue.classic.due = 0.9;
    assert_eq!(arrive(&mut queue, 0, Ecn::NotEct, 0), Err(DropReason::Early));
}

#[test]
fn what_waits_is_gone_with_the_link() {
    let mut queue = standard();
    wait(&mut queue, 0, Ecn::NotEct);
    wait(&mut queue, 0, Ecn::Ect1);
    queue.clear();
    assert_eq!(queue.next(1), None);
    wait(&mut queue, 2, Ecn::Ect1);
    assert_eq!(queue.next(2), Some((0, Verdict::Send)));
}

/// A packet that waits for an hour: skipping gives the same result as performing each update.
#[test]
fn updates_are_skipped_only_where_they_change_nothing() {
    for (alpha_per_s, beta_per_s, base) in [(0.15, 3.0, 0.0), (1000.0, 0.0, 0.5), (0.0, 0.0, 1.0), (0.0, 0.001, 0.0)] {
        for now_ns in [14 * MS, 16 * MS, 1_000 * MS + 7, 3_600_000 * MS] {
            let mut at_once = standard();
            (at_once.control.alpha_per_s, at_once.control.beta_per_s, at_once.base) = (alpha_per_s, beta_per_s, base);
            wait(&mut at_once, 0, Ecn::NotEct);
            let mut each = at_once.clone();
            at_once.catch_up(now_ns);
            while each.next_update_ns <= now_ns {
                each.catch_up(each.next_update_ns);
            }
            let state = |queue: &DualPi2| (queue.base, queue.delay_ns, queue.next_update_ns);
            assert_eq!(state(&at_once), state(&each), "{alpha_per_s} {beta_per_s} {base} {now_ns}");
        }
    }
}
