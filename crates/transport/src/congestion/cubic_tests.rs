//! CUBIC's numbers, worked by hand from RFC 9438.

use super::*;
use crate::time::{Duration, Instant};

fn view(cwnd: f64, ssthresh: f64) -> View {
    View { cwnd, ssthresh, srtt: Duration::from_millis(100), active: true, ..View::new(10.0, 1420) }
}

fn ack(now: Instant) -> Ack {
    Ack { now, acked_segments: 1.0, rtt: Some(Duration::from_millis(100)), cwnd_limited: true }
}

#[test]
fn cube_roots() {
    for x in [1e-9, 0.001, 0.3, 1.0, 2.0, 7.9, 8.0, 27.0, 1000.0, 6.5e4, 1e12] {
        let y = cube_root(x);
        assert!((y * y * y / x - 1.0).abs() < 1e-14, "{x}: {y}");
    }
    assert_eq!(cube_root(27.0), 3.0);
    assert_eq!(cube_root(0.0), 0.0);
}

#[test]
fn the_window_comes_back_to_where_it_was_after_k() {
    // Loss at 800 segments: 560 remain, K = ∛(0.3·800/0.4) = ∛600 = 8.4343 s. At t = 2 s with an RTT of 0.1 s the target is
    // 0.4·(2.1 − 8.4343)³ + 800 = 698.34; W_est is still 560.
    let mut cubic = Cubic::default();
    let mut v = view(800.0, 500.0);
    v.cwnd = cubic.on_loss(&v);
    v.ssthresh = v.cwnd;
    assert!((v.cwnd - 560.0).abs() < 1e-9);
    cubic.on_ack(&v, &ack(Instant::from_secs(1)));
    assert!((cubic.state.epoch.unwrap().k_s - 8.434_327).abs() < 1e-6);
    let w = cubic.on_ack(&v, &ack(Instant::from_secs(3))).cwnd;
    assert!((w - (560.0 + (698.339 - 560.0) / 560.0)).abs() < 1e-4, "{w}");
    // At K it is W_max again, and from there on it probes: 0.4·1³ above it a second later.
    v.cwnd = 800.0;
    let w = cubic.on_ack(&v, &ack(Instant::from_nanos(1_000_000_000 + 8_434_327_000 + 900_000_000))).cwnd;
    assert!((w - (800.0 + 0.4 / 800.0)).abs() < 1e-6, "{w}");
}

#[test]
fn the_target_is_at_most_half_above_the_window() {
    let mut cubic = Cubic::default();
    let v = view(100.0, 50.0);
    cubic.on_loss(&v);
    cubic.on_ack(&v, &ack(Instant::ZERO));
    // W(60 s) is tens of thousands of segments; the step is (150 − 100)/100.
    assert_eq!(cubic.on_ack(&v, &ack(Instant::from_secs(60))).cwnd, 100.5);
}

#[test]
fn in_a_small_network_it_is_reno_friendly() {
    // Loss at 10: 7 remain, W_est = 7 + α/7 with α = 3·0.3/1.7 = 0.5294, while W(0) = 7. α becomes 1 once W_est has
    // reached 10.
    let mut cubic = Cubic::default();
    let mut v = view(10.0, 5.0);
    v.srtt = Duration::from_millis(1);
    v.cwnd = cubic.on_loss(&v);
    v.ssthresh = v.cwnd;
    let w = cubic.on_ack(&v, &ack(Instant::ZERO)).cwnd;
    assert!((w - (7.0 + 0.529_411_8 / 7.0)).abs() < 1e-6, "{w}");
    let mut slow = 0;
    while v.cwnd < 10.0 {
        v.cwnd = cubic.on_ack(&v, &ack(Instant::from_nanos(1))).cwnd;
        slow += 1;
    }
    // d(w²)/dn = 2α: (100 − 49)/(2·0.5294) = 48.2 segments.
    assert!((47..=50).contains(&slow), "{slow}");
    let before = v.cwnd;
    v.cwnd = cubic.on_ack(&v, &ack(Instant::from_nanos(1))).cwnd;
    assert!((v.cwnd - before - 1.0 / before).abs() < 1e-9);
}

#[test]
fn an_acknowledgment_of_several_segments_counts_as_many() {
    // As above, two segments at once: 7 + 2·α/7.
    let mut cubic = Cubic::default();
    let v = View { srtt: Duration::from_millis(1), ..view(7.0, 7.0) };
    cubic.on_loss(&view(10.0, 5.0));
    let w = cubic.on_ack(&v, &Ack { acked_segments: 2.0, ..ack(Instant::ZERO) }).cwnd;
    assert!((w - (7.0 + 2.0 * 0.529_411_8 / 7.0)).abs() < 1e-6, "{w}");
}

