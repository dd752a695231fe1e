//! Numbers worked by hand for what PERT and MPPERT share.

use super::super::{Choice, Controller};
use super::*;
use crate::algorithm::Value;
use crate::time::{Duration, Instant};

fn settings() -> Settings {
    Settings {
        low_ns: 5e6,
        high_ns: 10e6,
        p_max: 0.05,
        weight: 0.99,
        alpha_max: 32.0,
        alpha_compete: 16.0,
        alpha_step: 0.1,
        of_samples: true,
        halve: true,
    }
}

fn controller(name: &str, parameters: &[(&str, Value)]) -> Controller {
    Choice::with(name, parameters.iter().cloned()).unwrap().make(&Origin::alone(1))
}

fn view(cwnd: f64) -> View {
    View {
        cwnd,
        ssthresh: 2.0,
        srtt: Duration::from_millis(40),
        min_rtt: Duration::from_millis(40),
        active: true,
        ..View::new(10.0, 1420)
    }
}

fn ack(now_ms: u64, rtt_ms: u64) -> Ack {
    Ack {
        now: Instant::from_millis(now_ms),
        acked_segments: 1.0,
        rtt: Some(Duration::from_millis(rtt_ms)),
        cwnd_limited: true,
    }
}

/// An acknowledgment with its sample, as the transport gives them.
fn told(control: &mut Controller, group: &[View], ack: &Ack) -> Window {
    if let Some(rtt) = ack.rtt {
        control.on_sample(group, 0, &Sample { rtt, now: ack.now, ..Sample::default() });
    }
    control.on_ack(group, 0, ack)
}

#[test]
fn the_curve() {
    let p = |ms: f64| settings().probability(ms * 1e6);
    assert_eq!((p(0.0), p(4.999), p(20.0), p(500.0)), (0.0, 0.0, 1.0, 1.0));
    assert!((p(7.5) - 0.025).abs() < 1e-12 && (p(10.0) - 0.05).abs() < 1e-12);
    assert!((p(15.0) - (0.05 + 0.95 / 2.0)).abs() < 1e-12);
}

#[test]
fn the_average_has_a_long_memory() {
    let mut path = Path::NEW;
    path.sample(Duration::from_millis(40), &settings());
    assert_eq!(path.smoothed_ns, 40e6, "the first sample is the average");
    path.sample(Duration::from_millis(80), &settings());
    // 0.99·40 + 0.01·80 = 40.4; the largest delay seen is that of the sample, 40 ms.
    assert!((path.delay_ns() - 0.4e6).abs() < 1.0);
    assert_eq!(path.largest_ns, 40e6);
    assert!((path.beta() - 0.4 / 40.4).abs() < 1e-9);
    let mut smoothed = Path::NEW;
    for rtt_ms in [40, 80] {
        smoothed.sample(Duration::from_millis(rtt_ms), &Settings { of_samples: false, ..settings() });
    }
    assert!((smoothed.largest_ns - 0.4e6).abs() < 1.0);
    assert!((smoothed.beta() - 0.5).abs() < 1e-9, "q is as large as it ever was");
}

/// A path whose average is `delay_ms` above its least RTT of 40 ms, and whose largest delay was `largest_ms`.
fn path(delay_ms: f64, largest_ms: f64) -> Path {
    Path { smoothed_ns: 40e6 + delay_ms * 1e6, base_ns: 40e6, largest_ns: largest_ms * 1e6, ..Path::NEW }
}

