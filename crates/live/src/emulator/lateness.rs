//! Lateness of packets: the difference between the departure time that a link computed and the actual one.

use serde::Serialize;

/// Buckets per power of two, which make quantiles exact to one sixteenth.
const PARTS: u64 = 16;

/// A histogram of lateness in nanoseconds.
#[derive(Clone, Debug)]
pub struct Lateness {
    count: u64,
    sum_ns: u128,
    max_ns: u64,
    buckets: Vec<u64>,
}

/// Summary of [`Lateness`]; all 0 without packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Packets handed over.
    pub packets: u64,
    /// Mean.
    pub mean_ns: u64,
    /// 99th percentile, rounded up by at most a sixteenth.
    pub p99_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

impl Lateness {
    pub fn new() -> Lateness {
        Lateness { count: 0, sum_ns: 0, max_ns: 0, buckets: vec![0; (64 * PARTS) as usize] }
    }

    #[inline]
    pub fn add(&mut self, late_ns: u64) {
        self.count += 1;
        self.sum_ns += u128::from(late_ns);
        self.max_ns = self.max_ns.max(late_ns);
        self.buckets[bucket(late_ns)] += 1;
    }

    pub fn summary(&self) -> Summary {
        let Some(mean_ns) = self.sum_ns.checked_div(u128::from(self.count)) else { return Summary::default() };
        let rank = (self.count * 99).div_ceil(100);
        let mut seen = 0;
        let p99 = self.buckets.iter().position(|&packets| {
            seen += packets;
            seen >= rank
        });
        Summary {
            packets: self.count,
            mean_ns: mean_ns as u64,
            p99_ns: p99.map_or(self.max_ns, upper_end).min(self.max_ns),
            max_ns: self.max_ns,
        }
    }
}

/// Values below `PARTS` have one bucket each. Above, the power of two and the four bits after the leading one select
/// the bucket.
fn bucket(value: u64) -> usize {
    let Some(power) = value.checked_ilog2().filter(|_| value >= PARTS) else { return value as usize };
    let shift = power - PARTS.ilog2();
    (u64::from(shift + 1) * PARTS + (value >> shift) - PARTS) as usize
}

/// The largest value of a bucket.
fn upper_end(bucket: usize) -> u64 {
    let (row, part) = (bucket as u64 / PARTS, bucket as u64 % PARTS);
    if row == 0 {
        return part;
    }
    ((PARTS + part + 1) << (row - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_its_bucket() {
        for value in (0..2000).chain([4095, 4096, 1 << 40, (1 << 40) - 1]) {
            let number = bucket(value);
            assert!(value <= upper_end(number), "{value}");
            assert!(number == 0 || value > upper_end(number - 1), "{value}");
        }
    }

    #[test]
    fn the_summary_of_a_hundred_values() {
        let mut lateness = Lateness::new();
        assert_eq!(lateness.summary(), Summary::default());
        (1..=100).for_each(|value| lateness.add(value * 1000));
        let summary = lateness.summary();
        assert_eq!((summary.packets, summary.mean_ns, summary.max_ns), (100, 50_500, 100_000));
        // The 99th value is 99 000; its bucket ends within a sixteenth.
        assert!((99_000..=99_000 * 17 / 16).contains(&summary.p99_ns), "{}", summary.p99_ns);
    }
}
