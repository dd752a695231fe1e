//! A segment arrives (RFC 9293 §3.10.7.4).

use crate::mptcp::options::mptcp_options;
use wire::{Compact, Dss, Flags, MptcpOption, SackBlocks, Segment};

use super::Connection;
use crate::Receiver;
use crate::names::SubflowId;
use crate::numbers::Dsn;
use crate::queue::Sendable;
use crate::tcp::arrival::{Arrival, known};
use crate::tcp::control::Control;
use crate::tcp::subflow::State;
use crate::tcp::subflow::receive::Verdict;
use crate::time::Instant;
use crate::trace::{Direction, FallbackReason};

/// Address ids in one REMOVE_ADDR: what fits beside timestamps.
const MAX_REMOVED: usize = 8;

impl<P: Sendable> Connection<P> {
    /// A segment for `subflow`; its content is taken out.
    pub(crate) fn receive(&mut self, now: Instant, subflow: SubflowId, segment: &mut Segment<P>) {
        if let Some(mut compact) = Compact::of(segment) {
            self.receive_compact(now, subflow, &mut compact, &SackBlocks::NONE, segment);
        } else if let Some((mut compact, blocks)) = Compact::selective_of(segment) {
            self.receive_compact(now, subflow, &mut compact, &blocks, segment);
        } else {
            self.set_clock(now);
            self.receive_whole(now, subflow.0 as usize, segment);
        }
    }

    /// As [`receive`](Self::receive), for a segment in little room; one with SACK blocks has no content. `whole` is written
    /// over if need be.
    #[inline(always)]
    pub(crate) fn receive_compact(
        &mut self,
        now: Instant,
        subflow: SubflowId,
        segment: &mut Compact<P>,
        blocks: &SackBlocks,
        whole: &mut Segment<P>,
    ) {
        self.set_clock(now);
        let r = subflow.0 as usize;
        if !blocks.is_empty() || !self.usual.knows(r) {
            self.receive_in_doubt(now, r, segment, blocks, whole);
        } else if segment.payload.is_empty() {
            self.receive_usual::<{ known::BARE }>(now, r, segment, &SackBlocks::NONE, whole);
        } else {
            self.receive_usual::<{ known::DATA }>(now, r, segment, &SackBlocks::NONE, whole);
        }
    }

    /// A segment in little room for a subflow that may be usual. Apart, so that who knows that it is need not keep anything.
    #[inline(never)]
    fn receive_in_doubt(
        &mut self,
        now: Instant,
        r: usize,
        segment: &mut Compact<P>,
        blocks: &SackBlocks,
        whole: &mut Segment<P>,
    ) {
        if !self.is_known_usual(r) {
            self.receive_expanded(now, r, segment, blocks, whole);
        } else if segment.payload.is_empty() {
            self.receive_usual::<{ known::BARE }>(now, r, segment, blocks, whole);
        } else {
            self.receive_usual::<{ known::DATA }>(now, r, segment, blocks, whole);
        }
    }

    /// A segment in little room that may say anything.
    #[cold]
    #[inline(never)]
    fn receive_expanded(
        &mut self,
        now: Instant,
        r: usize,
        segment: &mut Compact<P>,
        blocks: &SackBlocks,
        whole: &mut Segment<P>,
    ) {
        segment.expand_into(whole);
        whole.options.sack = *blocks;
        self.receive_whole(now, r, whole);
    }

