//! How Linux repairs at the data level (docs/decisions/0006): what its socket's oldest page holds goes out again where
//! nothing is under way, and subflows that stay silent lose what they have to others. Only under [`Repair::Kernel`].
//!
//! [`Repair::Kernel`]: crate::scheduler::Repair::Kernel

use super::Connection;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::scheduler::{PacketScheduler, SubflowSet};
use crate::tcp::subflow::Subflow;
use crate::time::Instant;
use crate::trace::ReinjectionReason;

/// The data of a page of the socket, beside its description.
const PAGE_BYTES: u64 = 32_768 - 40;
/// After so many periods of the data level's timer without a word from a subflow it is stale (`stale_loss_cnt`).
const STALE_PERIODS: u32 = 4;

impl<P: Sendable> Connection<P> {
    /// The data level's timer: the oldest page is bound once more, whole, to a subflow where nothing is under way; on a backup only the
    /// second time that nothing was heard of the others. A subflow from which
    /// nothing was heard for four periods is stale, and what it has goes to others.
    pub(super) fn retransmit_oldest_page(&mut self) {
        let Some(mut silence) = self.silence.take() else { return };
        let mut idle = None;
        let mut fewest_periods = u32::MAX;
        for (r, subflow) in self.subflows.iter().enumerate().filter(|&(r, _)| self.views[r].active) {
            let Some(silent) = silence.of_mut(r) else { continue };
            if subflow.board().is_empty() && !self.plan.as_ref().is_some_and(|plan| plan.waits_on(r)) {
                // How long nothing was heard of one with nothing under way stays as it was.
                if idle.is_none_or(|i: usize| self.views[i].backup && !self.views[r].backup) {
                    idle = Some(r);
                }
            } else {
                // Of one that was heard of, the count ends and begins again only a period later.
                let periods = match silent.since {
                    (_, 0) => 1,
                    (heard, periods) if heard == subflow.heard() => periods + 1,
                    _ => 0,
                };
                silent.since = (subflow.heard(), periods);
                fewest_periods = fewest_periods.min(periods);
            }
        }
        // A backup helps only when nothing was heard of any other for a period in which it could have been.
        let idle = idle.filter(|&r| !self.views[r].backup || fewest_periods > 1);
        let works = |r: &usize| self.views[*r].active;
        let periods = |r: usize| silence.of(r).since.1;
        let better = (0..self.views.len()).filter(works).any(|r| periods(r) + 1 < STALE_PERIODS);
        let late = |r: &usize| periods(*r) > STALE_PERIODS && !silence.of(*r).stale;
        let stale: Vec<_> = (0..self.views.len()).filter(works).filter(|r| better && late(r)).collect();
        for &r in &stale {
            if let Some(silent) = silence.of_mut(r) {
                silent.stale = true;
            }
        }
        self.silence = Some(silence);
        if let Some(r) = idle {
            let una = self.tx.una();
            let place = una.octets();
            let end = self.scheduler.page_end(place).unwrap_or((place / PAGE_BYTES + 1).saturating_mul(PAGE_BYTES));
            let to = self.tx.nxt().min(Offset::after(end));
            self.bind(SubflowSet::one(r), una, to, true);
            self.tell_queued(self.clock(), None, (una, to), ReinjectionReason::DataTimeout);
        }
        for r in stale {
            self.give_back(r, true);
            self.reinject_all(self.clock(), r, ReinjectionReason::Stale);
        }
    }

    /// Whether what was bound is with a subflow that stands, and so a matter of its own timer.
    pub(super) fn is_bound_and_carried(&self, at: Offset) -> bool {
        if self.silence.is_none() {
            return false;
        }
        let on = |s: &Subflow<P>| {
            s.is_synchronised() && s.board().iter().any(|sent| (sent.offset..sent.offset + sent.len()).contains(&at))
        };
        let mut bound = self.plan.iter().flat_map(|plan| plan.never_sent());
        bound.any(|(from, to)| (from..to).contains(&at)) || self.subflows.iter().any(on)
    }

