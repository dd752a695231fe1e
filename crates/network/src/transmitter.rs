//! The sending end of a link: when does the last bit of each packet leave?
//!
//! Work is counted in units of 10⁻⁹ bit, so that `rate_bps` units are done in a nanosecond and every quantity is an
//! integer: a packet of `size` bytes is `size`·8·10⁹ units. The time that a whole busy period takes is rounded down
//! once, not once a packet: the remainder of each division goes to the next packet.

mod opportunities;

use std::sync::Arc;

use crate::trace::Trace;
use opportunities::Opportunities;

/// Units of work in a byte.
const WORK_PER_BYTE: u64 = 8_000_000_000;

#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    /// When the last packet accepted so far departs, rounded down.
    busy_until_ns: u64,
    /// What is left of its work then: less than a nanosecond's, `< rate_bps`.
    remainder: u64,
    /// What a packet of `size` bytes takes, and what is left of its work then: mostly the next has the same size.
    service_ns: u64,
    fraction: u64,
    /// With a trace, its mean.
    rate_bps: u64,
    trace: Option<Box<Opportunities>>,
    size: u16,
}

impl Transmitter {
    pub(crate) const fn new(rate_bps: u64) -> Self {
        Self { busy_until_ns: 0, remainder: 0, service_ns: 0, fraction: 0, rate_bps, trace: None, size: 0 }
    }

    pub(crate) fn with_trace(trace: Arc<Trace>) -> Self {
        let rate_bps = trace.mean_rate_bps();
        Self { trace: Some(Box::new(Opportunities::new(trace))), ..Self::new(rate_bps) }
    }

    pub(crate) const fn has_trace(&self) -> bool {
        self.trace.is_some()
    }

    pub(crate) const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// When the last packet departs or has departed.
    #[inline]
    pub(crate) const fn busy_until_ns(&self) -> u64 {
        self.busy_until_ns
    }

    /// Takes one more packet, which arrived at `now_ns`, and tells when it departs. Saturates at the end of time,
    /// `u64::MAX`.
    pub(crate) fn send(&mut self, now_ns: u64, size: u16) -> u64 {
        let Some(trace) = &mut self.trace else { return self.send_at_rate(now_ns, size) };
        self.busy_until_ns = trace.send(now_ns, size);
        self.busy_until_ns
    }

    /// As [`Self::send`], for one that has no trace.
    #[inline]
    pub(crate) fn send_at_rate(&mut self, now_ns: u64, size: u16) -> u64 {
        // At now = busy_until the last packet's remainder is still to be sent: the busy period goes on.
        if now_ns > self.busy_until_ns {
            self.busy_until_ns = now_ns;
            self.remainder = 0;
        }
        if size != self.size {
            self.divide(size);
        }
        let mut service_ns = self.service_ns;
        if self.fraction != 0 {
            // remainder + fraction without overflow: both are below the rate.
            let missing = self.rate_bps - self.fraction;
            if self.remainder >= missing {
                self.remainder -= missing;
                service_ns += 1;
            } else {
                self.remainder += self.fraction;
            }
        }
        self.busy_until_ns = self.busy_until_ns.saturating_add(service_ns);
        self.busy_until_ns
    }

    /// A packet of another size comes than before.
    #[inline(never)]
    fn divide(&mut self, size: u16) {
        let work = u64::from(size) * WORK_PER_BYTE;
        (self.size, self.service_ns, self.fraction) = (size, work / self.rate_bps, work % self.rate_bps);
    }

    /// Gives up at `now_ns` whatever is being sent, if anything is, the remainder of the last departure too.
    pub(crate) fn stop(&mut self, now_ns: u64) {
        self.busy_until_ns = self.busy_until_ns.min(now_ns);
        self.remainder = 0;
        if let Some(trace) = &mut self.trace {
            trace.stop(now_ns);
        }
    }

    /// Takes a new rate for the packets to come, nothing being sent.
    pub(crate) fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps;
        self.divide(self.size);
    }

    /// Takes a new rate at `now_ns` with one packet in service and `behind` bytes waiting behind it. What that packet
    /// has sent so far stays sent; the rest of its work, exact to the unit, goes at the new rate. Tells when it
    /// departs now; the packets behind it are to be handed to `send` again. (Where its predecessor departed at this
    /// very nanosecond, the remainder of that work is before it, as it would have been at the old rate.)
    pub(crate) fn change_rate(&mut self, now_ns: u64, rate_bps: u64, behind: u64) -> u64 {
        debug_assert!(self.trace.is_none(), "a trace has no rate to change");
        let left_ns = self.busy_until_ns.saturating_sub(now_ns);
        let left = u128::from(left_ns) * u128::from(self.rate_bps) + u128::from(self.remainder);
        let of_first = left.saturating_sub(u128::from(behind) * u128::from(WORK_PER_BYTE));
        self.set_rate(rate_bps);
        let rate = u128::from(rate_bps);
        self.busy_until_ns = now_ns.saturating_add(u64::try_from(of_first / rate).unwrap_or(u64::MAX));
        self.remainder = (of_first % rate) as u64;
        self.busy_until_ns
    }

    /// How many packets of `size` bytes could have been sent in `time_ns`, rounded down, and the time they take,
    /// rounded down. With a trace, at its mean rate.
    pub(crate) fn could_send(&self, time_ns: u64, size: u16) -> (u64, u64) {
        let work = u128::from(size.max(1)) * u128::from(WORK_PER_BYTE);
        let rate = u128::from(self.rate_bps);
        let packets = u128::from(time_ns) * rate / work;
        // The second is at most time_ns.
        (u64::try_from(packets).unwrap_or(u64::MAX), (packets * work / rate) as u64)
    }
}
