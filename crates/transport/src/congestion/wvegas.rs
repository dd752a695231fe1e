//! wVegas, weighted Vegas (Cao, Xu and Fu 2012): the control that answers delay.

use super::counting::slot;
use super::round::Round;
use super::{Ack, CongestionControl, Phase, View, Window};

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

#[derive(Clone, Debug, Default)]
struct Path {
    /// False from a loss until the first acknowledgment after its repair, which begins a round.
    measuring: bool,
    round: Round,
    rtt_sum_ns: u64,
    samples: u32,
    /// Segments to keep queued; 0 before the first round.
    alpha: f64,
    /// Least nonzero queueing delay since the queue was last drained; 0: none.
    least_queueing_ns: f64,
}

impl Path {
    /// Takes the ACK into the round. The mean RTT when it ended one of enough samples, 0 when of too few.
    fn measure(&mut self, view: &View, ack: &Ack) -> Option<f64> {
        if !self.measuring {
            *self = Path { measuring: true, alpha: self.alpha, ..Path::default() };
        }
        if let Some(rtt_ns) = ack.rtt_ns {
            self.rtt_sum_ns += rtt_ns;
            self.samples += 1;
        }
        if !self.round.ended_by(ack.acked_segments, view.in_flight) {
            return None;
        }
        let enough = self.samples >= MIN_SAMPLES;
        let mean_ns = if enough { self.rtt_sum_ns as f64 / f64::from(self.samples) } else { 0.0 };
        (self.rtt_sum_ns, self.samples) = (0, 0);
        Some(mean_ns)
    }

    /// A round of congestion avoidance: the new window.
    fn avoid(&mut self, group: &[View], r: usize, window: &mut Window, rtt_ns: f64, base_ns: f64) {
        let diff = window.cwnd * (rtt_ns - base_ns) / rtt_ns;
        self.alpha = self.alpha.max(MIN_ALPHA);
        if diff >= self.alpha {
            let own = window.cwnd / rtt_ns;
            let others = group.iter().enumerate().filter(|(i, v)| *i != r && v.active);
            let total = own + others.map(|(_, v)| v.cwnd / v.srtt_ns as f64).sum::<f64>();
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
fn reno(window: &mut Window, acked: f64) {
    let slow = (window.ssthresh - window.cwnd).clamp(0.0, acked);
    window.cwnd += slow;
    window.cwnd += (acked - slow) / window.cwnd;
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
                let base_ns = rtt_ns.min(view.min_rtt_ns as f64);
                let queued = w.cwnd * (rtt_ns - base_ns) / rtt_ns;
                if w.cwnd >= w.ssthresh {
                    path.avoid(group, r, &mut w, rtt_ns, base_ns);
                } else if queued > GAMMA {
                    w.cwnd = w.cwnd.min(w.cwnd - queued + 1.0);
                    w.ssthresh = w.ssthresh.min(w.cwnd - 1.0);
                } else {
                    reno(&mut w, ack.acked_segments);
                }
                w.cwnd = w.cwnd.max(MIN_WINDOW);
                w.ssthresh = w.ssthresh.max(0.75 * w.cwnd);
            }
            Some(_) => reno(&mut w, ack.acked_segments),
            None if w.cwnd < w.ssthresh => w.cwnd = w.ssthresh.min(w.cwnd + ack.acked_segments),
            None => {}
        }
        if ack.cwnd_limited { w } else { before }
    }

    fn on_loss(&mut self, group: &[View], r: usize, _now_ns: u64) -> f64 {
        slot(&mut self.paths, r).measuring = false;
        (group[r].cwnd / 2.0).max(MIN_WINDOW)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now_ns: u64) -> f64 {
        self.on_loss(group, r, now_ns)
    }

