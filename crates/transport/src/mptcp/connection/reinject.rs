//! Data goes out again on another subflow: when, and which.

use super::Connection;
use crate::Timers;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::scheduler::Repair;
use crate::tcp::wheel;
use crate::time::{Duration, Instant};
use crate::trace::ReinjectionReason;

impl<P: Sendable> Connection<P> {
    /// How losses are repaired across subflows.
    pub(super) fn repair(&self) -> Repair {
        if self.silence.is_some() { Repair::Kernel } else { Repair::Prompt }
    }

    /// Everything that a subflow carried and the peer has not acknowledged at the data level is to go out again on
    /// others.
    pub(super) fn reinject_all(&mut self, now: Instant, r: usize, why: ReinjectionReason) {
        if !self.level.is_multipath() {
            return;
        }
        let mut reach = None;
        for sent in self.subflows[r].board().iter() {
            // What was selectively acknowledged has arrived, but on a dead subflow it may never be delivered.
            let end = sent.offset + sent.data_len();
            if end > self.tx.una() {
                self.reinjections.add(sent.offset.max(self.tx.una()), end, r);
                let (first, last) = reach.unwrap_or((sent.offset, end));
                reach = Some((first.min(sent.offset), last.max(end)));
            }
        }
        if let Some((first, last)) = reach {
            self.tell_queued(now, Some(r), (first.max(self.tx.una()), last), why);
        }
        self.due.data = true;
    }

    /// What was sent, is not acknowledged at the data level, and is under way on no subflow that works: it was
    /// acknowledged on a subflow by someone who did not deliver it, or not yet.
    pub(super) fn reinject_uncarried(&mut self, now: Instant, why: ReinjectionReason) {
        if !self.level.is_multipath() {
            return;
        }
        let mut carried: Vec<(Offset, Offset)> = Vec::new();
        let kernel = self.repair() == Repair::Kernel;
        for (r, (subflow, view)) in self.subflows.iter().zip(&self.views).enumerate() {
            let hopeless = if kernel { self.is_stale(r) } else { view.potentially_failed };
            if subflow.is_synchronised() && !hopeless {
                carried.extend(subflow.board().iter().map(|s| (s.offset, s.offset + s.data_len())));
            }
        }
        carried.extend(self.plan.iter().flat_map(|plan| plan.never_sent().chain(plan.again())));
        carried.sort_unstable();
        let mut at = self.tx.una();
        for (from, to) in carried {
            if from > at {
                self.reinjections.add_untried(at, from.min(self.tx.nxt()));
                self.tell_queued(now, None, (at, from.min(self.tx.nxt())), why);
            }
            at = at.max(to);
        }
        self.reinjections.add_untried(at, self.tx.nxt());
        self.tell_queued(now, None, (at, self.tx.nxt()), why);
        self.due.data = true;
    }

    /// Whether what is under way on the subflow can still be hoped for.
    fn is_stale(&self, r: usize) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.of(r).stale)
    }

    #[inline(always)]
    pub(super) fn arm_data_timer(&mut self, now: Instant) {
        if self.level.is_multipath() && self.timers.retransmit_at().is_never() {
            self.set_data_timer(now);
        }
    }

    pub(super) fn set_data_timer(&mut self, now: Instant) {
        let slowest =
            self.subflows.iter().filter(|s| s.is_synchronised()).map(|s| s.rtt().base_rto()).max().unwrap_or_default();
        if slowest.is_zero() {
            return; // there is no subflow; the next one to join brings it on
        }
        // Subflows repair their own losses: this one comes later than theirs, and only when they do not.
        let timeout = match self.repair() {
            Repair::Prompt => (2 * slowest).doubled(self.timers.backoff().min(8)),
            Repair::Kernel => self.page_timeout().doubled(self.timers.backoff().saturating_sub(8).min(8)),
        };
        let at = self.expiry(now, timeout.min(self.config.tcp.rto_max()));
        self.timers.set_retransmission(at);
        self.wake_by(at);
    }

    /// When a timer of the data level expires.
    pub(super) fn expiry(&self, now: Instant, wait: Duration) -> Instant {
        if self.config.tcp.timers == Timers::Linux { wheel::expiry(now, wait).0 } else { now + wait }
    }

    /// The period of that timer; where nothing waits, the least retransmission timeout.
    pub(super) fn page_timeout(&self) -> Duration {
        let period = self.silence.as_ref().map_or(Duration::ZERO, |silence| silence.period);
        if period.is_zero() { self.config.tcp.rto_min() } else { period }
    }
}
