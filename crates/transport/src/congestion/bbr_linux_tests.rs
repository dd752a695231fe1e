//! Steps of version 1 worked by hand: segments of 1,000 bytes, one a millisecond, a round trip of 40 ms, so 40 segments fill the
//! path.

use super::super::{LostPacket, RateSample};
use super::*;
use crate::time::{Duration, Instant};

const MSS: u32 = 1_000;
const RTT_US: u64 = 40_000;
/// One segment in 1,000 microseconds: 2^24 / 1,000, rounded down.
const ONE: u64 = 16_777;
/// The pace at it: 16,777 · 1,000 · 990,000 / 2^24.
const PACE: u64 = 989_987;

fn reply(now_us: u64, delivered: u64, in_flight: u64) -> Reply {
    Reply {
        now_us,
        acked: 0,
        delivered,
        lost: 0,
        in_flight,
        held_us: 0,
        rtt_us: Some(RTT_US),
        delivers: true,
        rate: None,
        app_limited: false,
    }
}

/// `count` segments delivered in `interval_us` since `prior` had been.
fn rated(now_us: u64, (count, interval_us, prior): (u64, u64, u64)) -> Reply {
    Reply { rate: Some((count, interval_us, prior)), ..reply(now_us, prior + count, 0) }
}

fn update_bandwidth(bbr: &mut BbrLinux, reply: &Reply) -> bool {
    bbr.update_bandwidth(&Event::at(Instant::from_nanos(1_000 * reply.now_us), 0.0), reply)
}

/// Its model knows the path.
fn on_path() -> BbrLinux {
    let mut bbr = BbrLinux::new(1);
    bbr.begin(&View { srtt: Duration::from_nanos(1_000 * RTT_US), ..View::new(10.0, MSS) }, Instant::ZERO);
    bbr.bandwidth.push(0, ONE, 10);
    bbr.min_rtt_us = Some(RTT_US);
    bbr
}

fn in_state(state: State, phase: usize) -> BbrLinux {
    let mut bbr = on_path();
    (bbr.state, bbr.phase, bbr.full) = (state, phase, true);
    bbr.gain = bbr.pacing_gain();
    bbr
}

/// Without a round trip yet, one millisecond; the first rate is 739/256 windows in it, less a hundredth.
#[test]
fn the_first_rate() {
    let mut bbr = BbrLinux::new(1);
    bbr.begin(&View::new(10.0, MSS), Instant::from_millis(7));
    assert_eq!((bbr.cwnd, bbr.extra_since_us, bbr.min_rtt_stamp_ms), (10, 7_000, 7));
    // 167,772 · 1,000 · 739 / 256 = 484,310,578; times 990,000 / 2^24.
    assert_eq!(bbr.pacing_rate, 28_578_488);
    assert_eq!(bbr.content(ONE, 2 * UNIT), 10, "the initial window, as no round trip is known");
}

/// The handshake's round trip counts from then on, until ten seconds have passed or a shorter one is seen; ten segments times
/// 2.89 in 40 ms are the first pace: 4,194 · 1,000 · 739 / 256 = 12,106,898; times 990,000 / 2^24.
#[test]
fn the_handshake_is_the_first_round_trip() {
    let mut bbr = BbrLinux::new(1);
    let rtt = Duration::from_micros(RTT_US);
    let view = View { srtt: rtt, min_rtt: rtt, ..View::new(10.0, MSS) };
    assert_eq!(bbr.on_join(&view, Instant::from_millis(47)), Some(714_411.0));
    let slower = |now_us: u64| Reply { rtt_us: Some(RTT_US + 480), ..reply(now_us, 1, 100) };
    assert!(!bbr.update_min_rtt(&slower(10_047_000), false));
    assert_eq!((bbr.min_rtt_us, bbr.min_rtt_stamp_ms), (Some(RTT_US), 47));
    assert!(bbr.update_min_rtt(&slower(10_048_000), false));
    assert_eq!((bbr.min_rtt_us, bbr.min_rtt_stamp_ms), (Some(RTT_US + 480), 10_048));
}

