//! CUBIC as Linux computes it (`tcp_cubic.c`, facts of version 6.12), in whole segments, with its HyStart (Ha and Rhee 2011).

use super::counting::{reno_step, whole};
use super::cubic::cube_root;
use super::{Ack, SinglePath, View, Window};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

/// After a loss 717 of 1,024 segments are left.
const BETA: u64 = 717;
const BETA_UNIT: u64 = 1024;
/// 410/1,024 segments per second cubed.
const C: u64 = 410;
/// Time counts in 1,024ths of a second.
const TIME_BITS: u32 = 10;
/// The Reno-friendly window grows by a segment for each 15/8 windows acknowledged.
const FRIENDLY_EIGHTHS: u64 = 15;
/// At least a segment for so many acknowledged while there was no loss.
const FIRST_COUNT: u64 = 20;
/// What the window does not grow for, a hundred times.
const HARDLY: u64 = 100;
/// Growth is computed anew after so many milliseconds at the latest, or with another window.
const ANEW_MS: u64 = 31;
const MIN_SSTHRESH: f64 = 2.0;
/// HyStart is asked from this window on.
const LOW_WINDOW: f64 = 16.0;
/// Acknowledgments no further apart are of one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// RTT samples of a round trip before its least one counts.
const SAMPLES: u32 = 8;
const MIN_THRESH: Duration = Duration::from_millis(4);
const MAX_THRESH: Duration = Duration::from_millis(16);
/// A train may last longer by what the pacing rate takes for four of the largest segmentation offloads, but by this at most.
const MAX_TRAIN_ALLOWANCE: Duration = Duration::from_millis(1);
const OFFLOADED_BYTES: f64 = 4.0 * 65_536.0;
/// In slow start the pacing rate is this many windows a round trip.
const PACING_GAIN: f64 = 2.0;
/// For so many milliseconds after congestion avoidance began, RTTs are not used.
const SETTLING_MS: u64 = 1_000;

/// As [`Cubic`](super::Cubic), but:
///
/// - Windows are whole segments, and grow by one for so many acknowledged; how many is computed at most once a millisecond.
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
    /// When the last segment left, where nothing is outstanding since.
    idle_since: Option<Instant>,
    hystart: HyStart,
    /// The least RTT of data since the beginning or the last timeout.
    rtt_min: Option<Duration>,
}

