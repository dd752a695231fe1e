//! Numbers worked by hand from RFC 8382, and queues of different and of equal shape.

use super::super::correlation::{Action, Method};
use super::*;
use crate::draw::Draw;
use crate::time::{Duration, Instant};

fn sharing() -> Sharing {
    Sharing {
        method: Method::Rfc8382,
        decide_after_s: 21.0,
        ..Sharing::new(Action { suppress: false, decouple: true })
    }
}

fn close_to(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
}

#[test]
fn numbers_worked_by_hand() {
    let mut flow = Flow::default();
    let mut interval = |delays_ms: &[u64], segments_sent, segments_sent_again| {
        for &delay_ms in delays_ms {
            let rtt = Duration::from_millis(delay_ms);
            flow.sample(&Sample {
                rtt,
                now: Instant::from_nanos(1),
                segments_sent,
                segments_sent_again,
                recovering: false,
            });
        }
        flow.close();
        flow.clone()
    };
    let none = interval(&[10, 20], 10, 0);
    assert!(!none.bottleneck, "nothing was compared");
    // Mean 15 ms: one below, two above; deviations 15 + 5 + 3 ms.
    let second = interval(&[30, 20, 12], 20, 0);
    close_to(second.skew, -1.0 / 3.0);
    close_to(second.variability_s, 0.023 / 3.0);
    // Mean of both 17.833 ms: two above, and each 19.333 ms from the last mean of 20.667.
    let third = interval(&[40, 40], 30, 0);
    close_to(third.skew, -3.0 / 5.0);
    close_to(third.variability_s, (0.023 + 0.038_666_666_667) / 5.0);
    // 40 is more than 0.7·12.333 above the mean of 25.222 ms: a side, of the first no crossing.
    assert!(third.side == 1.0 && third.frequency == 0.0 && third.bottleneck);
    // Both below 25.222, each 39 from 40. 1 is 18.167 below the mean of 19.167, more than 0.7·19.952: a crossing.
    let fourth = interval(&[1, 1], 40, 1);
    close_to(fourth.skew, -1.0 / 7.0);
    close_to(fourth.variability_s, (0.023 + 0.038_666_666_667 + 0.078) / 7.0);
    close_to(fourth.frequency, 1.0 / 50.0);
    close_to(fourth.loss, 1.0 / 30.0);
    // An interval without samples changes no statistic but is remembered.
    let idle = interval(&[], 0, 0);
    close_to(idle.skew, fourth.skew);
}

#[test]
fn recent_intervals_weigh_most() {
    // 11 for each of the last 20, then 10, 9, …, 1: 220 and 55.
    let of = |recent: f64, old: f64| -> Vec<Interval> {
        let skew = |i| if i < F { recent } else { old };
        (0..M).map(|i| Interval { samples: 1.0, skew: skew(i), ..Interval::default() }).collect()
    };
    close_to(weighted(&of(1.0, 0.0), |t| Some(t.skew)).unwrap(), 0.8);
    close_to(weighted(&of(0.0, 1.0), |t| Some(t.skew)).unwrap(), 0.2);
}

#[test]
fn once_in_a_bottleneck_more_skewness_is_needed_to_leave_it() {
    // Of 100 samples around a mean of 20 ms so many are above: skewness 1 − 2·above/100.
    let interval = |flow: &mut Flow, above: u64| {
        for i in 0..100 {
            let rtt = Duration::from_millis(if i < above { 21 } else { 19 });
            flow.sample(&Sample { rtt, now: Instant::from_nanos(1), ..Sample::default() });
        }
        flow.close();
    };
    let mut flow = Flow { means_s: Last { values: [0.020; M], count: M }, ..Flow::default() };
    interval(&mut flow, 40);
    assert!(
        flow.skew > C_S && !flow.bottleneck && flow.variability_s == 0.0,
        "0.2: none, and its deviations do not count"
    );
    interval(&mut flow, 60);
    assert!(flow.skew < C_S && flow.bottleneck && flow.variability_s > 0.0, "0.0");
    interval(&mut flow, 20);
    assert!(flow.skew > C_S && flow.skew < C_H && flow.bottleneck, "0.2 again: it stays");
    (0..10).for_each(|_| interval(&mut flow, 20));
    assert!(flow.skew > C_H && !flow.bottleneck, "towards 0.6");
}

