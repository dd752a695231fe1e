//! Steps of version 1 worked by hand: segments of 1,000 bytes, 1 MB/s, a round trip of 40 ms, so 40 segments fill the path.

use super::super::{LostPacket, RateSample};
use super::*;

const MSS: f64 = 1_000.0;
const RTT_NS: u64 = 40 * MSECOND_NS;

fn event(now_ns: u64, delivered: f64, prior_delivered: f64, rate: f64, in_flight: f64) -> Event {
    Event { delivers: true, rate, prior_delivered, in_flight, rtt_ns: Some(RTT_NS), ..Event::at(now_ns, delivered) }
}

/// Its model knows the path.
fn on_path() -> BbrLinux {
    let mut bbr = BbrLinux::new(1);
    bbr.begin(&View { srtt_ns: RTT_NS, ..View::new(10.0, MSS as u32) }, 0);
    bbr.bw.push(0, 1e6, 10);
    bbr.min_rtt_ns = Some(RTT_NS);
    bbr
}

/// Without a round trip yet, one millisecond; the first rate is 2.885 windows in it.
#[test]
fn the_first_rate() {
    let mut bbr = BbrLinux::new(1);
    bbr.begin(&View::new(10.0, 1_000), 7);
    assert_eq!((bbr.cwnd, bbr.initial_cwnd, bbr.extra_since_ns, bbr.min_rtt_stamp_ns), (10_000.0, 10_000.0, 7, 7));
    assert!((bbr.pacing_rate - 2.885 * 10_000.0 * 1e3).abs() < 1e-3);
    assert_eq!(bbr.inflight(1e6, 2.0), 10_000.0, "the initial window, as no round trip is known");
}

/// A quarter more, exactly, is growth; three rounds with less fill the pipe. Rounds that the application limits do not count.
#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut bbr = on_path();
    let mut delivered = 0.0;
    let mut round = |bbr: &mut BbrLinux, rate: f64, app_limited: bool| {
        let e = Event { app_limited, ..event(RTT_NS, delivered + 1.0, delivered, rate, 0.0) };
        delivered += 1.0;
        assert!(bbr.update_model(&e, false));
        (bbr.full_bw, bbr.full_bw_count, bbr.full_bw_reached)
    };
    assert_eq!(round(&mut bbr, 1e6, false), (1e6, 0, false));
    assert_eq!(round(&mut bbr, 1.24e6, false), (1e6, 1, false));
    assert_eq!(round(&mut bbr, 1.25e6, false), (1.25e6, 0, false));
    assert_eq!(round(&mut bbr, 1.5e6, false), (1.25e6, 1, false));
    assert_eq!(round(&mut bbr, 1.0, true), (1.25e6, 1, false));
    assert_eq!(bbr.bw.get(), 1.5e6);
    // A rate that the application limited counts when it is no smaller.
    assert_eq!(round(&mut bbr, 1.5e6, true), (1.25e6, 1, false));
    assert_eq!(round(&mut bbr, 1.5e6, false), (1.25e6, 2, false));
    assert_eq!(round(&mut bbr, 1.5e6, false), (1.25e6, 3, true));
    // Half a round is none.
    assert!(!bbr.update_model(&event(RTT_NS, delivered + 1.0, delivered - 1.0, 9e6, 0.0), false));
    assert_eq!((bbr.bw.get(), bbr.full_bw), (9e6, 1.25e6));
}

/// What was measured in round trip 0 counts up to round trip 9: the bandwidth, and how much acknowledgments are aggregated.
#[test]
fn both_maxima_are_of_ten_round_trips() {
    let mut bbr = on_path();
    bbr.extra.push(0, 5_000.0, 10);
    for round in 1..=10 {
        let delivered = f64::from(round);
        assert!(bbr.update_model(&event(0, delivered, delivered - 1.0, 5e5, 0.0), false));
        let expected = if round < 10 { (1e6, 5_000.0) } else { (5e5, 0.0) };
        assert_eq!((bbr.bw.get(), bbr.extra.get()), expected, "round {round}");
    }
}

