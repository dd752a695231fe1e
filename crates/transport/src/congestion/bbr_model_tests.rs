//! The model's steps worked by hand: segments of 1,000 bytes, 1 MB/s, a round trip of 40 ms, so 40 segments fill the path.

use super::*;
use crate::time::{Duration, Instant};

const MSS: f64 = 1_000.0;
const RTT: Duration = Duration::from_millis(40);

/// Of a path that is known.
fn known() -> Model {
    Model { mss: MSS, bw: 1e6, max_bw: (1e6, 0.0), min_rtt: Some(RTT), probe_rtt_delay: RTT, ..Model::new() }
}

fn event(delivered: f64, prior_delivered: f64, rate: f64) -> Event {
    Event { delivers: true, rate, prior_delivered, ..Event::at(Instant::ZERO + RTT, delivered) }
}

/// Never less than six segments, and two more while it probes upward.
#[test]
fn what_is_to_be_in_flight() {
    let mut model = known();
    assert_eq!((model.bdp(0.5, 9.0), model.inflight(1.0, 9.0)), (20_000.0, 40_000.0));
    assert_eq!(model.inflight(0.1, 9.0), 6_000.0);
    model.state = State::Up;
    assert_eq!((model.inflight(1.0, 9.0), model.inflight(0.1, 9.0)), (42_000.0, 8_000.0));
    // 4 MB/s: 4,000 bytes in a millisecond.
    model.pacing_rate = 4e6;
    assert_eq!([1.0, 0.1].map(|gain| model.inflight(gain, 9.0)), [42_000.0, 14_000.0]);
    model.pacing_rate = 1e9;
    assert_eq!(model.budget(0.0), 3.0 * 65_536.0 + 2_000.0, "64 KiB at most");
    model.min_rtt = None;
    assert_eq!((model.bdp(2.0, 9_000.0), model.min_rtt_s()), (9_000.0, 0.0));
}

/// 15 % below what losses have shown to be safe, a segment at least, and never less than four.
#[test]
fn headroom() {
    let mut model = known();
    assert_eq!(model.inflight_with_headroom(), f64::INFINITY);
    for (long, expected) in [(40_000.0, 34_000.0), (6_000.0, 5_000.0), (4_500.0, 4_000.0)] {
        model.inflight_long = long;
        assert_eq!(model.inflight_with_headroom(), expected);
    }
}

/// Lossy is more than 2 % of what was in flight.
#[test]
fn the_threshold_of_losses() {
    let of = |lost: f64| Event { lost, tx_in_flight: 50_000.0, ..Event::at(Instant::ZERO, 0.0) };
    assert_eq!((of(1_000.0).too_lossy(), of(1_001.0).too_lossy()), (false, true));
}

/// A round is over when what was sent after its start is acknowledged. Rates count that no application limited, or that are
/// no smaller; they are forgotten after two cycles.
#[test]
fn rounds_and_the_largest_bandwidth() {
    let mut model = known();
    model.update_delivery(&event(10.0, 0.0, 2e6), 0.0);
    assert_eq!((model.round, model.rounds_since_up, model.round_start, model.loss_round_start), (1, 1, true, true));
    assert_eq!((model.max_bw(), model.max_bw), (2e6, (1e6, 2e6)));
    model.update_delivery(&event(12.0, 9.0, 3e6), 0.0);
    assert_eq!((model.round, model.round_start, model.loss_round_start, model.max_bw()), (1, false, false, 3e6));
    for (rate, expected) in [(2.9e6, 3e6), (3e6, 3e6), (3.5e6, 3.5e6)] {
        model.update_delivery(&Event { app_limited: true, ..event(20.0, 10.0, rate) }, 0.0);
        assert_eq!(model.max_bw(), expected);
    }
    model.advance_max_bw();
    assert_eq!(model.max_bw, (3.5e6, 0.0));
    model.advance_max_bw(); // a cycle without a sample keeps what there is
    model.update_delivery(&event(30.0, 20.0, 1e6), 0.0);
    model.advance_max_bw();
    assert_eq!(model.max_bw, (1e6, 0.0));
    // An acknowledgment without a sample says nothing, and no round begins with it.
    let round = model.round;
    model.update_delivery(&Event::at(Instant::from_nanos(1), 99.0), 0.0);
    assert_eq!((model.round, model.round_start, model.delivered, model.max_bw()), (round, false, 99.0, 1e6));
}

