//! MP_TCPRST: a reset tells the peer why a subflow ends (RFC 8684 §3.6).

use wire::{Flags, MptcpOption, Options, RareOptions, Segment};

use super::connection::Connection;
use super::options::mptcp_options;
use super::state::reset::{ResetReason, TRANSIENT};
use crate::queue::Stream;
use crate::tcp::subflow::State;

/// Whether a reset says that the path may be tried again. One that says nothing may come from a middlebox: it may.
fn is_transient<P>(segment: &Segment<P>) -> bool {
    mptcp_options(segment).all(|o| !matches!(o, MptcpOption::MpTcpRst { flags, .. } if flags & TRANSIENT == 0))
}

impl<P: Stream> Connection<P> {
    /// The peer has reset a subflow. What is said of MP_FAIL holds too: data from there on will not be acknowledged
    /// at the data level and is sent again on other subflows (RFC 8684 §3.7).
    pub(super) fn receive_reset(&mut self, now_ns: u64, r: usize, segment: &Segment<P>) {
        let failed = mptcp_options(segment).any(|o| matches!(o, MptcpOption::MpFail { .. }));
        self.fail_subflow(now_ns, r, is_transient(segment));
        if failed {
            self.reinject_uncarried();
        }
    }

    /// As [`fail_subflow`](Self::fail_subflow), and tells the peer why.
    pub(super) fn reset_subflow(&mut self, now_ns: u64, r: usize, reason: ResetReason, transient: bool) {
        let reset = &mut self.contexts[r].reset;
        (reset.reason, reset.transient) = (reason, transient);
        if self.subflows[r].rcv_nxt > 0 {
            // Else the peer has not answered: there is nothing to reset.
            self.subflows[r].reset_due = true;
            self.due.attention.insert(r);
        }
        self.fail_subflow(now_ns, r, transient);
    }

    /// Path trouble of a middlebox's making: it will be there the next time too, so the path is not tried again
    /// while others work.
    pub(super) fn reset_for_middlebox(&mut self, now_ns: u64, r: usize) {
        let last = self.live_subflows() <= 1;
        self.reset_subflow(now_ns, r, ResetReason::Middlebox, last);
    }

    /// Subflows that are not closed.
    pub(super) fn live_subflows(&self) -> usize {
        self.subflows.iter().filter(|s| !matches!(s.state, State::Closed | State::TimeWait)).count()
    }

    /// The reset itself.
    pub(super) fn reset(&mut self, r: usize) -> Segment<P> {
        let (subflow, reset) = (&self.subflows[r], self.contexts[r].reset);
        let mut options = Options::default();
        if let Some(receiver_key) = self.keys.remote {
            let mut mptcp = Vec::new();
            mptcp.extend(reset.fail_dsn.map(|dsn| MptcpOption::MpFail { dsn }));
            mptcp.extend(reset.fastclose.then_some(MptcpOption::MpFastclose { receiver_key }));
            mptcp.push(reset.reason.option(reset.transient));
            options.rare = Some(Box::new(RareOptions { mptcp, ..RareOptions::default() }));
        }
        Segment {
            src_port: subflow.tuple.local.port(),
            dst_port: subflow.tuple.remote.port(),
            seq: subflow.reset_seq.unwrap_or(subflow.iss.wrapping_add(subflow.snd_nxt as u32)),
            ack: subflow.irs.wrapping_add(subflow.rcv_nxt as u32),
            flags: Flags::RST | Flags::ACK,
            window: 0,
            urgent: 0,
            options,
            payload: P::empty(),
        }
    }
}
