//! Timers: of each subflow, of the data level, and of what is signalled.

use super::{Connection, Event};
use crate::mptcp::state::context::SubflowContext;
use crate::mptcp::state::ending::AbortReason;
use crate::mptcp::state::reset::ResetReason;
use crate::names::SubflowId;
use crate::queue::Sendable;
use crate::scheduler::Repair;
use crate::tcp::control::Control;
use crate::tcp::subflow::State;
use crate::tcp::subflow::timers::Expired;
use crate::time::Instant;
use crate::trace::{FallbackReason, ReinjectionReason};

impl<P: Sendable> Connection<P> {
    /// To be called at [`next_timeout`](Self::next_timeout); then `transmit`. Called too early, it only finds
    /// out when it should have been.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.set_clock(now);
        // Timers move with nearly every segment and what the driver was told stays: mostly it comes too early.
        self.wake_at(self.earliest());
        if self.next_timeout() <= now {
            self.expire(now);
        }
    }

    /// When the first of all timers expires.
    fn earliest(&self) -> Instant {
        let own = self.own_timers().into_iter().fold(self.control.next_at(), Ord::min);
        self.subflows.iter().map(|s| s.deadline()).fold(own, Ord::min)
    }

    fn expire(&mut self, now: Instant) {
        self.usual.forget();
        if self.trace.is_some() {
            self.tell_expired(now);
        }
        for r in 0..self.subflows.len() {
            if self.subflows[r].is_acknowledgment_overdue(now) {
                self.due.acks.insert(r);
            }
            if self.subflows[r].release_pacing(now) {
                self.views[r].held = false;
                self.due.attention.insert(r);
                self.due.data = true;
            }
            if self.subflows[r].rack_timers().0 <= now {
                self.subflows[r].reordering_timer(now, &mut Control::new(&mut self.views, r, &mut self.controller));
                self.due.attention.insert(r);
                self.due.data = true;
            }
            if self.subflows[r].rack_timers().1 <= now {
                self.subflows[r].probe_timer(now);
                self.due.attention.insert(r);
            }
            if self.subflows[r].timer() <= now {
                self.subflow_timer(now, r);
            }
        }
        if self.timers.takes_retransmission(now) {
            self.data_timer(now);
        }
        if self.timers.takes_probe(now) {
            self.probe_timer(now);
        }
        if self.control.asks_scheduler(now) {
            self.due.data = true;
        }
        if self.control.next_at() <= now {
            self.control_timer(now);
        }
        self.observe(now, None);
        self.wake_at(self.earliest());
    }

    fn subflow_timer(&mut self, now: Instant, r: usize) {
        let first = self.subflows[r].board().iter().next();
        let beyond_window =
            self.level.window_shrinks() && first.is_some_and(|s| s.data_len() > 0 && s.offset >= self.tx.right());
        match self.subflows[r].timer_expired(now, &self.config.tcp, beyond_window) {
            Expired::Nothing => {}
            Expired::Unanswered => {
                self.ending.blame(AbortReason::TimedOut);
                self.fail_subflow(now, r, true);
            }
            Expired::Syn => {
                self.due.attention.insert(r);
                self.note_retry(r);
                let subflow = &self.subflows[r];
                let (opens, tried) = (subflow.state() == State::SynSent, subflow.retries());
                if opens && r == 0 && self.level.is_multipath() && tried > self.config.tcp.capable_syns() {
                    // The path may drop SYNs with options that it does not know (RFC 8684 §3.1).
                    self.never_spoke_mptcp(r, FallbackReason::NoAnswer);
                }
            }
            Expired::Unconfirmed => {
                self.ending.blame(AbortReason::TimedOut);
                self.reset_subflow(now, r, ResetReason::Performance, true);
            }
            Expired::ThirdAck => self.due.acks.insert(r),
            Expired::Idle => self.probe_own_window(r),
            Expired::Hopeless => {
                let known = self.subflows[r].board().iter().all(|s| s.offset + s.data_len() <= self.tx.una());
                self.ending.blame(AbortReason::TimedOut);
                let reason = if known { ResetReason::TooMuchData } else { ResetReason::Performance };
                self.reset_subflow(now, r, reason, true);
            }
            Expired::Retransmit { first } => {
                let (subflow, frto) = (&mut self.subflows[r], self.config.tcp.frto);
                subflow.timed_out(now, &mut Control::new(&mut self.views, r, &mut self.controller), frto);
                if beyond_window {
                    subflow.probes_window(); // when the window opens again, data has all its attempts
                }
                self.due.attention.insert(r);
                self.note_retry(r);
                self.observe(now, Some(r));
                if self.repair() == Repair::Prompt {
                    if first {
                        self.reinject_all(now, r, ReinjectionReason::SubflowTimeout);
                    }
                    self.give_back(r, false);
                }
            }
        }
    }

    /// RFC 9293 §3.8.3: at R1 the layer below hears of trouble, the application too (SHLD-9). Both are the driver's, which gets the
    /// event: it has the routes. With Multipath TCP other subflows are preferred meanwhile.
    fn note_retry(&mut self, r: usize) {
        if self.subflows[r].retries() == self.config.tcp.r1 {
            self.tell_once(Event::Unresponsive(SubflowId(r as u8)));
        }
    }

    /// Nothing was acknowledged at the data level for long.
    fn data_timer(&mut self, now: Instant) {
        if self.timers.backoff() > self.config.tcp.retries && !self.is_bound_and_carried(self.tx.una()) {
            // The subflows work, but what goes over them does not reach the data level.
            self.ending.blame(AbortReason::TimedOut);
            for r in 0..self.subflows.len() {
                if self.subflows[r].is_open() {
                    self.reset_subflow(now, r, ResetReason::Middlebox, true);
                }
            }
            return;
        }
        if self.tx.is_outstanding() {
            self.reset_false_acknowledgers(now);
            match self.repair() {
                Repair::Prompt => self.reinject_uncarried(now, ReinjectionReason::DataTimeout),
                Repair::Kernel => self.retransmit_oldest_page(),
            }
        } else if self.ending.is_data_fin_outstanding() {
            self.ending.repeat_data_fin();
        } else {
            return;
        }
        self.timers.note_retransmission();
        self.due.data = true;
        self.arm_data_timer(now);
        if let Some(silence) = &mut self.silence {
            silence.fired_at = now;
        }
    }

    /// A subflow on which the first missing byte was sent again and acknowledged, while the DATA_ACK does not move,
    /// acknowledges what it does not deliver: a middlebox does it, and has lost it. Others are better off without.
    fn reset_false_acknowledgers(&mut self, now: Instant) {
        let (mut tried, hole) = (self.timers.hole_tried(), self.tx.una());
        while let Some(r) = tried.pop() {
            let carried = self.subflows[r].board().iter().any(|s| (s.offset..s.offset + s.len()).contains(&hole));
            if !carried && self.subflows[r].is_open() && self.live_subflows() > 1 {
                self.reset_for_middlebox(now, r);
            }
        }
    }

    /// A closed window is probed as long as the peer answers (RFC 9293 §3.8.6.1); the subflow is given up after as many probes
    /// without an answer as there are retransmissions (§3.8.3, R2). Behind a box that has acknowledged what it then lost, the
    /// probe lies in the peer's window and is never answered.
    fn probe_timer(&mut self, now: Instant) {
        self.due.data = true;
        if !self.timers.probe(self.config.tcp.retries)
            && let Some(r) = self.best_subflow()
        {
            self.timers.heard();
            self.ending.blame(AbortReason::TimedOut);
            self.reset_subflow(now, r, ResetReason::Performance, true);
        }
    }

    /// What is due at the level of MPTCP: announcements, MP_FAIL, removed addresses, the path manager, and a connection
    /// that was without subflows for too long.
    fn control_timer(&mut self, now: Instant) {
        self.control.look();
        if self.level.is_multipath() && !self.ending.has_finished() {
            self.announcement_timer(now);
            self.path_timer(now);
        } else {
            self.control.forget_path_manager();
            self.addresses.forget_announcements();
        }
        for r in 0..self.subflows.len() {
            if self.contexts[r].held.as_ref().is_some_and(|held| held.timer <= now) {
                self.fail_timer(now, r);
            }
            if let Some(signalling) = &mut self.contexts[r].signalling {
                if signalling.keepalive_at.expires(now) {
                    signalling.keepalive_due = true;
                    self.due.signals.insert(r);
                }
                if signalling.pause_until.expires(now) {
                    self.due.signals.insert(r);
                }
                if signalling.removal_at.expires(now) {
                    self.removal_timer(now, r);
                }
            }
        }
        self.interruption_timer(now);
        let own = self.control.own_at();
        let own = if self.signalling_subflow(None).is_some() { own.min(self.addresses.next_due()) } else { own };
        let next_at = self.contexts.iter().map(SubflowContext::due_at).fold(own, Ord::min);
        self.arm_control(next_at);
    }

    /// Nobody has joined in time.
    fn interruption_timer(&mut self, now: Instant) {
        if self.control.gives_up(now) {
            let cause = self.ending.cause().unwrap_or(AbortReason::TimedOut);
            self.give_up(now, cause);
        }
    }
}
