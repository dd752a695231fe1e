//! wVegas, weighted Vegas (Cao, Xu and Fu 2012): the control that answers delay.

use super::counting::slot;
use super::round::Round;
use super::{Ack, CongestionControl, Phase, View, Window};
use crate::algorithm::{About, Algorithm, Capability, Column, Given, Make, Parameter};
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

/// Segments that all subflows together keep queued.
const TOTAL_ALPHA: f64 = 10.0;
/// The least that one subflow keeps queued, and what it begins with.
const MIN_ALPHA: f64 = 2.0;
/// Queued segments that end slow start.
const GAMMA: f64 = 1.0;
const MIN_WINDOW: f64 = 2.0;
/// A round with fewer RTT samples says nothing.
const MIN_SAMPLES: u32 = 3;

/// Once a round trip, with rtt the mean of the round's samples and base the least ever: diff = w·(rtt − base)/rtt segments
/// are queued.
///
/// - Slow start ends when diff > 1: w = min(w, w·base/rtt + 1).
/// - Then a subflow with diff ≥ α_r weighs its rate against all: α_r = max(2, 10·x_r/Σ_i x_i), x = w/rtt; and w moves
///   by one segment toward diff = α_r.
/// - When the queueing delay q = rtt − base is twice the least nonzero one since this was last done, w becomes
///   w/2 · base/rtt, to drain the queue and see the true base.
///
/// In balance x_r·q_r = α_r, so Σ x = 10/q: the subflows settle where the queueing delays are equal. A loss halves the
/// window. A round ends when what was in flight at its beginning is acknowledged.
///
/// ssthresh follows at ¾ of the window, so that slow start refills what was drained; the paper leaves that open, and the
/// authors' code does so.
#[derive(Debug, Default)]
pub struct Wvegas {
    paths: Vec<Path>,
}

impl Algorithm for Wvegas {
    const ABOUT: About = About::new("wvegas", "weighted Vegas, delay-based", "Cao 2012")
        .parameters(&[Parameter::variant("the published form, or the quantised form of the Linux code (\"linux\")")])
        .columns(&[
            Column::new("queueing_delay_s", "s", "queueing delay (wvegas: mean of the last round)"),
            Column::new("backlog_segments", "segments", "estimated number of its segments in the queue (diff)"),
            Column::new("backlog_target_segments", "segments", "target number of segments in the queue (α)"),
        ])
        .with(Capability::Coupled)
        .with(Capability::InKernel);
}

/// What the last round of a subflow has shown; none before the first that measured.
pub(super) type Shown = Option<[f64; 3]>;

/// Writes it to the columns.
pub(super) fn show(shown: Shown, columns: &mut [f64]) {
    if let Some(shown) = shown {
        columns.copy_from_slice(&shown);
    }
}

impl Make for Wvegas {
    fn make(_: &Given, _: &Origin) -> Self {
        Wvegas::default()
    }
}

#[derive(Clone, Debug, Default)]
struct Path {
    /// False from a loss until the first acknowledgment after its repair, which begins a round.
    measuring: bool,
    round: Round,
    rtt_sum: Duration,
    samples: u32,
    /// Segments to keep queued; 0 before the first round.
    alpha: f64,
    /// Least nonzero queueing delay since the queue was last drained; 0: none.
    least_queueing_ns: f64,
    shown: Shown,
}

impl Path {
    /// Takes the ACK into the round. The mean RTT when it ended one of enough samples, 0 when of too few.
    fn measure(&mut self, view: &View, ack: &Ack) -> Option<f64> {
        if !self.measuring {
            *self = Path { measuring: true, alpha: self.alpha, shown: self.shown, ..Path::default() };
        }
        if let Some(rtt) = ack.rtt {
            self.rtt_sum += rtt;
            self.samples += 1;
        }
        if !self.round.ended_by(ack.acked_segments, view.in_flight) {
            return None;
        }
        let enough = self.samples >= MIN_SAMPLES;
        let mean_ns = if enough { self.rtt_sum.as_nanos() as f64 / f64::from(self.samples) } else { 0.0 };
        (self.rtt_sum, self.samples) = (Duration::ZERO, 0);
        Some(mean_ns)
    }

