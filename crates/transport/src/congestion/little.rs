//! Which subflows bring too little to be worth their window (Singh 2012 p. 25, which gives no rule).

use super::View;
use crate::time::{Duration, Instant};

/// How long is counted before each judgement.
const PERIOD: Duration = Duration::from_secs(10);

/// How long one is suppressed before it is tried again: its path may have become better.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Every ten seconds those that brought less than a part of the connection's data are suppressed for a minute, never the
/// one that brought most.
#[derive(Debug)]
pub(super) struct Little {
    /// The part, 0 to 1; at 0 nobody is suppressed.
    below: f64,
    /// Bytes acknowledged in the period, by subflow.
    bytes: Vec<f64>,
    period_ends: Instant,
    suppressed_until: Vec<Instant>,
}

impl Little {
    pub fn new(below: f64) -> Self {
        Little { below, bytes: Vec::new(), period_ends: Instant::ZERO, suppressed_until: Vec::new() }
    }

    pub fn is_suppressed(&self, r: usize) -> bool {
        self.suppressed_until.get(r).is_some_and(|&until| !until.is_zero())
    }

    /// `segments` of `r` were acknowledged: true when others are suppressed than before.
    pub fn acknowledged(&mut self, group: &[View], r: usize, now: Instant, segments: f64) -> bool {
        if self.below == 0.0 {
            return false;
        }
        self.bytes.resize(group.len(), 0.0);
        self.suppressed_until.resize(group.len(), Instant::ZERO);
        self.bytes[r] += segments * f64::from(group[r].mss);
        if now < self.period_ends {
            return false;
        }
        let first = self.period_ends.is_zero();
        self.period_ends = now + PERIOD;
        let bytes = std::mem::replace(&mut self.bytes, vec![0.0; group.len()]);
        if first {
            return false;
        }
        let (most, total) = bytes.iter().fold((0.0_f64, 0.0), |(most, total), &b| (most.max(b), total + b));
        let mut changed = false;
        for (i, until) in self.suppressed_until.iter_mut().enumerate() {
            if *until > now {
                continue;
            }
            let little = *until == Instant::ZERO && group[i].active && bytes[i] < most && bytes[i] < self.below * total;
            let next = if little { now + AGAIN_AFTER } else { Instant::ZERO };
            changed |= next != *until;
            *until = next;
        }
        changed
    }

    /// `r` begins anew.
    pub fn forget(&mut self, r: usize) {
        if r < self.suppressed_until.len() {
            self.suppressed_until[r] = Instant::ZERO;
            self.bytes[r] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 1000 bytes a second of each subflow, second by second: who is suppressed at the end.
    fn played(little: &mut Little, seconds: std::ops::Range<u64>, rates: [f64; 3]) -> [bool; 3] {
        let group = [View { active: true, ..View::new(10.0, 1000) }; 3];
        for second in seconds {
            for (r, &rate) in rates.iter().enumerate() {
                little.acknowledged(&group, r, Instant::from_secs(second) + Duration::from_nanos(r as u64), rate);
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