/// A quarter more, exactly, is growth; three rounds with less fill the pipe. Rounds that the application limits do not count.
#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut bbr = on_path();
    let mut delivered = 0;
    let mut round = |bbr: &mut BbrLinux, interval_us: u64, app_limited: bool| {
        let reply = Reply { app_limited, ..rated(RTT_US, (1, interval_us, delivered)) };
        delivered += 1;
        assert!(update_bandwidth(bbr, &reply));
        bbr.update_full(&reply, true);
        (bbr.full_bandwidth, bbr.full_count, bbr.full)
    };
    assert_eq!(round(&mut bbr, 1_000, false), (ONE, 0, false));
    assert_eq!(round(&mut bbr, 810, false), (ONE, 1, false), "1.235 times");
    assert_eq!(round(&mut bbr, 800, false), (20_971, 0, false), "1.25 times");
    assert_eq!(round(&mut bbr, 650, false), (20_971, 1, false));
    assert_eq!(round(&mut bbr, 1_000_000, true), (20_971, 1, false));
    assert_eq!(bbr.bandwidth.get(), 25_811);
    // A rate that the application limited counts when it is no smaller.
    assert_eq!(round(&mut bbr, 650, true), (20_971, 1, false));
    assert_eq!(round(&mut bbr, 650, false), (20_971, 2, false));
    assert_eq!(round(&mut bbr, 650, false), (20_971, 3, true));
    // Half a round is none.
    assert!(!update_bandwidth(&mut bbr, &rated(RTT_US, (2, 200, delivered - 1))));
    assert_eq!(bbr.bandwidth.get(), 2 * BANDWIDTH_UNIT / 200);
}

/// 40 segments and three bursts of two are 46; twice 40 and six 86; two more while it probes. At less than 1.2 Mbit/s a burst is
/// one segment, 43 made even; at 4,096,000 bytes/s, four in 1/1,024 s, it is four, 52.
#[test]
fn what_is_to_be_in_flight() {
    let mut bbr = on_path();
    bbr.pacing_rate = PACE;
    assert_eq!((bbr.inflight(UNIT), bbr.inflight(2 * UNIT), bbr.inflight(CYCLE[0])), (46, 86, 56));
    (bbr.state, bbr.phase) = (State::Cruise, 0);
    assert_eq!(bbr.inflight(CYCLE[0]), 58);
    bbr.phase = 1;
    assert_eq!(bbr.inflight(CYCLE[0]), 56);
    for (rate, expected) in
        [(149_999, 44), (150_000, 46), (4_096_000, 52), (4_095_999, 50), (u64::MAX, 40 + 3 * 65 + 1)]
    {
        bbr.pacing_rate = rate;
        assert_eq!(bbr.inflight(UNIT), expected, "{rate}");
    }
}

/// What pacing holds back for 3 ms will find three segments fewer in flight, and one burst more where it probes.
#[test]
fn what_will_be_in_flight_when_the_next_burst_leaves() {
    let mut bbr = in_state(State::Cruise, 2);
    bbr.pacing_rate = PACE;
    let held = |held_us: u64| Reply { held_us, ..reply(0, 0, 0) };
    assert_eq!((bbr.in_flight_then(40, &held(0)), bbr.in_flight_then(40, &held(3_010))), (40, 37));
    assert_eq!(bbr.in_flight_then(2, &held(3_010)), 0);
    bbr.gain = CYCLE[0];
    assert_eq!(bbr.in_flight_then(40, &held(3_010)), 39);
}

/// A phase takes more than a round trip. One that probes goes on until as much is in flight as it wants, or something is
/// lost; one that drains ends early when the queue is gone.
#[test]
fn when_phases_end() {
    let later = RTT_US + 1;
    for (phase, now_us, before, lost, expected) in [
        (0, RTT_US, 58, 1, false),
        // A burst of two is on its way.
        (0, later, 56, 0, true),
        (0, later, 55, 0, false),
        (0, later, 0, 1, true),
        (1, 1, 46, 0, true),
        (1, RTT_US, 47, 0, false),
        (1, later, 47, 0, true),
        (2, RTT_US, 0, 1, false),
        (2, later, 90, 0, true),
        // The last is followed by the first.
        (7, later, 0, 0, true),
    ] {
        let mut bbr = in_state(State::Cruise, phase);
        (bbr.pacing_rate, bbr.delivered_us) = (PACE, now_us);
        let in_flight = u64::saturating_sub(before, 1 + lost);
        bbr.update_phase(&Reply { acked: 1, lost, ..reply(now_us, 0, in_flight) });
        let next = if expected { (phase + 1) % 8 } else { phase };
        assert_eq!(bbr.phase, next, "{phase} {now_us} {before} {lost}");
        assert_eq!(bbr.phase_began_us == now_us, expected);
    }
}