/// 40 segments and three bursts of two are 46; twice 40 and six 86; two more while it probes. At less than 1.2 Mbit/s a burst is
/// one segment, 43 made even; at 4.1 MB/s it is four, 52.
#[test]
fn what_is_to_be_in_flight() {
    let mut bbr = on_path();
    assert_eq!(
        (bbr.inflight(1e6, 1.0), bbr.inflight(1e6, 2.0), bbr.inflight(1e6, 1.25)),
        (46_000.0, 86_000.0, 56_000.0)
    );
    (bbr.state, bbr.phase) = (State::Cruise, 0);
    assert_eq!(bbr.inflight(1e6, 1.25), 58_000.0);
    bbr.phase = 1;
    assert_eq!(bbr.inflight(1e6, 1.25), 56_000.0);
    for (rate, expected) in [(149_999.0, 44_000.0), (150_000.0, 46_000.0), (4.1e6, 52_000.0), (4.0e6, 50_000.0)] {
        bbr.pacing_rate = rate;
        assert_eq!(bbr.inflight(1e6, 1.0), expected, "{rate}");
    }
}

/// A phase takes more than a round trip. One that probes goes on until as much is in flight as it wants, or something is
/// lost; one that drains ends early when the queue is gone.
#[test]
fn when_phases_end() {
    let mut bbr = on_path();
    bbr.full_bw_reached = true;
    bbr.state = State::Cruise;
    let over = |bbr: &BbrLinux, phase: usize, now_ns: u64, in_flight: f64, lost: bool| {
        let mut bbr = bbr.clone();
        (bbr.phase, bbr.phase_began_ns) = (phase, 0);
        let after = Event { acked: 1_000.0, ..event(now_ns, 0.0, 0.0, 0.0, in_flight - 1_000.0) };
        bbr.update_state(&after, if lost { 1.0 } else { 0.0 });
        assert!(bbr.phase == phase || bbr.phase_began_ns == now_ns);
        bbr.phase != phase
    };
    let later = RTT_NS + 1;
    for (phase, now_ns, in_flight, lost, expected) in [
        (0, RTT_NS, 58_000.0, true, false),
        (0, later, 58_000.0, false, true),
        (0, later, 57_999.0, false, false),
        (0, later, 0.0, true, true),
        (1, 1, 46_000.0, false, true),
        (1, RTT_NS, 46_001.0, false, false),
        (1, later, 46_001.0, false, true),
        (2, RTT_NS, 0.0, true, false),
        (2, later, 90_000.0, false, true),
    ] {
        assert_eq!(over(&bbr, phase, now_ns, in_flight, lost), expected, "{phase} {now_ns} {in_flight} {lost}");
    }
    // The last is followed by the first.
    bbr.phase = 7;
    bbr.update_state(&event(later, 0.0, 0.0, 0.0, 0.0), 0.0);
    assert_eq!(bbr.phase, 0);
}

/// Any phase but the one that drains, each of them at some time.
#[test]
fn the_cycle_begins_anywhere_but_with_the_drain() {
    let mut bbr = on_path();
    (bbr.state, bbr.full_bw_reached) = (State::Startup, true);
    bbr.update_state(&event(5, 0.0, 0.0, 0.0, 46_001.0), 0.0);
    assert_eq!((bbr.state, bbr.pacing_gain()), (State::Drain, 1.0 / 2.885));
    bbr.update_state(&event(9, 0.0, 0.0, 0.0, 46_000.0), 0.0);
    assert_eq!((bbr.state, bbr.phase_began_ns), (State::Cruise, 9));
    let mut seen = [false; 8];
    for now_ns in 0..200 {
        bbr.enter_cycle(now_ns);
        seen[bbr.phase] = true;
    }
    assert_eq!(seen, [true, false, true, true, true, true, true, true]);
}

