//! The sending end of a link: computes when the last bit of each packet leaves.
//!
//! Work is counted in units of 10⁻⁹ bit, so that `rate_bps` units are sent per nanosecond and every quantity is an
//! integer: a packet of `size` bytes is `size`·8·10⁹ units. The duration of a whole busy period is rounded down once,
//! not once per packet: the remainder of each division is carried to the next packet.

mod bucket;
mod opportunities;
mod work;

use std::sync::Arc;

use crate::trace::Trace;
use bucket::Bucket;
pub use bucket::BucketConfig;
use opportunities::Opportunities;
use work::WORK_PER_BYTE;

/// Time to send one byte if that is a whole number of nanoseconds, else 0.
const fn ns_per_byte(rate_bps: u64) -> u64 {
    match WORK_PER_BYTE.checked_rem(rate_bps) {
        Some(0) => WORK_PER_BYTE / rate_bps,
        _ => 0,
    }
}

/// Transmitters whose rate is not constant.
#[derive(Clone, Debug)]
enum Unsteady {
    Trace(Opportunities),
    Bucket(Bucket),
}

#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Transmitter {
    /// Departure time of the last packet accepted so far, rounded down.
    busy_until_ns: u64,
    /// Work left at that time, less than one nanosecond's: `< rate_bps`.
    remainder: u64,
    /// Time to send one byte if that is a whole number of nanoseconds, as at most common rates; else 0.
    ns_per_byte: u64,
    /// The rate; with a trace, the mean rate.
    rate_bps: u64,
    /// Cached time to send a packet of `size` bytes, and the remainder. The next packet usually has the same size.
    service_ns: u64,
    fraction: u64,
    unsteady: Option<Box<Unsteady>>,
    size: u16,
}

impl Transmitter {
    /// Size of the part that every packet uses if a byte takes a whole number of nanoseconds.
    pub(crate) const HOT_BYTES: usize = std::mem::offset_of!(Transmitter, rate_bps);

    pub(crate) const fn new(rate_bps: u64) -> Self {
        let (service_ns, fraction, size) = (0, 0, 0);
        let ns_per_byte = ns_per_byte(rate_bps);
        Self { busy_until_ns: 0, remainder: 0, ns_per_byte, rate_bps, service_ns, fraction, size, unsteady: None }
    }

    pub(crate) fn with_trace(trace: Arc<Trace>) -> Self {
        let rate_bps = trace.mean_rate_bps();
        Self { unsteady: Some(Box::new(Unsteady::Trace(Opportunities::new(trace)))), ..Self::new(rate_bps) }
    }

    pub(crate) fn with_bucket(rate_bps: u64, BucketConfig { burst_bytes, polices }: BucketConfig) -> Self {
        let bucket = Bucket::new(rate_bps, burst_bytes, polices);
        Self { unsteady: Some(Box::new(Unsteady::Bucket(bucket))), ..Self::new(rate_bps) }
    }

    pub(crate) const fn is_steady(&self) -> bool {
        self.unsteady.is_none()
    }

    /// Whether the rate cannot be changed because there is a trace.
    pub(crate) fn has_fixed_rate(&self) -> bool {
        matches!(self.unsteady.as_deref(), Some(Unsteady::Trace(_)))
    }

    /// Changes the rate of a token bucket at `now_ns`. Packets of `taken_bytes` in total that have not departed must be
    /// sent again. Returns whether there is a bucket.
    pub(crate) fn change_bucket(&mut self, now_ns: u64, rate_bps: u64, taken_bytes: u64) -> bool {
        let Some(Unsteady::Bucket(bucket)) = self.unsteady.as_deref_mut() else { return false };
        bucket.change_rate(now_ns, rate_bps, taken_bytes);
        self.busy_until_ns = self.busy_until_ns.min(now_ns);
        self.rate_bps = rate_bps;
        true
    }

    /// Whether a packet that arrives at `now_ns` is dropped because it would have to wait for tokens.
    pub(crate) fn polices(&self, now_ns: u64, size: u16) -> bool {
        match self.unsteady.as_deref() {
            Some(Unsteady::Bucket(bucket)) => bucket.polices() && bucket.departure_ns(now_ns, size) > now_ns,
            _ => false,
        }
    }

    pub(crate) const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// When the last packet departs or has departed.
    #[inline]
    pub(crate) const fn busy_until_ns(&self) -> u64 {
        self.busy_until_ns
    }

