//! Queue disciplines that decide when a packet arrives: one a file, chosen by an enum.

mod drop_tail;
mod red;

use rand_core::RngCore;

use crate::config::{Limit, QueueConfig};
use crate::counters::DropReason;
use crate::transmitter::Transmitter;
use drop_tail::DropTail;
use red::Red;

/// What a discipline may look at when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) now_ns: u64,
    /// Size of the arriving packet in bytes.
    pub(crate) size: u16,
    /// Packets in the queue before it, the one being sent counted.
    pub(crate) packets: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The rate, and since when it has been idle if the queue is empty.
    pub(crate) transmitter: &'a Transmitter,
}

#[derive(Clone, Debug)]
pub(crate) enum Queue {
    DropTail(DropTail),
    /// Boxed: its state would make every drop-tail link larger.
    Red(Box<Red>),
}

impl Queue {
    pub(crate) fn new(config: &QueueConfig) -> Self {
        match *config {
            QueueConfig::DropTail { limit } => Self::DropTail(DropTail::new(limit)),
            QueueConfig::Red { limit, min_packets, max_packets, max_probability, weight, gentle } => {
                let early = red::Parameters { min_packets, max_packets, max_probability, weight, gentle };
                Self::Red(Box::new(Red::new(DropTail::new(limit), early)))
            }
        }
    }

    /// Whether the packet may enter.
    #[inline]
    pub(crate) fn admit(&mut self, arrival: Arrival<'_>, rng: &mut impl RngCore) -> Result<(), DropReason> {
        match self {
            Self::DropTail(queue) => queue.admit(arrival),
            Self::Red(queue) => queue.admit(arrival, rng),
        }
    }
}
