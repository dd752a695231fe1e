//! The kernel's pert, mppert and wvegas beside the transport's: the same samples, acknowledgments and losses.
//!
//! PERT and MPPERT run on by themselves, with the transport's own random numbers, until a loss leaves whole segments. wVegas
//! compares what is queued with a threshold: where the two are equal but for a rounding, the window moves by a segment, or is
//! drained, in one of the programs only, so each acknowledgment begins at the kernel's window, and such moments are counted.

use bpf::{Acknowledgment, CREDIT_BITS, Delays, EarlyProgram, Group, MAX_SUBFLOWS, Outcome, Path, Rounds, WINDOW_BITS};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::Duration;
use transport::Instant;
use transport::congestion::{Ack, Choice, Controller, Phase, Sample, View};
use transport::plugin::{Kind, Origin};

const ROUNDING: f64 = 1e-3;
const MSS: u32 = 1420;
const ONE: f64 = (1_u64 << CREDIT_BITS) as f64;

struct Subflow {
    cwnd: u32,
    credit: u64,
    ssthresh: u32,
    /// The queueing delay, which wanders.
    base_us: u32,
    queue_us: f64,
    view: View,
}

impl Subflow {
    fn new(&(cwnd, base_us): &(u32, u32)) -> Self {
        let view = View {
            cwnd: f64::from(cwnd),
            ssthresh: f64::from(cwnd),
            srtt: Duration::from_micros(base_us.into()),
            active: true,
            ..View::new(10.0, MSS)
        };
        Subflow { cwnd, credit: 0, ssthresh: cwnd, base_us, queue_us: 0.0, view }
    }

    fn fraction(&self) -> f64 {
        f64::from(self.cwnd) + self.credit as f64 / ONE
    }

    fn set(&mut self, outcome: Outcome) {
        self.cwnd = (outcome.window >> CREDIT_BITS) as u32;
        self.credit = outcome.window as u64 & ((1 << CREDIT_BITS) - 1);
        self.ssthresh = outcome.ssthresh;
    }

    /// Up to 60 ms, in steps of up to 2 ms; the next sample.
    fn sample(&mut self, chance: f64) -> u32 {
        self.queue_us = (self.queue_us + 4000.0 * (chance - 0.49)).clamp(0.0, 60_000.0);
        let rtt_us = self.base_us + self.queue_us as u32;
        self.view.srtt = (7 * self.view.srtt + Duration::from_micros(rtt_us.into())) / 8;
        let rtt = Duration::from_micros(rtt_us.into());
        let least = self.view.min_rtt;
        self.view.min_rtt = if least.is_zero() { rtt } else { least.min(rtt) };
        rtt_us
    }
}

fn group(subflows: &[Subflow], r: usize) -> Group {
    let path = |s: &Subflow| Path {
        window: u64::from(s.cwnd) << WINDOW_BITS | s.credit >> (CREDIT_BITS - WINDOW_BITS) | 1,
        between_losses: 0,
        srtt: ((s.view.srtt.as_nanos() / 125) as u32).max(1),
        reserved: 0,
    };
    let mut all = [Path::NONE; MAX_SUBFLOWS];
    for (at, s) in all.iter_mut().rev().zip(subflows) {
        *at = path(s);
    }
    Group { path: all, own: path(&subflows[r]), count: subflows.len() as u32, reserved: 0 }
}

fn views(subflows: &[Subflow]) -> Vec<View> {
    subflows.iter().map(|s| s.view).collect()
}

fn starts() -> impl Strategy<Value = Vec<(u32, u32)>> {
    proptest::collection::vec((2_u32..1000, 1_000_u32..300_000), 1..=MAX_SUBFLOWS)
}

/// Which subflow, how many segments, what happens, and where the queue goes.
type Step = (prop::sample::Index, u32, f64, f64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((any::<prop::sample::Index>(), 1_u32..5, 0.0..1.0_f64, 0.0..1.0_f64), 1..3000)
}

