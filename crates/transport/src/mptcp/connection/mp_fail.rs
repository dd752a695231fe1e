//! MP_FAIL: a checksum failed on the only subflow, which is the stream from there on (RFC 8684 §3.7).

use wire::MptcpOption;

use super::Connection;
use crate::numbers::{Dsn, Ours};
use crate::queue::Sendable;
use crate::time::Instant;
use crate::trace::FallbackReason;

/// MP_FAIL is sent so many times more by itself before the subflow is given up.
const FAIL_RETRIES: u32 = 6;

impl<P: Sendable> Connection<P> {
    /// MP_FAIL goes out with every acknowledgment until the infinite mapping comes; this one at once.
    pub(super) fn send_fail(&mut self, now: Instant, r: usize) {
        let Some(held) = &mut self.contexts[r].held else { return };
        let due_at = now + self.subflows[r].rtt().base_rto().doubled(held.retries.min(6));
        held.timer = due_at;
        self.owe_acknowledgment(r);
        self.arm_control(due_at);
    }

    /// No infinite mapping has come in time.
    pub(super) fn fail_timer(&mut self, now: Instant, r: usize) {
        let Some(held) = &mut self.contexts[r].held else { return };
        held.timer = Instant::NEVER;
        held.retries += 1;
        if held.retries > FAIL_RETRIES {
            self.reset_for_middlebox(now, r);
        } else {
            self.send_fail(now, r);
        }
    }

    /// MP_FAIL on an acknowledgment: data on the only subflow was changed. "The receiver of an MP_FAIL MUST also respond
    /// with an MP_FAIL in the reverse direction and so bring down both to regular TCP" (RFC 8684 §3.7).
    pub(super) fn receive_fail(&mut self, now: Instant, r: usize, dsn: Dsn<Ours>) {
        if !self.level.is_multipath() {
            // It was lost.
            if r == self.fallback.subflow() && self.fallback.tell_anew() {
                self.usual.forget();
                self.owe_acknowledgment(r);
            }
            return;
        }
        let at = self.numbers.our_place(dsn);
        if !(self.tx.una()..=self.tx.nxt()).contains(&at) {
            return;
        }
        if self.live_subflows() > 1 {
            self.reset_for_middlebox(now, r);
        } else if self.fall_back(now, r, FallbackReason::ChecksumFailed) && self.contexts[r].held.is_none() {
            let dsn = self.numbers.theirs(self.rx.nxt()).on_wire();
            self.signal(r, MptcpOption::MpFail { dsn });
        }
    }
}
