//! Linked increases (RFC 6356; Wischik 2011; Khalili 2013 equation 1).

use super::classic::alone;
use super::{Rule, View};
use crate::algorithm::{About, Algorithm, Capability, Column, Given, Make, Parameter};
use crate::plugin::Origin;
use crate::time::Instant;

/// w_r grows by min(α/w_total, 1/w_r) per segment acknowledged, with
/// α = w_total · max_i(w_i/rtt_i²) / (Σ_i w_i/rtt_i)². Decrease: w_r/2.
///
/// α is computed from the present windows at each ACK, as the paper has it; RFC 6356 §4 allows once a round trip.
#[derive(Debug, Default)]
pub struct Lia;

impl Algorithm for Lia {
    const ABOUT: About = About::new(<Lia as Rule>::NAME, "linked increases", "RFC 6356")
        .parameters(&[Parameter::variant("the published form, or the quantised form of the Linux code (\"linux\")")])
        .columns(&[Column::new("lia_alpha", "", "α of LIA: the aggressiveness of the connection (RFC 6356 §3)")])
        .with(Capability::Coupled)
        .with(Capability::InKernel);
}

impl Make for Lia {
    fn make(_: &Given, _: &Origin) -> Self {
        Lia
    }
}

/// The largest of `weight`/rtt² over the square of the rate. With the window as the weight it is α/w_total, the increase that makes
/// the whole connection as aggressive as one TCP on its best path.
#[inline(always)]
pub(super) fn coupled_increase(group: &[View], weight: impl Fn(&View) -> f64) -> f64 {
    let mut best = 0.0_f64;
    let mut rate = 0.0;
    for v in group.iter().filter(|v| v.active) {
        let per_rtt = 1.0 / v.srtt.as_nanos() as f64; // the unit of time cancels out
        best = best.max(weight(v) * per_rtt * per_rtt);
        rate += v.cwnd * per_rtt;
    }
    best / (rate * rate)
}

impl Rule for Lia {
    const NAME: &'static str = "lia";

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        let own = 1.0 / group[r].cwnd;
        if alone(group, r) {
            return own;
        }
        own.min(coupled_increase(group, |v| v.cwnd))
    }

    fn show(&self, group: &[View], _r: usize, _now: Instant, columns: &mut [f64]) {
        columns[0] = coupled_increase(group, |v| v.cwnd) * total(group);
    }
}

/// w_total, in segments.
pub(super) fn total(group: &[View]) -> f64 {
    group.iter().filter(|v| v.active).map(|v| v.cwnd).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn view(cwnd: f64, rtt_ms: u64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(rtt_ms), active: true, ..View::new(10.0, 1420) }
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (10, 20), rtt = (10, 40) ms. w/rtt² = (0.1, 0.0125) per ms²; Σ w/rtt = 1 + 0.5 = 1.5 per ms;
        // increase = 0.1/2.25 = 0.04444…; 1/w = (0.1, 0.05): the coupled one is the smaller on both.
        let group = [view(10.0, 10), view(20.0, 40)];
        for r in 0..2 {
            assert!((Lia.increase(&group, r) - 0.1 / 2.25).abs() < 1e-12);
        }
    }

    #[test]
    fn alpha_is_shown() {
        // As above: 0.1/2.25 of a total of 30 segments; one subflow alone is TCP, α = 1.
        let shown = |group: &[View]| {
            let mut columns = [f64::NAN];
            Lia.show(group, 0, Instant::ZERO, &mut columns);
            columns[0]
        };
        assert!((shown(&[view(10.0, 10), view(20.0, 40)]) - 3.0 / 2.25).abs() < 1e-12);
        assert!((shown(&[view(10.0, 10)]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn never_more_aggressive_than_tcp_on_the_same_path() {
        // w = (2, 40), rtt = (10, 100) ms: w/rtt² = (0.02, 0.004), Σ = 0.2 + 0.4 = 0.6, coupled 0.0556 > 1/40.
        let group = [view(2.0, 10), view(40.0, 100)];
        assert!((Lia.increase(&group, 1) - 1.0 / 40.0).abs() < 1e-12);
        assert!((Lia.increase(&group, 0) - 0.02 / 0.36).abs() < 1e-12);
    }

    #[test]
    fn two_equal_paths_share_one_tcps_increase() {
        // α = 2w·(w/rtt²)/(2w/rtt)² = 1/2, so each grows by 1/(4w) per segment. In balance 1/(4w) = p·w/2, so
        // w = ½·√(2/p): each holds half of the window of one TCP.
        let group = [view(10.0, 50), view(10.0, 50)];
        assert!((Lia.increase(&group, 0) - 1.0 / 40.0).abs() < 1e-12);
    }

    #[test]
    fn an_inactive_sibling_does_not_count() {
        let mut away = view(1000.0, 1);
        away.active = false;
        assert_eq!(Lia.increase(&[view(10.0, 50), away], 0), 0.1);
    }
}
