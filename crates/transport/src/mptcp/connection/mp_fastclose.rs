//! MP_FASTCLOSE ends the connection at once, with all its subflows (RFC 8684 §3.5).

use wire::{MptcpOption, Segment};

use super::{Connection, Event};
use crate::mptcp::options::mptcp_options;
use crate::mptcp::state::ending::AbortReason;
use crate::mptcp::state::reset::ResetReason;
use crate::queue::Sendable;
use crate::tcp::subflow::State;
use crate::time::Instant;

impl<P: Sendable> Connection<P> {
    /// Gives up at once: every subflow is reset, under MPTCP with MP_FASTCLOSE and the peer's key (RFC 8684 §3.5,
    /// option R).
    pub fn abort(&mut self, now: Instant) {
        self.set_clock(now);
        self.give_up(now, AbortReason::Local);
    }

    pub(super) fn give_up(&mut self, now: Instant, cause: AbortReason) {
        self.ending.blame(cause);
        self.finish(Event::Aborted);
        for r in 0..self.subflows.len() {
            let state = self.subflows[r].state();
            if self.level.ends_with_fin() && matches!(state, State::Closing | State::LastAck) {
                // Both directions have ended: there is nothing to reset (RFC 9293 §3.10.5).
                self.fail_subflow(now, r, false);
            } else if self.subflows[r].is_open() {
                self.contexts[r].reset.get_or_insert_default().fastclose = self.peer_key().is_some();
                self.reset_subflow(now, r, ResetReason::Unspecified, false);
            }
        }
    }

    /// Whether a segment ends the connection with MP_FASTCLOSE, and if so does it. A wrong key says nothing.
    pub(super) fn receive_fastclose(&mut self, now: Instant, r: usize, segment: &Segment<P>) -> bool {
        let has_our_key = |option: &MptcpOption| match option {
            MptcpOption::MpFastclose { receiver_key } => wire::keys::same_u64(*receiver_key, self.keys.local),
            _ => false,
        };
        let valid = self.level.is_multipath() && mptcp_options(segment).any(has_our_key);
        if valid {
            self.fastclose(now, r, !segment.flags.rst());
        }
        valid
    }

    /// MP_FASTCLOSE with our key: the peer has given up. "Upon receipt of an MP_FASTCLOSE, containing the valid key,
    /// Host B answers on the same subflow with a TCP RST and tears down all subflows" (RFC 8684 §3.5).
    fn fastclose(&mut self, now: Instant, r: usize, answer: bool) {
        self.ending.blame(AbortReason::FastClose);
        self.finish(Event::Aborted);
        for other in 0..self.subflows.len() {
            if other == r && !answer {
                self.fail_subflow(now, r, false);
            } else if self.subflows[other].is_open() {
                self.reset_subflow(now, other, ResetReason::Unspecified, false);
            }
        }
    }
}
