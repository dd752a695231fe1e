use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

const PACKETS: usize = 1_000_000;

fn gilbert_elliott(good_to_bad: f64, bad_to_good: f64, loss_good: f64, loss_bad: f64) -> LossConfig {
    LossConfig::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad })
}

fn losses(config: LossConfig, seed: u64) -> Vec<bool> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut loss = Loss::new(&config);
    (0..PACKETS).map(|_| loss.strikes(&mut rng)).collect()
}

fn share(losses: &[bool]) -> f64 {
    losses.iter().filter(|&&lost| lost).count() as f64 / losses.len() as f64
}

/// Lengths of the bursts of losses.
fn bursts(losses: &[bool]) -> Vec<f64> {
    losses.split(|&lost| !lost).filter(|run| !run.is_empty()).map(|run| run.len() as f64).collect()
}

#[test]
fn bernoulli_loses_its_share_within_five_deviations() {
    for (seed, p) in [0.0001, 0.01, 0.1, 0.5, 0.9, 0.999].into_iter().enumerate() {
        let deviation = (p * (1.0 - p) / PACKETS as f64).sqrt();
        let found = share(&losses(LossConfig::Bernoulli(Bernoulli { probability: p }), seed as u64));
        assert!((found - p).abs() < 5.0 * deviation, "p {p}: found {found}, deviation {deviation}");
    }
}

#[test]
fn bernoulli_has_no_memory() {
    // The loss rate right after a loss is p as well.
    let p = 0.2;
    let losses = losses(LossConfig::Bernoulli(Bernoulli { probability: p }), 1);
    let after: Vec<bool> = losses.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
    let deviation = (p * (1.0 - p) / after.len() as f64).sqrt();
    assert!((share(&after) - p).abs() < 5.0 * deviation);
}

/// Closed form of the stationary loss rate, and a generous deviation: the correlation of the states, λ = 1 − a − b,
/// widens the binomial one by (1 + λ)/(1 − λ).
#[test]
fn gilbert_elliott_loses_its_stationary_share() {
    for (seed, (a, b, good, bad)) in [
        (0.01, 0.25, 0.0, 1.0),
        (0.05, 0.5, 0.0, 0.5),
        (0.002, 0.1, 0.001, 0.3),
        (0.3, 0.1, 0.05, 0.8),
        (0.9, 0.9, 0.0, 1.0),
    ]
    .into_iter()
    .enumerate()
    {
        let expected = (b * good + a * bad) / (a + b);
        let lambda: f64 = 1.0 - a - b;
        let widened = ((1.0 + lambda.abs()) / (1.0 - lambda.abs())).sqrt();
        let deviation = (expected * (1.0 - expected) / PACKETS as f64).sqrt() * widened;
        let found = share(&losses(gilbert_elliott(a, b, good, bad), seed as u64));
        assert!(
            (found - expected).abs() < 5.0 * deviation,
            "expected {expected}, found {found}, deviation {deviation}"
        );
    }
}

#[test]
fn gilbert_elliott_bursts_last_as_long_as_the_bad_state() {
    // No loss in the good state, certain loss in the bad one: burst lengths are geometric, with mean 1/b and variance
    // (1 − b)/b².
    for (seed, (a, b)) in [(0.01_f64, 0.25_f64), (0.02, 0.1), (0.1, 0.8)].into_iter().enumerate() {
        let bursts = bursts(&losses(gilbert_elliott(a, b, 0.0, 1.0), seed as u64));
        let count = bursts.len() as f64;
        let mean = bursts.iter().sum::<f64>() / count;
        let deviation = ((1.0 - b) / (b * b) / count).sqrt();
        assert!((mean - 1.0 / b).abs() < 5.0 * deviation, "mean {mean}, expected {}", 1.0 / b);
        // Bursts begin as often as the chain enters the bad state: a·b/(a + b) per packet.
        let starts = PACKETS as f64 * a * b / (a + b);
        assert!((count - starts).abs() < 5.0 * starts.sqrt(), "{count} bursts, expected {starts}");
    }
}

#[test]
fn gilbert_elliott_bursts_are_shorter_when_the_bad_state_lets_packets_pass() {
    // A burst continues if the state stays bad and the packet is lost: geometric, with mean 1/(1 − (1 − b)·h).
    let (a, b, h) = (0.02_f64, 0.2_f64, 0.6_f64);
    let bursts = bursts(&losses(gilbert_elliott(a, b, 0.0, h), 11));
    let stop = 1.0 - (1.0 - b) * h;
    let count = bursts.len() as f64;
    let mean = bursts.iter().sum::<f64>() / count;
    assert!((mean - 1.0 / stop).abs() < 5.0 * ((1.0 - stop) / (stop * stop) / count).sqrt());
}

#[test]
fn the_transition_comes_before_the_loss() {
    // The transition to the bad state is certain: the first packet is already in it.
    let config = gilbert_elliott(1.0, 1.0, 0.0, 1.0);
    assert_eq!(losses(config, 0)[..6], [true, false, true, false, true, false]);
}

#[test]
fn only_what_is_uncertain_is_drawn() {
    let draws = |config: LossConfig, packets: usize| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut counted = rng.clone();
        let mut loss = Loss::new(&config);
        for _ in 0..packets {
            loss.strikes(&mut rng);
        }
        (0..).find(|_| {
            let same = counted == rng;
            counted.next_u64();
            same
        })
    };
    assert_eq!(draws(LossConfig::None, 10), Some(0));
    assert_eq!(draws(LossConfig::Bernoulli(Bernoulli { probability: 0.0 }), 10), Some(0));
    assert_eq!(draws(LossConfig::Bernoulli(Bernoulli { probability: 1.0 }), 10), Some(0));
    assert_eq!(draws(LossConfig::Bernoulli(Bernoulli { probability: 0.5 }), 10), Some(10));
    // The good state is never left: only the loss is drawn.
    assert_eq!(draws(gilbert_elliott(0.0, 0.5, 0.5, 0.5), 10), Some(10));
    // The classic two-state model: only the transition is drawn.
    assert_eq!(draws(gilbert_elliott(0.5, 0.5, 0.0, 1.0), 10), Some(10));
    assert_eq!(draws(gilbert_elliott(0.5, 0.5, 0.1, 0.9), 10), Some(20));
}

#[test]
fn periodic_loses_the_last_of_every_so_many() {
    let lost: Vec<usize> = losses(LossConfig::Periodic(Periodic { every_packets: 250_000 }), 1)
        .iter()
        .enumerate()
        .filter_map(|(place, &lost)| lost.then_some(place + 1))
        .collect();
    assert_eq!(lost, [250_000, 500_000, 750_000, 1_000_000]);
    assert_eq!(share(&losses(LossConfig::Periodic(Periodic { every_packets: 1 }), 1)), 1.0, "every one");
    assert!(LossConfig::Periodic(Periodic { every_packets: 0 }).check().is_err());
}
