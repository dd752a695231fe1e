//! Random early detection as ns-2 has it by default: in bytes, with thresholds and weight that follow from the rate.
//!
//! `queue/red.cc` and `tcl/lib/ns-default.tcl` of ns-2.35 (2011), for facts; its defaults are `bytes_`,
//! `queue_in_bytes_`, `wait_`, `gentle_` and `use_mark_p_` true, `thresh_` and `maxthresh_` 0, `q_weight_` −1. The
//! automatic settings are those of S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED", 2001, §4.
//!
//! With the rate C in packets of `mean_packet` bytes per second, measured when the first packet arrives:
//!
//! - min is `target_delay`·C/2, at least 5 such packets, and max is 3·min, both in bytes;
//! - w = 1 − exp(−1 / (10·`rtt`·C)): ten round trips until the average has followed by 1 − 1/e.
//!
//! At each arrival, with q bytes waiting, *without* the packet being sent, which has left ns-2's queue:
//!
//! - avg ← (1 − w)·avg + w·q; if the link was idle, avg ← (1 − w)^(m + 1)·avg, where m is the number of whole packets of
//!   `mean_packet` bytes that could have been sent meanwhile.
//! - Below min, or if nothing waits, no packet is dropped early, nor is the first one after that.
//! - Otherwise p_b is RED's curve over avg, and n is the number of whole `mean_packet` in the bytes that have arrived
//!   since the last drop, or since avg came above min, with those of the arriving packet. With p = 0 while n·p_b < 1,
//!   then p_b / (2 − n·p_b), and 1 from n·p_b = 2 on, the packet is dropped with the probability p·size/`mean_packet`:
//!   large packets more often.
//! - A packet that passes is still dropped if `limit` bytes wait; a limit in packets means packets of `mean_packet`.
//!   The last packet that enters may exceed it. An empty queue accepts any packet.
//!
//! One random number is drawn per packet, and none if the probability is 0 or 1.

use algorithm::declare::{MILLISECOND, SECOND, flag, limit, number, size, time};
use algorithm::{About, Declared, declared};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use super::discipline::{Declare, Discipline};
use super::limit::Limit;
use super::red::{Curve, power};
use crate::counters::DropReason;
use crate::probability::Probability;

/// `thresh_` is not below this many packets of `mean_packet`.
const LEAST_PACKETS: f64 = 5.0;
/// `maxthresh_` over `thresh_`.
const MAX_OVER_MIN: f64 = 3.0;
/// Round trips that the average takes to follow.
const ROUND_TRIPS: f64 = 10.0;

declared! {
    /// Settings of ns-2's RED.
    pub struct Config {
        required {
            /// capacity of the queue
            limit: Limit = limit(""),
        }
        /// time to send twice what waits at the lower threshold (`targetdelay_`)
        target_delay_ns: u64 = time("target_delay", 5 * MILLISECOND, [0, SECOND]),
        /// size of the packets in which thresholds, limit and distances between drops are counted (`mean_pktsize_`)
        mean_packet_bytes: u16 = size("mean_packet", 500, [1, 65_535]),
        /// round trip of which the average takes ten to follow; ns-2 assumes 100 ms, or thrice the link's delay if that is more
        rtt_ns: u64 = time("rtt", 100 * MILLISECOND, [MILLISECOND, 10 * SECOND]),
        /// drop probability at the upper threshold (1/`linterm_`)
        max_probability: f64 = number("max_probability", 0.1, [0.0, 1.0]).above_least(),
        /// whether the drop probability rises linearly to 1 between the upper threshold and twice it, as by default in ns-2
        gentle: bool = flag("gentle", true),
    }
}

impl Declare for RedNs2 {
    type Config = Config;
    type Built = RedNs2;
    const ABOUT: About = About::new(
        "red-ns2",
        "random early detection as ns-2 has it: in bytes, thresholds and weight from the rate",
        "ns-2.35 queue/red.cc; Floyd 2001",
    )
    .parameters(Config::PARAMETERS);

