//! Which subflows bring too little to be worth their window (Singh 2012 p. 25, which gives no rule).

use super::View;

/// How long is counted before each judgement.
const PERIOD_NS: u64 = 10_000_000_000;

/// How long one is suppressed before it is tried again: its path may have become better.
const AGAIN_AFTER_NS: u64 = 60_000_000_000;

/// Every ten seconds those that brought less than a part of the connection's data are suppressed for a minute, never the
/// one that brought most.
#[derive(Debug)]
pub(super) struct Little {
    /// The part, 0 to 1; at 0 nobody is suppressed.
    below: f64,
    /// Bytes acknowledged in the period, by subflow.
    bytes: Vec<f64>,
    period_ends_ns: u64,
    suppressed_until_ns: Vec<u64>,
}

impl Little {
    pub fn new(below: f64) -> Self {
        Little { below, bytes: Vec::new(), period_ends_ns: 0, suppressed_until_ns: Vec::new() }
    }

    pub fn is_suppressed(&self, r: usize) -> bool {
        self.suppressed_until_ns.get(r).is_some_and(|&until_ns| until_ns > 0)
    }

    /// `segments` of `r` were acknowledged: true when others are suppressed than before.
    pub fn acknowledged(&mut self, group: &[View], r: usize, now_ns: u64, segments: f64) -> bool {
        if self.below == 0.0 {
            return false;
        }
        self.bytes.resize(group.len(), 0.0);
        self.suppressed_until_ns.resize(group.len(), 0);
        self.bytes[r] += segments * f64::from(group[r].mss);
        if now_ns < self.period_ends_ns {
            return false;
        }
        let first = self.period_ends_ns == 0;
        self.period_ends_ns = now_ns + PERIOD_NS;
        let bytes = std::mem::replace(&mut self.bytes, vec![0.0; group.len()]);
        if first {
            return false;
        }
        let (most, total) = bytes.iter().fold((0.0_f64, 0.0), |(most, total), &b| (most.max(b), total + b));
        let mut changed = false;
        for (i, until_ns) in self.suppressed_until_ns.iter_mut().enumerate() {
            if *until_ns > now_ns {
                continue;
            }
            let little = *until_ns == 0 && group[i].active && bytes[i] < most && bytes[i] < self.below * total;
            let next = if little { now_ns + AGAIN_AFTER_NS } else { 0 };
            changed |= next != *until_ns;
            *until_ns = next;
        }
        changed
    }

    /// `r` begins anew.
    pub fn forget(&mut self, r: usize) {
        if r < self.suppressed_until_ns.len() {
            self.suppressed_until_ns[r] = 0;
            self.bytes[r] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Segments of 1000 bytes a second of each subflow, second by second: who is suppressed at the end.
    fn played(little: &mut Little, seconds: std::ops::Range<u64>, rates: [f64; 3]) -> [bool; 3] {
        let group = [View { active: true, ..View::new(10.0, 1000) }; 3];
        for second in seconds {
            for (r, &rate) in rates.iter().enumerate() {
                little.acknowledged(&group, r, second * S + r as u64, rate);
            }
        }
        [0, 1, 2].map(|r| little.is_suppressed(r))
    }

    #[test]
    fn numbers_worked_by_hand() {
        // 4, 30 and 66 of 100: below a tenth is the first alone.
        let mut little = Little::new(0.1);
        assert_eq!(played(&mut little, 1..11, [4.0, 30.0, 66.0]), [false; 3], "nothing before ten seconds");
        assert_eq!(played(&mut little, 11..20, [4.0, 30.0, 66.0]), [true, false, false]);
        assert_eq!(played(&mut little, 20..60, [0.1, 30.0, 66.0]), [true, false, false]);
        // After a minute it is tried again, and stays where it brings more.
        assert_eq!(played(&mut little, 60..95, [20.0, 30.0, 66.0]), [false; 3]);
        // The one that brings most is never suppressed, whatever the bound.
        assert_eq!(played(&mut Little::new(0.9), 1..20, [4.0, 30.0, 66.0]), [true, true, false]);
        assert_eq!(played(&mut Little::new(0.9), 1..20, [30.0, 30.0, 30.0]), [false; 3]);
        assert_eq!(played(&mut Little::new(0.0), 1..20, [0.0, 0.0, 66.0]), [false; 3]);
    }

    #[test]
    fn who_begins_anew_is_not_suppressed() {
        let mut little = Little::new(0.1);
        assert_eq!(played(&mut little, 1..20, [4.0, 30.0, 66.0]), [true, false, false]);
        little.forget(0);
        assert!(!little.is_suppressed(0));
    }
}