#[test]
fn alpha_moves_by_a_tenth_a_round_trip() {
    let rounds = |path: &mut Path, rounds: u64| {
        for ms in 0..rounds * 60 {
            path.adapt((ms * 1_000_000) as f64, &settings());
        }
    };
    // 100 round trips of 42 ms: from 1 to 11. In the end 32.
    let mut high = path(2.0, 40.0);
    rounds(&mut high, 70);
    assert_eq!(high.mode, Mode::HighSpeed);
    assert!((high.alpha - 11.0).abs() < 0.15, "{}", high.alpha);
    rounds(&mut Path { next_change_ns: 0.0, ..high.clone() }, 0);
    high.next_change_ns = 0.0;
    rounds(&mut high, 400);
    assert!((high.alpha - 32.0).abs() < 1e-9);
    let mut safe = Path { alpha: 2.0, ..path(19.9, 40.0) };
    rounds(&mut safe, 100);
    assert_eq!((safe.mode, safe.alpha), (Mode::Safe, 1.0));
    // Nothing lost yet: the cap. Three responses a loss: 4.
    let mut compete = path(20.1, 40.0);
    rounds(&mut compete, 400);
    assert_eq!(compete.mode, Mode::Compete);
    assert!((compete.alpha - 16.0).abs() < 1e-9);
    let mut lossy = Path { alpha: 4.05, losses: 2, ..path(20.1, 40.0) };
    lossy.between_losses[..2].copy_from_slice(&[2.0, 4.0]);
    rounds(&mut lossy, 10);
    assert!((lossy.alpha - 4.0).abs() < 1e-9);
}

#[test]
fn the_ratio_of_responses_to_losses() {
    let mut path = Path::NEW;
    assert_eq!(path.responses_per_loss(), f64::INFINITY);
    for responses in [2.0, 6.0] {
        path.since_loss = responses;
        path.lost();
    }
    assert_eq!(path.responses_per_loss(), 4.0);
    path.since_loss = 1.0;
    assert_eq!(path.responses_per_loss(), 4.0, "an open interval does not lower it");
    path.since_loss = 10.0;
    assert_eq!(path.responses_per_loss(), 6.0);
    path.found();
    assert_eq!((path.losses, path.since_loss, path.responses_per_loss()), (1, 16.0, 9.0), "6 and 10 were one interval");
    for _ in 0..20 {
        path.since_loss = 3.0;
        path.lost();
    }
    assert_eq!(path.responses_per_loss(), 3.0, "the last eight");
}

#[test]
fn at_most_one_response_a_round_trip_and_of_the_right_size() {
    // No memory, so that q is the last sample's: 40 ms above 40, the largest there was: β = ½ with probability 1.
    for name in ["pert", "mppert"] {
        let mut control = controller(name, &[("weight", Value::Number(0.0)), ("alpha_step", Value::Number(0.0))]);
        let group = [view(20.0)];
        let first = told(&mut control, &group, &ack(0, 40));
        assert_eq!(first.cwnd, 20.05, "1/w for an empty queue");
        let windows: Vec<f64> = (1..=160).map(|ms| told(&mut control, &group, &ack(ms, 80)).cwnd).collect();
        let responses: Vec<usize> = (0..160).filter(|&i| windows[i] == 10.0).map(|i| i + 1).collect();
        assert_eq!(responses, [1, 81], "one each 80 ms");
        assert_eq!(windows[1], 20.05);
    }
}

#[test]
fn samples_count_during_recovery_and_are_counted_once() {
    let mut control = controller("pert", &[("weight", Value::Number(0.0))]);
    let recovering = [View { phase: Phase::Recovery, ..view(20.0) }];
    assert!(control.wants_samples());
    told(&mut control, &[view(20.0)], &ack(0, 40));
    for ms in [1, 2] {
        control.on_sample(
            &recovering,
            0,
            &Sample {
                rtt: Duration::from_millis(80),
                now: Instant::from_millis(ms),
                recovering: true,
                ..Sample::default()
            },
        );
    }
    // The queue of 40 ms, known from the recovery alone, takes half.
    assert_eq!(control.on_ack(&[view(20.0)], 0, &Ack { rtt: None, ..ack(3, 1) }).cwnd, 10.0);
}

#[test]
fn what_it_shows() {
    let mut control = controller("mppert", &[("weight", Value::Number(0.0)), ("shared", "decouple".into())]);
    let mut shown = [f64::NAN; 6];
    control.show(&[view(20.0)], 0, Instant::ZERO, &mut shown);
    assert!(shown[0].is_nan(), "nothing before the first sample");
    told(&mut control, &[view(20.0)], &ack(0, 40));
    told(&mut control, &[view(20.0)], &ack(60, 80));
    control.show(&[view(20.0)], 0, Instant::ZERO, &mut shown);
    // An empty queue, then one of 40 ms, the largest: α from 1 by 0.1 a round trip, to compete; β = ½ once.
    assert!((shown[1] - 1.2).abs() < 1e-12);
    assert_eq!((shown[0], shown[2], shown[3]), (0.04, 2.0, 1.0));
    assert_eq!(shown[4..], [0.0, 0.0], "it shares with nobody but itself and is not held");
}

