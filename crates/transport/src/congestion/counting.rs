//! What the kernel's loss-based controls share: whole segments, and acknowledgments counted one by one.

use super::classic::alone;
use super::{Ack, CongestionControl, View, Window};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;
use crate::time::Instant;

/// A control in the kernel's integers; all else is [`Counting`]'s. `w` is the window of `group[r]` in whole
/// segments; the siblings' are in `group`.
pub trait CountingRule: std::fmt::Debug + Send {
    /// Its name.
    const NAME: &'static str;

    /// An acknowledgment in congestion avoidance, however many segments it is for: by how many segments the window
    /// moves, −1, 0 or 1.
    fn step(&mut self, group: &[View], r: usize, w: u64) -> i8;

    /// The window of `group[r]` has become `w`, by a step or by slow start.
    fn moved(&mut self, _group: &[View], _r: usize, _w: u64) {}

    /// Threshold after a loss.
    fn ssthresh(&mut self, _group: &[View], _r: usize, w: u64) -> u64 {
        (w / 2).max(2)
    }

    /// A loss was found on `group[r]`: the kernel counts its acknowledgments from zero.
    fn lost(&mut self, _r: usize) {}

    /// `group[r]` starts afresh, and the number of paths has changed.
    fn joined(&mut self, _r: usize) {}

    /// Its own numbers of `group[r]`: see [`CongestionControl::show`].
    fn show(&self, _group: &[View], _r: usize, _columns: &mut [f64]) {}
}

/// Slow start, the reaction to loss and the lone subflow's Reno of the kernel's controls.
///
/// An acknowledgment that slow start takes is used up by it, also when it reaches the threshold. With one subflow up
/// the kernel is Reno, which counts segments. Windows keep the fraction with which slow start left them; only whole
/// segments count.
#[derive(Debug)]
pub struct Counting<R> {
    rule: R,
    /// Segments acknowledged toward the next one, of a subflow that is alone.
    reno: Vec<f64>,
}

impl<R: CountingRule> Counting<R> {
    /// The kernel's machine with this rule.
    pub fn new(rule: R) -> Self {
        Counting { rule, reno: Vec::new() }
    }

    fn reduce(&mut self, group: &[View], r: usize) -> f64 {
        let w = whole(group[r].cwnd);
        *slot(&mut self.reno, r) = 0.0;
        self.rule.lost(r);
        let ssthresh = if alone(group, r) { (w / 2).max(2) } else { self.rule.ssthresh(group, r, w) };
        ssthresh as f64
    }
}

/// A window in whole segments.
pub(super) fn whole(cwnd: f64) -> u64 {
    (cwnd as u64).max(1)
}

/// Smoothed RTT as the kernel keeps it: eighths of a microsecond.
pub(super) fn srtt_eighths(v: &View) -> u64 {
    (v.srtt.as_nanos() / 125).max(1)
}

/// Element r, made when it is not there yet.
pub(super) fn slot<T: Clone + Default>(all: &mut Vec<T>, r: usize) -> &mut T {
    if r >= all.len() {
        all.resize(r + 1, T::default());
    }
    &mut all[r]
}

/// Linux's Reno: a segment for every window of segments acknowledged. What was counted toward a larger window than the
/// present one is worth one segment.
pub(super) fn reno_step(count: &mut f64, acked_segments: f64, w: u64) -> f64 {
    let w = w as f64;
    let mut steps = 0.0;
    if *count >= w {
        *count = 0.0;
        steps = 1.0;
    }
    *count += acked_segments;
    let whole_windows = (*count / w).floor();
    *count -= whole_windows * w;
    (steps + whole_windows).min(acked_segments.max(1.0))
}

impl<R: CountingRule + Make> Make for Counting<R> {
    fn make(given: &Given, origin: &Origin) -> Self {
        Counting::new(R::make(given, origin))
    }
}

impl<R: CountingRule> CongestionControl for Counting<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let View { cwnd, ssthresh, .. } = group[r];
        if !ack.cwnd_limited {
            return Window { cwnd, ssthresh };
        }
        if cwnd < ssthresh {
            let cwnd = (cwnd + ack.acked_segments).min(ssthresh);
            self.rule.moved(group, r, whole(cwnd));
            return Window { cwnd, ssthresh };
        }
        let w = whole(cwnd);
        if alone(group, r) {
            let cwnd = cwnd + reno_step(slot(&mut self.reno, r), ack.acked_segments, w);
            return Window { cwnd, ssthresh };
        }
        let step = self.rule.step(group, r, w);
        if step == 0 {
            return Window { cwnd, ssthresh };
        }
        let cwnd = (cwnd + f64::from(step)).max(1.0);
        self.rule.moved(group, r, whole(cwnd));
        Window { cwnd, ssthresh }
    }

    fn on_loss(&mut self, group: &[View], r: usize, _now: Instant) -> f64 {
        self.reduce(group, r)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, _now: Instant) -> f64 {
        self.reduce(group, r)
    }

    fn on_join(&mut self, _group: &[View], r: usize, _now: Instant) -> Option<f64> {
        *slot(&mut self.reno, r) = 0.0;
        self.rule.joined(r);
        None
    }

    fn on_leave(&mut self, _group: &[View], r: usize, _now: Instant) {
        self.rule.joined(r);
    }

    fn show(&self, group: &[View], r: usize, _now: Instant, columns: &mut [f64]) {
        self.rule.show(group, r, columns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    #[derive(Debug)]
    struct Still;

    impl CountingRule for Still {
        const NAME: &'static str = "still";
        fn step(&mut self, _: &[View], _: usize, _: u64) -> i8 {
            0
        }
    }

    fn ack(acked_segments: f64) -> Ack {
        Ack { now: Instant::ZERO, acked_segments, rtt: None, cwnd_limited: true }
    }

    #[test]
    fn a_lone_subflow_adds_one_segment_a_window() {
        let mut control = Counting::new(Still);
        let mut v =
            View { cwnd: 10.0, ssthresh: 5.0, srtt: Duration::from_nanos(1), active: true, ..View::new(10.0, 1420) };
        for _ in 0..4 {
            v.cwnd = control.on_ack(&[v], 0, &ack(2.0)).cwnd;
        }
        assert_eq!(v.cwnd, 10.0, "8 of 10 segments");
        v.cwnd = control.on_ack(&[v], 0, &ack(2.0)).cwnd;
        assert_eq!(v.cwnd, 11.0);
        assert_eq!(control.on_loss(&[v], 0, Instant::ZERO), 5.0, "11/2 in whole segments");
        assert_eq!(control.on_timeout(&[View { cwnd: 1.0, ..v }], 0, Instant::ZERO), 2.0);
    }

    #[test]
    fn slow_start_takes_the_whole_acknowledgment() {
        let mut control = Counting::new(Still);
        let v =
            View { cwnd: 10.0, ssthresh: 12.0, srtt: Duration::from_nanos(1), active: true, ..View::new(10.0, 1420) };
        assert_eq!(control.on_ack(&[v], 0, &ack(4.0)).cwnd, 12.0);
    }
}
