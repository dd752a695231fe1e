//! An arriving packet as seen by disciplines, and how it may enter.

use crate::packet::{Ecn, Flow};
use crate::transmitter::Transmitter;

/// Information about an arriving packet for a discipline.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Time of arrival.
    pub now_ns: u64,
    /// Size of the arriving packet in bytes.
    pub size: u16,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Packets already in the queue, including the one being sent.
    pub packets: u64,
    /// Bytes already in the queue, with all of the packet being sent.
    pub bytes: u64,
    /// Of these, the bytes of the packet being sent.
    pub sending_bytes: u64,
    /// The packet's flow; filled in only for a discipline that distinguishes flows.
    pub flow: Flow,
    /// Whether the packet has to wait, behind another packet or for a medium.
    pub waits: bool,
    /// The transmitter, which gives the rate and, if the queue is empty, the beginning of the idle period.
    pub(crate) transmitter: &'a Transmitter,
}

/// How a packet enters the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Unchanged.
    Plain,
    /// Marked with congestion experienced.
    Marked,
}

impl Arrival<'_> {
    /// When the transmitter will have sent the whole queue. Not meaningful for a link on a medium, where it is unknown.
    #[must_use]
    pub fn busy_until_ns(&self) -> u64 {
        self.transmitter.busy_until_ns()
    }
}
