//! Minimum, mean and 95th percentile of many durations, each with a weight.

use super::report::Spread;

/// Durations in nanoseconds with their weights.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    values: Vec<(u64, u64)>,
    /// Total weight of the zero durations.
    zeros: u64,
}

impl Durations {
    pub fn add(&mut self, duration_ns: u64, weight: u64) {
        if duration_ns == 0 {
            self.zeros += weight;
        } else {
            self.values.push((duration_ns, weight));
        }
    }

    /// The smallest duration; `None` if there is none.
    pub fn least_ns(&self) -> Option<u64> {
        let least = self.values.iter().map(|&(value, _)| value).min();
        if self.zeros > 0 { Some(0) } else { least }
    }

    /// The summary; `None` if there are no durations.
    pub fn spread(mut self) -> Option<Spread> {
        let count = self.zeros + self.values.iter().map(|(_, weight)| weight).sum::<u64>();
        if count == 0 {
            return None;
        }
        self.values.sort_unstable();
        let total: u128 = self.values.iter().map(|&(value, weight)| u128::from(value) * u128::from(weight)).sum();
        // Nearest rank: the smallest value that at least 95 % of the values do not exceed.
        let rank = (u128::from(count) * 95).div_ceil(100);
        let mut below = u128::from(self.zeros);
        let mut p95 = 0;
        for &(value, weight) in &self.values {
            if below >= rank {
                break;
            }
            below += u128::from(weight);
            p95 = value;
        }
        let min = if self.zeros > 0 { 0 } else { self.values.first().map_or(0, |&(value, _)| value) };
        let seconds = |ns: u64| ns as f64 / 1e9;
        let mean_s = total as f64 / count as f64 / 1e9;
        Some(Spread { count, min_s: seconds(min), mean_s, p95_s: seconds(p95) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 94 zeros, five of 1 s and one of 3 s: the mean is (5 + 3)/100 s, and the 95th of 100 values is 1 s.
    #[test]
    fn by_hand() {
        let mut durations = Durations::default();
        durations.add(0, 94);
        durations.add(3_000_000_000, 1);
        durations.add(1_000_000_000, 2);
        durations.add(1_000_000_000, 3);
        let spread = durations.spread().unwrap();
        assert_eq!(spread, Spread { count: 100, min_s: 0.0, mean_s: 0.08, p95_s: 1.0 });
        assert_eq!(Durations::default().spread(), None);
    }
}
