//! The plain case: data and acknowledgments in order, on a subflow where nothing out of the ordinary goes on. Nearly all are
//! such, and of what `receive.rs` and `transmit.rs` look at, most has nothing to find then (header prediction, Jacobson
//! 1990). What is done here is what would be done there; whatever is in doubt goes there. Tests compare the two
//! ([`TcpOptions::shortcuts`](crate::TcpOptions::shortcuts)).

use wire::compact::{HAS_DATA_ACK, HAS_DATA_FIN, HAS_DSS, HAS_MAPPING, HAS_TIMESTAMPS};
use wire::{Compact, Flags, Timestamps};

use super::connection::Connection;
use super::outgoing::{Attempt, Outgoing};
use super::state::fallback::Mode;
use super::transmit::Header;
use crate::LossDetection;
use crate::congestion::Phase;
use crate::numbers::{Dsn, SeqNumber};
use crate::offset::Offset;
use crate::queue::Stream;
use crate::reassembly::UNMAPPED;
use crate::scheduler::{MinRtt, SubflowSet, usable};

impl<P: Stream> Connection<P> {
    /// Something else than the plain happens: what is plain, and which subflows can take data, is to be found out anew.
    #[inline]
    pub(super) fn unsettle(&mut self) {
        self.short.unsettle();
    }

    /// Whether subflow `r` has nothing to look after but data and acknowledgments in order, and the connection neither.
    fn is_plain(&mut self, r: usize) -> bool {
        // First what is in the cache: a sender that repairs losses is asked for each acknowledgment.
        if !self.short.is_settled(r) && !self.is_settled(r) {
            return false;
        }
        let subflow = &self.subflows[r];
        subflow.reorder.is_empty() && subflow.duplicate.is_none() && subflow.snd_wl1 <= subflow.rcv_nxt
    }

    /// Whether subflow `r` has nothing to look after but that and data behind a hole.
    pub(super) fn is_settled(&mut self, r: usize) -> bool {
        self.is_known_steady(r) && self.has_no_losses(r)
    }

    /// Whether nothing of what was sent on subflow `r` is lost, or reported out of order, or sent by rules of its own.
    fn has_no_losses(&self, r: usize) -> bool {
        let subflow = &self.subflows[r];
        self.views[r].phase == Phase::Open
            && subflow.board.is_unmarked()
            && subflow.detection == LossDetection::RackTlp
            && subflow.rack.probe.is_none()
            && subflow.rtt.backoff == 0
            && !subflow.probe_due
            && subflow.pacing.is_none()
            && subflow.rate.is_none()
    }

    /// Takes in the segment if it is plain: data in order that acknowledges nothing new while nothing is outstanding, or a
    /// bare acknowledgment of more. Its content is taken out then. False: nothing was done.
    #[inline]
    pub(super) fn receive_plain(&mut self, now_ns: u64, r: usize, segment: &mut Compact<P>) -> bool {
        if self.short.is_plain(r) {
            debug_assert!(self.is_plain(r));
        } else if self.is_plain(r) {
            self.short.note_plain(r);
        } else {
            return false;
        }
        let subflow = &mut self.subflows[r];
        let seq = subflow.rcv_nxt;
        if !segment.flags.is_plain() || SeqNumber::sent(segment.seq) != subflow.their_number(seq) {
            return false;
        }
        let acked = SeqNumber::acknowledged(segment.ack).distance_from(subflow.our_number(subflow.snd_una));
        let taken = match segment.payload.len() as u64 {
            0 => acked > 0 && self.plain_acknowledgment(now_ns, r, u64::from(acked as u32), segment),
            _ => acked == 0 && self.plain_data(now_ns, r, segment),
        };
        // What is plain is not about to end.
        debug_assert!(!taken || !self.ending.fin_acknowledged && !self.rx.is_ending());
        debug_assert!(self.next_timeout_ns <= self.subflows[r].deadline_ns());
        taken
    }

    /// What a plain segment acknowledges at the data level: `parts` are all that it has of a DSS. None: it is not plain.
    #[inline(always)]
    pub(super) fn plain_data_ack(&self, segment: &Compact<P>, parts: u8) -> Option<Offset> {
        if segment.parts & (HAS_DATA_ACK | HAS_MAPPING | HAS_DATA_FIN) != parts {
            return None;
        }
        let ahead = self.numbers.our_place(Dsn::acknowledged(segment.data_ack));
        (ahead <= self.tx.nxt()).then_some(ahead)
    }

