//! Looks some events ahead, so that what they will touch is in the cache when they come: with many links, waiting for memory
//! is most of the time that a packet-hop takes. It is done for a few events at a time, every few events, and in steps: each
//! step needs what the one before has brought. Nothing but time depends on it.

use crate::event_queue::{Cursor, EventQueue};

/// How many events ahead the first step is, about.
const DEPTH: u64 = 24;
/// How many events pass from one step to the next, and are looked at in one; a power of two.
pub const BATCH: usize = 4;
/// With fewer links than these everything is in the cache anyway.
const LINKS_MIN: usize = 100;
/// No link, no slot, no flow.
pub const NONE: u32 = u32::MAX;

/// A few numbers, in the order they were added.
#[derive(Clone, Copy)]
pub struct Few {
    len: usize,
    numbers: [u32; BATCH],
}

impl Few {
    pub const EMPTY: Few = Few { len: 0, numbers: [NONE; BATCH] };

    /// Adds a number, of which there may be no more than [`BATCH`].
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

/// What is looked at.
pub struct Ahead {
    pub cursor: Cursor,
    /// How far ahead of today in the calendar; none where it is not worth while.
    days: Option<u64>,
    /// The links whose events were looked at last.
    pub links: Few,
    /// Slots of the packets among them that will come to the end of their routes.
    pub slots: Few,
    /// Flows of packets that will come to the end of their routes sooner, and sooner still.
    pub flows: [Few; 2],
}

impl Ahead {
    /// For a network of so many links, each in two directions, whose queue is still empty.
    pub fn new(links: usize, queue: &EventQueue) -> Ahead {
        // When all links are busy, this is where as many events lie.
        let days = queue.days_ahead() * DEPTH / (2 * links as u64).max(1);
        Ahead {
            cursor: Cursor::default(),
            days: (2 * links >= LINKS_MIN).then_some(days.max(1)),
            links: Few::EMPTY,
            slots: Few::EMPTY,
            flows: [Few::EMPTY; 2],
        }
    }

    /// How many days to look ahead, where the network is so large that it is worth while.
    #[inline]
    pub fn days(&self) -> Option<u64> {
        self.days
    }
}
