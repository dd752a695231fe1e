//! LIA as the Multipath TCP kernel computes it.

use super::counting::{CountingRule, slot, srtt_eighths, whole};
use super::lia::total;
use super::{View, classic};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;

/// One segment for every max(2¹²/α̂, w_r) + 1 acknowledgments, with the scaled integer
/// α̂ = max(1, w_best·2³² / (Σ_i ⌊w_i·2¹⁰·srtt_best/srtt_i⌋)²), which stands for 2¹²·α/w_total of
/// [`Lia`](super::Lia). It is taken anew when a window has grown and after a loss or a change of paths, not at each
/// acknowledgment.
///
/// The best path is that with the greatest ⌊w·2³²/srtt²⌋, srtt in eighths of a microsecond. From about 26 ms at
/// ten segments (8.2 ms·√w) that is 0 on every path, and the kernel takes the oldest subflow whichever is better: then
/// the increase follows that path's window instead of the best one's.
#[derive(Debug, Default)]
pub struct LiaLinux {
    /// α̂; 0: to be computed.
    alpha: u64,
    /// Acknowledgments of each subflow since its last step.
    counts: Vec<u64>,
}

impl Make for LiaLinux {
    fn make(_: &Given, _: &Origin) -> Self {
        LiaLinux::default()
    }
}

/// The kernel's 32 bits: at most 537 s.
fn srtt(v: &View) -> u64 {
    srtt_eighths(v).min(u64::from(u32::MAX))
}

impl LiaLinux {
    /// α̂ when the window of `group[r]` is `w`.
    fn alpha(group: &[View], r: usize, w: u64) -> u64 {
        let window = |i: usize| if i == r { w } else { whole(group[i].cwnd) };
        let paths = || (0..group.len()).filter(|&i| group[i].active);
        let mut best = None;
        for i in paths() {
            let merit = (window(i) << 32) / (srtt(&group[i]) * srtt(&group[i]));
            if best.is_none_or(|(greatest, _)| merit > greatest) {
                best = Some((merit, i));
            }
        }
        let Some((_, best)) = best else { return 1 };
        let best_srtt = srtt(&group[best]);
        let sum: u64 = paths().map(|i| (window(i) << 10).saturating_mul(best_srtt) / srtt(&group[i])).sum();
        let square = u128::from(sum) * u128::from(sum);
        let alpha = (u128::from(window(best)) << 32) / square.max(1);
        (alpha as u64).max(1)
    }
}

impl CountingRule for LiaLinux {
    const NAME: &'static str = <super::Lia as classic::Rule>::NAME;

    fn step(&mut self, group: &[View], r: usize, w: u64) -> i8 {
        if self.alpha == 0 {
            self.alpha = Self::alpha(group, r, w);
        }
        let every = ((1 << 12) / self.alpha).max(w);
        let count = slot(&mut self.counts, r);
        if *count >= every {
            *count = 0;
            return 1;
        }
        *count += 1;
        0
    }

    fn moved(&mut self, group: &[View], r: usize, w: u64) {
        self.alpha = Self::alpha(group, r, w);
    }

    fn lost(&mut self, r: usize) {
        *slot(&mut self.counts, r) = 0;
        self.alpha = 0;
    }

    fn joined(&mut self, r: usize) {
        self.lost(r);
    }

    /// α̂/2¹² is α/w_total.
    fn show(&self, group: &[View], r: usize, columns: &mut [f64]) {
        let alpha = if self.alpha == 0 { Self::alpha(group, r, whole(group[r].cwnd)) } else { self.alpha };
        columns[0] = alpha as f64 / f64::from(1 << 12) * total(group);
    }
}

#[cfg(test)]
mod tests {
    use super::super::counting::Counting;
    use super::super::{Ack, CongestionControl};
    use super::*;
    use crate::time::{Duration, Instant};