    /// Where the data of a segment belongs that stands at `seq` on its subflow and has a mapping of its own, and what the
    /// segment acknowledges. None: that is not plain, or not in the window.
    #[inline(always)]
    pub(super) fn plain_mapping(&self, segment: &Compact<P>, seq: u64) -> Option<(Offset, Offset)> {
        let to = self.plain_data_ack(segment, HAS_DATA_ACK | HAS_MAPPING)?;
        let offset = self.numbers.their_place(Dsn::mapped(segment.dsn));
        let fits = segment.ssn == seq as u32 && self.rx.window.allows(offset, segment.payload.len() as u64);
        fits.then_some((offset, to))
    }

    /// [`receive_plain`](Self::receive_plain) for data. Where nothing is in doubt, everything is as in
    /// `receive_synchronised`.
    #[inline(always)]
    fn plain_data(&mut self, now_ns: u64, r: usize, segment: &mut Compact<P>) -> bool {
        let seq = self.subflows[r].rcv_nxt;
        if !self.subflows[r].board.is_empty() {
            return false;
        }
        // At the data level: where the segment belongs, and up to where the peer acknowledges.
        let (offset, to) = match self.mode {
            Mode::Tcp => {
                if !self.rx.window.allows(self.rx.nxt(), segment.payload.len() as u64) {
                    return false;
                }
                (UNMAPPED, self.tx.una())
            }
            Mode::Mptcp => {
                let Some(found) = self.plain_mapping(segment, seq) else { return false };
                found
            }
        };
        let subflow = &mut self.subflows[r];
        if !subflow.check_timestamps(seq, segment.timestamps()) {
            return false;
        }
        self.short.note_room(r);
        let window = u64::from(segment.window) << subflow.snd_wscale;
        if self.mode == Mode::Mptcp {
            subflow.hear_window(subflow.snd_una, window);
        }
        debug_assert!(self.mode != Mode::Tcp || to == self.acknowledged_by_subflow(r, self.subflows[r].snd_una));
        self.data_acknowledged(now_ns, to, window);
        let subflow = &mut self.subflows[r];
        subflow.snd_wl1 = seq;
        subflow.take_echo(segment.timestamps(), now_ns);
        subflow.statistics.data_segments_received += 1;
        if subflow.earned.window < subflow.earned.room {
            self.grow_window(r, segment.payload.len());
        }
        if segment.flags.psh() && self.config.tcp.quick_acks > 0 {
            self.due.pushed.insert(r);
            self.subflows[r].ack.pushed = true;
        }
        let subflow = &mut self.subflows[r];
        subflow.ack.data_in_order(now_ns);
        let (due, deadline_ns) = (subflow.ack.now, subflow.ack.deadline_ns);
        self.due.acks.0 |= u64::from(due) << r;
        self.wake_by(deadline_ns);
        let payload = std::mem::replace(&mut segment.payload, P::empty());
        self.receive_in_order(now_ns, r, seq, offset, payload);
        true
    }

    /// [`receive_plain`](Self::receive_plain) for a bare acknowledgment of `acked` octets of the subflow. Likewise.
    #[inline(always)]
    fn plain_acknowledgment(&mut self, now_ns: u64, r: usize, acked: u64, segment: &Compact<P>) -> bool {
        let subflow = &mut self.subflows[r];
        let ack = subflow.snd_una + acked;
        if ack > subflow.snd_nxt || !subflow.board.covers_first(ack) {
            return false;
        }
        let mut to = Offset::FIRST;
        if self.mode == Mode::Mptcp {
            let Some(data_ack) = self.plain_data_ack(segment, HAS_DATA_ACK) else { return false };
            to = data_ack;
        }
        let subflow = &mut self.subflows[r];
        if !subflow.check_timestamps(subflow.rcv_nxt, segment.timestamps()) {
            return false;
        }
        let window = u64::from(segment.window) << subflow.snd_wscale;
        self.short.note_room(r);
        self.due.data = true;
        if self.mode == Mode::Mptcp {
            subflow.hear_window(ack, window);
            self.data_acknowledged(now_ns, to, window);
        }
        let subflow = &mut self.subflows[r];
        subflow.snd_wl1 = subflow.rcv_nxt;
        let echo = segment.timestamps();
        subflow.acknowledged_in_order(now_ns, ack, echo, &mut self.views, r, &mut self.controller);
        let deadline_ns = subflow.timer_ns.min(subflow.rack.probe_ns);
        if self.mode == Mode::Tcp {
            let to = self.acknowledged_by_subflow(r, ack);
            self.data_acknowledged(now_ns, to, window);
        }
        self.wake_by(deadline_ns);
        true
    }