    /// Takes in a segment that is what nearly all are: data or an acknowledgment within the windows, on a usual subflow, so
    /// that nothing is to be looked for but what these say. What turns out to be something else goes the way of all.
    #[inline(never)]
    fn receive_usual<const KNOWN: u8>(
        &mut self,
        now: Instant,
        r: usize,
        segment: &mut Compact<P>,
        blocks: &SackBlocks,
        whole: &mut Segment<P>,
    ) {
        let subflow = &self.subflows[r];
        let Some((seq, ahead, ack)) = subflow.judge_plain(segment) else {
            return self.receive_expanded(now, r, segment, blocks, whole);
        };
        let timestamps = segment.timestamps();
        let window = subflow.scales().window(segment.window);
        let empty = KNOWN == known::BARE;
        debug_assert_eq!(empty, segment.payload.is_empty());
        let Some((offset, data_ack)) = self.usual_place(segment, empty, seq, ahead) else {
            return self.receive_expanded(now, r, segment, blocks, whole);
        };
        self.usual.note_room(r);
        self.timers.heard();
        self.hear_data_ack(now, r, (seq, ack), data_ack, window);
        let arrival = Arrival {
            seq,
            ack,
            window: segment.window,
            timestamps,
            sack: blocks,
            empty,
            signals: false,
            marked: false,
        };
        self.acknowledge::<KNOWN>(now, r, arrival);
        if !empty {
            if segment.flags.psh() {
                self.note_push(r);
            }
            let payload = std::mem::replace(&mut segment.payload, P::empty());
            self.take_data::<KNOWN>(now, r, seq, (offset, timestamps), payload);
        }
        // What is usual is not about to end.
        debug_assert!(!self.ending.is_end_acknowledged() && !self.rx.is_ending());
        debug_assert!(self.next_timeout() <= self.subflows[r].deadline());
    }

    #[inline(never)]
    fn receive_whole(&mut self, now: Instant, r: usize, segment: &mut Segment<P>) {
        self.usual.note_room(r);
        self.timers.heard();
        if self.concerns_subflow(r, segment) {
            self.usual.forget_of(r);
        } else {
            self.usual.forget();
        }
        self.receive_any(now, r, segment);
        if self.ending.is_read_closed() {
            self.refuse_data(now);
        }
        self.observe(now, None);
        let deadline = self.subflows[r].deadline();
        self.wake_by(deadline);
    }

    /// Whether the segment bears on its subflow only: data or an acknowledgment, whatever its place.
    #[inline]
    fn concerns_subflow(&self, r: usize, segment: &Segment<P>) -> bool {
        segment.flags.is_plain()
            && segment.options.rare.is_none()
            && self.subflows[r].state() == State::Established
            && self.is_of_data_only(segment.options.dss.as_ref())
    }

    fn receive_any(&mut self, now: Instant, r: usize, segment: &mut Segment<P>) {
        match self.subflows[r].state() {
            State::Closed => self.answer_with_reset(r, segment), // RFC 9293 §3.10.7.1
            State::SynSent => self.receive_in_syn_sent(now, r, segment),
            State::SynReceived => {
                if self.receive_in_syn_received(now, r, segment) {
                    self.receive_synchronised(now, r, segment);
                }
            }
            _ => self.receive_synchronised(now, r, segment),
        }
    }

    fn receive_synchronised(&mut self, now: Instant, r: usize, segment: &mut Segment<P>) {
        let open = self.open_on_subflow();
        let subflow = &mut self.subflows[r];
        let (seq, ack) = match subflow.judge(now, segment, open) {
            Verdict::Process { seq, ack } => (seq, ack),
            Verdict::Acknowledge => return self.owe_acknowledgment(r),
            Verdict::Challenge => return self.challenge(now, r),
            Verdict::Reset => {
                if !self.receive_fastclose(now, r, segment) {
                    self.receive_reset(now, r, segment);
                }
                return;
            }
            Verdict::Drop => return,
        };
        if subflow.is_active_open() && subflow.join().is_some_and(|j| !j.confirmed) {
            subflow.pass_echo(segment.options.timestamps);
            self.join_acknowledged(now, r);
        }
        if !self.contexts[r].removal_at().is_never() {
            self.sign_of_life(r);
        }
        if !self.fallback.receives_single() && !self.receive_mptcp(now, r, (seq, ack), segment) {
            return;
        }
        if self.subflows[r].has_ecn() {
            self.hear_mark(now, r, segment.flags);
        }
        let arrival = Arrival {
            seq,
            ack,
            window: segment.window,
            timestamps: segment.options.timestamps,
            sack: &segment.options.sack,
            empty: segment.payload.is_empty(),
            signals: segment.flags.fin() || segment.options.rare.is_some(),
            marked: segment.flags.ece(),
        };
        self.acknowledge::<{ known::NOTHING }>(now, r, arrival);
        if let Some(mapping) = self.lone_data_fin(segment) {
            self.receive_lone_data_fin(r, &mapping);
        }
        // Seventh and eighth: data and FIN. Nothing follows the peer's FIN (RFC 9293 §3.10.7.4, seventh).
        let (fin, data_len) = self.trim_to_window(r, seq, segment);
        let open = matches!(self.subflows[r].state(), State::Established | State::FinWait1 | State::FinWait2);
        if data_len > 0 && open {
            let subflow = &mut self.subflows[r];
            if subflow.note_ecn_of_data() {
                self.owe_acknowledgment(r);
            }
            if segment.flags.psh() {
                self.note_push(r);
            }
            let payload = std::mem::replace(&mut segment.payload, P::empty());
            self.receive_data(now, r, seq, &segment.options, payload);
        }
        if fin && open && self.subflows[r].state() != State::Closed {
            let subflow = &mut self.subflows[r];
            subflow.note_peer_fin(seq + data_len);
            // Data behind a hole is acknowledged as any by Linux, also with a FIN (`tcp_data_queue_ofo`).
            let behind = data_len > 0 && seq + data_len > subflow.rcv_nxt();
            if !(behind && self.config.tcp.receiver == Receiver::Linux) {
                self.owe_acknowledgment(r);
            }
        }
        self.receive_fin(now, r);
        self.progress_close(now);
    }