#[test]
fn flows_are_divided_step_by_step() {
    let flow = |frequency: f64, variability_s: f64, skew: f64, loss: f64| {
        let mut flow = Flow { frequency, skew, loss, bottleneck: true, ..Flow::default() };
        flow.variabilities_s.push(variability_s);
        flow
    };
    let groups = |flows: &[Flow]| {
        let mut order: Vec<usize> = (0..flows.len()).collect();
        let mut group = vec![None; flows.len()];
        divide(flows, &mut order, 0, &mut group);
        let same = |a: usize, b: usize| group[a] == group[b];
        (0..flows.len()).map(|b| (0..=b).find(|&a| same(a, b)).unwrap()).collect::<Vec<_>>()
    };
    // Frequencies 0.30, 0.22 and 0.10: the first two differ by 0.08, less than 0.1; the third by 0.12 from its neighbour.
    assert_eq!(groups(&[flow(0.30, 1.0, 0.0, 0.0), flow(0.10, 1.0, 0.0, 0.0), flow(0.22, 1.0, 0.0, 0.0)]), [0, 1, 0]);
    // Of 10 ms, 9.1 differ by less than a tenth, 8.9 more; but 8.9 from 9.1 again less: neighbours count.
    assert_eq!(groups(&[flow(0.0, 10.0, 0.0, 0.0), flow(0.0, 8.9, 0.0, 0.0)]), [0, 1]);
    assert_eq!(groups(&[flow(0.0, 10.0, 0.0, 0.0), flow(0.0, 8.9, 0.0, 0.0), flow(0.0, 9.1, 0.0, 0.0)]), [0, 0, 0]);
    assert_eq!(groups(&[flow(0.0, 1.0, -0.1, 0.0), flow(0.0, 1.0, 0.04, 0.0), flow(0.0, 1.0, -0.3, 0.0)]), [0, 0, 2]);
    // Losses count above a tenth only, and then to a tenth of the highest.
    assert_eq!(groups(&[flow(0.0, 1.0, 0.0, 0.09), flow(0.0, 1.0, 0.0, 0.01)]), [0, 0]);
    assert_eq!(groups(&[flow(0.0, 1.0, 0.0, 0.20), flow(0.0, 1.0, 0.0, 0.17)]), [0, 1]);
    assert_eq!(groups(&[flow(0.0, 1.0, 0.0, 0.20), flow(0.0, 1.0, 0.0, 0.19)]), [0, 0]);
}

/// Queueing delay of a link that swings between 5 ms and so much, with a period, in ms after `tick`s of 10 ms.
fn swing(tick: u64, most_ms: u64, period: u64, draw: &mut Draw) -> u64 {
    let phase = tick % period;
    let up = if 2 * phase < period { phase } else { period - phase };
    5 + 2 * up * (most_ms - 5) / period + draw.below(3)
}

/// Two subflows on the first queue and one on the second, one sample every 10 and 20 ms.
fn played(seconds: u64, second: impl Fn(u64, &mut Draw) -> u64) -> Rfc8382 {
    let (mut detector, mut draw) = (Rfc8382::new(&sharing()), Draw(5));
    for tick in 0..seconds * 100 {
        let delays = [swing(tick, 40, 150, &mut draw), second(tick, &mut draw)];
        for r in 0..3 {
            if r != 2 || tick % 2 == 0 {
                let rtt = Duration::from_millis(50 + 10 * r as u64 + delays[usize::from(r == 1)]);
                detector.sample(r, &Sample { rtt, now: Instant::from_millis(tick * 10), ..Sample::default() });
            }
        }
    }
    detector
}

#[test]
fn queues_of_another_shape_are_told_apart_and_of_the_same_are_not() {
    let other = played(30, |tick, draw| swing(tick, 90, 400, draw));
    assert_eq!([other.likeness(0, 2), other.likeness(0, 1), other.likeness(1, 2)], [Some(1.0), Some(0.0), Some(0.0)]);
    // The method's limit: what counts is the shape, so a queue that swings alike elsewhere is taken for the same.
    let alike = played(30, |tick, draw| swing(tick + 60, 40, 150, draw));
    assert_eq!(alike.likeness(0, 1), Some(1.0));
    assert_eq!(played(20, |tick, draw| swing(tick, 90, 400, draw)).likeness(0, 2), None, "2·M·T are 21 s");
}

#[test]
fn who_begins_anew_is_undecided() {
    let mut detector = played(30, |tick, draw| swing(tick, 90, 400, draw));
    detector.forget(2);
    assert_eq!((detector.likeness(0, 2), detector.likeness(0, 1)), (None, Some(0.0)));
    // After a long silence nothing is known of anybody.
    detector
        .sample(2, &Sample { rtt: Duration::from_millis(50), now: Instant::from_millis(90_000), ..Sample::default() });
    assert!(detector.flows.iter().all(|flow| !flow.bottleneck));
    assert_eq!(detector.likeness(0, 1), Some(0.0));
}
