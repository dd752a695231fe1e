//! wVegas as the Multipath TCP kernel computes it.

use super::counting::{reno_step, slot, whole};
use super::round::Round;
use super::wvegas::{self, Shown};
use super::{Ack, CongestionControl, Phase, View, Window};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;
use crate::time::Instant;

/// [`Wvegas`](super::Wvegas) in integers: RTTs in microseconds, one more than measured; windows, diff and α in whole
/// segments; rates as ⌊w·2¹⁶/rtt⌋ and weights as ⌊x_r·2¹⁶/Σ x⌋. A rate is taken only when diff ≥ α and kept until the
/// next time, and counts in the sum while its subflow has samples in its round; α begins at 2 again after each recovery.
///
/// The coarse rate (6 for ten segments in 100 ms) makes the weights steps, and where a round's mean is one
/// microsecond above base, two are already a reason to drain. (Of a mean that is base itself, which a real clock hardly
/// shows and a simulated one does, the kernel's comparison 0 ≥ 2·0 would drain in every round; here it does not.)
#[derive(Debug, Default)]
pub struct WvegasLinux {
    paths: Vec<Path>,
}

impl Make for WvegasLinux {
    fn make(_: &Given, _: &Origin) -> Self {
        WvegasLinux::default()
    }
}

const TOTAL_ALPHA: u64 = 10;
const MIN_ALPHA: u64 = 2;
const GAMMA: u64 = 1;
const SCALE: u32 = 16;

#[derive(Clone, Debug)]
struct Path {
    measuring: bool,
    round: Round,
    rtt_sum_us: u64,
    samples: u64,
    rate: u64,
    alpha: u64,
    least_queueing_us: u64,
    base_us: u64,
    reno: f64,
    shown: Shown,
}

impl Default for Path {
    fn default() -> Self {
        Path {
            measuring: false,
            round: Round::default(),
            rtt_sum_us: 0,
            samples: 0,
            rate: 0,
            alpha: MIN_ALPHA,
            least_queueing_us: 0,
            base_us: u64::MAX,
            reno: 0.0,
            shown: None,
        }
    }
}

impl Path {
    fn reno(&mut self, window: &mut Window, acked: f64) {
        if window.cwnd < window.ssthresh {
            window.cwnd = (window.cwnd + acked).min(window.ssthresh);
        } else {
            window.cwnd += reno_step(&mut self.reno, acked, whole(window.cwnd));
        }
    }
}

/// Whole segments after which a window `w` continues; the fraction that slow start left stays.
fn set(window: &mut Window, from: u64, to: u64) {
    window.cwnd += to as f64 - from as f64;
}

impl WvegasLinux {
    /// A round of congestion avoidance, its mean RTT being `rtt_us`.
    fn avoid(&mut self, group: &[View], r: usize, window: &mut Window, rtt_us: u64) {
        let w = whole(window.cwnd);
        let base_us = self.paths[r].base_us;
        let diff = w * (rtt_us - base_us) / rtt_us;
        if diff >= self.paths[r].alpha {
            let rate = (w << SCALE) / rtt_us;
            self.paths[r].rate = rate;
            let counts = |(i, p): &(usize, &Path)| group.get(*i).is_some_and(|v| v.active) && p.samples > 0;
            let total: u64 = self.paths.iter().enumerate().filter(counts).map(|(_, p)| p.rate).sum();
            let weight = if rate > 0 { (rate << SCALE) / total.max(1) } else { 1 << SCALE };
            self.paths[r].alpha = ((weight * TOTAL_ALPHA) >> SCALE).max(MIN_ALPHA);
        }
        let path = &mut self.paths[r];
        let mut to = w;
        if diff > path.alpha {
            to -= 1;
            window.ssthresh = window.ssthresh.min(to.saturating_sub(1) as f64);
        } else if diff < path.alpha {
            to += 1;
        }
        let queueing_us = rtt_us - base_us;
        if path.least_queueing_us == 0 || queueing_us < path.least_queueing_us {
            path.least_queueing_us = queueing_us;
        } else if queueing_us >= 2 * path.least_queueing_us {
            let factor = (base_us << SCALE) / (2 * rtt_us);
            to = (to * factor) >> SCALE;
            path.least_queueing_us = 0;
        }
        set(window, w, to);
    }

    fn round(&mut self, group: &[View], r: usize, ack: &Ack, window: &mut Window) {
        let path = &mut self.paths[r];
        if path.samples < 3 {
            path.reno(window, ack.acked_segments);
        } else {
            let rtt_us = path.rtt_sum_us / path.samples;
            let w = whole(window.cwnd);
            if window.cwnd >= window.ssthresh {
                self.avoid(group, r, window, rtt_us);
            } else if w * (rtt_us - path.base_us) / rtt_us > GAMMA {
                let to = w.min(w * path.base_us / rtt_us + 1);
                set(window, w, to);
                window.ssthresh = window.ssthresh.min((to - 1) as f64);
            } else {
                path.reno(window, ack.acked_segments);
            }
            let path = &mut self.paths[r];
            let queueing_us = rtt_us - path.base_us;
            path.shown = Some([queueing_us as f64 * 1e-6, (w * queueing_us / rtt_us) as f64, path.alpha as f64]);
            window.cwnd = window.cwnd.max(2.0);
            let w = whole(window.cwnd);
            window.ssthresh = window.ssthresh.max((w / 2 + w / 4) as f64);
        }
        (self.paths[r].rtt_sum_us, self.paths[r].samples) = (0, 0);
    }
}

impl CongestionControl for WvegasLinux {
    fn name(&self) -> &'static str {
        "wvegas"
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let view = &group[r];
        let before = Window { cwnd: view.cwnd, ssthresh: view.ssthresh };
        let mut w = before;
        let path = slot(&mut self.paths, r);
        if let Some(rtt) = ack.rtt {
            let rtt_us = rtt.as_micros() + 1;
            path.base_us = path.base_us.min(rtt_us);
            path.rtt_sum_us += rtt_us;
            path.samples += 1;
        }
        if view.phase != Phase::Open {
            path.measuring = false;
            path.reno(&mut w, ack.acked_segments);
        } else {
            if !path.measuring {
                *path = Path {
                    measuring: true,
                    base_us: path.base_us,
                    reno: path.reno,
                    shown: path.shown,
                    ..Path::default()
                };
            }
            if path.round.ended_by(ack.acked_segments, view.in_flight) {
                self.round(group, r, ack, &mut w);
            } else if w.cwnd < w.ssthresh {
                path.reno(&mut w, ack.acked_segments);
            }
        }
        if ack.cwnd_limited { w } else { before }
    }

    fn on_loss(&mut self, group: &[View], r: usize, _now: Instant) -> f64 {
        let path = slot(&mut self.paths, r);
        path.measuring = false;
        path.reno = 0.0;
        (whole(group[r].cwnd) / 2).max(2) as f64
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        self.on_loss(group, r, now)
    }

    fn show(&self, _group: &[View], r: usize, _now: Instant, columns: &mut [f64]) {
        wvegas::show(self.paths.get(r).and_then(|path| path.shown), columns);
    }

    fn on_join(&mut self, _group: &[View], r: usize, _now: Instant) -> Option<f64> {
        *slot(&mut self.paths, r) = Path::default();
        None
    }
}

#[cfg(test)]
#[path = "wvegas_linux_tests.rs"]
mod tests;
