//! Back to TCP: where options are lost on the way, and by the infinite mapping (RFC 8684 §3.7).

use wire::Mapping;

use super::Connection;
use super::checksum::Broken;
use crate::mptcp::state::reset::ResetReason;
use crate::names::SubflowId;
use crate::numbers::Dsn;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::reassembly::Part;
use crate::tcp::run::Run;
use crate::tcp::subflow::State;
use crate::time::Instant;
use crate::trace::{FallbackReason, TraceEvent};

impl<P: Sendable> Connection<P> {
    /// The subflow sequence number of the first byte that is in order and was not given to the connection, because its
    /// checksum failed or is not known yet; else of the next byte expected.
    fn first_undelivered(&self, r: usize) -> u64 {
        let context = &self.contexts[r];
        let held = context.held.as_ref().map(|held| &held.pieces);
        let waiting = held.or(context.verifying.as_ref().map(|v| &v.pieces));
        waiting.and_then(|pieces| pieces.first()).map_or(self.subflows[r].rcv_nxt(), |p| p.at)
    }

    /// What was sent on subflow `r` and is not acknowledged at the data level, when it is contiguous: only then an
    /// infinite mapping tells where it belongs.
    fn contiguous(&self, r: usize) -> Option<Run> {
        let (run, subflow_nxt) = (self.subflows[r].run(), self.subflows[r].snd_nxt());
        if self.tx.una() == self.tx.nxt() {
            return Some(Run { seq: subflow_nxt, offset: self.tx.nxt() });
        }
        let whole = run.offset <= self.tx.una() && run.offset + (subflow_nxt - run.seq) == self.tx.nxt();
        whole.then_some(run)
    }

    /// Data came without a mapping, in either sense. On the first and only subflow it continues the stream; on
    /// others "no data can be delivered to the application layer, and no fallback signal can be reliably sent":
    /// the subflow is closed with a reset that says "Middlebox interference" (RFC 8684 §3.7).
    pub(super) fn unmapped(&mut self, now: Instant, r: usize) -> Result<(), Broken> {
        let fallen = self.is_stream(r);
        // What was sent a second time at the data level has no place in the sequence of the stream.
        let straight = self.subflows[r].next_offset().octets() + 1 == self.first_undelivered(r);
        // Nothing of the stream, in either direction, can have gone another way than by subflow 0.
        let alone = r == 0 && self.contexts[1..].iter().all(|c| !c.joined);
        if straight && (fallen || (alone && self.fall_back(now, r, FallbackReason::OptionsLost))) {
            return Ok(());
        }
        if self.subflows[r].state() != State::Closed {
            self.reset_for_middlebox(now, r);
        }
        Err(Broken)
    }

    /// "If, however, an ACK is received for data (not just for the SYN) without a DSS option containing a Data ACK, the
    /// sender determines that the path is not MPTCP capable": an additional subflow is reset, the first one "MUST drop
    /// out of MPTCP mode" (RFC 8684 §3.7). The same holds when options are lost later. Answers whether the segment
    /// is to be processed further.
    pub(super) fn options_lost(&mut self, now: Instant, r: usize) -> bool {
        if self.ending.is_flushed() && self.rx.ended() {
            return true; // nothing is at stake any more
        }
        self.unmapped(now, r).is_ok()
    }

    /// TCP from now on, on subflow `r`. False: what is in flight is not contiguous, so the subflow was reset.
    pub(super) fn fall_back(&mut self, now: Instant, r: usize, why: FallbackReason) -> bool {
        self.unbind();
        let Some(run) = self.contiguous(r) else {
            self.reset_for_middlebox(now, r);
            return false;
        };
        self.subflows[r].set_run(run);
        self.become_tcp(r, why);
        if self.keys.remote.is_some() {
            let at = self.tx.una().max(run.offset);
            let ssn = run.seq + (at - run.offset);
            let until_seq = self.subflows[r].snd_nxt();
            self.fallback.tell(self.numbers.ours(at), ssn as u32, until_seq);
            self.update_segment_octets(r);
            self.owe_acknowledgment(r);
        }
        // "In practice, this means that all MPTCP subflows will have to be terminated except one" (RFC 8684 §3.7).
        for other in 0..self.subflows.len() {
            if other != r && self.subflows[other].is_open() {
                self.reset_subflow(now, other, ResetReason::MptcpError, false);
            }
        }
        // "After a sender signals an infinite mapping, it MUST only use subflow ACKs to clear its send buffer" (§3.7).
        let acknowledged = self.acknowledged_by_subflow(r, self.subflows[r].snd_una());
        let window = self.tx.right().beyond(acknowledged);
        self.data_acknowledged(now, acknowledged, window);
        self.due.data = true;
        self.due.attention.insert(r);
        true
    }