struct Early {
    program: EarlyProgram,
    control: Controller,
    delays: Vec<Delays>,
    random: Vec<Xoshiro256PlusPlus>,
    subflows: Vec<Subflow>,
    responses: u32,
}

impl Early {
    fn new(program: EarlyProgram, start: &[(u32, u32)]) -> Self {
        let name = if program == EarlyProgram::Pert { "pert" } else { "mppert" };
        let origin = Origin::alone(7);
        // A stream for each subflow, as in the transport.
        let stream = |r: usize| Xoshiro256PlusPlus::seed_from_u64(origin.seed(Kind::Congestion).wrapping_add(r as u64));
        Early {
            program,
            control: Choice::named(name).expect("built in").make(&origin),
            delays: vec![Delays::default(); start.len()],
            random: (0..start.len()).map(stream).collect(),
            subflows: start.iter().map(Subflow::new).collect(),
            responses: 0,
        }
    }

    fn sample(&mut self, r: usize, now_us: u64, chance: f64, recovering: bool) {
        let rtt_us = self.subflows[r].sample(chance);
        self.program.measured(&mut self.delays[r], rtt_us);
        let sample = Sample {
            rtt: Duration::from_micros(rtt_us.into()),
            now: Instant::from_nanos(now_us * 1000),
            recovering,
            ..Sample::default()
        };
        self.control.on_sample(&views(&self.subflows), r, &sample);
    }

    fn ack(&mut self, r: usize, now_us: u64, acked: u32, limited: bool) {
        let mut ack = Acknowledgment { now_us, acked, repairing: false, limited, draw: 0, in_flight: 0 };
        let s = &self.subflows[r];
        if self.program.chance(&self.delays[r], (s.cwnd, s.credit), &ack) > 0 {
            ack.draw = (self.random[r].next_u64() >> 32) as u32;
        }
        let (group, views) = (group(&self.subflows, r), views(&self.subflows));
        let s = &mut self.subflows[r];
        let outcome = self.program.acknowledged(&mut self.delays[r], &group, (s.cwnd, s.credit, s.ssthresh), &ack);
        self.responses += u32::from(outcome.ssthresh != s.ssthresh);
        s.set(outcome);
        let ack = Ack {
            now: Instant::from_nanos(now_us * 1000),
            acked_segments: f64::from(acked),
            rtt: None,
            cwnd_limited: limited,
        };
        let window = self.control.on_ack(&views, r, &ack);
        (s.view.cwnd, s.view.ssthresh) = (window.cwnd, window.ssthresh);
    }

    fn lose(&mut self, r: usize) -> (u32, f64) {
        let (group, views) = (group(&self.subflows, r), views(&self.subflows));
        let kernel = self.program.lost(&mut self.delays[r], &group);
        let transport = self.control.on_loss(&views, r, Instant::ZERO);
        let s = &mut self.subflows[r];
        (s.cwnd, s.credit, s.ssthresh) = (kernel, 0, kernel);
        (s.view.cwnd, s.view.ssthresh) = (f64::from(kernel), f64::from(kernel));
        (kernel, transport)
    }
}

