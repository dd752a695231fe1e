//! The receiver's slow start, Linux's `rcv_ssthresh`: the window that a subflow announces grows with each segment that arrives,
//! up to what the buffer holds (`tcp_grow_window`).

use crate::Kernel;
use crate::memory::{self, Ratio};

/// Linux expects segments of 536 bytes before any has come.
const EXPECTED_BYTES: u32 = 536;
/// Shorter segments do not enlarge the window.
const LEAST_BYTES: u64 = 128;
/// What options may take from a full-sized segment.
const OPTIONS_BYTES: u32 = 40;

/// Of one subflow.
#[derive(Clone, Copy, Debug)]
pub struct RcvSsthresh {
    /// The window may be so large, in bytes.
    pub bytes: u32,
    /// Up to which it grows; more than that as long as no full-sized segment was measured.
    pub limit: u32,
    /// The most that is announced whatever the memory.
    pub clamp: u32,
    /// Memory of the subflow's buffer.
    memory: u32,
    /// The longest segment that came.
    pub longest: u32,
    /// Its ratio of data to memory.
    pub ratio: Ratio,
    /// Whose it is. 6.1 takes that ratio for one half whatever comes (`tcp_adv_win_scale`).
    pub kernel: Kernel,
    /// Short segments take as little memory as in Linux, and are looked at when full ones would not enlarge the window.
    pub counts_short: bool,
    /// The end of the window that the last acknowledgment told, as a place on the subflow; 0 where the window may shrink on it.
    pub told: u64,
    /// The window that the last acknowledgment announced, in bytes (`rcv_wnd`).
    pub announced: u32,
}

impl RcvSsthresh {
    /// Of a subflow whose SYN announces a window of `told` bytes.
    pub fn new(mss: u16, told: u64) -> Self {
        let mss = u32::from(mss);
        let whole = Ratio::ASSUMED.data(memory::INITIAL_BYTES) as u32;
        // One segment stays in reserve.
        let clamp = if whole > 2 * mss { (whole - mss).max(2 * mss) } else { whole };
        RcvSsthresh {
            bytes: clamp.min(told as u32),
            limit: u32::MAX,
            clamp,
            memory: memory::INITIAL_BYTES as u32,
            longest: EXPECTED_BYTES.min(mss),
            ratio: Ratio::ASSUMED,
            kernel: Kernel::default(),
            counts_short: false,
            told: 1 + told,
            announced: told as u32,
        }
    }

    /// The same where the window is announced whole, whatever arrives.
    pub fn whole(mss: u16) -> Self {
        let full = u64::from(mss) - u64::from(OPTIONS_BYTES).min(u64::from(mss) / 2);
        RcvSsthresh { bytes: u32::MAX, clamp: u32::MAX, ratio: Ratio::of_segment(full), ..RcvSsthresh::new(mss, 0) }
    }

    /// Whether a segment may enlarge the window.
    #[inline(always)]
    pub fn may_grow(&self) -> bool {
        self.bytes < self.limit
    }

    /// A segment of `len` bytes came in order while the window was smaller than `limit`; `behind` is the memory of others that wait for
    /// what is missing before them, or how many do. Answers whether the window has grown.
    #[cold]
    pub fn arrived(&mut self, len: u64, behind: Result<u64, usize>, mss: u16) -> bool {
        self.takes(len, (1, behind), u32::from(mss), LEAST_BYTES)
    }

    /// A segment of `len` bytes came behind a hole, and others wait already, as [above](Self::arrived): it does not count itself yet
    /// (`tcp_data_queue_ofo`). Answers whether the window has grown.
    #[cold]
    pub fn arrived_behind_hole(&mut self, len: u64, behind: Result<u64, usize>, mss: u16) -> bool {
        self.takes(len, (0, behind), u32::from(mss), 0)
    }

    /// Of at least `least` bytes, which counts `itself` or not beside those `behind`.
    fn takes(&mut self, len: u64, (itself, behind): (u64, Result<u64, usize>), mss: u32, least: u64) -> bool {
        self.measure(len.min(u64::from(mss)) as u32, mss);
        let memory = self.memory_of(len.min(u64::from(mss)));
        let before = self.bytes;
        let room = self.holds(itself * memory + behind.unwrap_or_else(|pieces| pieces as u64 * memory));
        if len >= least && before < room {
            self.bytes += self.increase(len, memory, mss).min(room - before);
        }
        let measured = self.longest + OPTIONS_BYTES >= mss;
        self.limit = if measured { self.most() } else { u32::MAX };
        self.bytes > before
    }

    fn measure(&mut self, len: u32, mss: u32) {
        if len > self.longest {
            self.longest = len.min(mss);
            if self.kernel != Kernel::V6_1 {
                self.ratio = Ratio::of_segment(u64::from(len));
                self.clamp = self.ratio.data(u64::from(self.memory)) as u32;
            }
        }
    }

    /// Data that the buffer holds beside what takes `used` bytes of memory.
    fn holds(&self, used: u64) -> u32 {
        self.clamp.min(self.ratio.data(u64::from(self.memory).saturating_sub(used)) as u32)
    }

    /// Data that the buffer holds beside the segment that comes.
    fn most(&self) -> u32 {
        self.holds(if self.counts_short { self.memory_of(0) } else { self.memory_of(self.longest.into()) })
    }

    fn memory_of(&self, len: u64) -> u64 {
        if self.counts_short { memory::of_packet(self.kernel, len) } else { memory::of_segment(len) }
    }