    /// Data came with PSH: it is acknowledged as soon as everything is read.
    #[inline]
    pub(super) fn note_push(&mut self, r: usize) {
        if self.config.tcp.quick_acks > 0 {
            self.due.pushed.insert(r);
            self.subflows[r].note_push();
        }
    }

    /// The ACK field and what goes with it (RFC 9293 §3.10.7.4, fifth).
    #[inline(always)]
    fn acknowledge<const KNOWN: u8>(&mut self, now: Instant, r: usize, arrival: Arrival<'_>) {
        let usual = KNOWN != known::NOTHING;
        let Arrival { seq, ack, .. } = arrival;
        let subflow = &mut self.subflows[r];
        debug_assert!(!usual || ack >= subflow.snd_una());
        let fresh = subflow.is_window_fresh(seq, if usual { u64::MAX } else { ack });
        if usual {
            subflow.keep_timestamp(seq, arrival.timestamps);
        }
        let window = subflow.scales().window(arrival.window);
        self.level.hear_window(subflow, ack, window);
        // A usual subflow has neither SYN nor FIN outstanding. What is known before the list is looked at spares a receiver that.
        let outstanding = if usual { subflow.snd_una() < subflow.snd_nxt() } else { !subflow.board().is_empty() };
        debug_assert_eq!(outstanding, !subflow.board().is_empty());
        if outstanding {
            let clean_before = subflow.is_known_clean();
            if KNOWN == known::BARE {
                subflow.acknowledged(now, arrival, Control::new(&mut self.views, r, &mut self.controller));
            } else {
                subflow.acknowledged_apart(now, arrival, Control::new(&mut self.views, r, &mut self.controller));
            }
            self.due.data = true;
            let clean = subflow.is_known_clean();
            let deadline = subflow.sender_deadline(clean);
            self.wake_by(deadline);
            if !(clean && clean_before && usual) {
                self.note_repairs(r);
                if usual {
                    self.progress_close(now); // a tail loss probe may have taken the last data without a FIN
                }
            }
        } else if !usual {
            subflow.note_idle_window(arrival.window);
        }
        if !usual {
            self.observe(now, Some(r));
        }
        self.acknowledge_stream::<KNOWN>(now, r, ack, (window, fresh), outstanding);
        if usual {
            return;
        }
        if self.narrow.contains(r) {
            self.heard_while_held(now, r);
        }
        if outstanding && self.subflows[r].is_fin_acknowledged() {
            self.fin_acknowledged_on(now, r);
        }
    }

    /// An acknowledgment may have left something to be sent again.
    #[inline(never)]
    fn note_repairs(&mut self, r: usize) {
        self.due.frto_waits |= self.holds_retransmissions(r);
        let subflow = &self.subflows[r];
        if subflow.has_urgent() {
            self.due.attention.insert(r);
        }
    }

    /// What a segment says of marks on the way to the peer (RFC 3168 §6.1.2).
    fn hear_mark(&mut self, now: Instant, r: usize, flags: Flags) {
        let abe = self.config.tcp.abe;
        let subflow = &mut self.subflows[r];
        if subflow.is_marked(flags) && !subflow.board().is_empty() {
            subflow.marked(now, &mut Control::new(&mut self.views, r, &mut self.controller), abe);
        }
    }