proptest! {
    #[test]
    fn pert_and_mppert_have_the_transports_windows(
        program in prop_oneof![Just(EarlyProgram::Pert), Just(EarlyProgram::Mppert)],
        start in starts(),
        steps in steps(),
    ) {
        let mut pair = Early::new(program, &start);
        let mut now_us = 1_000_000;
        for (which, segments, chance, queue) in steps {
            let r = which.index(start.len());
            now_us += 1 + (queue * 4000.0) as u64;
            pair.sample(r, now_us, queue, chance < 0.1);
            if chance < 0.01 {
                let (kernel, transport) = pair.lose(r);
                let below = transport - f64::from(kernel);
                prop_assert!((-3.0 * ROUNDING * transport..1.0 + 3.0 * ROUNDING * transport).contains(&below), "{kernel} for {transport}");
            } else if chance < 0.012 {
                pair.program.found(&mut pair.delays[r]);
                pair.control.on_undo(&views(&pair.subflows), r, Instant::ZERO);
            } else if chance > 0.1 {
                pair.ack(r, now_us, segments, chance > 0.2);
                let s = &pair.subflows[r];
                prop_assert!((s.fraction() - s.view.cwnd).abs() < ROUNDING * s.view.cwnd, "{} {:?} {:?}", s.fraction(), s.view, pair.delays[r]);
            }
        }
    }

    #[test]
    fn wvegas_has_the_transports_windows_but_where_a_rounding_decides(start in starts(), steps in steps()) {
        let mut control = Choice::named("wvegas").expect("built in").make(&Origin::alone(7));
        let mut rounds = vec![Rounds::default(); start.len()];
        let mut subflows: Vec<Subflow> = start.iter().map(Subflow::new).collect();
        let (mut compared, mut apart) = (0, 0);
        for (which, segments, chance, queue) in steps {
            let r = which.index(start.len());
            let rtt_us = subflows[r].sample(queue);
            rounds[r].sampled(rtt_us);
            let (group, before) = (group(&subflows, r), &mut views(&subflows));
            let s = &mut subflows[r];
            if chance < 0.005 {
                let transport = control.on_loss(before, r, Instant::ZERO);
                s.ssthresh = rounds[r].lost(&group);
                (s.cwnd, s.credit) = (s.ssthresh, 0);
                prop_assert!((-ROUNDING * transport..1.0 + ROUNDING * transport).contains(&(transport - f64::from(s.ssthresh))));
            } else {
                // A window's worth at most, so that rounds of a thousand segments end in these steps too.
                let in_flight = 3 * segments;
                let repairing = chance < 0.02;
                before[r].in_flight = in_flight;
                before[r].phase = if repairing { Phase::Loss } else { Phase::Open };
                let ack = Acknowledgment { now_us: 0, acked: segments, repairing, limited: true, draw: 0, in_flight };
                let outcome = rounds[r].acknowledged(&group, (s.cwnd, s.credit, s.ssthresh), &ack);
                let rtt = Some(Duration::from_micros(rtt_us.into()));
                let ack = Ack { now: Instant::ZERO, acked_segments: f64::from(segments), rtt, cwnd_limited: true };
                let transport = control.on_ack(before, r, &ack);
                s.set(outcome);
                compared += 1;
                let difference = (s.fraction() - transport.cwnd).abs();
                if difference > ROUNDING * transport.cwnd {
                    apart += 1;
                } else {
                    let ssthresh = f64::from(s.ssthresh) - transport.ssthresh;
                    prop_assert!(ssthresh.abs() <= 1.0 + ROUNDING * transport.ssthresh, "{} {}", s.ssthresh, transport.ssthresh);
                }
            }
            (s.view.cwnd, s.view.ssthresh) = (s.fraction(), f64::from(s.ssthresh));
        }
        prop_assert!(apart <= 1 + compared / 200, "{apart} of {compared} acknowledgments");
    }

    #[test]
    fn nothing_leaves_its_range(
        program in prop_oneof![Just(EarlyProgram::Pert), Just(EarlyProgram::Mppert)],
        start in (1_u32..=1 << 20, 1_u32..u32::MAX, any::<u32>()),
        (ssthresh, acked, draw) in any::<(u32, u32, u32)>(),
        rtts in proptest::collection::vec(1_u32..u32::MAX / 2, 0..20),
    ) {
        let (cwnd, srtt, in_flight) = start;
        let path = Path { window: u64::from(cwnd) << WINDOW_BITS, between_losses: 0, srtt: srtt.min(1 << 24), reserved: 0 };
        let mut group = Group { path: [Path::NONE; MAX_SUBFLOWS], own: path, count: 1, reserved: 0 };
        group.path[3] = path;
        let (mut delays, mut rounds) = (Delays::default(), Rounds::default());
        for (n, rtt) in rtts.iter().enumerate() {
            program.measured(&mut delays, *rtt);
            rounds.sampled(*rtt);
            let ack = Acknowledgment { now_us: n as u64, acked, repairing: false, limited: true, draw, in_flight };
            for outcome in [
                program.acknowledged(&mut delays, &group, (cwnd, 0, ssthresh), &ack),
                rounds.acknowledged(&group, (cwnd, 0, ssthresh), &ack),
            ] {
                prop_assert!((1..=1 << 20).contains(&(outcome.window >> CREDIT_BITS)), "{outcome:?}");
            }
        }
    }
}

