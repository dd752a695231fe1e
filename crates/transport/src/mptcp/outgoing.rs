//! Where a segment that goes out is written, and in which form.

use wire::{Compact, Flags, Options, Payload, SackBlocks, Segment};

/// Where a connection writes what it sends.
#[derive(Clone, Debug)]
pub struct Outgoing<P> {
    /// A segment of any kind.
    pub segment: Segment<P>,
    /// One in little room.
    pub compact: Compact<P>,
    /// The SACK blocks that go with [`Self::compact`], in [`Form::Selective`].
    pub blocks: SackBlocks,
    /// What was written last.
    pub(super) form: Form,
}

impl<P: Payload> Default for Outgoing<P> {
    fn default() -> Self {
        Outgoing { segment: blank(), compact: Compact::default(), blocks: SackBlocks::default(), form: Form::Whole }
    }
}

impl<P: Payload> Outgoing<P> {
    /// Sets PSH on what was written last.
    pub(super) fn push(&mut self) {
        match self.form {
            Form::Whole => self.segment.flags = self.segment.flags | Flags::PSH,
            _ => self.compact.flags = self.compact.flags | Flags::PSH,
        }
    }

    /// What was written last had been sent before, on this subflow or on another.
    pub(super) fn repeats(&mut self) {
        if self.form == Form::Compact {
            self.form = Form::Again;
        }
    }

    /// Writes the segment that is in little room over [`Self::segment`]; its content is taken out.
    pub fn expand(&mut self) {
        self.compact.expand_into(&mut self.segment);
        if self.form == Form::Selective {
            self.segment.options.sack = self.blocks;
        }
    }
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// [`Outgoing::segment`].
    Whole,
    /// [`Outgoing::compact`].
    Compact,
    /// [`Outgoing::compact`], whose data had been sent before: [`Connection::decision_on`](crate::Connection::decision_on).
    Again,
    /// [`Outgoing::compact`], a bare acknowledgment, with [`Outgoing::blocks`].
    Selective,
}

/// What came of an attempt to send.
pub(super) enum Attempt {
    /// New data, on this subflow.
    Sent(usize),
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