/// At the end of a round with losses: 0.7 of what was, or what the round brought if that is more; not while it probes.
#[test]
fn losses_bound_the_short_term() {
    let mut model = known();
    (model.state, model.loss_in_round) = (State::Cruise, true);
    let lossy = Event { bytes: 20_000.0, ..event(10.0, 0.0, 0.6e6) };
    model.update_delivery(&lossy, 50_000.0);
    assert_eq!((model.short_term(), model.loss_in_round), ((0.7e6, 35_000.0), false));
    model.finish(&lossy);
    assert_eq!((model.bw, model.bw_latest, model.inflight_latest), (0.7e6, 0.6e6, 20_000.0));
    model.loss_in_round = true;
    let next = Event { bytes: 30_000.0, ..event(20.0, 10.0, 0.65e6) };
    model.update_delivery(&next, 50_000.0);
    assert_eq!(model.short_term(), (0.65e6, 30_000.0));
    // Without losses in the round the bounds stay.
    model.update_delivery(&event(30.0, 20.0, 0.1e6), 50_000.0);
    assert_eq!(model.short_term(), (0.65e6, 30_000.0));
    model.undo((0.8e6, 20_000.0), 70_000.0);
    assert_eq!((model.short_term(), model.inflight_long), ((0.8e6, 30_000.0), f64::INFINITY));
    for state in [State::Startup, State::Refill, State::Up] {
        let mut model = known();
        (model.state, model.loss_in_round) = (state, true);
        model.update_delivery(&lossy, 50_000.0);
        assert_eq!(model.short_term(), (f64::INFINITY, f64::INFINITY), "{state:?}");
    }
}

/// What is acknowledged beyond what the bandwidth lets expect: 30 kB where 10 are, never more than a window, remembered for
/// ten rounds once the pipe is full.
#[test]
fn aggregated_acknowledgments() {
    let mut model = known();
    (model.extra_since, model.extra_delivered) = (Instant::ZERO, 20_000.0);
    model.update_aggregation(&Event { acked: 10_000.0, ..Event::at(Instant::from_millis(10), 0.0) }, 50_000.0);
    assert_eq!((model.extra_acked(), model.extra_delivered), (20_000.0, 30_000.0));
    model.update_aggregation(&Event { acked: 1_000.0, ..Event::at(Instant::from_millis(30), 0.0) }, 500.0);
    assert_eq!(
        (model.extra_delivered, model.extra_since),
        (1_000.0, Instant::from_millis(30)),
        "as many as expected: anew"
    );
    assert_eq!(model.extra_acked(), 20_000.0);
    for (full, rounds, expected) in [(false, 1, 500.0), (true, 9, 20_000.0), (true, 10, 500.0)] {
        let mut model = model.clone();
        (model.full_bw_reached, model.round) = (full, rounds);
        model.update_aggregation(&Event { acked: 1_000.0, ..Event::at(Instant::ZERO + RTT, 0.0) }, 500.0);
        assert_eq!(model.extra_acked(), expected, "{full} {rounds}");
    }
}

/// A quarter more, exactly, is growth; three rounds with less fill the pipe, those not counted that the application limits.
#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut model = known();
    model.round_start = true;
    let mut seen = |rate: f64, app_limited: bool| {
        model.check_full_bw(&Event { app_limited, ..event(1.0, 0.0, rate) });
        (model.full_bw, model.full_bw_count, model.full_bw_reached)
    };
    assert_eq!(seen(1e6, false), (1e6, 0, false));
    assert_eq!(seen(1.24e6, false), (1e6, 1, false));
    assert_eq!(seen(1.25e6, false), (1.25e6, 0, false));
    for count in 1..=2 {
        assert_eq!(seen(1e6, false), (1.25e6, count, false));
        assert_eq!(seen(1e6, true), (1.25e6, count, false));
    }
    assert_eq!(seen(1e6, false), (1.25e6, 3, true));
    assert_eq!(seen(9e6, false), (1.25e6, 3, true), "what is found stays found");
    model.reset_full_bw(2e6);
    assert_eq!((model.full_bw, model.full_bw_count, model.full_bw_now, model.full_bw_reached), (2e6, 0, false, true));
    model.round_start = false;
    model.check_full_bw(&event(1.0, 0.0, 9e6));
    assert_eq!(model.full_bw, 2e6);
}