    /// What a segment says of MPTCP, or by having no option of it. Answers whether it is to be processed further.
    fn receive_mptcp(&mut self, now: Instant, r: usize, (seq, ack): (u64, u64), segment: &Segment<P>) -> bool {
        if segment.options.rare.is_some() && self.receive_fastclose(now, r, segment) {
            return false;
        }
        match &segment.options.dss {
            Some(Dss { mapping: Some(mapping), data_fin: false, .. }) if mapping.len == 0 => {
                self.receive_infinite_mapping(now, r, mapping);
            }
            _ if !self.speaks_properly(now, r, ack, segment) => return false,
            _ => {}
        }
        if self.level.is_multipath() {
            self.receive_signal(now, r, (seq, ack), segment);
        }
        if segment.options.rare.is_some() {
            self.receive_options(now, r, segment);
        }
        self.subflows[r].state() != State::Closed
    }

    /// Whether the peer must have our keys to send a DATA_ACK here (RFC 8684 §3.1). Linux takes only the first data for that
    /// (`check_fully_established`): while it is missing, acknowledgments repeat the keys and have no room for SACK.
    fn shows_keys(&self, r: usize, seq: u64) -> bool {
        self.config.tcp.receiver != Receiver::Linux || !self.owes_keys(r) || seq == 1
    }

    /// What a segment says at the data level.
    fn receive_signal(&mut self, now: Instant, r: usize, place: (u64, u64), segment: &Segment<P>) {
        match segment.options.dss {
            Some(Dss { data_ack: Some(number), .. }) => {
                if self.shows_keys(r, place.0) {
                    self.note_fully_established(now);
                }
                let reference = self.numbers.ours(self.tx.una());
                let ahead = self.numbers.our_place(Dsn::nearest(number, reference));
                let (sent, fin) = (self.tx.nxt(), u64::from(self.ending.is_data_fin_sent()));
                // An acknowledgment of what was never sent is ignored, like one of the past.
                if ahead <= sent + fin {
                    if self.ending.is_data_fin_sent()
                        && ahead.octets() == self.tx.end().octets().wrapping_add(1)
                        && sent == self.tx.end()
                    {
                        self.ending.note_end_acknowledged();
                    }
                    let window = self.subflows[r].scales().window(segment.window);
                    let window = self.window_as_kept(r, place, window);
                    self.data_acknowledged(now, ahead.min(sent), window);
                }
            }
            None if self.is_initiator() && !self.is_fully_established() && !segment.payload.is_empty() && r == 0 => {
                // Data without DSS before anything of MPTCP was seen: the peer or the path speaks TCP (RFC 8684 §3.7).
                self.fall_back(now, r, FallbackReason::OptionsLost);
            }
            _ => {}
        }
    }

