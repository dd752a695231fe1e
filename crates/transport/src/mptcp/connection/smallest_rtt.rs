//! The default scheduler's question, for a full segment of new data with more behind it: most data goes this way.

use super::Connection;
use super::outgoing::{Attempt, Outgoing};
use crate::queue::Sendable;
use crate::scheduler::{MinRtt, SubflowSet, usable};
use crate::time::{Duration, Instant};

impl<P: Sendable> Connection<P> {
    /// The choice for new data among `all`, a bit for each subflow. Only subflows that can have got room since none had it
    /// are looked at.
    #[inline]
    fn choose_smallest_rtt(&mut self, all: u64) -> Option<usize> {
        let mut among = SubflowSet(self.usual.roomy().0 & all);
        let mut best = None;
        if among.0 == all {
            best = MinRtt::best(&self.views, SubflowSet::default());
        } else {
            let mut least = Duration::MAX;
            while let Some(r) = among.pop() {
                let view = &self.views[r];
                if view.srtt < least && usable(view) {
                    (best, least) = (Some(r), view.srtt);
                }
            }
            debug_assert_eq!(best, MinRtt::best(&self.views, SubflowSet::default()));
        }
        if best.is_none() {
            self.note_blocked(self.usual.roomy());
            // A backup may be passed over although it has room: then all are looked at each time.
            if !self.views.iter().any(|v| v.backup) {
                self.usual.note_full();
            }
        }
        best
    }

    /// A full segment of new data on the subflow that the default scheduler chooses, with more to follow.
    #[inline]
    pub(super) fn transmit_full(&mut self, now: Instant, out: &mut Outgoing<P>) -> Attempt {
        let unsent = self.tx.unsent();
        let open = self.tx.open();
        if unsent == 0
            || open == 0
            || self.timers.is_probe_due()
            || self.reinjections.len() > 0
            || !self.usual.takes_smallest_rtt()
            || !self.is_established()
            || self.plan.as_ref().is_some_and(|plan| !plan.is_idle())
        {
            return Attempt::Unknown;
        }
        let all = u64::MAX >> (64 - self.views.len());
        let Some(r) = self.choose_smallest_rtt(all) else { return Attempt::Nothing };
        let len = u64::from(self.views[r].mss);
        if unsent <= len || open < len || self.subflows[r].snd_nxt() + len > self.subflows[r].right() {
            return Attempt::Unknown;
        }
        self.burst.1 = 0;
        let offset = self.tx.nxt();
        self.tx.advance(len);
        self.arm_data_timer(now);
        let payload = self.tx.slice(offset, len);
        let has_room = self.transmit_next::<true>(now, r, (offset, payload, false), out);
        let others = all & !(1 << r);
        if !has_room && self.usual.roomy().0 & others == 0 && !self.due.frto_waits {
            // The next question would be answered so.
            self.usual.note_full();
            self.due.data = false;
        }
        Attempt::Sent(r)
    }
}
