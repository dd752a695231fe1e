//! Proportional integral controller enhanced: packets are dropped randomly on arrival, with a probability that a
//! controller adjusts at fixed intervals to keep the queueing delay at a target.
//!
//! R. Pan, P. Natarajan, F. Baker, G. White, "Proportional Integral Controller Enhanced (PIE)", RFC 8033, 2017.
//!
//! - Every `update` (§4.2): p ← p + α·(delay − target) + β·(delay − previous delay), with α and β in 1/s, scaled down
//!   by 2 to 2048 while p is small (so that the controller is as stable at 0.01 % as at 10 %), and limited to steps of
//!   0.02 once p is 10 % (§5.5). If the queue is empty at two consecutive updates, p decays by 2 %.
//! - The delay is the wait of a packet that arrives at that time (§4.3 leaves the measurement open): a link knows when
//!   its last packet departs.
//! - A packet is not dropped during the burst allowance (§4.4), which is renewed when p is 0 and the delay was below
//!   half the target twice; nor if the delay was below half the target and p is below 20 %; nor with at most two
//!   full-sized packets in the queue (§4.1).
//! - With `ecn`, an ECN-capable packet is marked instead of dropped while p is below 10 % (§5.1).
//!
//! The optional derandomization (§5.4) is omitted: drops are independent, as in §4.1.
//!
//! Updates are due at multiples of `update` from time 0 and are performed when the next packet arrives. One random
//! number is drawn per packet, and none if p is 0 or 1 or the packet cannot be dropped.

use algorithm::declare::{HOUR, MILLISECOND, flag, largest_packet, limit, number, time};
use algorithm::{About, Capability, Declared, declared};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use super::discipline::{Declare, Discipline, Tally};
use super::drop_tail::DropTail;
use super::limit::Limit;
use crate::counters::DropReason;
use crate::packet::Ecn;
use crate::probability::Probability;

/// §5.1: at or above this probability, packets are dropped and no longer marked.
const MARK_BELOW: f64 = 0.1;
/// §5.5: maximum increase per update once the probability is 10 %.
const LARGEST_STEP: f64 = 0.02;

declared! {
    /// Settings of PIE. The defaults are those that RFC 8033 recommends.
    pub struct Config {
        required {
            /// capacity of the queue
            limit: Limit = limit("1000 packets"),
        }
        /// target queueing delay
        target_ns: u64 = time("target", 15 * MILLISECOND, [1, HOUR]),
        // Linux allows nothing shorter than a jiffy. Updates missed while a packet waits are performed one by one.
        /// time between updates of the drop probability
        update_ns: u64 = time("update", 15 * MILLISECOND, [MILLISECOND, HOUR]),
        /// how long a burst passes without drops after a quiet period
        max_burst_ns: u64 = time("max_burst", 150 * MILLISECOND, [0, HOUR]),
        /// controller gain for the delay error
        alpha_per_s: f64 = number("alpha", 0.125, [0.0, 1000.0]).unit("1/s"),
        /// controller gain for the change of the delay
        beta_per_s: f64 = number("beta", 1.25, [0.0, 1000.0]).unit("1/s"),
        /// packet size; with at most two packets of this size queued nothing is dropped
        mtu_bytes: u32 = largest_packet(),
        /// mark packets of connections with `ecn = true` instead of dropping them early
        ecn: bool = flag("ecn", false),
    }
}

impl Declare for Pie {
    type Config = Config;
    type Built = Pie;
    const ABOUT: About = About::new("pie", "keeps the queueing delay at a target by random drops", "RFC 8033")
        .parameters(Config::PARAMETERS)
        .with(Capability::AsksTransmitter);

    fn make(config: Config, _: &mut Xoshiro256PlusPlus) -> Pie {
        Pie::new(config)
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, arrival: Arrival<'_>, random: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason> {
        self.admit(arrival, random)
    }

    fn advance(&mut self, now_ns: u64, busy_until_ns: u64) {
        self.catch_up(now_ns, busy_until_ns);
    }

    fn tally(&self) -> Tally {
        Tally { marked: self.marked, ..Tally::default() }
    }

