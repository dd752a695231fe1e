//! Queue disciplines: one a file, chosen by an enum. All have a say when a packet arrives; CoDel has another when the
//! packet is at the head.

pub(crate) mod codel;
mod drop_tail;
mod red;

use rand_core::RngCore;

use crate::config::{Limit, QueueConfig};
use crate::counters::DropReason;
use crate::packet::Ecn;
use crate::transmitter::Transmitter;
use codel::CoDel;
pub(crate) use drop_tail::DropTail;
use red::Red;

/// What a discipline may look at when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) now_ns: u64,
    /// Size of the arriving packet in bytes.
    pub(crate) size: u16,
    /// Its ECN codepoint.
    pub(crate) ecn: Ecn,
    /// Packets in the queue before it, the one being sent counted.
    pub(crate) packets: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The rate, and since when it has been idle if the queue is empty.
    pub(crate) transmitter: &'a Transmitter,
}

/// How a packet enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Plain,
    /// With congestion experienced.
    Marked,
}

#[derive(Clone, Debug)]
pub(crate) enum Queue {
    DropTail(DropTail),
    /// Boxed: its state would make every drop-tail link larger.
    Red(Box<Red>),
    CoDel(Box<CoDel>),
}

impl Queue {
    pub(crate) fn new(config: &QueueConfig) -> Self {
        match *config {
            QueueConfig::DropTail { limit } => Self::DropTail(DropTail::new(limit)),
            QueueConfig::Red { limit, min_packets, max_packets, max_probability, weight, gentle, ecn } => {
                let early = red::Parameters { min_packets, max_packets, max_probability, weight, gentle, ecn };
                Self::Red(Box::new(Red::new(DropTail::new(limit), early)))
            }
            QueueConfig::CoDel { limit, target_ns, interval_ns, mtu_bytes, ecn } => {
                let control = codel::Parameters { target_ns, interval_ns, mtu_bytes, ecn };
                Self::CoDel(Box::new(CoDel::new(DropTail::new(limit), control)))
            }
        }
    }

    /// Whether the packet may enter.
    #[inline]
    pub(crate) fn admit(&mut self, arrival: Arrival<'_>, rng: &mut impl RngCore) -> Result<Entry, DropReason> {
        match self {
            Self::DropTail(queue) => queue.admit(arrival).map(|()| Entry::Plain),
            Self::Red(queue) => queue.admit(arrival, rng),
            Self::CoDel(queue) => queue.admit(arrival),
        }
    }

    /// The discipline, if it is drop-tail and nothing else.
    #[inline]
    pub(crate) const fn drop_tail(&self) -> Option<DropTail> {
        match *self {
            Self::DropTail(queue) => Some(queue),
            Self::Red(_) | Self::CoDel(_) => None,
        }
    }

    /// Whether it decides at the head of the queue too, so that the departure of a waiting packet is not known.
    #[inline]
    pub(crate) const fn decides_at_head(&self) -> bool {
        matches!(self, Self::CoDel(_))
    }

    /// Packets dropped at the head.
    pub(crate) const fn dropped_at_head(&self) -> u64 {
        match self {
            Self::DropTail(_) | Self::Red(_) => 0,
            Self::CoDel(queue) => queue.dropped(),
        }
    }

    /// Packets marked.
    pub(crate) const fn marked(&self) -> u64 {
        match self {
            Self::DropTail(_) => 0,
            Self::Red(queue) => queue.marked(),
            Self::CoDel(queue) => queue.marked(),
        }
    }
}