    fn view(cwnd: f64, rtt_ms: u64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(rtt_ms), active: true, ..View::new(10.0, 1420) }
    }

    /// The kernel's srtt has 32 bits: an hour is 2³² − 1 eighths of a µs, alone and beside a path of any other length.
    #[test]
    fn round_trips_of_an_hour() {
        let hour = view(1e6, 3_600_000);
        // Alone: α̂ = ⌊10⁶·2³²/(10⁶·1024)²⌋ = 0, at least 1.
        assert_eq!(LiaLinux::alpha(&[hour], 0, 1_000_000), 1);
        // 10·2³²/80 000² = 6 is better than 0: Σ = 10 240 + ⌊10⁶·1024·80 000/(2³² − 1)⌋ = 10 240 + 19 073, α̂ = ⌊10·2³²/29 313²⌋ = 49.
        assert_eq!(LiaLinux::alpha(&[view(10.0, 10), hour], 0, 10), 49);
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (10, 20), rtt = (10, 40) ms; in eighths of a µs 80 000 and 320 000.
        // Merits: 10·2³²/6.4e9 = 6, 20·2³²/1.024e11 = 0: path 0 is best.
        // Sum: 10·1024 + 20·1024/4 = 15 360; α̂ = ⌊10·2³²/15 360²⌋ = ⌊182.04⌋ = 182; 4096/182 = 22.
        // The paper's increase is 1 in 22.5 segments.
        let group = [view(10.0, 10), view(20.0, 40)];
        assert_eq!(LiaLinux::alpha(&group, 0, 10), 182);
        // Path 0 moves on the 23rd acknowledgment.
        let mut control = Counting::new(LiaLinux::default());
        let ack = Ack { now: Instant::ZERO, acked_segments: 2.0, rtt: None, cwnd_limited: true };
        for n in 1..=23 {
            let w = control.on_ack(&group, 0, &ack).cwnd;
            assert_eq!(w, if n == 23 { 11.0 } else { 10.0 }, "acknowledgment {n}");
        }
    }

    #[test]
    fn never_more_often_than_once_a_window() {
        // w = (2, 40), rtt = (10, 100) ms: coupled 1 in 18 segments, but path 1 waits for 40 + 1.
        let group = [view(2.0, 10), view(40.0, 100)];
        let mut lia = LiaLinux::default();
        let steps: Vec<u64> = (1..=82).filter(|_| lia.step(&group, 1, 40) == 1).collect();
        assert_eq!(steps, [41, 82]);
    }

    #[test]
    fn at_long_rtts_the_oldest_subflow_passes_for_the_best() {
        // 100 and 50 ms: both merits round to 0. With path 0 as best: sum = 10·1024 + 10·1024·2 = 30 720,
        // α̂ = ⌊10·2³²/30 720²⌋ = 45, one in 91; path 1 as best would give sum 15 360 and 182, one in 22.
        let group = [view(10.0, 100), view(10.0, 50)];
        assert_eq!(LiaLinux::alpha(&group, 1, 10), 45);
        let swapped = [group[1], group[0]];
        assert_eq!(LiaLinux::alpha(&swapped, 1, 10), 182);
    }

    #[test]
    fn alpha_is_kept_until_a_window_grows_or_a_loss() {
        let mut group = [view(10.0, 10), view(20.0, 40)];
        let mut lia = LiaLinux::default();
        lia.step(&group, 0, 10);
        group[1].cwnd = 5.0;
        lia.step(&group, 0, 10);
        assert_eq!(lia.alpha, 182, "as it was");
        lia.lost(1);
        lia.step(&group, 0, 10);
        // Sum: 10 240 + 1 280 = 11 520; ⌊10·2³²/11 520²⌋ = 323.
        assert_eq!(lia.alpha, 323);
    }

    #[test]
    fn alpha_is_shown() {
        // α̂ = 182 as above: 182/4096 of a total of 30 segments.
        let mut columns = [f64::NAN];
        Counting::new(LiaLinux::default()).show(&[view(10.0, 10), view(20.0, 40)], 0, Instant::ZERO, &mut columns);
        assert_eq!(columns, [182.0 * 30.0 / 4096.0]);
    }

    #[test]
    fn the_threshold_is_half_the_whole_segments() {
        let mut control = Counting::new(LiaLinux::default());
        let group = [view(11.7, 10), view(20.0, 40)];
        assert_eq!(control.on_loss(&group, 0, Instant::ZERO), 5.0);
    }
}
