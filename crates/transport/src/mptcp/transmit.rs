//! What goes out: segments of the handshake and of the end, retransmissions, data ([`dispatch`](super::dispatch)),
//! acknowledgments.

use wire::{DataNumber, Dss, Ecn, Flags, Mapping, MpCapable, MpJoin, MptcpOption, RareOptions, SackBlocks, Segment};

use super::connection::Connection;
use super::first_windows::first_window;
use super::outgoing::{Attempt, Form, Header, Outgoing, blank};
use super::state::fallback::Mode;
use crate::algorithm::Capability;
use crate::names::SubflowId;
use crate::numbers::{Dsn, Theirs};
use crate::offset::Offset;
use crate::queue::Stream;
use crate::tcp::subflow::State;
use crate::tcp::transmit::DataSegment;
use crate::trace::Sent;
use crate::waits::Sending;

impl<P: Stream> Connection<P> {
    /// The next segment to send now and the subflow it goes out on. Call until `None`.
    pub fn transmit(&mut self, now_ns: u64) -> Option<(SubflowId, Segment<P>)> {
        let mut out = Outgoing::default();
        self.transmit_into(now_ns, &mut out).map(|subflow| (subflow, out.segment))
    }

    /// As [`transmit`](Self::transmit), with the segment written over that of `out`: a driver that keeps one for this
    /// purpose saves the copies. With `None`, `out` is what it was or nothing of use.
    #[inline]
    pub fn transmit_into(&mut self, now_ns: u64, out: &mut Outgoing<P>) -> Option<SubflowId> {
        let (subflow, form) = self.transmit_either(now_ns, out)?;
        if form != Form::Whole {
            out.expand();
        }
        Some(subflow)
    }

    /// As [`transmit_into`](Self::transmit_into); the answer says whether the segment is the compact one of `out`, or the
    /// whole one.
    #[inline]
    pub fn transmit_either(&mut self, now_ns: u64, out: &mut Outgoing<P>) -> Option<(SubflowId, Form)> {
        self.set_clock(now_ns);
        if self.due.is_nothing() {
            return None;
        }
        let r = self.transmit_due(now_ns, out)?;
        Some((SubflowId(r as u8), out.form))
    }

    fn transmit_due(&mut self, now_ns: u64, out: &mut Outgoing<P>) -> Option<usize> {
        (out.form, out.sending, out.ecn) = (Form::Whole, Sending::First, Ecn::NotEct);
        if self.due.is_before_data()
            && let Some(r) = self.transmit_first(now_ns, out)
        {
            self.observe(now_ns, Some(r));
            return Some(r);
        }
        if self.due.data {
            let sent = match self.transmit_full(now_ns, out) {
                Attempt::Sent(r) => Some(r),
                Attempt::Nothing => None,
                Attempt::Unknown => self.transmit_data(now_ns, out),
            };
            if sent.is_some() {
                return sent;
            }
            self.due.data = false;
            if self.due.frto_waits && self.release_retransmissions() {
                return self.transmit_due(now_ns, out);
            }
        }
        while let Some(r) = self.due.acks.pop() {
            if self.subflows[r].ack.now && (self.subflows[r].is_synchronised() || self.is_challenged_early(r)) {
                if self.is_known_usual(r) {
                    self.compact_acknowledgment(now_ns, r, out);
                } else {
                    self.acknowledgment(now_ns, r, &mut out.segment);
                    self.observe(now_ns, Some(r));
                }
                return Some(r);
            }
        }
        None
    }

    /// Whether an acknowledgment is due in SYN-RECEIVED: to a segment that is not acceptable (RFC 9293 §3.10.7.4).
    #[cold]
    fn is_challenged_early(&self, r: usize) -> bool {
        self.subflows[r].state == State::SynReceived
    }

    /// What goes before all data: SYN, reset, retransmissions, FIN, control options.
    fn transmit_first(&mut self, now_ns: u64, out: &mut Outgoing<P>) -> Option<usize> {
        while self.due.attention.0 != 0 {
            let r = self.due.attention.0.trailing_zeros() as usize;
            if self.transmit_urgent(now_ns, r, out) {
                return Some(r);
            }
            self.due.attention.pop();
        }
        if self.due.signals.0 != 0
            && let Some((r, segment)) = self.transmit_signal(now_ns)
        {
            self.usual.forget();
            out.segment = segment;
            return Some(r);
        }
        None
    }