#[test]
fn avoidance_begins_in_the_middle_of_an_acknowledgment() {
    // Of three segments one fills the slow start from 69 to 70; two are left for W_est: 70 + 2·α/70, and W(0) = 70.
    let mut cubic = Cubic::default();
    cubic.on_loss(&view(100.0, 50.0));
    let w = cubic.on_ack(&view(69.0, 70.0), &Ack { acked_segments: 3.0, ..ack(Instant::ZERO) }).cwnd;
    assert!((w - (70.0 + 2.0 * 0.529_411_8 / 70.0)).abs() < 1e-6, "{w}");
    assert_eq!(cubic.state.epoch.unwrap().began_at, Instant::ZERO);
}

#[test]
fn slow_start_begins_no_epoch() {
    let mut cubic = Cubic::default();
    cubic.on_timeout(&view(100.0, 50.0));
    assert_eq!(cubic.on_ack(&view(50.0, 70.0), &ack(Instant::from_secs(1))).cwnd, 51.0);
    assert!(cubic.state.epoch.is_none());
}

#[test]
fn once_the_estimate_is_at_the_window_before_the_reduction_it_grows_as_reno() {
    // What HyStart leaves: the window before is the window now, so α = 1 at once (§4.3: W_est ≥ cwnd_prior).
    let state = State { w_max: None, cwnd_prior: 70.0, epoch: None };
    let mut cubic = Cubic { state, ..Cubic::default() };
    let v = View { srtt: Duration::from_millis(1), ..view(70.0, 70.0) };
    assert!((cubic.on_ack(&v, &ack(Instant::ZERO)).cwnd - (70.0 + 1.0 / 70.0)).abs() < 1e-9);
}

#[test]
fn fast_convergence_leaves_room() {
    let mut cubic = Cubic::default();
    cubic.on_loss(&view(800.0, 500.0));
    cubic.on_loss(&view(600.0, 560.0));
    assert_eq!(cubic.state.w_max, Some(510.0), "0.85 of 600, which is below 800");
    cubic.on_loss(&view(600.0, 420.0));
    assert_eq!(cubic.state.w_max, Some(600.0));
    cubic.on_loss(&view(600.0, 420.0));
    assert_eq!(cubic.state.w_max, Some(600.0), "as high as before: nobody else asks for room");
    let mut lone = Cubic::without_fast_convergence();
    lone.on_loss(&view(800.0, 500.0));
    lone.on_loss(&view(600.0, 560.0));
    assert_eq!(lone.state.w_max, Some(600.0));
}

#[test]
fn after_a_timeout_the_plateau_is_where_avoidance_begins() {
    let mut cubic = Cubic::default();
    assert!((cubic.on_timeout(&view(100.0, 50.0)) - 70.0).abs() < 1e-9);
    let v = view(70.0, 70.0);
    cubic.on_ack(&v, &ack(Instant::from_secs(1)));
    let epoch = cubic.state.epoch.unwrap();
    assert_eq!((epoch.k_s, epoch.w_max), (0.0, 70.0));
}

#[test]
fn time_in_which_the_window_was_not_used_does_not_count() {
    let mut cubic = Cubic::default();
    let v = view(70.0, 70.0);
    cubic.on_loss(&view(100.0, 50.0));
    cubic.on_ack(&v, &ack(Instant::from_secs(1)));
    let idle = Ack { cwnd_limited: false, ..ack(Instant::from_secs(5)) };
    assert_eq!(cubic.on_ack(&v, &idle).cwnd, 70.0);
    assert_eq!(cubic.state.epoch.unwrap().began_at, Instant::from_secs(5));
}

#[test]
fn an_undone_loss_restores_the_curve() {
    let mut cubic = Cubic::default();
    let mut v = view(560.0, 560.0);
    cubic.on_loss(&view(800.0, 500.0));
    v.cwnd = cubic.on_ack(&v, &ack(Instant::from_secs(1))).cwnd;
    let before = (cubic.state.w_max, cubic.state.epoch.unwrap().began_at);
    cubic.on_loss(&v);
    cubic.on_undo(&v);
    assert_eq!((cubic.state.w_max, cubic.state.epoch.unwrap().began_at), before);
}

#[test]
fn marks_and_floors() {
    let mut cubic = Cubic::default();
    assert_eq!(cubic.on_ecn(&view(100.0, 50.0), false), 70.0);
    assert_eq!(cubic.on_ecn(&view(100.0, 50.0), true), 85.0);
    assert_eq!(cubic.on_loss(&view(2.5, 2.0)), 2.0);
}

#[test]
fn leaving_slow_start_without_a_loss_begins_at_the_plateau() {
    let mut cubic = Cubic::default();
    let mut v = view(10.0, f64::INFINITY);
    let mut now = Instant::ZERO;
    for rtt_ms in [40, 50, 50, 50, 50, 50, 50] {
        for _ in 0..10 {
            now += Duration::from_millis(1);
            v.in_flight = 10;
            let w = cubic.on_ack(&v, &Ack { rtt: Some(Duration::from_millis(rtt_ms)), ..ack(now) });
            (v.cwnd, v.ssthresh) = (w.cwnd, w.ssthresh);
        }
    }
    assert_eq!(v.ssthresh, 38.75);
    let epoch = cubic.state.epoch.unwrap();
    assert_eq!((epoch.k_s, epoch.w_max), (0.0, 38.75));
}
