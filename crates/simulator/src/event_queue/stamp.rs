//! The order of events.

use std::cmp::Ordering;

/// Upper bound of the number of targets.
pub const TARGET_LIMIT: usize = 1 << 24;

/// Events scheduled more than this (18 minutes) ahead are ordered as if scheduled this long ahead.
const LONGEST_NS: u64 = u64::MAX / TARGET_LIMIT as u64;

/// The sort key of an event: its time, then the time of its scheduling, then its target. The key does not depend on the
/// rest of the network, so the events of one part of it have the same order whatever the other parts do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    pub time_ns: u64,
    /// The upper 40 bits are [`LONGEST_NS`] minus the time between scheduling and event; the lower bits are the target.
    order: u64,
}

impl Stamp {
    /// After every other stamp.
    pub const LAST: Stamp = Stamp { time_ns: u64::MAX, order: u64::MAX };

    /// The stamp of an event of `target` scheduled at `since_ns`.
    #[inline]
    pub fn new(since_ns: u64, time_ns: u64, target: u32) -> Stamp {
        let beforehand_ns = (time_ns - since_ns).min(LONGEST_NS);
        Stamp { time_ns, order: (LONGEST_NS - beforehand_ns) * TARGET_LIMIT as u64 + u64::from(target) }
    }

    /// Before everything that happens at or after `time_ns`.
    pub const fn before(time_ns: u64) -> Stamp {
        Stamp { time_ns, order: 0 }
    }

    #[inline]
    pub fn target(&self) -> u32 {
        (self.order % TARGET_LIMIT as u64) as u32
    }
}

impl Ord for Stamp {
    /// Compares one 128-bit number, without a branch.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |stamp: &Stamp| u128::from(stamp.time_ns) << 64 | u128::from(stamp.order);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Stamp {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
