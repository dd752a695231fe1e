//! wVegas's numbers, worked by hand.

use super::*;
use crate::time::{Duration, Instant};

fn view(cwnd: f64, ssthresh: f64, base_ms: u64, rtt_ms: u64) -> View {
    View {
        cwnd,
        ssthresh,
        srtt: Duration::from_millis(rtt_ms),
        min_rtt: Duration::from_millis(base_ms),
        in_flight: 4,
        active: true,
        ..View::new(10.0, 1420)
    }
}

/// A round of four samples of path r's smoothed RTT: the window at its end.
fn round(control: &mut Wvegas, group: &mut [View], r: usize) -> f64 {
    for n in 0..4 {
        let ack =
            Ack { now: Instant::from_nanos(n), acked_segments: 1.0, rtt: Some(group[r].srtt), cwnd_limited: true };
        let w = control.on_ack(group, r, &ack);
        (group[r].cwnd, group[r].ssthresh) = (w.cwnd, w.ssthresh);
    }
    group[r].cwnd
}

/// The first acknowledgment of all begins the first round; without growth, since the window is not the limit.
fn begin(control: &mut Wvegas, group: &[View]) {
    for r in 0..group.len() {
        let ack = Ack { now: Instant::ZERO, acked_segments: 1.0, rtt: None, cwnd_limited: false };
        control.on_ack(group, r, &ack);
    }
}

#[test]
fn slow_start_ends_when_a_segment_is_queued() {
    // w = 40 at the end of the round, base 80, rtt 100 ms: diff = 40·20/100 = 8 > 1, so w = 40·0.8 + 1 = 33.
    let mut control = Wvegas::default();
    let mut group = [view(37.0, f64::INFINITY, 80, 100)];
    begin(&mut control, &group);
    assert_eq!(round(&mut control, &mut group, 0), 33.0);
    assert_eq!(group[0].ssthresh, 32.0);
    // diff = 20·1/100 = 0.2: it goes on.
    let mut control = Wvegas::default();
    let mut group = [view(16.0, f64::INFINITY, 99, 100)];
    begin(&mut control, &group);
    assert_eq!(round(&mut control, &mut group, 0), 20.0);
}

#[test]
fn it_shows_what_its_last_round_measured() {
    let shown = |control: &Wvegas| {
        let mut columns = [f64::NAN; 3];
        control.show(&[], 0, Instant::ZERO, &mut columns);
        columns
    };
    // base 80, rtt 100 ms: 20 ms of queue, diff = 40·20/100 = 8 segments, of which a lone subflow wants 10 after slow start.
    let mut control = Wvegas::default();
    let mut group = [view(40.0, 20.0, 80, 100)];
    assert!(shown(&control)[0].is_nan(), "no round yet");
    begin(&mut control, &group);
    round(&mut control, &mut group, 0);
    assert!((shown(&control)[0] - 0.02).abs() < 1e-12);
    assert_eq!(shown(&control)[1..], [8.0, 10.0]);
    // It is kept when a loss begins the measurements anew, and gone when the subflow joins again.
    control.on_loss(&group, 0, Instant::ZERO);
    round(&mut control, &mut group[..], 0);
    assert!(!shown(&control)[0].is_nan());
    control.on_join(&group, 0, Instant::ZERO);
    assert!(shown(&control)[0].is_nan());
}

