//! Control options: each goes out on an acknowledgment of its own, so that it never takes room from data.

use wire::{Flags, MptcpOption, RareOptions, Segment};

use super::Connection;
use crate::queue::Sendable;
use crate::time::{Duration, Instant};
use crate::trace::Direction;

/// Options that wait on a subflow; a peer that asks for more answers than this does not get them.
const MAX_SIGNALS: usize = 8;
/// Bare acknowledgments with options in a row: more could be taken for a sign of congestion (RFC 8684 §3).
const MAX_IN_A_ROW: u8 = 2;
/// The pause after them is a round trip, of which little may be known yet.
const MIN_PAUSE: Duration = Duration::from_millis(1);

impl<P: Sendable> Connection<P> {
    /// Control options may go out on it: before, acknowledgments are bound to the handshake's own options.
    pub(super) fn may_signal(&self, r: usize) -> bool {
        let subflow = &self.subflows[r];
        subflow.is_synchronised()
            && self.subflows[r].is_open()
            && self.is_fully_established()
            && subflow.join().is_none_or(|j| j.confirmed)
    }

    /// The subflow for a control option that concerns the connection; not one of the local address `except`.
    pub(super) fn signalling_subflow(&self, except: Option<u8>) -> Option<usize> {
        (0..self.subflows.len())
            .filter(|&r| self.may_signal(r) && Some(self.subflows[r].local_id()) != except)
            .min_by_key(|&r| (self.views[r].potentially_failed, self.views[r].backup, self.views[r].srtt))
    }

    /// Sends an option on subflow `r`.
    pub(super) fn signal(&mut self, r: usize, option: MptcpOption) {
        let signals = &mut self.contexts[r].signalling.get_or_insert_default().options;
        if signals.len() < MAX_SIGNALS && !signals.contains(&option) {
            signals.push_back(option);
            self.due.signals.insert(r);
        }
    }

    /// The next segment with a control option, or a keep-alive.
    pub(super) fn transmit_signal(&mut self, now: Instant) -> Option<(usize, Segment<P>)> {
        while self.due.signals.0 != 0 {
            let r = self.due.signals.0.trailing_zeros() as usize;
            if self.may_signal(r) {
                let signalling = self.contexts[r].signalling.as_mut();
                if signalling.is_some_and(|signalling| std::mem::take(&mut signalling.keepalive_due)) {
                    // From below what the peer expects, so that it answers (RFC 9293 §3.8.4).
                    let seq = self.subflows[r].snd_una() - 1;
                    return Some((r, self.segment(now, r, seq, Flags::ACK)));
                }
                if self.must_pause(now, r) {
                    self.due.signals.pop();
                    continue;
                }
                let signalling = self.contexts[r].signalling.as_mut();
                if let Some(option) = signalling.and_then(|signalling| signalling.options.pop_front()) {
                    let seq = self.subflows[r].snd_nxt();
                    let mut segment = self.segment(now, r, seq, Flags::ACK);
                    self.tell_option(now, r, &option, Direction::Sent);
                    attach(&mut segment, option);
                    return Some((r, segment));
                }
            }
            self.contexts[r].clear_signals();
            self.due.signals.pop();
        }
        None
    }

    /// Whether as many options as may follow one another have gone out on `r`: the next one waits a round trip. Otherwise
    /// counts the one that goes now.
    fn must_pause(&mut self, now: Instant, r: usize) -> bool {
        // The kernel sends each option at once.
        if !self.contexts[r].has_signals() || self.config.kernel_paths.is_some() {
            return false;
        }
        let pause = self.views[r].srtt.max(MIN_PAUSE);
        let context = &mut self.contexts[r];
        if context.in_a_row >= MAX_IN_A_ROW {
            let until = context.last_signal_at + pause;
            if now < until {
                context.signalling.get_or_insert_default().pause_until = until;
                self.arm_control(until);
                return true;
            }
            context.in_a_row = 0;
        }
        (context.in_a_row, context.last_signal_at) = (context.in_a_row + 1, now);
        false
    }

    /// The timer of what is due at the level of MPTCP expires at `at` at the latest.
    pub(super) fn arm_control(&mut self, at: Instant) {
        self.control.look_by(at);
        self.wake_by(at);
    }

    /// MP_FAIL goes on every acknowledgment while the infinite mapping is waited for.
    pub(super) fn attach_fail(&self, r: usize, segment: &mut Segment<P>) {
        if let Some(held) = &self.contexts[r].held {
            let dsn = self.numbers.theirs(held.failed_at).on_wire();
            segment.options.sack = wire::SackBlocks::default();
            attach(segment, MptcpOption::MpFail { dsn });
        }
    }
}

/// Adds an option; when the space is short the DSS makes room for it.
pub(super) fn attach<P>(segment: &mut Segment<P>, option: MptcpOption) {
    segment.options.rare = Some(Box::new(RareOptions { mptcp: vec![option], ..RareOptions::default() }));
    if segment.options.len() > wire::MAX_OPTIONS_LEN {
        segment.options.dss = None;
    }
}