/// Any phase but the one that drains, each of them at some time. As startup ends, the burst that its gain lets go counts.
#[test]
fn the_cycle_begins_anywhere_but_with_the_drain() {
    let mut bbr = in_state(State::Startup, 0);
    (bbr.pacing_rate, bbr.delivered_us) = (PACE, 9);
    bbr.update_drain(&reply(5, 0, 45));
    assert_eq!((bbr.state, bbr.pacing_gain()), (State::Drain, 88));
    bbr.gain = bbr.pacing_gain();
    bbr.update_drain(&reply(9, 0, 47));
    assert_eq!(bbr.state, State::Drain);
    bbr.update_drain(&reply(9, 0, 46));
    assert_eq!((bbr.state, bbr.phase_began_us), (State::Cruise, 9));
    let mut seen = [false; 8];
    for now_us in 0..200 {
        bbr.delivered_us = now_us;
        bbr.enter_cycle();
        seen[bbr.phase] = true;
    }
    assert_eq!(seen, [true, false, true, true, true, true, true, true]);
}

/// A round trip as long as the least says nothing new: the least is measured anew when it is ten seconds old.
#[test]
fn an_equal_round_trip_does_not_put_it_off() {
    let mut bbr = in_state(State::Cruise, 2);
    assert!(!bbr.update_min_rtt(&reply(5_000_000, 500, 80), true));
    assert_eq!((bbr.min_rtt_us, bbr.min_rtt_stamp_ms), (Some(RTT_US), 0));
    assert!(bbr.update_min_rtt(&reply(10_001_000, 500, 80), true));
    let shorter = Reply { rtt_us: Some(RTT_US - 1), ..reply(5_000_000, 500, 80) };
    let mut bbr = in_state(State::Cruise, 2);
    assert!(!bbr.update_min_rtt(&shorter, true));
    assert_eq!((bbr.min_rtt_us, bbr.min_rtt_stamp_ms), (Some(RTT_US - 1), 5_000));
}

/// When the least round trip is more than ten seconds old: four segments, for 200 ms and a round, then the window of before.
#[test]
fn the_round_trip_is_measured_anew() {
    let mut bbr = in_state(State::Cruise, 2);
    bbr.cwnd = 80;
    let at = |now_ms: u64, in_flight: u64, rtt_us: u64| Reply {
        rtt_us: Some(rtt_us),
        ..reply(1_000 * now_ms, 500, in_flight)
    };
    assert!(!bbr.update_min_rtt(&at(10_000, 80, RTT_US + 1), true));
    assert_eq!((bbr.min_rtt_us, bbr.min_rtt_stamp_ms), (Some(RTT_US), 0));
    assert!(bbr.update_min_rtt(&at(10_001, 5, 3 * RTT_US), true));
    assert_eq!((bbr.state, bbr.min_rtt_us, bbr.probe_rtt_done_ms), (State::ProbeRtt, Some(3 * RTT_US), None));
    assert_eq!((bbr.prior_cwnd, bbr.pacing_gain(), bbr.cwnd_gain()), (80, UNIT, UNIT));
    assert!(bbr.update_min_rtt(&at(10_002, 4, RTT_US), false));
    assert_eq!((bbr.probe_rtt_done_ms, bbr.next_round_delivered, bbr.min_rtt_us), (Some(10_202), 500, Some(RTT_US)));
    bbr.cwnd = 4;
    // Long enough without a round; a round, not yet long enough.
    for (now_ms, round_start) in [(10_203, false), (10_202, true)] {
        bbr.update_min_rtt(&at(now_ms, 0, RTT_US), round_start);
        assert_eq!(bbr.state, State::ProbeRtt);
    }
    bbr.update_min_rtt(&at(10_203, 0, RTT_US), false);
    assert_eq!((bbr.state, bbr.cwnd, bbr.min_rtt_stamp_ms), (State::Cruise, 80, 10_203));
    // Before the pipe was full it goes back to startup; after a pause of the application it does not begin at all.
    (bbr.full, bbr.idle_restart) = (false, true);
    assert!(!bbr.update_min_rtt(&at(20_204, 0, RTT_US), true));
    bbr.probe_rtt_done_ms = Some(0);
    bbr.end_probe_rtt(1);
    assert_eq!((bbr.state, bbr.idle_restart), (State::Startup, false));
}

