//! OLIA, the opportunistic linked increases algorithm (Khalili 2013).

use super::classic::{active_count, alone};
use super::{Rule, View};
use crate::algorithm::{About, Algorithm, Capability, Column, Given, Make, Parameter};
use crate::plugin::Origin;
use crate::time::Instant;

/// w_r grows by w_r/rtt_r² / (Σ_p w_p/rtt_p)² + α_r/w_r per segment acknowledged (equation 5). Decrease: w_r/2.
///
/// α_r moves windows to where capacity is (equation 6). With n paths, M those with the largest window (equation 3) and
/// B those with the largest ℓ_p/rtt_p² (equation 4), ℓ_p being the more of what was acknowledged since the last
/// loss and between the last two: when B∖M is not empty, α_r is 1/(n·|B∖M|) on B∖M and −1/(n·|M|) on M; else it is 0.
///
/// The paper says that with several paths the least ssthresh is one segment (§IV.B), and its Theorem 1 that in balance
/// only the best paths are used, with a total of √(2/p)/rtt.
#[derive(Debug, Default)]
pub struct Olia {
    /// ℓ_p/rtt_p² of each path, negative when it takes no part; kept to save the allocation.
    merits: Vec<f64>,
    /// The least ssthresh with several paths.
    min_ssthresh: MinSsthresh,
}

/// The parameter `min_ssthresh`, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinSsthresh(u64);

impl MinSsthresh {
    pub fn read(given: &Given) -> Self {
        MinSsthresh(given.whole("min_ssthresh"))
    }

    /// What was given, or what the form has of itself.
    pub fn or(self, usual: u64) -> u64 {
        if self.0 == 0 { usual } else { self.0 }
    }
}

impl Algorithm for Olia {
    const ABOUT: About = About::new(<Olia as Rule>::NAME, "opportunistic linked increases", "Khalili 2013")
        .parameters(&[
            Parameter::variant("the published form, or the quantised form of the Linux code (\"linux\")"),
            Parameter::whole(
                "min_ssthresh",
                0,
                [0, 2],
                "least slow start threshold with several paths; 0: 1 in the published form (§IV.B), 2 in the Linux code",
            )
            .unit("segments")
            .fixed_in_kernel(),
        ])
        .columns(&[Column::new("olia_alpha", "", "α of OLIA, by which windows move to where capacity is (equation 6)")])
        .with(Capability::Coupled)
        .with(Capability::InKernel);
}

impl Make for Olia {
    fn make(given: &Given, _: &Origin) -> Self {
        Olia { min_ssthresh: MinSsthresh::read(given), ..Olia::default() }
    }
}

/// Bytes: an estimate of 1/p_r (§IV.A).
pub(super) fn between_losses(v: &View) -> u64 {
    v.bytes_since_loss.max(v.bytes_between_losses)
}

impl Olia {
    /// (Σ_p w_p/rtt_p)²·rtt_r², and α_r.
    fn terms(&mut self, group: &[View], r: usize) -> (f64, f64) {
        let (mut sum, mut best, mut largest) = (0.0, 0.0_f64, 0.0_f64);
        self.merits.clear();
        for v in group {
            // Signed integers convert in one instruction.
            let per_rtt = 1.0 / v.srtt.as_nanos() as i64 as f64;
            let merit = between_losses(v) as i64 as f64 * per_rtt * per_rtt;
            if v.active {
                sum += v.cwnd * per_rtt;
                best = best.max(merit);
                largest = largest.max(v.cwnd);
            }
            self.merits.push(if v.active { merit } else { -1.0 });
        }
        let (mut n, mut m, mut b_only) = (0_u32, 0_u32, 0_u32);
        for (v, &merit) in group.iter().zip(&self.merits) {
            let in_m = v.cwnd >= largest;
            n += u32::from(merit >= 0.0);
            m += u32::from(in_m & (merit >= 0.0));
            b_only += u32::from(!in_m & (merit >= best));
        }
        let sum = sum * group[r].srtt.as_nanos() as i64 as f64;
        let alpha = if b_only == 0 {
            0.0
        } else if group[r].cwnd >= largest {
            -1.0 / f64::from(n * m)
        } else if self.merits[r] >= best {
            1.0 / f64::from(n * b_only)
        } else {
            0.0
        };
        (sum * sum, alpha)
    }
}

