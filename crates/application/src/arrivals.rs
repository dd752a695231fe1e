//! Arrivals of flows: their times and sizes. Times and sizes are drawn from separate generators, so that changing the
//! size distribution does not change the arrival times.

use crate::content::{Arrivals, Size};
use crate::random;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Upper bound of a flow's size: 10⁶ GB, the largest size a scenario can give.
const SIZE_LIMIT: f64 = 1e15;

/// Generates the flows of one application in order of arrival.
pub struct ArrivalProcess {
    size: Size,
    arrivals: Arrivals,
    times: Xoshiro256PlusPlus,
    sizes: Xoshiro256PlusPlus,
    start_ns: u64,
    /// Time of the next arrival.
    next_ns: u64,
    /// Number of flows taken so far.
    count: u64,
}

impl ArrivalProcess {
    /// Creates the arrival process of the application called `name`, whose flows arrive from `start_ns` on.
    pub fn new(seed: u64, name: &str, start_ns: u64, size: Size, arrivals: Arrivals) -> ArrivalProcess {
        let mut process = ArrivalProcess {
            size,
            arrivals,
            times: random::generator(seed, &format!("{name}/arrivals")),
            sizes: random::generator(seed, &format!("{name}/sizes")),
            start_ns,
            next_ns: start_ns,
            count: 0,
        };
        process.next_ns = process.time_ns();
        process
    }

    /// Time at which the next flow arrives.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Returns the size in bytes (at least 1) of the flow that arrives now, and draws the time of the next arrival.
    pub fn take(&mut self) -> u64 {
        self.count += 1;
        self.next_ns = self.time_ns();
        let bytes = match self.size {
            Size::Constant { mean_bytes } => return mean_bytes,
            Size::Exponential { mean_bytes } => random::exponential(&mut self.sizes) * mean_bytes as f64,
            Size::Pareto { mean_bytes, shape } => {
                let least = mean_bytes as f64 * (shape - 1.0) / shape;
                // The logarithm of a Pareto variable over its minimum is exponential with mean 1/shape.
                least * random::exp(random::exponential(&mut self.sizes) / shape)
            }
        };
        bytes.round().clamp(1.0, SIZE_LIMIT) as u64
    }

    fn time_ns(&mut self) -> u64 {
        match self.arrivals {
            Arrivals::Poisson { rate_per_s } => {
                let between_ns = random::exponential(&mut self.times) * 1e9 / rate_per_s;
                self.next_ns.saturating_add(between_ns.round() as u64)
            }
            // Computed from the start each time, so that rounding errors do not accumulate.
            Arrivals::Periodic { rate_per_s } => {
                self.start_ns.saturating_add((self.count as f64 * 1e9 / rate_per_s).round() as u64)
            }
            Arrivals::AtOnce { count } if self.count < u64::from(count) => self.start_ns,
            Arrivals::AtOnce { .. } => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(size: Size, count: usize) -> Vec<f64> {
        let mut process = ArrivalProcess::new(1, "c", 0, size, Arrivals::Periodic { rate_per_s: 1.0 });
        (0..count).map(|_| process.take() as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn periodic_arrivals_do_not_drift() {
        let arrivals = Arrivals::Periodic { rate_per_s: 3.0 };
        let mut process = ArrivalProcess::new(1, "c", 7, Size::Constant { mean_bytes: 5 }, arrivals);
        let times: Vec<u64> = (0..4).map(|_| (process.next_ns(), process.take()).0).collect();
        assert_eq!(times, [7, 333_333_340, 666_666_674, 1_000_000_007]);
    }

    #[test]
    fn a_burst_comes_at_the_start_and_is_over() {
        let arrivals = Arrivals::AtOnce { count: 3 };
        let mut process = ArrivalProcess::new(1, "c", 7, Size::Pareto { mean_bytes: 57_000, shape: 1.5 }, arrivals);
        let flows: Vec<(u64, u64)> = (0..3).map(|_| (process.next_ns(), process.take())).collect();
        assert!(flows.iter().all(|&(at_ns, bytes)| at_ns == 7 && bytes >= 19_000), "{flows:?}");
        assert!(flows[0].1 != flows[1].1);
        assert_eq!(process.next_ns(), u64::MAX);
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_their_spread() {
        let arrivals = Arrivals::Poisson { rate_per_s: 50.0 };
        let mut process = ArrivalProcess::new(1, "c", 0, Size::Constant { mean_bytes: 5 }, arrivals);
        let mut last_ns = 0;
        let between_s: Vec<f64> = (0..100_000)
            .map(|_| {
                let at_ns = process.next_ns();
                process.take();
                (at_ns - std::mem::replace(&mut last_ns, at_ns)) as f64 / 1e9
            })
            .collect();
        // Exponential: mean and standard deviation 20 ms; the mean of 10⁵ within 4 × 20 ms/√10⁵ = 0.25 ms.
        let mean_s = mean(&between_s);
        assert!((mean_s - 0.02).abs() < 0.000_25, "{mean_s}");
        let deviation_s = mean(&between_s.iter().map(|x| (x - mean_s).powi(2)).collect::<Vec<_>>()).sqrt();
        assert!((deviation_s - 0.02).abs() < 0.000_4, "{deviation_s}");
        // P(X > 20 ms) = 1/e.
        let longer = between_s.iter().filter(|&&x| x > 0.02).count() as f64 / 1e5;
        assert!((longer - 0.3679).abs() < 0.006, "{longer}");
    }

    #[test]
    fn sizes_have_their_mean_and_their_tail() {
        assert!(sizes(Size::Constant { mean_bytes: 57_000 }, 100).iter().all(|&size| size == 57_000.0));
        let exponential = sizes(Size::Exponential { mean_bytes: 57_000 }, 100_000);
        assert!((mean(&exponential) / 57_000.0 - 1.0).abs() < 0.013, "{}", mean(&exponential));
        // Shape 2.5: the minimum is 57 000 · 1.5/2.5 = 34 200, the deviation 57 000 · 0.894 (√(1/(2.5 · 0.5))).
        let pareto = sizes(Size::Pareto { mean_bytes: 57_000, shape: 2.5 }, 100_000);
        assert!((mean(&pareto) / 57_000.0 - 1.0).abs() < 0.012, "{}", mean(&pareto));
        let least = pareto.iter().copied().fold(f64::MAX, f64::min);
        assert!((34_200.0..34_210.0).contains(&least), "{least}");
        // P(X > 2 · 34 200) = 2^−2.5 = 0.1768; standard deviation of the share 0.0012.
        let larger = pareto.iter().filter(|&&size| size > 68_400.0).count() as f64 / 1e5;
        assert!((larger - 0.1768).abs() < 0.005, "{larger}");
    }

    #[test]
    fn sizes_leave_the_times_as_they_are() {
        let times = |size| {
            let mut process = ArrivalProcess::new(1, "c", 0, size, Arrivals::Poisson { rate_per_s: 5.0 });
            (0..20).map(|_| (process.next_ns(), process.take()).0).collect::<Vec<_>>()
        };
        assert_eq!(times(Size::Constant { mean_bytes: 5 }), times(Size::Exponential { mean_bytes: 7 }));
    }
}