/// In the first round of a recovery what leaves is what arrives; then the window of the model, and at the end that of before.
#[test]
fn a_recovery() {
    let mut bbr = in_state(State::Cruise, 2);
    (bbr.cwnd, bbr.pacing_rate) = (84, PACE);
    bbr.on_loss(&View::new(84.0, MSS));
    assert_eq!(bbr.prior_cwnd, 84);
    let acked = |acked: u64, delivered: u64, lost: u64| Reply { acked, lost, ..reply(1, delivered, 30) };
    bbr.set_window(Phase::Recovery, &acked(1, 100, 3));
    assert_eq!((bbr.cwnd, bbr.conserves, bbr.next_round_delivered), (31, true, 100));
    bbr.set_window(Phase::Recovery, &acked(2, 102, 0));
    assert_eq!(bbr.cwnd, 32);
    // The round trip is over when what was delivered at its start is.
    update_bandwidth(&mut bbr, &rated(1, (3, 1_000, 99)));
    assert!(bbr.conserves);
    assert!(update_bandwidth(&mut bbr, &rated(1, (3, 3_000, 100))));
    bbr.set_window(Phase::Recovery, &acked(1, 103, 1));
    assert_eq!((bbr.cwnd, bbr.conserves), (32, false));
    bbr.set_window(Phase::Open, &acked(1, 104, 0));
    assert_eq!(bbr.cwnd, 85, "and what was acknowledged");
}

/// Acknowledgments of 30 segments at once where one a millisecond lets ten expect are 20 too many, for which the window has
/// room, up to a tenth of a second's data; while the pipe is not full, none.
#[test]
fn the_window_has_room_for_aggregated_acknowledgments() {
    let mut bbr = in_state(State::Cruise, 2);
    (bbr.cwnd, bbr.pacing_rate, bbr.extra_acked) = (200, PACE, 20);
    let brought = |now_us: u64, acked: u64| Reply { acked, ..rated(now_us, (1, 1_000, 1_000)) };
    bbr.update_aggregation(&brought(10_001, 10), false);
    assert_eq!(bbr.extra.get(), 20);
    bbr.set_window(Phase::Open, &Reply { lost: 1, ..brought(1, 0) });
    assert_eq!(bbr.cwnd, 200, "nothing was delivered");
    bbr.set_window(Phase::Open, &brought(1, 1));
    assert_eq!(bbr.cwnd, 106);
    bbr.extra.push(900);
    bbr.cwnd = 300;
    bbr.set_window(Phase::Open, &brought(1, 1));
    assert_eq!(bbr.cwnd, 186, "99 in a tenth of a second, with six 185, made even");
    // Fewer than expected: it counts anew.
    bbr.update_aggregation(&brought(500_000, 1), false);
    assert_eq!((bbr.extra_acked, bbr.extra_since_us), (1, 500_000));
    // Before the pipe is full the window grows by what arrives up to 739/256 times the path, 115.5 rounded up and six.
    (bbr.state, bbr.full, bbr.cwnd) = (State::Startup, false, 116);
    for expected in [121, 126, 126] {
        bbr.set_window(Phase::Open, &brought(1, 5));
        assert_eq!(bbr.cwnd, expected);
    }
    bbr.cwnd = 1;
    bbr.set_window(Phase::Open, &Reply { lost: 5, ..brought(1, 1) });
    assert_eq!(bbr.cwnd, 4);
}

