//! BBR's decisions worked by hand: segments of 1,000 bytes, 1 MB/s, a round trip of 40 ms, so 40 segments fill the path.

use super::super::LostPacket;
use super::*;
use crate::time::{Duration, Instant};

const RTT: Duration = Duration::from_millis(40);

/// In a state, on a path that its model knows; it has waited 10 s of its cycle.
fn in_state(state: State) -> Bbr {
    let mut bbr = Bbr::new(1);
    bbr.begin(&View { srtt: RTT, ..View::new(10.0, 1_000) }, Instant::ZERO);
    let sample = Event { delivers: true, rate: 1e6, rtt: Some(RTT), ..Event::at(Instant::from_nanos(1), 0.0) };
    bbr.model.update_delivery(&sample, 0.0);
    bbr.model.update_min_rtt(&sample);
    bbr.model.finish(&sample);
    assert_eq!(bbr.model.bdp(1.0, 0.0), 40_000.0);
    (bbr.cwnd, bbr.model.full_bw_reached, bbr.model.state) = (80_000.0, true, state);
    (bbr.model.round_start, bbr.model.loss_round_start, bbr.model.probe_wait) = (false, false, 10 * SECOND);
    bbr
}

fn event(now: Instant, in_flight: f64) -> Event {
    Event { delivers: true, rate: 1e6, in_flight, ..Event::at(now, 500.0) }
}

/// The first rate is 2.77 windows in the round trip, or in a millisecond where none is known.
#[test]
fn the_first_rate() {
    for (srtt, rate) in [(RTT, 692_500.0), (Duration::ZERO, 27.7e6)] {
        let mut bbr = Bbr::new(1);
        bbr.begin(&View { srtt, ..View::new(10.0, 1_000) }, Instant::from_nanos(5));
        assert!((bbr.model.pacing_rate - rate).abs() < 1e-3);
        assert_eq!((bbr.cwnd, bbr.initial_cwnd, bbr.model.mss), (10_000.0, 10_000.0, 1_000.0));
    }
}

/// More than 2 % lost in six ranges of a round of a recovery end startup, with what the path holds as the bound.
#[test]
fn losses_end_startup() {
    let lossy = Event { lost: 1_001.0, tx_in_flight: 50_000.0, ..event(Instant::from_nanos(9), 90_000.0) };
    let after = |change: fn(&mut Bbr), event: &Event| {
        let mut bbr = in_state(State::Startup);
        bbr.model.full_bw_reached = false;
        (bbr.model.loss_round_start, bbr.recovering, bbr.model.lost_ranges) = (true, true, 6);
        change(&mut bbr);
        bbr.leave_startup(event);
        bbr
    };
    let left = after(|_| {}, &lossy);
    assert_eq!((left.model.state, left.model.full_bw_now, left.model.drain_round), (State::Drain, true, 1));
    assert_eq!((left.model.inflight_long, left.undo.state), (40_000.0, Some(State::Startup)));
    assert_eq!(after(|b| b.model.inflight_latest = 45_000.0, &lossy).model.inflight_long, 45_000.0);
    for stays in [
        after(|b| b.model.loss_round_start = false, &lossy),
        after(|b| b.recovering = false, &lossy),
        after(|b| b.model.lost_ranges = 5, &lossy),
        after(|_| {}, &Event { lost: 1_000.0, ..lossy }),
    ] {
        assert_eq!((stays.model.state, stays.model.inflight_long), (State::Startup, f64::INFINITY));
    }
}

/// Drain ends when no more is in flight than the path holds, or after more than three rounds. The wait to the next probe is two
/// to three seconds, and about half of the flows are a round ahead.
#[test]
fn when_drain_ends() {
    let after = |in_flight: f64, round: u64| {
        let mut bbr = in_state(State::Drain);
        (bbr.model.drain_round, bbr.model.round) = (5, round);
        bbr.leave_startup(&event(Instant::from_nanos(9), in_flight));
        bbr
    };
    assert_eq!(after(40_001.0, 8).model.state, State::Drain);
    assert_eq!(after(40_001.0, 9).model.state, State::Down);
    let down = after(40_000.0, 5);
    assert_eq!(
        (down.model.state, down.model.probe, down.model.cycle_stamp),
        (State::Down, Probe::Stopping, Instant::from_nanos(9))
    );
    assert_eq!(down.model.up_acked_per_inc, f64::INFINITY);
    let mut ahead = 0;
    for now in (0..400).map(Instant::from_nanos) {
        let mut bbr = in_state(State::Drain);
        bbr.start_down(&event(now, 0.0));
        assert!((2 * SECOND..3 * SECOND).contains(&bbr.model.probe_wait));
        ahead += bbr.model.rounds_since_up;
    }
    assert!((150..250).contains(&ahead), "{ahead}");
}

