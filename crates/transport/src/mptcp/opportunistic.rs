//! Opportunistic retransmission and penalisation (Raiciu 2012 §4.2): what to do when a slow subflow holds the segment
//! that the whole connection waits for.

use super::connection::Connection;
use super::state::fallback::Mode;
use crate::algorithm::Capability;
use crate::congestion::{Phase, Window};
use crate::queue::Stream;
use crate::scheduler::{SubflowSet, usable};

impl<P: Stream> Connection<P> {
    /// Whether it is asked for.
    pub(super) fn orp(&self) -> bool {
        self.config.scheduler.has(Capability::Opportunistic) && self.mode == Mode::Mptcp
    }

    /// The connection-level window is closed, or too small for a segment. When a fast subflow has room, the oldest segment that is not
    /// acknowledged at the data level goes out on it as well, and those that hold it up are slowed down. Answers
    /// whether there is a segment to send again now.
    pub(super) fn retransmit_opportunistically(&mut self, now_ns: u64) -> bool {
        let first = self.tx.una();
        if first >= self.tx.nxt() || first < self.orp_sent_to {
            return false;
        }
        let mut holders = SubflowSet::default();
        let mut end = self.tx.nxt();
        for (r, subflow) in self.subflows.iter().enumerate() {
            if let Some(sent) = subflow.board.iter().find(|s| s.offset <= first && first < s.offset + s.len()) {
                holders.insert(r);
                end = end.min(sent.offset + sent.len());
            }
        }
        let fast = (0..self.views.len())
            .filter(|&r| usable(&self.views[r]) && !holders.contains(r))
            .min_by_key(|&r| self.views[r].srtt_ns);
        let Some(f) = fast else { return false };
        let (fast_srtt_ns, held) = (self.views[f].srtt_ns, |r: &usize| holders.contains(*r));
        let worth = (0..self.views.len()).filter(held).any(|s| {
            let v = &self.views[s];
            v.cwnd <= 4.0 || v.srtt_ns > 4 * fast_srtt_ns
        });
        if worth {
            self.reinjections.add_held(first, end, holders);
            self.orp_sent_to = end;
        }
        if now_ns >= self.next_penalty_ns {
            let mut penalised = false;
            for s in (0..self.views.len()).filter(held) {
                let v = self.views[s];
                if v.srtt_ns > fast_srtt_ns && v.phase == Phase::Open && v.cwnd > 1.0 {
                    let ssthresh = if v.cwnd >= v.ssthresh { (v.ssthresh / 2.0).max(2.0) } else { v.ssthresh };
                    let window = Window { cwnd: (v.cwnd / 2.0).max(1.0), ssthresh };
                    self.subflows[s].set_window(now_ns, window, &mut self.views[s]);
                    penalised = true;
                }
            }
            if penalised {
                self.next_penalty_ns = now_ns + fast_srtt_ns;
            }
        }
        worth
    }
}
