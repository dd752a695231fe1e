//! MP_TCPRST: a reset tells the peer why a subflow ends (RFC 8684 §3.6).

use wire::{Flags, MptcpOption, Options, RareOptions, Segment};

use super::Connection;
use crate::mptcp::options::mptcp_options;
use crate::mptcp::state::ending::AbortReason;
use crate::mptcp::state::reset::{ResetReason, TRANSIENT};
use crate::queue::Sendable;
use crate::tcp::subflow::{ResetAnswer, State};
use crate::time::{Duration, Instant};
use crate::trace::ReinjectionReason;

/// Between two challenge ACKs of a subflow.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

impl<P: Sendable> Connection<P> {
    /// The peer has reset a subflow. What is said of MP_FAIL holds too: data from there on will not be acknowledged
    /// at the data level and is sent again on other subflows (RFC 8684 §3.7).
    pub(super) fn receive_reset(&mut self, now: Instant, r: usize, segment: &Segment<P>) {
        let refused = self.subflows[r].state() == State::SynSent;
        self.ending.blame(if refused { AbortReason::Refused } else { AbortReason::Reset });
        let failed = mptcp_options(segment).any(|o| matches!(o, MptcpOption::MpFail { .. }));
        // The path may be tried again unless the reset denies it: one that says nothing may come from a middlebox.
        let final_one = |o: &MptcpOption| matches!(o, MptcpOption::MpTcpRst { flags, .. } if flags & TRANSIENT == 0);
        self.fail_subflow(now, r, !mptcp_options(segment).any(final_one));
        if failed {
            self.reinject_uncarried(now, ReinjectionReason::ChecksumFailed);
        }
    }

    /// As [`fail_subflow`](Self::fail_subflow), and tells the peer why.
    pub(super) fn reset_subflow(&mut self, now: Instant, r: usize, reason: ResetReason, transient: bool) {
        let reset = self.contexts[r].reset.get_or_insert_default();
        (reset.reason, reset.transient) = (reason, transient);
        if self.subflows[r].rcv_nxt() > 0 {
            // Else the peer has not answered: there is nothing to reset.
            self.subflows[r].owe_reset();
            self.due.attention.insert(r);
        }
        self.fail_subflow(now, r, transient);
    }

    /// Path trouble of a middlebox's making: it will be there the next time too, so the path is not tried again
    /// while others work.
    pub(super) fn reset_for_middlebox(&mut self, now: Instant, r: usize) {
        let last = self.live_subflows() <= 1;
        self.reset_subflow(now, r, ResetReason::Middlebox, last);
    }

    /// Subflows that are not closed.
    pub(super) fn live_subflows(&self) -> usize {
        self.subflows.iter().filter(|s| s.is_open()).count()
    }

    /// A segment that fits nothing of subflow `r` is answered with a reset; of a closed one unless its own is still to go.
    pub(super) fn answer_with_reset(&mut self, r: usize, segment: &Segment<P>) {
        if self.subflows[r].answer_with_reset(segment) {
            self.due.attention.insert(r);
        }
    }

    /// The reset itself. A mere answer says why only what the peer must know: that a checksum failed, or that the whole
    /// connection ends. Its timestamps: RFC 7323 §3.2.
    pub(super) fn reset(&mut self, now: Instant, r: usize) -> Segment<P> {
        let answer = self.subflows[r].take_reset_answer();
        let (subflow, reset) = (&self.subflows[r], self.contexts[r].reset.as_deref().copied().unwrap_or_default());
        let mut options = Options { timestamps: subflow.timestamps_now(now), ..Options::default() };
        if let (Some(t), Some(ResetAnswer { ack: 0, .. })) = (&mut options.timestamps, answer) {
            t.echo = 0; // "if the ACK bit is not set … MUST be zero"
        }
        let tells = answer.is_none() || reset.fastclose || reset.fail_dsn.is_some();
        if let Some(receiver_key) = self.keys.remote.filter(|_| tells) {
            let mut mptcp = Vec::new();
            mptcp.extend(reset.fail_dsn.map(|dsn| MptcpOption::MpFail { dsn: dsn.on_wire() }));
            mptcp.extend(reset.fastclose.then_some(MptcpOption::MpFastclose { receiver_key }));
            mptcp.push(reset.reason.option(reset.transient));
            options.rare = Some(Box::new(RareOptions { mptcp, ..RareOptions::default() }));
        }
        Segment {
            src_port: subflow.ports().0,
            dst_port: subflow.ports().1,
            seq: answer.map_or(subflow.our_number(subflow.snd_nxt()).on_wire(), |a| a.seq),
            ack: answer.map_or(subflow.their_number(subflow.rcv_nxt()).on_wire(), |a| a.ack),
            flags: answer.map_or(Flags::RST | Flags::ACK, |a| a.flags),
            window: 0,
            urgent: 0,
            options,
            payload: P::empty(),
        }
    }

    /// A challenge ACK, unless there was one shortly before: two ends that disagree, because someone has forged a
    /// segment, would answer each other for ever. RFC 5961 §7 asks for a limit; this one is Linux's.
    #[cold]
    pub(super) fn challenge(&mut self, now: Instant, r: usize) {
        if self.contexts[r].challenge_at <= now {
            self.contexts[r].challenge_at = now + CHALLENGE_INTERVAL;
            self.owe_acknowledgment(r);
        }
    }
}