#[test]
fn numbers_worked_by_hand() {
    // PERT, weight 0.99: a sample of 40 ms, then one of 80: 40.4 ms; q = 0.4 ms, q_max = 40 ms, β = 0.4/40.4.
    let mut pair = Early::new(EarlyProgram::Pert, &[(20, 40_000)]);
    pair.program.measured(&mut pair.delays[0], 40_000);
    let ack =
        |now_us| Acknowledgment { now_us, acked: 1, repairing: false, limited: true, draw: u32::MAX, in_flight: 0 };
    let grown = pair.program.acknowledged(&mut pair.delays[0], &group(&pair.subflows, 0), (20, 0, 2), &ack(0));
    // The queue is empty: α = 1.1 after the first round trip, 1.1/20 a segment.
    assert!((grown.window as f64 / ONE - 20.055).abs() < 1e-5, "{grown:?}");
    // 1000 samples of 100 ms: q = 60·(1 − 0.99¹⁰⁰⁰) = 59.997 ms: certain. β = 59.997/119.997, half of the window.
    for _ in 0..1000 {
        pair.program.measured(&mut pair.delays[0], 100_000);
    }
    assert_eq!(pair.program.chance(&pair.delays[0], (20, 0), &ack(1)), 1 << 32);
    let left = pair.program.acknowledged(&mut pair.delays[0], &group(&pair.subflows, 0), (20, 0, 100), &ack(1));
    assert!((left.window as f64 / ONE - 10.0).abs() < 1e-3 && left.ssthresh == 10, "{left:?}");
    assert_eq!(pair.program.chance(&pair.delays[0], (20, 0), &ack(99_000)), 0, "once a round trip");
    assert_eq!(pair.program.chance(&pair.delays[0], (20, 0), &ack(100_002)), 1 << 32);
    // MPPERT: w = (10, 20), rtt = (10, 40) ms: LIA's 0.1/2.25, times α = 1.1.
    let mut pair = Early::new(EarlyProgram::Mppert, &[(10, 10_000), (20, 40_000)]);
    pair.program.measured(&mut pair.delays[1], 40_000);
    let grown = pair.program.acknowledged(&mut pair.delays[1], &group(&pair.subflows, 1), (20, 0, 2), &ack(0));
    assert!((grown.window as f64 / ONE - 20.0 - 1.1 * 0.1 / 2.25).abs() < 1e-5, "{grown:?}");
    // wVegas: 20 segments, base 40 ms, a round of 50 ms: 4 queued, above α = 10 alone? Below: one more segment.
    let subflows = [Subflow::new(&(20, 40_000))];
    let (all, mut rounds) = (group(&subflows, 0), Rounds::default());
    let mut window = (20, 0, 2);
    for rtt_us in [40_000, 50_000, 50_000, 50_000] {
        rounds.sampled(rtt_us);
        let ack = Acknowledgment { in_flight: 3, ..ack(0) };
        let outcome = rounds.acknowledged(&all, window, &ack);
        window.0 = (outcome.window >> CREDIT_BITS) as u32;
        window.1 = outcome.window as u64 & ((1 << CREDIT_BITS) - 1);
    }
    // The first acknowledgment ends a round of one sample, Reno's: 20.05. Then three of 50 ms: 20.05·10/50 = 4.01 ≥ 2, so
    // α = 10·1 = 10, and the window grows by one.
    let end = f64::from(window.0) + window.1 as f64 / ONE;
    assert!((end - 21.05).abs() < 1e-4, "{end}");
}
