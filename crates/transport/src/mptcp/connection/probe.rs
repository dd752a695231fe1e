//! Probes, of the tail of a flight (RFC 8985 §7.3) and of a closed window (RFC 9293 §3.8.6.1), and the step of F-RTO that sends
//! only new data (RFC 5682 §3.1 step 2b).

use super::Connection;
use super::outgoing::Outgoing;
use crate::queue::Sendable;
use crate::tcp::recovery::Frto;
use crate::time::Instant;
use crate::trace::Sent;
use wire::Flags;

impl<P: Sendable> Connection<P> {
    /// A probe on subflow `r`: new data when there is some and the peer has room, whatever the congestion window;
    /// else the last segment again. False when there is nothing outstanding any more.
    pub(super) fn tail_loss_probe(&mut self, now: Instant, r: usize, out: &mut Outgoing<P>) -> bool {
        if !self.subflows[r].begin_probe() {
            return false;
        }
        self.usual.forget();
        let unsent = self.tx.unsent();
        let open = self.tx.open();
        let planned = self.is_bound_ahead();
        let len = if planned { 0 } else { unsent.min(u64::from(self.views[r].mss)) };
        let own = self.subflows[r].open();
        if planned && own > 0 && self.subflows[r].can_send() && self.send_waiting(now, r, out) {
            self.subflows[r].probe_sent(now, false);
        } else if len > 0 && len <= open.min(own) && self.subflows[r].can_send() {
            let from = self.tx.nxt();
            let payload = self.tx.slice(from, len);
            self.tx.advance(len);
            self.arm_data_timer(now);
            self.first_transmission(now, r, from, payload, false, out);
            self.subflows[r].probe_sent(now, false);
            self.tell_sent(now, r, (from, len, false), Sent::New);
        } else {
            let (subflow, view) = (&mut self.subflows[r], &self.views[r]);
            let Some((data, sending)) = subflow.probe_with_last(now, view) else { return false };
            out.sending = sending;
            if self.trace.is_some() {
                self.tell_segment(now, r, data.extent(), Sent::Probe);
            }
            self.data_segment::<false>(now, r, data, out);
        }
        let deadline = self.subflows[r].deadline();
        self.wake_by(deadline);
        true
    }

    /// Whether F-RTO wants new data rather than retransmissions on subflow `r` now.
    pub(super) fn holds_retransmissions(&self, r: usize) -> bool {
        matches!(self.subflows[r].frto(), Frto::NewDataOnly(_))
    }

    /// Nothing more can be sent now. When F-RTO waited for new data that was not there, retransmissions go on:
    /// answers whether there is one to try.
    pub(super) fn release_retransmissions(&mut self) -> bool {
        let mut released = false;
        self.due.frto_waits = self.subflows.iter().any(|s| matches!(s.frto(), Frto::NewDataOnly(_)));
        for (r, subflow) in self.subflows.iter_mut().enumerate() {
            if subflow.release_frto() {
                self.due.attention.insert(r);
                released = true;
            }
        }
        released
    }

    /// A segment from below the window, which the peer must answer with its window (RFC 9293 §3.8.6.1). It carries
    /// no data, so it cannot be taken for some.
    pub(super) fn zero_window_probe(&mut self, now: Instant, out: &mut Outgoing<P>) -> Option<usize> {
        let r = self.best_subflow()?;
        let seq = self.subflows[r].snd_nxt() - 1;
        self.segment_into(now, r, seq, Flags::ACK, &mut out.segment);
        Some(r)
    }

    /// The peer's window is closed and nothing is under way that would bring news of it.
    pub(super) fn arm_probe(&mut self, now: Instant) {
        if self.silence.is_some() && self.tx.is_outstanding() {
            return; // Linux leaves it to the timer of the data level (`mptcp_sendmsg_frag`)
        }
        if self.timers.probe_at().is_never() && self.views.iter().all(|v| v.in_flight == 0) {
            let Some(r) = self.best_subflow() else { return };
            let timeout = self.subflows[r].rtt().base_rto().doubled(self.timers.probe_backoff().min(8));
            let at = self.expiry(now, timeout.min(self.config.tcp.rto_max()));
            self.timers.set_probe(at);
            self.wake_by(at);
        }
    }
}