#[test]
fn each_subflow_keeps_its_weight_of_ten_segments_queued() {
    // x = (30, 10)/100 ms: weights ¾ and ¼. diff = (30, 10)·0.2 = (6, 2).
    let group = [view(30.0, 10.0, 80, 100), view(10.0, 5.0, 80, 100)];
    let mut control = Wvegas::default();
    begin(&mut control, &group);
    // Path 0: α = 7.5 > 6, so one more; path 1: α = max(2, 10·10/41 = 2.44) > 2, so one more.
    let mut after = group;
    assert_eq!(round(&mut control, &mut after, 0), 31.0);
    assert_eq!(round(&mut control, &mut after, 1), 11.0);
    // With rtt 200 ms on path 1: diff = 11·0.6 = 6.6, weight (11/200)/(11/200 + 31/100) = 0.151, α = 2: one less.
    // Its queueing delay has grown from 20 to 120 ms: and drained, (11 − 1)·80/400 = 2.
    after[1].srtt = Duration::from_millis(200);
    assert_eq!(round(&mut control, &mut after, 1), 2.0);
    assert_eq!(control.paths[1].least_queueing_ns, 0.0);
}

#[test]
fn with_too_few_samples_it_is_reno() {
    let mut group = [view(30.0, 10.0, 80, 100)];
    let mut control = Wvegas::default();
    begin(&mut control, &group);
    group[0].in_flight = 2;
    let ack = Ack {
        now: Instant::from_nanos(1),
        acked_segments: 4.0,
        rtt: Some(Duration::from_millis(100)),
        cwnd_limited: true,
    };
    assert!((control.on_ack(&group, 0, &ack).cwnd - (30.0 + 4.0 / 30.0)).abs() < 1e-12);
}

#[test]
fn a_loss_halves_and_begins_a_new_round() {
    let mut group = [view(30.0, 10.0, 80, 100)];
    let mut control = Wvegas::default();
    begin(&mut control, &group);
    assert_eq!(control.on_loss(&group, 0, Instant::ZERO), 15.0);
    group[0].cwnd = 15.0;
    let ack = Ack {
        now: Instant::from_nanos(1),
        acked_segments: 4.0,
        rtt: Some(Duration::from_millis(100)),
        cwnd_limited: true,
    };
    control.on_ack(&group, 0, &ack);
    assert_eq!(control.paths[0].samples, 0);
    assert_eq!(control.on_loss(&[view(3.0, 10.0, 80, 100)], 0, Instant::ZERO), 2.0);
}

#[test]
fn one_segment_queued_does_not_end_slow_start() {
    // w = 20 at the end of the round: diff = 20·5/100 = 1.
    let mut group = [view(17.0, f64::INFINITY, 95, 100)];
    let mut control = Wvegas::default();
    begin(&mut control, &group);
    assert_eq!(round(&mut control, &mut group, 0), 21.0);
}

#[test]
fn ssthresh_follows_at_three_quarters_of_the_window() {
    let mut group = [view(50.0, 20.0, 80, 100)];
    let mut control = Wvegas::default();
    begin(&mut control, &group);
    assert_eq!(round(&mut control, &mut group, 0), 50.0);
    assert_eq!(group[0].ssthresh, 37.5);
}

#[test]
fn while_losses_are_repaired_it_is_reno() {
    let group = [View { phase: Phase::Recovery, ..view(30.0, 10.0, 80, 100) }];
    let ack = Ack {
        now: Instant::from_nanos(1),
        acked_segments: 4.0,
        rtt: Some(Duration::from_millis(100)),
        cwnd_limited: true,
    };
    assert!((Wvegas::default().on_ack(&group, 0, &ack).cwnd - (30.0 + 4.0 / 30.0)).abs() < 1e-12);
}

#[test]
fn three_samples_are_enough_for_a_round() {
    // Alone α = 10; diff = 60·0.2 = 12: one segment less, and ssthresh one below that.
    let mut group = [view(60.0, 60.0, 80, 100)];
    let mut control = Wvegas::default();
    begin(&mut control, &group);
    for acked_segments in [1.0, 1.0, 2.0] {
        let ack = Ack {
            now: Instant::from_nanos(1),
            acked_segments,
            rtt: Some(Duration::from_millis(100)),
            cwnd_limited: true,
        };
        let w = control.on_ack(&group, 0, &ack);
        (group[0].cwnd, group[0].ssthresh) = (w.cwnd, w.ssthresh);
    }
    assert_eq!((group[0].cwnd, group[0].ssthresh), (59.0, 58.0));
}

