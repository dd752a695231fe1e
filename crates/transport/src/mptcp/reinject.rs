//! Data goes out again on another subflow: when, and which.

use super::connection::Connection;
use crate::offset::Offset;
use crate::queue::Stream;
use crate::scheduler::Repair;
use crate::time::NEVER;
use crate::trace::ReinjectionReason;

impl<P: Stream> Connection<P> {
    /// How losses are repaired across subflows.
    pub(super) fn repair(&self) -> Repair {
        if self.silence.is_some() { Repair::Kernel } else { Repair::Prompt }
    }

    /// Everything that a subflow carried and the peer has not acknowledged at the data level is to go out again on
    /// others.
    pub(super) fn reinject_all(&mut self, now_ns: u64, r: usize, why: ReinjectionReason) {
        if !self.level.is_multipath() {
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
        if !self.level.is_multipath() {
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

    /// Whether what is under way on the subflow can still be hoped for.
    fn is_stale(&self, r: usize) -> bool {
        self.silence.as_ref().is_some_and(|silence| silence.of(r).stale)
    }

    #[inline(always)]
    pub(super) fn arm_data_timer(&mut self, now_ns: u64) {
        if self.level.is_multipath() && self.timers.retransmit_ns == NEVER {
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

    /// The period of that timer; where nothing waits, the least retransmission timeout.
    fn page_timeout_ns(&self) -> u64 {
        let period_ns = self.silence.as_ref().map_or(0, |silence| silence.period_ns);
        if period_ns == 0 { self.config.tcp.rto_min_ns } else { period_ns }
    }
}
