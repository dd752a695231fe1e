//! Controlled delay: packets are dropped or marked at the head of the queue, at a slowly rising rate while every packet
//! waits longer than a target.
//!
//! K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management", RFC 8289, 2018. This
//! is the pseudo-code of its §5 with inverted control: the link offers the packet at the head ([`CoDel::decide`]) and,
//! if it is dropped, the next one at the same time, until one is sent.
//!
//! - A packet's wait lasts from its arrival until it reaches the head of the queue and the transmitter is free. It is
//!   *above* the target if the wait is at least `target` and more than `mtu` bytes wait behind it (§5.6: dropping with
//!   less behind it would let the link run idle). Packets may be dropped once all packets of an `interval` were above.
//! - Then the first packet is dropped, and dropping continues: the n-th drop of an episode comes `interval`/√n after
//!   the previous one (§5.6), until a packet is not above.
//! - An episode that begins less than 16 intervals after the time at which the next drop of the previous one was due
//!   resumes at its rate: n starts at the number of drops of that episode (§5.5).
//! - With `ecn`, a packet that is ECN-capable or already marked is marked instead of dropped and then sent; the next
//!   drop or mark is due as after a drop. So at most one mark is set per packet sent, whereas the RFC's loop drops
//!   several packets at one time if drops are overdue. (The RFC leaves marking open; Linux does it this way.)
//! - An empty queue ends the dropping state. Here it ends with the next packet, which has not waited.
//!
//! `interval`/√n is computed as ⌊√(⌊interval²/n⌋)⌋ in whole nanoseconds, exactly rounded down and without floating
//! point.

use algorithm::declare::{HOUR, MILLISECOND, flag, largest_packet, limit, time};
use algorithm::{About, Declared, declared};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use super::discipline::{Declare, Discipline, Head, Tally, Verdict};
use super::drop_tail::DropTail;
use super::limit::Limit;
use crate::counters::DropReason;
use crate::packet::Ecn;

declared! {
    /// Settings of CoDel. The defaults are those that RFC 8289 recommends.
    pub struct Config {
        required {
            /// capacity of the queue
            limit: Limit = limit("1000 packets"),
        }
        /// acceptable standing queue delay
        target_ns: u64 = time("target", 5 * MILLISECOND, [1, HOUR]),
        /// how long the delay may stay above the target
        interval_ns: u64 = time("interval", 100 * MILLISECOND, [1, HOUR]),
        /// amount queued behind the head at or below which nothing is dropped
        mtu_bytes: u32 = largest_packet(),
        /// mark packets of connections with `ecn = true` instead of dropping them early
        ecn: bool = flag("ecn", false),
    }
}

impl Declare for CoDel {
    type Config = Config;
    type Built = CoDel;
    const ABOUT: About = About::new("codel", "controlled delay", "RFC 8289").parameters(Config::PARAMETERS);

    fn make(config: Config, _: &mut Xoshiro256PlusPlus) -> CoDel {
        CoDel::new(config)
    }
}

impl Discipline for CoDel {
    fn enqueue(&mut self, arrival: Arrival<'_>, _: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason> {
        self.admit(arrival)
    }

    fn decides_at_head(&self) -> bool {
        true
    }

    fn dequeue(&mut self, now_ns: u64, head: Head) -> Option<(usize, Verdict)> {
        Some((0, self.decide(now_ns, head)))
    }

    fn tally(&self) -> Tally {
        Tally { marked: self.marked, dropped: self.dropped, overflowed: 0 }
    }

