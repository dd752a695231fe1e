use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::transmitter::Transmitter;

fn parameters(gentle: bool) -> Config {
    Config {
        limit: Limit::Packets(1_000),
        min_packets: 20.0,
        max_packets: 40.0,
        max_probability: 0.1,
        weight: 1.0,
        gentle,
        ecn: false,
    }
}

fn red(early: Config) -> Red {
    Red::new(early)
}

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

/// 1,500 bytes take 1 ms.
const RATE_BPS: u64 = 12_000_000;

fn arrive(red: &mut Red, packets: u64, rng: &mut impl RngCore) -> Result<(), DropReason> {
    arrive_as(red, packets, Ecn::NotEct, rng).map(|entry| assert_eq!(entry, Entry::Plain))
}

fn arrive_as(red: &mut Red, packets: u64, ecn: Ecn, rng: &mut impl RngCore) -> Result<Entry, DropReason> {
    let transmitter = Transmitter::new(RATE_BPS);
    red.admit(
        Arrival {
            now_ns: 0,
            size: 1_500,
            ecn,
            packets,
            bytes: packets * 1_500,
            flow: 0_u64.into(),
            sending_bytes: 0,
            waits: packets > 0,
            transmitter: &transmitter,
        },
        rng,
    )
}

/// Distance between drops in packets, for a constant average: P(X > n) = Π (1 − p_a(count)).
fn mean_distance(p_b: f64) -> f64 {
    let mut mean = 0.0;
    let mut survives = 1.0;
    for count in 0.. {
        mean += survives;
        let p_a = if f64::from(count) * p_b >= 1.0 { 1.0 } else { (p_b / (1.0 - f64::from(count) * p_b)).min(1.0) };
        survives *= 1.0 - p_a;
        if survives < 1e-15 {
            break;
        }
    }
    mean
}

/// With weight 1 the average is the queue length on arrival. Every integer average of each segment is compared with the
/// definition. Evenly spread drops vary less than independent ones, so that the binomial deviation is an upper bound.
#[test]
fn drop_curve_meets_its_definition_at_every_point() {
    const PACKETS: u32 = 200_000;
    for queue in 1..=100_u32 {
        let average = f64::from(queue);
        let p_b = match queue {
            0..20 => 0.0,
            20..40 => 0.1 * (average - 20.0) / 20.0,
            40..80 => 0.1 + 0.9 * (average - 40.0) / 40.0,
            _ => 1.0,
        };
        let expected = if p_b == 0.0 { 0.0 } else { 1.0 / mean_distance(p_b) };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(u64::from(queue));
        let mut red = red(parameters(true));
        let drops = (0..PACKETS).filter(|_| arrive(&mut red, u64::from(queue), &mut rng).is_err()).count();
        let found = drops as f64 / f64::from(PACKETS);
        let deviation = (expected * (1.0 - expected) / f64::from(PACKETS)).sqrt();
        assert!(
            (found - expected).abs() <= 4.0 * deviation,
            "queue {queue}: expected {expected}, found {found}, deviation {deviation}"
        );
    }
}

/// 2·p_b/(1 + p_b) if 1/p_b is an integer: the closed form of the paper's uniform distance, (1/p_b + 1)/2.
#[test]
fn mean_distance_of_the_test_is_the_papers() {
    for n in 1..50 {
        let n = f64::from(n);
        assert!((mean_distance(1.0 / n) - f64::midpoint(n, 1.0)).abs() < 1e-6, "{n}");
    }
}

#[test]
fn without_the_gentle_slope_the_probability_jumps_at_max() {
    let steep = parameters(false);
    assert_eq!(steep.curve().probability(39.999_999), 0.1 * (39.999_999 - 20.0) / 20.0);
    assert_eq!(steep.curve().probability(40.0), 1.0);
    let mut red = red(steep);
    assert_eq!(arrive(&mut red, 40, &mut Silent), Err(DropReason::Early));
}

