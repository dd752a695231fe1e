//! The end: DATA_FIN for the connection, FIN for each subflow (RFC 8684 §3.3.3, RFC 9293 §3.6), failure and reset.

use super::connection::{Connection, Event};
use super::state::fallback::Mode;
use crate::offset::Offset;
use crate::queue::Stream;
use crate::scheduler::Repair;
use crate::tcp::close::Then;
use crate::tcp::subflow::State;
use crate::time::NEVER;
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
        let due = match self.mode {
            Mode::Tcp => self.ending.requested && self.tx.is_sent(),
            // Subflows end when the data level has ended in both directions (RFC 8684 §3.3.3).
            Mode::Mptcp => self.ending.fin_acknowledged && self.rx.ended(),
        };
        if due {
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
                if self.mode == Mode::Mptcp {
                    self.leave(now_ns, r);
                }
            }
            // The FIN follows when the handshake is over (RFC 9293 §3.10.4).
            State::SynReceived if self.mode == Mode::Tcp => {}
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
        if self.mode == Mode::Tcp && !self.rx.ended() {
            self.rx.note_ended();
            self.report(Event::EndOfStream);
        }
        let then = self.subflows[r].fin_received();
        self.go_on_closing(now_ns, r, then);
        // The peer has done with this subflow: so have we, once what is in flight on it has arrived. But a peer whose
        // stream has ended may end its subflows while ours goes on: DATA_FIN, as FIN, is for one direction (RFC 8684
        // §3.3.3). Then the subflow stays half-closed until our own end is acknowledged.
        if self.mode == Mode::Mptcp && self.subflows[r].state == State::CloseWait && !self.rx.is_ending() {
            self.request_fin(now_ns, r);
        }
    }

    /// Our FIN was acknowledged.
    pub(super) fn fin_acknowledged_on(&mut self, now_ns: u64, r: usize) {
        if self.mode == Mode::Tcp {
            self.ending.fin_acknowledged = true;
            self.check_flushed();
        }
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

    #[inline(always)]
    pub(super) fn check_flushed(&mut self) {
        if self.ending.fin_acknowledged {
            self.note_flushed();
        }
    }

    #[cold]
    fn note_flushed(&mut self) {
        if !self.ending.flushed && self.tx.una() >= self.tx.end() {
            self.ending.flushed = true;
            self.report(Event::Flushed);
            self.timers.retransmit_ns = NEVER;
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

    /// Everything that a subflow carried and the peer has not acknowledged at the data level is to go out again on
    /// others.
    pub(super) fn reinject_all(&mut self, now_ns: u64, r: usize, why: ReinjectionReason) {
        if self.mode == Mode::Tcp {
            return;
        }
        let mut reach = None;
        for sent in self.subflows[r].board.iter() {
            // What was selectively acknowledged has arrived, but on a dead subflow it may never be delivered.
            let end = sent.offset + sent.data_len();
            if end > self.tx.una() {
                self.reinjections.add(sent.offset.max(self.tx.una()), end, r);
                let (first, last) = reach.unwrap_or((sent.offset, end));
                reach = Some((first.min(sent.offset), last.max(end)));
            }
        }
        if let Some((first, last)) = reach {
            self.tell_queued(now_ns, Some(r), (first.max(self.tx.una()), last), why);
        }
        self.due.data = true;
    }

    /// What was sent, is not acknowledged at the data level, and is under way on no subflow that works: it was
    /// acknowledged on a subflow by someone who did not deliver it, or not yet.
    pub(super) fn reinject_uncarried(&mut self, now_ns: u64, why: ReinjectionReason) {
        if self.mode == Mode::Tcp {
            return;
        }
        let mut carried: Vec<(Offset, Offset)> = Vec::new();
        let kernel = self.repair() == Repair::Kernel;
        for (r, (subflow, view)) in self.subflows.iter().zip(&self.views).enumerate() {
            let hopeless = if kernel { self.is_stale(r) } else { view.potentially_failed };
            if subflow.is_synchronised() && !hopeless {
                carried.extend(subflow.board.iter().map(|s| (s.offset, s.offset + s.data_len())));
            }
        }
        carried.extend(self.plan.iter().flat_map(|plan| plan.never_sent().chain(plan.again())));
        carried.sort_unstable();
        let mut at = self.tx.una();
        for (from, to) in carried {
            if from > at {
                self.reinjections.add_untried(at, from.min(self.tx.nxt()));
                self.tell_queued(now_ns, None, (at, from.min(self.tx.nxt())), why);
            }
            at = at.max(to);
        }
        self.reinjections.add_untried(at, self.tx.nxt());
        self.tell_queued(now_ns, None, (at, self.tx.nxt()), why);
        self.due.data = true;
    }
}
