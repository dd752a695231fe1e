//! Which segment goes out next: of the handshake or of the end, a retransmission, data ([`dispatch`](super::dispatch)), an
//! acknowledgment. [`outgoing`](super::outgoing) writes it.

use wire::{Ecn, Segment};

use super::Connection;
use super::outgoing::{Attempt, Form, Outgoing};
use crate::Receiver;
use crate::mptcp::state::due::Turn;
use crate::names::SubflowId;
use crate::queue::Sendable;
use crate::tcp::subflow::State;
use crate::time::Instant;
use crate::trace::Sent;
use crate::waits::Sending;

impl<P: Sendable> Connection<P> {
    /// The next segment to send now and the subflow it goes out on. Call until `None`.
    pub fn transmit(&mut self, now: Instant) -> Option<(SubflowId, Segment<P>)> {
        let mut out = Outgoing::default();
        self.transmit_into(now, &mut out).map(|subflow| (subflow, out.segment))
    }

    /// As [`transmit`](Self::transmit), with the segment written over that of `out`: a driver that keeps one for this
    /// purpose saves the copies. With `None`, `out` is what it was or nothing of use.
    #[inline]
    pub fn transmit_into(&mut self, now: Instant, out: &mut Outgoing<P>) -> Option<SubflowId> {
        let (subflow, form) = self.transmit_either(now, out)?;
        if form != Form::Whole {
            out.expand();
        }
        Some(subflow)
    }

    /// As [`transmit_into`](Self::transmit_into); the answer says whether the segment is the compact one of `out`, or the
    /// whole one.
    #[inline]
    pub fn transmit_either(&mut self, now: Instant, out: &mut Outgoing<P>) -> Option<(SubflowId, Form)> {
        self.set_clock(now);
        if self.due.is_nothing() {
            return None;
        }
        let r = self.transmit_due(now, out)?;
        Some((SubflowId(r as u8), out.form))
    }

    fn transmit_due(&mut self, now: Instant, out: &mut Outgoing<P>) -> Option<usize> {
        (out.form, out.sending, out.ecn) = (Form::Whole, Sending::First, Ecn::NotEct);
        if self.due.is_before_data()
            && let Some(r) = self.transmit_first(now, out)
        {
            self.observe(now, Some(r));
            return Some(r);
        }
        if self.due.data {
            let sent = match self.transmit_full(now, out) {
                Attempt::Sent(r) => Some(r),
                Attempt::Nothing => None,
                Attempt::Unknown => self.transmit_data(now, out),
            };
            if sent.is_some() {
                return sent;
            }
            self.due.data = false;
            if self.due.frto_waits && self.release_retransmissions() {
                return self.transmit_due(now, out);
            }
        }
        while let Some((r, turn)) = self.due.pop_ack() {
            let sent = if turn == Turn::Before {
                self.transmit_acknowledgment(now, r, out)
            } else {
                self.transmit_as_read(now, r, turn, out)
            };
            if sent {
                return Some(r);
            }
        }
        None
    }

    /// The acknowledgment that subflow `r` owes, if it may leave now.
    #[inline(always)]
    fn transmit_acknowledgment(&mut self, now: Instant, r: usize, out: &mut Outgoing<P>) -> bool {
        let leaves =
            self.subflows[r].acknowledging().now && (self.subflows[r].is_synchronised() || self.is_challenged_early(r));
        if leaves {
            if self.is_known_usual(r) {
                self.compact_acknowledgment(now, r, out);
            } else {
                self.acknowledgment(now, r, &mut out.segment);
                self.observe(now, Some(r));
            }
        }
        leaves
    }

    /// The same when the application has read, of a receiver as Linux's.
    #[cold]
    fn transmit_as_read(&mut self, now: Instant, r: usize, turn: Turn, out: &mut Outgoing<P>) -> bool {
        self.rx.window.follow_reading();
        if turn == Turn::Second {
            self.subflows[r].acknowledge_opened(now);
        }
        let sent = self.transmit_acknowledgment(now, r, out);
        if sent {
            self.stamp_as_read(now, r, out);
        }
        sent
    }

