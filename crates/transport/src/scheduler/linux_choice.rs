//! Which subflow the scheduler [`Linux`](super::Linux) chooses.

use super::linux_memory::{Rates, SendBuffer, pace};
use super::{Decision, SubflowSet, usable};
use crate::congestion::View;

/// 64 KiB less the largest headers of TCP (20 and 40 bytes) and IPv6 (40 and 8; `MPTCP_SEND_BURST_SIZE`).
const BURST_BYTES: u64 = 65_428;

/// The choice for new data (`mptcp_subflow_get_send`).
#[derive(Clone, Debug, Default)]
pub(super) struct Linger {
    /// Mean pacing rate of each subflow in bytes/s, over what was bound to it; 0: nothing yet.
    pub paces: Vec<f64>,
}

/// Whether subflow `r` works, and is no backup unless no other works.
pub(super) fn may_carry(r: usize, group: &[View], buffers: &[SendBuffer]) -> bool {
    let works = |r: usize| group[r].active && buffers[r].open;
    works(r) && (!group[r].backup || !(0..group.len()).any(|other| works(other) && !group[other].backup))
}

impl Linger {
    /// Where the next data goes, and how many bytes; `window_bytes` is what the peer allows, more than 0. None: the one
    /// where it would linger least has its buffer full, and no other is asked.
    pub fn choose(&mut self, rates: &Rates, buffers: &[SendBuffer], window_bytes: u64) -> Option<(usize, u64)> {
        let r = self.least(rates, buffers)?;
        let (burst, held) = (BURST_BYTES.min(window_bytes), buffers[r].held_bytes);
        self.paces[r] = rates.mean((self.paces[r], held), (rates.of(r), burst));
        Some((r, burst))
    }

    /// The one where it would linger least, if that has room.
    pub fn least(&mut self, rates: &Rates, buffers: &[SendBuffer]) -> Option<usize> {
        let group = rates.group;
        self.paces.resize(group.len().max(self.paces.len()), 0.0);
        let mut best: Option<(usize, f64)> = None;
        for r in (0..group.len()).filter(|&r| may_carry(r, group, buffers)) {
            if self.paces[r] == 0.0 {
                self.paces[r] = rates.of(r);
            }
            let linger_s = buffers[r].held_bytes as f64 / self.paces[r];
            if best.is_none_or(|(_, least_s)| linger_s < least_s) {
                best = Some((r, linger_s));
            }
        }
        best.filter(|&(r, _)| buffers[r].held_bytes < buffers[r].limit_bytes).map(|(r, _)| r)
    }
}

/// The choice for data that the subflows in `tried` carried: of those with room, where it would linger least.
pub(super) fn again(tried: SubflowSet, group: &[View]) -> Decision {
    // Data that is held for one subflow, which then is the only one not tried, has no other choice.
    let other = |(r, v): (usize, &View)| v.active && !v.potentially_failed && !v.backup && !tried.contains(r);
    let only_backups = !group.iter().enumerate().any(other);
    let candidates = (0..group.len()).filter(|&r| usable(&group[r]) && (only_backups || !group[r].backup));
    let linger_s = |v: &View| f64::from(v.in_flight + v.queued) * f64::from(v.mss) / pace(v);
    let key = |r: usize| (tried.contains(r), linger_s(&group[r]));
    let best = candidates.min_by(|&a, &b| {
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    best.map_or(Decision::Blocked, |r| Decision::Send {
        on: SubflowSet::one(r),
        burst: (BURST_BYTES as u32 / group[r].mss.max(1)).max(1),
    })
}
