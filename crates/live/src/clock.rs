//! The machine's monotonic clock, and precise sleep for a thread.

use std::num::NonZeroU64;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time in nanoseconds from an origin of its own.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that starts at 0 now.
    #[must_use]
    pub fn start() -> Clock {
        Clock { origin_ns: read(ClockId::Monotonic) }
    }

    /// A clock that shows 0 for `wait` and then runs.
    #[must_use]
    pub fn start_in(wait: std::time::Duration) -> Clock {
        Clock { origin_ns: read(ClockId::Monotonic) + u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// A clock that starts at this reading of CLOCK_MONOTONIC, in nanoseconds.
    #[must_use]
    pub fn from(origin_ns: u64) -> Clock {
        Clock { origin_ns }
    }

    /// Nanoseconds since time 0; 0 before that.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        read(ClockId::Monotonic).saturating_sub(self.origin_ns)
    }
}

impl Clock {
    /// Whether time 0 has passed.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.until_zero_ns() == 0
    }

    /// Nanoseconds until time 0; 0 after that.
    #[must_use]
    pub fn until_zero_ns(&self) -> u64 {
        self.origin_ns.saturating_sub(read(ClockId::Monotonic))
    }
}

/// CPU time that the calling thread has used, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// A duration in nanoseconds as the kernel's structure.
#[must_use]
pub fn timespec(ns: u64) -> Timespec {
    // Neither overflows: at most 1.8e10 s, and below 1e9 ns.
    Timespec { tv_sec: (ns / 1_000_000_000).cast_signed(), tv_nsec: (ns % 1_000_000_000).cast_signed() }
}

/// Sets the calling thread's timer slack to 1 ns: its timers are as precise as the kernel allows and not coalesced.
///
/// # Errors
/// The kernel refuses.
pub fn sleep_exactly() -> std::io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

fn read(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec.cast_unsigned()
}
