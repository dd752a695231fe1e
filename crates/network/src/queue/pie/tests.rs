use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::transmitter::Transmitter;

const MS: u64 = 1_000_000;
const STANDARD: Config = Config {
    limit: Limit::Packets(1_000),
    target_ns: 15 * MS,
    update_ns: 15 * MS,
    max_burst_ns: 150 * MS,
    alpha_per_s: 0.125,
    beta_per_s: 1.25,
    mtu_bytes: 1_500,
    ecn: false,
};
/// 1,500 bytes take 1 ms.
const RATE_BPS: u64 = 12_000_000;

fn pie() -> Pie {
    Pie::new(STANDARD)
}

/// A transmitter that is busy until `until_ms`.
fn busy(until_ms: u64) -> Transmitter {
    let mut transmitter = Transmitter::new(RATE_BPS);
    for _ in 0..until_ms {
        transmitter.send(0, 1_500);
    }
    transmitter
}

fn arrival(now_ns: u64, packets: u64, ecn: Ecn, transmitter: &Transmitter) -> Arrival<'_> {
    Arrival {
        now_ns,
        size: 1_500,
        ecn,
        packets,
        bytes: packets * 1_500,
        flow: 0_u64.into(),
        sending_bytes: 0,
        waits: packets > 0,
        transmitter,
    }
}

/// RFC 8033 §4.2, worked by hand: 0.125·(30 − 15) ms + 1.25·30 ms = 0.039375, divided by 2048 at p = 0; then 0.125·15
/// ms = 0.001875, divided by 128 at p = 1.9·10⁻⁵; then 0.125·5 ms − 1.25·10 ms = −0.011875, divided by 128 at p =
/// 3.4·10⁻⁵, which is limited to 0.
#[test]
fn the_probability_follows_the_controller() {
    let mut pie = pie();
    pie.update(30 * MS);
    assert!((pie.probability - 0.039_375 / 2048.0).abs() < 1e-15, "{}", pie.probability);
    pie.update(30 * MS);
    assert!((pie.probability - (0.039_375 / 2048.0 + 0.001_875 / 128.0)).abs() < 1e-15, "{}", pie.probability);
    pie.update(20 * MS);
    assert_eq!(pie.probability, 0.0);
}

#[test]
fn each_decade_has_its_scale() {
    let at = |probability| scale(probability);
    assert_eq!([0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0].map(at), [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0, 1.0, 1.0]);
    assert_eq!(scale(0.099), 2.0);
}

#[test]
fn a_step_is_at_most_two_percent_where_the_probability_is_high() {
    let mut pie = pie();
    pie.probability = 0.1;
    // The unlimited step 0.125·985 ms + 1.25·1 s would be 1.37.
    pie.update(1_000 * MS);
    assert!((pie.probability - 0.12).abs() < 1e-12);
    // Decreases are not limited.
    pie.update(0);
    assert_eq!(pie.probability, 0.0);
}

#[test]
fn without_a_queue_the_probability_decays() {
    let mut pie = pie();
    pie.probability = 0.5;
    pie.update(0);
    // The previous delay was 0 too: 0.5 − 0.125·15 ms, reduced by 2 %.
    assert!((pie.probability - 0.498_125 * 0.98).abs() < 1e-12);
}

#[test]
fn a_burst_passes_and_then_the_probability_counts() {
    let mut pie = pie();
    let transmitter = busy(10_000);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    pie.probability = 1.0;
    // 9 updates leave 15 ms of the allowance.
    assert_eq!(pie.admit(arrival(149 * MS, 100, Ecn::NotEct, &transmitter), &mut rng), Ok(Entry::Plain));
    assert_eq!(pie.burst_ns, 15 * MS);
    assert_eq!(pie.admit(arrival(150 * MS, 100, Ecn::NotEct, &transmitter), &mut rng), Err(DropReason::Early));
    // With two packets in the queue nothing is dropped, whatever p is.
    assert_eq!(pie.admit(arrival(150 * MS, 2, Ecn::NotEct, &transmitter), &mut rng), Ok(Entry::Plain));
    assert_eq!(pie.admit(arrival(150 * MS, 3, Ecn::NotEct, &transmitter), &mut rng), Err(DropReason::Early));
}