#[test]
fn the_curve_is_continuous_where_it_should_be() {
    let gentle = parameters(true);
    let at = |average| gentle.curve().probability(average);
    assert_eq!((at(0.0), at(19.999), at(20.0), at(30.0), at(40.0)), (0.0, 0.0, 0.0, 0.05, 0.1));
    assert!((at(60.0) - 0.55).abs() < 1e-12 && (at(79.999_999) - 1.0).abs() < 1e-6);
    assert_eq!((at(80.0), at(1e9)), (1.0, 1.0));
}

#[test]
fn drops_are_spread_uniformly() {
    // p_b = 0.1·(30 − 20)/20 = 1/20: the distance is uniform on 1 … 20.
    const DROPS: u32 = 100_000;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut red = red(parameters(true));
    let mut distances = [0_u32; 21];
    let mut distance = 0;
    let mut drops = 0;
    while drops < DROPS {
        distance += 1;
        if arrive(&mut red, 30, &mut rng).is_err() {
            distances[distance] += 1;
            distance = 0;
            drops += 1;
        }
    }
    // Chi-square with 19 degrees of freedom: the 99.9 % quantile is 43.8.
    let expected = f64::from(DROPS) / 20.0;
    let chi_square: f64 = distances[1..].iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    assert!(chi_square < 43.8, "{chi_square}: {distances:?}");
}

#[test]
fn count_begins_anew_below_min_and_at_a_full_queue() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut red = Red::new(Config { limit: Limit::Packets(35), ..parameters(true) });
    let mut in_a_row = 0;
    while arrive(&mut red, 22, &mut rng).is_ok() {
        in_a_row += 1;
        assert_eq!(red.count, in_a_row);
    }
    assert_eq!(red.count, 0);
    // p_b of the first packet after a drop is below 1, so that a packet is accepted after a few attempts.
    while arrive(&mut red, 22, &mut rng).is_err() {}
    assert_eq!(red.count, 1);
    assert_eq!(arrive(&mut red, 19, &mut rng), Ok(()));
    assert_eq!(red.count, 0);
    while arrive(&mut red, 22, &mut rng).is_err() {}
    while arrive(&mut red, 35, &mut rng) != Err(DropReason::Full) {}
    assert_eq!(red.count, 0);
}

#[test]
fn what_is_certain_is_not_drawn() {
    let mut red = red(parameters(true));
    assert_eq!(arrive(&mut red, 19, &mut Silent), Ok(()));
    assert_eq!(arrive(&mut red, 20, &mut Silent), Ok(()), "p_b is 0 at min itself");
    assert_eq!(arrive(&mut red, 80, &mut Silent), Err(DropReason::Early));
    // count·p_b ≥ 1 is a certain drop.
    red.count = 20;
    assert_eq!(arrive(&mut red, 30, &mut Silent), Err(DropReason::Early));
}

#[test]
fn the_average_follows_a_sequence_worked_by_hand() {
    // w = 1/4: 0 → 1 → 2.75 → 3.0625 → 2.546875 for queues 4, 8, 4, 1.
    let mut red = red(Config { weight: 0.25, ..parameters(true) });
    let mut averages = Vec::new();
    for queue in [4, 8, 4, 1] {
        arrive(&mut red, queue, &mut Silent).unwrap();
        averages.push(red.average);
    }
    assert_eq!(averages, [1.0, 2.75, 3.0625, 2.546_875]);
}