/// When the least round trip is more than ten seconds old: four segments, for 200 ms and a round, then the window of before.
#[test]
fn the_round_trip_is_measured_anew() {
    let mut bbr = on_path();
    (bbr.cwnd, bbr.full_bw_reached, bbr.state) = (80_000.0, true, State::Cruise);
    let at = |now_ns: u64, in_flight: f64, rtt_ns: u64| Event {
        rtt_ns: Some(rtt_ns),
        ..event(now_ns, 500.0, 0.0, 1e6, in_flight)
    };
    let began = 10 * SECOND_NS;
    assert!(!bbr.update_min_rtt(&at(began, 80_000.0, RTT_NS + 1), true));
    assert_eq!((bbr.min_rtt_ns, bbr.min_rtt_stamp_ns), (Some(RTT_NS), 0));
    assert!(bbr.update_min_rtt(&at(began + 1, 4_001.0, 3 * RTT_NS), true));
    assert_eq!((bbr.state, bbr.min_rtt_ns, bbr.probe_rtt_done_ns), (State::ProbeRtt, Some(3 * RTT_NS), None));
    assert_eq!((bbr.prior_cwnd, bbr.pacing_gain(), bbr.cwnd_gain()), (80_000.0, 1.0, 1.0));
    assert!(bbr.update_min_rtt(&at(began + 2, 4_000.0, RTT_NS), false));
    let done_ns = began + 2 + 200 * MSECOND_NS;
    assert_eq!((bbr.probe_rtt_done_ns, bbr.next_round_delivered, bbr.min_rtt_ns), (Some(done_ns), 500.0, Some(RTT_NS)));
    bbr.cwnd = 4_000.0;
    // Long enough without a round; a round, not yet long enough.
    for (now_ns, round_start) in [(done_ns + 1, false), (done_ns, true)] {
        bbr.update_min_rtt(&at(now_ns, 0.0, RTT_NS), round_start);
        assert_eq!(bbr.state, State::ProbeRtt);
    }
    bbr.update_min_rtt(&at(done_ns + 1, 0.0, RTT_NS), false);
    assert_eq!((bbr.state, bbr.cwnd, bbr.min_rtt_stamp_ns), (State::Cruise, 80_000.0, done_ns + 1));
    // Before the pipe was full it goes back to startup; after a pause of the application it does not begin at all.
    (bbr.full_bw_reached, bbr.idle_restart) = (false, true);
    assert!(!bbr.update_min_rtt(&at(done_ns + began + 2, 0.0, RTT_NS), true));
    bbr.end_probe_rtt(1);
    assert_eq!((bbr.state, bbr.idle_restart), (State::Startup, false));
}

/// In the first round of a recovery what leaves is what arrives; then the window of the model, and at the end that of before.
#[test]
fn a_recovery() {
    let mut bbr = on_path();
    (bbr.cwnd, bbr.full_bw_reached, bbr.state, bbr.phase) = (84_000.0, true, State::Cruise, 2);
    let mut view = View::new(10.0, 1_000);
    view.phase = Phase::Recovery;
    bbr.on_loss(&View::new(84.0, 1_000));
    assert_eq!(bbr.prior_cwnd, 84_000.0);
    let acked = |acked: f64, delivered: f64, prior: f64| Event { acked, ..event(1, delivered, prior, 1e6, 30_000.0) };
    bbr.set_window(&view, &acked(400.0, 100_000.0, 99_000.0), 3_000.0);
    assert_eq!((bbr.cwnd, bbr.conserves, bbr.next_round_delivered), (31_000.0, true, 100_000.0));
    bbr.set_window(&view, &acked(2_000.0, 102_000.0, 99_999.0), 0.0);
    assert_eq!(bbr.cwnd, 32_000.0);
    // The round trip is over when what was delivered at its start is.
    bbr.update_model(&acked(0.0, 102_000.0, 99_999.0), false);
    assert!(bbr.conserves);
    assert!(bbr.update_model(&acked(0.0, 103_000.0, 100_000.0), false));
    bbr.set_window(&view, &acked(1_000.0, 103_000.0, 100_000.0), 500.0);
    assert_eq!((bbr.cwnd, bbr.conserves), (32_500.0, false));
    view.phase = Phase::Open;
    bbr.set_window(&view, &acked(1_000.0, 104_000.0, 100_000.0), 0.0);
    assert_eq!(bbr.cwnd, 85_000.0, "and what was acknowledged");
}