    /// TCP alone is the data level, with what hangs on it.
    pub(super) fn become_tcp(&mut self, r: usize, why: FallbackReason) {
        self.tell(self.clock(), |_| TraceEvent::Fallback { subflow: SubflowId(r as u8), why });
        self.usual.forget();
        self.level.become_single();
        self.fallback.set_subflow(r);
        self.lift_own_windows();
        self.plan = None;
        self.reinjections = crate::mptcp::state::reinjection::Reinjections::default();
        self.timers.stop_retransmission();
        self.ending.cancel_data_fin();
        self.update_segment_octets(r);
    }

    /// The peer speaks TCP, as it has said before there was any data.
    pub(super) fn never_spoke_mptcp(&mut self, r: usize, why: FallbackReason) {
        self.become_tcp(r, why);
        self.fallback.receive_single();
    }

    /// The place in the stream up to which the peer has acknowledged, when the subflow is the stream.
    #[inline(always)]
    pub(super) fn acknowledged_by_subflow(&self, r: usize, ack: u64) -> Offset {
        let run = self.subflows[r].run();
        if ack < run.seq { self.tx.una() } else { (run.offset + (ack - run.seq)).min(self.tx.nxt()) }
    }

    /// An acknowledgment in TCP mode: the peer that acknowledges what carried the infinite mapping knows it.
    #[inline]
    pub(super) fn infinite_acknowledged(&mut self, r: usize, ack: u64) {
        if self.fallback.acknowledged(ack) {
            self.update_segment_octets(r);
        }
    }

    /// An infinite mapping came: from `mapping.dsn`, at `mapping.ssn`, the subflow is the stream, also for what
    /// arrived already and failed its checksum.
    pub(super) fn receive_infinite_mapping(&mut self, now: Instant, r: usize, mapping: &Mapping) {
        if self.fallback.receives_single() || !(self.level.is_multipath() || self.is_stream(r)) {
            return;
        }
        let dsn = Dsn::nearest(mapping.dsn, self.numbers.theirs(self.rx.nxt()));
        let offset = self.numbers.their_place(dsn);
        let from = wire::expand32(self.subflows[r].rcv_nxt(), mapping.ssn);
        let here = self.first_undelivered(r);
        // It acts on what follows the last byte acknowledged at the data level: it leaves no hole, and does not
        // speak of what is to come.
        let place = (from <= here).then(|| offset.checked_add(here - from)).flatten();
        let Some(mut place) = place.filter(|&p| p <= self.rx.nxt()) else {
            self.reset_subflow(now, r, ResetReason::MptcpError, true);
            return;
        };
        if self.level.is_multipath() && !self.fall_back(now, r, FallbackReason::InfiniteMapping) {
            return;
        }
        self.fallback.receive_single();
        self.usual.forget();
        let context = &mut self.contexts[r];
        let held = context.held.take().map(|held| held.pieces);
        if let Some(waiting) = held.or(context.verifying.take().map(|v| v.pieces)) {
            for mut piece in waiting {
                piece.offset = place;
                place += piece.len();
                self.deliver(now, r, piece);
            }
        }
        self.subflows[r].continue_at(place);
        self.owe_acknowledgment(r);
    }

    /// The peer still speaks MPTCP while we do not: it has not seen the infinite mapping.
    pub(super) fn tell_infinite_again(&mut self, r: usize) {
        if r == self.fallback.subflow() {
            self.usual.forget();
            self.fallback.tell_again();
        }
    }
}
