//! The short way while losses are repaired. A subflow is steady when its handshake is over, nothing of its connection is about
//! to end, and nothing of MPTCP is to be settled on it: of a segment, only data, acknowledgment and window are then to be
//! looked at. What is done here is what would be done in `receive.rs` and `transmit.rs`; whatever is in doubt goes there. Tests
//! compare the two ([`TcpOptions::shortcuts`](crate::TcpOptions::shortcuts)).

use wire::compact::{HAS_DATA_ACK, HAS_MAPPING};
use wire::{Compact, SackBlock, SackBlocks};

use super::connection::Connection;
use super::outgoing::{Form, Outgoing};
use super::state::fallback::Mode;
use crate::numbers::SeqNumber;
use crate::offset::Offset;
use crate::queue::Stream;
use crate::tcp::sender::Heard;
use crate::tcp::subflow::State;

impl<P: Stream> Connection<P> {
    /// Whether subflow `r` is steady. What this depends on changes with a call of `unsettle`, or with a segment that is in
    /// doubt on its subflow.
    fn is_steady(&self, r: usize) -> bool {
        let subflow = &self.subflows[r];
        let connection = match self.mode {
            Mode::Tcp => self.fallback.receives_single() && r == self.fallback.subflow() && !self.fallback.tells(),
            Mode::Mptcp => {
                self.fully_established
                    && !self.fallback.receives_single()
                    && !self.ending.data_fin_sent
                    && !self.fallback.checksum()
            }
        };
        connection
            && !self.ending.read_closed
            && !self.narrow.contains(r)
            && subflow.state == State::Established
            && !subflow.fin_requested
            && subflow.fin_at.is_none()
            && subflow.sack
            && !subflow.ecn.enabled
            && subflow.join.is_none_or(|j| j.confirmed)
            && self.contexts[r].held.is_none()
            && self.established
            && !self.removals
            && !self.rx.is_ending()
            && self.short.enabled()
    }

    /// As [`is_steady`](Self::is_steady), from memory where it is known.
    #[inline]
    pub(super) fn is_known_steady(&mut self, r: usize) -> bool {
        if self.short.is_steady(r) {
            debug_assert!(self.is_steady(r));
            return true;
        }
        let steady = self.is_steady(r);
        if steady {
            self.short.note_steady(r);
        }
        steady
    }

    /// Takes in a bare acknowledgment with these SACK blocks, of which there may be none, if the subflow is steady and
    /// something outstanding. False: nothing was done.
    #[inline(never)]
    pub(super) fn receive_acknowledgment(
        &mut self,
        now_ns: u64,
        r: usize,
        segment: &Compact<P>,
        blocks: &[SackBlock],
    ) -> bool {
        if !segment.payload.is_empty() || !self.is_known_steady(r) {
            return false;
        }
        let subflow = &mut self.subflows[r];
        let (seq, ack) = (subflow.rcv_nxt, subflow.our_seq(segment.ack));
        if !segment.flags.is_plain()
            || SeqNumber::sent(segment.seq) != subflow.their_number(seq)
            || ack < subflow.snd_una
            || ack > subflow.snd_nxt
            || subflow.board.is_empty()
        {
            return false;
        }
        let mut to = Offset::FIRST;
        if self.mode == Mode::Mptcp {
            let Some(data_ack) = self.plain_data_ack(segment, HAS_DATA_ACK) else { return false };
            to = data_ack;
        }
        let subflow = &mut self.subflows[r];
        if !subflow.check_timestamps(seq, segment.timestamps()) {
            return false;
        }
        // From here on everything is as in `receive_synchronised`.
        let window = u64::from(segment.window) << subflow.snd_wscale;
        let fresh = seq >= subflow.snd_wl1;
        if fresh {
            subflow.snd_wl1 = seq;
        }
        self.short.note_room(r);
        self.short.disturb(r);
        self.due.data = true;
        if self.mode == Mode::Mptcp {
            self.subflows[r].hear_window(ack, window);
            self.data_acknowledged(now_ns, to, window);
        }
        let heard = Heard {
            ack,
            window: segment.window,
            timestamps: segment.timestamps(),
            blocks,
            empty: true,
            signals: false,
            marked: false,
        };
        let subflow = &mut self.subflows[r];
        subflow.acknowledged(now_ns, &heard, &mut self.views, r, &mut self.controller);
        let (attention, deadline_ns) = (subflow.board.has_unrepaired() || subflow.probe_due, subflow.deadline_ns());
        if attention {
            self.due.attention.insert(r);
        }
        self.due.frto_waits |= self.holds_retransmissions(r);
        if self.mode == Mode::Tcp {
            let to = self.acknowledged_by_subflow(r, ack);
            self.acknowledged_on_subflow(now_ns, to, window, fresh);
        }
        self.progress_close(now_ns);
        self.wake_by(deadline_ns);
        true
    }

    /// Whether data up to `end` of the stream goes out on the steady subflow `r` with nothing but its mapping.
    pub(super) fn is_compact(&self, r: usize, end: Offset) -> bool {
        match self.mode {
            Mode::Tcp => !self.subflows[r].has_blocks(),
            Mode::Mptcp => !self.ending.requested || end != self.tx.end(),
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

    /// A bare acknowledgment of a steady subflow without anything to report.
    #[inline(always)]
    pub(super) fn compact_acknowledgment(&mut self, now_ns: u64, r: usize, out: &mut Outgoing<P>) {
        out.form = Form::Compact;
        let seq = self.subflows[r].snd_nxt;
        self.compact_into(now_ns, r, seq, &mut out.compact);
        out.compact.payload = P::empty();
    }

    /// A bare acknowledgment of a steady subflow, with what it has to report.
    pub(super) fn selective_acknowledgment(&mut self, now_ns: u64, r: usize, out: &mut Outgoing<P>) {
        self.compact_acknowledgment(now_ns, r, out);
        let subflow = &mut self.subflows[r];
        if subflow.has_blocks() {
            out.form = Form::Selective;
            out.blocks = SackBlocks::default();
            let taken = out.compact.header_len() - wire::TCP_HEADER_LEN;
            subflow.sack_blocks(wire::MAX_OPTIONS_LEN - taken, &mut out.blocks);
        }
    }
}