/// From down to cruise when the queue and the headroom are free; to refill when the wait is over, or after as many rounds as the
/// path holds segments (63 at most).
#[test]
fn when_a_probe_begins() {
    let after = |change: fn(&mut Bbr), event: &Event| {
        let mut bbr = in_state(State::Down);
        change(&mut bbr);
        bbr.cycle(event);
        bbr.model.state
    };
    let wait = Instant::from_secs(10);
    assert_eq!(after(|_| {}, &event(wait, 40_001.0)), State::Down);
    assert_eq!(after(|_| {}, &event(wait, 40_000.0)), State::Cruise);
    assert_eq!(after(|b| b.model.inflight_long = 40_000.0, &event(Instant::from_nanos(9), 34_001.0)), State::Down);
    assert_eq!(after(|b| b.model.inflight_long = 40_000.0, &event(Instant::from_nanos(9), 34_000.0)), State::Cruise);
    assert_eq!(after(|_| {}, &event(wait + Duration::from_nanos(1), 90_000.0)), State::Refill);
    assert_eq!(after(|b| b.model.rounds_since_up = 39, &event(Instant::from_nanos(9), 90_000.0)), State::Down);
    assert_eq!(after(|b| b.model.rounds_since_up = 40, &event(Instant::from_nanos(9), 90_000.0)), State::Refill);
    let fast = |b: &mut Bbr, rounds| (b.model.bw, b.cwnd, b.model.rounds_since_up) = (1e7, 1e6, rounds);
    let mut bbr = in_state(State::Cruise);
    fast(&mut bbr, 62);
    bbr.cycle(&event(Instant::from_nanos(9), 1e6));
    assert_eq!(bbr.model.state, State::Cruise);
    fast(&mut bbr, 63);
    bbr.cycle(&event(Instant::from_nanos(9), 1e6));
    assert_eq!((bbr.model.state, bbr.model.probe, bbr.model.up_rounds), (State::Refill, Probe::Refilling, 0));
    bbr.cycle(&event(Instant::from_nanos(9), 1e6));
    assert_eq!(bbr.model.state, State::Refill, "for a round");
    bbr.model.round_start = true;
    bbr.cycle(&event(Instant::from_nanos(9), 1e6));
    assert_eq!((bbr.model.state, bbr.model.up_rounds, bbr.model.is_probe_sample), (State::Up, 1, true));
}

/// A probe ends when the pipe is full, or at once at the bound that losses gave; while the window is what limits and has reached
/// the bound, it goes on.
#[test]
fn when_a_probe_ends() {
    let mut bbr = in_state(State::Up);
    assert!(!bbr.is_time_to_go_down(&event(Instant::from_nanos(9), 90_000.0)));
    bbr.model.full_bw_now = true;
    assert!(bbr.is_time_to_go_down(&event(Instant::from_nanos(9), 90_000.0)));
    bbr.model.inflight_long = 80_000.0;
    bbr.limited = (false, true);
    assert!(!bbr.is_time_to_go_down(&event(Instant::from_nanos(9), 90_000.0)));
    assert!(!bbr.model.full_bw_now);
    (bbr.cwnd, bbr.model.full_bw_now) = (79_999.0, true);
    assert!(bbr.is_time_to_go_down(&event(Instant::from_nanos(9), 90_000.0)));
    (bbr.model.full_bw_now, bbr.model.was_too_high) = (false, true);
    assert!(!bbr.is_time_to_go_down(&event(Instant::from_nanos(9), 79_999.0)));
    assert!(bbr.is_time_to_go_down(&event(Instant::from_nanos(9), 80_000.0)));
    assert!(bbr.model.was_precautionary);
}