    /// Two segments for one whose share of data is that of full-sized ones. For others the window grows only as long as it is
    /// small, which depends on that share.
    fn increase(&self, len: u64, memory: u64, mss: u32) -> u32 {
        let whole = self.ratio.data(memory);
        let least = 2 * len as u32;
        if whole <= len {
            return least.max(2 * mss);
        }
        let (mut share, mut limit) = (whole / 2, self.ratio.data(memory::MAX_BYTES) / 2);
        while u64::from(self.bytes) <= limit {
            if share <= len {
                return least.max(2 * self.longest);
            }
            (share, limit) = (share / 2, limit / 2);
        }
        0
    }

    /// The connection's buffer has now so much memory, and holds `data`.
    pub fn follow(&mut self, memory: u64, data: u64) {
        (self.memory, self.clamp) = (memory as u32, data as u32);
        if self.limit < u32::MAX {
            self.limit = self.most();
        }
    }

    /// The buffer grew before the SYN was answered, behind which one segment would have been kept in reserve (`tcp_init_buffer_space`).
    pub fn keep_none_in_reserve(&mut self) {
        self.bytes = self.clamp.min(self.told.saturating_sub(1).min(u32::MAX.into()) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.12 over 31 Mbit/s and 59 ms: the SYN of a second subflow told 64,240 bytes, and was answered when the first had made the
    /// buffer grow.
    #[test]
    fn a_buffer_that_has_grown_keeps_no_segment_in_reserve() {
        let mut rcv_ssthresh = RcvSsthresh::new(1448, 64_240);
        rcv_ssthresh.follow(380_872, 235_069);
        rcv_ssthresh.keep_none_in_reserve();
        rcv_ssthresh.arrived(1_424, Err(0), 1448);
        assert_eq!(rcv_ssthresh.bytes, 64_240 + 2 * 1_448);
    }

    /// Linux 6.1: half of the first buffer less a segment, 64,088 bytes, is the most, whatever comes.
    #[test]
    fn a_ratio_that_is_not_measured_leaves_no_room_for_more() {
        let mut rcv_ssthresh = RcvSsthresh { kernel: Kernel::V6_1, ..RcvSsthresh::new(1448, 64_240) };
        let grew = rcv_ssthresh.arrived(1_448, Err(0), 1448);
        assert_eq!((grew, rcv_ssthresh.bytes, rcv_ssthresh.ratio), (false, 64_088, Ratio::ASSUMED));
    }

    #[test]
    fn six_segments_of_ten_enlarge_the_first_window() {
        // 65,536 less one segment; then two segments of 1,448 each time, up to (131,072 - 2,304) · 158/256.
        let mut rcv_ssthresh = RcvSsthresh::new(1448, 64_240);
        assert_eq!(rcv_ssthresh.bytes, 64_088);
        let grown: Vec<u32> = (0..10)
            .map(|_| {
                if rcv_ssthresh.bytes < rcv_ssthresh.limit {
                    rcv_ssthresh.arrived(1424, Err(0), 1448);
                    rcv_ssthresh.bytes
                } else {
                    0
                }
            })
            .collect();
        assert_eq!(grown, [66_984, 69_880, 72_776, 75_672, 78_568, 79_474, 0, 0, 0, 0]);
    }

    /// Linux 6.12: six full-sized segments have enlarged the window to 79,474, and one of 192 bytes, which takes 960 of memory, does to 80,303.
    #[test]
    fn a_short_segment_leaves_room_for_more() {
        let grown = |counts_short| {
            let mut rcv_ssthresh = RcvSsthresh { counts_short, ..RcvSsthresh::new(1448, 64_240) };
            for _ in 0..6 {
                rcv_ssthresh.arrived(1424, Err(0), 1448);
            }
            rcv_ssthresh.may_grow() && rcv_ssthresh.arrived(192, Err(0), 1448)
        };
        assert_eq!((grown(true), grown(false)), (true, false));
    }

    #[test]
    fn short_segments_do_not_settle_the_ratio_and_enlarge_only_a_small_window() {
        let mut rcv_ssthresh = RcvSsthresh::new(1448, 64_240);
        assert!(!rcv_ssthresh.arrived(100, Err(0), 1448));
        assert_eq!((rcv_ssthresh.ratio, rcv_ssthresh.limit), (Ratio::ASSUMED, u32::MAX));
        rcv_ssthresh.arrived(1424, Err(0), 1448);
        assert_eq!(rcv_ssthresh.ratio, Ratio::of_segment(1424));
        let mut other = rcv_ssthresh;
        assert_eq!(
            (other.arrived(127, Err(0), 1448), other.arrived(128, Err(0), 1448)),
            (false, true),
            "Linux asks for 128 bytes"
        );
        // 304 of 790 bytes: a quarter of the largest window, 970,752, is the limit.
        assert!(rcv_ssthresh.arrived(304, Err(0), 1448));
        assert_eq!(rcv_ssthresh.bytes, 66_984 + 2 * 1424);
        rcv_ssthresh.follow(6 << 20, 3_883_008);
        rcv_ssthresh.bytes = 970_752;
        assert!(rcv_ssthresh.arrived(304, Err(0), 1448));
        assert!(!rcv_ssthresh.arrived(304, Err(0), 1448));
        assert!(rcv_ssthresh.arrived(1424, Err(0), 1448));
    }

    #[test]
    fn what_waits_behind_a_hole_takes_room() {
        let mut rcv_ssthresh = RcvSsthresh::new(1448, 64_240);
        rcv_ssthresh.arrived(1424, Err(0), 1448);
        // (131,072 - 8 · 2,304) · 158/256 = 69,520.
        rcv_ssthresh.arrived(1424, Err(7), 1448);
        assert_eq!(rcv_ssthresh.bytes, 69_520);
        assert!(!rcv_ssthresh.arrived(1424, Err(8), 1448));
    }
}
