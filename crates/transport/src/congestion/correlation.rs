//! Whether two subflows see the same queue: the correlation of their queueing delays (Singh 2012 chapter V A).

use crate::time::{Duration, Instant};

/// What is done about subflows that share a bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Action {
    /// Of those that share, all but the one with the highest rate are held at one segment, as a probe.
    pub suppress: bool,
    /// Those that share are coupled with each other only; the others become independent.
    pub decouple: bool,
}

/// By what it is found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// The correlation of queueing delays (Singh 2012).
    Correlation,
    /// The shape of the delays' distributions (RFC 8382).
    Rfc8382,
}

/// How it is found out; times in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sharing {
    /// What follows.
    pub action: Action,
    /// By what.
    pub method: Method,
    /// Correlation above which two subflows share; with RFC 8382, the part of the last groupings.
    pub threshold: f64,
    /// Measuring before the first decision; how long a change takes to be seen follows from it.
    pub decide_after_s: f64,
    /// Memory of one correlation, of which the moving average is taken.
    pub window_s: f64,
    /// Weight of the past in the smoothed delay that is correlated.
    pub weight: f64,
    /// RFC 8382's T.
    pub interval_s: f64,
    /// Rate of the faster of two from which the threshold counts in full; below it is in proportion.
    pub full_rate_bps: f64,
    /// Part of the connection's data below which a subflow is suppressed.
    pub suppress_below: f64,
}

/// Means over longer than this say nothing of one queue: samples that far apart are not averaged.
const LONGEST: Duration = Duration::from_secs(1);

/// Pearson's coefficient of the smoothed delays of each pair, in a moving average.
///
/// Of the subflow with more samples the mean over those between two of the other's is taken. The coefficient has an
/// exponential memory (`window`), and so has the moving average (a quarter of the time to decide); the thesis prints
/// neither length. It begins after two windows: in slow start all subflows fill their queues at once,
/// shared or not. A pair counts when it has measured for the time to decide.
#[derive(Debug)]
pub(super) struct Correlation {
    sharing: Sharing,
    /// Smoothed RTT of each subflow; 0 before the first.
    smoothed_ns: Vec<f64>,
    /// For a < b at b(b − 1)/2 + a.
    pairs: Vec<Pair>,
}

/// Samples since the last point of a pair.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
    since: Instant,
}

impl Mean {
    fn add(&mut self, now: Instant, value: f64) {
        if self.count == 0.0 || now - self.since > LONGEST {
            *self = Mean { since: now, ..Mean::default() };
        }
        self.sum += value;
        self.count += 1.0;
    }

    fn take(&mut self) -> f64 {
        let mean = self.sum / self.count;
        *self = Mean::default();
        mean
    }
}

#[derive(Clone, Debug, Default)]
struct Pair {
    samples: [Mean; 2],
    first_at: Instant,
    last_at: Instant,
    /// Exponentially weighted: their number, means, squares and product, about the means.
    weight: f64,
    means: [f64; 2],
    squares: [f64; 2],
    product: f64,
    /// The moving average, and the weight of what is in it.
    average: f64,
    known: f64,
    decided: bool,
}

impl Pair {
    fn sample(&mut self, which: usize, now: Instant, delay_s: f64, sharing: &Sharing) {
        self.samples[which].add(now, delay_s);
        // Also the other's samples may have become old.
        if self.samples.iter().any(|mean| mean.count == 0.0 || now - mean.since > LONGEST) {
            return;
        }
        let [a, b] = &mut self.samples;
        let point = [a.take(), b.take()];
        self.point(now, point, sharing);
    }

    /// A point of both.
    fn point(&mut self, now: Instant, point: [f64; 2], sharing: &Sharing) {
        if self.weight == 0.0 {
            (self.first_at, self.last_at) = (now, now);
        }
        let since_s = (now - self.last_at).as_secs_f64();
        self.last_at = now;
        let kept = libm::exp(-since_s / sharing.window_s);
        self.weight *= kept;
        self.squares.iter_mut().for_each(|square| *square *= kept);
        self.product *= kept;
        self.weight += 1.0;
        // West's update of weighted moments.
        let before = [point[0] - self.means[0], point[1] - self.means[1]];
        for i in 0..2 {
            self.means[i] += before[i] / self.weight;
            self.squares[i] += before[i] * (point[i] - self.means[i]);
        }
        self.product += before[0] * (point[1] - self.means[1]);
        let spread = (self.squares[0] * self.squares[1]).sqrt();
        let age_s = (now - self.first_at).as_secs_f64();
        if spread > 0.0 && age_s > 2.0 * sharing.window_s {
            let coefficient = self.product / spread;
            let forgotten = 1.0 - libm::exp(-4.0 * since_s / sharing.decide_after_s);
            self.known += forgotten * (1.0 - self.known);
            if self.known > 0.0 {
                self.average += forgotten / self.known * (coefficient - self.average);
            }
        }
        self.decided = age_s >= sharing.decide_after_s;
    }
}

impl Correlation {
    pub fn new(sharing: &Sharing) -> Self {
        Correlation { sharing: *sharing, smoothed_ns: Vec::new(), pairs: Vec::new() }
    }

    fn place(a: usize, b: usize) -> usize {
        let (a, b) = (a.min(b), a.max(b));
        b * (b - 1) / 2 + a
    }

    /// An RTT sample of `r`.
    pub fn sample(&mut self, r: usize, now: Instant, rtt: Duration) {
        if r >= self.smoothed_ns.len() {
            self.smoothed_ns.resize(r + 1, 0.0);
            self.pairs.resize_with(r * (r + 1) / 2, Pair::default);
        }
        let weight = if self.smoothed_ns[r] == 0.0 { 0.0 } else { self.sharing.weight };
        self.smoothed_ns[r] = weight * self.smoothed_ns[r] + (1.0 - weight) * rtt.as_nanos() as f64;
        // The least RTT is a constant, which a correlation does not see.
        let delay_s = self.smoothed_ns[r] * 1e-9;
        for other in (0..self.smoothed_ns.len()).filter(|&other| other != r) {
            let pair = &mut self.pairs[Self::place(r, other)];
            pair.sample(usize::from(r > other), now, delay_s, &self.sharing);
        }
    }

    /// The moving average for the two; none before the time to decide.
    pub fn likeness(&self, a: usize, b: usize) -> Option<f64> {
        self.pairs.get(Self::place(a, b)).filter(|pair| pair.decided).map(|pair| pair.average)
    }

    /// The moving average for the two, also before it counts; None before there is one.
    #[cfg(test)]
    pub fn average(&self, a: usize, b: usize) -> Option<f64> {
        self.pairs.get(Self::place(a, b)).filter(|pair| pair.known > 0.0).map(|pair| pair.average)
    }

    #[cfg(test)]
    pub fn points(&self, a: usize, b: usize) -> [f64; 2] {
        self.pairs[Self::place(a, b)].means
    }

    /// `r` begins anew.
    pub fn forget(&mut self, r: usize) {
        if r < self.smoothed_ns.len() {
            self.smoothed_ns[r] = 0.0;
            for other in (0..self.smoothed_ns.len()).filter(|&other| other != r) {
                self.pairs[Self::place(r, other)] = Pair::default();
            }
        }
    }
}
