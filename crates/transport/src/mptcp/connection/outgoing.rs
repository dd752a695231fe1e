//! Where a segment that goes out is written, and in which form: data, FIN and DATA_FIN, acknowledgments. What it says of the
//! stream is in [`data_level`](super::data_level).

use crate::Receiver;
use crate::algorithm::Capability;
use crate::mptcp::options::rare;
use crate::tcp::subflow::transmit::DataSegment;
use crate::trace::Sent;
use wire::compact::HAS_TIMESTAMPS;
use wire::{
    Compact, DataNumber, Ecn, Flags, Mapping, MpJoin, MptcpOption, Options, Payload, SackBlocks, Segment, Timestamps,
};

use super::Connection;
use crate::mptcp::state::receive_stream::ReceiveStream;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::tcp::subflow::{State, Subflow};
use crate::time::Instant;
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
    pub fn of<P: Sendable>(now: Instant, subflow: &mut Subflow<P>, rx: &mut ReceiveStream<P>, seq: u64) -> Self {
        let window = rx.announce(now, subflow);
        subflow.note_acknowledged();
        Header {
            seq: subflow.our_number(seq).on_wire(),
            ack: subflow.their_number(subflow.rcv_nxt()).on_wire(),
            window,
        }
    }
}

impl<P: Sendable> Connection<P> {
    /// As [`segment_into`](Self::segment_into), of a usual subflow.
    #[inline(always)]
    fn compact_into(&mut self, now: Instant, r: usize, seq: u64, out: &mut Compact<P>) {
        let mut parts = self.compact_dss(out);
        let subflow = &mut self.subflows[r];
        if subflow.has_timestamps() {
            parts |= HAS_TIMESTAMPS;
            let Timestamps { value, echo } = subflow.own_timestamps(now);
            (out.value, out.echo) = (value, echo);
        }
        out.parts = parts;
        let header = Header::of(now, subflow, &mut self.rx, seq);
        (out.src_port, out.dst_port) = subflow.ports();
        (out.seq, out.ack, out.window) = (header.seq, header.ack, header.window);
        out.flags = Flags::ACK;
    }

    /// Data of a usual subflow that goes out with nothing but its mapping, and begins at `offset` of the stream.
    #[inline(always)]
    pub(super) fn compact_data(
        &mut self,
        now: Instant,
        r: usize,
        (seq, offset, payload): (u64, Offset, P),
        out: &mut Outgoing<P>,
    ) {
        out.form = Form::Compact;
        let compact = &mut out.compact;
        self.compact_into(now, r, seq, compact);
        self.compact_mapping(seq, offset, compact);
        compact.payload = payload;
    }

    /// A bare acknowledgment of a usual subflow, with what it has to report.
    #[inline(always)]
    pub(super) fn compact_acknowledgment(&mut self, now: Instant, r: usize, out: &mut Outgoing<P>) {
        out.form = Form::Compact;
        let seq = self.subflows[r].snd_nxt();
        self.compact_into(now, r, seq, &mut out.compact);
        out.compact.payload = P::empty();
        let subflow = &mut self.subflows[r];
        debug_assert_eq!(subflow.has_blocks(), subflow.has_usual_blocks());
        if subflow.has_usual_blocks() {
            out.form = Form::Selective;
            out.blocks = SackBlocks::default();
            let taken = out.compact.header_len() - wire::TCP_HEADER_LEN;
            subflow.sack_blocks(wire::MAX_OPTIONS_LEN - taken, &mut out.blocks);
            if self.config.tcp.receiver == Receiver::Linux {
                out.compact.value = out.compact.value.wrapping_sub(subflow.acknowledging().stamp_age_ms(now));
            }
        }
    }

    /// What leaves as the application has read, of Linux's Multipath TCP, has the time at which data came.
    pub(super) fn stamp_as_read(&mut self, now: Instant, r: usize, out: &mut Outgoing<P>) {
        if out.form == Form::Compact {
            out.compact.value = out.compact.value.wrapping_sub(self.subflows[r].acknowledging().stamp_age_ms(now));
        }
    }