#[test]
fn idle_time_shrinks_the_average_by_the_packets_that_could_have_been_sent() {
    let mut red = red(Config { weight: 0.25, ..parameters(true) });
    red.average = 16.0;
    // One packet of 1,500 bytes from 0 to 1 ms; the link is idle from then on.
    let mut transmitter = Transmitter::new(RATE_BPS);
    assert_eq!(transmitter.send(0, 1_500), 1_000_000);
    let mut arrive = |now_ns, size| {
        let arrival = Arrival {
            now_ns,
            size,
            ecn: Ecn::NotEct,
            packets: 0,
            bytes: 0,
            flow: 0_u64.into(),
            sending_bytes: 0,
            waits: false,
            transmitter: &transmitter,
        };
        red.admit(arrival, &mut Silent).unwrap();
        red.average
    };
    // 0.9 packets of 1,500 bytes: m = 0.
    assert_eq!(arrive(1_900_000, 1_500), 16.0);
    // 2.5 packets in total: m = 2, 16·(3/4)² = 9; half a packet's time is left.
    assert_eq!(arrive(3_500_000, 1_500), 9.0);
    // With that half, 1 packet: 9·3/4.
    assert_eq!(arrive(4_000_000, 1_500), 6.75);
    // 1 ms later, two packets of 750 bytes: 6.75·9/16.
    assert_eq!(arrive(5_000_000, 750), 3.796_875);
    // A size of zero counts as 1 byte, and a long idle time leaves nothing.
    assert_eq!(arrive(u64::MAX, 0), 0.0);
}

#[test]
fn powers_are_products() {
    assert_eq!(power(0.5, 0), 1.0);
    assert_eq!(power(0.5, 10), 1.0 / 1024.0);
    assert_eq!(power(3.0, 13), 1_594_323.0);
    assert_eq!((power(0.0, 0), power(0.0, 5), power(1.0, u64::MAX)), (1.0, 0.0, 1.0));
    let one_by_one: f64 = (0..500).map(|_| 0.998).product();
    assert!((power(0.998, 500) / one_by_one - 1.0).abs() < 1e-12);
}

/// Marks replace drops packet by packet: the same draws, the same `count`.
#[test]
fn ecn_capable_packets_are_marked_where_others_are_dropped_by_chance() {
    let marking = Config { ecn: true, ..parameters(true) };
    for (ecn, not_capable) in [(Ecn::Ect0, false), (Ecn::Ect1, false), (Ecn::Ce, false), (Ecn::NotEct, true)] {
        let mut dropping = red(parameters(true));
        let mut marks = red(marking);
        let mut rngs = [5, 5].map(Xoshiro256PlusPlus::seed_from_u64);
        let mut signals = 0;
        for packet in 0..50_000_u64 {
            let queue = 15 + packet % 65;
            let dropped = arrive(&mut dropping, queue, &mut rngs[0]);
            let expected = match dropped {
                Err(DropReason::Early) if !not_capable => Ok(Entry::Marked),
                other => other.map(|()| Entry::Plain),
            };
            assert_eq!(arrive_as(&mut marks, queue, ecn, &mut rngs[1]), expected, "queue {queue}");
            assert_eq!(marks.count, dropping.count);
            signals += u64::from(expected == Ok(Entry::Marked));
        }
        assert_eq!((marks.tally().marked, signals > 10_000), (signals, !not_capable));
        assert_eq!(dropping.tally().marked, 0);
    }
}

#[test]
fn beyond_the_curve_even_ecn_capable_packets_are_dropped() {
    for (gentle, certain) in [(false, 40), (true, 80)] {
        let mut red = red(Config { ecn: true, ..parameters(gentle) });
        assert_eq!(arrive_as(&mut red, certain, Ecn::Ect0, &mut Silent), Err(DropReason::Early));
        // A signal made certain by `count` at a lower average is still a mark.
        red.count = 1_000_000;
        assert_eq!(arrive_as(&mut red, certain - 1, Ecn::Ect0, &mut Silent), Ok(Entry::Marked));
        assert_eq!((red.count, red.tally().marked), (0, 1));
    }
}

#[test]
fn a_marked_packet_needs_room_too() {
    let mut red = Red::new(Config { limit: Limit::Packets(30), ecn: true, ..parameters(true) });
    red.count = 1_000_000;
    assert_eq!(arrive_as(&mut red, 30, Ecn::Ect0, &mut Silent), Err(DropReason::Full));
    assert_eq!((red.count, red.tally().marked), (0, 0));
}
