//! CUBIC as Linux computes it (`tcp_cubic.c`, facts of version 6.18), in real numbers, with its HyStart (Ha and Rhee 2011).

use super::cubic::cube_root;
use super::round::Round;
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

/// As [`Cubic`](super::Cubic), but:
///
/// - W_est grows with α = 8/15 always, where RFC 9438 §4.3 takes 1 from the window before the loss on; below it the window
///   goes there in a round trip, not at once.
/// - The target is W(t + RTT_min); while there was no loss, growth is 1/20 of the window a round trip at least.
/// - Slow start ends at once, at the window of then, when a train of acknowledgments less than 2 ms apart has lasted for half
///   the least RTT, or when the least of a round trip's RTTs is an eighth (4 to 16 ms) above it. So does each slow start.
#[derive(Clone, Debug, Default)]
pub struct CubicLinux {
    state: State,
    undo: Option<State>,
    hystart: HyStart,
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
    round: Round,
    round_began_ns: u64,
    train_ns: u64,
    least_ns: Option<u64>,
    samples: u32,
    found: bool,
}

impl HyStart {
    /// Whether slow start is over.
    fn on_ack(&mut self, view: &View, ack: &Ack) -> bool {
        if self.round.ended_by(ack.acked_segments, view.in_flight) {
            (self.round_began_ns, self.train_ns) = (ack.now_ns, ack.now_ns);
            (self.least_ns, self.samples) = (None, 0);
        }
        if view.cwnd < LOW_WINDOW || view.min_rtt_ns == 0 || self.found {
            return false;
        }
        if ack.now_ns - self.train_ns <= TRAIN_GAP_NS {
            self.train_ns = ack.now_ns;
            self.found |= ack.now_ns - self.round_began_ns > view.min_rtt_ns / 2;
        }
        if let Some(rtt_ns) = ack.rtt_ns {
            let least_ns = self.least_ns.map_or(rtt_ns, |least_ns| least_ns.min(rtt_ns));
            self.least_ns = Some(least_ns);
            let thresh_ns = (view.min_rtt_ns / 8).clamp(MIN_THRESH_NS, MAX_THRESH_NS);
            self.found |= self.samples >= SAMPLES && least_ns > view.min_rtt_ns + thresh_ns;
            self.samples += 1;
        }
        self.found
    }
}

impl CubicLinux {
    fn reduce(&mut self, cwnd: f64) -> f64 {
        self.undo = Some(self.state);
        let last_max = if cwnd < self.state.last_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.state = State { last_max, epoch: None };
        (cwnd * BETA).max(MIN_SSTHRESH)
    }

    fn avoid(&mut self, view: &View, cwnd: f64, acked: f64, now_ns: u64) -> f64 {
        let last_max = self.state.last_max;
        let epoch = self.state.epoch.get_or_insert_with(|| {
            let k_s = cube_root((last_max - cwnd) / C);
            Epoch { began_ns: now_ns, k_s, origin: last_max.max(cwnd), w_est: cwnd }
        });
        let t_s = (now_ns.saturating_sub(epoch.began_ns) + view.min_rtt_ns) as f64 * 1e-9;
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
        if cwnd < ssthresh && self.hystart.on_ack(view, ack) {
            ssthresh = cwnd;
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
            cwnd = self.avoid(view, cwnd, acked, ack.now_ns);
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
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn view(cwnd: f64, ssthresh: f64) -> View {
        View { cwnd, ssthresh, srtt_ns: 100 * MS, min_rtt_ns: 100 * MS, active: true, ..View::new(10.0, 1420) }
    }

    fn ack(now_ns: u64) -> Ack {
        Ack { now_ns, acked_segments: 1.0, rtt_ns: None, cwnd_limited: true }
    }

    #[test]
    fn growth_worked_by_hand() {
        // A loss at 100 leaves 70.02; K = ∛(29.98/0.4) = 4.215 s, W(0.1 s) = 100 − 0.4·4.115³ = 72.13: 2.11/70.02 of a segment.
        let mut c = CubicLinux::default();
        let ssthresh = c.on_loss(&view(100.0, f64::INFINITY));
        assert!((ssthresh - 70.02).abs() < 0.01, "{ssthresh}");
        let w = c.on_ack(&view(ssthresh, ssthresh), &ack(SECOND)).cwnd;
        assert!((w - ssthresh - 2.11 / 70.02).abs() < 1e-3, "{}", w - ssthresh);
    }

    const SECOND: u64 = 1_000 * MS;

    #[test]
    fn the_friendly_window_keeps_its_pace_beyond_the_last_maximum() {
        // At 10 segments and 10 ms Reno's pace decides: 8/15 of a segment a round trip, also above 10/0.7.
        let mut c = CubicLinux::default();
        let mut v = View { srtt_ns: 10 * MS, min_rtt_ns: 10 * MS, ..view(10.0, 7.0) };
        c.on_loss(&v);
        v.cwnd = 7.0;
        let mut now_ns = SECOND;
        for _ in 0..30 {
            for _ in 0..v.cwnd as u32 {
                v.cwnd = c.on_ack(&v, &ack(now_ns)).cwnd;
            }
            now_ns += 10 * MS;
        }
        let expected = 7.0 + 30.0 * FRIENDLY;
        assert!((v.cwnd - expected).abs() < 1.5, "{} of {expected}", v.cwnd);
    }

    #[test]
    fn slow_start_ends_with_a_long_train_or_a_risen_rtt() {
        // Acknowledgments every millisecond: after 50 of them the train is longer than half of 100 ms.
        let run = |gap_ns: u64, rtt_ns: u64| {
            let mut c = CubicLinux::default();
            let mut v = View { in_flight: 1_000, ..view(20.0, f64::INFINITY) };
            (1..=60_u64).find(|&n| {
                let w = c.on_ack(&v, &Ack { rtt_ns: Some(rtt_ns), ..ack(n * gap_ns) });
                v.cwnd = w.cwnd;
                w.ssthresh.is_finite()
            })
        };
        assert_eq!(run(MS, 100 * MS), Some(52), "the first begins the round; more than 50 ms later");
        assert_eq!(run(3 * MS, 100 * MS), None, "no train");
        assert_eq!(run(3 * MS, 113 * MS), Some(9), "12.5 ms are an eighth; eight samples come before");
        assert_eq!(run(3 * MS, 112 * MS), None);
    }
}
