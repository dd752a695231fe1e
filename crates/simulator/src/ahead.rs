//! Looks a few events ahead, so that what they will touch is in the cache when they come: with many links, waiting for memory
//! is most of the time that a packet-hop takes. Each event is looked at in steps, some events apart, for each step needs
//! what the one before has brought. Nothing but time depends on it.

use crate::event_queue::{Cursor, EventQueue};

/// How many events ahead the first step is, about.
const DEPTH: u64 = 9;
/// With fewer links than these everything is in the cache anyway.
const LINKS_MIN: usize = 100;
/// No link, no slot, no flow.
pub const NONE: u32 = u32::MAX;

/// What is looked at.
pub struct Ahead {
    cursor: Cursor,
    /// How far ahead of today in the calendar; none where it is not worth while.
    days: Option<u64>,
    /// The links whose events were looked at last, the latest first: every other is at a step.
    links: [u32; 5],
    /// Slots of packets that will come to the end of their routes, by how long ago that was seen.
    slots: [u32; 3],
    /// Flows of packets that will come to the end of their routes sooner still.
    flows: [u32; 2],
}

impl Ahead {
    /// For a network of so many links, each in two directions, whose queue is still empty.
    pub fn new(links: usize, queue: &EventQueue) -> Ahead {
        // When all links are busy, this is where as many events lie.
        let days = queue.days_ahead() * DEPTH / (2 * links as u64).max(1);
        Ahead {
            cursor: Cursor::default(),
            days: (2 * links >= LINKS_MIN).then_some(days.max(1)),
            links: [NONE; 5],
            slots: [NONE; 3],
            flows: [NONE; 2],
        }
    }

    /// Whether the network is so large that it is.
    #[inline]
    pub fn is_worth_while(&self) -> bool {
        self.days.is_some()
    }

    /// An event has been taken from `queue`. Answers the links of three events to come, the farthest first, each a step
    /// nearer than when it was answered before.
    #[inline]
    pub fn links(&mut self, queue: &EventQueue, now_ns: u64) -> Option<[u32; 3]> {
        let link = queue.following(&mut self.cursor, now_ns, self.days?)?;
        let [a, b, c, d, _] = self.links;
        self.links = [link, a, b, c, d];
        Some([link, b, d])
    }

    /// The packet in `slot`, or none, was seen to come to the end of its route. Answers one that was two steps before.
    #[inline]
    pub fn slot(&mut self, slot: u32) -> u32 {
        let [a, b, c] = self.slots;
        self.slots = [slot, a, b];
        c
    }

    /// The packet that comes there is of `flow`, or there is none. Answers the flow of the one before and that before it.
    #[inline]
    pub fn flow(&mut self, flow: u32) -> [u32; 2] {
        let before = self.flows;
        self.flows = [flow, before[0]];
        before
    }
}
