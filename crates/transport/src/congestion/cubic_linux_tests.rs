use super::*;
use crate::time::{Duration, Instant};

fn view(cwnd: f64, ssthresh: f64) -> View {
    View {
        cwnd,
        ssthresh,
        srtt: Duration::from_millis(100),
        min_rtt: Duration::from_millis(100),
        active: true,
        ..View::new(10.0, 1420)
    }
}

fn ack(now: Instant) -> Ack {
    Ack { now, acked_segments: 1.0, rtt: None, cwnd_limited: true }
}

/// 30 segments below the maximum: a = 30·⌊2⁴⁰/410⌋ has 37 bits, so 11 digits; the middle is 9.5, the estimate ⌊64·2.1179·1.02956⌋ = 139 and
/// 139·2⁵ = 4,448. (2·4,448 + ⌊a/(4,448·4,447)⌋)·341/1,024 = 12,963·341/1,024 = 4,316; the root is 4,316.9.
#[test]
fn the_cube_root_is_the_kernels() {
    let part = (1 << 40) / C;
    assert_eq!(root(30 * part), 4_316);
    assert_eq!((root(0), root(511)), (0, 7));
    for segments in 1..2_000 {
        let (taken, exact) = (root(segments * part) as f64, cube_root((segments * part) as f64));
        assert!((taken / exact - 1.0).abs() < 0.004, "{segments}: {taken} for {exact}");
    }
}

#[test]
fn growth_worked_by_hand() {
    // A loss at 100 leaves 70; K = ∛(30/0.4004) = 4.215 s, W(0.1 s) = 100 − 0.4·4.115³ = 72.1: 28 segments less than 100 are
    // 27 in whole ones, so 73 - 70 = 3, and one for 70/3 = 23 acknowledged.
    let mut c = CubicLinux::default();
    let ssthresh = c.on_loss(&view(100.0, f64::INFINITY));
    assert_eq!(ssthresh, 70.0);
    let mut v = view(ssthresh, ssthresh);
    let grows = (1..=40).find(|_| {
        let w = c.on_ack(&v, &Ack { rtt: Some(Duration::from_millis(100)), ..ack(Instant::from_secs(1)) }).cwnd;
        std::mem::replace(&mut v.cwnd, w) < w
    });
    assert_eq!(grows, Some(23));
    assert_eq!(v.cwnd, 71.0);
}

#[test]
fn without_a_loss_the_window_grows_by_one_for_twenty_acknowledgments() {
    // HyStart has ended slow start at 30. The acknowledgment that did counts.
    let mut c = CubicLinux::default();
    let mut v = view(30.0, 30.0);
    let mut after = Vec::new();
    for n in 1..=60_u64 {
        let w = c.on_ack(&v, &ack(Instant::from_millis(1_000 + n))).cwnd;
        if w > v.cwnd {
            after.push(n);
        }
        v.cwnd = w;
    }
    assert_eq!(after, [20, 40, 60]);
}

/// RFC 9438 §4.7, fast convergence: a loss at 80 after one at 100 leaves W_max = 80 · (1 + 717/1024)/2 = 68; one at the
/// last W_max or above it leaves the window. What is undone leaves W_max as it is (`tcp_reno_undo_cwnd`).
#[test]
fn a_window_below_the_last_maximum_gives_way() {
    let mut c = CubicLinux::default();
    let mut after = |cwnd: f64, undone: bool| {
        c.on_loss(&view(cwnd, f64::INFINITY));
        if undone {
            c.on_undo(&view(cwnd, f64::INFINITY));
        }
        c.state.last_max
    };
    assert_eq!((after(100.0, false), after(100.0, false)), (100, 100));
    assert_eq!(after(80.0, true), 68);
    assert_eq!(after(80.0, false), 80);
    assert_eq!(after(70.0, false), 59);
}

#[test]
fn the_friendly_window_keeps_its_pace_beyond_the_last_maximum() {
    // At 10 segments and 10 ms Reno's pace decides: 8/15 of a segment a round trip, also above 10/0.7, and also where an
    // acknowledgment is for two segments. The window follows W_est some round trips later, as that is looked at after 31 ms.
    for per_ack in [1.0, 2.0] {
        let mut c = CubicLinux::default();
        let mut v = View { srtt: Duration::from_millis(10), min_rtt: Duration::from_millis(10), ..view(10.0, 7.0) };
        c.on_loss(&v);
        v.cwnd = 7.0;
        let mut now = Instant::from_secs(1);
        let mut after = Vec::new();
        for _ in 0..90 {
            for _ in 0..(v.cwnd / per_ack).round() as u32 {
                v.cwnd = c.on_ack(&v, &Ack { acked_segments: per_ack, ..ack(now) }).cwnd;
            }
            now += Duration::from_millis(10);
            after.push(v.cwnd);
        }
        let expected = 60.0 * 8.0 / FRIENDLY_EIGHTHS as f64;
        assert!((after[89] - after[29] - expected).abs() <= 1.0, "{after:?}");
        assert!((after[29] - 7.0 - 30.0 * 8.0 / FRIENDLY_EIGHTHS as f64).abs() <= 3.0, "{after:?}");
    }
}

/// The clock of the cubic function stands still while nothing is outstanding, not while the application leaves the window unfilled: an
/// epoch that began at 1 s counts as begun at 3 s after a pause from 2 s on, whose end is acknowledged at 4.1 s.
#[test]
fn a_pause_is_not_counted() {
    let mut c = CubicLinux::default();
    c.on_loss(&view(100.0, f64::INFINITY));
    let v = View { in_flight: 10, ..view(70.0, 70.0) };
    let rtt = Some(Duration::from_millis(100));
    let ack_at = |ms| Ack { rtt, cwnd_limited: false, ..ack(Instant::from_millis(ms)) };
    c.on_ack(&v, &ack(Instant::from_secs(1)));
    c.on_ack(&v, &ack_at(1_500));
    assert_eq!(c.state.epoch.unwrap().began_ms, 1_000);
    c.on_ack(&View { in_flight: 0, ..v }, &ack_at(2_100));
    c.on_ack(&v, &ack_at(4_100));
    assert_eq!(c.state.epoch.unwrap().began_ms, 3_000);
}

