//! Where a segment that goes out is written, and in which form.

use wire::{Compact, Flags, Options, Payload, Segment};
/// Where a connection writes what it sends.
#[derive(Clone, Debug)]
pub struct Outgoing<P> {
    /// A segment of any kind.
    pub segment: Segment<P>,
    /// One in little room.
    pub compact: Compact<P>,
}

impl<P: Payload> Default for Outgoing<P> {
    fn default() -> Self {
        Outgoing { segment: blank(), compact: Compact::default() }
    }
}

/// Which of the two was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// [`Outgoing::segment`].
    Whole,
    /// [`Outgoing::compact`].
    Compact,
}

/// What came of an attempt to send.
pub(super) enum Attempt {
    /// New data, on this subflow.
    Sent(usize, Form),
    /// There is nothing that may be sent now.
    Nothing,
    /// The case is not plain; nothing was done.
    Unknown,
}

/// A segment to be written over.
pub(super) fn blank<P: Payload>() -> Segment<P> {
    Segment {
        src_port: 0,
        dst_port: 0,
        seq: 0,
        ack: 0,
        flags: Flags::default(),
        window: 0,
        urgent: 0,
        options: Options::default(),
        payload: P::empty(),
    }
}
