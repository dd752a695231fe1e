//! What every congestion control must keep, whatever its law: run it on a new one before anything else.
//!
//! ```
//! use transport::congestion::{Classic, Reno, contract};
//! contract::check(|| Box::new(Classic::new(Reno))).unwrap();
//! ```

use super::{Ack, CongestionControl, Phase, Sample, View, Window};
use crate::draw::Draw;
use crate::time::{Duration, Instant};

/// A rule that a control broke, and where.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("step {step}: {rule} (cwnd {cwnd}, ssthresh {ssthresh})")]
pub struct Violation {
    /// Number of the operation.
    pub step: usize,
    /// What must hold.
    pub rule: &'static str,
    /// The window it answered.
    pub cwnd: f64,
    /// The threshold it answered.
    pub ssthresh: f64,
}

/// Runs a model of a connection with one to four subflows through acknowledgments, losses with their recovery,
/// congestion marks, timeouts, undone losses, joins and leaves, and checks after each operation that
///
/// - windows are finite and at least one segment, and so are thresholds but for the first, infinite one;
/// - a window grows by no more than was acknowledged, or by one segment: the controls that count acknowledgments or
///   rounds move by whole segments, also on an acknowledgment of less than one. It may shrink on an acknowledgment:
///   OLIA moves windows between paths, wVegas answers delay;
/// - an unused window does not grow;
/// - a loss, a timeout or a mark does not raise the window, and leaves a threshold of at least one segment;
/// - the same operations give the same windows: nothing outside the connection is read, nothing left from another;
/// - a lone subflow that leaves and joins again starts afresh.
///
/// # Errors
/// The first rule that was broken.
pub fn check(make: impl Fn() -> Box<dyn CongestionControl>) -> Result<(), Violation> {
    for seed in 0..50 {
        let trace = Model::new(&make, seed).run()?;
        let again = Model::new(&make, seed).run()?;
        // Compared bit by bit, for an infinite or NaN threshold too.
        let same = |(a, b): (&Window, &Window)| {
            a.cwnd.to_bits() == b.cwnd.to_bits() && a.ssthresh.to_bits() == b.ssthresh.to_bits()
        };
        if let Some(step) = trace.iter().zip(&again).position(|pair| !same(pair)) {
            let Window { cwnd, ssthresh } = again[step];
            return Err(Violation { step, rule: "the same operations give the same windows", cwnd, ssthresh });
        }
    }
    Ok(())
}

struct Model<'a> {
    make: &'a dyn Fn() -> Box<dyn CongestionControl>,
    control: Box<dyn CongestionControl>,
    /// A fresh control since the lone subflow joined again: it must answer the same.
    fresh: Option<Box<dyn CongestionControl>>,
    draw: Draw,
    group: Vec<View>,
    /// Window and threshold before the last loss.
    before_loss: Vec<Option<Window>>,
    now: Instant,
    step: usize,
}

impl<'a> Model<'a> {
    fn new(make: &'a dyn Fn() -> Box<dyn CongestionControl>, seed: u64) -> Self {
        let count = 1 + (seed % 4) as usize;
        Model {
            make,
            control: make(),
            fresh: None,
            draw: Draw(seed),
            group: vec![View::new(10.0, 1420); count],
            before_loss: vec![None; count],
            now: Instant::ZERO,
            step: 0,
        }
    }

    fn run(mut self) -> Result<Vec<Window>, Violation> {
        let mut trace = Vec::new();
        for step in 0..2_000 {
            self.step = step;
            self.now += Duration::from_nanos(1_000_000 + self.draw.below(20_000_000));
            let r = self.draw.below(self.group.len() as u64) as usize;
            self.operation(r)?;
            trace.push(Window { cwnd: self.group[r].cwnd, ssthresh: self.group[r].ssthresh });
        }
        Ok(trace)
    }

    fn fail<T>(&self, rule: &'static str, w: Window) -> Result<T, Violation> {
        Err(Violation { step: self.step, rule, cwnd: w.cwnd, ssthresh: w.ssthresh })
    }

    /// The control's answer, which a fresh one must give too.
    fn ask(&mut self, call: impl Fn(&mut dyn CongestionControl, &[View]) -> Window) -> Result<Window, Violation> {
        let answer = call(&mut *self.control, &self.group);
        if let Some(fresh) = &mut self.fresh {
            let expected = call(&mut **fresh, &self.group);
            if answer.cwnd != expected.cwnd && !answer.cwnd.is_nan() {
                return self.fail("a lone subflow that joins again starts afresh", answer);
            }
        }
        Ok(answer)
    }

    fn operation(&mut self, r: usize) -> Result<(), Violation> {
        if !self.group[r].active {
            return self.join(r);
        }
        if self.group[r].phase == Phase::Recovery {
            self.group[r].cwnd = 0.1 * self.draw.below(10) as f64 * self.group[r].ssthresh; // what PRR may leave
            if self.draw.below(4) == 0 {
                self.group[r].phase = Phase::Open;
                self.group[r].cwnd = self.group[r].ssthresh;
            }
            return Ok(());
        }
        match self.draw.below(100) {
            0..=91 => self.acknowledge(r),
            92..=94 => self.reduce(r, |c, g, r, now| c.on_loss(g, r, now), Some(Phase::Recovery)),
            95 => {
                let abe = self.draw.below(2) == 0;
                self.reduce(r, move |c, g, r, now| c.on_ecn(g, r, now, abe), None)
            }
            96 => self.undo(r),
            97 | 98 => self.reduce(r, |c, g, r, now| c.on_timeout(g, r, now), Some(Phase::Loss)),
            _ => self.leave(r),
        }
    }

