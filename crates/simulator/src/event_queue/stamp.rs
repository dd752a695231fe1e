//! The order of events.

use std::cmp::Ordering;

/// What orders events: their time, then their numbers in the order of insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    pub time_ns: u64,
    pub sequence: u64,
}

impl Stamp {
    /// After every other.
    pub const LAST: Stamp = Stamp { time_ns: u64::MAX, sequence: u64::MAX };
}

impl Ord for Stamp {
    /// As one number of 128 bits, which is compared without a branch.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |stamp: &Stamp| u128::from(stamp.time_ns) << 64 | u128::from(stamp.sequence);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Stamp {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