impl Make for CubicLinux {
    fn make(_: &Given, _: &Origin) -> Self {
        CubicLinux::default()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Window at the last reduction, or 0.85 of it.
    last_max: u64,
    epoch: Option<Epoch>,
    /// Segments acknowledged for which the window grows by one; for which window, and when that was computed.
    count: u64,
    of_window: u64,
    computed_ms: u64,
    /// Segments acknowledged toward the next one.
    counted: f64,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    began_ms: u64,
    /// In 1,024ths of a second.
    k: u64,
    origin: u64,
    w_est: u64,
    /// Acknowledged toward the next segment of it.
    acked: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct HyStart {
    /// Of the segments in flight at the beginning of this round trip, those that are not acknowledged.
    left: f64,
    round_began_at: Instant,
    train_at: Instant,
    least: Option<Duration>,
    samples: u32,
    found: bool,
}

impl HyStart {
    /// Whether slow start is over.
    fn on_ack(&mut self, view: &View, ack: &Ack, rtt_min: Duration) -> bool {
        self.left -= ack.acked_segments;
        let Some(rtt) = ack.rtt else { return false };
        // Segments acknowledged in part add up with rounding errors.
        if self.left < -1e-6 {
            self.left = f64::from(view.in_flight);
            (self.round_began_at, self.train_at) = (ack.now, ack.now);
            (self.least, self.samples) = (None, 0);
        }
        if view.cwnd < LOW_WINDOW || self.found {
            return false;
        }
        if ack.now - self.train_at <= TRAIN_GAP {
            self.train_at = ack.now;
            self.found |= ack.now - self.round_began_at > (rtt_min + train_allowance(view)) / 2;
        }
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        let thresh = (rtt_min / 8).clamp(MIN_THRESH, MAX_THRESH);
        self.found |= self.samples >= SAMPLES && least > rtt_min + thresh;
        self.samples += 1;
        self.found
    }
}

fn train_allowance(view: &View) -> Duration {
    let paced_bytes_per_rtt = PACING_GAIN * view.cwnd * f64::from(view.mss);
    let offloads_ns = OFFLOADED_BYTES / paced_bytes_per_rtt * view.srtt.as_nanos() as f64;
    Duration::from_nanos(offloads_ns as u64).min(MAX_TRAIN_ALLOWANCE)
}

/// ∛a as the kernel takes it (`cubic_root`): an estimate from the six leading bits of whole octal digits, and one step of Newton's with
/// x(x − 1) for x² and 341/1024 for a third. Off by up to 0.4 %.
///
/// The kernel reads the estimate from a table that was refined by hand. The step adds the square of the estimate's relative error
/// and its factor takes 1/1024: the estimate that makes up for it lies above the root of the middle by √(1/1024 − variance), where the
/// variance of the roots of [m − ½, m + ½] is 1/(108·m²). That is within 2 of 250 of the table, and K within 11/1,024 s.
fn root(a: u64) -> u64 {
    if a < 512 {
        return cube_root(a as f64) as u64;
    }
    let digits = (((a.ilog2() + 1) * 84) >> 8) - 1;
    let middle = (a >> (3 * digits)) as f64 + 0.5;
    let above = (1.0 / 1024.0 - 1.0 / (108.0 * middle * middle)).sqrt();
    let estimate = (((64.0 * cube_root(middle) * (1.0 + above)) as u64) << digits) >> 6;
    ((2 * estimate + a / (estimate * (estimate - 1))) * 341) >> 10
}

impl CubicLinux {
    fn reduce(&mut self, cwnd: f64) -> f64 {
        let w = whole(cwnd);
        let last_max = if w < self.state.last_max { w * (BETA_UNIT + BETA) / (2 * BETA_UNIT) } else { w };
        self.state = State { last_max, ..State::default() };
        ((w * BETA / BETA_UNIT) as f64).max(MIN_SSTHRESH)
    }

    /// For how many segments acknowledged the window of `w` grows by one.
    fn count(&mut self, w: u64, acked: f64, now: Instant) -> u64 {
        let now_ms = now.as_millis();
        let State { last_max, of_window, computed_ms, .. } = self.state;
        if let Some(epoch) = &mut self.state.epoch {
            epoch.acked += acked;
        }
        let is_new = self.state.epoch.is_none();
        if of_window == w && now_ms <= computed_ms + ANEW_MS {
            return self.state.count;
        }
        let epoch = self.state.epoch.get_or_insert_with(|| Epoch {
            began_ms: now_ms,
            k: root(last_max.saturating_sub(w) * ((1 << (4 * TIME_BITS)) / C)),
            origin: last_max.max(w),
            w_est: w,
            acked,
        });
        if is_new || now_ms != computed_ms {
            (self.state.of_window, self.state.computed_ms) = (w, now_ms);
            let rtt_ms = self.rtt_min.unwrap_or_default().as_micros().div_ceil(1_000);
            let t = ((now_ms.saturating_sub(epoch.began_ms) + rtt_ms) << TIME_BITS) / 1_000;
            let off = u128::from(t.abs_diff(epoch.k));
            let delta = ((u128::from(C) * off * off * off) >> (TIME_BITS + 3 * TIME_BITS)) as u64;
            let target = if t < epoch.k { epoch.origin.saturating_sub(delta) } else { epoch.origin + delta };
            self.state.count = if target > w { w / (target - w) } else { HARDLY * w };
            if last_max == 0 {
                self.state.count = self.state.count.min(FIRST_COUNT);
            }
        }
        let per_segment = ((w * FRIENDLY_EIGHTHS) >> 3) as f64;
        while epoch.acked > per_segment {
            epoch.acked -= per_segment;
            epoch.w_est += 1;
        }
        if epoch.w_est > w {
            self.state.count = self.state.count.min(w / (epoch.w_est - w));
        }
        self.state.count = self.state.count.max(2);
        self.state.count
    }

    fn avoid(&mut self, cwnd: f64, acked: f64, now: Instant) -> f64 {
        let count = self.count(whole(cwnd), acked, now);
        cwnd + reno_step(&mut self.state.counted, acked, count)
    }
}

impl SinglePath for CubicLinux {
    const NAME: &'static str = "cubic";

    fn on_ack(&mut self, view: &View, ack: &Ack) -> Window {
        let View { cwnd, mut ssthresh, .. } = *view;
        let sent_at = ack.now - ack.rtt.unwrap_or_default().min(ack.now - Instant::ZERO);
        if let (Some(idle_since), Some(epoch)) = (self.idle_since.take(), &mut self.state.epoch) {
            // A pause of the application does not count (`cubictcp_cwnd_event`).
            let pause_ms = sent_at.as_millis().saturating_sub(idle_since.as_millis());
            epoch.began_ms = (epoch.began_ms + pause_ms).min(sent_at.as_millis());
        }
        self.idle_since = Some(sent_at).filter(|_| view.in_flight == 0);
        let settling = self.state.epoch.is_some_and(|epoch| ack.now.as_millis() < epoch.began_ms + SETTLING_MS);
        if !settling {
            if let Some(rtt) = ack.rtt {
                self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
            }
            if cwnd < ssthresh && self.hystart.on_ack(view, ack, self.rtt_min.unwrap_or(Duration::ZERO)) {
                ssthresh = cwnd;
            }
        }
        if !ack.cwnd_limited {
            return Window { cwnd, ssthresh };
        }
        let (mut cwnd, acked) = ack.slow_start(cwnd, ssthresh);
        if acked > 0.0 {
            cwnd = self.avoid(cwnd, acked, ack.now);
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
        self.rtt_min = None;
        ssthresh
    }

    fn on_ecn(&mut self, view: &View, _abe: bool) -> f64 {
        self.reduce(view.cwnd)
    }

    /// The window returns, what was learned of the loss stays (`tcp_reno_undo_cwnd`).
    fn on_undo(&mut self, _view: &View) {}
}

#[cfg(test)]
#[path = "cubic_linux_tests.rs"]
mod tests;
