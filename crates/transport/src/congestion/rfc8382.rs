//! Whether subflows see the same queue: the shape of their delays' distributions (RFC 8382).

use super::Sample;
use super::correlation::Sharing;
use crate::time::Instant;

/// What RFC 8382 §2.2 recommends. It recommends no `p_l`: a tenth, as the authors' own Multipath TCP (Ferlin 2016).
const N: usize = 50;
const M: usize = 30;
const F: usize = 20;
const C_S: f64 = 0.1;
const C_H: f64 = 0.3;
const P_F: f64 = 0.1;
const P_MAD: f64 = 0.1;
const P_S: f64 = 0.15;
const P_D: f64 = 0.1;
const P_L: f64 = 0.1;
const P_V: f64 = 0.7;

/// Of so many groupings, as of Ferlin 2016, the part counts in which two were together.
const GROUPINGS: u32 = 10;

/// The last `LENGTH` values, the latest first.
#[derive(Clone, Debug)]
struct Last<T, const LENGTH: usize> {
    values: [T; LENGTH],
    count: usize,
}

impl<T: Copy + Default, const LENGTH: usize> Default for Last<T, LENGTH> {
    fn default() -> Self {
        Last { values: [T::default(); LENGTH], count: 0 }
    }
}

impl<T: Copy, const LENGTH: usize> Last<T, LENGTH> {
    fn push(&mut self, value: T) {
        self.values.rotate_right(1);
        self.values[0] = value;
        self.count = (self.count + 1).min(LENGTH);
    }

    fn known(&self) -> &[T] {
        &self.values[..self.count]
    }
}

/// What one interval T says: numbers of samples below and above the mean delay, deviations, packets.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    samples: f64,
    /// Of all M intervals' mean.
    skew: f64,
    /// From the mean of the interval before; invalid unless `congested`.
    deviation_s: f64,
    congested: bool,
}

/// One subflow's statistics; delays in seconds. Round-trip times stand for one-way delays.
#[derive(Clone, Debug, Default)]
struct Flow {
    first_at: Option<Instant>,
    /// Of the interval that is open, and its samples' sum.
    open: Interval,
    sum_s: f64,
    intervals: Last<Interval, M>,
    means_s: Last<f64, M>,
    crossings: Last<f64, N>,
    variabilities_s: Last<f64, M>,
    /// Counters of segments sent and of those sent again, at the ends of the last N intervals, and now.
    counted: Last<[u64; 2], { N + 1 }>,
    counters: [u64; 2],
    /// The side of the mean on which it last was significantly: 1 above, −1 below.
    side: f64,
    /// PB: in the last interval it went through a bottleneck.
    bottleneck: bool,
    skew: f64,
    frequency: f64,
    variability_s: f64,
    loss: f64,
}

/// Flat for the first F, then falling to 1 (§4.1).
fn weight(i: usize) -> f64 {
    (M - i.max(F - 1)) as f64
}

impl Flow {
    fn mean_delay_s(&self) -> Option<f64> {
        let known = self.means_s.known();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }

    fn sample(&mut self, sample: &Sample) {
        self.first_at.get_or_insert(sample.now);
        self.counters = [sample.segments_sent, sample.segments_sent_again];
        let delay_s = sample.rtt.as_secs_f64();
        self.sum_s += delay_s;
        self.open.samples += 1.0;
        // Neither mean has this interval in it (§3.2.2, §3.2.3).
        if let (Some(mean_s), Some(last_s)) = (self.mean_delay_s(), self.means_s.known().first()) {
            self.open.skew += f64::from(i8::from(delay_s < mean_s) - i8::from(delay_s > mean_s));
            self.open.deviation_s += (delay_s - last_s).abs();
        }
    }

    /// The end of an interval T.
    fn close(&mut self) {
        let mut closed = std::mem::take(&mut self.open);
        let mean_s = std::mem::take(&mut self.sum_s) / closed.samples; // NaN: there were none
        self.counted.push(self.counters);
        let [sent, again] = *self.counted.known().last().expect("just added");
        self.loss = (self.counters[1] - again) as f64 / ((self.counters[0] - sent) as f64).max(1.0);
        if self.means_s.known().is_empty() {
            closed = Interval::default(); // the first: there was no mean to compare with
        }
        self.intervals.push(closed);
        let skew = weighted(self.intervals.known(), |t| Some(t.skew));
        self.skew = skew.unwrap_or(0.0);
        self.bottleneck = skew.is_some_and(|s| s < C_S || (s < C_H && self.bottleneck) || self.loss > P_L);
        self.intervals.values[0].congested = self.bottleneck;
        let deviations = weighted(self.intervals.known(), |t| t.congested.then_some(t.deviation_s));
        self.variability_s = deviations.unwrap_or(0.0);
        self.variabilities_s.push(self.variability_s);
        let mut crossed = false;
        if !mean_s.is_nan() {
            self.means_s.push(mean_s);
            let from_mean_s = mean_s - self.mean_delay_s().expect("just added");
            if from_mean_s.abs() > P_V * self.variability_s {
                crossed = self.bottleneck && from_mean_s.signum() == -self.side;
                self.side = from_mean_s.signum();
            }
        }
        self.crossings.push(f64::from(u8::from(crossed)));
        self.frequency = self.crossings.known().iter().sum::<f64>() / N as f64;
    }
}