    /// Data that follows what was sent before on subflow `r`, a FIN, or both.
    #[inline(never)]
    pub(super) fn first_transmission(
        &mut self,
        now: Instant,
        r: usize,
        offset: Offset,
        payload: P,
        fin: bool,
        out: &mut Outgoing<P>,
    ) {
        self.transmit_next::<false>(now, r, (offset, payload, fin), out);
    }

    /// As [`first_transmission`](Self::first_transmission), in place. `MORE`: data, and more of it is written. Answers whether
    /// the congestion window has more room.
    #[inline(always)]
    pub(super) fn transmit_next<const MORE: bool>(
        &mut self,
        now: Instant,
        r: usize,
        (offset, payload, fin): (Offset, P, bool),
        out: &mut Outgoing<P>,
    ) -> bool {
        let subflow = &mut self.subflows[r];
        let seq = subflow.send_new(now, (offset, &payload, fin), &mut self.views[r]);
        if MORE || !payload.is_empty() {
            subflow.note_run(seq, offset);
        }
        let (clean, has_room) = subflow.first_sent(now, &mut self.views[r]);
        if clean {
            let deadline = subflow.sender_deadline(true);
            self.wake_by(deadline);
        } else {
            self.sent_unclean(now, r, payload.len());
        }
        self.data_segment::<MORE>(now, r, DataSegment { seq, offset, payload, fin, part: false, new: true }, out);
        has_room
    }

    /// New data went out on a subflow that is not clean.
    #[inline(never)]
    fn sent_unclean(&mut self, now: Instant, r: usize, len: usize) {
        self.note_sent(now, r, len);
        self.subflows[r].pace(now, len, &mut self.views[r]);
        let deadline = self.subflows[r].deadline();
        self.wake_by(deadline);
    }

    /// For a control that asks for rates: new data, the last of the sequence numbers so far, is on its way.
    fn note_sent(&mut self, now: Instant, r: usize, len: usize) {
        let subflow = &mut self.subflows[r];
        if subflow.measure_sent(now, len, &self.views[r])
            && let Some(rate) = self.controller.on_restart(&self.views, r, now)
        {
            subflow.pace_at(rate, self.views[r].mss);
        }
    }

    pub(super) fn fin(&mut self, now: Instant, r: usize, out: &mut Outgoing<P>) {
        self.note_fin(r);
        let offset = self.tx.nxt();
        self.first_transmission(now, r, offset, P::empty(), true, out);
        self.tell_sent(now, r, (offset, 0, true), Sent::New);
    }

    /// The FIN goes out (RFC 9293 §3.10.4).
    pub(super) fn note_fin(&mut self, r: usize) {
        self.usual.forget();
        self.subflows[r].note_fin();
    }

    /// A segment with data, a FIN, or both. `MORE`: new data, and more of it is written.
    #[inline(always)]
    pub(super) fn data_segment<const MORE: bool>(
        &mut self,
        now: Instant,
        r: usize,
        data: DataSegment<P>,
        out: &mut Outgoing<P>,
    ) {
        let end = data.offset + data.payload.len() as u64;
        debug_assert!(!MORE || (end < self.tx.end() && !data.fin && !data.part));
        let flags = if !MORE && end == self.tx.end() { Flags::ACK | Flags::PSH } else { Flags::ACK };
        let alone = MORE || (!data.fin && !data.part);
        if alone && self.is_known_usual(r) && self.is_compact::<MORE>(r, end) {
            let DataSegment { seq, offset, payload, .. } = data;
            self.compact_data(now, r, (seq, offset, payload), out);
            out.compact.flags = flags;
        } else {
            self.whole_data_segment(now, r, data, flags, out);
        }
    }

