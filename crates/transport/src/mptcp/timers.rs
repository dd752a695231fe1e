//! Timers: retransmission and delayed acknowledgment of each subflow, retransmission at the data level, zero-window
//! probes.

use wire::Flags;

use super::connection::{Connection, Event};
use super::outgoing::Outgoing;
use super::state::ending::AbortReason;
use super::state::fallback::Mode;
use super::state::reset::ResetReason;
use crate::names::SubflowId;
use crate::queue::Stream;
use crate::scheduler::Repair;
use crate::tcp::subflow::State;
use crate::tcp::timers::Expired;
use crate::time::NEVER;
use crate::trace::{FallbackReason, ReinjectionReason};

impl<P: Stream> Connection<P> {
    /// To be called at [`next_timeout_ns`](Self::next_timeout_ns); then `transmit`. Called too early, it only finds
    /// out when it should have been.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.set_clock(now_ns);
        // Timers move with nearly every segment and what the driver was told stays: mostly it comes too early.
        self.wake_at(self.earliest_ns());
        if self.next_timeout_ns() <= now_ns {
            self.expire(now_ns);
        }
    }

    /// The timers of the data level, and of the scheduler.
    pub(super) fn own_timers_ns(&self) -> [u64; 3] {
        [self.timers.retransmit_ns, self.timers.probe_ns, self.control.scheduler_ns]
    }

    /// When the first of all timers expires.
    fn earliest_ns(&self) -> u64 {
        let own = self.own_timers_ns().into_iter().fold(self.control.next_ns, u64::min);
        self.subflows.iter().map(|s| s.deadline_ns()).fold(own, u64::min)
    }

    fn expire(&mut self, now_ns: u64) {
        self.usual.forget();
        if self.trace.is_some() {
            self.tell_expired(now_ns);
        }
        for r in 0..self.subflows.len() {
            if self.subflows[r].ack.deadline_ns <= now_ns {
                self.subflows[r].ack.expire();
                self.due.acks.insert(r);
            }
            if self.subflows[r].pacing.as_mut().is_some_and(|p| p.release(now_ns)) {
                self.views[r].held = false;
                self.due.attention.insert(r);
                self.due.data = true;
            }
            if self.subflows[r].rack_timers_ns().0 <= now_ns {
                self.subflows[r].reordering_timer(now_ns, &mut self.views, r, &mut self.controller);
                self.due.attention.insert(r);
                self.due.data = true;
            }
            if self.subflows[r].rack_timers_ns().1 <= now_ns {
                self.subflows[r].probe_timer(now_ns);
                self.due.attention.insert(r);
            }
            if self.subflows[r].timer_ns <= now_ns {
                self.subflow_timer(now_ns, r);
            }
        }
        if self.timers.retransmit_ns <= now_ns {
            self.data_timer(now_ns);
        }
        if self.timers.probe_ns <= now_ns {
            self.timers.probe_ns = NEVER;
            self.probe_timer(now_ns);
        }
        if self.control.scheduler_ns <= now_ns {
            self.control.scheduler_ns = NEVER;
            self.due.data = true;
        }
        if self.control.next_ns <= now_ns {
            self.control_timer(now_ns);
        }
        self.observe(now_ns, None);
        self.wake_at(self.earliest_ns());
    }

    fn subflow_timer(&mut self, now_ns: u64, r: usize) {
        let first = self.subflows[r].board.iter().next();
        let beyond_window =
            self.mode == Mode::Tcp && first.is_some_and(|s| s.data_len() > 0 && s.offset >= self.tx.right());
        match self.subflows[r].timer_expired(now_ns, &self.config.tcp, beyond_window) {
            Expired::Nothing => {}
            Expired::Unanswered => {
                self.ending.cause = Some(AbortReason::TimedOut);
                self.fail_subflow(now_ns, r, true);
            }
            Expired::Syn => {
                self.due.attention.insert(r);
                self.note_retry(r);
                let subflow = &self.subflows[r];
                let (opens, tried) = (subflow.state == State::SynSent, subflow.retries);
                if opens && r == 0 && self.mode == Mode::Mptcp && tried > self.config.tcp.mptcp_syn_retries {
                    // The path may drop SYNs with options that it does not know (RFC 8684 §3.1).
                    self.become_tcp(r, FallbackReason::NoAnswer);
                    self.fallback.receive_single();
                }
            }
            Expired::Unconfirmed => {
                self.ending.cause = Some(AbortReason::TimedOut);
                self.reset_subflow(now_ns, r, ResetReason::Performance, true);
            }
            Expired::ThirdAck => self.due.acks.insert(r),
            Expired::Idle => self.probe_own_window(r),
            Expired::Hopeless => {
                let known = self.subflows[r].board.iter().all(|s| s.offset + s.data_len() <= self.tx.una());
                self.ending.cause = Some(AbortReason::TimedOut);
                let reason = if known { ResetReason::TooMuchData } else { ResetReason::Performance };
                self.reset_subflow(now_ns, r, reason, true);
            }
            Expired::Retransmit { first } => {
                let (subflow, frto) = (&mut self.subflows[r], self.config.tcp.frto);
                subflow.timed_out(now_ns, &mut self.views, r, &mut self.controller, frto);
                if beyond_window {
                    subflow.retries = 1; // a probe: when the window opens again, data has all its attempts
                }
                self.due.attention.insert(r);
                self.note_retry(r);
                self.observe(now_ns, Some(r));
                if self.repair() == Repair::Prompt {
                    if first {
                        self.reinject_all(now_ns, r, ReinjectionReason::SubflowTimeout);
                    }
                    self.give_back(r, false);
                }
            }
        }
    }

    /// RFC 9293 §3.8.3: at R1 the layer below hears of trouble, the application too (SHLD-9). Both are the driver's, which gets the
    /// event: it has the routes. With Multipath TCP other subflows are preferred meanwhile.
    fn note_retry(&mut self, r: usize) {
        if self.subflows[r].retries == self.config.tcp.r1 {
            self.tell_once(Event::Unresponsive(SubflowId(r as u8)));
        }
    }

    #[inline(always)]
    pub(super) fn arm_data_timer(&mut self, now_ns: u64) {
        if self.mode == Mode::Mptcp && self.timers.retransmit_ns == NEVER {
            self.set_data_timer(now_ns);
        }
    }

    fn set_data_timer(&mut self, now_ns: u64) {
        let slowest_ns =
            self.subflows.iter().filter(|s| s.is_synchronised()).map(|s| s.rtt.base_rto_ns()).max().unwrap_or(0);
        if slowest_ns == 0 {
            return; // there is no subflow; the next one to join brings it on
        }
        // Subflows repair their own losses: this one comes later than theirs, and only when they do not.
        let timeout_ns = match self.repair() {
            Repair::Prompt => (2 * slowest_ns) << self.timers.backoff.min(8),
            Repair::Kernel => self.page_timeout_ns() << self.timers.backoff.saturating_sub(8).min(8),
        };
        self.timers.retransmit_ns = now_ns + timeout_ns.min(self.config.tcp.rto_max_ns);
        self.wake_by(self.timers.retransmit_ns);
    }

    /// Nothing was acknowledged at the data level for long.
    fn data_timer(&mut self, now_ns: u64) {
        self.timers.retransmit_ns = NEVER;
        if self.timers.backoff > self.config.tcp.retries && !self.is_bound_and_carried(self.tx.una()) {
            // The subflows work, but what goes over them does not reach the data level.
            self.ending.cause = Some(AbortReason::TimedOut);
            for r in 0..self.subflows.len() {
                if self.is_open(r) {
                    self.reset_subflow(now_ns, r, ResetReason::Middlebox, true);
                }
            }
            return;
        }
        if self.tx.is_outstanding() {
            self.reset_false_acknowledgers(now_ns);
            match self.repair() {
                Repair::Prompt => self.reinject_uncarried(now_ns, ReinjectionReason::DataTimeout),
                Repair::Kernel => self.retransmit_oldest_page(),
            }
        } else if self.ending.is_data_fin_outstanding() {
            self.ending.repeat_data_fin();
        } else {
            return;
        }
        self.timers.backoff += 1;
        self.due.data = true;
        self.arm_data_timer(now_ns);
    }

    /// A subflow on which the first missing byte was sent again and acknowledged, while the DATA_ACK does not move,
    /// acknowledges what it does not deliver: a middlebox does it, and has lost it. Others are better off without.
    fn reset_false_acknowledgers(&mut self, now_ns: u64) {
        let (mut tried, hole) = (self.timers.hole_tried, self.tx.una());
        while let Some(r) = tried.pop() {
            let carried = self.subflows[r].board.iter().any(|s| (s.offset..s.offset + s.len()).contains(&hole));
            if !carried && self.is_open(r) && self.live_subflows() > 1 {
                self.reset_for_middlebox(now_ns, r);
            }
        }
    }

    /// The peer's window is closed and nothing is under way that would bring news of it.
    pub(super) fn arm_probe(&mut self, now_ns: u64) {
        if self.timers.probe_ns == NEVER && self.views.iter().all(|v| v.in_flight == 0) {
            let Some(r) = self.best_subflow() else { return };
            let timeout_ns = self.subflows[r].rtt.base_rto_ns() << self.timers.probe_backoff.min(8);
            self.timers.probe_backoff += 1;
            self.timers.probe_ns = now_ns + timeout_ns.min(self.config.tcp.rto_max_ns);
            self.wake_by(self.timers.probe_ns);
        }
    }

    /// A closed window is probed as long as the peer answers (RFC 9293 §3.8.6.1); the subflow is given up after as many probes
    /// without an answer as there are retransmissions (§3.8.3, R2). Behind a box that has acknowledged what it then lost, the
    /// probe lies in the peer's window and is never answered.
    fn probe_timer(&mut self, now_ns: u64) {
        self.due.data = true;
        if u32::from(self.timers.unanswered) < self.config.tcp.retries {
            self.timers.unanswered += 1;
            self.timers.probe_due = true;
        } else if let Some(r) = self.best_subflow() {
            self.timers.unanswered = 0;
            self.ending.cause = Some(AbortReason::TimedOut);
            self.reset_subflow(now_ns, r, ResetReason::Performance, true);
        }
    }

    /// A segment from below the window, which the peer must answer with its window (RFC 9293 §3.8.6.1). It carries
    /// no data, so it cannot be taken for some.
    pub(super) fn zero_window_probe(&mut self, now_ns: u64, out: &mut Outgoing<P>) -> Option<usize> {
        let r = self.best_subflow()?;
        let seq = self.subflows[r].snd_nxt - 1;
        self.segment_into(now_ns, r, seq, Flags::ACK, &mut out.segment);
        Some(r)
    }
}
