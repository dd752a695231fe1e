//! BALIA, balanced linked adaptation (Peng 2016; Chauvenne 2017 table 2.1).

use super::classic::{active_count, alone};
use super::{Rule, View};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::plugin::Origin;

/// With x_r = w_r/rtt_r and β_r = max_p x_p / x_r, w_r grows by
/// w_r/rtt_r² / (Σ_p x_p)² · (1 + β_r)/2 · (4 + β_r)/5 per segment acknowledged; a loss takes w_r/2 · min(β_r, 1.5).
///
/// The best path (β = 1) behaves as in OLIA without its second term; the others grow faster and fall deeper, to a
/// quarter. With several paths the least ssthresh is one segment, as in the authors' code.
#[derive(Debug, Default)]
pub struct Balia;

impl Algorithm for Balia {
    const ABOUT: About = About::new(<Balia as Rule>::NAME, "balanced linked adaptation", "Peng 2016")
        .parameters(&[Parameter::variant("the published form, or the quantised form of the Linux code (\"linux\")")])
        .with(Capability::Coupled)
        .with(Capability::InKernel);
}

impl Make for Balia {
    fn make(_: &Given, _: &Origin) -> Self {
        Balia
    }
}

impl Balia {
    /// x_r, the greatest x and Σ x, in units of 1/rtt_r: segments in a round trip of r.
    fn rates(group: &[View], r: usize) -> (f64, f64, f64) {
        let (own, rtt) = (group[r].cwnd, group[r].srtt.as_nanos() as f64);
        let (mut best, mut sum) = (own, 0.0);
        for v in group.iter().filter(|v| v.active) {
            let rate = v.cwnd * (rtt / v.srtt.as_nanos() as f64);
            best = f64::max(best, rate);
            sum += rate;
        }
        (own, best, sum)
    }
}

impl Rule for Balia {
    const NAME: &'static str = "balia";

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        if alone(group, r) {
            return 1.0 / group[r].cwnd;
        }
        let (own, best, sum) = Self::rates(group, r);
        let beta = best / own;
        own / (sum * sum) * (1.0 + beta) * (4.0 + beta) / 10.0
    }

    fn decrease(&mut self, group: &[View], r: usize) -> f64 {
        let w = group[r].cwnd;
        if alone(group, r) {
            return w / 2.0;
        }
        let (own, best, _) = Self::rates(group, r);
        w - w / 2.0 * (best / own).min(1.5)
    }

    fn min_ssthresh(&self, group: &[View]) -> f64 {
        if active_count(group) > 1 { 1.0 } else { 2.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Classic, CongestionControl};
    use super::*;
    use crate::time::{Duration, Instant};

    fn view(cwnd: f64, rtt_ms: u64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(rtt_ms), active: true, ..View::new(10.0, 1420) }
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (20, 20), rtt = (10, 40) ms: x = (2, 0.5) per ms, Σ = 2.5, β = (1, 4).
        // Path 0: 0.2/6.25 · 1 · 1 = 0.032; loss: 20 − 10 = 10.
        // Path 1: 0.0125/6.25 · 5/2 · 8/5 = 0.008; loss: 20 − 10·1.5 = 5.
        let group = [view(20.0, 10), view(20.0, 40)];
        assert!((Balia.increase(&group, 0) - 0.032).abs() < 1e-12);
        assert!((Balia.increase(&group, 1) - 0.008).abs() < 1e-12);
        assert!((Balia.decrease(&group, 0) - 10.0).abs() < 1e-12);
        assert!((Balia.decrease(&group, 1) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn between_one_and_a_half_the_decrease_follows_beta() {
        // x = (30, 25) at equal RTTs: β₁ = 1.2, so 25 − 12.5·1.2 = 10.
        let group = [view(30.0, 50), view(25.0, 50)];
        assert!((Balia.decrease(&group, 1) - 10.0).abs() < 1e-12);
    }

    #[test]
    fn two_equal_paths_share_one_tcps_increase() {
        let group = [view(10.0, 50), view(10.0, 50)];
        assert!((Balia.increase(&group, 0) - 1.0 / 40.0).abs() < 1e-12);
    }

    #[test]
    fn alone_it_is_reno() {
        let away = View { active: false, ..view(500.0, 1) };
        assert_eq!(Balia.increase(&[view(10.0, 50), away], 0), 0.1);
        assert_eq!(Balia.decrease(&[view(10.0, 50), away], 0), 5.0);
    }

    #[test]
    fn the_least_ssthresh_is_one_segment_with_several_paths_and_two_alone() {
        // Half of 1.8 is below one segment; half of 3 is above one and below two.
        let mut control = Classic::new(Balia);
        assert_eq!(control.on_loss(&[view(1.8, 50), view(1.8, 50)], 0, Instant::ZERO), 1.0);
        assert_eq!(control.on_loss(&[view(3.0, 50)], 0, Instant::ZERO), 2.0);
    }
}
