//! Where a segment that goes out is written, and in which form.

use wire::compact::{HAS_DATA_ACK, HAS_DSS, HAS_MAPPING, HAS_TIMESTAMPS};
use wire::{Compact, Ecn, Flags, Options, Payload, SackBlocks, Segment, Timestamps};

use super::connection::Connection;
use super::state::fallback::Mode;
use super::state::receive_stream::ReceiveStream;
use crate::offset::Offset;
use crate::queue::Stream;
use crate::tcp::subflow::Subflow;
use crate::waits::Sending;

/// Where a connection writes what it sends.
#[derive(Clone, Debug)]
pub struct Outgoing<P> {
    /// A segment of any kind.
    pub segment: Segment<P>,
    /// One in little room.
    pub compact: Compact<P>,
    /// The SACK blocks that go with [`Self::compact`], in [`Form::Selective`].
    pub blocks: SackBlocks,
    /// Why what was written last is sent.
    pub sending: Sending,
    /// The ECN field of its packet (RFC 3168 §5): not capable, ECT(0), or ECT(1) where the congestion control is scalable.
    pub ecn: Ecn,
    /// What was written last.
    pub(super) form: Form,
}

impl<P: Payload> Default for Outgoing<P> {
    fn default() -> Self {
        Outgoing {
            segment: blank(),
            compact: Compact::default(),
            blocks: SackBlocks::default(),
            sending: Sending::First,
            ecn: Ecn::NotEct,
            form: Form::Whole,
        }
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

/// What the header of every segment says of its subflow, whichever form the segment has.
pub(super) struct Header {
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
}

impl Header {
    /// Of a segment that leaves at place `seq` of an established subflow. With it the peer has the acknowledgment that it was
    /// owed.
    #[inline(always)]
    pub fn of<P: Stream>(now_ns: u64, subflow: &mut Subflow<P>, rx: &mut ReceiveStream<P>, seq: u64) -> Self {
        let window = rx.announce(now_ns, subflow);
        subflow.ack.sent();
        Header { seq: subflow.our_number(seq).on_wire(), ack: subflow.their_number(subflow.rcv_nxt).on_wire(), window }
    }
}

impl<P: Stream> Connection<P> {
    /// As [`segment_into`](Self::segment_into), of a usual subflow.
    #[inline(always)]
    fn compact_into(&mut self, now_ns: u64, r: usize, seq: u64, out: &mut Compact<P>) {
        let mut parts = 0;
        if self.mode == Mode::Mptcp {
            parts = HAS_DSS | HAS_DATA_ACK;
            out.data_ack = self.data_ack().on_wire();
        }
        let subflow = &mut self.subflows[r];
        if subflow.timestamps {
            parts |= HAS_TIMESTAMPS;
            let Timestamps { value, echo } = subflow.own_timestamps(now_ns);
            (out.value, out.echo) = (value, echo);
        }
        out.parts = parts;
        let header = Header::of(now_ns, subflow, &mut self.rx, seq);
        (out.src_port, out.dst_port) = subflow.ports();
        (out.seq, out.ack, out.window) = (header.seq, header.ack, header.window);
        out.flags = Flags::ACK;
    }

    /// Whether data up to `end` of the stream goes out on the usual subflow `r` with nothing but its mapping. `MORE`: more is
    /// written.
    #[inline(always)]
    pub(super) fn is_compact<const MORE: bool>(&self, r: usize, end: Offset) -> bool {
        match self.mode {
            Mode::Tcp => !self.subflows[r].has_usual_blocks(),
            Mode::Mptcp => MORE || !self.ending.requested || end != self.tx.end(),
        }
    }

    /// Such data, which begins at `offset` of the stream.
    #[inline(always)]
    pub(super) fn compact_data(
        &mut self,
        now_ns: u64,
        r: usize,
        (seq, offset, payload): (u64, Offset, P),
        out: &mut Outgoing<P>,
    ) {
        out.form = Form::Compact;
        let compact = &mut out.compact;
        self.compact_into(now_ns, r, seq, compact);
        if self.mode == Mode::Mptcp {
            compact.parts |= HAS_MAPPING;
            compact.dsn = self.numbers.ours(offset).on_wire();
            compact.ssn = seq as u32;
        }
        compact.payload = payload;
    }

    /// A bare acknowledgment of a usual subflow, with what it has to report.
    #[inline(always)]
    pub(super) fn compact_acknowledgment(&mut self, now_ns: u64, r: usize, out: &mut Outgoing<P>) {
        out.form = Form::Compact;
        let seq = self.subflows[r].snd_nxt;
        self.compact_into(now_ns, r, seq, &mut out.compact);
        out.compact.payload = P::empty();
        let subflow = &mut self.subflows[r];
        debug_assert_eq!(subflow.has_blocks(), subflow.has_usual_blocks());
        if subflow.has_usual_blocks() {
            out.form = Form::Selective;
            out.blocks = SackBlocks::default();
            let taken = out.compact.header_len() - wire::TCP_HEADER_LEN;
            subflow.sack_blocks(wire::MAX_OPTIONS_LEN - taken, &mut out.blocks);
        }
    }
}
