//! The plain case: data and acknowledgments in order, on a subflow where nothing out of the ordinary goes on. Nearly all are
//! such, and of what `receive.rs` and `transmit.rs` look at, most has nothing to find then (header prediction, Jacobson
//! 1990). What is done here is what would be done there; whatever is in doubt goes there. Tests compare the two
//! ([`TcpOptions::shortcuts`](crate::TcpOptions::shortcuts)).

use wire::{DataNumber, Dss, Flags, Mapping, Segment};

use super::connection::{Connection, Mode};
use crate::LossDetection;
use crate::congestion::Phase;
use crate::queue::{SendQueue, Stream};
use crate::reassembly::UNMAPPED;
use crate::scheduler::{Choice, MinRtt, SubflowSet, usable};
use crate::tcp::acknowledge::NEVER;
use crate::tcp::subflow::State;

/// What came of an attempt to send.
pub(super) enum Attempt {
    /// New data, on this subflow.
    Sent(usize),
    /// There is nothing that may be sent now.
    Nothing,
    /// The case is not plain; nothing was done.
    Unknown,
}

impl<P: Stream> Connection<P> {
    /// Something else than the plain happens: what is plain, and which subflows can take data, is to be found out anew.
    #[inline]
    pub(super) fn unsettle(&mut self) {
        self.plain = SubflowSet::default();
        self.settled = SubflowSet::default();
        self.roomy = SubflowSet(u64::MAX);
    }

    /// Whether subflow `r` has nothing to look after but data and acknowledgments in order.
    fn is_plain(&self, r: usize) -> bool {
        let subflow = &self.subflows[r];
        subflow.reorder.is_empty() && subflow.duplicate.is_none() && self.is_settled(r)
    }

    /// Whether subflow `r` has nothing to look after but that and data behind a hole.
    pub(super) fn is_settled(&self, r: usize) -> bool {
        let (subflow, view) = (&self.subflows[r], &self.views[r]);
        let connection = match self.mode {
            Mode::Tcp => self.rx_single && r == self.tcp_subflow && self.infinite.is_none(),
            Mode::Mptcp => self.fully_established && !self.rx_single && !self.data_fin_sent && !self.checksum,
        };
        connection
            && view.phase == Phase::Open
            && subflow.state == State::Established
            && subflow.board.is_unmarked()
            && !subflow.fin_requested
            && subflow.fin_at.is_none()
            && subflow.sack
            && subflow.detection == LossDetection::RackTlp
            && subflow.rack.probe.is_none()
            && !subflow.probe_due
            && !subflow.ecn.enabled
            && subflow.pacing.is_none()
            && subflow.join.is_none_or(|j| j.confirmed)
            && self.contexts[r].held.is_none()
            && self.established
            && !self.removals
            && self.config.tcp.shortcuts
    }

    /// Takes in the segment if it is plain: data in order that acknowledges nothing new while nothing is outstanding, or a
    /// bare acknowledgment of more. False: nothing was done.
    #[inline]
    pub(super) fn receive_plain(&mut self, now_ns: u64, r: usize, segment: &mut Segment<P>) -> bool {
        if self.plain.contains(r) {
            debug_assert!(self.is_plain(r));
        } else if self.is_plain(r) {
            self.plain.insert(r);
        } else {
            return false;
        }
        let first_dsn = self.remote_dsn(0);
        let subflow = &mut self.subflows[r];
        let seq = subflow.rcv_nxt;
        if segment.flags.0 | Flags::PSH.0 != Flags::ACK.0 | Flags::PSH.0
            || segment.seq != subflow.irs.wrapping_add(seq as u32)
            || segment.options.rare.is_some()
            || !segment.options.sack.is_empty()
        {
            return false;
        }
        let acked = segment.ack.wrapping_sub(subflow.iss.wrapping_add(subflow.snd_una as u32)) as i32;
        let ack = subflow.snd_una.wrapping_add_signed(i64::from(acked));
        let len = segment.payload.len() as u64;
        let expected = if len > 0 {
            acked == 0 && subflow.board.is_empty()
        } else {
            acked > 0 && ack <= subflow.snd_nxt && subflow.board.covers_first(ack)
        };
        if !expected {
            return false;
        }
        // At the data level: where the segment belongs, and up to where the peer acknowledges.
        let mut offset = UNMAPPED;
        let data_ack = match (self.mode, &segment.options.dss) {
            (Mode::Tcp, _) => None,
            (Mode::Mptcp, &Some(Dss { data_ack: Some(DataNumber::Long(number)), mapping, data_fin: false })) => {
                match mapping {
                    None if len == 0 => {}
                    Some(Mapping { dsn: DataNumber::Long(dsn), ssn, len: mapped, checksum: None })
                        if len > 0 && u64::from(mapped) == len && ssn == seq as u32 =>
                    {
                        offset = dsn.wrapping_sub(first_dsn);
                        if offset > self.window.right() {
                            return false;
                        }
                    }
                    _ => return false,
                }
                let ahead = number.wrapping_sub(self.local_idsn.wrapping_add(1));
                if ahead > self.snd_nxt {
                    return false;
                }
                Some(ahead)
            }
            _ => return false,
        };
        if !subflow.check_timestamps(seq, segment.options.timestamps) {
            return false;
        }
        self.roomy.insert(r);
        let subflow = &mut self.subflows[r];
        // It is plain. From here on everything is as in `receive_synchronised`.
        let window = u64::from(segment.window) << subflow.snd_wscale;
        if let Some(to) = data_ack {
            self.data_acknowledged(now_ns, to, window);
        } else if len > 0 {
            let to = self.acknowledged_by_subflow(r, ack);
            self.data_acknowledged(now_ns, to, window);
        }
        if len > 0 {
            let payload = std::mem::replace(&mut segment.payload, P::empty());
            self.subflows[r].take_echo(segment.options.timestamps, now_ns);
            self.data_in_order(now_ns, r, seq, offset, payload);
            self.wake_by(self.subflows[r].ack.deadline_ns);
        } else {
            let subflow = &mut self.subflows[r];
            subflow.acknowledged_in_order(now_ns, ack, &mut self.views, r, &mut self.controller);
            let deadline_ns = subflow.timer_ns.min(subflow.rack.probe_ns);
            self.may_send = true;
            if data_ack.is_none() {
                let to = self.acknowledged_by_subflow(r, ack);
                self.data_acknowledged(now_ns, to, window);
            }
            self.wake_by(deadline_ns);
        }
        self.progress_close(now_ns);
        debug_assert!(self.next_timeout_ns <= self.subflows[r].deadline_ns());
        true
    }

