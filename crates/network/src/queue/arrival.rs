//! A packet that arrives, as disciplines see it, and how it may enter.

use crate::packet::{Ecn, Flow};
use crate::transmitter::Transmitter;

/// What a discipline may look at when a packet arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// When it arrives.
    pub now_ns: u64,
    /// Size of the arriving packet in bytes.
    pub size: u16,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Packets in the queue before it, the one being sent counted.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Which flow it belongs to; asked of the caller only for a discipline that tells flows apart.
    pub flow: Flow,
    /// Whether it waits: behind another packet, or for a medium.
    pub waits: bool,
    /// The rate, and since when it has been idle if the queue is empty.
    pub(crate) transmitter: &'a Transmitter,
}

/// How a packet enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// As it is.
    Plain,
    /// With congestion experienced.
    Marked,
}

impl Arrival<'_> {
    /// When the transmitter will have sent all that is in the queue; of a link on a medium nobody knows.
    #[must_use]
    pub fn busy_until_ns(&self) -> u64 {
        self.transmitter.busy_until_ns()
    }
}
