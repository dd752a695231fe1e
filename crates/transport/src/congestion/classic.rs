//! What loss-based controls share: slow start, the thresholds after a loss, the floor of the windows.

use super::{Ack, CongestionControl, View, Window};

/// How a control behaves in congestion avoidance and on loss; all else is [`Classic`]'s.
pub trait Rule: std::fmt::Debug + Send {
    /// Its name.
    const NAME: &'static str;

    /// Increase of the window of `group[r]`, in segments, per segment acknowledged in congestion avoidance.
    fn increase(&mut self, group: &[View], r: usize) -> f64;

    /// Window of `group[r]`, in segments, after a loss.
    fn decrease(&mut self, group: &[View], r: usize) -> f64 {
        group[r].cwnd / 2.0
    }
}

/// A control that is TCP's but for its rule.
#[derive(Debug)]
pub struct Classic<R> {
    rule: R,
}

/// RFC 5681 §3.1, equation 4: ssthresh is never below two segments.
const MIN_SSTHRESH: f64 = 2.0;

impl<R: Rule> Classic<R> {
    /// The classic machine with this rule.
    pub fn new(rule: R) -> Self {
        Classic { rule }
    }
}

impl<R: Rule> CongestionControl for Classic<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let View { mut cwnd, ssthresh, .. } = group[r];
        if !ack.cwnd_limited {
            return Window { cwnd, ssthresh };
        }
        let mut acked = ack.acked_segments;
        if cwnd < ssthresh {
            // RFC 5681 §3.1 with RFC 3465's byte counting; what goes beyond ssthresh counts for avoidance.
            let slow = acked.min(ssthresh - cwnd);
            cwnd += slow;
            acked -= slow;
        }
        if acked > 0.0 {
            cwnd += acked * self.rule.increase(group, r);
        }
        Window { cwnd, ssthresh }
    }

    fn on_loss(&mut self, group: &[View], r: usize, _now_ns: u64) -> f64 {
        self.rule.decrease(group, r).max(MIN_SSTHRESH)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, _now_ns: u64) -> f64 {
        self.rule.decrease(group, r).max(MIN_SSTHRESH)
    }
}