    /// SYN, reset, retransmissions as the window allows, FIN.
    fn transmit_urgent(&mut self, now_ns: u64, r: usize, out: &mut Outgoing<P>) -> bool {
        if self.subflows[r].reset_due {
            self.subflows[r].reset_due = false;
            self.usual.forget();
            out.segment = self.reset(now_ns, r);
            return true;
        }
        if self.subflows[r].syn_due {
            self.subflows[r].syn_due = false;
            self.usual.forget();
            out.segment = self.syn(now_ns, r);
            return true;
        }
        if self.owes_third_ack_alone(r) {
            self.acknowledgment(now_ns, r, &mut out.segment);
            return true;
        }
        if self.subflows[r].probe_due && self.tail_loss_probe(now_ns, r, out) {
            return true;
        }
        if self.subflows[r].has_retransmission(&self.views[r]) && !self.holds_retransmissions(r) {
            let (subflow, view) = (&mut self.subflows[r], &mut self.views[r]);
            let Some((data, sending)) = subflow.retransmit(now_ns, view) else { return false };
            out.sending = sending;
            subflow.pace(now_ns, data.payload.len(), view);
            let deadline_ns = subflow.deadline_ns();
            self.wake_by(deadline_ns);
            if self.trace.is_some() {
                let again = self.subflows[r].board.sending_of(data.seq);
                let why = if again == Sending::Timeout { Sent::Timeout } else { Sent::Retransmission };
                self.tell_segment(now_ns, r, data.extent(), why);
            }
            self.data_segment::<false>(now_ns, r, data, out);
            return true;
        }
        if self.subflows[r].owes_fin() {
            self.fin(now_ns, r, out);
            return true;
        }
        false
    }

    /// Whether the third ACK goes ahead of the first data, as in the kernel, whose connect() returns once it is sent. The
    /// server's announcement then leaves before that data has arrived.
    fn owes_third_ack_alone(&self, r: usize) -> bool {
        let subflow = &self.subflows[r];
        r == 0
            && self.is_initiator()
            && self.config.kernel_paths.is_some()
            && self.mode == Mode::Mptcp
            && subflow.state == State::Established
            && subflow.ack.now
            && subflow.snd_nxt == 1
            && !self.is_fully_established()
    }

    /// New data went out on a subflow that is not clean.
    #[inline(never)]
    fn sent_unclean(&mut self, now_ns: u64, r: usize, len: usize) {
        self.note_sent(now_ns, r, len);
        self.subflows[r].pace(now_ns, len, &mut self.views[r]);
        let deadline_ns = self.subflows[r].deadline_ns();
        self.wake_by(deadline_ns);
    }

    /// For a control that asks for rates: new data, the last of the sequence numbers so far, is on its way.
    fn note_sent(&mut self, now_ns: u64, r: usize, len: usize) {
        let subflow = &mut self.subflows[r];
        let Some(rate) = &mut subflow.rate else { return };
        let mss = u64::from(self.views[r].mss);
        let in_flight = u64::from(self.views[r].in_flight) * mss;
        let restarts = in_flight <= mss && rate.is_limited();
        rate.sent(now_ns, subflow.snd_nxt, len as u32, in_flight);
        if restarts
            && let (Some(pacing), Some(to)) = (&mut subflow.pacing, self.controller.on_restart(&self.views, r, now_ns))
        {
            pacing.set_rate(to);
        }
    }

    /// While the peer may lack our key, the first data goes with MP_CAPABLE (RFC 8684 §3.1), which takes less room
    /// than a DSS.
    fn carries_capable(&self, r: usize, from: Offset) -> bool {
        self.mode == Mode::Mptcp
            && self.is_initiator()
            && !self.is_fully_established()
            && r == 0
            && from == Offset::FIRST
    }

