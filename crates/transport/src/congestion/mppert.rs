//! Multipath PERT (Singh 2012 chapter III).

use super::View;
use super::classic::alone;
use super::lia::coupled_increase;
use super::responding::{self, PARAMETERS, Share};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::plugin::Origin;

/// w_r grows by min(a·α_r/w_r^k, α_r/w_r) per segment acknowledged, a = max_i(w_i^{k+1}/rtt_i²) / (Σ_i w_i/rtt_i)²
/// (equation 3.6); early responses as [`Responding`](super::Responding) has them.
///
/// In balance w_r = a^{1/(k+1)}·W_r^{2/(k+1)}, W_r a lone PERT's window on the path, and together the rate of one PERT
/// on the best path (equation 3.4): the traffic shift grows as k falls from 1, where shares are those of uncoupled flows,
/// over 0, where they are LIA's, toward −1, where the law is singular.
#[derive(Debug)]
pub struct Mppert {
    k: f64,
}

const K: Parameter = Parameter::number(
    "k",
    0.0,
    [-1.0, 1.0],
    "how far traffic moves off the congested path; above -1, smaller values move it further",
)
.fixed_in_kernel();

impl Algorithm for Mppert {
    const ABOUT: About = About::new(
        <Mppert as Share>::NAME,
        "multipath PERT: responds to queueing delay before loss",
        "Singh 2012 ch. III",
    )
    .parameters(&[
        K,
        PARAMETERS[0],
        PARAMETERS[1],
        PARAMETERS[2],
        PARAMETERS[3],
        PARAMETERS[4],
        PARAMETERS[5],
        PARAMETERS[6],
        PARAMETERS[7],
        PARAMETERS[8],
    ])
    .columns(&responding::COLUMNS)
    .with(Capability::Coupled)
    .with(Capability::Random)
    .with(Capability::InKernel);

    fn check(given: &Given) -> Result<(), [&'static str; 2]> {
        if given.number("k") <= -1.0 {
            return Err(["k = -1", "k above -1: at -1 its law is singular"]);
        }
        responding::check(given)
    }
}

impl Make for Mppert {
    fn make(given: &Given, _: &Origin) -> Self {
        Mppert { k: given.number("k") }
    }
}

impl Share for Mppert {
    const NAME: &'static str = "mppert";

    fn increase(&self, group: &[View], r: usize) -> f64 {
        let own = 1.0 / group[r].cwnd;
        if alone(group, r) {
            return own;
        }
        let coupled = coupled_increase(group, |v| libm::pow(v.cwnd, self.k + 1.0));
        own.min(coupled / libm::pow(group[r].cwnd, self.k))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Lia, Rule};
    use super::*;
    use crate::time::Duration;

    fn view(cwnd: f64, rtt_ms: u64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(rtt_ms), active: true, ..View::new(10.0, 1420) }
    }

    #[test]
    fn at_0_it_is_lias_increase_exactly() {
        let mut draw = crate::draw::Draw(7);
        for _ in 0..10_000 {
            let group: Vec<View> = (0..1 + draw.below(4))
                .map(|_| View {
                    cwnd: 1.0 + draw.below(100_000) as f64 / 1000.0,
                    active: draw.below(5) != 0,
                    ..view(1.0, 1 + draw.below(300))
                })
                .collect();
            for r in 0..group.len() {
                assert_eq!(Mppert { k: 0.0 }.increase(&group, r), Lia.increase(&group, r), "{group:?}");
            }
        }
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (4, 16), rtt 1: Σ w/rtt = 20. k = 1: a = 16²/20² = 0.64; 0.64/4 = 0.16 and 0.64/16 = 0.04, below 1/w both.
        let group = [view(4.0, 1000), view(16.0, 1000)];
        let at = |k, r| Mppert { k }.increase(&group, r);
        assert!((at(1.0, 0) - 0.16).abs() < 1e-12 && (at(1.0, 1) - 0.04).abs() < 1e-12);
        // k = −½: a = √16/400 = 0.01; times √w: 0.02 and 0.04.
        assert!((at(-0.5, 0) - 0.02).abs() < 1e-12 && (at(-0.5, 1) - 0.04).abs() < 1e-12);
    }

    #[test]
    fn one_subflow_is_pert_for_any_k() {
        let away = View { active: false, ..view(500.0, 3) };
        for k in [-0.9, -0.5, 0.0, 0.7, 1.0] {
            assert_eq!(Mppert { k }.increase(&[view(20.0, 40), away], 0), 1.0 / 20.0);
        }
    }

    #[test]
    fn at_1_equal_loss_gives_equal_windows() {
        // Increase and decrease balance at p where a/w_r = β·p·w_r: the same window on every path, whatever the others'.
        let group = [view(6.0, 10), view(24.0, 80), view(50.0, 40)];
        let gain: Vec<f64> = (0..3).map(|r| Mppert { k: 1.0 }.increase(&group, r) * group[r].cwnd).collect();
        assert!(gain.iter().all(|g| (g - gain[0]).abs() < 1e-12), "{gain:?}");
    }
}