    #[inline(never)]
    fn whole_data_segment(
        &mut self,
        now: Instant,
        r: usize,
        data: DataSegment<P>,
        flags: Flags,
        out: &mut Outgoing<P>,
    ) {
        let flags = if data.fin { flags | Flags::FIN } else { flags };
        let segment = &mut out.segment;
        self.segment_into(now, r, data.seq, flags, segment);
        self.write_options_of(r, &data, segment);
        let (new, len) = (data.new, data.payload.len());
        segment.payload = data.payload;
        let subflow = &mut self.subflows[r];
        if subflow.has_ecn() && new && len > 0 {
            // Only new data is ECN-capable (RFC 3168 §6.1.2, §6.1.5).
            out.segment.flags = out.segment.flags | subflow.ecn_flags(true);
            out.ecn = if self.config.congestion.has(Capability::Ect1) { Ecn::Ect1 } else { Ecn::Ect0 };
        }
    }

    /// A bare acknowledgment.
    pub(super) fn acknowledgment(&mut self, now: Instant, r: usize, segment: &mut Segment<P>) {
        let (seq, edge) = (self.subflows[r].snd_nxt(), self.rx.window.told_edge());
        self.segment_into(now, r, seq, Flags::ACK, segment);
        let subflow = &self.subflows[r];
        if subflow.state() == State::SynReceived {
            segment.options.dss = None; // the peer's numbers are not known
        } else if let Some(join) = subflow.join().filter(|j| subflow.is_active_open() && !j.confirmed) {
            // The third ACK of MP_JOIN: nothing else until it is acknowledged (RFC 8684 §3.2).
            let (key, remote_key) = (self.keys.local, self.keys.remote.unwrap_or(0));
            let hmac = wire::keys::join_hmac_ack(key, remote_key, join.local_nonce, join.remote_nonce);
            segment.options.dss = None;
            segment.options.rare = rare(MptcpOption::MpJoin(MpJoin::Ack { hmac }));
        } else if self.owes_keys(r) {
            segment.options.dss = None;
            segment.options.rare = self.capable(None);
        } else if subflow.has_blocks() {
            let room = wire::MAX_OPTIONS_LEN - segment.options.len();
            self.subflows[r].sack_blocks(room, &mut segment.options.sack);
        }
        if self.config.tcp.receiver == Receiver::Linux {
            if let Some(stamps) = &mut segment.options.timestamps {
                stamps.value = stamps.value.wrapping_sub(self.subflows[r].acknowledging().stamp_age_ms(now));
            }
            if self.level.is_multipath() && segment.options.dss.is_none() {
                self.rx.window.have_announced(edge);
            }
        }
        self.attach_fail(r, segment);
        let subflow = &mut self.subflows[r];
        if let Some((before, flags)) = subflow.take_ecn_before() {
            segment.ack = subflow.their_number(before).on_wire();
            segment.flags = Flags::ACK | flags;
            // That of the packet after it follows.
            self.owe_acknowledgment(r);
        }
    }

    /// A DATA_FIN by itself: a mapping of length 1, subflow sequence number 0, no bytes (RFC 8684 §3.3.3).
    pub(super) fn transmit_data_fin(&mut self, now: Instant, out: &mut Outgoing<P>) -> Option<usize> {
        if !self.is_data_fin_due() {
            return None;
        }
        let r = self.best_subflow()?;
        self.ending.cancel_data_fin();
        self.usual.forget();
        self.ending.note_data_fin_sent();
        let seq = self.subflows[r].snd_nxt();
        let segment = &mut out.segment;
        self.segment_into(now, r, seq, Flags::ACK, segment);
        if let Some(dss) = &mut segment.options.dss {
            let (end, ssn, len) = (self.tx.end(), 0, 1);
            let checksum = self.checksum_of(end, ssn, len, &P::empty());
            dss.data_fin = true;
            dss.mapping = Some(Mapping { dsn: DataNumber::Long(self.numbers.ours(end).on_wire()), ssn, len, checksum });
        }
        self.arm_data_timer(now);
        Some(r)
    }

    /// A segment of an established subflow, with its timestamps, acknowledgment and window. With it the peer has
    /// the acknowledgment it was owed.
    pub(super) fn segment(&mut self, now: Instant, r: usize, seq: u64, flags: Flags) -> Segment<P> {
        let mut segment = blank();
        self.segment_into(now, r, seq, flags, &mut segment);
        segment
    }