    fn on_join(&mut self, _group: &[View], r: usize, _now_ns: u64) {
        *slot(&mut self.paths, r) = Path::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(cwnd: f64, ssthresh: f64, base_ms: u64, rtt_ms: u64) -> View {
        View {
            cwnd,
            ssthresh,
            srtt_ns: rtt_ms * 1_000_000,
            min_rtt_ns: base_ms * 1_000_000,
            in_flight: 4,
            active: true,
            ..View::new(10.0, 1420)
        }
    }

    /// A round of four samples of path r's smoothed RTT: the window at its end.
    fn round(control: &mut Wvegas, group: &mut [View], r: usize) -> f64 {
        for n in 0..4 {
            let ack = Ack { now_ns: n, acked_segments: 1.0, rtt_ns: Some(group[r].srtt_ns), cwnd_limited: true };
            let w = control.on_ack(group, r, &ack);
            (group[r].cwnd, group[r].ssthresh) = (w.cwnd, w.ssthresh);
        }
        group[r].cwnd
    }

    /// The first acknowledgment of all begins the first round; without growth, since the window is not the limit.
    fn begin(control: &mut Wvegas, group: &[View]) {
        for r in 0..group.len() {
            let ack = Ack { now_ns: 0, acked_segments: 1.0, rtt_ns: None, cwnd_limited: false };
            control.on_ack(group, r, &ack);
        }
    }

    #[test]
    fn slow_start_ends_when_a_segment_is_queued() {
        // w = 40 at the end of the round, base 80, rtt 100 ms: diff = 40·20/100 = 8 > 1, so w = 40·0.8 + 1 = 33.
        let mut control = Wvegas::default();
        let mut group = [view(37.0, f64::INFINITY, 80, 100)];
        begin(&mut control, &group);
        assert_eq!(round(&mut control, &mut group, 0), 33.0);
        assert_eq!(group[0].ssthresh, 32.0);
        // diff = 20·1/100 = 0.2: it goes on.
        let mut control = Wvegas::default();
        let mut group = [view(16.0, f64::INFINITY, 99, 100)];
        begin(&mut control, &group);
        assert_eq!(round(&mut control, &mut group, 0), 20.0);
    }

    #[test]
    fn each_subflow_keeps_its_weight_of_ten_segments_queued() {
        // x = (30, 10)/100 ms: weights ¾ and ¼. diff = (30, 10)·0.2 = (6, 2).
        let group = [view(30.0, 10.0, 80, 100), view(10.0, 5.0, 80, 100)];
        let mut control = Wvegas::default();
        begin(&mut control, &group);
        // Path 0: α = 7.5 > 6, so one more; path 1: α = max(2, 10·10/41 = 2.44) > 2, so one more.
        let mut after = group;
        assert_eq!(round(&mut control, &mut after, 0), 31.0);
        assert_eq!(round(&mut control, &mut after, 1), 11.0);
        // With rtt 200 ms on path 1: diff = 11·0.6 = 6.6, weight (11/200)/(11/200 + 31/100) = 0.151, α = 2: one less.
        // Its queueing delay has grown from 20 to 120 ms: and drained, (11 − 1)·80/400 = 2.
        after[1].srtt_ns = 200_000_000;
        assert_eq!(round(&mut control, &mut after, 1), 2.0);
        assert_eq!(control.paths[1].least_queueing_ns, 0.0);
    }

    #[test]
    fn with_too_few_samples_it_is_reno() {
        let mut group = [view(30.0, 10.0, 80, 100)];
        let mut control = Wvegas::default();
        begin(&mut control, &group);
        group[0].in_flight = 2;
        let ack = Ack { now_ns: 1, acked_segments: 4.0, rtt_ns: Some(100_000_000), cwnd_limited: true };
        assert!((control.on_ack(&group, 0, &ack).cwnd - (30.0 + 4.0 / 30.0)).abs() < 1e-12);
    }

    #[test]
    fn a_loss_halves_and_begins_a_new_round() {
        let mut group = [view(30.0, 10.0, 80, 100)];
        let mut control = Wvegas::default();
        begin(&mut control, &group);
        assert_eq!(control.on_loss(&group, 0, 0), 15.0);
        group[0].cwnd = 15.0;
        let ack = Ack { now_ns: 1, acked_segments: 4.0, rtt_ns: Some(100_000_000), cwnd_limited: true };
        control.on_ack(&group, 0, &ack);
        assert_eq!(control.paths[0].samples, 0);
        assert_eq!(control.on_loss(&[view(3.0, 10.0, 80, 100)], 0, 0), 2.0);
    }
}