    /// Whether an acknowledgment is due in SYN-RECEIVED: to a segment that is not acceptable (RFC 9293 §3.10.7.4).
    #[cold]
    fn is_challenged_early(&self, r: usize) -> bool {
        self.subflows[r].state() == State::SynReceived
    }

    /// What goes before all data: SYN, reset, retransmissions, FIN, control options.
    fn transmit_first(&mut self, now: Instant, out: &mut Outgoing<P>) -> Option<usize> {
        while self.due.attention.0 != 0 {
            let r = self.due.attention.0.trailing_zeros() as usize;
            if self.transmit_urgent(now, r, out) {
                return Some(r);
            }
            self.due.attention.pop();
        }
        if self.due.signals.0 != 0
            && let Some((r, segment)) = self.transmit_signal(now)
        {
            self.usual.forget();
            out.segment = segment;
            return Some(r);
        }
        None
    }

    /// SYN, reset, retransmissions as the window allows, FIN.
    fn transmit_urgent(&mut self, now: Instant, r: usize, out: &mut Outgoing<P>) -> bool {
        if self.subflows[r].take_reset() {
            self.usual.forget();
            out.segment = self.reset(now, r);
            return true;
        }
        if self.subflows[r].take_syn() {
            self.usual.forget();
            out.segment = self.syn(now, r);
            return true;
        }
        if self.owes_third_ack_alone(r) || self.owes_fourth_ack_alone(r) {
            self.acknowledgment(now, r, &mut out.segment);
            return true;
        }
        if self.subflows[r].is_probe_due() && self.tail_loss_probe(now, r, out) {
            return true;
        }
        if self.subflows[r].has_retransmission(&self.views[r]) && !self.holds_retransmissions(r) {
            let (subflow, view) = (&mut self.subflows[r], &mut self.views[r]);
            let Some((data, sending)) = subflow.retransmit(now, view) else { return false };
            out.sending = sending;
            // What waits is counted from the stream's beginning under TCP, from the SYN under Multipath TCP.
            let origin = u64::from(!self.level.is_multipath());
            subflow.pace_again(now, (data.seq, data.payload.len() as u64), origin, view);
            let deadline = subflow.deadline();
            self.wake_by(deadline);
            if self.trace.is_some() {
                let again = self.subflows[r].board().sending_of(data.seq);
                let why = if again == Sending::Timeout { Sent::Timeout } else { Sent::Retransmission };
                self.tell_segment(now, r, data.extent(), why);
            }
            self.data_segment::<false>(now, r, data, out);
            return true;
        }
        if self.subflows[r].owes_fin() {
            self.fin(now, r, out);
            return true;
        }
        false
    }

    /// Whether the third ACK goes ahead of the first data, as in the kernel, whose connect() returns once it is sent. The
    /// server's announcement then leaves before that data has arrived.
    fn owes_third_ack_alone(&self, r: usize) -> bool {
        let subflow = &self.subflows[r];
        (self.config.kernel_paths.is_some() && self.owes_keys(r) || self.config.tcp.receiver == Receiver::Linux)
            && subflow.is_active_open()
            && subflow.join().is_none()
            && subflow.state() == State::Established
            && subflow.acknowledging().now
            && subflow.snd_nxt() == 1
            && subflow.rcv_nxt() == 1
    }

    /// The same of the fourth ACK of a join (RFC 8684 §3.2): the kernel sends it before anything is bound to the subflow.
    fn owes_fourth_ack_alone(&self, r: usize) -> bool {
        let subflow = &self.subflows[r];
        subflow.has_groups()
            && subflow.join().is_some()
            && !subflow.is_active_open()
            && subflow.state() == State::Established
            && subflow.acknowledging().now
            && subflow.snd_nxt() == 1
    }
}