    fn copied(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

/// State of PIE.
#[derive(Clone, Debug)]
pub(crate) struct Pie {
    limit: DropTail,
    control: Config,
    probability: f64,
    /// Delay at the last update.
    delay_ns: u64,
    burst_ns: u64,
    /// Time of the next update.
    next_update_ns: u64,
    marked: u64,
}

impl Pie {
    pub(crate) const fn new(control: Config) -> Self {
        let limit = DropTail::new(control.limit);
        let (burst_ns, next_update_ns) = (control.max_burst_ns, control.update_ns);
        Self { limit, control, probability: 0.0, delay_ns: 0, burst_ns, next_update_ns, marked: 0 }
    }

    pub(crate) fn admit(&mut self, arrival: Arrival<'_>, rng: &mut impl RngCore) -> Result<Entry, DropReason> {
        self.catch_up(arrival.now_ns, arrival.busy_until_ns());
        if !self.may_drop(arrival) || !Probability::new(self.probability).happens(rng) {
            return self.limit.admit(arrival).map(|()| Entry::Plain);
        }
        if self.control.ecn && self.probability < MARK_BELOW && arrival.ecn != Ecn::NotEct {
            self.limit.admit(arrival)?;
            self.marked += 1;
            return Ok(Entry::Marked);
        }
        Err(DropReason::Early)
    }

    /// Performs the updates due by `now_ns`. The transmitter must know all packets that arrived before that, and no
    /// later ones.
    fn catch_up(&mut self, now_ns: u64, busy_until_ns: u64) {
        while self.next_update_ns <= now_ns {
            let at_ns = self.next_update_ns;
            let missed = (now_ns - at_ns) / self.control.update_ns;
            if self.update(busy_until_ns.saturating_sub(at_ns)) {
                // The state is constant until a packet arrives.
                self.next_update_ns = at_ns.saturating_add(missed.saturating_mul(self.control.update_ns));
            } else {
                let skipped_ns = self.updates_at_most().min(missed) * self.control.update_ns;
                self.next_update_ns += skipped_ns;
                self.delay_ns -= skipped_ns;
                self.burst_ns = self.burst_ns.saturating_sub(skipped_ns);
            }
            let Some(next_ns) = self.next_update_ns.checked_add(self.control.update_ns) else {
                // There is no update after the maximum time.
                self.next_update_ns = u64::MAX;
                return;
            };
            self.next_update_ns = next_ns;
        }
    }

    /// Number of the next updates that leave the probability at 1 if no packet arrives: the delay shrinks by one
    /// `update` each time, and each step stays positive down to target + update · β/α. A queue of several hours has
    /// millions of them.
    fn updates_at_most(&self) -> u64 {
        if self.probability < 1.0 {
            return 0;
        }
        let Config { target_ns, update_ns, alpha_per_s, beta_per_s, .. } = self.control;
        let least_s = seconds(target_ns) + seconds(update_ns) * beta_per_s / alpha_per_s;
        // Two fewer, to allow for rounding. The result is 0 if α is 0.
        (((seconds(self.delay_ns) - least_s) / seconds(update_ns)) as u64).saturating_sub(2)
    }

    /// The non-random conditions of §4.1 and §4.4.
    fn may_drop(&self, arrival: Arrival<'_>) -> bool {
        let calm = self.delay_ns < self.control.target_ns / 2 && self.probability < 0.2;
        self.burst_ns == 0 && !calm && arrival.bytes > 2 * u64::from(self.control.mtu_bytes)
    }

    /// One step of the controller (§4.2), with the burst allowance (§4.4). Returns whether the state is unchanged.
    fn update(&mut self, delay_ns: u64) -> bool {
        let before = (self.probability, self.delay_ns, self.burst_ns);
        let half_ns = self.control.target_ns / 2;
        let error_s = seconds(delay_ns) - seconds(self.control.target_ns);
        let growth_s = seconds(delay_ns) - seconds(self.delay_ns);
        let step = self.control.alpha_per_s * error_s + self.control.beta_per_s * growth_s;
        let step = step / scale(self.probability);
        self.probability += if self.probability >= 0.1 { step.min(LARGEST_STEP) } else { step };
        if delay_ns == 0 && self.delay_ns == 0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_ns = self.burst_ns.saturating_sub(self.control.update_ns);
        if self.probability == 0.0 && delay_ns < half_ns && self.delay_ns < half_ns {
            self.burst_ns = self.control.max_burst_ns;
        }
        self.delay_ns = delay_ns;
        before == (self.probability, self.delay_ns, self.burst_ns) && delay_ns == 0
    }
}

/// The factor by which a step is reduced at `probability` (§4.2).
const fn scale(probability: f64) -> f64 {
    match probability {
        ..0.000_001 => 2048.0,
        ..0.000_01 => 512.0,
        ..0.000_1 => 128.0,
        ..0.001 => 32.0,
        ..0.01 => 8.0,
        ..0.1 => 2.0,
        _ => 1.0,
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests;
