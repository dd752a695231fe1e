//! The order of events.

use std::cmp::Ordering;

/// The most targets there can be.
pub const TARGET_LIMIT: usize = 1 << 24;

/// Events that are scheduled longer beforehand than this, 18 minutes, count as scheduled at that time.
const LONGEST_NS: u64 = u64::MAX / TARGET_LIMIT as u64;

/// What orders events: when they happen, then when they were scheduled, then their targets. None of it depends on what else
/// goes on in the network, so events of one part of it have the same order whatever the other parts do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    pub time_ns: u64,
    /// In the upper 40 bits [`LONGEST_NS`] less how long beforehand it was scheduled; below, the target.
    order: u64,
}

impl Stamp {
    /// After every other.
    pub const LAST: Stamp = Stamp { time_ns: u64::MAX, order: u64::MAX };

    /// Of an event of `target` that was scheduled at `since_ns`.
    #[inline]
    pub fn new(since_ns: u64, time_ns: u64, target: u32) -> Stamp {
        let beforehand_ns = (time_ns - since_ns).min(LONGEST_NS);
        Stamp { time_ns, order: (LONGEST_NS - beforehand_ns) * TARGET_LIMIT as u64 + u64::from(target) }
    }

    /// Before everything that happens at `time_ns` or later.
    pub const fn before(time_ns: u64) -> Stamp {
        Stamp { time_ns, order: 0 }
    }

    #[inline]
    pub fn target(&self) -> u32 {
        (self.order % TARGET_LIMIT as u64) as u32
    }
}

impl Ord for Stamp {
    /// As one number of 128 bits, which is compared without a branch.
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
