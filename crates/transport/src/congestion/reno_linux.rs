//! Reno as Linux computes it (`tcp_reno_cong_avoid`, `tcp_cong_avoid_ai`).

use super::counting::{reno_step, whole};
use super::{Ack, SinglePath, View, Window, classic};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;

/// A segment for each window of segments acknowledged, counted from zero after a loss; a loss takes half of the whole window.
#[derive(Clone, Copy, Debug, Default)]
pub struct RenoLinux {
    /// Segments acknowledged toward the next one.
    counted: f64,
}

impl Make for RenoLinux {
    fn make(_: &Given, _: &Origin) -> Self {
        RenoLinux::default()
    }
}

impl RenoLinux {
    fn reduce(&mut self, view: &View) -> f64 {
        self.counted = 0.0;
        (whole(view.cwnd) / 2).max(2) as f64
    }
}

impl SinglePath for RenoLinux {
    const NAME: &'static str = <super::Reno as classic::Rule>::NAME;

    fn on_ack(&mut self, view: &View, ack: &Ack) -> Window {
        let View { mut cwnd, ssthresh, .. } = *view;
        if !ack.cwnd_limited {
            return Window { cwnd, ssthresh };
        }
        let slow = ack.acked_segments.min((ssthresh - cwnd).max(0.0));
        cwnd += slow;
        if ack.acked_segments > slow {
            cwnd += reno_step(&mut self.counted, ack.acked_segments - slow, whole(cwnd));
        }
        Window { cwnd, ssthresh }
    }

    fn on_loss(&mut self, view: &View) -> f64 {
        self.reduce(view)
    }

    fn on_timeout(&mut self, view: &View) -> f64 {
        self.reduce(view)
    }

    fn on_ecn(&mut self, view: &View, _abe: bool) -> f64 {
        self.reduce(view)
    }

    /// The count stays as it is.
    fn on_undo(&mut self, _: &View) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Duration, Instant};
    use proptest::prelude::*;

    fn view(cwnd: f64, ssthresh: f64) -> View {
        View { cwnd, ssthresh, srtt: Duration::from_millis(100), active: true, ..View::new(10.0, 1448) }
    }

    fn ack(acked_segments: f64) -> Ack {
        Ack { now: Instant::ZERO, acked_segments, rtt: None, cwnd_limited: true }
    }

    #[test]
    fn a_window_of_segments_acknowledged_adds_one() {
        let (mut reno, mut v) = (RenoLinux::default(), view(84.0, 60.0));
        // Two by two, the 42nd acknowledgment is that of the 84th segment. In real numbers the 43rd brings the whole one.
        let windows: Vec<f64> = (0..42)
            .map(|_| {
                v.cwnd = reno.on_ack(&v, &ack(2.0)).cwnd;
                v.cwnd
            })
            .collect();
        assert_eq!((windows[40], windows[41]), (84.0, 85.0));
        // 83 of 85, and the loss forgets them: half of 85 in whole segments.
        for _ in 0..41 {
            v.cwnd = reno.on_ack(&v, &ack(2.0)).cwnd;
        }
        assert_eq!((v.cwnd, reno.on_loss(&v)), (85.0, 42.0));
        let v = view(42.0, 42.0);
        assert_eq!(reno.on_ack(&v, &ack(41.0)).cwnd, 42.0);
        assert_eq!(reno.on_ack(&v, &ack(1.0)).cwnd, 43.0);
    }

    #[test]
    fn what_goes_beyond_the_threshold_counts_for_avoidance() {
        let mut reno = RenoLinux::default();
        assert_eq!(reno.on_ack(&view(10.0, 16.0), &ack(10.0)), Window { cwnd: 16.0, ssthresh: 16.0 });
        assert_eq!(reno.counted, 4.0);
        assert_eq!(reno.on_timeout(&view(3.0, 16.0)), 2.0);
    }

    proptest! {
        /// In as many acknowledgments as you like: the window grows by less than one more and no less than one fewer than the
        /// windows of segments that were acknowledged.
        #[test]
        fn growth_is_that_of_windows_acknowledged(acks in proptest::collection::vec(1_u32..9, 1..400)) {
            let (mut reno, mut v) = (RenoLinux::default(), view(20.0, 20.0));
            let (mut windows, mut all) = (0.0, 0.0);
            for n in acks.into_iter().map(f64::from) {
                let before = v.cwnd;
                v.cwnd = reno.on_ack(&v, &ack(n)).cwnd;
                windows += n / before;
                all += v.cwnd - before;
                prop_assert!(v.cwnd.fract() == 0.0 && v.cwnd >= before);
            }
            prop_assert!(all <= windows && windows < all + 1.5, "{} of {}", all, windows);
        }
    }
}
