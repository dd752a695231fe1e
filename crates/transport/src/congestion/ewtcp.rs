//! Equally weighted TCP (Honda 2009; Singh 2012 chapter II).

use super::classic::active_count;
use super::{Rule, View};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::plugin::Origin;

/// w_r grows by a/w_r per segment acknowledged, a = 1/n² on n subflows. Decrease: w_r/2.
///
/// In balance a/w = p·w/2, so w_r = √(2/p_r)/n: each subflow is 1/n of a TCP on its path, and the windows do not move
/// from a bad path to a good one.
#[derive(Debug, Default)]
pub struct Ewtcp;

impl Algorithm for Ewtcp {
    const ABOUT: About =
        About::new(<Ewtcp as Rule>::NAME, "equally weighted: +a/w per ACK, a = 1/n²", "Honda 2009; Singh 2012 ch. II")
            .with(Capability::Coupled)
            .with(Capability::InKernel);
}

impl Make for Ewtcp {
    fn make(_: &Given, _: &Origin) -> Self {
        Ewtcp
    }
}

impl Rule for Ewtcp {
    const NAME: &'static str = "ewtcp";

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        let n = active_count(group).max(1) as f64;
        1.0 / (n * n * group[r].cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn view(cwnd: f64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(50), active: true, ..View::new(10.0, 1420) }
    }

    #[test]
    fn numbers_worked_by_hand() {
        // Two subflows: a = 1/4; w = (10, 20): 0.25/10 = 0.025 and 0.25/20 = 0.0125.
        let group = [view(10.0), view(20.0)];
        assert_eq!(Ewtcp.increase(&group, 0), 0.025);
        assert_eq!(Ewtcp.increase(&group, 1), 0.0125);
        assert_eq!(Ewtcp.decrease(&group, 1), 10.0);
    }

    #[test]
    fn alone_it_is_reno() {
        assert_eq!(Ewtcp.increase(&[view(10.0)], 0), 0.1);
        let away = View { active: false, ..view(10.0) };
        assert_eq!(Ewtcp.increase(&[view(10.0), away], 0), 0.1);
    }
}
