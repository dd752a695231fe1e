//! Random early detection: packets are dropped with a probability that rises with the average queue length, before the
//! queue is full.
//!
//! S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993; the gentle slope from S. Floyd, "Recommendation on using the gentle_ variant of RED", 2000.
//!
//! At each arrival, with q packets already in the queue (including the one being sent) and weight w:
//!
//! - avg ← (1 − w)·avg + w·q or, if the queue is empty, avg ← (1 − w)^m·avg, where m is the number of whole packets
//!   that could have been sent since it became empty. The paper does not specify their size; here it is that of the
//!   arriving packet. Each idle period counts once, even if several packets are dropped in it.
//! - p_b = 0 below `min`; `max_probability`·(avg − min)/(max − min) up to `max`; when gentle, `max_probability` +
//!   (1 − `max_probability`)·(avg − max)/max up to 2·`max`; then 1.
//! - The packet is dropped with p_a = p_b / (1 − count·p_b), 1 if count·p_b ≥ 1. `count` is the number of packets
//!   accepted since the last drop (or since avg was below `min`). The distance between drops is then uniform on 1 …
//!   1/p_b, as the paper intends, and their fraction for a constant average is 2·p_b/(1 + p_b). (The paper's listing
//!   sets count to 0 at a drop and increments it before the next use, so that distances would end at 1/p_b − 1 and,
//!   with p_b ≥ ½ on the gentle slope, every packet would be dropped. Here the first packet after a drop has count 0.)
//! - With `ecn`, a packet that is ECN-capable or already marked is marked instead of dropped if p_b < 1: such a drop is
//!   a signal, and the mark is the same signal (RFC 3168 §5; S. Floyd, "TCP and Explicit Congestion Notification",
//!   1994). If p_b is 1 (from `max` on, or from 2·`max` if gentle), the average is beyond the control of signals, and
//!   all packets are dropped. count restarts at a mark as at a drop.
//! - A packet that passes, marked or not, must still fit the hard limit.
//!
//! One random number is drawn per packet, and none if p_a is 0 or 1.

use algorithm::declare::{flag, length, limit, number};
use algorithm::{About, Declared, Order, declared};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use super::discipline::{Declare, Discipline, Tally};
use super::drop_tail::DropTail;
use super::limit::Limit;
use crate::counters::DropReason;
use crate::packet::Ecn;
use crate::probability::Probability;

declared! {
    /// Settings of RED. The average queue length is in packets.
    pub struct Config {
        required {
            /// capacity of the queue
            limit: Limit = limit(""),
            /// lower threshold of the average queue
            min_packets: f64 = length("min"),
            /// upper threshold
            max_packets: f64 = length("max"),
        }
        /// drop probability at `max`
        max_probability: f64 = number("max_probability", 0.1, [0.0, 1.0]).above_least(),
        /// weight of a new sample in the moving average
        weight: f64 = number("weight", 0.002, [0.0, 1.0]).above_least(),
        /// whether the drop probability rises linearly to 1 between `max` and twice `max` (Floyd 2000)
        gentle: bool = flag("gentle", true),
        /// mark packets of connections with `ecn = true` instead of dropping them early
        ecn: bool = flag("ecn", false),
    }
}

impl Declare for Red {
    type Config = Config;
    type Built = Red;
    const ABOUT: About = About::new("red", "random early detection, gentle variant", "Floyd & Jacobson 1993")
        .parameters(Config::PARAMETERS)
        .orders(&[Order::less("min", "max")]);

    fn make(config: Config, _: &mut Xoshiro256PlusPlus) -> Red {
        Red::new(config)
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, arrival: Arrival<'_>, random: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason> {
        self.admit(arrival, random)
    }

    fn tally(&self) -> Tally {
        Tally { marked: self.marked, ..Tally::default() }
    }

    fn copied(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

/// State of RED.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    limit: DropTail,
    early: Config,
    /// Average queue length in packets.
    average: f64,
    /// Packets accepted since the last drop or mark.
    count: u64,
    marked: u64,
    /// Idle time before this is included in the average.
    idle_counted_ns: u64,
}

impl Red {
    pub(crate) const fn new(early: Config) -> Self {
        Self { limit: DropTail::new(early.limit), early, average: 0.0, count: 0, marked: 0, idle_counted_ns: 0 }
    }

    pub(crate) fn admit(&mut self, arrival: Arrival<'_>, rng: &mut impl RngCore) -> Result<Entry, DropReason> {
        self.update_average(arrival);
        if self.average < self.early.min_packets {
            self.count = 0;
            return self.limit.admit(arrival).map(|()| Entry::Plain);
        }
        let p_b = self.early.curve().probability(self.average);
        let chosen = self.chooses(p_b, rng);
        let marks = chosen && self.early.ecn && p_b < 1.0 && arrival.ecn != Ecn::NotEct;
        let verdict = if chosen && !marks { Err(DropReason::Early) } else { self.limit.admit(arrival) };
        self.count = if verdict.is_ok() && !chosen { self.count + 1 } else { 0 };
        verdict?;
        self.marked += u64::from(marks);
        Ok(if marks { Entry::Marked } else { Entry::Plain })
    }

    fn update_average(&mut self, arrival: Arrival<'_>) {
        let keep = 1.0 - self.early.weight;
        if arrival.packets == 0 {
            let since_ns = self.idle_counted_ns.max(arrival.transmitter.busy_until_ns());
            let idle_ns = arrival.now_ns.saturating_sub(since_ns);
            let (packets, taking_ns) = arrival.transmitter.could_send(idle_ns, arrival.size);
            self.average *= power(keep, packets);
            // The remainder, less than a packet's time, is left for the next arrival.
            self.idle_counted_ns = since_ns + taking_ns;
        } else {
            self.average = keep * self.average + self.early.weight * arrival.packets as f64;
        }
    }

    /// Whether this packet gets a signal.
    fn chooses(&self, p_b: f64, rng: &mut impl RngCore) -> bool {
        let spread = 1.0 - self.count as f64 * p_b;
        let p_a = if p_b < spread { p_b / spread } else { 1.0 };
        Probability::new(p_a).happens(rng)
    }
}

impl Config {
    const fn curve(&self) -> Curve {
        let Self { min_packets: min, max_packets: max, max_probability, gentle, .. } = *self;
        Curve { min, max, max_probability, gentle }
    }
}

/// p_b over the average queue, in the unit of the thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    pub min: f64,
    pub max: f64,
    pub max_probability: f64,
    pub gentle: bool,
}

impl Curve {
    /// p_b, the drop probability before drops are spread out.
    pub(super) fn probability(self, average: f64) -> f64 {
        let Self { min, max, max_probability, gentle } = self;
        if average < min {
            0.0
        } else if average < max {
            max_probability * (average - min) / (max - min)
        } else if gentle && average < 2.0 * max {
            max_probability + (1.0 - max_probability) * (average - max) / max
        } else {
            1.0
        }
    }
}

/// `base` to the power `exponent`, by multiplication only: the C library's `pow` differs between machines.
pub(super) fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests;