    fn join(&mut self, r: usize) -> Result<(), Violation> {
        let rtt = Duration::from_nanos(1_000_000 + self.draw.below(300_000_000));
        self.group[r] = View { srtt: rtt, min_rtt: rtt, active: true, ..View::new(10.0, 1420) };
        self.before_loss[r] = None;
        if self.group.len() == 1 {
            self.fresh = Some((self.make)());
        }
        let now = self.now;
        self.ask(|c, g| {
            c.on_join(g, r, now);
            Window { cwnd: 0.0, ssthresh: 0.0 }
        })?;
        Ok(())
    }

    fn leave(&mut self, r: usize) -> Result<(), Violation> {
        self.group[r].active = false;
        self.fresh = None;
        self.control.on_leave(&self.group, r, self.now);
        Ok(())
    }

    fn acknowledge(&mut self, r: usize) -> Result<(), Violation> {
        // Now and then the end of a message: less than a segment.
        let whole = 1.0 + self.draw.below(4) as f64;
        let acked = if self.draw.below(10) == 0 { whole / 8.0 } else { whole };
        let limited = self.draw.below(8) != 0;
        let sample = self.group[r].min_rtt + Duration::from_nanos(self.draw.below(50_000_000));
        let rtt = (self.draw.below(5) != 0).then_some(sample);
        let view = &mut self.group[r];
        if let Some(rtt) = rtt {
            view.srtt = (7 * view.srtt + rtt) / 8;
        }
        view.bytes_since_loss += (1420.0 * acked) as u64;
        view.in_flight = (view.cwnd - 1.0) as u32;
        if view.phase == Phase::Loss && self.draw.below(5) == 0 {
            view.phase = Phase::Open;
        }
        let before = view.cwnd;
        let ack = Ack { now: self.now, acked_segments: acked, rtt, cwnd_limited: limited };
        // As the transport does: the sample first, to those that want it.
        let w = self.ask(|c, g| {
            if let Some(rtt) = ack.rtt.filter(|_| c.wants_samples()) {
                c.on_sample(g, r, &Sample { rtt, now: ack.now, ..Sample::default() });
            }
            c.on_ack(g, r, &ack)
        })?;
        if !(w.cwnd.is_finite() && w.cwnd >= 1.0) {
            return self.fail("windows are finite and at least one segment", w);
        }
        if w.ssthresh.is_nan() || w.ssthresh < 1.0 {
            return self.fail("a threshold is at least one segment", w);
        }
        if w.cwnd > before + acked.max(1.0) + 1e-9 {
            return self.fail("a window grows by no more than was acknowledged", w);
        }
        if !limited && w.cwnd > before {
            return self.fail("an unused window does not grow", w);
        }
        (self.group[r].cwnd, self.group[r].ssthresh) = (w.cwnd, w.ssthresh);
        Ok(())
    }

    fn reduce(
        &mut self,
        r: usize,
        call: impl Fn(&mut dyn CongestionControl, &[View], usize, Instant) -> f64,
        phase: Option<Phase>,
    ) -> Result<(), Violation> {
        let now = self.now;
        let before = Window { cwnd: self.group[r].cwnd, ssthresh: self.group[r].ssthresh };
        let w = self.ask(|c, g| {
            let ssthresh = call(c, g, r, now);
            Window { cwnd: ssthresh, ssthresh }
        })?;
        if !(w.ssthresh.is_finite() && w.ssthresh >= 1.0) {
            return self.fail("a loss leaves a threshold of at least one segment", w);
        }
        if w.ssthresh > before.cwnd.max(2.0) {
            return self.fail("a loss does not raise the window", w);
        }
        let view = &mut self.group[r];
        if let Some(phase) = phase {
            self.before_loss[r] = Some(before);
            view.bytes_between_losses = std::mem::take(&mut view.bytes_since_loss);
            view.phase = phase;
        }
        view.cwnd = if phase == Some(Phase::Loss) { 1.0 } else { w.cwnd };
        view.ssthresh = w.ssthresh;
        Ok(())
    }

    fn undo(&mut self, r: usize) -> Result<(), Violation> {
        let Some(before) = self.before_loss[r].take() else { return Ok(()) };
        let view = &mut self.group[r];
        view.cwnd = view.cwnd.max(before.cwnd);
        view.ssthresh = view.ssthresh.max(before.ssthresh);
        view.phase = Phase::Open;
        let now = self.now;
        self.ask(|c, g| {
            c.on_undo(g, r, now);
            Window { cwnd: 0.0, ssthresh: 0.0 }
        })?;
        Ok(())
    }
}

#[cfg(test)]
#[path = "contract_tests.rs"]
mod tests;