#[test]
fn a_response_leaves_two_segments_so_that_a_delayed_acknowledgment_is_no_queue() {
    // 80 ms on a path of 40: half of the window with probability 1.
    for (before, after) in [(10.0, 5.0), (3.0, 2.0), (2.0, 2.5), (1.0, 2.0)] {
        let mut control = controller("pert", &[("weight", Value::Number(0.0)), ("alpha_step", Value::Number(0.0))]);
        told(&mut control, &[view(before)], &ack(0, 40));
        assert_eq!(told(&mut control, &[view(before)], &ack(50, 80)).cwnd, after, "{before}");
    }
}

#[test]
fn a_response_ends_slow_start() {
    let mut control = controller("pert", &[("weight", Value::Number(0.0))]);
    let group = [View { ssthresh: f64::INFINITY, ..view(20.0) }];
    assert_eq!(told(&mut control, &group, &ack(0, 40)), Window { cwnd: 21.0, ssthresh: f64::INFINITY });
    assert_eq!(told(&mut control, &group, &ack(1, 80)), Window { cwnd: 10.0, ssthresh: 10.0 });
}

#[test]
fn a_loss_halves_or_takes_beta() {
    let mut half = controller("pert", &[]);
    assert_eq!(half.on_loss(&[view(20.0)], 0, Instant::ZERO), 10.0);
    assert_eq!(half.on_loss(&[view(3.0)], 0, Instant::ZERO), 2.0);
    assert_eq!(half.on_loss(&[view(3.0), view(9.0)], 0, Instant::ZERO), 1.5, "beside another, one is the floor");
    let mut beta = controller("pert", &[("on_loss", "beta".into()), ("weight", Value::Number(0.0))]);
    assert_eq!(beta.on_loss(&[view(20.0)], 0, Instant::ZERO), 20.0, "an empty queue: a window that never falls");
    told(&mut beta, &[view(20.0)], &ack(0, 40));
    told(&mut beta, &[view(20.0)], &ack(1, 80));
    told(&mut beta, &[view(20.0)], &ack(2, 50));
    assert!((beta.on_loss(&[view(20.0)], 0, Instant::ZERO) - 16.0).abs() < 1e-9, "β = 10/(10 + 40)");
}

#[test]
fn growth_is_alphas_and_no_faster_than_slow_start() {
    let mut control = controller("pert", &[("alpha_step", Value::Number(40.0)), ("low_ms", Value::Number(4.0))]);
    // α is 32 after the first round trip on an empty queue.
    told(&mut control, &[view(100.0)], &ack(0, 40));
    assert!((told(&mut control, &[view(100.0)], &ack(50, 40)).cwnd - 100.32).abs() < 1e-9);
    assert_eq!(told(&mut control, &[view(10.0)], &ack(51, 40)).cwnd, 11.0);
}

#[test]
fn connections_have_streams_of_their_own_and_the_same_again() {
    let run = |seed| {
        let choice = Choice::with("pert", [("weight", Value::Number(0.0))]).unwrap();
        let mut control = choice.make(&Origin::alone(seed));
        let mut v = view(20.0);
        told(&mut control, &[v], &ack(0, 40));
        (1..400)
            .map(|ms| {
                // 11 ms of queue: a response in seven.
                let w = told(&mut control, &[v], &ack(ms, 51));
                (v.cwnd, v.ssthresh) = (w.cwnd, w.ssthresh);
                w.cwnd.to_bits()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn what_cannot_be_is_refused() {
    for (name, parameters) in [
        ("mppert", vec![("k", Value::Number(-1.0))]),
        ("mppert", vec![("k", Value::Number(1.1))]),
        ("pert", vec![("low_ms", Value::Number(10.0))]),
        ("pert", vec![("k", Value::Number(0.0))]),
    ] {
        let error = Choice::with(name, parameters.clone()).unwrap_err();
        assert!(!error.expected.is_empty(), "{name} {parameters:?}: {error}");
    }
}
