//! Two coupled queues: a short one for scalable congestion controls and one with a controller for classic ones, with
//! about equal rates for the flows of both.
//!
//! K. De Schepper, B. Briscoe, G. White, "Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low Loss, and
//! Scalable Throughput (L4S)", RFC 9332, 2023, appendix A; the squared controller from K. De Schepper, O. Bondarenko,
//! I.-J. Tsang, B. Briscoe, "PI²: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016.
//!
//! - A packet with ECT(1) or CE goes to the L queue, any other to the C queue (§2.3). Both share the limit.
//! - Every `update` the base probability p′ changes by α·(delay − target) + β·(delay − previous delay) and is clamped
//!   to [0, 1]. The delay is the longer of the waits of the first packets of the two queues (appendix A.2).
//! - A packet of the C queue is dropped or, with ECN, marked with probability p_C = p′². A packet of the L queue is
//!   marked with the larger of p_CL = `coupling`·p′ and the L queue's own probability: 1 from `step` on if another
//!   packet waits behind it.
//! - Overload, if p_CL would be 1 or more (p_C at least 1/`coupling`²): the L queue also drops with p_C and marks all
//!   remaining packets, and the C queue no longer marks (appendix A.2).
//! - If both queues have packets, the L queue goes first, except that the C queue gets the fraction `classic_share` of
//!   the bytes by weighted round robin (§2.5.1.1, §4.2.2; 10 % as in Linux). An empty queue keeps no claim.
//! - Signals are spread evenly without random numbers: each packet adds its probability to a sum, and a sum that
//!   reaches 1 gives a signal (`recur` in the RFC).
//!
//! The RFC's default for the L queue is a ramp from 0.8 to 1.2 ms. Here it is a step in its middle, as in Linux.

use std::collections::VecDeque;

use algorithm::declare::{HOUR, MILLISECOND, limit, number, percentage, time};
use algorithm::{About, Capability, Declared, declared};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use super::discipline::{Declare, Discipline, Head, Tally, Verdict};
use super::drop_tail::DropTail;
use super::limit::Limit;
use super::places::{Places, Queued};
use crate::counters::DropReason;
use crate::packet::Ecn;

declared! {
    /// Settings of DualPI2. The defaults are those derived in appendix A of RFC 9332 from a target of 15 ms and round
    /// trips of up to 100 ms, a step at 1 ms, and a tenth of the bytes for the classic queue.
    pub struct Config {
        required {
            /// capacity of the queue
            limit: Limit = limit("250 ms"),
        }
        /// target queueing delay
        target_ns: u64 = time("target", 15 * MILLISECOND, [1, HOUR]),
        // Linux allows nothing shorter than a jiffy. Updates missed while a packet waits are performed one by one.
        /// time between updates of the drop probability
        update_ns: u64 = time("update", 15 * MILLISECOND, [MILLISECOND, HOUR]),
        /// controller gain for the delay error
        alpha_per_s: f64 = number("alpha", 0.15, [0.0, 1000.0]).unit("1/s"),
        /// controller gain for the change of the delay
        beta_per_s: f64 = number("beta", 3.0, [0.0, 1000.0]).unit("1/s"),
        /// marking probability of the low-latency queue, divided by the square root of the classic queue's drop probability
        coupling: f64 = number("coupling", 2.0, [0.0, 100.0]).above_least(),
        /// queueing delay from which all packets of the low-latency queue are marked
        step_ns: u64 = time("step", MILLISECOND, [0, HOUR]),
        /// share of the bytes that the classic queue gets while both queues have packets
        classic_share: f64 = percentage("classic_share", 0.1),
    }
}

impl Declare for DualPi2 {
    type Config = Config;
    type Built = DualPi2;
    const ABOUT: About = About::new(
        "dualpi2",
        "two coupled queues: a low-latency one for scalable controls (L4S), and a classic one",
        "RFC 9332",
    )
    .parameters(Config::PARAMETERS)
    .with(Capability::Marks);

    fn make(config: Config, _: &mut Xoshiro256PlusPlus) -> DualPi2 {
        DualPi2::new(config)
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, arrival: Arrival<'_>, _: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason> {
        self.admit(arrival)
    }

    fn decides_at_head(&self) -> bool {
        true
    }

    fn dequeue(&mut self, now_ns: u64, _: Head) -> Option<(usize, Verdict)> {
        self.next(now_ns)
    }

    fn clear(&mut self) {
        self.empty();
    }

    fn tally(&self) -> Tally {
        Tally { marked: self.marked, dropped: self.dropped, overflowed: 0 }
    }

    fn copied(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

/// One of the two queues.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// The waiting packets, in order of arrival.
    waiting: VecDeque<u32>,
    /// Sum of the probabilities since the last signal, modulo 1.
    due: f64,
}

impl Lane {
    /// Whether this packet gets a signal.
    fn signals(&mut self, probability: f64) -> bool {
        self.due += probability;
        let signals = self.due >= 1.0;
        self.due -= f64::from(u8::from(signals));
        signals
    }
}

/// State of DualPI2.
#[derive(Clone, Debug)]
pub(crate) struct DualPi2 {
    limit: DropTail,
    control: Config,
    low: Lane,
    classic: Lane,
    places: Places,
    /// The base probability p′.
    base: f64,
    /// Delay at the last update.
    delay_ns: u64,
    next_update_ns: u64,
    /// Bytes that the C queue may send before the L queue.
    claim: f64,
    dropped: u64,
    marked: u64,
}

impl DualPi2 {
    pub(crate) fn new(control: Config) -> Self {
        Self {
            limit: DropTail::new(control.limit),
            next_update_ns: control.update_ns,
            control,
            low: Lane::default(),
            classic: Lane::default(),
            places: Places::default(),
            base: 0.0,
            delay_ns: 0,
            claim: 0.0,
            dropped: 0,
            marked: 0,
        }
    }

