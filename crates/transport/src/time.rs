//! Times in the transport are nanoseconds on the driver's clock, `u64` in names that end in `_ns`.

/// When a timer expires that does not run.
pub const NEVER: u64 = u64::MAX;
