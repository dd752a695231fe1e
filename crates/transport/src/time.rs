//! Time: a moment on the driver's clock, and a length of time. Both are a number of nanoseconds and cost what a `u64` costs; the
//! compiler sees that moments are not added, and that a number of another unit is neither.
//!
//! `std::time` has types of these names, which are not used here: its `Instant` belongs to the machine's own clock, and its `Duration`
//! takes 12 bytes and keeps seconds and nanoseconds apart, with a carry in each addition.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

const NANOS_PER_MICRO: u64 = 1_000;
const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A moment: nanoseconds since the driver's clock began.
///
/// Arithmetic is that of `u64`: it panics on overflow where overflow is checked, and wraps elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Instant(u64);

/// A length of time in nanoseconds, up to 584 years.
///
/// Arithmetic is that of `u64`: it panics on overflow where overflow is checked, and wraps elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Duration(u64);

impl Instant {
    /// The beginning of the driver's clock.
    pub const ZERO: Instant = Instant(0);
    /// When a timer expires that does not run: later than all others.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// So many nanoseconds after the clock began.
    #[inline(always)]
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// So many milliseconds after the clock began.
    #[inline(always)]
    pub const fn from_millis(millis: u64) -> Self {
        Instant(millis * NANOS_PER_MILLI)
    }

    /// So many seconds after the clock began.
    #[inline(always)]
    pub const fn from_secs(secs: u64) -> Self {
        Instant(secs * NANOS_PER_SEC)
    }

    /// Nanoseconds since the clock began.
    #[inline(always)]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the clock began.
    #[inline(always)]
    pub const fn as_micros(self) -> u64 {
        self.0 / NANOS_PER_MICRO
    }

    /// Whole milliseconds since the clock began.
    #[inline(always)]
    pub const fn as_millis(self) -> u64 {
        self.0 / NANOS_PER_MILLI
    }

    /// Whether it is [`NEVER`](Self::NEVER).
    #[inline(always)]
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }

    /// Whether a timer for this moment expires by `now`; then it runs no more.
    #[inline(always)]
    pub fn expires(&mut self, now: Instant) -> bool {
        let expires = *self <= now;
        if expires {
            *self = Instant::NEVER;
        }
        expires
    }

    /// Whether it is the beginning of the clock, which also stands for what has not happened yet.
    #[inline(always)]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The time since `earlier`; none where that is later.
    #[inline(always)]
    pub const fn saturating_since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// So much later, at the latest [`NEVER`](Self::NEVER).
    #[inline(always)]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Instant(self.0.saturating_add(duration.0))
    }

    /// So much earlier, at the earliest when the clock began.
    #[inline(always)]
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        Instant(self.0.saturating_sub(duration.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// The shortest.
    pub const NANOSECOND: Duration = Duration(1);
    /// Longer than all others.
    pub const MAX: Duration = Duration(u64::MAX);

    /// So many nanoseconds.
    #[inline(always)]
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }

    /// So many microseconds.
    #[inline(always)]
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros * NANOS_PER_MICRO)
    }

    /// So many milliseconds.
    #[inline(always)]
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis * NANOS_PER_MILLI)
    }

    /// So many seconds.
    #[inline(always)]
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs * NANOS_PER_SEC)
    }

    /// Nanoseconds.
    #[inline(always)]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds.
    #[inline(always)]
    pub const fn as_micros(self) -> u64 {
        self.0 / NANOS_PER_MICRO
    }

    /// Seconds: nanoseconds times 10⁻⁹, which may differ from their quotient by 10⁹ in the last bit.
    #[inline(always)]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Whether it is none at all.
    #[inline(always)]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Doubled so many times, as a timer that backs off is (RFC 6298 §5.5). What leaves 64 bits is lost.
    #[inline(always)]
    pub const fn doubled(self, times: u32) -> Self {
        Duration(self.0 << times)
    }

    /// The difference to another, whichever is longer.
    #[inline(always)]
    pub const fn abs_diff(self, other: Duration) -> Self {
        Duration(self.0.abs_diff(other.0))
    }

    /// So many times as long, at most [`MAX`](Self::MAX).
    #[inline(always)]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Duration(self.0.saturating_mul(factor))
    }
}

/// The order of the numbers, with each comparison that of a `u64`: what `derive` makes of them goes through [`Ordering`] and takes
/// more instructions where two are compared in a loop.
macro_rules! ordered {
    ($name:ident) => {
        impl PartialOrd for $name {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }

            #[inline(always)]
            fn lt(&self, other: &Self) -> bool {
                self.0 < other.0
            }

            #[inline(always)]
            fn le(&self, other: &Self) -> bool {
                self.0 <= other.0
            }

            #[inline(always)]
            fn gt(&self, other: &Self) -> bool {
                self.0 > other.0
            }

            #[inline(always)]
            fn ge(&self, other: &Self) -> bool {
                self.0 >= other.0
            }
        }

        impl Ord for $name {
            #[inline(always)]
            fn cmp(&self, other: &Self) -> Ordering {
                self.0.cmp(&other.0)
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                $name(self.0.max(other.0))
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                $name(self.0.min(other.0))
            }
        }
    };
}

