//! What a queue discipline does and declares.

use std::fmt;

use algorithm::About;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use crate::counters::DropReason;
use crate::packet::Ecn;

/// The packet at the head when the transmitter is free.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// How long it waited.
    pub wait_ns: u64,
    /// Bytes in the queue behind it.
    pub bytes_behind: u64,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// What becomes of the packet at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Send,
    /// Send it with congestion experienced.
    Mark,
    /// Drop it; the next packet is to be offered at the same time.
    Drop,
}

/// What a discipline has done so far, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Marked.
    pub marked: u64,
    /// Dropped at the head.
    pub dropped: u64,
    /// Dropped because the queue was full after they had entered it.
    pub overflowed: u64,
}

/// A queue discipline at work. All have a say when a packet arrives; some also when one is at the head.
pub trait Discipline: fmt::Debug + Send {
    /// A packet arrives: whether it may enter, and how.
    ///
    /// # Errors
    /// Why it may not.
    fn enqueue(&mut self, arrival: Arrival<'_>, random: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason>;

    /// Whether it decides at the head too, so that the departure of a waiting packet is not known.
    fn decides_at_head(&self) -> bool {
        false
    }

    /// Of one that decides at the head: what comes next when the transmitter is free at `now_ns`. How many places behind the
    /// first waiting packet it stands, and what becomes of it; it has left by then, and the first stands in its place. `head` is the
    /// first one. None: nothing waits.
    fn dequeue(&mut self, _now_ns: u64, _head: Head) -> Option<(usize, Verdict)> {
        Some((0, Verdict::Send))
    }

    /// Catches up with `now_ns` before the transmitter changes, which would have been busy until `busy_until_ns`.
    fn advance(&mut self, _now_ns: u64, _busy_until_ns: u64) {}

    /// Whether it needs to know which flow a packet belongs to.
    fn tells_flows_apart(&self) -> bool {
        false
    }

    /// The link died with all that waits.
    fn clear(&mut self) {}

    /// What it has done so far.
    fn tally(&self) -> Tally {
        Tally::default()
    }

    /// A copy of it, for the copy of a link.
    fn copied(&self) -> Box<dyn Discipline>;
}

/// What the file of a discipline declares.
pub(crate) trait Declare {
    /// Its settings.
    type Config: algorithm::Declared;
    /// What runs it.
    type Built;
    /// What it is.
    const ABOUT: About;

    /// One for a link whose random numbers are these.
    fn make(config: Self::Config, random: &mut Xoshiro256PlusPlus) -> Self::Built;
}