    /// As [`Self::segment`], written over `out`.
    #[inline(always)]
    pub(super) fn segment_into(&mut self, now: Instant, r: usize, seq: u64, flags: Flags, out: &mut Segment<P>) {
        out.options.dss = self.dss_of(r);
        if !out.options.sack.is_empty() {
            out.options.sack = SackBlocks::default();
        }
        if out.options.rare.is_some() {
            out.options.rare = None;
        }
        let subflow = &mut self.subflows[r];
        let header = Header::of(now, subflow, &mut self.rx, seq);
        (out.src_port, out.dst_port) = subflow.ports();
        (out.seq, out.ack, out.window) = (header.seq, header.ack, header.window);
        out.options.timestamps = subflow.timestamps_now(now);
        out.flags = if flags.syn() { flags } else { flags | subflow.ecn_flags(false) };
        out.urgent = 0;
        out.payload = P::empty();
    }

    /// The subflow for a segment that is not bound by a window: one that can send, not suspected dead if there is
    /// such a one, with the smallest RTT.
    pub(super) fn best_subflow(&self) -> Option<usize> {
        (0..self.subflows.len())
            .filter(|&r| self.subflows[r].can_send())
            .min_by_key(|&r| (self.views[r].potentially_failed, self.views[r].backup, self.views[r].srtt))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{arrives, data, established};
    use crate::time::Instant;
    use crate::{Protocol, SubflowId};
    use wire::{DataNumber, Flags};

    /// RFC 8684 §3.3.3: the DATA_FIN takes an octet of the last mapping; RFC 9293 §3.9.1.2: PSH on the last data.
    #[test]
    fn the_last_data_is_pushed_and_carries_the_data_fin() {
        let mut c = established(Protocol::Mptcp, 1);
        c.offer(1_500);
        c.close(Instant::from_millis(1));
        let out: Vec<_> =
            std::iter::from_fn(|| c.transmit(Instant::from_millis(1))).map(|(_, segment)| segment).collect();
        let told = |at: usize| out[at].options.dss.and_then(|dss| dss.mapping.map(|m| (m.ssn, m.len, dss.data_fin)));
        assert_eq!((told(0), told(1), out.len()), (Some((1, 1_000, false)), Some((1_001, 501, true)), 2));
        assert_eq!((out[0].flags, out[1].flags), (Flags::ACK, Flags::ACK | Flags::PSH));
        assert_eq!((out[0].seq, out[1].seq), (1_001, 2_001));
    }

    #[test]
    fn the_data_ack_is_of_the_next_octet_expected() {
        let mut c = established(Protocol::Mptcp, 1);
        let first = c.data_ack();
        for seq in [1, 1_001] {
            let segment = data(&c, seq, u64::from(seq) - 1, 1_000, 1_000);
            arrives(&mut c, Instant::from_millis(1), 0, segment);
        }
        let (_, ack) = c.transmit(Instant::from_millis(1)).expect("every second segment is acknowledged");
        let data_ack = ack.options.dss.and_then(|dss| dss.data_ack);
        assert_eq!((ack.ack, data_ack), (7_001, Some(DataNumber::Long(first.plus(2_000).on_wire()))));
        assert!(c.transmit(Instant::from_millis(1)).is_none());
    }

    #[test]
    fn what_no_window_binds_goes_where_an_answer_is_likeliest_and_soonest() {
        let mut c = established(Protocol::Mptcp, 3);
        assert_eq!(c.best_subflow(), Some(0), "the shortest round trip");
        c.views[0].backup = true;
        assert_eq!(c.best_subflow(), Some(1));
        (c.views[1].potentially_failed, c.views[2].potentially_failed) = (true, true);
        assert_eq!(c.best_subflow(), Some(0), "a backup that works");
        c.reset_subflow(Instant::from_millis(1), 0, crate::ResetReason::Unspecified, true);
        assert_eq!(
            (c.best_subflow(), c.transmit(Instant::from_millis(1)).map(|(r, reset)| (r, reset.flags.rst()))),
            (Some(1), Some((SubflowId(0), true)))
        );
    }
}
