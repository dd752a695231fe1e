use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::packet::Ecn;
use crate::transmitter::Transmitter;

/// 500 bytes take 0.4 ms: 2,500 packets of 500 bytes a second.
const RATE_BPS: u64 = 10_000_000;
const PACKET: u16 = 1_040;

/// A random source that must not be used.
struct Silent;

impl RngCore for Silent {
    fn next_u32(&mut self) -> u32 {
        unreachable!("drawn for nothing")
    }
    fn next_u64(&mut self) -> u64 {
        unreachable!("drawn for nothing")
    }
    fn fill_bytes(&mut self, _: &mut [u8]) {
        unreachable!("drawn for nothing")
    }
}

fn config() -> Config {
    Config::new(Limit::Packets(1_000))
}

/// A queue whose average is what waits.
fn followed(config: Config) -> RedNs2 {
    let settings = Settings { weight: 1.0, ..Settings::of(&config, RATE_BPS) };
    RedNs2 { settings: Some(settings), ..RedNs2::new(config) }
}

/// A packet arrives while another is being sent and `waiting_bytes` wait behind that.
fn arrive(queue: &mut RedNs2, waiting_bytes: u64, size: u16, rng: &mut impl RngCore) -> Result<(), DropReason> {
    let transmitter = Transmitter::new(RATE_BPS);
    queue.admit(busy(&transmitter, waiting_bytes, size), rng)
}

fn busy(transmitter: &Transmitter, waiting_bytes: u64, size: u16) -> Arrival<'_> {
    let sending_bytes = u64::from(PACKET);
    Arrival {
        now_ns: 0,
        size,
        ecn: Ecn::NotEct,
        packets: 1 + waiting_bytes.div_ceil(sending_bytes),
        bytes: waiting_bytes + sending_bytes,
        sending_bytes,
        flow: 0_u64.into(),
        waits: true,
        transmitter,
    }
}

#[test]
fn thresholds_and_weight_follow_from_the_rate() {
    // 5 ms of 2,500 packets a second are 12.5 packets; half of them are 6.25, of 500 bytes.
    let Settings { curve, weight } = Settings::of(&config(), RATE_BPS);
    assert_eq!(curve, Curve { min: 3_125.0, max: 9_375.0, max_probability: 0.1, gentle: true });
    // 1 − e^(−x) = x − x²/2 + x³/6 with x = 1/2500.
    assert!((weight - (4e-4 - 8e-8 + 64e-12 / 6.0)).abs() < 1e-13, "{weight}");
    // At 4 Mbit/s that would be 2.5 packets: the least is 5.
    let slow = Settings::of(&config(), 4_000_000).curve;
    assert_eq!((slow.min, slow.max), (2_500.0, 7_500.0));
    // ns-2's q_weight_ of a link of 100 ms: 3·(0.1 s + 0.4 ms); packets of 1,000 bytes and 20 ms at 8 Mbit/s: 10 of them.
    let long = Settings::of(&Config { rtt_ns: 301_200_000, ..config() }, RATE_BPS).weight;
    assert!((long - (1.0 / 7_530.0 - 1.0 / (2.0 * 7_530.0 * 7_530.0))).abs() < 1e-12, "{long}");
    let large = Config { mean_packet_bytes: 1_000, target_delay_ns: 20_000_000, ..config() };
    assert_eq!(Settings::of(&large, 8_000_000).curve.min, 10_000.0);
}

#[test]
fn the_settings_are_those_of_the_rate_when_the_first_packet_arrives() {
    let mut queue = RedNs2::new(config());
    for rate_bps in [RATE_BPS, 100_000_000] {
        let transmitter = Transmitter::new(rate_bps);
        queue.admit(busy(&transmitter, 0, PACKET), &mut Silent).unwrap();
        assert_eq!(queue.settings, Some(Settings::of(&config(), RATE_BPS)));
    }
}

#[test]
fn the_average_is_of_the_bytes_that_wait() {
    // w = 1/4: 0 → 520 → 910 → 682.5 for 2080, 2080 and 0 bytes behind the packet being sent.
    let mut queue = followed(config());
    queue.settings.as_mut().unwrap().weight = 0.25;
    let mut averages = Vec::new();
    for waiting_bytes in [2_080, 2_080, 0] {
        arrive(&mut queue, waiting_bytes, PACKET, &mut Silent).unwrap();
        averages.push(queue.average);
    }
    assert_eq!(averages, [520.0, 910.0, 682.5]);
}

#[test]
fn idle_time_counts_in_packets_of_the_mean_size_and_one_more() {
    let mut queue = followed(config());
    queue.settings.as_mut().unwrap().weight = 0.5;
    queue.average = 1_600.0;
    // One packet of 1,250 bytes from 0 to 1 ms; the link is idle until 2.1 ms: 2 packets of 500 bytes, and a half.
    let mut transmitter = Transmitter::new(RATE_BPS);
    assert_eq!(transmitter.send(0, 1_250), 1_000_000);
    let (packets, bytes, sending_bytes, waits) = (0, 0, 0, false);
    let arrival = Arrival { now_ns: 2_100_000, packets, bytes, sending_bytes, waits, ..busy(&transmitter, 0, PACKET) };
    queue.admit(arrival, &mut Silent).unwrap();
    assert_eq!(queue.average, 200.0);
}