    /// The options of a segment within the window, DSS apart. A new option is entered here: the match names them all.
    fn receive_options(&mut self, now: Instant, r: usize, segment: &Segment<P>) {
        for option in mptcp_options(segment) {
            self.tell_option(now, r, option, Direction::Received);
            match option {
                MptcpOption::AddAddr(add) => self.receive_add_addr(now, r, add),
                MptcpOption::RemoveAddr(ids) => {
                    for &id in ids.iter().take(MAX_REMOVED) {
                        self.receive_remove_addr(now, id);
                    }
                }
                MptcpOption::MpPrio { backup } => self.receive_prio(r, *backup),
                MptcpOption::MpFail { dsn } => self.receive_fail(now, r, Dsn::acknowledged(*dsn)),
                // They belong to the handshake of the connection or of a subflow, which is over.
                MptcpOption::MpCapable(_) | MptcpOption::MpJoin(_) => {}
                // Looked for before the segment's place is, and on a reset.
                MptcpOption::MpFastclose { .. } | MptcpOption::MpTcpRst { .. } => {}
                // Unknown subtypes are ignored (RFC 8684 §3.8), and so is version 0.
                MptcpOption::Unknown(_) | MptcpOption::Version0(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{WINDOW, arrives, data, established, segment, sent, signal};
    use super::*;
    use crate::Protocol;
    use crate::offset::Offset;

    /// RFC 9293 §3.10.7.4, fifth, at the data level: what was never sent cannot have arrived.
    #[test]
    fn a_data_ack_of_what_was_never_sent_is_ignored() {
        let mut c = established(Protocol::Mptcp, 1);
        c.offer(2_000);
        assert_eq!(sent(&mut c, Instant::from_millis(1)), [(0, 0, 1_000), (0, 1_000, 1_000)]);
        let beyond = signal(&c, 1, 1_001, 2_001);
        arrives(&mut c, Instant::from_millis(11), 0, beyond);
        assert_eq!((c.tx.una().octets(), c.subflows[0].snd_una()), (0, 1_001));
        let within = signal(&c, 1, 2_001, 2_000);
        arrives(&mut c, Instant::from_millis(12), 0, within);
        assert_eq!((c.tx.una().octets(), c.subflows[0].snd_una()), (2_000, 2_001));
    }

    /// RFC 8684 §3.3.1: a mapping counts from its own subflow sequence number. A middlebox has cut a segment of 1,000 octets in two,
    /// each of which has the mapping of all.
    #[test]
    fn both_parts_of_a_segment_stand_where_its_mapping_says() {
        let mut c = established(Protocol::Mptcp, 1);
        for (seq, len) in [(1, 100), (101, 900)] {
            let mut part = data(&c, seq, u64::from(seq) - 1, len, 1_000);
            part.options.dss = data(&c, 1, 0, len, 1_000).options.dss;
            arrives(&mut c, Instant::from_millis(1), 0, part);
        }
        assert_eq!((c.rx.nxt().octets(), c.is_fallback()), (1_000, false));
    }

    /// RFC 8684 §3.7: on the only subflow data without a mapping continues the stream, which is TCP's from then on. This mapping is
    /// of other octets.
    #[test]
    fn a_mapping_of_other_octets_is_none() {
        let mut c = established(Protocol::Mptcp, 1);
        for seq in [1, 101] {
            let mut other = data(&c, seq, 0, 100, 100);
            other.options.dss = data(&c, 1, 0, 100, 100).options.dss;
            arrives(&mut c, Instant::from_millis(1), 0, other);
            let expected = if seq == 1 { (false, 100) } else { (true, 200) };
            assert_eq!((c.is_fallback(), c.rx.nxt().octets()), expected);
        }
    }

    /// RFC 9293 §3.10.7.4, SND.WL1: a segment from further back does not say what room there is.
    #[test]
    fn the_window_of_a_segment_that_was_overtaken_does_not_count() {
        let mut c = established(Protocol::Tcp, 1);
        arrives(&mut c, Instant::from_millis(1), 0, Segment { window: 5_000, ..segment(201, 1, 100) });
        assert_eq!(c.tx.right(), Offset::after(5_000));
        arrives(&mut c, Instant::from_millis(2), 0, Segment { window: 60_000, ..segment(1, 1, 100) });
        assert_eq!((c.tx.right(), c.rx.nxt().octets()), (Offset::after(5_000), 100));
    }

    /// RFC 9293 §3.10.7.4, first: what lies beyond the window is cut off, and the FIN behind it.
    #[test]
    fn a_fin_goes_with_the_data_that_finds_no_room() {
        let fin = |len: u64| Segment { flags: Flags::ACK | Flags::FIN, ..segment(1, 1, len as u32) };
        let mut c = established(Protocol::Tcp, 1);
        arrives(&mut c, Instant::from_millis(1), 0, fin(WINDOW + 500));
        assert_eq!((c.rx.nxt().octets(), c.subflows[0].state()), (WINDOW, State::Established));
        let mut c = established(Protocol::Tcp, 1);
        arrives(&mut c, Instant::from_millis(1), 0, fin(WINDOW));
        assert_eq!((c.rx.nxt().octets(), c.subflows[0].state()), (WINDOW, State::CloseWait));
    }

    /// RFC 5961 §7.
    #[test]
    fn challenges_are_answered_now_and_then() {
        let mut c = established(Protocol::Mptcp, 1);
        let mut challenged = |now| {
            arrives(&mut c, now, 0, Segment { flags: Flags::SYN, ..segment(1, 1, 0) });
            c.transmit(now).is_some()
        };
        assert_eq!(
            [1, 2, 500, 501, 502].map(|ms| challenged(Instant::from_millis(ms))),
            [true, false, false, true, false]
        );
    }
}