/// After a pause the cycle paces at the bandwidth; a timeout leaves one segment, and what it took back is restored.
#[test]
fn pauses_timeouts_and_columns() {
    let mut bbr = in_state(State::Cruise, 0);
    let view = View::new(84.0, MSS);
    (bbr.cwnd, bbr.full_bandwidth, bbr.extra_acked) = (84, ONE, 5);
    assert_eq!(bbr.on_restart(&view, Instant::from_nanos(77_000)), Some(PACE as f64));
    assert_eq!((bbr.idle_restart, bbr.extra_since_us, bbr.extra_acked), (true, 77, 0));
    assert_eq!(bbr.on_timeout(&view), 84.0);
    assert_eq!((bbr.cwnd, bbr.full_bandwidth, bbr.prior_cwnd, bbr.recovery), (1, 0, 84, Phase::Loss));
    bbr.full_count = 2;
    bbr.on_undo(&view);
    assert_eq!((bbr.cwnd, bbr.full_count), (84, 0));
    let mut columns = [0.0; 3];
    for (phase, shown) in [(0, State::Up), (1, State::Down), (2, State::Cruise)] {
        bbr.phase = phase;
        bbr.show(&view, Instant::ZERO, &mut columns);
        assert!((columns[0] - 8e6).abs() < 110.0, "a unit is 477 bit/s here");
        assert_eq!(columns[1..], [0.04, f64::from(shown as u8)]);
    }
    // Within a probe of the round trip that a pause has outlasted.
    (bbr.state, bbr.probe_rtt_done_ms) = (State::ProbeRtt, Some(100));
    bbr.on_restart(&view, Instant::from_millis(100));
    assert_eq!(bbr.state, State::ProbeRtt);
    bbr.on_restart(&view, Instant::from_millis(101));
    assert_eq!(bbr.state, State::Cruise);
}

/// Without bandwidth the target is two segments and three bursts. Beyond it the window grows until ten segments were delivered, the
/// SYN among them.
#[test]
fn the_syn_counts_as_delivered() {
    let grown = |delivered| {
        let mut bbr = BbrLinux::new(1);
        bbr.cwnd = 20;
        bbr.adapt_window(Phase::Open, &Reply { acked: 1, ..reply(50_000, delivered, 10) });
        bbr.cwnd
    };
    assert_eq!([8, 9].map(grown), [21, 20]);
}

/// From 100,999.9 to 140,999.1 µs are 39,999.2 µs, but 40,000 by stamps of whole microseconds.
#[test]
fn stamps_are_whole_microseconds() {
    let ago = Duration::from_nanos(39_999_200);
    assert_eq!(whole_us(Instant::from_nanos(140_999_100), ago), 40_000);
    assert_eq!(whole_us(Instant::from_nanos(140_999_900), ago), 39_999);
}

const LOST: LostPacket = LostPacket { bytes: 1_000, in_flight: 0, lost: 0, app_limited: false, begins_range: true };

fn delivery(now_us: u64, acked: u64, delivered: u64, rate: f64) -> Delivery<'static> {
    Delivery {
        now: Instant::from_nanos(1_000 * now_us),
        acked,
        delivered,
        acked_segments: acked.div_ceil(1_000) as u32,
        delivered_segments: delivered.div_ceil(1_000),
        marked: false,
        rtt: Some(Duration::from_nanos(1_000 * RTT_US)),
        in_flight: 40_000,
        lost: &[],
        lost_in_all: 0,
        app_limited: false,
        cwnd_limited: true,
        departs_at: Instant::ZERO,
        sample: Some(RateSample {
            bytes: acked,
            rate: Some(rate),
            app_limited: false,
            prior_delivered: delivered - acked,
            prior_segments: (delivered - acked).div_ceil(1_000),
            in_flight: 40_000,
            lost: 0,
        }),
    }
}

/// Segments count whatever they hold: 2,500 bytes are five of them, in 7 ms, though the quotient is no whole number.
#[test]
fn what_an_acknowledgment_says() {
    let told = delivery(47_000, 2_500, 10_500, 2_500.0 * 1e6 / 7_000.0);
    let told = Delivery {
        lost: &[LOST, LOST],
        departs_at: Instant::from_nanos(49_002_000),
        acked_segments: 5,
        delivered_segments: 30,
        sample: told.sample.map(|sample| RateSample { prior_segments: 25, ..sample }),
        ..told
    };
    let reply = Reply::of(&told, 1_000);
    assert_eq!((reply.now_us, reply.acked, reply.delivered, reply.lost, reply.in_flight), (47_000, 5, 30, 2, 40));
    assert_eq!((reply.rate, reply.held_us, reply.rtt_us), (Some((5, 7_000, 25)), 2_002, Some(RTT_US)));
    let sample = RateSample { rate: None, ..told.sample.unwrap() };
    let reply = Reply::of(&Delivery { sample: Some(sample), ..told }, 1_000);
    assert_eq!((reply.rate, reply.delivers), (None, true));
}

