//! The unit in which transmitters count their work.

/// Units of work per byte. One unit is 10⁻⁹ bit, which a rate of 1 bit/s sends in a nanosecond.
pub(super) const WORK_PER_BYTE: u64 = 8_000_000_000;
