//! The ε-family, from fully coupled to uncoupled (Wischik, Handley and Raiciu 2009; Khalili 2013 §I).

use super::classic::alone;
use super::{Rule, View};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::plugin::Origin;

/// w_r grows by min(a·w_r^{1−ε}/w_total^{2−ε}, 1/w_r) per segment acknowledged. Decrease: w_r/2.
///
/// In balance w_r ∝ p_r^{−1/ε}. The papers leave a open. Up to ε = 1 it is what makes the whole connection as aggressive
/// as one TCP on its best path, a = w_total^{2−ε} · max_i(w_i^ε/rtt_i²) / (Σ_i w_i/rtt_i)², which is LIA's α at ε = 1; from
/// there its power 2 − ε, so that at ε = 2 each subflow is a TCP. At ε = 0, with equal round-trip times, w_r/w_total².
#[derive(Debug)]
pub struct Epsilon {
    epsilon: f64,
}

impl Algorithm for Epsilon {
    const ABOUT: About = About::new(
        <Epsilon as Rule>::NAME,
        "the family of rates ∝ p^(−1/ε): fully coupled at 0, LIA at 1, uncoupled at 2",
        "Khalili 2013 §I; Wischik 2009",
    )
    .parameters(&[Parameter::number("epsilon", 1.0, [0.0, 2.0], "degree of coupling: 0 full, 2 none")])
    .with(Capability::Coupled);
}

impl Make for Epsilon {
    fn make(given: &Given, _: &Origin) -> Self {
        Epsilon { epsilon: given.number("epsilon") }
    }
}

impl Rule for Epsilon {
    const NAME: &'static str = "epsilon";

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        let (epsilon, own) = (self.epsilon, 1.0 / group[r].cwnd);
        if alone(group, r) {
            return own;
        }
        let (mut best, mut rate, mut total) = (0.0_f64, 0.0, 0.0);
        for v in group.iter().filter(|v| v.active) {
            let per_rtt = 1.0 / v.srtt.as_nanos() as f64; // the unit of time cancels out
            best = best.max(libm::pow(v.cwnd, epsilon) * per_rtt * per_rtt);
            rate += v.cwnd * per_rtt;
            total += v.cwnd;
        }
        let rest = 2.0 - epsilon;
        let goal = best / (rate * rate); // a·w_total^−(2−ε) up to ε = 1
        let coupled =
            if epsilon <= 1.0 { goal } else { libm::pow(libm::pow(total, rest) * goal, rest) / libm::pow(total, rest) };
        own.min(coupled * libm::pow(group[r].cwnd, 1.0 - epsilon))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Lia, Reno};
    use super::*;
    use crate::time::Duration;

    fn view(cwnd: f64, rtt_ms: u64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(rtt_ms), active: true, ..View::new(10.0, 1420) }
    }

    #[test]
    fn its_members() {
        let group = [view(10.0, 10), view(20.0, 40), view(7.0, 25)];
        for r in 0..3 {
            assert_eq!(Epsilon { epsilon: 1.0 }.increase(&group, r), Lia.increase(&group, r));
            assert!((Epsilon { epsilon: 2.0 }.increase(&group, r) - Reno.increase(&group, r)).abs() < 1e-15);
        }
        // Fully coupled: w_r/w_total².
        let equal = [view(10.0, 40), view(30.0, 40)];
        for (r, expected) in [10.0 / 1600.0, 30.0 / 1600.0].into_iter().enumerate() {
            assert!((Epsilon { epsilon: 0.0 }.increase(&equal, r) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn alone_it_is_reno() {
        let away = View { active: false, ..view(500.0, 1) };
        assert_eq!(Epsilon { epsilon: 0.5 }.increase(&[view(10.0, 50), away], 0), 0.1);
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (4, 16), rtt 1, ε = ½: max √w/20² = 0.01; times √w: 0.02, 0.04.
        let group = [view(4.0, 1000), view(16.0, 1000)];
        let at = |epsilon, r| Epsilon { epsilon }.increase(&group, r);
        assert!((at(0.5, 0) - 0.02).abs() < 1e-12 && (at(0.5, 1) - 0.04).abs() < 1e-12);
        // ε = 1½: max w^1½/20² = 64/400 = 0.16, a = √(√20·0.16) = 0.8459; a/√20 = 0.18915, over √w 0.09458 and 0.04729.
        assert!((at(1.5, 0) - 0.094_58).abs() < 1e-5 && (at(1.5, 1) - 0.047_29).abs() < 1e-5);
    }
}