ordered!(Instant);
ordered!(Duration);

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() { f.write_str("never") } else { write!(f, "{} ns", self.0) }
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    #[inline(always)]
    fn add(self, duration: Duration) -> Instant {
        Instant(self.0 + duration.0)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline(always)]
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration.0;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    #[inline(always)]
    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0 - duration.0)
    }
}

/// The time since an earlier moment.
impl Sub for Instant {
    type Output = Duration;

    #[inline(always)]
    fn sub(self, earlier: Instant) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Duration;

    #[inline(always)]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline(always)]
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Duration;

    #[inline(always)]
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;

    #[inline(always)]
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0 * factor)
    }
}

impl Mul<Duration> for u64 {
    type Output = Duration;

    #[inline(always)]
    fn mul(self, duration: Duration) -> Duration {
        Duration(self * duration.0)
    }
}

/// A part of it, rounded down to whole nanoseconds.
impl Div<u64> for Duration {
    type Output = Duration;

    #[inline(always)]
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

/// How many times the other fits into it.
impl Div for Duration {
    type Output = u64;

    #[inline(always)]
    fn div(self, other: Duration) -> u64 {
        self.0 / other.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_a_number_is() {
        assert_eq!((size_of::<Instant>(), size_of::<Duration>()), (8, 8));
        assert_eq!((Instant::default(), Duration::default()), (Instant::ZERO, Duration::ZERO));
        assert!(Instant::NEVER.is_never() && !Instant::from_nanos(u64::MAX - 1).is_never());
        assert_eq!(
            format!("{:?} {:?} {:?}", Instant::from_nanos(7), Duration::from_micros(7), Instant::NEVER),
            "7 ns 7000 ns never"
        );
        assert!(Instant::ZERO.is_zero() && Duration::ZERO.is_zero() && !Duration::NANOSECOND.is_zero());
    }

    #[test]
    fn units() {
        assert_eq!(
            (Duration::from_secs(2).as_nanos(), Duration::from_millis(2).as_nanos()),
            (2_000_000_000, 2_000_000)
        );
        assert_eq!(Duration::from_micros(2).as_nanos(), 2_000);
        let almost = Duration::from_nanos(2_999_999_999);
        assert_eq!(almost.as_micros(), 2_999_999, "rounded down");
        assert_eq!(almost.as_secs_f64(), 2_999_999_999.0 * 1e-9);
        let at = Instant::from_nanos(1_999_999);
        assert_eq!((at.as_millis(), at.as_micros(), at.as_nanos()), (1, 1_999, 1_999_999));
        assert_eq!(Instant::from_secs(1), Instant::from_millis(1_000));
    }

    #[test]
    fn moments_and_lengths() {
        let (early, late) = (Instant::from_nanos(40), Instant::from_nanos(100));
        assert_eq!(late - early, Duration::from_nanos(60));
        assert_eq!((early + Duration::from_nanos(60), late - Duration::from_nanos(60)), (late, early));
        assert_eq!((late.saturating_since(early), early.saturating_since(late)), (late - early, Duration::ZERO));
        assert_eq!(early.saturating_sub(Duration::from_nanos(41)), Instant::ZERO);
        assert_eq!(late.saturating_add(Duration::MAX), Instant::NEVER);
        let mut at = early;
        at += Duration::from_nanos(1);
        assert_eq!(at, Instant::from_nanos(41));
    }

    #[test]
    fn lengths_worked_by_hand() {
        let (short, long) = (Duration::from_nanos(10), Duration::from_nanos(25));
        assert_eq!((long + short, long - short), (Duration::from_nanos(35), Duration::from_nanos(15)));
        assert_eq!((short.abs_diff(long), long.abs_diff(short)), (long - short, long - short));
        assert_eq!(
            (3 * short, short * 3, long / 2, long / short),
            (3 * short, Duration::from_nanos(30), Duration::from_nanos(12), 2)
        );
        assert_eq!((short.doubled(0), short.doubled(3)), (short, Duration::from_nanos(80)));
        assert_eq!(Duration::MAX.doubled(1), Duration::from_nanos(u64::MAX - 1), "what leaves 64 bits is lost");
        assert_eq!(Duration::MAX.saturating_mul(2), Duration::MAX);
        let mut sum = short;
        sum += long;
        assert_eq!(sum, Duration::from_nanos(35));
    }
}