/// What acknowledgments of a probe tell: feedback after a round; after the next the bandwidth of a cycle is complete, and a probe
/// that was ended as a precaution is made again. A bound that proved too low is raised.
#[test]
fn the_long_term_model_adapts() {
    let mut bbr = in_state(State::Up);
    bbr.model.probe = Probe::Starting;
    assert!(!bbr.adapt_long_term(&event(Instant::from_nanos(9), 0.0)));
    assert_eq!(bbr.model.probe, Probe::Starting);
    bbr.model.round_start = true;
    assert!(!bbr.adapt_long_term(&event(Instant::from_nanos(9), 0.0)));
    assert_eq!(bbr.model.probe, Probe::Feedback);
    (bbr.model.state, bbr.model.probe, bbr.model.is_probe_sample) = (State::Down, Probe::Stopping, true);
    assert!(!bbr.adapt_long_term(&event(Instant::from_nanos(9), 0.0)));
    assert_eq!((bbr.model.probe, bbr.model.is_probe_sample), (Probe::None, false));
    (bbr.model.probe, bbr.model.was_precautionary) = (Probe::Stopping, true);
    assert!(bbr.adapt_long_term(&event(Instant::from_nanos(9), 0.0)));
    assert_eq!(bbr.model.state, State::Refill);
    // Raised by what was in flight without loss, and in a probe by what the full window brings.
    let mut bbr = in_state(State::Up);
    bbr.model.inflight_long = 60_000.0;
    let acked = Event { acked: 1_000.0, tx_in_flight: 70_000.0, ..event(Instant::from_nanos(9), 0.0) };
    bbr.adapt_long_term(&Event { lost: 1_401.0, ..acked });
    assert_eq!(bbr.model.inflight_long, 60_000.0);
    bbr.adapt_long_term(&Event { lost: 1_400.0, ..acked });
    assert_eq!((bbr.model.inflight_long, bbr.model.up_acked), (70_000.0, 0.0));
    bbr.limited = (true, false);
    bbr.adapt_long_term(&acked);
    assert_eq!(bbr.model.up_acked, 1_000.0);
    bbr.cwnd = 69_999.0;
    bbr.adapt_long_term(&acked);
    assert_eq!(bbr.model.up_acked, 1_000.0);
}

/// Half of the path for 200 ms and a round, then the window of before; not after a pause of the application.
#[test]
fn a_probe_of_the_round_trip() {
    let mut bbr = in_state(State::Cruise);
    bbr.model.probe_rtt_expired = true;
    bbr.model.idle_restart = true;
    assert!(!bbr.probe_rtt(&event(Instant::from_nanos(9), 0.0)));
    assert!(!bbr.model.idle_restart);
    assert!(bbr.probe_rtt(&event(Instant::from_nanos(9), 20_001.0)));
    assert_eq!((bbr.prior_cwnd, bbr.model.probe_rtt_done_stamp, bbr.model.probe), (80_000.0, None, Probe::Stopping));
    bbr.control(&event(Instant::from_nanos(9), 0.0));
    assert_eq!(bbr.cwnd, 20_000.0);
    bbr.probe_rtt(&event(Instant::from_nanos(10), 20_000.0));
    let done_at = Instant::from_nanos(10) + 200 * MSECOND;
    assert_eq!(bbr.model.probe_rtt_done_stamp, Some(done_at));
    for (now, round_start) in [(done_at + Duration::from_nanos(1), false), (done_at, true)] {
        bbr.model.round_start = round_start;
        assert!(bbr.probe_rtt(&event(now, 0.0)));
        assert_eq!(bbr.model.state, State::ProbeRtt);
    }
    let mut before_full = bbr.clone();
    bbr.probe_rtt(&event(done_at + Duration::from_nanos(1), 0.0));
    assert_eq!(
        (bbr.model.state, bbr.cwnd, bbr.model.probe_rtt_stamp),
        (State::Cruise, 80_000.0, done_at + Duration::from_nanos(1))
    );
    before_full.model.full_bw_reached = false;
    before_full.probe_rtt(&event(done_at + Duration::from_nanos(1), 0.0));
    assert_eq!(before_full.model.state, State::Startup);
}

