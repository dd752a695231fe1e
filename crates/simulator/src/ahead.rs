//! Looks a few events ahead, so that what they will touch is in the cache when they come: with many links, waiting for memory
//! is most of the time that a packet-hop takes. Each event is looked at in steps, some events apart, for each step needs
//! what the one before has brought. Nothing but time depends on it.

use crate::event_queue::{Cursor, EventQueue};

/// How many events ahead the first step is.
const DEPTH: usize = 13;
/// Steps, each [`APART`] events nearer than the one before.
pub const STEPS: usize = 6;
/// Memory that one step has asked for is there when the next comes.
const APART: usize = 2;
/// With fewer links than these everything is in the cache anyway.
const LINKS_MIN: usize = 100;
/// Places of the ring of days; a power of two above `DEPTH`.
const PLACES: usize = 16;

/// Which links are looked at.
pub struct Ahead {
    cursor: Cursor,
    /// The days and the links of the events looked at last, in a ring, and how many there have been.
    days: [u64; PLACES],
    links: [u32; PLACES],
    count: usize,
    is_worthwhile: bool,
}

impl Ahead {
    /// For a network of so many links, each in two directions.
    pub fn new(links: usize) -> Ahead {
        Ahead {
            cursor: Cursor::default(),
            days: [0; PLACES],
            links: [0; PLACES],
            count: 0,
            is_worthwhile: 2 * links >= LINKS_MIN,
        }
    }

    /// An event has been taken from `queue`. Answers the links whose events are to be looked at, each a step further than
    /// when it was answered before; none when enough is known.
    #[inline]
    pub fn next(&mut self, queue: &EventQueue) -> Option<[u32; STEPS]> {
        if !self.is_worthwhile || self.days[self.count.wrapping_sub(DEPTH) % PLACES] > queue.today() {
            return None;
        }
        let (day, link) = queue.following(&mut self.cursor)?;
        let latest = self.count;
        self.days[latest % PLACES] = day;
        self.links[latest % PLACES] = link;
        self.count = latest.wrapping_add(1);
        Some(std::array::from_fn(|step| self.links[latest.wrapping_sub(step * APART) % PLACES]))
    }
}
