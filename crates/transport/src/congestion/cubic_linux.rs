//! CUBIC as Linux computes it (`tcp_cubic.c`, facts of version 6.18), in real numbers, with its HyStart (Ha and Rhee 2011).

use super::cubic::cube_root;
use super::{Ack, SinglePath, View, Window};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;

const BETA: f64 = 717.0 / 1024.0;
/// Segments per second cubed.
const C: f64 = 0.4;
/// 8/15: the Reno-friendly window grows by a segment for each 15/8 windows acknowledged.
const FRIENDLY: f64 = 8.0 / 15.0;
const MIN_SSTHRESH: f64 = 2.0;
/// HyStart is asked from this window on.
const LOW_WINDOW: f64 = 16.0;
/// Acknowledgments no further apart are of one train.
const TRAIN_GAP_NS: u64 = 2_000_000;
/// RTT samples of a round trip before its least one counts.
const SAMPLES: u32 = 8;
const MIN_THRESH_NS: u64 = 4_000_000;
const MAX_THRESH_NS: u64 = 16_000_000;
/// A train may last longer by what the pacing rate takes for four of the largest segmentation offloads, but by this at most.
const MAX_TRAIN_ALLOWANCE_NS: u64 = 1_000_000;
const OFFLOADED_BYTES: f64 = 4.0 * 65_536.0;
/// In slow start the pacing rate is this many windows a round trip.
const PACING_GAIN: f64 = 2.0;
/// For so long after congestion avoidance began, RTTs are not used.
const SETTLING_NS: u64 = 1_000_000_000;

/// As [`Cubic`](super::Cubic), but:
///
/// - W_est grows with α = 8/15 always, where RFC 9438 §4.3 takes 1 from the window before the loss on; below it the window
///   goes there in a round trip, not at once.
/// - The target is W(t + RTT_min); while there was no loss, growth is 1/20 of the window a round trip at least. RTT_min is
///   that of data since the last timeout.
/// - Slow start ends at once, at the window of then, when a train of acknowledgments less than 2 ms apart has lasted for half
///   of RTT_min and of up to a millisecond more, or when the least of a round trip's RTTs is an eighth (4 to 16 ms) above
///   RTT_min. So does each slow start. A round trip ends with the first acknowledgment *beyond* what was in flight at its
///   beginning: the one before still belongs to the queue of its own round trip.
#[derive(Clone, Debug, Default)]
pub struct CubicLinux {
    state: State,
    undo: Option<State>,
    hystart: HyStart,
    /// The least RTT of data since the beginning or the last timeout.
    rtt_min_ns: Option<u64>,
    last_ack_ns: u64,
}