/// Acknowledgments of 30 kB at once where 1 MB/s let 10 expect are 20 too many, for which the window has room, up to a tenth
/// of a second's data; while the pipe is not full, none.
#[test]
fn the_window_has_room_for_aggregated_acknowledgments() {
    let mut bbr = on_path();
    (bbr.cwnd, bbr.state, bbr.phase, bbr.full_bw_reached) = (200_000.0, State::Cruise, 2, true);
    (bbr.extra_since_ns, bbr.extra_delivered) = (0, 20_000.0);
    bbr.update_model(&Event { acked: 10_000.0, ..event(10 * MSECOND_NS, 1.0, 1.0, 0.0, 0.0) }, false);
    assert_eq!(bbr.extra.get(), 20_000.0);
    let view = View::new(10.0, 1_000);
    let brought = |acked: f64| Event { acked, ..event(1, 1e6, 0.0, 0.0, 0.0) };
    bbr.set_window(&view, &brought(0.0), 500.0);
    assert_eq!(bbr.cwnd, 200_000.0, "nothing was delivered");
    bbr.set_window(&view, &brought(1.0), 0.0);
    assert_eq!(bbr.cwnd, 106_000.0);
    bbr.extra.push(bbr.round, 900_000.0, 10);
    bbr.cwnd = 300_000.0;
    bbr.set_window(&view, &brought(1.0), 0.0);
    assert_eq!(bbr.cwnd, 186_000.0);
    // Fewer than expected: it counts anew.
    bbr.update_model(&Event { acked: 1_000.0, ..event(500 * MSECOND_NS, 1.0, 1.0, 0.0, 0.0) }, false);
    assert_eq!((bbr.extra_delivered, bbr.extra_since_ns), (1_000.0, 500 * MSECOND_NS));
    // Before the pipe is full the window grows by what arrives up to 2.885 times the path, 115.4 rounded up and six.
    (bbr.state, bbr.full_bw_reached, bbr.cwnd) = (State::Startup, false, 115_000.0);
    for expected in [120_000.0, 125_000.0] {
        bbr.set_window(&view, &brought(5_000.0), 0.0);
        assert_eq!(bbr.cwnd, expected);
    }
    bbr.cwnd = 1_000.0;
    bbr.set_window(&view, &brought(1.0), 500.0);
    assert_eq!(bbr.cwnd, 4_000.0);
}

/// After a pause the cycle paces at the bandwidth; a timeout leaves one segment, and what it took back is restored.
#[test]
fn pauses_timeouts_and_columns() {
    let mut bbr = on_path();
    let view = View::new(84.0, 1_000);
    (bbr.state, bbr.phase, bbr.cwnd, bbr.full_bw) = (State::Cruise, 0, 84_000.0, 1e6);
    bbr.extra_delivered = 5.0;
    assert_eq!(bbr.on_restart(&view, 77), Some(0.99e6));
    assert_eq!((bbr.idle_restart, bbr.extra_since_ns, bbr.extra_delivered), (true, 77, 0.0));
    assert_eq!(bbr.on_timeout(&view), 84.0);
    assert_eq!((bbr.cwnd, bbr.full_bw, bbr.prior_cwnd), (1_000.0, 0.0, 84_000.0));
    bbr.full_bw_count = 2;
    bbr.on_undo(&view);
    assert_eq!((bbr.cwnd, bbr.full_bw_count), (84_000.0, 0));
    let mut columns = [0.0; 3];
    for (phase, shown) in [(0, State::Up), (1, State::Down), (2, State::Cruise)] {
        bbr.phase = phase;
        bbr.show(&view, 0, &mut columns);
        assert_eq!(columns, [8e6, 0.04, f64::from(shown as u8)]);
    }
    // Within a probe of the round trip that a pause has outlasted.
    (bbr.state, bbr.probe_rtt_done_ns, bbr.full_bw_reached) = (State::ProbeRtt, Some(100), true);
    bbr.on_restart(&view, 100);
    assert_eq!(bbr.state, State::ProbeRtt);
    bbr.on_restart(&view, 101);
    assert_eq!(bbr.state, State::Cruise);
}

/// A whole acknowledgment: a loss of two packets takes both off the window, and the pace is that of the phase.
#[test]
fn an_acknowledgment_with_losses() {
    let mut bbr = on_path();
    (bbr.state, bbr.phase, bbr.cwnd, bbr.full_bw_reached) = (State::Cruise, 2, 84_000.0, true);
    let packet = LostPacket { bytes: 1_000, in_flight: 0, lost: 0, app_limited: false, begins_range: true };
    let lost = [packet, LostPacket { bytes: 500, ..packet }];
    let sample = RateSample {
        bytes: 1_000,
        rate: Some(5e5),
        app_limited: false,
        prior_delivered: 0,
        in_flight: 40_000,
        lost: 0,
    };
    let delivery = Delivery {
        now_ns: 1,
        acked: 1_000,
        delivered: 100_000,
        marked: false,
        rtt_ns: Some(RTT_NS),
        in_flight: 40_000,
        lost: &lost,
        lost_in_all: 2,
        app_limited: false,
        cwnd_limited: true,
        sample: Some(sample),
    };
    let steering = bbr.on_delivery(&View::new(84.0, 1_000), &delivery).unwrap();
    assert_eq!((steering.window.cwnd, steering.limited), (83.5, false));
    assert!((steering.pacing.unwrap() - 0.99e6).abs() < 1e-6);
    (bbr.phase, bbr.phase_began_ns) = (1, 1);
    let steering = bbr.on_delivery(&View::new(84.0, 1_000), &Delivery { in_flight: 50_000, lost: &[], ..delivery });
    assert!((steering.unwrap().pacing.unwrap() - 0.75 * 0.99e6).abs() < 1e-6);
}

