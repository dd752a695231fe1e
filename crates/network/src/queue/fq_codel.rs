//! Flow queueing with controlled delay: each flow has its own queue with CoDel at its head. The queues are served by a
//! round robin over bytes that prefers sparse flows.
//!
//! T. Høiland-Jørgensen, P. McKenney, D. Täht, J. Gettys, E. Dumazet, "The Flow Queue CoDel Packet Scheduler and Active
//! Queue Management Algorithm", RFC 8290, 2018.
//!
//! - A packet goes to one of `queues` queues, selected by a hash of its flow; flows whose hashes collide share a queue
//!   (§4.1). The hash has a key drawn from the link's stream, so that collisions differ from run to run.
//! - A queue that was empty joins the end of the list of *new* queues with a credit of one `quantum` (§4.1). The first
//!   queue with credit left is served, new queues before old ones. A queue without credit gets a quantum and moves to
//!   the end of the *old* queues (§4.2). An empty queue leaves the lists, except that a new one moves to the old queues
//!   first; otherwise it could return as new before them all the time.
//! - CoDel decides about the packet at the head of the selected queue. After a drop, the next packet of the same queue
//!   follows. The number of bytes behind the head is that of this queue.
//! - If the limit is exceeded, packets are dropped from the head of the queue with the most bytes: up to half of its
//!   bytes and at most 64 packets, as in Linux.
//! - With [`Isolation`] this is Cake: sets of queues instead of one per hash, shares per host, and one packet dropped
//!   at a time if the limit is exceeded.

use std::collections::VecDeque;

use algorithm::declare::{HOUR, MILLISECOND, flag, largest_packet, limit, size, time, whole};
use algorithm::{About, Declared, declared};
use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use super::codel::{self, CoDel};
use super::discipline::{Declare, Discipline, Head, Tally, Verdict};
use super::drop_tail::DropTail;
use super::isolation::Isolation;
use super::limit::Limit;
use super::places::{Places, Queued};
use crate::counters::DropReason;

declared! {
    /// Settings of FQ-CoDel. The defaults are those that RFC 8290 recommends.
    pub struct Config {
        required {
            /// capacity of the queue
            limit: Limit = limit("10240 packets"),
        }
        /// acceptable standing queue delay
        target_ns: u64 = time("target", 5 * MILLISECOND, [1, HOUR]),
        /// how long the delay may stay above the target
        interval_ns: u64 = time("interval", 100 * MILLISECOND, [1, HOUR]),
        /// amount queued behind the head at or below which nothing is dropped
        mtu_bytes: u32 = largest_packet(),
        /// mark packets of connections with `ecn = true` instead of dropping them early
        ecn: bool = flag("ecn", false),
        /// number of queues that flows are hashed into; Cake groups them in sets of eight
        queues: u16 = whole("queues", 1024, [1, 65_535]).noun("a number of queues"),
        /// data that a queue (with Cake: all queues of a host together) may send per round
        quantum_bytes: u32 = size("quantum", 1514, [1, 1_000_000]),
    }
}

impl Config {
    /// Settings of one flow's CoDel, which has no limit.
    const fn of_flow(&self) -> codel::Config {
        let Config { target_ns, interval_ns, mtu_bytes, ecn, .. } = *self;
        codel::Config { limit: Limit::Packets(u64::MAX), target_ns, interval_ns, mtu_bytes, ecn }
    }
}

impl Declare for FqCoDel {
    type Config = Config;
    type Built = FqCoDel;
    const ABOUT: About = About::new("fq-codel", "fair queueing with controlled delay per flow", "RFC 8290")
        .parameters(Config::PARAMETERS);

    fn make(config: Config, random: &mut Xoshiro256PlusPlus) -> FqCoDel {
        FqCoDel::new(config, random.next_u64())
    }
}

impl Discipline for FqCoDel {
    fn enqueue(&mut self, arrival: Arrival<'_>, _: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason> {
        self.admit(arrival)
    }

    fn decides_at_head(&self) -> bool {
        true
    }

    fn dequeue(&mut self, now_ns: u64, _: Head) -> Option<(usize, Verdict)> {
        self.next(now_ns)
    }

