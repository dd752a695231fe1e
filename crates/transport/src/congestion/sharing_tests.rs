//! Pairs of made-up queues: shared, apart, and one that moves.

use super::super::{Classic, Lia, Rule};
use super::*;
use crate::draw::Draw;
use crate::time::{Duration, Instant};

/// A queue that wanders between 0 and 40 ms.
struct Queue {
    draw: Draw,
    ms: f64,
}

impl Queue {
    fn new(seed: u64) -> Self {
        Queue { draw: Draw(seed), ms: 20.0 }
    }

    /// Ten milliseconds later.
    fn step(&mut self) -> f64 {
        let noise = self.draw.below(1001) as f64 / 500.0 - 1.0;
        self.ms = (self.ms + 0.02 * (20.0 - self.ms) + 4.0 * noise).clamp(0.0, 40.0);
        self.ms
    }
}

fn view(cwnd: f64) -> View {
    View {
        cwnd,
        ssthresh: 2.0,
        srtt: Duration::from_millis(80),
        min_rtt: Duration::from_millis(80),
        active: true,
        ..View::new(10.0, 1420)
    }
}

/// Three subflows with windows of 20, 10 and 5, an ACK each 20, 30 and 50 ms; `queue_of(r, t)`: which of two queues.
fn played(action: Action, seconds: u64, seed: u64, queue_of: impl Fn(usize, u64) -> usize) -> Shared<Classic<Lia>> {
    let mut control = Shared::new(Classic::new(Lia), &Sharing::new(action));
    let group = [view(20.0), view(10.0), view(5.0)];
    for r in 0..3 {
        control.on_join(&group, r, Instant::ZERO);
    }
    let mut queues = [Queue::new(seed), Queue::new(seed + 1000)];
    for tick in 0..seconds * 100 {
        let delays = [queues[0].step(), queues[1].step()];
        for (r, every) in [2, 3, 5].into_iter().enumerate() {
            if tick % every == 0 {
                let delay_ms = delays[queue_of(r, tick / 100)];
                let rtt = Duration::from_millis(80) + Duration::from_nanos((delay_ms * 1e6) as u64);
                let now = Instant::from_millis(tick * 10);
                control.on_sample(&group, r, &Sample { rtt, now, ..Sample::default() });
                let ack = Ack { now, acked_segments: 1.0, rtt: Some(rtt), cwnd_limited: true };
                control.on_ack(&group, r, &ack);
            }
        }
    }
    control
}

const DECOUPLE: Action = Action { suppress: false, decouple: true };
const SUPPRESS: Action = Action { suppress: true, decouple: false };

#[test]
fn sharers_are_found_and_others_are_not() {
    for seed in 0..20 {
        let control = played(DECOUPLE, 30, seed, |r, _| usize::from(r == 1));
        assert_eq!(control.sharers(), [0, 1, 0], "seed {seed}: {:?}", control.detector);
        let apart = played(DECOUPLE, 9, seed, |r, _| usize::from(r == 1));
        assert_eq!(apart.group, [0, 0, 0], "nothing is decided before its time");
    }
}

#[test]
fn sharers_are_coupled_with_each_other_alone() {
    let mut control = played(DECOUPLE, 30, 1, |r, _| usize::from(r == 1));
    let group = [view(20.0), view(10.0), view(5.0)];
    let ack = Ack { now: Instant::from_millis(31_000), acked_segments: 1.0, rtt: None, cwnd_limited: true };
    assert!((control.on_ack(&group, 1, &ack).cwnd - 10.1).abs() < 1e-9, "1/w: alone");
    let pair = [group[0], View { active: false, ..group[1] }, group[2]];
    let grown = 20.0 + Lia.increase(&pair, 0);
    assert!((control.on_ack(&group, 0, &ack).cwnd - grown).abs() < 1e-12);
    // Without a decision LIA's over all three.
    let mut fresh = Shared::new(Classic::new(Lia), &Sharing::new(DECOUPLE));
    assert!((fresh.on_ack(&group, 0, &ack).cwnd - 20.0 - Lia.increase(&group, 0)).abs() < 1e-12);
}

#[test]
fn the_slower_sharer_is_held_at_one_segment_and_the_rest_stays_coupled() {
    let mut control = played(SUPPRESS, 30, 1, |r, _| usize::from(r == 1));
    assert_eq!(control.held(), [false, false, true]);
    let group = [view(20.0), view(10.0), view(5.0)];
    let ack = Ack { now: Instant::from_millis(31_000), acked_segments: 1.0, rtt: None, cwnd_limited: true };
    assert_eq!(control.on_ack(&group, 2, &ack).cwnd, 1.0);
    assert_eq!(control.on_loss(&group, 2, Instant::ZERO), 1.0);
    let two = [group[0], group[1], View { active: false, ..group[2] }];
    assert!((control.on_ack(&group, 1, &ack).cwnd - 10.0 - Lia.increase(&two, 1)).abs() < 1e-12);
}