#[test]
fn a_low_delay_is_left_alone_below_20_percent() {
    let mut pie = pie();
    (pie.burst_ns, pie.delay_ns) = (0, 7 * MS);
    let transmitter = busy(1);
    pie.probability = 0.19;
    assert!(!pie.may_drop(arrival(0, 100, Ecn::NotEct, &transmitter)));
    pie.probability = 0.2;
    assert!(pie.may_drop(arrival(0, 100, Ecn::NotEct, &transmitter)));
    (pie.delay_ns, pie.probability) = (8 * MS, 0.1);
    assert!(pie.may_drop(arrival(0, 100, Ecn::NotEct, &transmitter)));
}

#[test]
fn marks_below_10_percent_and_drops_from_there() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let transmitter = busy(1_000);
    for (probability, ecn, drops) in
        [(0.09, Ecn::Ect0, false), (0.11, Ecn::Ect0, true), (0.09, Ecn::NotEct, true), (0.09, Ecn::Ce, false)]
    {
        let mut pie = Pie::new(Config { ecn: true, ..STANDARD });
        (pie.burst_ns, pie.delay_ns, pie.probability) = (0, 20 * MS, probability);
        let (mut marked, mut dropped) = (0, 0);
        for _ in 0..10_000 {
            match pie.admit(arrival(0, 100, ecn, &transmitter), &mut rng) {
                Ok(Entry::Marked) => marked += 1,
                Ok(Entry::Plain) => {}
                Err(reason) => {
                    assert_eq!(reason, DropReason::Early);
                    dropped += 1;
                }
            }
        }
        let (signalled, none) = if drops { (dropped, marked) } else { (marked, dropped) };
        assert_eq!((none, pie.tally().marked), (0, marked), "{probability} {ecn:?}");
        // Five standard deviations of 10,000 draws.
        assert!((f64::from(signalled as u32) - 1e4 * probability).abs() < 160.0, "{signalled}");
    }
}

#[test]
fn a_long_silence_is_made_up_for_at_once_and_leaves_the_state_of_silence() {
    let mut one = pie();
    one.probability = 0.3;
    one.burst_ns = 0;
    let mut other = one.clone();
    let idle = busy(0);
    let year_ns = 365 * 86_400 * 1_000 * MS;
    one.catch_up(year_ns, idle.busy_until_ns());
    for second in 0..60 {
        other.catch_up(second * 1_000 * MS, idle.busy_until_ns());
    }
    assert_eq!((one.probability, one.burst_ns), (0.0, 150 * MS));
    assert_eq!((one.probability, one.burst_ns), (other.probability, other.burst_ns));
    assert!(one.next_update_ns > year_ns && one.next_update_ns <= year_ns + 15 * MS);
    assert_eq!(one.next_update_ns % (15 * MS), 0);
    one.catch_up(u64::MAX, idle.busy_until_ns());
    assert_eq!(one.next_update_ns, u64::MAX);
}

/// A queue of 100 s: skipping gives the same result as performing each update, at any time and with any gains.
#[test]
fn updates_are_skipped_only_where_they_change_nothing() {
    let until_ns = 100_000 * MS;
    for (alpha_per_s, beta_per_s, update_ns) in
        [(0.125, 1.25, 15 * MS), (1000.0, 0.0, MS), (0.0, 1000.0, MS), (0.01, 1000.0, 7 * MS), (0.0, 0.0, 15 * MS)]
    {
        for now_ns in [100 * MS, 5_000 * MS + 3, 99_900 * MS, 99_990 * MS, until_ns, 2 * until_ns] {
            let mut at_once = Pie::new(Config { alpha_per_s, beta_per_s, update_ns, ..STANDARD });
            at_once.probability = 0.9;
            let mut each = at_once.clone();
            at_once.catch_up(now_ns, until_ns);
            while each.next_update_ns <= now_ns {
                each.catch_up(each.next_update_ns, until_ns);
            }
            let state = |pie: &Pie| (pie.probability, pie.delay_ns, pie.burst_ns, pie.next_update_ns);
            assert_eq!(state(&at_once), state(&each), "{alpha_per_s} {beta_per_s} {update_ns} {now_ns}");
        }
    }
}