    /// Data that follows what was sent before on subflow `r`, a FIN, or both.
    #[inline(never)]
    pub(super) fn first_transmission(
        &mut self,
        now_ns: u64,
        r: usize,
        offset: Offset,
        payload: P,
        fin: bool,
        out: &mut Outgoing<P>,
    ) {
        self.transmit_next::<false>(now_ns, r, (offset, payload, fin), out);
    }

    /// As [`first_transmission`](Self::first_transmission), in place. `MORE`: data, and more of it is written. Answers whether
    /// the congestion window has more room.
    #[inline(always)]
    pub(super) fn transmit_next<const MORE: bool>(
        &mut self,
        now_ns: u64,
        r: usize,
        (offset, payload, fin): (Offset, P, bool),
        out: &mut Outgoing<P>,
    ) -> bool {
        let subflow = &mut self.subflows[r];
        let seq = subflow.send_new(now_ns, (offset, &payload, fin), &mut self.views[r]);
        if MORE || !payload.is_empty() {
            subflow.note_run(seq, offset);
        }
        let (clean, has_room) = subflow.first_sent(now_ns, &mut self.views[r]);
        if clean {
            let deadline_ns = subflow.sender_deadline_ns(true);
            self.wake_by(deadline_ns);
        } else {
            self.sent_unclean(now_ns, r, payload.len());
        }
        self.data_segment::<MORE>(now_ns, r, DataSegment { seq, offset, payload, fin, part: false, new: true }, out);
        has_room
    }