impl Rule for Olia {
    const NAME: &'static str = "olia";

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        let w = group[r].cwnd;
        if alone(group, r) {
            return 1.0 / w;
        }
        let (square, alpha) = self.terms(group, r);
        // Below 1.5 segments both terms together can ask for more than slow start gives.
        (w / square + alpha / w).min(1.0)
    }

    fn min_ssthresh(&self, group: &[View]) -> f64 {
        if active_count(group) > 1 { self.min_ssthresh.or(1) as f64 } else { 2.0 }
    }

    fn show(&self, group: &[View], r: usize, _now: Instant, columns: &mut [f64]) {
        columns[0] = if alone(group, r) { 0.0 } else { Olia::default().terms(group, r).1 };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ack, Classic, CongestionControl};
    use super::*;
    use crate::time::Duration;

    fn view(cwnd: f64, rtt_ms: u64, kilobytes: u64) -> View {
        View {
            cwnd,
            ssthresh: 1.0,
            srtt: Duration::from_millis(rtt_ms),
            bytes_since_loss: kilobytes * 1000,
            active: true,
            ..View::new(10.0, 1420)
        }
    }

    fn alpha(group: &[View], r: usize) -> f64 {
        Olia::default().terms(group, r).1
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (10, 20), rtt = (10, 40) ms, ℓ = (100, 800) kB. ℓ/rtt² = (1, 0.5): B = {0}; M = {1}; n = 2.
        // First terms: path 0: 0.1/(1 + 0.5)² = 0.04444; path 1: 0.0125/2.25 = 0.005556.
        // α = (+1/2, −1/2): increases 0.04444 + 0.05 and 0.005556 − 0.025.
        let group = [view(10.0, 10, 100), view(20.0, 40, 800)];
        assert!((Olia::default().increase(&group, 0) - (0.1 / 2.25 + 0.05)).abs() < 1e-12);
        assert!((Olia::default().increase(&group, 1) - (0.0125 / 2.25 - 0.025)).abs() < 1e-12);
    }

    #[test]
    fn nothing_moves_when_the_best_path_has_the_largest_window() {
        let group = [view(20.0, 10, 100), view(10.0, 10, 50)];
        assert_eq!(alpha(&group, 0), 0.0);
        assert_eq!(alpha(&group, 1), 0.0);
        // Equal RTTs: w_r/(Σ w)².
        assert!((Olia::default().increase(&group, 0) - 20.0 / 900.0).abs() < 1e-12);
    }

    #[test]
    fn alpha_sums_to_zero_over_every_kind_of_path() {
        // Two best small paths, two largest, one that is neither: n = 5, ±1/(5·2).
        let mut group =
            [view(5.0, 20, 400), view(6.0, 20, 400), view(30.0, 20, 10), view(30.0, 20, 20), view(8.0, 20, 100)];
        let all: Vec<f64> = (0..5).map(|r| alpha(&group, r)).collect();
        assert_eq!(all, [0.1, 0.1, -0.1, -0.1, 0.0]);
        // A best path among the largest leaves B∖M as it is: 1/(5·1) for the other, −1/(5·3) each for the largest.
        group[0].cwnd = 30.0;
        let all: Vec<f64> = (0..5).map(|r| alpha(&group, r)).collect();
        assert_eq!(all, [-1.0 / 15.0, 0.2, -1.0 / 15.0, -1.0 / 15.0, 0.0]);
    }

    #[test]
    fn a_path_on_which_nothing_was_acknowledged_yet_is_a_path() {
        // ℓ = (0, 100): B = {1}, M = {0}, n = 2: ±1/2.
        let group = [view(20.0, 20, 0), view(5.0, 20, 100)];
        assert_eq!(alpha(&group, 0), -0.5);
        assert_eq!(alpha(&group, 1), 0.5);
    }

    #[test]
    fn a_segment_acknowledged_brings_no_more_than_one() {
        // 1/(1 + 1.1/100)² + 0.5/1 = 0.978 + 0.5.
        let group = [view(1.0, 10, 100), view(1.1, 1000, 1)];
        assert_eq!(Olia::default().increase(&group, 0), 1.0);
    }

    #[test]
    fn alone_it_is_reno() {
        let away = View { active: false, ..view(500.0, 1, 1000) };
        assert_eq!(Olia::default().increase(&[view(20.0, 50, 10), away], 0), 0.05);
    }

    #[test]
    fn the_distance_between_losses_is_the_longer_of_two() {
        let v = View { bytes_since_loss: 10, bytes_between_losses: 70, ..view(1.0, 1, 0) };
        assert_eq!(between_losses(&v), 70);
        assert_eq!(between_losses(&View { bytes_since_loss: 90, ..v }), 90);
    }

    #[test]
    fn the_least_threshold_can_be_given() {
        let group = [view(1.1, 100, 1), view(20.0, 10, 1000)];
        let least = |segments| {
            let olia = Olia { min_ssthresh: MinSsthresh(segments), ..Olia::default() };
            Classic::new(olia).on_loss(&group, 0, Instant::ZERO)
        };
        assert_eq!([0, 1, 2].map(least), [1.0, 1.0, 2.0]);
    }

    #[test]
    fn alpha_is_shown() {
        let shown = |group: &[View], r| {
            let mut columns = [f64::NAN];
            Classic::new(Olia::default()).show(group, r, Instant::ZERO, &mut columns);
            columns[0]
        };
        let group = [view(10.0, 10, 100), view(20.0, 40, 800)];
        assert_eq!([shown(&group, 0), shown(&group, 1)], [0.5, -0.5]);
        assert_eq!(shown(&group[..1], 0), 0.0);
    }

    #[test]
    fn a_path_may_shrink_to_one_segment_and_not_below() {
        let mut olia = Classic::new(Olia::default());
        let group = [view(1.1, 100, 1), view(1.05, 10, 1000)];
        let ack = Ack { now: Instant::ZERO, acked_segments: 2.0, rtt: None, cwnd_limited: true };
        // 1.1/(1.1 + 10.5)² − 0.25·2/1.1 = 0.00817 − 0.4545 a segment: two take it below one.
        assert_eq!(olia.on_ack(&group, 0, &ack).cwnd, 1.0);
        assert_eq!(olia.on_loss(&group, 0, Instant::ZERO), 1.0);
        assert_eq!(olia.on_loss(&group[..1], 0, Instant::ZERO), 2.0, "alone it is TCP");
    }
}
