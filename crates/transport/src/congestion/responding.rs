//! What the controls share that respond to queueing delay before packets are lost: PERT's measurements, modes and
//! early responses (Bhandarkar 2007; Kotla and Reddy 2008; Singh 2012 chapter III A).

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::counting::slot;
use super::{Ack, CongestionControl, Phase, Sample, View, Window};
use crate::algorithm::{Column, Given, Make, Parameter};
use crate::plugin::{Kind, Origin};
use crate::time::{Duration, Instant};

/// How much a window grows; all else is [`Responding`]'s.
pub trait Share: std::fmt::Debug + Send {
    /// Its name.
    const NAME: &'static str;

    /// Increase of the window of `group[r]`, in segments, per segment acknowledged in congestion avoidance, where α is 1.
    fn increase(&self, group: &[View], r: usize) -> f64;
}

/// The parameters of every control of this kind; those of its share come before them.
pub(super) const PARAMETERS: [Parameter; 9] = [
    Parameter::number("low_ms", 5.0, [0.0, 10_000.0], "queueing delay above which early responses occur")
        .unit("ms")
        .fixed_in_kernel(),
    Parameter::number(
        "high_ms",
        10.0,
        [0.001, 10_000.0],
        "queueing delay at which their probability is p_max; at twice this it is 1",
    )
    .unit("ms")
    .fixed_in_kernel(),
    Parameter::number("p_max", 0.05, [0.0, 1.0], "probability of an early response at high_ms").fixed_in_kernel(),
    Parameter::number("weight", 0.99, [0.0, 0.9999], "weight of past samples in the smoothed delay").fixed_in_kernel(),
    Parameter::number("alpha_max", 32.0, [1.0, 1000.0], "largest α in high-speed mode")
        .unit("segments per round trip")
        .fixed_in_kernel(),
    Parameter::number("alpha_compete", 16.0, [1.0, 1000.0], "largest α in compete mode")
        .unit("segments per round trip")
        .fixed_in_kernel(),
    Parameter::number("alpha_step", 0.1, [0.0, 100.0], "change of α per round trip").fixed_in_kernel(),
    Parameter::word(
        "largest",
        "samples",
        &["samples", "smoothed"],
        "whether the largest delay is taken from RTT samples or from their average",
    )
    .fixed_in_kernel(),
    Parameter::word(
        "on_loss",
        "half",
        &["half", "beta"],
        "window reduction on loss: half, or β as on an early response",
    )
    .fixed_in_kernel(),
];

/// What every control of this kind shows in the samples of a run.
pub(super) const COLUMNS: [Column; 4] = [
    Column::new("queueing_delay_s", "s", "queueing delay (pert and mppert: the smoothed delay q)"),
    Column::new("alpha", "", "aggressiveness α: window growth in segments per round trip, before coupling"),
    Column::new("mode", "", "0: high-speed, 1: safe, 2: compete"),
    Column::new("early_responses", "", "number of early responses so far"),
];

/// The parameters, read.
#[derive(Clone, Copy, Debug)]
struct Settings {
    low_ns: f64,
    high_ns: f64,
    p_max: f64,
    weight: f64,
    alpha_max: f64,
    alpha_compete: f64,
    alpha_step: f64,
    of_samples: bool,
    halve: bool,
}

impl Settings {
    fn read(given: &Given) -> Self {
        Settings {
            low_ns: given.number("low_ms") * 1e6,
            high_ns: given.number("high_ms") * 1e6,
            p_max: given.number("p_max"),
            weight: given.number("weight"),
            alpha_max: given.number("alpha_max"),
            alpha_compete: given.number("alpha_compete"),
            alpha_step: given.number("alpha_step"),
            of_samples: given.word("largest") == "samples",
            halve: given.word("on_loss") == "half",
        }
    }

    /// Gentle RED's curve over the queueing delay: 0 up to `low`, `p_max` at `high`, 1 at twice `high`.
    fn probability(&self, delay_ns: f64) -> f64 {
        let Settings { low_ns: low, high_ns: high, p_max, .. } = *self;
        if delay_ns < low {
            0.0
        } else if delay_ns < high {
            p_max * (delay_ns - low) / (high - low)
        } else {
            (p_max + (1.0 - p_max) * (delay_ns - high) / high).min(1.0)
        }
    }
}

/// What refuses thresholds in the wrong order.
pub(super) fn check(given: &Given) -> Result<(), [&'static str; 2]> {
    if given.number("low_ms") >= given.number("high_ms") {
        return Err(["low_ms not below high_ms", "low_ms < high_ms: the probability rises between them"]);
    }
    Ok(())
}