    /// Before each segment, and before nothing more can be sent. Linux chooses a subflow for what is written before it looks at what a
    /// DATA_ACK acknowledges, and that sets the timer (`ack_update_msk`); and it does so behind the page that the timer has sent
    /// (`mptcp_check_and_set_pending`).
    #[cold]
    pub(super) fn hear_as_linux(&mut self, now: Instant) {
        let una = self.tx.una();
        let set_now = self.timers.retransmit_at() == self.expiry(now, self.page_timeout());
        let Some(silence) = &mut self.silence else { return };
        silence.hear(&self.subflows);
        let advanced = std::mem::replace(&mut silence.una, una) != una;
        if silence.fired_at == now || advanced && self.tx.open() > 0 {
            self.note_unsent(now);
        }
        if advanced && set_now {
            self.set_data_timer(now);
        }
    }

    /// Something has happened after which the kernel looks for a subflow for what is written and not sent.
    #[cold]
    pub(super) fn note_unsent(&mut self, now: Instant) {
        let unsent = self.scheduler.page_end(self.tx.nxt().octets()).is_some();
        self.note_scheduled(now, unsent);
    }

    /// The scheduler was asked about new data. If it had any, the period of that timer is from now on the longest that a subflow
    /// which is heard of still waits for an acknowledgment; it stays that until the scheduler has data again.
    pub(super) fn note_scheduled(&mut self, now: Instant, had_data: bool) {
        let Some(silence) = self.silence.as_mut().filter(|_| had_data) else { return };
        let heard = self.subflows.iter().enumerate().filter(|&(r, _)| silence.of(r).since.1 == 0);
        let waits = heard.map(|(_, s)| s.outstanding_tick()).filter(|at| !at.is_never());
        silence.period = waits.map(|at| at.saturating_since(now)).max().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{arrives, established, sent, signal};
    use crate::Protocol;
    use crate::mptcp::state::silence::Silence;
    use crate::offset::Offset;
    use crate::time::Instant;

    /// Linux 6.12: 22,784 bytes of the first page are without an acknowledgment on one subflow when the other has nothing under way: it gets
    /// all of them ahead of what is bound to it later, though its window holds two segments; and nothing more while they wait.
    #[test]
    fn the_oldest_page_is_bound_whole_where_nothing_is_under_way() {
        let mut c = established(Protocol::Mptcp, 2);
        c.silence = Some(Box::new(Silence::new(true)));
        (c.views[0].cwnd, c.views[1].cwnd) = (20.0, 2.0);
        c.tx.open_to(Offset::after(40_000));
        c.offer(40_000);
        (c.views[1].active, c.views[0].cwnd) = (false, 34.0);
        c.subflows[0].set_window_edge(40_001);
        assert_eq!(sent(&mut c, Instant::from_millis(1)).len(), 34);
        c.views[1].active = true;
        if let Some(silence) = &mut c.silence {
            silence.hear(&c.subflows);
        }
        c.tx.acknowledge(Offset::after(9_944), Offset::after(9_944));
        c.retransmit_oldest_page();
        let waits = |c: &mut super::Connection<wire::Span>| c.plan_mut().queue(1).map_or(0, |queue| queue.bytes());
        assert_eq!(waits(&mut c), 22_784);
        c.retransmit_oldest_page();
        assert_eq!(waits(&mut c), 22_784);
    }

    /// `mptcp_subflow_get_retrans` looks at the count of none that has nothing under way.
    #[test]
    fn how_long_nothing_was_heard_of_one_that_is_idle_stays() {
        let mut c = established(Protocol::Mptcp, 1);
        c.silence = Some(Box::new(Silence::new(true)));
        c.offer(1_000);
        assert_eq!(sent(&mut c, Instant::from_millis(1)), [(0, 0, 1_000)]);
        if let Some(silence) = &mut c.silence {
            silence.hear(&c.subflows);
        }
        let periods = |c: &super::Connection<wire::Span>| c.silence.as_ref().map(|silence| silence.of(0).since.1);
        c.retransmit_oldest_page();
        assert_eq!(periods(&c), Some(1));
        let all = signal(&c, 1, 1_001, 1_000);
        arrives(&mut c, Instant::from_millis(11), 0, all);
        assert!(c.subflows[0].board().is_empty());
        c.retransmit_oldest_page();
        assert_eq!(periods(&c), Some(1), "nothing is under way");
    }
}
