//! HyStart++ (RFC 9406): slow start that ends when the round-trip time rises, before a loss ends it.

use super::round::Round;
use super::{Ack, View, Window};
use crate::time::Duration;

/// RFC 9406 §4.3, the recommended values.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// L: what one acknowledgment may count for, of a sender that does not pace.
const LIMIT_SEGMENTS: f64 = 8.0;

/// Slow start while ssthresh is infinite (§4.2): when the least RTT of a round of at least 8 samples is above that of the
/// round before by an eighth of it (at least 4, at most 16 ms), growth falls to a quarter ("conservative slow
/// start"); should the RTT then fall below what it was on entry, growth resumes, else after five rounds ssthresh
/// becomes cwnd.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    round: Round,
    last_round_min: Duration,
    this_round_min: Duration,
    samples: u32,
    css: Option<Css>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    baseline_min: Duration,
    rounds: u32,
}

const NONE: Duration = Duration::MAX;

impl Default for HyStart {
    fn default() -> Self {
        HyStart { round: Round::default(), last_round_min: NONE, this_round_min: NONE, samples: 0, css: None }
    }
}

impl HyStart {
    /// An acknowledgment in the first slow start. A finite ssthresh in the answer ends it.
    pub fn on_ack(&mut self, view: &View, ack: &Ack) -> Window {
        let View { mut cwnd, mut ssthresh, in_flight, .. } = *view;
        let ended = self.round.ended_by(ack.acked_segments, in_flight);
        if ended {
            self.last_round_min = self.this_round_min;
            self.this_round_min = NONE;
            self.samples = 0;
        }
        if ack.cwnd_limited {
            let segments = ack.acked_segments.min(LIMIT_SEGMENTS);
            cwnd += if self.css.is_some() { segments / CSS_GROWTH_DIVISOR } else { segments };
        }
        if let Some(rtt) = ack.rtt {
            self.this_round_min = self.this_round_min.min(rtt);
            self.samples += 1;
        }
        let sampled = self.samples >= N_RTT_SAMPLE;
        let risen = sampled && self.rtt_has_risen();
        match &mut self.css {
            None if risen => {
                // The rest of this round counts as the first of the five.
                self.css = Some(Css { baseline_min: self.this_round_min, rounds: 0 });
            }
            None => {}
            Some(css) if sampled && self.this_round_min < css.baseline_min => self.css = None,
            Some(css) if ended => {
                css.rounds += 1;
                if css.rounds == CSS_ROUNDS {
                    ssthresh = cwnd;
                }
            }
            Some(_) => {}
        }
        Window { cwnd, ssthresh }
    }

    fn rtt_has_risen(&self) -> bool {
        if self.last_round_min == NONE || self.this_round_min == NONE {
            return false;
        }
        let thresh = (self.last_round_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
        self.this_round_min >= self.last_round_min + thresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    /// Rounds of `samples` acknowledgments each, with the RTT of the round: the windows after each round.
    fn rounds(hystart: &mut HyStart, view: &mut View, rtts_ms: &[u64], samples: u32) -> Vec<f64> {
        let mut windows = Vec::new();
        for &rtt_ms in rtts_ms {
            for _ in 0..samples {
                view.in_flight = samples;
                let ack = Ack {
                    now: Instant::ZERO,
                    acked_segments: 1.0,
                    rtt: Some(Duration::from_millis(rtt_ms)),
                    cwnd_limited: true,
                };
                let w = hystart.on_ack(view, &ack);
                (view.cwnd, view.ssthresh) = (w.cwnd, w.ssthresh);
            }
            windows.push(view.cwnd);
        }
        windows
    }

    fn start() -> (HyStart, View) {
        (HyStart::default(), View { srtt: Duration::from_nanos(1), active: true, ..View::new(10.0, 1420) })
    }

    #[test]
    fn growth_slows_when_the_rtt_rises_by_an_eighth() {
        // 40 ms, so the threshold is 5 ms: 44 ms is no rise. After it the threshold is 5.5 ms: 50 ms is one. The eighth
        // sample of that round is the first that shows it, and counts in full; the other two add a quarter each.
        let (mut hystart, mut view) = start();
        let w = rounds(&mut hystart, &mut view, &[40, 44, 50, 50], 10);
        assert_eq!(w, [20.0, 30.0, 38.5, 41.0]);
        assert_eq!(view.ssthresh, f64::INFINITY);
    }

    #[test]
    fn it_ends_five_rounds_after() {
        let (mut hystart, mut view) = start();
        let w = rounds(&mut hystart, &mut view, &[40, 50, 50, 50, 50, 50], 10);
        // 20, 28.5, then 2.5 a round; the partial round and four more are five, and the first acknowledgment of the
        // next round ends it.
        assert_eq!(w, [20.0, 28.5, 31.0, 33.5, 36.0, 38.5]);
        assert_eq!(view.ssthresh, f64::INFINITY);
        view.in_flight = 10;
        let ack = Ack { now: Instant::ZERO, acked_segments: 1.0, rtt: None, cwnd_limited: true };
        assert_eq!(hystart.on_ack(&view, &ack), Window { cwnd: 38.75, ssthresh: 38.75 });
    }

    #[test]
    fn a_rise_that_was_jitter_is_forgiven() {
        // Back below the 50 ms of entry: from the eighth sample on growth is full again: 28.5 + 8/4 + 2.
        let (mut hystart, mut view) = start();
        let w = rounds(&mut hystart, &mut view, &[40, 50, 45], 10);
        assert_eq!(w, [20.0, 28.5, 32.5]);
    }

    #[test]
    fn the_threshold_is_bounded_and_needs_eight_samples() {
        let entered = |rtts: &[u64], samples| {
            let (mut hystart, mut view) = start();
            rounds(&mut hystart, &mut view, rtts, samples);
            hystart.css.is_some()
        };
        assert!(!entered(&[8, 11], 10), "4 ms at least");
        assert!(entered(&[8, 12], 10));
        assert!(!entered(&[400, 415], 10), "16 ms at most");
        assert!(entered(&[400, 416], 10));
        assert!(!entered(&[40, 80], 7), "seven samples are too few");
    }
}