/// What the queueing delay says of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Below the low threshold: capacity is left.
    #[default]
    HighSpeed,
    /// Up to half of the largest delay: all flows answer to delay.
    Safe,
    /// Above: others fill the queue.
    Compete,
}

/// What an early response leaves at least, in segments. The acknowledgment of a lone segment is delayed by the receiver, for
/// longer than most queues: a window of one would respond to that for ever.
const LEAST_AFTER_RESPONSE: f64 = 2.0;

/// Lengths of intervals between losses that p′/p is the mean of, as TFRC has it (RFC 5348 §5.4).
const INTERVALS: usize = 8;

/// What is known of a subflow.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Smoothed RTT by `weight`; 0 before the first sample.
    smoothed_ns: f64,
    /// Least RTT.
    base_ns: f64,
    /// Largest queueing delay.
    largest_ns: f64,
    pub alpha: f64,
    pub mode: Mode,
    /// When α may change again: once a round trip.
    next_change_ns: f64,
    /// When the next early response may be: once a round trip.
    next_response_ns: f64,
    pub responses: u64,
    /// Early responses since the last loss, and between those before, the latest first.
    since_loss: f64,
    between_losses: [f64; INTERVALS],
    losses: usize,
    /// Its own draws, begun anew with the subflow; none before the first.
    random: Option<Xoshiro256PlusPlus>,
}

impl Path {
    const NEW: Path = Path {
        smoothed_ns: 0.0,
        base_ns: f64::INFINITY,
        largest_ns: 0.0,
        alpha: 1.0,
        mode: Mode::HighSpeed,
        next_change_ns: 0.0,
        next_response_ns: 0.0,
        responses: 0,
        since_loss: 0.0,
        between_losses: [0.0; INTERVALS],
        losses: 0,
        random: None,
    };

    /// The smoothed queueing delay.
    pub fn delay_ns(&self) -> f64 {
        (self.smoothed_ns - self.base_ns).max(0.0)
    }

    fn sample(&mut self, rtt: Duration, settings: &Settings) {
        let rtt_ns = rtt.as_nanos() as f64;
        let weight = if self.smoothed_ns == 0.0 { 0.0 } else { settings.weight };
        self.smoothed_ns = weight * self.smoothed_ns + (1.0 - weight) * rtt_ns;
        self.base_ns = self.base_ns.min(rtt_ns);
        let seen_ns = if settings.of_samples { rtt_ns - self.base_ns } else { self.delay_ns() };
        self.largest_ns = self.largest_ns.max(seen_ns);
    }

    /// β = q/(q + q_max), the part of the window that an early response takes.
    fn beta(&self) -> f64 {
        let delay_ns = self.delay_ns();
        if delay_ns == 0.0 { 0.0 } else { delay_ns / (delay_ns + self.largest_ns) }
    }

    /// p′/p, early responses per loss; none yet lost: infinite.
    fn responses_per_loss(&self) -> f64 {
        let known = self.losses.min(INTERVALS);
        if known == 0 {
            return f64::INFINITY;
        }
        let past: f64 = self.between_losses[..known].iter().sum();
        // The interval that is open counts where it makes the mean larger (RFC 5348 §5.4).
        (past / known as f64).max((past + self.since_loss) / (known + 1) as f64)
    }

    /// Mode and α, once a round trip.
    fn adapt(&mut self, now_ns: f64, settings: &Settings) {
        let delay_ns = self.delay_ns();
        self.mode = if delay_ns < settings.low_ns {
            Mode::HighSpeed
        } else if delay_ns < self.largest_ns / 2.0 {
            Mode::Safe
        } else {
            Mode::Compete
        };
        if now_ns < self.next_change_ns {
            return;
        }
        self.next_change_ns = now_ns + self.smoothed_ns;
        let target = match self.mode {
            Mode::HighSpeed => settings.alpha_max,
            Mode::Safe => 1.0,
            Mode::Compete => (1.0 + self.responses_per_loss()).min(settings.alpha_compete),
        };
        self.alpha += (target - self.alpha).clamp(-settings.alpha_step, settings.alpha_step);
    }

    fn lost(&mut self) {
        self.between_losses.rotate_right(1);
        self.between_losses[0] = std::mem::take(&mut self.since_loss);
        self.losses += 1;
    }

    /// The last loss was none.
    fn found(&mut self) {
        if self.losses > 0 {
            self.losses -= 1;
            self.since_loss += self.between_losses[0];
            self.between_losses.rotate_left(1);
            self.between_losses[INTERVALS - 1] = 0.0;
        }
    }
}

