//! A packet that arrives, as disciplines see it, and how it may enter.

use crate::packet::{Ecn, Flow};
use crate::transmitter::Transmitter;

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
    /// Which flow it belongs to; asked of the caller only for a discipline that tells flows apart.
    pub(crate) flow: Flow,
    /// Whether it waits: behind another packet, or for a medium.
    pub(crate) waits: bool,
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