    /// Accepts a packet that arrived at `now_ns` and returns its departure time, which saturates at `u64::MAX`.
    pub(crate) fn send(&mut self, now_ns: u64, size: u16) -> u64 {
        self.busy_until_ns = match self.unsteady.as_deref_mut() {
            None => return self.send_at_rate(now_ns, size),
            Some(Unsteady::Trace(trace)) => trace.send(now_ns, size),
            Some(Unsteady::Bucket(bucket)) => bucket.send(now_ns, size),
        };
        self.busy_until_ns
    }

    /// Like [`Self::send`], for a transmitter without a trace.
    #[inline]
    pub(crate) fn send_at_rate(&mut self, now_ns: u64, size: u16) -> u64 {
        // At now = busy_until the last packet's remainder is still to be sent: the busy period continues.
        if now_ns > self.busy_until_ns {
            self.busy_until_ns = now_ns;
            self.remainder = 0;
        }
        let service_ns = match self.ns_per_byte {
            0 => self.divide(size),
            ns_per_byte => u64::from(size) * ns_per_byte,
        };
        self.busy_until_ns = self.busy_until_ns.saturating_add(service_ns);
        self.busy_until_ns
    }

    /// Time to send a packet if a byte does not take a whole number of nanoseconds. The fraction goes to the remainder.
    #[inline(never)]
    fn divide(&mut self, size: u16) -> u64 {
        if size != self.size {
            let work = u64::from(size) * WORK_PER_BYTE;
            (self.size, self.service_ns, self.fraction) = (size, work / self.rate_bps, work % self.rate_bps);
        }
        // remainder + fraction without overflow: both are below the rate.
        let missing = self.rate_bps - self.fraction;
        if self.remainder >= missing {
            self.remainder -= missing;
            return self.service_ns + 1;
        }
        self.remainder += self.fraction;
        self.service_ns
    }

    /// Abandons at `now_ns` the packet being sent, if any, and the remainder of the last departure.
    pub(crate) fn stop(&mut self, now_ns: u64) {
        self.busy_until_ns = self.busy_until_ns.min(now_ns);
        self.remainder = 0;
        if let Some(Unsteady::Trace(trace)) = self.unsteady.as_deref_mut() {
            trace.stop(now_ns);
        }
    }

    /// Sets a new rate for later packets while nothing is being sent.
    pub(crate) fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
        self.ns_per_byte = ns_per_byte(rate_bps);
        // Invalidate the cache, which holds the time at the old rate.
        (self.size, self.service_ns, self.fraction) = (0, 0, 0);
    }

    /// Changes the rate at `now_ns`, with one packet in service and `behind` bytes waiting behind it. What that packet
    /// has sent so far stays sent; the rest of its work, exact to the unit, is sent at the new rate. Returns its new
    /// departure time. The packets behind it must be passed to `send` again. (If its predecessor departed at this very
    /// nanosecond, the remainder of that work precedes it, as it would have at the old rate.)
    pub(crate) fn change_rate(&mut self, now_ns: u64, rate_bps: u64, behind: u64) -> u64 {
        debug_assert!(self.is_steady(), "a trace has no rate to change, and a bucket has tokens");
        let left_ns = self.busy_until_ns.saturating_sub(now_ns);
        let left = u128::from(left_ns) * u128::from(self.rate_bps) + u128::from(self.remainder);
        let of_first = left.saturating_sub(u128::from(behind) * u128::from(WORK_PER_BYTE));
        self.set_rate(rate_bps);
        let rate = u128::from(rate_bps);
        self.busy_until_ns = now_ns.saturating_add(u64::try_from(of_first / rate).unwrap_or(u64::MAX));
        self.remainder = (of_first % rate) as u64;
        self.busy_until_ns
    }

    /// How many packets of `size` bytes could have been sent in `time_ns`, and the time they take, both rounded down.
    /// With a trace, at its mean rate.
    pub(crate) fn could_send(&self, time_ns: u64, size: u16) -> (u64, u64) {
        let work = u128::from(size.max(1)) * u128::from(WORK_PER_BYTE);
        let rate = u128::from(self.rate_bps);
        let packets = u128::from(time_ns) * rate / work;
        // The time is at most `time_ns`.
        (u64::try_from(packets).unwrap_or(u64::MAX), (packets * work / rate) as u64)
    }
}
