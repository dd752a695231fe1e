//! The end: DATA_FIN for the connection, FIN for each subflow (RFC 8684 §3.3.3, RFC 9293 §3.6), failure and reset.

use super::connection::Connection;
use crate::queue::Stream;
use crate::tcp::close::Then;
use crate::tcp::subflow::State;
use crate::trace::ReinjectionReason;

impl<P: Stream> Connection<P> {
    /// The application writes no more. What was written is sent, then the end of the stream.
    pub fn close(&mut self, now_ns: u64) {
        self.set_clock(now_ns);
        if !self.ending.requested {
            self.ending.requested = true;
            self.due.data = true;
            self.progress_close(now_ns);
        }
    }

    /// The application neither writes nor reads any more. As [`close`](Self::close), but what was not read, or arrives
    /// from now on, is lost, and the peer is told so with a reset (RFC 9293 §3.6.1, SHLD-3).
    pub fn close_both(&mut self, now_ns: u64) {
        self.ending.read_closed = true;
        self.usual.forget();
        self.refuse_data(now_ns);
        if !self.ending.over {
            self.close(now_ns);
        }
    }

    /// Data that nobody will read ends the connection.
    #[cold]
    pub(super) fn refuse_data(&mut self, now_ns: u64) {
        if !self.ending.over && self.rx.len() > 0 {
            self.abort(now_ns);
        }
    }

    /// Sends FINs when it is time for them.
    #[inline(always)]
    pub(super) fn progress_close(&mut self, now_ns: u64) {
        if self.is_fin_due() {
            self.request_fins(now_ns);
        }
    }

    #[cold]
    fn request_fins(&mut self, now_ns: u64) {
        for r in 0..self.subflows.len() {
            self.request_fin(now_ns, r);
        }
    }

    pub(super) fn request_fin(&mut self, now_ns: u64, r: usize) {
        self.usual.forget();
        let subflow = &mut self.subflows[r];
        match subflow.state {
            State::Established | State::CloseWait if !subflow.fins.is_requested() => {
                subflow.fins.request();
                self.contexts[r].transient = false;
                self.due.attention.insert(r);
                if self.level.is_multipath() {
                    self.leave(now_ns, r);
                }
            }
            // The FIN follows when the handshake is over (RFC 9293 §3.10.4).
            State::SynReceived if self.level.ends_with_fin() => {}
            State::SynSent | State::SynReceived => self.fail_subflow(now_ns, r, false),
            _ => {}
        }
    }

    /// The subflow takes no new data any more.
    pub(super) fn leave(&mut self, now_ns: u64, r: usize) {
        if self.views[r].active {
            self.usual.forget();
            self.views[r].active = false;
            self.controller.on_leave(&self.views, r, now_ns);
            self.give_back(r, true);
        }
    }

    /// The peer's FIN, when everything before it has arrived (RFC 9293 §3.10.7.4, eighth).
    pub(super) fn receive_fin(&mut self, now_ns: u64, r: usize) {
        if !self.subflows[r].takes_fin() {
            return;
        }
        self.owe_acknowledgment(r);
        self.note_fin_of_peer();
        let then = self.subflows[r].fin_received();
        self.go_on_closing(now_ns, r, then);
        if self.ends_with_peer(r) {
            self.request_fin(now_ns, r);
        }
    }

    /// Our FIN was acknowledged.
    pub(super) fn fin_acknowledged_on(&mut self, now_ns: u64, r: usize) {
        self.note_fin_acknowledged();
        let then = self.subflows[r].fin_acknowledged();
        self.go_on_closing(now_ns, r, then);
    }

    fn go_on_closing(&mut self, now_ns: u64, r: usize, then: Then) {
        match then {
            Then::Nothing => {}
            Then::TimeWait => self.time_wait(now_ns, r),
            Then::Closed => self.subflow_closed(now_ns, r),
        }
    }

    fn time_wait(&mut self, now_ns: u64, r: usize) {
        self.usual.forget();
        let until_ns = self.subflows[r].enter_time_wait(now_ns);
        self.wake_by(until_ns);
        self.gone(now_ns, r);
    }

    pub(super) fn subflow_closed(&mut self, now_ns: u64, r: usize) {
        self.usual.forget();
        self.subflows[r].enter_closed();
        self.contexts[r].mappings.clear();
        self.gone(now_ns, r);
    }

    /// The subflow is dead: reset by the peer or given up. What it carried goes to the others. `transient`: the same
    /// path may work again.
    pub(super) fn fail_subflow(&mut self, now_ns: u64, r: usize, transient: bool) {
        if self.subflows[r].state == State::Closed {
            return;
        }
        self.contexts[r].transient = transient;
        self.reinject_all(now_ns, r, ReinjectionReason::SubflowFailed);
        self.ending.repeat_data_fin();
        self.subflow_closed(now_ns, r);
    }
}