impl Make for CubicLinux {
    fn make(_: &Given, _: &Origin) -> Self {
        CubicLinux::default()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Window at the last reduction, or 0.85 of it.
    last_max: f64,
    epoch: Option<Epoch>,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    began_ns: u64,
    k_s: f64,
    origin: f64,
    w_est: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct HyStart {
    /// Of the segments in flight at the beginning of this round trip, those that are not acknowledged.
    left: f64,
    round_began_ns: u64,
    train_ns: u64,
    least_ns: Option<u64>,
    samples: u32,
    found: bool,
}

impl HyStart {
    /// Whether slow start is over.
    fn on_ack(&mut self, view: &View, ack: &Ack, rtt_min_ns: u64) -> bool {
        self.left -= ack.acked_segments;
        let Some(rtt_ns) = ack.rtt_ns else { return false };
        // Segments acknowledged in part add up with rounding errors.
        if self.left < -1e-6 {
            self.left = f64::from(view.in_flight);
            (self.round_began_ns, self.train_ns) = (ack.now_ns, ack.now_ns);
            (self.least_ns, self.samples) = (None, 0);
        }
        if view.cwnd < LOW_WINDOW || self.found {
            return false;
        }
        if ack.now_ns - self.train_ns <= TRAIN_GAP_NS {
            self.train_ns = ack.now_ns;
            self.found |= ack.now_ns - self.round_began_ns > (rtt_min_ns + train_allowance_ns(view)) / 2;
        }
        let least_ns = self.least_ns.map_or(rtt_ns, |least_ns| least_ns.min(rtt_ns));
        self.least_ns = Some(least_ns);
        let thresh_ns = (rtt_min_ns / 8).clamp(MIN_THRESH_NS, MAX_THRESH_NS);
        self.found |= self.samples >= SAMPLES && least_ns > rtt_min_ns + thresh_ns;
        self.samples += 1;
        self.found
    }
}

fn train_allowance_ns(view: &View) -> u64 {
    let paced_bytes_per_rtt = PACING_GAIN * view.cwnd * f64::from(view.mss);
    let offloads_ns = OFFLOADED_BYTES / paced_bytes_per_rtt * view.srtt_ns as f64;
    (offloads_ns as u64).min(MAX_TRAIN_ALLOWANCE_NS)
}

impl CubicLinux {
    fn reduce(&mut self, cwnd: f64) -> f64 {
        self.undo = Some(self.state);
        let last_max = if cwnd < self.state.last_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.state = State { last_max, epoch: None };
        (cwnd * BETA).max(MIN_SSTHRESH)
    }

    fn avoid(&mut self, cwnd: f64, acked: f64, now_ns: u64) -> f64 {
        let last_max = self.state.last_max;
        let epoch = self.state.epoch.get_or_insert_with(|| {
            let k_s = cube_root((last_max - cwnd) / C);
            Epoch { began_ns: now_ns, k_s, origin: last_max.max(cwnd), w_est: cwnd }
        });
        let rtt_min_ns = self.rtt_min_ns.unwrap_or(0);
        let t_s = (now_ns.saturating_sub(epoch.began_ns) + rtt_min_ns) as f64 * 1e-9;
        let d = t_s - epoch.k_s;
        let target = C * d * d * d + epoch.origin;
        // Growth for each segment acknowledged: 1/cnt.
        let mut growth = if target > cwnd { (target - cwnd) / cwnd } else { 0.01 / cwnd };
        if last_max == 0.0 {
            growth = growth.max(1.0 / 20.0);
        }
        epoch.w_est += FRIENDLY * acked / cwnd;
        growth = growth.max((epoch.w_est - cwnd) / cwnd);
        cwnd + acked * growth.min(0.5)
    }
}

impl SinglePath for CubicLinux {
    const NAME: &'static str = "cubic";

    fn on_ack(&mut self, view: &View, ack: &Ack) -> Window {
        let View { mut cwnd, mut ssthresh, .. } = *view;
        let since_ns = ack.now_ns.saturating_sub(self.last_ack_ns);
        self.last_ack_ns = ack.now_ns;
        let mut acked = ack.acked_segments;
        let settling = self.state.epoch.is_some_and(|epoch| ack.now_ns < epoch.began_ns + SETTLING_NS);
        if !settling {
            if let Some(rtt_ns) = ack.rtt_ns {
                self.rtt_min_ns = Some(self.rtt_min_ns.map_or(rtt_ns, |least_ns| least_ns.min(rtt_ns)));
            }
            if cwnd < ssthresh && self.hystart.on_ack(view, ack, self.rtt_min_ns.unwrap_or(0)) {
                ssthresh = cwnd;
            }
        }
        if !ack.cwnd_limited {
            if let Some(epoch) = &mut self.state.epoch {
                epoch.began_ns += since_ns;
            }
            return Window { cwnd, ssthresh };
        }
        if cwnd < ssthresh {
            let slow = acked.min(ssthresh - cwnd);
            cwnd += slow;
            acked -= slow;
        }
        if acked > 0.0 {
            cwnd = self.avoid(cwnd, acked, ack.now_ns);
        }
        Window { cwnd, ssthresh: ssthresh.max(MIN_SSTHRESH) }
    }

    fn on_loss(&mut self, view: &View) -> f64 {
        self.reduce(view.cwnd)
    }

    fn on_timeout(&mut self, view: &View) -> f64 {
        let ssthresh = self.reduce(view.cwnd);
        self.state = State::default();
        self.hystart = HyStart::default();
        self.rtt_min_ns = None;
        ssthresh
    }

    fn on_ecn(&mut self, view: &View, _abe: bool) -> f64 {
        let ssthresh = self.reduce(view.cwnd);
        self.undo = None; // a mark is never spurious
        ssthresh
    }

    fn on_undo(&mut self, _view: &View) {
        if let Some(state) = self.undo.take() {
            self.state = state;
        }
    }
}

#[cfg(test)]
#[path = "cubic_linux_tests.rs"]
mod tests;