/// 100 kB/s of a policer take the place of 1 MB/s: four segments and three are in flight, made even 8, and of the cycle
/// nothing but its time remains. A timeout in the 48th round trip ends that, and so does an undo.
#[test]
fn the_rate_of_a_policer() {
    let mut bbr = on_path();
    (bbr.state, bbr.phase, bbr.cwnd, bbr.full_bw_reached) = (State::Cruise, 0, 84_000.0, true);
    let acked = |at: u64, lost_in_all: u64, lost: &'static [LostPacket]| Delivery {
        now_ns: at * RTT_NS,
        acked: 4_000,
        delivered: 4_000 * at,
        marked: false,
        rtt_ns: Some(RTT_NS),
        in_flight: 0,
        lost,
        lost_in_all,
        app_limited: false,
        cwnd_limited: true,
        sample: Some(RateSample {
            bytes: 4_000,
            rate: Some(1e5),
            app_limited: false,
            prior_delivered: 4_000 * (at - 1),
            in_flight: 4_000,
            lost: 0,
        }),
    };
    const LOST: &[LostPacket] =
        &[LostPacket { bytes: 2_000, in_flight: 0, lost: 0, app_limited: false, begins_range: true }];
    let view = View::new(84.0, 1_000);
    let mut pace = 0.0;
    for at in 1..=8 {
        pace = bbr.on_delivery(&view, &acked(at, 2_000 * at, LOST)).unwrap().pacing.unwrap();
    }
    bbr.phase = 0;
    assert_eq!((bbr.policer.rate(), bbr.pacing_gain(), bbr.rate(), bbr.bw.get()), (Some(1e5), 1.0, 1e5, 1e6));
    bbr.phase = 2;
    assert!((pace - 0.99e5).abs() < 1e-6);
    assert_eq!(bbr.inflight(bbr.rate(), 1.0), 8_000.0);
    assert_eq!(bbr.on_restart(&view, 9 * RTT_NS), Some(0.99e5));
    // Aggregated acknowledgments too: 20 kB where 10 ms let 1 kB expect, and room for a tenth of a second's, 10 kB.
    let mut wide = bbr.clone();
    wide.extra = WindowMax::default();
    (wide.extra_since_ns, wide.extra_delivered, wide.cwnd) = (8 * RTT_NS, 20_000.0, 300_000.0);
    wide.update_model(&event(8 * RTT_NS + 10 * MSECOND_NS, 1.0, 1.0, 0.0, 0.0), false);
    assert_eq!(wide.extra.get(), 19_000.0);
    wide.set_window(&view, &Event { acked: 1.0, ..event(1, 1e6, 0.0, 0.0, 0.0) }, 0.0);
    assert_eq!(wide.cwnd, 12_000.0 + 10_000.0);
    for at in 9..=55 {
        bbr.on_delivery(&view, &acked(at, 16_000, &[]));
    }
    let mut undone = bbr.clone();
    undone.on_undo(&view);
    assert_eq!((undone.policer.rate(), bbr.policer.rate()), (None, Some(1e5)));
    bbr.phase_began_ns = 0;
    bbr.on_timeout(&View { in_flight: 4, ..view });
    assert_eq!((bbr.policer.rate(), bbr.phase_began_ns), (None, 55 * RTT_NS));
    // What is in flight at a timeout is lost: 2,000 of the 8,000 bytes since the first loss end an interval in round 3, and
    // four more rounds the next.
    let mut bbr = on_path();
    (bbr.state, bbr.full_bw_reached) = (State::Cruise, true);
    for (at, lost_in_all, lost) in [(1, 2_000, LOST), (2, 2_000, &[]), (3, 2_000, &[])] {
        bbr.on_delivery(&view, &acked(at, lost_in_all, lost));
    }
    bbr.on_timeout(&View { in_flight: 2, ..view });
    for at in 4..=7 {
        assert_eq!(bbr.policer.rate(), None);
        bbr.on_delivery(&view, &acked(at, 2_000 * (at - 2), LOST));
    }
    assert_eq!(bbr.policer.rate(), Some(1e5));
}
