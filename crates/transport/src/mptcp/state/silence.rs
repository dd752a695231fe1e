//! What Linux keeps of each subflow beside what all do: how long nothing was heard of it, in periods of the data level's
//! timer, and how large its buffers of data become. Under [`Repair::Kernel`].
//!
//! [`Repair::Kernel`]: crate::scheduler::Repair::Kernel

use crate::offset::Offset;
use crate::queue::Sendable;
use crate::tcp::subflow::Subflow;
use crate::time::{Duration, Instant};

/// `gso_max_size`, less the largest headers.
const LARGEST_BUFFER_BYTES: u64 = (1 << 16) - 321;

/// Of one subflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent {
    /// What was [heard](Subflow::heard) of it at the last period, and for how many periods it has been that (`stale_count`).
    pub since: (u64, u32),
    /// It has been that for so long that others carry what it had (`stale_loss_cnt`).
    pub stale: bool,
    /// The largest window that the peer has announced on it.
    pub largest_window_bytes: u64,
    /// The last window that counted on it (`snd_wnd`), where the end is as Linux's.
    pub window_bytes: u64,
}

impl Silent {
    /// How much one buffer of data holds, which is one mapping: whole segments, for at most half of the largest window that
    /// the peer has announced (`tcp_bound_to_half_wnd`).
    pub fn buffer_bytes(&self, mss: u32) -> u64 {
        let mss = u64::from(mss).max(1);
        ((self.largest_window_bytes / 2).min(LARGEST_BUFFER_BYTES) / mss).max(1) * mss
    }
}

/// Of each.
#[derive(Clone, Debug, Default)]
pub struct Silence {
    subflows: Vec<Silent>,
    /// How long the data level's timer runs (`timer_ival`); 0: nothing waited for an acknowledgment.
    pub period: Duration,
    /// When it expired last.
    pub fired_at: Instant,
    /// What the last DATA_ACK acknowledged for which it was set.
    pub una: Offset,
    /// A DATA_ACK goes with the last window that counted on its subflow, not with its own (mptcp/connection/linux_windows.rs).
    pub keeps_windows: bool,
}

impl Silence {
    pub fn new(keeps_windows: bool) -> Self {
        Silence { keeps_windows, ..Silence::default() }
    }

    /// What was heard of is no longer stale; windows may have opened.
    pub fn hear<P: Sendable>(&mut self, subflows: &[Subflow<P>]) {
        self.subflows.resize(subflows.len(), Silent::default());
        for (silent, subflow) in self.subflows.iter_mut().zip(subflows) {
            silent.stale &= silent.since.0 == subflow.heard();
            // Just after an acknowledgment this is the window that came with it.
            let window_bytes = subflow.right().saturating_sub(subflow.snd_una());
            silent.largest_window_bytes = silent.largest_window_bytes.max(window_bytes);
        }
    }

    /// Subflow `r` has told `window_bytes`, which is `news`, or only counts if it is more than the last. Answers the one that holds.
    #[inline]
    pub fn hear_window(&mut self, r: usize, news: bool, window_bytes: u64) -> u64 {
        if r >= self.subflows.len() {
            self.subflows.resize(r + 1, Silent::default());
        }
        let kept = &mut self.subflows[r].window_bytes;
        if news || window_bytes > *kept || window_bytes == 0 {
            *kept = window_bytes;
        }
        *kept
    }

    /// Data is bound to subflow `r` from which on the peer has room for `open_bytes`: its window is at least that.
    pub fn raise_window(&mut self, r: usize, open_bytes: u64) {
        if let Some(silent) = self.subflows.get_mut(r).filter(|_| self.keeps_windows) {
            silent.window_bytes = silent.window_bytes.max(open_bytes);
        }
    }

    /// Of subflow `r`, once it was [heard](Self::hear).
    pub fn of(&self, r: usize) -> Silent {
        self.subflows.get(r).copied().unwrap_or_default()
    }

    pub fn of_mut(&mut self, r: usize) -> Option<&mut Silent> {
        self.subflows.get_mut(r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_whole_segments_in_half_of_the_largest_window() {
        let bytes = |largest_window_bytes, mss| Silent { largest_window_bytes, ..Silent::default() }.buffer_bytes(mss);
        // 64,240 / 2 = 32,120 bytes hold 22 segments of 1424 bytes; 79,488 / 2 = 39,744 hold 27.
        assert_eq!(bytes(64_240, 1424), 31_328);
        assert_eq!(bytes(79_488, 1424), 38_448);
        // 65,215 bytes, the most, hold 45.
        assert_eq!((bytes(6 << 20, 1424), bytes(u64::MAX, 1420)), (64_080, 63_900));
        // One segment in any case.
        assert_eq!((bytes(2_000, 1424), bytes(0, 1)), (1424, 1));
    }
}
