//! Data Center TCP: a window that shrinks by the fraction of segments that were marked.

use super::{Ack, Delivery, Feedback, Phase, SinglePath, Steering, View, Window};
use crate::algorithm::{About, Algorithm, Capabilities, Capability, Column, Given, Make, Parameter};
use crate::plugin::Origin;
use crate::time::Instant;

const MIN_CWND: f64 = 2.0;

/// α ← (1 − g)·α + g·M once for each window of data, M being the fraction of its bytes whose acknowledgments echoed a mark
/// (RFC 8257 §3.3, equation 1). A window in which there was one shrinks once, to cwnd·(1 − α/2) (equation 2). All else
/// is TCP Reno's: one segment more a round trip, half of the window on a loss. α begins at 1, so that the first mark ends
/// slow start as a loss would (§4.2).
///
/// With marks at random of probability p the window settles where what a round trip adds is what it takes:
/// 1 = cwnd·p/2, so cwnd = 2/p.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// g.
    gain: f64,
    alpha: f64,
    /// Bytes delivered in this window of data, and those of them that were marked.
    acked: u64,
    marked: u64,
    /// The window of data ends when so much is delivered.
    ends_at: u64,
    /// It shrank in this window of data already.
    reduced: bool,
}

impl Algorithm for Dctcp {
    const ABOUT: About = About::new(
        <Dctcp as SinglePath>::NAME,
        "scalable: reduces the window in proportion to the fraction of marked segments (ECN, L4S)",
        "RFC 8257",
    )
    .parameters(&[
        Parameter::number("gain", 0.0625, [0.0001, 1.0], "g: weight of the newest sample in α"),
        Parameter::flag("ect1", true, "send ECT(1), which marks the flow as scalable (RFC 9331), instead of ECT(0)"),
    ])
    .columns(&[Column::new("alpha", "", "α: smoothed fraction of marked bytes")])
    .with(Capability::Scalable)
    .with(Capability::Ect1);

    fn capabilities(given: &Given) -> Capabilities {
        let all = Self::ABOUT.capabilities;
        if given.flag("ect1") { all } else { all.without(Capability::Ect1) }
    }
}

impl Make for Dctcp {
    fn make(given: &Given, _: &Origin) -> Self {
        Dctcp::with_gain(given.number("gain"))
    }
}

impl Dctcp {
    /// With this g.
    #[must_use]
    pub fn with_gain(gain: f64) -> Self {
        Dctcp { gain, alpha: 1.0, acked: 0, marked: 0, ends_at: 0, reduced: false }
    }
}

impl SinglePath for Dctcp {
    const NAME: &'static str = "dctcp";
    const FEEDBACK: Feedback = Feedback::Deliveries;

    fn on_ack(&mut self, view: &View, ack: &Ack) -> Window {
        let View { mut cwnd, ssthresh, .. } = *view;
        if ack.cwnd_limited {
            let acked;
            (cwnd, acked) = ack.slow_start(cwnd, ssthresh);
            cwnd += acked / cwnd;
        }
        Window { cwnd, ssthresh }
    }

    fn on_delivery(&mut self, view: &View, delivery: &Delivery<'_>) -> Option<Steering> {
        self.acked += delivery.acked;
        if delivery.marked {
            self.marked += delivery.acked;
        }
        let shrinks = delivery.marked && delivery.acked > 0 && !self.reduced && view.phase == Phase::Open;
        self.reduced |= shrinks;
        if delivery.delivered >= self.ends_at && self.acked > 0 {
            let fraction = self.marked as f64 / self.acked as f64;
            self.alpha += self.gain * (fraction - self.alpha);
            (self.acked, self.marked, self.reduced) = (0, 0, shrinks);
            self.ends_at = delivery.delivered + delivery.in_flight;
        }
        if !shrinks {
            return None;
        }
        let cwnd = (view.cwnd * (1.0 - self.alpha / 2.0)).max(MIN_CWND).min(view.cwnd);
        Some(Steering { window: Window { cwnd, ssthresh: cwnd.max(MIN_CWND) }, pacing: None, limited: false })
    }

    fn on_loss(&mut self, view: &View) -> f64 {
        (view.cwnd / 2.0).max(MIN_CWND)
    }

    fn on_timeout(&mut self, view: &View) -> f64 {
        self.on_loss(view)
    }

    fn on_ecn(&mut self, view: &View, _abe: bool) -> f64 {
        self.on_loss(view)
    }

    fn on_undo(&mut self, _view: &View) {}