    /// The default scheduler's choice for new data among `all`, a bit for each subflow. Only subflows that can have got room since none had it are looked at.
    #[inline]
    fn choose_smallest_rtt(&mut self, all: u64) -> Option<usize> {
        let mut among = SubflowSet(self.short.roomy().0 & all);
        let mut best = None;
        if among.0 == all {
            best = MinRtt::best(&self.views, SubflowSet::default());
        } else {
            let mut best_ns = u64::MAX;
            while let Some(r) = among.pop() {
                let view = &self.views[r];
                if view.srtt_ns < best_ns && usable(view) {
                    (best, best_ns) = (Some(r), view.srtt_ns);
                }
            }
            debug_assert_eq!(best, MinRtt::best(&self.views, SubflowSet::default()));
        }
        if best.is_none() {
            self.note_blocked(self.short.roomy());
            // A backup may be passed over although it has room: then all are looked at each time.
            if !self.views.iter().any(|v| v.backup) {
                self.short.note_full();
            }
        }
        best
    }

    /// A full segment of new data on the subflow that the default scheduler chooses, with more to follow.
    #[inline]
    pub(super) fn transmit_plain(&mut self, now_ns: u64, out: &mut Outgoing<P>) -> Attempt {
        let unsent = self.tx.unsent();
        let open = self.tx.open();
        if unsent == 0
            || open == 0
            || self.timers.probe_due
            || self.reinjections.len() > 0
            || !self.short.sends()
            || !self.established
            || self.plan.as_ref().is_some_and(|plan| !plan.is_idle())
        {
            return Attempt::Unknown;
        }
        let all = u64::MAX >> (64 - self.views.len());
        let Some(r) = self.choose_smallest_rtt(all) else { return Attempt::Nothing };
        let len = u64::from(self.views[r].mss);
        if unsent <= len || open < len || self.subflows[r].snd_nxt + len > self.subflows[r].right {
            return Attempt::Unknown;
        }
        self.burst.1 = 0;
        let offset = self.tx.nxt();
        self.tx.advance(len);
        self.arm_data_timer(now_ns);
        let payload = self.tx.slice(offset, len);
        if !self.short.is_plain(r) {
            self.first_transmission(now_ns, r, offset, payload, false, out);
            return Attempt::Sent(r);
        }
        debug_assert!(self.is_plain(r));
        let others = all & !(1 << r);
        let (subflow, view) = (&mut self.subflows[r], &mut self.views[r]);
        let seq = subflow.send_new(now_ns, (offset, &payload, false), view);
        self.contexts[r].sent(seq, offset);
        view.in_flight = subflow.board.outstanding();
        if !view.has_room() {
            subflow.note_limited();
            if self.short.roomy().0 & others == 0 && !self.due.frto_waits {
                // The next question would be answered so.
                self.short.note_full();
                self.due.data = false;
            }
        }
        subflow.rack.arm_probe(now_ns, view.srtt_ns, view.in_flight, subflow.timer_ns);
        let probe_ns = subflow.rack.probe_ns;
        self.wake_by(probe_ns);
        self.compact_data(now_ns, r, (seq, offset, payload), out);
        debug_assert!(self.next_timeout_ns <= self.subflows[r].deadline_ns());
        Attempt::Sent(r)
    }

    /// As [`segment_into`](Self::segment_into), of a plain subflow.
    #[inline(always)]
    pub(super) fn compact_into(&mut self, now_ns: u64, r: usize, seq: u64, out: &mut Compact<P>) {
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
        (out.src_port, out.dst_port) = subflow.ports;
        (out.seq, out.ack, out.window) = (header.seq, header.ack, header.window);
        out.flags = Flags::ACK;
    }
}