/// Slow start from 20 segments with the next acknowledgments `gap` apart, RTTs of `rtt` after one round trip of
/// 100 ms: the acknowledgment that ends it.
fn end_of_slow_start(gap: Duration, rtt: Duration) -> Option<u64> {
    let mut c = CubicLinux::default();
    let mut v = view(20.0, f64::INFINITY);
    c.on_ack(&v, &Ack { rtt: Some(Duration::from_millis(100)), ..ack(Instant::ZERO) });
    v.in_flight = 1_000;
    (1..=60_u64).find(|&n| {
        let w = c.on_ack(&v, &Ack { rtt: Some(rtt), ..ack(Instant::from_secs(1) + n * gap) });
        v.cwnd = w.cwnd;
        w.ssthresh.is_finite()
    })
}

#[test]
fn slow_start_ends_with_a_long_train_or_a_risen_rtt() {
    // The first begins the round. Half of 100 ms and of the millisecond allowed: 51 ms are the first above 50.5 ms.
    assert_eq!(end_of_slow_start(Duration::from_millis(1), Duration::from_millis(100)), Some(52));
    assert_eq!(end_of_slow_start(Duration::from_millis(3), Duration::from_millis(100)), None, "no train");
    assert_eq!(
        end_of_slow_start(Duration::from_millis(3), Duration::from_millis(113)),
        Some(9),
        "12.5 ms are an eighth; eight samples come before"
    );
    assert_eq!(end_of_slow_start(Duration::from_millis(3), Duration::from_millis(112)), None);
}

#[test]
fn the_allowance_shrinks_with_the_pacing_rate() {
    // 10,000 segments of 1,420 bytes in 10 ms, twice as fast: 2.84 GB/s, at which 262,144 bytes take 92.3 µs.
    let fast = View { srtt: Duration::from_millis(10), ..view(10_000.0, f64::INFINITY) };
    assert_eq!(train_allowance(&fast) / 100, Duration::from_nanos(923));
    assert_eq!(train_allowance(&view(20.0, f64::INFINITY)), Duration::from_millis(1));
}

/// The window at which slow start ends where it alone fills a link that needs `segment` for a segment, with a queue
/// without end: windows double, each leaves in half the time that the link needs for it, and the second of two
/// segments waits for one more than the first.
fn window_after_slow_start(base: Duration, segment: Duration) -> f64 {
    let mut c = CubicLinux::default();
    let mut v = View { srtt: base, ..view(10.0, f64::INFINITY) };
    for round in 0..20 {
        let window = v.cwnd as u32;
        for i in 0..window {
            let waited = u64::from(i / 2) * segment;
            v.in_flight = window - 1 + i;
            let now = Instant::from_secs(1) + round * base + u64::from(i) * segment;
            let w = c.on_ack(&v, &Ack { rtt: Some(base + waited), ..ack(now) });
            (v.cwnd, v.ssthresh) = (w.cwnd, w.ssthresh);
            if w.ssthresh.is_finite() {
                return w.ssthresh;
            }
        }
    }
    f64::INFINITY
}

#[test]
fn the_queue_of_the_round_trip_before_is_no_rise() {
    // 100 Mbit/s, 400 ms: the last segments of each window wait, 640 of them 38 ms, above the threshold of 16 ms; but the
    // first of the next window do not. The train of 1,280 segments lasts 154 ms, that of 2,560 is longer than 200.5 ms
    // from its 1,672nd segment on (1,671 · 0.12 ms = 200.52 ms): slow start ends there, at 2,560 + 1,671 segments.
    assert_eq!(window_after_slow_start(Duration::from_millis(400), Duration::from_nanos(120_000)), 4_231.0);
}

#[test]
fn a_timeout_forgets_the_least_rtt() {
    // 100 ms before the timeout, 150 ms after it: no rise, for 150 ms are the least known.
    let mut c = CubicLinux::default();
    let mut v = view(20.0, f64::INFINITY);
    c.on_ack(&v, &Ack { rtt: Some(Duration::from_millis(100)), ..ack(Instant::ZERO) });
    c.on_timeout(&v);
    (v.ssthresh, v.in_flight) = (100.0, 1_000);
    for n in 1..=20 {
        let w =
            c.on_ack(&v, &Ack { rtt: Some(Duration::from_millis(150)), ..ack(Instant::from_millis(1_000 + n * 3)) });
        assert_eq!(w.ssthresh, 100.0);
    }
    assert_eq!(c.rtt_min, Some(Duration::from_millis(150)));
}

#[test]
fn rtts_of_the_first_second_of_congestion_avoidance_are_not_used() {
    let mut c = CubicLinux::default();
    let v = View { in_flight: 10, ..view(20.0, 10.0) };
    let rtt = |ms: u64, now: Instant| Ack { rtt: Some(Duration::from_millis(ms)), ..ack(now) };
    c.on_ack(&v, &rtt(100, Instant::from_secs(1)));
    c.on_ack(&v, &rtt(90, Instant::from_millis(1_999)));
    assert_eq!(c.rtt_min, Some(Duration::from_millis(100)));
    c.on_ack(&v, &rtt(90, Instant::from_secs(2)));
    assert_eq!(c.rtt_min, Some(Duration::from_millis(90)));
}