    fn show(&self, _view: &View, _now: Instant, columns: &mut [f64]) {
        columns[0] = self.alpha;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn delivery(acked: u64, delivered: u64, marked: bool) -> Delivery<'static> {
        Delivery {
            now: Instant::ZERO,
            acked,
            delivered,
            acked_segments: acked.div_ceil(1_000) as u32,
            delivered_segments: delivered.div_ceil(1_000),
            marked,
            rtt: None,
            in_flight: 9_000,
            lost: &[],
            lost_in_all: 0,
            app_limited: false,
            cwnd_limited: true,
            departs_at: Instant::ZERO,
            sample: None,
        }
    }

    fn view(cwnd: f64) -> View {
        View { cwnd, ssthresh: 2.0, srtt: Duration::from_nanos(1), active: true, ..View::new(10.0, 1_000) }
    }

    /// The first mark halves, as α is 1. A window of ten segments of which none was marked: α = 15/16. One of which two were:
    /// α = 15/16·15/16 + 0.2/16, but the first of the two shrank the window by the α before it.
    #[test]
    fn alpha_worked_by_hand() {
        let mut dctcp = Dctcp::with_gain(1.0 / 16.0);
        let first = dctcp.on_delivery(&view(20.0), &delivery(1_000, 1_000, true)).unwrap();
        assert_eq!(first.window, Window { cwnd: 10.0, ssthresh: 10.0 });
        assert_eq!((dctcp.alpha, dctcp.ends_at), (1.0, 10_000));
        for i in 2..=10 {
            assert!(dctcp.on_delivery(&view(10.0), &delivery(1_000, 1_000 * i, i == 5)).is_none(), "once a window");
        }
        let second = 1.0 + (1.0 / 9.0 - 1.0) / 16.0;
        assert!((dctcp.alpha - second).abs() < 1e-12);
        let mut windows = Vec::new();
        for i in 11..=19 {
            windows.extend(dctcp.on_delivery(&view(10.0), &delivery(1_000, 1_000 * i, i == 12 || i == 13)));
        }
        assert_eq!(windows.len(), 1);
        assert!((windows[0].window.cwnd - 10.0 * (1.0 - second / 2.0)).abs() < 1e-12);
        assert!((dctcp.alpha - (second + (2.0 / 9.0 - second) / 16.0)).abs() < 1e-12);
    }

    /// RFC 8257 §3.3: a mark counts with the bytes that it acknowledges; §3.5: a loss is answered as by Reno, and the marks of its
    /// recovery do not shrink the window again. Half of three segments is less than the least window.
    #[test]
    fn a_mark_without_new_data_or_in_a_recovery_shrinks_nothing() {
        let mut dctcp = Dctcp::with_gain(1.0 / 16.0);
        assert!(dctcp.on_delivery(&view(3.0), &delivery(0, 1_000, true)).is_none());
        let recovering = View { phase: Phase::Recovery, ..view(3.0) };
        assert!(dctcp.on_delivery(&recovering, &delivery(1_000, 2_000, true)).is_none());
        let steering = dctcp.on_delivery(&view(3.0), &delivery(1_000, 3_000, true)).unwrap();
        assert_eq!(steering.window, Window { cwnd: MIN_CWND, ssthresh: MIN_CWND });
    }

    /// Every tenth segment marked: the window settles at 2/p = 20, up to the step of a round trip.
    #[test]
    fn the_window_is_two_over_the_marking_probability() {
        let mut dctcp = Dctcp::with_gain(1.0 / 16.0);
        let mut v = view(40.0);
        let (mut delivered, mut count, mut sum, mut samples) = (0, 0_u64, 0.0, 0.0);
        for round in 0..4_000 {
            let segments = v.cwnd as u64;
            for _ in 0..segments {
                count += 1;
                delivered += 1_000;
                let ack = Ack { now: Instant::ZERO, acked_segments: 1.0, rtt: None, cwnd_limited: true };
                v.cwnd = dctcp.on_ack(&v, &ack).cwnd;
                let d = Delivery { in_flight: segments * 1_000, ..delivery(1_000, delivered, count % 10 == 0) };
                if let Some(steering) = dctcp.on_delivery(&v, &d) {
                    v.cwnd = steering.window.cwnd;
                }
            }
            if round >= 500 {
                sum += v.cwnd;
                samples += 1.0;
            }
        }
        let mean = sum / samples;
        assert!((mean / 20.0 - 1.0).abs() < 0.1, "{mean}");
    }
}