/// p_b is 0.05 at 6250 bytes. n = ⌊2.08·k⌋ for the k-th packet after a drop reaches 20 with k = 10 and 39 with k = 19.
#[test]
fn drops_of_large_packets_stand_apart_in_bytes_and_are_the_likelier() {
    const DROPS: u32 = 40_000;
    let mut expected = [0.0; 20];
    let mut survives = 1.0;
    for (k, each) in expected.iter_mut().enumerate().skip(10) {
        let n = (1_040 * k / 500) as f64;
        let p = (0.05 / (2.0 - 0.05 * n) * 2.08).min(1.0);
        *each = survives * p;
        survives *= 1.0 - p;
    }
    // By hand: the tenth packet is dropped with 0.05·2.08, the eleventh (n = 22) with 0.05/0.9·2.08 of the rest.
    assert!((expected[10] - 0.104).abs() < 1e-12 && (expected[11] - 0.896 * 0.104 / 0.9).abs() < 1e-12);
    assert!(survives < 1e-9);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut queue = followed(config());
    arrive(&mut queue, 6_250, PACKET, &mut Silent).unwrap();
    let mut distances = [0_u32; 20];
    let (mut distance, mut drops) = (1, 0);
    // At most 19 packets a drop.
    for _ in 0..20 * DROPS {
        distance += 1;
        if arrive(&mut queue, 6_250, PACKET, &mut rng) == Err(DropReason::Early) {
            // The first distance is from the crossing of the threshold, whose packet counts but is not dropped.
            distances[distance] += u32::from(drops > 0);
            (distance, drops) = (0, drops + 1);
        }
    }
    assert!(drops > DROPS, "{drops}");
    let deviations: f64 = (10..20)
        .map(|k| expected[k] * f64::from(drops - 1))
        .zip(&distances[10..])
        .filter(|(mean, _)| *mean > 5.0)
        .map(|(mean, &found)| (f64::from(found) - mean).powi(2) / mean)
        .sum();
    assert_eq!(distances[..10].iter().sum::<u32>(), 0, "{distances:?}");
    // Chi-square with 9 degrees of freedom: the 99.9 % quantile is 27.9.
    assert!(deviations < 27.9, "{deviations}: {distances:?} for {expected:?}");
}

#[test]
fn the_first_packet_above_the_threshold_passes_and_so_does_one_behind_which_nothing_waits() {
    let mut queue = followed(config());
    // The average is far beyond twice the upper threshold: p_b is 1, so that n = 2 is a certain drop.
    arrive(&mut queue, 50_000, PACKET, &mut Silent).unwrap();
    assert_eq!(arrive(&mut queue, 50_000, PACKET, &mut Silent), Err(DropReason::Early));
    assert_eq!(queue.since_bytes, 0);
    // An average above the threshold, but nothing waits.
    queue.settings.as_mut().unwrap().weight = 1e-9;
    arrive(&mut queue, 0, PACKET, &mut Silent).unwrap();
    arrive(&mut queue, 50_000, PACKET, &mut Silent).unwrap();
    assert_eq!(queue.since_bytes, 1_040, "counted anew");
    assert_eq!(arrive(&mut queue, 50_000, PACKET, &mut Silent), Err(DropReason::Early));
}

#[test]
fn small_packets_wait_even_where_every_large_one_is_dropped() {
    let mut queue = followed(config());
    arrive(&mut queue, 50_000, PACKET, &mut Silent).unwrap();
    assert_eq!(arrive(&mut queue, 50_000, PACKET, &mut Silent), Err(DropReason::Early));
    // ⌊40·k/500⌋ is 0 up to k = 12; with 13 it is 1, and p = 1/(2 − 1).
    for _ in 0..12 {
        arrive(&mut queue, 50_000, 40, &mut Silent).unwrap();
    }
    assert_eq!(arrive(&mut queue, 50_000, 40, &mut Silent), Err(DropReason::Early));
}

#[test]
fn the_limit_is_what_waits_in_packets_of_the_mean_size() {
    for limit in [Limit::Packets(6), Limit::Bytes(3_000)] {
        let mut queue = RedNs2::new(Config { limit, ..config() });
        assert_eq!(arrive(&mut queue, 2_999, PACKET, &mut Silent), Ok(()));
        assert_eq!(queue.since_bytes, 1_040);
        assert_eq!(arrive(&mut queue, 3_000, 40, &mut Silent), Err(DropReason::Full));
        assert_eq!(queue.since_bytes, 0);
    }
    let mut none = RedNs2::new(Config { limit: Limit::Bytes(0), ..config() });
    let transmitter = Transmitter::new(RATE_BPS);
    let idle = Arrival { packets: 0, bytes: 0, sending_bytes: 0, waits: false, ..busy(&transmitter, 0, PACKET) };
    assert_eq!(none.admit(idle, &mut Silent), Ok(()));
    assert_eq!(arrive(&mut none, 0, 1, &mut Silent), Err(DropReason::Full));
}