#[test]
fn the_threshold_falls_with_the_rate_below_a_full_one() {
    // The faster of the sharers has 20 segments of 1420 bytes in 80 ms, 2.84 Mbit/s; the threshold is 1.5 times their likeness.
    let found = |full_rate_bps: f64| {
        let mut control = played(DECOUPLE, 30, 1, |r, _| usize::from(r == 1));
        control.full_rate_bps = full_rate_bps;
        control.threshold = 1.5 * control.detector.likeness(0, 2).expect("decided");
        control.find_groups(&[view(20.0), view(10.0), view(5.0)]);
        control.sharers[2] == 0
    };
    assert!(!found(0.0) && !found(1.4 * 2.84e6), "1.5 and 1.07 times");
    assert!(found(1.6 * 2.84e6), "0.94 times");
}

#[test]
fn one_pair_alike_by_chance_joins_no_groups() {
    let groups = |chance: f64, active: [bool; 3]| {
        let likeness = move |a: usize, b: usize| match (a.min(b), a.max(b)) {
            (0, 2) => 0.95,
            (0, 1) => 0.55,
            _ => chance,
        };
        let of = active.map(|active| View { active, ..view(1.0) });
        let mut groups = Vec::new();
        link(&mut groups, &of, 0.5, likeness);
        groups
    };
    // Of {0, 2} with 1 the mean counts: (0.55 + 0.4)/2 is below a half, (0.55 + 0.5)/2 above.
    assert_eq!(groups(0.4, [true; 3]), [0, 1, 0]);
    assert_eq!(groups(0.5, [true; 3]), [0, 0, 0]);
    assert_eq!(groups(0.5, [true, true, false]), [0, 0, 2], "who is not active has no part in it");
}

#[test]
fn a_bottleneck_that_moves_is_found_again() {
    for seed in 0..10 {
        // Subflow 2 shares with 0 for a minute, then with 1.
        let moved = |r: usize, second: u64| usize::from(r == 1 || (r == 2 && second >= 60));
        assert_eq!(played(DECOUPLE, 60, seed, moved).sharers(), [0, 1, 0], "seed {seed}");
        assert_eq!(played(DECOUPLE, 90, seed, moved).sharers(), [0, 1, 1], "seed {seed}");
    }
}

#[test]
fn a_subflow_that_leaves_is_forgotten() {
    let mut control = played(SUPPRESS, 30, 1, |r, _| usize::from(r == 1));
    let gone = [View { active: false, ..view(20.0) }, view(10.0), view(5.0)];
    control.on_leave(&gone, 0, Instant::from_millis(31_000));
    assert_eq!(control.held(), [false; 3], "the other is alone on the queue now");
    assert_eq!(control.sharers(), [0, 1, 2]);
}

#[test]
fn the_faster_ones_samples_are_averaged_between_the_slower_ones() {
    let sharing = Sharing { weight: 0.0, window_s: 2.0, ..Sharing::new(DECOUPLE) };
    let mut pair = Correlation::new(&sharing);
    // The points: (10, 3) at once; 20 and 40 ms of subflow 0, then 5 of 1: (30, 5). After two seconds the latest alone: (70, 7).
    let samples =
        [(1, 0, 3), (0, 0, 10), (0, 100, 20), (0, 150, 40), (1, 200, 5), (0, 300, 90), (0, 2300, 70), (1, 2350, 7)];
    for (r, now_ms, rtt_ms) in samples {
        pair.sample(r, Instant::from_millis(now_ms), Duration::from_millis(rtt_ms));
    }
    let points = pair.points(0, 1);
    // Their means, with a memory of 2 s.
    let kept = [libm::exp(-2.35 / 2.0), libm::exp(-2.15 / 2.0), 1.0];
    let mean = |values: [f64; 3]| (0..3).map(|i| kept[i] * values[i]).sum::<f64>() / kept.iter().sum::<f64>();
    let expected = [mean([0.010, 0.030, 0.070]), mean([0.003, 0.005, 0.007])];
    assert!(
        (points[0] - expected[0]).abs() < 1e-9 && (points[1] - expected[1]).abs() < 1e-9,
        "{points:?} {expected:?}"
    );
    assert_eq!(pair.average(0, 1), None, "nothing is averaged in the first two windows");
}

/// A join is on its way, and a subflow that brings little is found meanwhile: the one that has not joined is in no group.
#[test]
fn a_subflow_that_has_not_joined_yet_shares_with_nobody() {
    let mut control = Shared::new(Classic::new(Lia), &Sharing { suppress_below: 0.1, ..Sharing::new(SUPPRESS) });
    let joined = [view(20.0), view(10.0)];
    (0..2).for_each(|r| assert_eq!(control.on_join(&joined, r, Instant::ZERO), None));
    let ack = |now, acked_segments| Ack { now, acked_segments, rtt: None, cwnd_limited: true };
    let opening = [view(20.0), view(10.0), View { active: false, ..view(1.0) }];
    control.on_ack(&opening, 1, &ack(Instant::from_millis(1), 1.0));
    control.on_ack(&opening, 1, &ack(Instant::from_millis(2), 1.0));
    control.on_ack(&opening, 0, &ack(Instant::from_millis(20_000), 99.0));
    assert_eq!(control.held(), [false, true, false]);
}