impl Default for Path {
    fn default() -> Self {
        Path::NEW
    }
}

/// A control that responds early and grows by its share.
///
/// On each RTT sample, also during recovery, where the queue is longest: q, the average RTT (history weight 0.99) less the
/// least one, and q_max, the largest. On each ACK,
/// at most once a round trip and with the probability of gentle RED's curve over q, an early response takes β·w,
/// β = q/(q + q_max). α moves by 0.1 a round trip: below the low threshold toward 32 (high-speed mode), up to q_max/2
/// toward 1 (safe), above toward 1 + p′/p, early responses per loss, 16 at most (compete).
///
/// Where the papers leave it open: the window grows by no more than what is acknowledged, slow start's pace (α/w may be
/// above 1). A response leaves two segments at least. Slow start is TCP's and ends with the first early response. A loss halves the window; β, which text and
/// equation 3.1 give for losses too, is 0 for a loss at an empty queue, and such windows would never fall.
#[derive(Debug)]
pub struct Responding<S> {
    share: S,
    settings: Settings,
    pub(super) paths: Vec<Path>,
    seed: u64,
}

impl<S: Share + Make> Make for Responding<S> {
    fn make(given: &Given, origin: &Origin) -> Self {
        Responding {
            share: S::make(given, origin),
            settings: Settings::read(given),
            paths: Vec::new(),
            seed: origin.seed(Kind::Congestion),
        }
    }
}

impl<S: Share> Responding<S> {
    /// A number in [0, 1) from the subflow's stream.
    fn draw(&mut self, r: usize) -> f64 {
        let seed = self.seed.wrapping_add(r as u64);
        let random = self.paths[r].random.get_or_insert_with(|| Xoshiro256PlusPlus::seed_from_u64(seed));
        (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// What remains of the window after a loss.
    fn after_loss(&mut self, group: &[View], r: usize) -> f64 {
        let halve = self.settings.halve;
        let path = slot(&mut self.paths, r);
        path.lost();
        let beta = if halve { 0.5 } else { path.beta() };
        (group[r].cwnd * (1.0 - beta)).max(if super::classic::alone(group, r) { 2.0 } else { 1.0 })
    }
}

impl<S: Share> CongestionControl for Responding<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let View { mut cwnd, ssthresh, phase, .. } = group[r];
        let now_ns = ack.now.as_nanos() as f64;
        let path = slot(&mut self.paths, r);
        path.adapt(now_ns, &self.settings);
        let (alpha, beta) = (path.alpha, path.beta());
        let probability = self.settings.probability(path.delay_ns());
        let due = phase == Phase::Open && now_ns >= path.next_response_ns;
        let may = due && cwnd > LEAST_AFTER_RESPONSE && probability > 0.0;
        if may && self.draw(r) < probability {
            let path = &mut self.paths[r];
            path.next_response_ns = now_ns + path.smoothed_ns;
            path.responses += 1;
            path.since_loss += 1.0;
            cwnd = (cwnd * (1.0 - beta)).max(LEAST_AFTER_RESPONSE);
            return Window { cwnd, ssthresh: cwnd };
        }
        if ack.cwnd_limited {
            let acked;
            (cwnd, acked) = ack.slow_start(cwnd, ssthresh);
            if acked > 0.0 {
                cwnd += acked * (alpha * self.share.increase(group, r)).min(1.0);
            }
        }
        Window { cwnd, ssthresh }
    }

    fn wants_samples(&self) -> bool {
        true
    }

    fn on_sample(&mut self, _group: &[View], r: usize, sample: &Sample) {
        slot(&mut self.paths, r).sample(sample.rtt, &self.settings);
    }

    fn on_loss(&mut self, group: &[View], r: usize, _now: Instant) -> f64 {
        self.after_loss(group, r)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, _now: Instant) -> f64 {
        self.after_loss(group, r)
    }

    fn on_undo(&mut self, _group: &[View], r: usize, _now: Instant) {
        slot(&mut self.paths, r).found();
    }

    fn show(&self, _group: &[View], r: usize, _now: Instant, columns: &mut [f64]) {
        if let Some(path) = self.paths.get(r).filter(|path| path.smoothed_ns > 0.0) {
            columns.copy_from_slice(&[
                path.delay_ns() * 1e-9,
                path.alpha,
                f64::from(path.mode as u8),
                path.responses as f64,
            ]);
        }
    }

    fn on_join(&mut self, _group: &[View], r: usize, _now: Instant) -> Option<f64> {
        *slot(&mut self.paths, r) = Path::NEW;
        None
    }
}

#[cfg(test)]
#[path = "responding_tests.rs"]
mod tests;
