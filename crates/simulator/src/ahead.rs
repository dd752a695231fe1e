//! Looks a few events ahead, so that what they will touch is in the cache when they come: with many links, waiting for memory
//! is most of the time that a packet-hop takes. Each event is looked at in steps, some events apart, for each step needs
//! what the one before has brought. Nothing but time depends on it.

use crate::event_queue::{Cursor, EventQueue};

/// How many events ahead the first step is.
const DEPTH: usize = 9;
/// Steps of a link, each [`APART`] events nearer than the one before.
const STEPS: usize = 4;
/// Memory that one step has asked for is there when the next comes.
const APART: usize = 2;
/// With fewer links than these everything is in the cache anyway.
const LINKS_MIN: usize = 100;
/// Places of the ring; a power of two above `DEPTH`.
const PLACES: usize = 16;
const _: () = assert!(DEPTH < PLACES && APART * (STEPS - 1) < DEPTH);

/// Neither a link nor the end of a route.
const UNKNOWN: u32 = u32::MAX - 1;

/// An event to come.
#[derive(Clone, Copy, Default)]
pub struct Coming {
    /// The day of the calendar.
    day: u64,
    /// The link whose oldest packet will have reached the far end.
    pub link: u32,
    /// For the looker's use: where that packet goes, and its slot.
    pub next: u32,
    pub slot: u32,
}

/// Which events are looked at.
pub struct Ahead {
    cursor: Cursor,
    /// Those looked at last, in a ring, and how many there have been.
    coming: [Coming; PLACES],
    count: usize,
    is_worthwhile: bool,
}

impl Ahead {
    /// For a network of so many links, each in two directions.
    pub fn new(links: usize) -> Ahead {
        let is_worthwhile = 2 * links >= LINKS_MIN;
        Ahead { cursor: Cursor::default(), coming: [Coming::default(); PLACES], count: 0, is_worthwhile }
    }

    /// An event has been taken from `queue`. Whether one more is to be looked at; then all others of [`Ahead::at`] have
    /// come a step nearer.
    #[inline]
    pub fn advance(&mut self, queue: &EventQueue) -> bool {
        if !self.is_worthwhile || self.coming[self.count.wrapping_sub(DEPTH) % PLACES].day > queue.today() {
            return false;
        }
        let Some((day, link)) = queue.following(&mut self.cursor) else { return false };
        self.count = self.count.wrapping_add(1);
        self.coming[self.count.wrapping_sub(1) % PLACES] = Coming { day, link, next: UNKNOWN, slot: 0 };
        true
    }

    /// The event that is at `step`, from 0 to 3.
    #[inline]
    pub fn at(&mut self, step: usize) -> &mut Coming {
        &mut self.coming[self.count.wrapping_sub(1 + step * APART) % PLACES]
    }
}