/// Probing upward adds a segment per window acknowledged in the first round, two in the second, four in the third.
#[test]
fn the_slope_doubles_each_round() {
    let mut model = known();
    model.inflight_long = 40_000.0;
    model.raise_slope(40_000.0);
    assert_eq!((model.up_rounds, model.up_acked_per_inc), (1, 40_000.0));
    let acked = |acked: f64| Event { acked, ..Event::at(Instant::ZERO, 0.0) };
    model.probe_upward(&acked(39_999.0), 40_000.0);
    assert_eq!(model.inflight_long, 40_000.0);
    model.probe_upward(&acked(1.0), 40_000.0);
    assert_eq!((model.inflight_long, model.up_acked), (41_000.0, 0.0));
    model.round_start = true;
    model.probe_upward(&acked(0.0), 40_000.0);
    assert_eq!((model.up_rounds, model.up_acked_per_inc), (2, 20_000.0));
    model.round_start = false;
    model.probe_upward(&acked(50_000.0), 40_000.0);
    assert_eq!((model.inflight_long, model.up_acked), (43_000.0, 10_000.0));
    for _ in 0..40 {
        model.raise_slope(40_000.0);
    }
    assert_eq!((model.up_rounds, model.up_acked_per_inc), (30, 1_000.0));
}

/// The least round trip counts for ten seconds; one that is no smaller takes its place after five, to end the probe.
#[test]
fn the_least_round_trip() {
    let mut model = known();
    let three = Instant::from_nanos(3);
    let longer = RTT + Duration::from_nanos(7);
    model.begin(&View { min_rtt: longer, ..View::new(10.0, 1_000) }, three);
    assert_eq!(model.min_rtt, Some(longer), "the handshake's");
    model.begin(&View::new(10.0, 1_000), three);
    assert_eq!(model.min_rtt, None);
    model.min_rtt = Some(RTT);
    assert_eq!((model.extra_since, model.min_rtt_stamp, model.probe_rtt_stamp), (three, three, three));
    let at = |now: Instant, rtt: Duration| Event { rtt: Some(rtt), ..Event::at(now, 0.0) };
    let five = three + 5 * SECOND;
    model.update_min_rtt(&at(five, RTT));
    assert_eq!((model.probe_rtt_expired, model.probe_rtt_stamp), (false, three));
    model.update_min_rtt(&Event::at(five + Duration::from_nanos(1), 0.0));
    assert_eq!((model.probe_rtt_expired, model.probe_rtt_stamp), (true, three));
    model.update_min_rtt(&at(five + Duration::from_nanos(1), RTT + Duration::from_nanos(5)));
    assert_eq!(
        (model.probe_rtt_stamp, model.min_rtt, model.min_rtt_stamp),
        (five + Duration::from_nanos(1), Some(RTT), three)
    );
    let ten = three + 10 * SECOND;
    model.update_min_rtt(&at(ten, RTT + Duration::from_nanos(9)));
    assert_eq!(model.min_rtt, Some(RTT));
    model.update_min_rtt(&at(ten + Duration::from_nanos(1), RTT + Duration::from_nanos(9)));
    assert_eq!(
        (model.min_rtt, model.min_rtt_stamp),
        (Some(RTT + Duration::from_nanos(5)), five + Duration::from_nanos(1))
    );
    model.update_min_rtt(&at(ten + Duration::from_nanos(2), RTT - Duration::from_nanos(1)));
    assert_eq!(
        (model.min_rtt, model.min_rtt_stamp),
        (Some(RTT - Duration::from_nanos(1)), ten + Duration::from_nanos(2))
    );
}