/// Σ weight·value / Σ weight·samples over the intervals that have a value (§4.1.1, §4.1.2, §4.2).
fn weighted(intervals: &[Interval], value: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
    let (mut sum, mut samples) = (0.0, 0.0);
    for (i, interval) in intervals.iter().enumerate() {
        if let Some(value) = value(interval) {
            sum += weight(i) * value;
            samples += weight(i) * interval.samples;
        }
    }
    (samples > 0.0).then(|| sum / samples)
}

/// What of two subflows was found.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    /// The last groupings, a bit each, the latest lowest: whether they were together.
    together: u32,
    decided: bool,
}

/// Every T the subflows that go through a bottleneck are divided by frequency, variability, skewness and loss of their
/// delays (§3.3.1). How alike two are is the part of the last ten groupings in which they were together; it
/// counts when both have measured for the time to decide, by §3.3.2 2·M·T.
#[derive(Debug)]
pub(super) struct Rfc8382 {
    sharing: Sharing,
    flows: Vec<Flow>,
    /// For a < b at b(b − 1)/2 + a.
    pairs: Vec<Pair>,
    /// Number of the interval that is open: all have the same.
    interval: u64,
    /// By subflow, one of its group in the last grouping; none outside of a bottleneck.
    group: Vec<Option<usize>>,
    order: Vec<usize>,
}

/// The intervals of §3.3.2 before the first decision.
pub(super) const DECIDE_AFTER_INTERVALS: usize = 2 * M;

impl Rfc8382 {
    pub fn new(sharing: &Sharing) -> Self {
        let (flows, pairs, group, order) = Default::default();
        Rfc8382 { sharing: *sharing, flows, pairs, interval: 0, group, order }
    }

    fn place(a: usize, b: usize) -> usize {
        let (a, b) = (a.min(b), a.max(b));
        b * (b - 1) / 2 + a
    }

    /// An RTT sample of `r`.
    pub fn sample(&mut self, r: usize, sample: &Sample) {
        if r >= self.flows.len() {
            self.flows.resize_with(r + 1, Flow::default);
            self.pairs.resize(r * (r + 1) / 2, Pair::default());
        }
        let interval = (sample.now.as_nanos() as f64 / (self.sharing.interval_s * 1e9)) as u64;
        // After N intervals without a sample nothing is known any more.
        let ended = (interval - self.interval).min(N as u64);
        self.interval = interval;
        for _ in 0..ended {
            self.flows.iter_mut().filter(|flow| flow.first_at.is_some()).for_each(Flow::close);
            self.regroup();
            self.count(sample.now);
        }
        self.flows[r].sample(sample);
    }

    fn regroup(&mut self) {
        self.group.clear();
        self.group.resize(self.flows.len(), None);
        self.order.clear();
        self.order.extend((0..self.flows.len()).filter(|&r| self.flows[r].bottleneck));
        divide(&self.flows, &mut self.order, 0, &mut self.group);
    }

    fn count(&mut self, now: Instant) {
        for b in 0..self.flows.len() {
            for a in 0..b {
                let (Some(first_a), Some(first_b)) = (self.flows[a].first_at, self.flows[b].first_at) else { continue };
                let together = self.group[a].is_some() && self.group[a] == self.group[b];
                let pair = &mut self.pairs[Self::place(a, b)];
                pair.together = (pair.together << 1 | u32::from(together)) & ((1 << GROUPINGS) - 1);
                pair.decided = (now - first_a.max(first_b)).as_secs_f64() >= self.sharing.decide_after_s;
            }
        }
    }

    /// In what part of the last groupings the two were together; none before the time to decide.
    pub fn likeness(&self, a: usize, b: usize) -> Option<f64> {
        let pair = self.pairs.get(Self::place(a, b)).filter(|pair| pair.decided)?;
        Some(f64::from(pair.together.count_ones()) / f64::from(GROUPINGS))
    }

    /// `r` begins anew.
    pub fn forget(&mut self, r: usize) {
        if r < self.flows.len() {
            self.flows[r] = Flow::default();
            for other in (0..self.flows.len()).filter(|&other| other != r) {
                self.pairs[Self::place(r, other)] = Pair::default();
            }
        }
    }
}

/// Steps 2 to 5 of §3.3.1, by number: the group is cut where two that follow each other in falling order differ too much.
fn divide(flows: &[Flow], order: &mut [usize], step: usize, group: &mut [Option<usize>]) {
    if order.len() < 2 || step == 4 {
        order.iter().for_each(|&r| group[r] = Some(order[0]));
        return;
    }
    let value = |r: usize| {
        let flow = &flows[r];
        let known = flow.variabilities_s.known();
        [flow.frequency, known.iter().sum::<f64>() / known.len().max(1) as f64, flow.skew, flow.loss][step]
    };
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
    let mut start = 0;
    for end in 1..=order.len() {
        let apart = end == order.len() || {
            let (high, low) = (value(order[end - 1]), value(order[end]));
            let most = [P_F, P_MAD * high, P_S, if high > P_L { P_D * high } else { f64::INFINITY }][step];
            high - low >= most
        };
        if apart {
            divide(flows, &mut order[start..end], step + 1, group);
            start = end;
        }
    }
}

#[cfg(test)]
#[path = "rfc8382_tests.rs"]
mod tests;