    fn make(config: Config, _: &mut Xoshiro256PlusPlus) -> RedNs2 {
        RedNs2::new(config)
    }
}

impl Discipline for RedNs2 {
    fn enqueue(&mut self, arrival: Arrival<'_>, random: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason> {
        self.admit(arrival, random).map(|()| Entry::Plain)
    }

    fn copied(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

/// What follows from the rate. Lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Settings {
    curve: Curve,
    weight: f64,
}

impl Settings {
    fn of(config: &Config, rate_bps: u64) -> Self {
        let mean_bytes = f64::from(config.mean_packet_bytes);
        let packets_per_s = rate_bps as f64 / 8.0 / mean_bytes;
        let seconds = |ns: u64| ns as f64 / SECOND as f64;
        let min = mean_bytes * LEAST_PACKETS.max(seconds(config.target_delay_ns) * packets_per_s / 2.0);
        let curve =
            Curve { min, max: MAX_OVER_MIN * min, max_probability: config.max_probability, gentle: config.gentle };
        let weight = 1.0 - libm::exp(-1.0 / (ROUND_TRIPS * seconds(config.rtt_ns) * packets_per_s));
        Settings { curve, weight }
    }
}

/// State of ns-2's RED.
#[derive(Clone, Debug)]
pub(crate) struct RedNs2 {
    config: Config,
    limit_bytes: u64,
    /// `None` before the first packet.
    settings: Option<Settings>,
    /// Average of the bytes that wait.
    average: f64,
    /// Bytes that arrived since the last drop, or since the average came above min.
    since_bytes: u64,
    /// Whether the average was above min and packets waited when the last packet arrived.
    above: bool,
}

impl RedNs2 {
    pub(crate) fn new(config: Config) -> Self {
        let limit_bytes = match config.limit {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => packets.saturating_mul(u64::from(config.mean_packet_bytes)),
        };
        Self { config, limit_bytes, settings: None, average: 0.0, since_bytes: 0, above: false }
    }

    pub(crate) fn admit(&mut self, arrival: Arrival<'_>, rng: &mut impl RngCore) -> Result<(), DropReason> {
        let Settings { curve, weight } =
            *self.settings.get_or_insert_with(|| Settings::of(&self.config, arrival.transmitter.rate_bps()));
        let waiting_bytes = arrival.bytes - arrival.sending_bytes;
        self.average = power(1.0 - weight, self.idle_packets(arrival).saturating_add(1)) * self.average
            + weight * waiting_bytes as f64;
        let size = u64::from(arrival.size);
        self.since_bytes += size;
        let may_drop = self.average >= curve.min && waiting_bytes > 0;
        if may_drop && !self.above {
            self.since_bytes = size;
        }
        let chosen = may_drop && self.above && self.chooses(curve.probability(self.average), arrival.size, rng);
        self.above = may_drop;
        let full = arrival.packets > 0 && waiting_bytes >= self.limit_bytes;
        if full || chosen {
            self.since_bytes = 0;
            return Err(if full { DropReason::Full } else { DropReason::Early });
        }
        Ok(())
    }

    /// Whole packets that an idle link could have sent since its last one.
    fn idle_packets(&self, arrival: Arrival<'_>) -> u64 {
        if arrival.packets > 0 {
            return 0;
        }
        let idle_ns = arrival.now_ns.saturating_sub(arrival.transmitter.busy_until_ns());
        arrival.transmitter.could_send(idle_ns, self.config.mean_packet_bytes).0
    }

    fn chooses(&self, p_b: f64, size: u16, rng: &mut impl RngCore) -> bool {
        let mean_bytes = self.config.mean_packet_bytes;
        let since = (self.since_bytes / u64::from(mean_bytes)) as f64 * p_b;
        if since < 1.0 {
            return false;
        }
        let p = if p_b < 2.0 - since { p_b / (2.0 - since) } else { 1.0 };
        let p = if p < 1.0 { p * f64::from(size) / f64::from(mean_bytes) } else { p };
        Probability::new(p.min(1.0)).happens(rng)
    }
}

#[cfg(test)]
mod tests;
