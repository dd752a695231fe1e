//! The end: DATA_FIN for the connection, FIN for each subflow (RFC 8684 §3.3.3, RFC 9293 §3.6), failure and reset.

use super::Connection;
use crate::queue::Sendable;
use crate::tcp::subflow::State;
use crate::tcp::subflow::close::Then;
use crate::time::Instant;
use crate::trace::ReinjectionReason;

impl<P: Sendable> Connection<P> {
    /// The application writes no more. What was written is sent, then the end of the stream.
    pub fn close(&mut self, now: Instant) {
        self.set_clock(now);
        if self.ending.request() {
            self.due.data = true;
            self.progress_close(now);
        }
    }

    /// The application neither writes nor reads any more. As [`close`](Self::close), but what was not read, or arrives
    /// from now on, is lost, and the peer is told so with a reset (RFC 9293 §3.6.1, SHLD-3).
    pub fn close_both(&mut self, now: Instant) {
        self.ending.close_reading();
        self.usual.forget();
        self.refuse_data(now);
        if !self.ending.has_finished() {
            self.close(now);
        }
    }

    /// Data that nobody will read ends the connection.
    #[cold]
    pub(super) fn refuse_data(&mut self, now: Instant) {
        if !self.ending.has_finished() && self.rx.len() > 0 {
            self.abort(now);
        }
    }

    /// Sends FINs when it is time for them.
    #[inline(always)]
    pub(super) fn progress_close(&mut self, now: Instant) {
        if self.is_fin_due() {
            self.request_fins(now);
        }
    }

    #[cold]
    fn request_fins(&mut self, now: Instant) {
        for r in 0..self.subflows.len() {
            self.request_fin(now, r);
        }
    }

    pub(super) fn request_fin(&mut self, now: Instant, r: usize) {
        self.usual.forget();
        let subflow = &mut self.subflows[r];
        match subflow.state() {
            State::Established | State::CloseWait if !subflow.is_fin_requested() => {
                subflow.request_fin();
                self.contexts[r].transient = false;
                self.due.attention.insert(r);
                if self.level.is_multipath() {
                    self.leave(now, r);
                }
            }
            // The FIN follows when the handshake is over (RFC 9293 §3.10.4).
            State::SynReceived if self.level.ends_with_fin() => {}
            State::SynSent | State::SynReceived => self.fail_subflow(now, r, false),
            _ => {}
        }
    }

    /// The subflow takes no new data any more.
    pub(super) fn leave(&mut self, now: Instant, r: usize) {
        if self.views[r].active {
            self.usual.forget();
            self.views[r].active = false;
            self.controller.on_leave(&self.views, r, now);
            self.give_back(r, true);
        }
    }

    /// The peer's FIN, when everything before it has arrived (RFC 9293 §3.10.7.4, eighth).
    pub(super) fn receive_fin(&mut self, now: Instant, r: usize) {
        if !self.subflows[r].takes_fin() {
            return;
        }
        self.owe_acknowledgment(r);
        self.note_fin_of_peer();
        let then = self.subflows[r].fin_received();
        self.go_on_closing(now, r, then);
        if self.ends_with_peer(r) {
            self.request_fin(now, r);
        }
    }

    /// Our FIN was acknowledged.
    pub(super) fn fin_acknowledged_on(&mut self, now: Instant, r: usize) {
        self.note_fin_acknowledged();
        let then = self.subflows[r].fin_acknowledged();
        self.go_on_closing(now, r, then);
    }

    fn go_on_closing(&mut self, now: Instant, r: usize, then: Then) {
        match then {
            Then::Nothing => {}
            Then::TimeWait => self.time_wait(now, r),
            Then::Closed => self.subflow_closed(now, r),
        }
    }

    fn time_wait(&mut self, now: Instant, r: usize) {
        self.usual.forget();
        let until = self.subflows[r].enter_time_wait(now);
        self.wake_by(until);
        self.gone(now, r);
    }

    pub(super) fn subflow_closed(&mut self, now: Instant, r: usize) {
        self.usual.forget();
        self.subflows[r].enter_closed();
        self.contexts[r].mappings.clear();
        self.gone(now, r);
    }

    /// The subflow is dead: reset by the peer or given up. What it carried goes to the others. `transient`: the same
    /// path may work again.
    pub(super) fn fail_subflow(&mut self, now: Instant, r: usize, transient: bool) {
        if self.subflows[r].state() == State::Closed {
            return;
        }
        self.contexts[r].transient = transient;
        self.reinject_all(now, r, ReinjectionReason::SubflowFailed);
        self.ending.repeat_data_fin();
        self.subflow_closed(now, r);
    }
}
