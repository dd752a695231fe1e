//! Reno (RFC 5681): on each subflow by itself, so under MPTCP it is the uncoupled control of Khalili 2013 §II.

use super::{Rule, View};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::plugin::Origin;

/// w ← w + 1/w per segment acknowledged, w ← w/2 on loss.
#[derive(Debug, Default)]
pub struct Reno;

impl Algorithm for Reno {
    const ABOUT: About = About::new(<Reno as Rule>::NAME, "uncoupled: +1/w per ACK, halved on loss", "RFC 5681")
        .parameters(&[Parameter::variant("in real numbers, or in whole segments as Linux counts (\"linux\")")])
        .with(Capability::InKernel);
}

impl Make for Reno {
    fn make(_: &Given, _: &Origin) -> Self {
        Reno
    }
}

impl Rule for Reno {
    const NAME: &'static str = "reno";

    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        1.0 / group[r].cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ack, Classic, CongestionControl, View};
    use super::Reno;
    use crate::time::{Duration, Instant};

    fn view(cwnd: f64, ssthresh: f64) -> View {
        View { cwnd, ssthresh, srtt: Duration::from_millis(100), active: true, ..View::new(10.0, 1448) }
    }

    fn ack(acked_segments: f64) -> Ack {
        Ack { now: Instant::ZERO, acked_segments, rtt: None, cwnd_limited: true }
    }

    #[test]
    fn avoidance_adds_one_segment_a_window() {
        let mut reno = Classic::new(Reno);
        let mut v = view(10.0, 5.0);
        // Ten ACKs of one segment: 10 + 1/10 + 1/10.1 + …; by hand 10.9593 after ten.
        for _ in 0..10 {
            v.cwnd = reno.on_ack(&[v], 0, &ack(1.0)).cwnd;
        }
        assert!((v.cwnd - 10.9593).abs() < 1e-3, "{}", v.cwnd);
    }

    #[test]
    fn slow_start_doubles_and_ends_at_ssthresh() {
        let mut reno = Classic::new(Reno);
        let v = view(10.0, f64::INFINITY);
        assert_eq!(reno.on_ack(&[v], 0, &ack(10.0)).cwnd, 20.0);
        // Of 10 segments 6 reach the threshold of 16; the other 4 add 4 · 1/10 (the window the ACK found).
        let v = view(10.0, 16.0);
        assert!((reno.on_ack(&[v], 0, &ack(10.0)).cwnd - 16.4).abs() < 1e-12);
    }

    #[test]
    fn loss_halves_with_a_floor_of_two() {
        let mut reno = Classic::new(Reno);
        assert_eq!(reno.on_loss(&[view(21.0, 10.0)], 0, Instant::ZERO), 10.5);
        assert_eq!(reno.on_loss(&[view(3.0, 10.0)], 0, Instant::ZERO), 2.0);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut reno = Classic::new(Reno);
        let idle = Ack { cwnd_limited: false, ..ack(4.0) };
        assert_eq!(reno.on_ack(&[view(10.0, f64::INFINITY)], 0, &idle).cwnd, 10.0);
    }
}