/// A whole acknowledgment: a loss of two packets takes both off the window, and the pace is that of the phase.
#[test]
fn an_acknowledgment_with_losses() {
    let mut bbr = in_state(State::Cruise, 2);
    (bbr.cwnd, bbr.pacing_rate) = (84, PACE);
    let view = View::new(84.0, MSS);
    let brought = delivery(50_000, 1_000, 100_000, 5e5);
    let steering = bbr.on_delivery(&view, &Delivery { lost: &[LOST, LOST], lost_in_all: 2_000, ..brought }).unwrap();
    assert_eq!((steering.window.cwnd, steering.limited, steering.pacing), (83.0, false, Some(PACE as f64)));
    (bbr.phase, bbr.phase_began_us, bbr.gain) = (1, 50_000, CYCLE[1]);
    let steering = bbr.on_delivery(&view, &Delivery { in_flight: 50_000, ..brought }).unwrap();
    assert_eq!(steering.pacing, Some((PACE * 3 / 4) as f64));
}

/// 100 kB/s of a policer take the place of 1 MB/s: four segments and three are in flight, made even 8, and of the cycle
/// nothing but its time remains. A timeout in the 48th round trip ends that, and so does an undo.
#[test]
fn the_rate_of_a_policer() {
    let view = View::new(84.0, MSS);
    let acked = |at: u64, lost_in_all: u64, lost: &'static [LostPacket]| Delivery {
        lost,
        lost_in_all,
        in_flight: 0,
        ..delivery(at * RTT_US, 4_000, 4_000 * at, 1e5)
    };
    let mut bbr = in_state(State::Cruise, 0);
    bbr.cwnd = 84;
    let mut pace = 0.0;
    for at in 1..=8 {
        pace = bbr.on_delivery(&view, &acked(at, 2_000 * at, &[LOST])).unwrap().pacing.unwrap();
    }
    // A tenth of a segment a millisecond: 1,677.7.
    assert_eq!((bbr.policed, bbr.pacing_gain(), bbr.rate(), bbr.bandwidth.get()), (Some(1_677), UNIT, 1_677, ONE));
    assert_eq!(pace, 98_957.0, "1,677 · 1,000 · 990,000 / 2^24");
    bbr.phase = 2;
    assert_eq!(bbr.with_room(bbr.content(bbr.rate(), UNIT)), 8);
    assert_eq!(bbr.on_restart(&view, Instant::from_nanos(9_000 * RTT_US)), Some(98_957.0));
    // Aggregated acknowledgments too: 20 where 10 ms let one expect, and room for a tenth of a second's, nine.
    let mut wide = bbr.clone();
    (wide.extra_since_us, wide.extra_acked, wide.cwnd) = (8 * RTT_US, 19, 300);
    wide.update_aggregation(&Reply { acked: 1, ..rated(8 * RTT_US + 10_010, (1, 10_000, 31)) }, false);
    assert_eq!(wide.extra.get(), 19);
    wide.set_window(Phase::Open, &Reply { acked: 1, ..reply(1, 1_000, 0) });
    assert_eq!(wide.cwnd, 8 + 9 + 3, "twice the path, the room, three bursts of one");
    for at in 9..=55 {
        bbr.on_delivery(&view, &acked(at, 16_000, &[]));
    }
    let mut undone = bbr.clone();
    undone.on_undo(&view);
    assert_eq!((undone.policed, bbr.policed), (None, Some(1_677)));
    bbr.phase_began_us = 0;
    bbr.on_timeout(&View { in_flight: 4, ..view });
    assert_eq!((bbr.policed, bbr.phase_began_us), (None, 55 * RTT_US));
    // What is in flight at a timeout is lost: 2,000 of the 8,000 bytes since the first loss end an interval in round 3, and
    // four more rounds the next.
    let mut bbr = in_state(State::Cruise, 0);
    for (at, lost_in_all, lost) in [(1, 2_000, &[LOST] as &[_]), (2, 2_000, &[]), (3, 2_000, &[])] {
        bbr.on_delivery(&view, &acked(at, lost_in_all, lost));
    }
    bbr.on_timeout(&View { in_flight: 2, ..view });
    for at in 4..=7 {
        assert_eq!(bbr.policed, None);
        bbr.on_delivery(&view, &acked(at, 2_000 * (at - 2), &[LOST]));
    }
    assert_eq!(bbr.policed, Some(1_677));
}