/// The window: twice the path and what is acknowledged in bunches; in each state within its own bound, and four segments at least.
#[test]
fn the_window_and_its_bounds() {
    let window = |state: State, change: fn(&mut Bbr)| {
        let mut bbr = in_state(state);
        change(&mut bbr);
        bbr.control(&Event { acked: 5_000.0, delivered: 1e6, ..event(Instant::from_nanos(9), 0.0) });
        (bbr.cwnd, bbr.model.pacing_rate)
    };
    assert_eq!(window(State::Cruise, |_| {}), (80_000.0, 0.99e6));
    assert_eq!(window(State::Cruise, |b| b.cwnd = 70_000.0).0, 75_000.0);
    assert_eq!(window(State::Up, |b| b.cwnd = 99_000.0), (92_000.0, 1.25 * 1e6 * 0.99), "2.25 times the path and two");
    assert_eq!(window(State::Cruise, |b| b.model.inflight_long = 40_000.0).0, 34_000.0);
    assert_eq!(window(State::Refill, |b| b.model.inflight_long = 40_000.0).0, 40_000.0);
    assert_eq!(window(State::Drain, |b| b.model.inflight_long = 40_000.0).0, 80_000.0);
    assert_eq!(window(State::Refill, |b| b.model.inflight_long = 1_000.0).0, 4_000.0);
    assert_eq!(window(State::Refill, |b| b.cwnd = -9_000.0).0, 4_000.0);
    // Startup keeps a higher rate, and its window grows up to the same bound, or as long as little was delivered.
    let early = |cwnd: f64, delivered: f64| {
        let mut bbr = in_state(State::Startup);
        (bbr.model.full_bw_reached, bbr.cwnd, bbr.model.pacing_rate) = (false, cwnd, 9e6);
        bbr.control(&Event { acked: 5_000.0, ..Event::at(Instant::from_nanos(9), delivered) });
        assert_eq!(bbr.model.pacing_rate, 9e6);
        bbr.cwnd
    };
    assert_eq!((early(79_000.0, 1e6), early(80_000.0, 1e6), early(80_000.0, 9_999.0)), (84_000.0, 80_000.0, 85_000.0));
}

/// Before the first loss of a round the window and the bounds are kept; a spurious recovery brings them back, and its probe.
#[test]
fn what_a_spurious_recovery_brings_back() {
    let mut bbr = in_state(State::Up);
    bbr.model.inflight_long = 60_000.0;
    let packet = LostPacket { bytes: 1_000, in_flight: 50_000, lost: 1_000, app_limited: false, begins_range: true };
    bbr.lost(&event(Instant::from_nanos(9), 0.0), &packet);
    assert_eq!((bbr.prior_cwnd, bbr.model.lost_ranges, bbr.model.loss_round_delivered), (80_000.0, 1, 500.0));
    bbr.model.is_probe_sample = true;
    bbr.lost(&event(Instant::from_nanos(9), 0.0), &LostPacket { begins_range: false, ..packet });
    assert_eq!((bbr.model.lost_ranges, bbr.model.state), (1, State::Up), "2 % exactly");
    // What the application limited says that it is too much, but not how much would do.
    bbr.lost(&event(Instant::from_nanos(9), 0.0), &LostPacket { lost: 2_000, app_limited: true, ..packet });
    assert_eq!((bbr.model.inflight_long, bbr.model.was_too_high, bbr.model.state), (60_000.0, true, State::Down));
    let view = View::new(84.0, 1_000);
    assert_eq!(bbr.on_timeout(&view), 84.0);
    assert_eq!(bbr.cwnd, 1_000.0);
    bbr.undo.state = Some(State::Startup);
    bbr.on_undo(&view);
    assert_eq!((bbr.cwnd, bbr.model.state, bbr.model.full_bw_reached), (80_000.0, State::Startup, false));
    // In a recovery, or in a probe of the round trip, the larger window is kept.
    (bbr.recovering, bbr.cwnd) = (true, 3_000.0);
    assert_eq!(bbr.on_loss(&view), 84.0);
    assert_eq!(bbr.prior_cwnd, 80_000.0);
    (bbr.recovering, bbr.cwnd) = (false, 3_000.0);
    bbr.on_loss(&view);
    assert_eq!(bbr.prior_cwnd, 3_000.0);
}

/// After a pause the cycle paces at the bandwidth.
#[test]
fn a_pause() {
    let mut bbr = in_state(State::Down);
    let view = View::new(84.0, 1_000);
    assert_eq!(bbr.on_restart(&view, Instant::from_nanos(77)), Some(0.99e6));
    assert_eq!((bbr.model.idle_restart, bbr.model.extra_since), (true, Instant::from_nanos(77)));
    assert_eq!(Bbr::new(1).on_restart(&view, Instant::from_nanos(77)), None);
    (bbr.model.state, bbr.model.probe_rtt_done_stamp) = (State::ProbeRtt, Some(Instant::from_nanos(77)));
    bbr.on_restart(&view, Instant::from_nanos(77));
    assert_eq!(bbr.model.state, State::ProbeRtt);
    bbr.on_restart(&view, Instant::from_nanos(78));
    assert_eq!(bbr.model.state, State::Cruise);
    let mut columns = [0.0; 3];
    bbr.show(&view, Instant::ZERO, &mut columns);
    assert_eq!(columns, [8e6, 0.04, 3.0]);
}
