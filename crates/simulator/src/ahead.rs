//! Prefetches the memory of coming events: with many links, a packet-hop spends most of its time waiting for memory.
//! This is done for a few events at a time, every few events, in steps that each need what the previous step has
//! fetched. It affects only the speed.

use crate::event_queue::{Cursor, EventQueue};

/// Approximate distance of the first step, in events.
const DEPTH: u64 = 24;
/// Number of events between steps, and number looked at per step; a power of two.
pub const BATCH: usize = 4;
/// With fewer links than this, everything is in the cache anyway.
const LINKS_MIN: usize = 100;
/// Stands for no link, slot or flow.
pub const NONE: u32 = u32::MAX;

/// Up to [`BATCH`] numbers, in the order in which they were added.
#[derive(Clone, Copy)]
pub struct Few {
    len: usize,
    numbers: [u32; BATCH],
}

impl Few {
    pub const EMPTY: Few = Few { len: 0, numbers: [NONE; BATCH] };

    /// Adds a number. At most [`BATCH`] may be added.
    #[inline]
    pub fn add(&mut self, number: u32) {
        self.numbers[self.len % BATCH] = number;
        self.len += 1;
    }

    #[inline]
    pub fn as_slice(&self) -> &[u32] {
        &self.numbers[..self.len.min(BATCH)]
    }
}

/// The state of prefetching.
pub struct Ahead {
    pub cursor: Cursor,
    /// How many calendar days to look ahead; `None` if it is not worthwhile.
    days: Option<u64>,
    /// Links whose events were looked at last.
    pub links: Few,
    /// Slots of the packets among them that will reach the end of their routes.
    pub slots: Few,
    /// Flows of packets that will reach the end of their routes sooner, and sooner still.
    pub flows: [Few; 2],
}

impl Ahead {
    /// For a network with this many links, each with two directions, and an empty event queue.
    pub fn new(links: usize, queue: &EventQueue) -> Ahead {
        // If all links are busy, this distance covers about [`DEPTH`] events.
        let days = queue.days_ahead() * DEPTH / (2 * links as u64).max(1);
        Ahead {
            cursor: Cursor::default(),
            days: (2 * links >= LINKS_MIN).then_some(days.max(1)),
            links: Few::EMPTY,
            slots: Few::EMPTY,
            flows: [Few::EMPTY; 2],
        }
    }

    /// How many calendar days to look ahead, if the network is large enough.
    #[inline]
    pub fn days(&self) -> Option<u64> {
        self.days
    }
}