    fn fin(&mut self, now_ns: u64, r: usize, out: &mut Outgoing<P>) {
        self.note_fin(r);
        let offset = self.tx.nxt();
        self.first_transmission(now_ns, r, offset, P::empty(), true, out);
        self.tell_sent(now_ns, r, (offset, 0, true), Sent::New);
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
        now_ns: u64,
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
            self.compact_data(now_ns, r, (seq, offset, payload), out);
            out.compact.flags = flags;
        } else {
            self.whole_data_segment(now_ns, r, data, flags, out);
        }
    }

    #[inline(never)]
    fn whole_data_segment(&mut self, now_ns: u64, r: usize, data: DataSegment<P>, flags: Flags, out: &mut Outgoing<P>) {
        let DataSegment { seq, offset, payload, fin, part, new } = data;
        let len = payload.len() as u64;
        let flags = if fin { flags | Flags::FIN } else { flags };
        let segment = &mut out.segment;
        self.segment_into(now_ns, r, seq, flags, segment);
        if self.mode == Mode::Mptcp && len > 0 {
            // A part of a segment repeats the mapping that the whole was sent with, and the checksum of all its bytes: a mapping
            // does not change (RFC 8684 §3.3.1), and Linux resets a subflow where another one begins within the first.
            let whole = if part { self.subflows[r].board.whole_of(seq) } else { None };
            let capable = self.carries_capable(r, offset);
            let (seq, offset, content) =
                whole.as_ref().map_or((seq, offset, &payload), |w| (w.seq, w.offset, &w.payload));
            let len = content.len() as u64;
            if capable {
                let checksum = self.checksum_of(Offset::FIRST, 1, len as u16, content);
                segment.options.dss = None;
                segment.options.rare = self.capable(Some((len as u16, checksum)));
            } else if let Some(dss) = &mut segment.options.dss {
                let end = self.ending.requested && offset + len == self.tx.end();
                if end {
                    self.usual.forget();
                    self.ending.data_fin_sent = true;
                }
                dss.data_fin = end;
                let (ssn, len) = (seq as u32, len as u16 + u16::from(end)); // RFC 8684 §3.3.3: DATA_FIN takes one octet
                let checksum = self.checksum_of(offset, ssn, len, content);
                dss.mapping =
                    Some(Mapping { dsn: DataNumber::Long(self.numbers.ours(offset).on_wire()), ssn, len, checksum });
            }
        } else if self.mode == Mode::Tcp && self.subflows[r].has_blocks() {
            // Blocks that fit beside a full segment would not: they go where the segment is short enough.
            let room = (u64::from(self.subflows[r].mss).saturating_sub(len) as usize).min(wire::MAX_OPTIONS_LEN);
            let room = room.saturating_sub(segment.options.len());
            self.subflows[r].sack_blocks(room, &mut segment.options.sack);
        }
        segment.payload = payload;
        let ecn = &mut self.subflows[r].ecn;
        if ecn.enabled && new && len > 0 {
            // Only new data is ECN-capable (RFC 3168 §6.1.2, §6.1.5).
            out.segment.flags = out.segment.flags | ecn.flags(true);
            out.ecn = if self.config.congestion.has(Capability::Ect1) { Ecn::Ect1 } else { Ecn::Ect0 };
        }
    }

    /// A bare acknowledgment.
    pub(super) fn acknowledgment(&mut self, now_ns: u64, r: usize, segment: &mut Segment<P>) {
        let seq = self.subflows[r].snd_nxt;
        self.segment_into(now_ns, r, seq, Flags::ACK, segment);
        let subflow = &self.subflows[r];
        if subflow.state == State::SynReceived {
            segment.options.dss = None; // the peer's numbers are not known
        } else if let Some(join) = subflow.join.filter(|j| subflow.active_open && !j.confirmed) {
            // The third ACK of MP_JOIN: nothing else until it is acknowledged (RFC 8684 §3.2).
            let (key, remote_key) = (self.keys.local, self.keys.remote.unwrap_or(0));
            let hmac = wire::keys::join_hmac_ack(key, remote_key, join.local_nonce, join.remote_nonce);
            segment.options.dss = None;
            segment.options.rare = rare(MptcpOption::MpJoin(MpJoin::Ack { hmac }));
        } else if self.mode == Mode::Mptcp && self.is_initiator() && !self.is_fully_established() && r == 0 {
            segment.options.dss = None;
            segment.options.rare = self.capable(None);
        } else if subflow.has_blocks() {
            let room = wire::MAX_OPTIONS_LEN - segment.options.len();
            self.subflows[r].sack_blocks(room, &mut segment.options.sack);
        }
        self.attach_fail(r, segment);
        let subflow = &mut self.subflows[r];
        if let Some((before, flags)) = subflow.ecn.take_before() {
            segment.ack = subflow.their_number(before).on_wire();
            segment.flags = Flags::ACK | flags;
            // That of the packet after it follows.
            self.owe_acknowledgment(r);
        }
    }

    /// The flags of our MP_CAPABLE.
    fn capable_flags(&self) -> u8 {
        let a = if self.config.checksum { CAPABLE_A } else { 0 };
        let c = if self.config.join_first_address { 0 } else { CAPABLE_C };
        CAPABLE_H | a | c
    }

    /// MP_CAPABLE of the third ACK: both keys (RFC 8684 §3.1).
    fn capable(&self, data: Option<(u16, Option<u16>)>) -> Option<Box<RareOptions>> {
        rare(MptcpOption::MpCapable(MpCapable {
            version: 1,
            flags: self.capable_flags(),
            sender_key: Some(self.keys.local),
            receiver_key: self.keys.remote,
            data,
        }))
    }

    /// A segment of an established subflow, with its timestamps, acknowledgment and window. With it the peer has
    /// the acknowledgment it was owed.
    pub(super) fn segment(&mut self, now_ns: u64, r: usize, seq: u64, flags: Flags) -> Segment<P> {
        let mut segment = blank();
        self.segment_into(now_ns, r, seq, flags, &mut segment);
        segment
    }

    /// As [`Self::segment`], written over `out`.
    #[inline(always)]
    pub(super) fn segment_into(&mut self, now_ns: u64, r: usize, seq: u64, flags: Flags, out: &mut Segment<P>) {
        match self.mode {
            Mode::Mptcp => {
                let data_ack = Some(DataNumber::Long(self.data_ack().on_wire()));
                out.options.dss = Some(Dss { data_ack, mapping: None, data_fin: false });
            }
            Mode::Tcp if self.fallback.tells() && r == self.fallback.subflow() => {
                out.options.dss = self.fallback.mapping()
            }
            Mode::Tcp => out.options.dss = None,
        }
        if !out.options.sack.is_empty() {
            out.options.sack = SackBlocks::default();
        }
        if out.options.rare.is_some() {
            out.options.rare = None;
        }
        let subflow = &mut self.subflows[r];
        let header = Header::of(now_ns, subflow, &mut self.rx, seq);
        (out.src_port, out.dst_port) = subflow.ports();
        (out.seq, out.ack, out.window) = (header.seq, header.ack, header.window);
        out.options.timestamps = subflow.timestamps_now(now_ns);
        out.flags = if flags.syn() { flags } else { flags | subflow.ecn.flags(false) };
        out.urgent = 0;
        out.payload = P::empty();
    }

    fn syn(&mut self, now_ns: u64, r: usize) -> Segment<P> {
        let passive = self.subflows[r].state == State::SynReceived;
        let mut flags = if passive { Flags::SYN | Flags::ACK } else { Flags::SYN };
        if passive && self.subflows[r].ecn.enabled {
            flags = flags | Flags::ECE;
        } else if !passive && self.config.tcp.ecn {
            flags = flags | Flags::ECE | Flags::CWR; // RFC 3168 §6.1.1
        }
        let seq = 0;
        let (rcv_ssthresh, unmoved) = (self.subflows[r].rcv_ssthresh, self.subflows[r].unmoved_window);
        let mut segment = self.segment(now_ns, r, seq, flags);
        // RFC 7323 §2.2: the window of a SYN is not scaled.
        segment.window = first_window(&self.config, !passive).min(0xffff) as u16;
        (self.subflows[r].rcv_ssthresh, self.subflows[r].unmoved_window) = (rcv_ssthresh, unmoved); // what it was told is in the SYN
        segment.options.dss = None;
        if !passive {
            segment.ack = 0;
            segment.options.timestamps =
                self.config.tcp.timestamps.then_some(wire::Timestamps { value: (now_ns / 1_000_000) as u32, echo: 0 });
        }
        let mptcp = self.syn_option(r, passive);
        segment.options.rare = Some(Box::new(RareOptions {
            mss: Some(self.config.mss),
            window_scale: self.subflows[r].offered_scale(self.rx.window.scale(), passive),
            sack_permitted: if passive { self.subflows[r].sack } else { self.config.tcp.offers_sack() },
            mptcp: mptcp.into_iter().collect(),
            unknown: Vec::new(),
        }));
        let deadline_ns = self.subflows[r].syn_sent(now_ns);
        self.wake_by(deadline_ns);
        segment
    }

    fn syn_option(&mut self, r: usize, passive: bool) -> Option<MptcpOption> {
        if self.mode == Mode::Tcp {
            return None;
        }
        let local_id = self.subflows[r].local_id;
        let first = self.config.kernel_paths.as_ref().map_or(u8::MAX, |kernel| kernel.first_without_endpoint);
        let address_id = self.addresses.number(local_id, first);
        let subflow = &self.subflows[r];
        Some(match (subflow.join, passive) {
            (None, _) => MptcpOption::MpCapable(MpCapable {
                version: 1,
                flags: self.capable_flags(),
                sender_key: passive.then_some(self.keys.local),
                receiver_key: None,
                data: None,
            }),
            (Some(join), false) => MptcpOption::MpJoin(MpJoin::Syn {
                backup: subflow.backup,
                address_id,
                token: wire::keys::token(self.keys.remote.unwrap_or(0)),
                nonce: join.local_nonce,
            }),
            (Some(join), true) => {
                let (local, remote) = (self.keys.local, self.keys.remote.unwrap_or(0));
                MptcpOption::MpJoin(MpJoin::SynAck {
                    backup: subflow.backup,
                    address_id,
                    hmac: wire::keys::join_hmac_syn_ack(remote, local, join.remote_nonce, join.local_nonce),
                    nonce: join.local_nonce,
                })
            }
        })
    }

    /// The DATA_ACK: the next data sequence number expected, the DATA_FIN counted (RFC 8684 §3.3.3).
    #[inline]
    pub(super) fn data_ack(&self) -> Dsn<Theirs> {
        self.numbers.theirs(self.rx.nxt()).plus(u64::from(self.rx.ended()))
    }

    /// A DATA_FIN by itself: a mapping of length 1, subflow sequence number 0, no bytes (RFC 8684 §3.3.3).
    pub(super) fn transmit_data_fin(&mut self, now_ns: u64, out: &mut Outgoing<P>) -> Option<usize> {
        if self.mode != Mode::Mptcp
            || !self.ending.requested
            || self.ending.fin_acknowledged
            || (self.ending.data_fin_sent && !self.ending.data_fin_due)
        {
            return None;
        }
        let r = self.best_subflow()?;
        self.ending.data_fin_due = false;
        self.usual.forget();
        self.ending.data_fin_sent = true;
        let seq = self.subflows[r].snd_nxt;
        let segment = &mut out.segment;
        self.segment_into(now_ns, r, seq, Flags::ACK, segment);
        if let Some(dss) = &mut segment.options.dss {
            let (end, ssn, len) = (self.tx.end(), 0, 1);
            let checksum = self.checksum_of(end, ssn, len, &P::empty());
            dss.data_fin = true;
            dss.mapping = Some(Mapping { dsn: DataNumber::Long(self.numbers.ours(end).on_wire()), ssn, len, checksum });
        }
        self.arm_data_timer(now_ns);
        Some(r)
    }

    /// The subflow for a segment that is not bound by a window: one that can send, not suspected dead if there is
    /// such a one, with the smallest RTT.
    pub(super) fn best_subflow(&self) -> Option<usize> {
        (0..self.subflows.len())
            .filter(|&r| self.subflows[r].can_send())
            .min_by_key(|&r| (self.views[r].potentially_failed, self.views[r].backup, self.views[r].srtt_ns))
    }
}