    fn copied(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

/// State of CoDel.
#[derive(Clone, Debug)]
pub(crate) struct CoDel {
    limit: DropTail,
    control: Config,
    /// Time from which packets may be dropped if all stay above the target until then; `None` if the last was not
    /// above.
    first_above_ns: Option<u64>,
    /// Whether CoDel is in the dropping state.
    dropping: bool,
    /// Time of the next drop.
    drop_next_ns: u64,
    /// The n of the control law: number of drops in this episode.
    count: u64,
    /// Value of `count` when the episode began.
    first_count: u64,
    /// What was dropped at the current time.
    just: Just,
    dropped: u64,
    marked: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Just {
    Nothing,
    /// The first packet of an episode: the next one is sent regardless of its wait.
    First,
    /// A further packet: if the next one is above, the time of the drop after it must be computed.
    Further,
}

impl CoDel {
    pub(crate) const fn new(control: Config) -> Self {
        Self {
            limit: DropTail::new(control.limit),
            control,
            first_above_ns: None,
            dropping: false,
            drop_next_ns: 0,
            count: 0,
            first_count: 0,
            just: Just::Nothing,
            dropped: 0,
            marked: 0,
        }
    }

    pub(crate) fn admit(&mut self, arrival: Arrival<'_>) -> Result<Entry, DropReason> {
        self.limit.admit(arrival)?;
        if arrival.packets == 0 {
            // It is at the head at once, with no wait and nothing behind it.
            let head = Head { wait_ns: 0, bytes_behind: 0, ecn: arrival.ecn };
            let verdict = self.decide(arrival.now_ns, head);
            debug_assert_eq!(verdict, Verdict::Send);
        }
        Ok(Entry::Plain)
    }

    /// Decides the fate of the packet at the head at `now_ns`.
    pub(crate) fn decide(&mut self, now_ns: u64, head: Head) -> Verdict {
        let may_drop = self.may_drop(now_ns, head);
        match std::mem::replace(&mut self.just, Just::Nothing) {
            Just::First => return Verdict::Send,
            Just::Further if may_drop => self.drop_next_ns = self.after(self.drop_next_ns),
            Just::Further | Just::Nothing => {}
        }
        if self.dropping {
            self.dropping = may_drop;
            if !may_drop || now_ns < self.drop_next_ns {
                return Verdict::Send;
            }
            self.count += 1;
            if self.marks(head) {
                self.drop_next_ns = self.after(self.drop_next_ns);
                return Verdict::Mark;
            }
            return self.drop(Just::Further);
        }
        if !may_drop {
            return Verdict::Send;
        }
        self.begin(now_ns);
        if self.marks(head) { Verdict::Mark } else { self.drop(Just::First) }
    }

    /// The queue was empty when it was served: the dropping state ends (RFC 8289 §5.6).
    pub(crate) const fn emptied(&mut self) {
        self.first_above_ns = None;
        self.dropping = false;
        self.just = Just::Nothing;
    }

    /// Updates `first_above_ns`; returns whether all packets were above the target for an interval.
    fn may_drop(&mut self, now_ns: u64, head: Head) -> bool {
        if head.wait_ns < self.control.target_ns || head.bytes_behind <= u64::from(self.control.mtu_bytes) {
            self.first_above_ns = None;
            return false;
        }
        let at_ns = *self.first_above_ns.get_or_insert(now_ns.saturating_add(self.control.interval_ns));
        now_ns >= at_ns
    }

    /// Enters the dropping state.
    fn begin(&mut self, now_ns: u64) {
        self.dropping = true;
        let drops = self.count - self.first_count;
        let recent = now_ns < self.drop_next_ns.saturating_add(self.control.interval_ns.saturating_mul(16));
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.first_count = self.count;
        self.drop_next_ns = self.after(now_ns);
    }

    fn marks(&mut self, head: Head) -> bool {
        let marks = self.control.ecn && head.ecn != Ecn::NotEct;
        self.marked += u64::from(marks);
        marks
    }

    const fn drop(&mut self, just: Just) -> Verdict {
        self.just = just;
        self.dropped += 1;
        Verdict::Drop
    }

    /// The control law: `interval`/√`count` after `at_ns`.
    fn after(&self, at_ns: u64) -> u64 {
        let interval_ns = u128::from(self.control.interval_ns);
        // At most `interval_ns`.
        let gap_ns = (interval_ns * interval_ns / u128::from(self.count)).isqrt() as u64;
        at_ns.saturating_add(gap_ns)
    }
}

#[cfg(test)]
mod tests;
