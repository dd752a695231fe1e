//! Fully coupled (Kelly and Voice 2005; Singh 2012 chapter II, COUPLED).

use super::{Rule, View};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::plugin::Origin;

/// w_r grows by 1/w_total per segment acknowledged; a loss on r takes w_total/2 from w_r, down to one segment.
///
/// In balance 1/w_total = p·w_total/2 on the path with the least loss, so w_total = √(2/p_min): the other paths are left
/// with the minimum, and equal paths take turns (the flappiness for which it is known).
#[derive(Debug, Default)]
pub struct Coupled;

impl Algorithm for Coupled {
    const ABOUT: About = About::new(
        <Coupled as Rule>::NAME,
        "fully coupled: +1/w_total per ACK",
        "Kelly & Voice 2005; Singh 2012 ch. II",
    )
    .with(Capability::Coupled);
}

impl Make for Coupled {
    fn make(_: &Given, _: &Origin) -> Self {
        Coupled
    }
}

impl Coupled {
    fn total(group: &[View], r: usize) -> f64 {
        if !group[r].active {
            return group[r].cwnd;
        }
        group.iter().filter(|v| v.active).map(|v| v.cwnd).sum()
    }
}

impl Rule for Coupled {
    const NAME: &'static str = "coupled";

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        1.0 / Self::total(group, r)
    }

    fn decrease(&mut self, group: &[View], r: usize) -> f64 {
        group[r].cwnd - Self::total(group, r) / 2.0
    }

    fn min_ssthresh(&self, group: &[View]) -> f64 {
        if super::classic::active_count(group) > 1 { 1.0 } else { 2.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Classic, CongestionControl};
    use super::*;
    use crate::time::{Duration, Instant};

    fn view(cwnd: f64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(50), active: true, ..View::new(10.0, 1420) }
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (12, 28), total 40: each grows by 1/40; a loss takes 20: 28 − 20 = 8, and 12 − 20 stops at 1.
        let group = [view(12.0), view(28.0)];
        let mut control = Classic::new(Coupled);
        assert_eq!(Coupled.increase(&group, 0), 0.025);
        assert_eq!(control.on_loss(&group, 1, Instant::ZERO), 8.0);
        assert_eq!(control.on_loss(&group, 0, Instant::ZERO), 1.0);
    }

    #[test]
    fn alone_it_is_reno() {
        let away = View { active: false, ..view(500.0) };
        let group = [view(20.0), away];
        assert_eq!(Coupled.increase(&group, 0), 0.05);
        assert_eq!(Classic::new(Coupled).on_loss(&group, 0, Instant::ZERO), 10.0);
        assert_eq!(Classic::new(Coupled).on_loss(&[view(3.0)], 0, Instant::ZERO), 2.0);
    }
}