    /// A round of congestion avoidance: the new window.
    fn avoid(&mut self, group: &[View], r: usize, window: &mut Window, rtt_ns: f64, base_ns: f64) {
        let diff = window.cwnd * (rtt_ns - base_ns) / rtt_ns;
        self.alpha = self.alpha.max(MIN_ALPHA);
        if diff >= self.alpha {
            let own = window.cwnd / rtt_ns;
            let others = group.iter().enumerate().filter(|(i, v)| *i != r && v.active);
            let total = own + others.map(|(_, v)| v.cwnd / v.srtt.as_nanos() as f64).sum::<f64>();
            self.alpha = (TOTAL_ALPHA * own / total).max(MIN_ALPHA);
        }
        if diff > self.alpha {
            window.cwnd -= 1.0;
            window.ssthresh = window.ssthresh.min(window.cwnd - 1.0);
        } else if diff < self.alpha {
            window.cwnd += 1.0;
        }
        let queueing_ns = rtt_ns - base_ns;
        if queueing_ns > 0.0 && (self.least_queueing_ns == 0.0 || queueing_ns < self.least_queueing_ns) {
            self.least_queueing_ns = queueing_ns;
        } else if queueing_ns >= 2.0 * self.least_queueing_ns && self.least_queueing_ns > 0.0 {
            window.cwnd *= base_ns / (2.0 * rtt_ns);
            self.least_queueing_ns = 0.0;
        }
    }
}

/// Reno's window after an acknowledgment: what a round without measurements falls back to.
fn reno(window: &mut Window, ack: &Ack) {
    let (cwnd, acked) = ack.slow_start(window.cwnd, window.ssthresh);
    window.cwnd = cwnd + acked / cwnd;
}

impl CongestionControl for Wvegas {
    fn name(&self) -> &'static str {
        "wvegas"
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let view = &group[r];
        let path = slot(&mut self.paths, r);
        let before = Window { cwnd: view.cwnd, ssthresh: view.ssthresh };
        let mut w = before;
        let round = if view.phase == Phase::Open { path.measure(view, ack) } else { Some(0.0) };
        match round {
            Some(rtt_ns) if rtt_ns > 0.0 => {
                let base_ns = rtt_ns.min(view.min_rtt.as_nanos() as f64);
                let queued = w.cwnd * (rtt_ns - base_ns) / rtt_ns;
                if w.cwnd >= w.ssthresh {
                    path.avoid(group, r, &mut w, rtt_ns, base_ns);
                } else if queued > GAMMA {
                    w.cwnd = w.cwnd.min(w.cwnd - queued + 1.0);
                    w.ssthresh = w.ssthresh.min(w.cwnd - 1.0);
                } else {
                    reno(&mut w, ack);
                }
                path.shown = Some([(rtt_ns - base_ns) * 1e-9, queued, path.alpha.max(MIN_ALPHA)]);
                w.cwnd = w.cwnd.max(MIN_WINDOW);
                w.ssthresh = w.ssthresh.max(0.75 * w.cwnd);
            }
            Some(_) => reno(&mut w, ack),
            None if w.cwnd < w.ssthresh => w.cwnd = w.ssthresh.min(w.cwnd + ack.acked_segments),
            None => {}
        }
        if ack.cwnd_limited { w } else { before }
    }

    fn on_loss(&mut self, group: &[View], r: usize, _now: Instant) -> f64 {
        slot(&mut self.paths, r).measuring = false;
        (group[r].cwnd / 2.0).max(MIN_WINDOW)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.on_loss(group, r, now)
    }

    fn show(&self, _group: &[View], r: usize, _now: Instant, columns: &mut [f64]) {
        show(self.paths.get(r).and_then(|path| path.shown), columns);
    }

    fn on_join(&mut self, _group: &[View], r: usize, _now: Instant) -> Option<f64> {
        *slot(&mut self.paths, r) = Path::default();
        None
    }
}

#[cfg(test)]
#[path = "wvegas_tests.rs"]
mod tests;