#[test]
fn what_a_round_had_measured_before_a_loss_is_dropped() {
    let group = [view(30.0, 10.0, 80, 100)];
    let mut control = Wvegas::default();
    begin(&mut control, &group);
    let ack = Ack {
        now: Instant::from_nanos(1),
        acked_segments: 1.0,
        rtt: Some(Duration::from_millis(100)),
        cwnd_limited: true,
    };
    control.on_ack(&group, 0, &ack);
    control.on_ack(&group, 0, &ack);
    assert_eq!(control.paths[0].samples, 2);
    control.on_loss(&group, 0, Instant::ZERO);
    control.on_ack(&group, 0, &ack);
    assert_eq!(control.paths[0].samples, 0, "this acknowledgment begins a round");
}

const MS: f64 = 1e6;

/// A round of avoidance on the first path: the path and its window after it.
fn avoided(group: &[View], path: Path, rtt_ms: f64, base_ms: f64) -> (Path, Window) {
    let mut path = path;
    let mut window = Window { cwnd: group[0].cwnd, ssthresh: group[0].ssthresh };
    path.avoid(group, 0, &mut window, rtt_ms * MS, base_ms * MS);
    (path, window)
}

#[test]
fn at_its_target_the_window_rests() {
    // diff = 50·0.2 = 10 = α of a lone subflow.
    let (path, w) = avoided(&[view(50.0, 20.0, 80, 100)], Path::default(), 100.0, 80.0);
    assert_eq!((path.alpha, w.cwnd, w.ssthresh), (10.0, 50.0, 20.0));
}

#[test]
fn a_subflow_keeps_its_target_until_it_has_reached_it() {
    // diff = 30·0.2 = 6 is below α = 8, so the rates (a quarter of all, which would be α = 2.5) are not asked.
    let group = [view(30.0, 10.0, 80, 100), view(90.0, 10.0, 80, 100)];
    let (path, w) = avoided(&group, Path { alpha: 8.0, ..Path::default() }, 100.0, 80.0);
    assert_eq!((path.alpha, w.cwnd), (8.0, 31.0));
    let (path, w) = avoided(&group, Path { alpha: 6.0, ..Path::default() }, 100.0, 80.0);
    assert!((path.alpha - 2.5).abs() < 1e-12);
    assert_eq!(w.cwnd, 29.0);
}

#[test]
fn the_queue_is_drained_when_its_delay_is_twice_the_least() {
    let group = [view(20.0, 10.0, 60, 100)];
    let seen = |ms: f64| Path { alpha: 10.0, least_queueing_ns: ms * MS, ..Path::default() };
    // diff = 20·40/100 = 8 < 10: 21; then 21·60/200 = 6.3.
    let (path, w) = avoided(&group, seen(20.0), 100.0, 60.0);
    assert!((w.cwnd - 6.3).abs() < 1e-12, "{}", w.cwnd);
    assert_eq!(path.least_queueing_ns, 0.0);
    // Just below twice the least; and less than the least, which is the new one.
    let (path, w) = avoided(&group, seen(20.1), 100.0, 60.0);
    assert_eq!((path.least_queueing_ns, w.cwnd), (20.1 * MS, 21.0));
    let (path, w) = avoided(&group, seen(41.0), 100.0, 60.0);
    assert_eq!((path.least_queueing_ns, w.cwnd), (40.0 * MS, 21.0));
    // No delay at all is not the least one.
    let (path, _) = avoided(&group, seen(20.0), 60.0, 60.0);
    assert_eq!(path.least_queueing_ns, 20.0 * MS);
    // Nor is there anything to drain where none was ever seen: diff = 0 < 10, one more.
    let (_, w) = avoided(&group, seen(0.0), 60.0, 60.0);
    assert_eq!(w.cwnd, 21.0);
}