    /// The default scheduler's choice for new data. Only subflows that can have got room since none had it are looked at.
    #[inline]
    fn choose_smallest_rtt(&mut self) -> Option<usize> {
        let all = u64::MAX >> (64 - self.views.len());
        let mut among = SubflowSet(self.roomy.0 & all);
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
            self.note_blocked(self.roomy);
            // A backup may be passed over although it has room: then all are looked at each time.
            if !self.views.iter().any(|v| v.backup) {
                self.roomy = SubflowSet::default();
            }
        }
        best
    }

    /// A full segment of new data on the subflow that the default scheduler chooses, with more to follow.
    #[inline]
    pub(super) fn transmit_plain(&mut self, now_ns: u64, out: &mut Segment<P>) -> Attempt {
        let unsent = self.write_end - self.snd_nxt;
        let open = self.snd_right.saturating_sub(self.snd_nxt);
        if unsent == 0
            || open == 0
            || self.probe_due
            || self.reinjections.len() > 0
            || !matches!(self.config.scheduler, Choice::MinRtt)
            || !self.established
            || !self.config.tcp.shortcuts
        {
            return Attempt::Unknown;
        }
        let Some(r) = self.choose_smallest_rtt() else { return Attempt::Nothing };
        let len = u64::from(self.views[r].mss);
        if unsent <= len || open < len {
            return Attempt::Unknown;
        }
        if !self.plain.contains(r) {
            let offset = self.snd_nxt;
            self.burst = (r, 0);
            self.snd_nxt = offset + len;
            self.arm_data_timer(now_ns);
            let payload = self.queue.slice(offset, len as u32);
            self.first_transmission(now_ns, r, offset, payload, false, out);
            return Attempt::Sent(r);
        }
        debug_assert!(self.is_plain(r));
        self.burst = (r, 0);
        let offset = self.snd_nxt;
        let payload = self.queue.slice(offset, len as u32);
        self.snd_nxt = offset + len;
        self.arm_data_timer(now_ns);
        let others = (u64::MAX >> (64 - self.views.len())) & !(1 << r);
        let (subflow, view) = (&mut self.subflows[r], &mut self.views[r]);
        let seq = subflow.snd_nxt;
        if subflow.board.is_empty() {
            subflow.resume(now_ns, view);
        }
        subflow.snd_nxt = seq + len;
        subflow.board.push(seq, offset, payload.clone(), false, now_ns);
        self.contexts[r].sent(seq, offset);
        subflow.statistics.data_segments_sent += 1;
        if subflow.timer_ns == NEVER {
            subflow.restart_timer(now_ns);
        }
        view.in_flight = subflow.board.outstanding();
        if !view.has_room() {
            subflow.note_limited();
            if self.roomy.0 & others == 0 && !self.frto_waits {
                // The next question would be answered so.
                self.roomy = SubflowSet::default();
                self.may_send = false;
            }
        }
        subflow.rack.arm_probe(now_ns, view.srtt_ns, view.in_flight, subflow.timer_ns);
        let probe_ns = subflow.rack.probe_ns;
        self.wake_by(probe_ns);
        self.segment_into(now_ns, r, seq, Flags::ACK, out);
        if let (Mode::Mptcp, Some(dss)) = (self.mode, &mut out.options.dss) {
            let dsn = DataNumber::Long(self.local_idsn.wrapping_add(1).wrapping_add(offset));
            dss.mapping = Some(Mapping { dsn, ssn: seq as u32, len: len as u16, checksum: None });
        }
        out.payload = payload;
        debug_assert!(self.next_timeout_ns <= self.subflows[r].deadline_ns());
        Attempt::Sent(r)
    }
}