    /// Enqueues a packet. If the queue is empty, the packet is at the head at once.
    pub(crate) fn admit(&mut self, arrival: Arrival<'_>) -> Result<Entry, DropReason> {
        self.catch_up(arrival.now_ns);
        self.limit.admit(arrival)?;
        let is_low = is_low(arrival.ecn);
        if arrival.waits {
            let packet = self.places.push(arrival);
            if is_low { &mut self.low } else { &mut self.classic }.waiting.push_back(packet);
            return Ok(Entry::Plain);
        }
        match self.verdict(is_low, arrival.ecn, false) {
            Verdict::Send => Ok(Entry::Plain),
            Verdict::Mark => {
                self.marked += 1;
                Ok(Entry::Marked)
            }
            Verdict::Drop => Err(DropReason::Early),
        }
    }

    /// Selects the next packet when the transmitter is free at `now_ns`. Returns its distance behind the first waiting
    /// packet, and its fate. It has then left, and the first packet has moved to its position.
    pub(crate) fn next(&mut self, now_ns: u64) -> Option<(usize, Verdict)> {
        self.catch_up(now_ns);
        let is_low = self.chooses_low()?;
        let lane = if is_low { &mut self.low } else { &mut self.classic };
        let packet = lane.waiting.pop_front()?;
        let Queued { arrived_ns, size, ecn, .. } = self.places.get(packet);
        let above = is_low && now_ns - arrived_ns >= self.control.step_ns && !lane.waiting.is_empty();
        let verdict = self.verdict(is_low, ecn, above);
        match verdict {
            Verdict::Drop => self.dropped += 1,
            Verdict::Mark => self.marked += 1,
            Verdict::Send => {}
        }
        if verdict != Verdict::Drop {
            self.account(is_low, size);
        }
        Some((self.places.take(packet), verdict))
    }

    /// Performs the updates due by `now_ns`. No packet has come or left since the last one.
    fn catch_up(&mut self, now_ns: u64) {
        while self.next_update_ns <= now_ns {
            let at_ns = self.next_update_ns;
            let first = |lane: &Lane| lane.waiting.front().map_or(at_ns, |&packet| self.places.get(packet).arrived_ns);
            let delay_ns = at_ns.saturating_sub(first(&self.low).min(first(&self.classic)));
            self.update(delay_ns);
            let idle = self.base == 0.0 && self.low.waiting.is_empty() && self.classic.waiting.is_empty();
            // If nothing changes until a packet arrives, the missed updates can be skipped.
            let missed = (now_ns - at_ns) / self.control.update_ns;
            // The delay of a waiting packet only grows: above the target the probability stays at 1, and only the last
            // update matters.
            let full = self.base == 1.0 && delay_ns >= self.control.target_ns;
            let skipped = if idle { missed } else { u64::from(full) * missed.saturating_sub(1) };
            self.next_update_ns = at_ns.saturating_add((skipped + 1).saturating_mul(self.control.update_ns));
            if self.next_update_ns == u64::MAX {
                return; // the end of time
            }
        }
    }

    /// One step of the controller.
    fn update(&mut self, delay_ns: u64) {
        let error_s = seconds(delay_ns) - seconds(self.control.target_ns);
        let growth_s = seconds(delay_ns) - seconds(self.delay_ns);
        let step = self.control.alpha_per_s * error_s + self.control.beta_per_s * growth_s;
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay_ns = delay_ns;
    }

    /// The fate of a packet at the head; `above`: whether it waited for at least the step.
    fn verdict(&mut self, is_low: bool, ecn: Ecn, above: bool) -> Verdict {
        let squared = self.base * self.base;
        let coupled = (self.control.coupling * self.base).min(1.0);
        let overload = coupled >= 1.0;
        if is_low {
            if overload && self.low.signals(squared) {
                return Verdict::Drop;
            }
            let marks = self.low.signals(if above { 1.0 } else { coupled });
            return if marks { Verdict::Mark } else { Verdict::Send };
        }
        match self.classic.signals(squared) {
            false => Verdict::Send,
            true if ecn == Ecn::NotEct || overload => Verdict::Drop,
            true => Verdict::Mark,
        }
    }

    /// Whether the L queue is served next; `None` if no packet waits.
    fn chooses_low(&self) -> Option<bool> {
        let Some(&packet) = self.classic.waiting.front() else { return (!self.low.waiting.is_empty()).then_some(true) };
        let earned = f64::from(self.places.get(packet).size) * (1.0 - self.control.classic_share);
        Some(!self.low.waiting.is_empty() && self.claim < earned)
    }

    /// Updates the claims of the queues after a packet is sent.
    fn account(&mut self, is_low: bool, size: u16) {
        let size = f64::from(size);
        self.claim += if is_low { size } else { 0.0 } * self.control.classic_share;
        self.claim -= if is_low { 0.0 } else { size } * (1.0 - self.control.classic_share);
        let both = !self.low.waiting.is_empty() && !self.classic.waiting.is_empty();
        if !both {
            self.claim = 0.0;
        }
    }

    /// Discards all waiting packets.
    fn empty(&mut self) {
        self.low.waiting.clear();
        self.classic.waiting.clear();
        self.places.clear();
        self.claim = 0.0;
    }
}

/// Whether a packet belongs to the L queue (RFC 9331 §5.1).
fn is_low(ecn: Ecn) -> bool {
    matches!(ecn, Ecn::Ect1 | Ecn::Ce)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests;
