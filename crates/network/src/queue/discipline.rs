//! The interface and the declaration of a queue discipline.

use std::fmt;

use algorithm::About;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use crate::counters::DropReason;
use crate::packet::Ecn;

/// The packet at the head when the transmitter is free.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Time the packet spent in the queue.
    pub wait_ns: u64,
    /// Bytes in the queue behind it.
    pub bytes_behind: u64,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// The fate of the packet at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Send,
    /// Send it, marked with congestion experienced.
    Mark,
    /// Drop it; the caller then offers the next packet at the same time.
    Drop,
}

/// Packet counters of a discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets marked with congestion experienced.
    pub marked: u64,
    /// Packets dropped at the head of the queue.
    pub dropped: u64,
    /// Packets dropped after they were queued, because the queue became too full.
    pub overflowed: u64,
}

/// The state of a queue discipline. Every discipline decides on arrival; some also decide at the head of the queue.
pub trait Discipline: fmt::Debug + Send {
    /// Decides whether an arriving packet may enter the queue, and how.
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    fn enqueue(&mut self, arrival: Arrival<'_>, random: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason>;

    /// Whether the discipline also decides at the head, so that the departure time of a waiting packet is unknown.
    fn decides_at_head(&self) -> bool {
        false
    }

    /// For a discipline that decides at the head: selects the next packet when the transmitter becomes free at
    /// `now_ns`. Returns its distance behind the first waiting packet, and its fate. The selected packet has then left
    /// the queue, and the first packet has moved to its position. `head` describes the first packet. Returns `None` if
    /// no packet is waiting.
    fn dequeue(&mut self, _now_ns: u64, _head: Head) -> Option<(usize, Verdict)> {
        Some((0, Verdict::Send))
    }

    /// Updates the state to `now_ns` before the transmitter, which would have been busy until `busy_until_ns`, changes.
    fn advance(&mut self, _now_ns: u64, _busy_until_ns: u64) {}

    /// Whether the discipline needs to know the flow of each packet.
    fn tells_flows_apart(&self) -> bool {
        false
    }

    /// The link went down and lost all waiting packets.
    fn clear(&mut self) {}

    /// Packets marked and dropped so far.
    fn tally(&self) -> Tally {
        Tally::default()
    }

    /// A copy of the discipline, for a copy of its link.
    fn copied(&self) -> Box<dyn Discipline>;
}

/// The declaration of a discipline, in its file.
pub(crate) trait Declare {
    /// The discipline's settings.
    type Config: algorithm::Declared;
    /// The type that implements it.
    type Built;
    /// Its name and description.
    const ABOUT: About;

    /// Creates the discipline for a link with this random number generator.
    fn make(config: Self::Config, random: &mut Xoshiro256PlusPlus) -> Self::Built;
}