    fn tells_flows_apart(&self) -> bool {
        true
    }

    fn clear(&mut self) {
        self.empty();
    }

    fn tally(&self) -> Tally {
        Tally { marked: self.marked, dropped: self.dropped, overflowed: self.overflowed }
    }

    fn copied(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

/// Maximum number of packets dropped at once.
const BATCH: usize = 64;

#[derive(Clone, Debug)]
struct FlowQueue {
    /// Waiting packets, as indices into `waiting` of the discipline, in order of arrival.
    waiting: VecDeque<u32>,
    bytes: u64,
    /// Bytes the queue may still send in this round; negative after a larger packet.
    credit: i64,
    listed: bool,
    /// Hosts of the flow that sent the first of its packets.
    hosts: [u32; 2],
    control: CoDel,
}

/// State of FQ-CoDel, or of Cake.
#[derive(Clone, Debug)]
pub(crate) struct FqCoDel {
    limit: DropTail,
    control: codel::Config,
    quantum: i64,
    key: u64,
    isolation: Option<Isolation>,
    /// The queue of each hash value, created on first use.
    queue_of: Box<[Option<u32>]>,
    queues: Vec<FlowQueue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    waiting: Places,
    /// Packets dropped because of the limit that are still in the ring.
    overflow: VecDeque<u32>,
    dropped: u64,
    overflowed: u64,
    marked: u64,
}

impl FqCoDel {
    pub(crate) fn new(config: Config, key: u64) -> Self {
        Self {
            isolation: None,
            limit: DropTail::new(config.limit),
            control: config.of_flow(),
            quantum: i64::from(config.quantum_bytes),
            key,
            queue_of: vec![None; usize::from(config.queues)].into(),
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: Places::default(),
            overflow: VecDeque::new(),
            dropped: 0,
            overflowed: 0,
            marked: 0,
        }
    }

    /// The same discipline with host isolation.
    pub(crate) fn isolating(self) -> Self {
        let queues = self.queue_of.len() as u16;
        Self { isolation: Some(Isolation::new(queues)), ..self }
    }

    /// Enqueues a packet; if the queue is empty, the packet enters service at once.
    pub(crate) fn admit(&mut self, arrival: Arrival<'_>) -> Result<Entry, DropReason> {
        let fits = self.fits(arrival);
        let number = self.queue_of(arrival.flow.number);
        let queue = &self.queues[number as usize];
        let bytes = queue.bytes + u64::from(arrival.size);
        if !fits && queue.waiting.is_empty() && self.queues.iter().all(|other| other.bytes <= bytes) {
            // The arriving packet is itself the head of the longest queue.
            return Err(DropReason::Full);
        }
        self.push(number, arrival);
        if !arrival.waits {
            let served = self.next(arrival.now_ns);
            debug_assert_eq!(served, Some((0, Verdict::Send)));
        } else if !fits {
            self.drop_from_longest();
        }
        Ok(Entry::Plain)
    }

    /// Selects the next packet when the transmitter is free at `now_ns`. Returns its distance behind the first waiting
    /// packet, and its fate. It has then left, and the first packet has moved to its position.
    pub(crate) fn next(&mut self, now_ns: u64) -> Option<(usize, Verdict)> {
        if let Some(packet) = self.overflow.pop_front() {
            self.overflowed += 1;
            return Some((self.waiting.take(packet), Verdict::Drop));
        }
        loop {
            let (number, is_new) = match (self.new.front(), self.old.front()) {
                (Some(&number), _) => (number, true),
                (None, Some(&number)) => (number, false),
                (None, None) => return None,
            };
            let queue = &mut self.queues[number as usize];
            if queue.credit <= 0 {
                queue.credit += match &self.isolation {
                    Some(isolation) => isolation.quantum(self.quantum, queue.hosts),
                    None => self.quantum,
                };
                self.go_to_old(number, is_new);
                continue;
            }
            let Some(packet) = queue.waiting.pop_front() else {
                queue.control.emptied();
                if is_new && !self.old.is_empty() {
                    self.go_to_old(number, true);
                } else {
                    queue.listed = false;
                    if let Some(isolation) = &mut self.isolation {
                        isolation.ends(queue.hosts);
                    }
                    if is_new { &mut self.new } else { &mut self.old }.pop_front();
                }
                continue;
            };
            let Queued { arrived_ns, size, ecn, .. } = self.waiting.get(packet);
            queue.bytes -= u64::from(size);
            let head = Head { wait_ns: now_ns - arrived_ns, bytes_behind: queue.bytes, ecn };
            let verdict = queue.control.decide(now_ns, head);
            match verdict {
                Verdict::Drop => self.dropped += 1,
                Verdict::Mark => self.marked += 1,
                Verdict::Send => {}
            }
            if verdict != Verdict::Drop {
                queue.credit -= i64::from(size);
            }
            return Some((self.waiting.take(packet), verdict));
        }
    }

    /// Discards all waiting packets.
    fn empty(&mut self) {
        for list in [&mut self.new, &mut self.old] {
            list.clear();
        }
        for queue in &mut self.queues {
            queue.waiting.clear();
            queue.bytes = 0;
            queue.listed = false;
            queue.control.emptied();
        }
        if let Some(isolation) = &mut self.isolation {
            isolation.clear();
        }
        self.waiting.clear();
        self.overflow.clear();
    }

    fn fits(&self, arrival: Arrival<'_>) -> bool {
        let gone = self.overflow.iter().map(|&packet| u64::from(self.waiting.get(packet).size)).sum::<u64>();
        let packets = arrival.packets - self.overflow.len() as u64;
        self.limit.admits(packets, arrival.bytes - gone + u64::from(arrival.size))
    }

    /// The queue of a flow, created if the flow is the first with its hash.
    fn queue_of(&mut self, flow: u64) -> u32 {
        let hash = mixed(flow ^ self.key);
        let place = match &mut self.isolation {
            None => (hash % self.queue_of.len() as u64) as usize,
            Some(isolation) => isolation.place(hash, flow, |place| {
                self.queue_of[place].is_some_and(|queue| self.queues[queue as usize].listed)
            }),
        };
        *self.queue_of[place].get_or_insert_with(|| {
            let control = CoDel::new(self.control);
            let (waiting, hosts) = (VecDeque::new(), [0; 2]);
            self.queues.push(FlowQueue { waiting, bytes: 0, credit: 0, listed: false, hosts, control });
            self.queues.len() as u32 - 1
        })
    }

    fn push(&mut self, number: u32, arrival: Arrival<'_>) {
        let packet = self.waiting.push(arrival);
        let queue = &mut self.queues[number as usize];
        queue.waiting.push_back(packet);
        queue.bytes += u64::from(arrival.size);
        if !queue.listed {
            queue.listed = true;
            queue.credit = self.quantum;
            if let Some(isolation) = &mut self.isolation {
                queue.hosts = arrival.flow.hosts;
                isolation.begins(queue.hosts);
                queue.credit = isolation.quantum(self.quantum, queue.hosts);
            }
            self.new.push_back(number);
        }
    }

    fn go_to_old(&mut self, number: u32, is_new: bool) {
        if is_new { &mut self.new } else { &mut self.old }.pop_front();
        self.old.push_back(number);
    }

    /// Drops packets of the longest queue. They leave the ring after the packet in service.
    fn drop_from_longest(&mut self) {
        // Of several queues with equally many bytes, the one created first, which depends on the order of arrival and
        // not on the hash.
        let Some(most) = self.queues.iter().map(|queue| queue.bytes).max() else { return };
        let Some(queue) = self.queues.iter_mut().find(|queue| queue.bytes == most) else { return };
        let mut dropped = 0;
        for _ in 0..if self.isolation.is_some() { 1 } else { BATCH } {
            if 2 * dropped >= most {
                break;
            }
            let Some(packet) = queue.waiting.pop_front() else { break };
            dropped += u64::from(self.waiting.get(packet).size);
            self.overflow.push_back(packet);
        }
        queue.bytes -= dropped;
    }
}

/// Hashes a flow with the finaliser of SplitMix64.
const fn mixed(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests;
