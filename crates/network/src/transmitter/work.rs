//! The unit in which transmitters count what they have to do.

/// Units of work in a byte: one is 10⁻⁹ bit, what a rate of 1 bit/s does in a nanosecond.
pub(super) const WORK_PER_BYTE: u64 = 8_000_000_000;