/// Flags of MP_CAPABLE (RFC 8684 §3.1). A: checksums are required.
pub(super) const CAPABLE_A: u8 = 0x80;
/// C: no joins to the address and port of the first subflow.
pub(super) const CAPABLE_C: u8 = 0x20;
/// B: an extension that is not defined yet.
pub(super) const CAPABLE_B: u8 = 0x40;
/// H: HMAC-SHA256.
pub(super) const CAPABLE_H: u8 = 0x01;

fn rare(option: MptcpOption) -> Option<Box<RareOptions>> {
    Some(Box::new(RareOptions { mptcp: vec![option], ..RareOptions::default() }))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{MS, arrives, data, established};
    use crate::{Protocol, SubflowId};
    use wire::{DataNumber, Flags};

    /// RFC 8684 §3.3.3: the DATA_FIN takes an octet of the last mapping; RFC 9293 §3.9.1.2: PSH on the last data.
    #[test]
    fn the_last_data_is_pushed_and_carries_the_data_fin() {
        let mut c = established(Protocol::Mptcp, 1);
        c.offer(1_500);
        c.close(MS);
        let out: Vec<_> = std::iter::from_fn(|| c.transmit(MS)).map(|(_, segment)| segment).collect();
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
            arrives(&mut c, MS, 0, segment);
        }
        let (_, ack) = c.transmit(MS).expect("every second segment is acknowledged");
        let data_ack = ack.options.dss.and_then(|dss| dss.data_ack);
        assert_eq!((ack.ack, data_ack), (7_001, Some(DataNumber::Long(first.plus(2_000).on_wire()))));
        assert!(c.transmit(MS).is_none());
    }

    #[test]
    fn what_no_window_binds_goes_where_an_answer_is_likeliest_and_soonest() {
        let mut c = established(Protocol::Mptcp, 3);
        assert_eq!(c.best_subflow(), Some(0), "the shortest round trip");
        c.views[0].backup = true;
        assert_eq!(c.best_subflow(), Some(1));
        (c.views[1].potentially_failed, c.views[2].potentially_failed) = (true, true);
        assert_eq!(c.best_subflow(), Some(0), "a backup that works");
        c.reset_subflow(MS, 0, crate::ResetReason::Unspecified, true);
        assert_eq!(
            (c.best_subflow(), c.transmit(MS).map(|(r, reset)| (r, reset.flags.rst()))),
            (Some(1), Some((SubflowId(0), true)))
        );
    }
}
