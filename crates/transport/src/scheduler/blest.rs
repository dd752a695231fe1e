//! BLEST: blocking estimation (Ferlin, Alay, Mehani, Boreli 2016).

use super::min_rtt::instead_of_fastest;
use super::{Context, Decision, Demand, MinRtt, PacketScheduler};
use crate::algorithm::{About, Algorithm, Given, Make, Parameter};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

/// Smallest RTT first, but when the fastest subflow f is full, a slower one s is used only if f will not run out of
/// window while the segment travels on s: it waits when X·λ > |M| − MSS_s·(inflight_s + 1), where |M| is the whole
/// connection-level window and X what f sends in rtt_s/rtt_f + 1 of its rounds, its present one among them. λ learns: up
/// when the window has blocked f all the same, slowly down otherwise.
#[derive(Debug)]
pub struct Blest {
    slow_start: bool,
    lambda: f64,
    window_blocks: u64,
    next_change: Instant,
}

impl Algorithm for Blest {
    const ABOUT: About = About::new(
        "blest",
        "waits for the fast subflow if the slow one would block the send window",
        "Ferlin 2016",
    )
    .parameters(&[Parameter::flag(
        "slow_start",
        true,
        "count slow start's doubling, as the authors' kernel code does; false: one segment per round, as printed",
    )]);
}

impl Make for Blest {
    fn make(given: &Given, _: &Origin) -> Self {
        Blest::new(given.flag("slow_start"))
    }
}

impl Default for Blest {
    fn default() -> Self {
        Blest { slow_start: true, lambda: 1.2, window_blocks: 0, next_change: Instant::ZERO }
    }
}

const LAMBDA: std::ops::RangeInclusive<f64> = 1.0..=1.3;

impl Blest {
    /// With the doubling rounds of slow start in X, as its kernel code has them; or without, as the paper prints it.
    #[must_use]
    pub fn new(slow_start: bool) -> Self {
        Blest { slow_start, ..Blest::default() }
    }

    /// At most once in the smallest RTT of the slow subflow.
    fn learn(&mut self, slow: &View, context: &Context) {
        if context.now < self.next_change {
            return;
        }
        let step = if context.window_blocks > self.window_blocks { 0.04 } else { -0.01 };
        self.lambda = (self.lambda + step).clamp(*LAMBDA.start(), *LAMBDA.end());
        self.window_blocks = context.window_blocks;
        self.next_change = context.now + slow.min_rtt;
    }

    /// Bytes that `fast` can send while a segment travels on `slow`.
    fn fast_bytes(&self, fast: &View, slow: &View) -> f64 {
        let rounds = (slow.srtt / fast.srtt.max(Duration::NANOSECOND) + 1) as f64;
        let segments = if !self.slow_start {
            (fast.cwnd + (rounds - 1.0) / 2.0) * rounds
        } else if fast.ssthresh.is_infinite() {
            // The first slow start: w + 2w + 4w + … = w·(2^rounds − 1); by shifts, for powf differs from machine to machine.
            fast.cwnd * (2u64.saturating_pow(rounds.min(62.0) as u32) - 1) as f64
        } else {
            // A later one is soon over: as if it were.
            (fast.cwnd.max(fast.ssthresh + 1.0) + (rounds - 1.0) / 2.0) * rounds
        };
        segments * f64::from(fast.mss)
    }
}

impl PacketScheduler for Blest {
    fn name(&self) -> &'static str {
        "blest"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let decision = MinRtt.choose(demand, group, context);
        let Some((slow, fast)) = instead_of_fastest(demand, &decision, group) else { return decision };
        self.learn(slow, context);
        // What is under way on s keeps its place in the window until the segment arrives; what is on f is in X.
        let on_slow = u64::from(slow.mss) * (u64::from(slow.in_flight) + 1);
        let free = context.window_bytes.saturating_sub(on_slow);
        if self.fast_bytes(fast, slow) * self.lambda > free as f64 {
            Decision::Wait { until: Instant::NEVER }
        } else {
            decision
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(srtt_ms: u64, in_flight: u32) -> View {
        let srtt = Duration::from_millis(srtt_ms);
        View { srtt, min_rtt: srtt, in_flight, active: true, ssthresh: 1.0, ..View::new(10.0, 1000) }
    }

    fn context(window: u64) -> Context<'static> {
        // Ten segments are in flight on the fast subflow.
        let free_window_bytes = u64::saturating_sub(window, 10_000);
        Context { unsent_bytes: u64::MAX, free_window_bytes, window_bytes: window, ..Context::default() }
    }

    #[test]
    fn waits_when_the_fast_subflow_would_run_out_of_window() {
        // rounds = 100/20 + 1 = 6; X = (10 + 5/2)·6 = 75 segments = 75 kB; λ falls to 1.19 at the first look, so the
        // window must be 89.25 kB beside the slow segment's 1 kB.
        let group = [view(20, 10), view(100, 0)];
        let decide = |free| Blest::default().choose(Demand::New, &group, &context(free));
        assert_eq!(decide(90_000), Decision::Wait { until: Instant::NEVER });
        assert!(matches!(decide(91_000), Decision::Send { .. }));
    }

    #[test]
    fn what_is_in_flight_on_the_fast_subflow_is_not_counted_twice() {
        // The paper's window beside the slow subflow: |M| − MSS·(inflight_s + 1). X counts the fast one's first round.
        // 75 kB · 1.19 = 89.25 kB; with 3 segments in flight on the slow one |M| must be 93.25 kB.
        let group = [view(20, 10), view(100, 3)];
        let decide = |window| Blest::default().choose(Demand::New, &group, &context(window));
        assert_eq!(decide(93_000), Decision::Wait { until: Instant::NEVER });
        assert!(matches!(decide(93_500), Decision::Send { .. }));
    }

    #[test]
    fn after_a_timeout_the_fast_subflow_counts_as_if_in_avoidance_already() {
        // cwnd 2 below ssthresh 9: (10 + 5/2)·6 = 75 segments, and not 2·(2⁶ − 1).
        let fast = View { cwnd: 2.0, ssthresh: 9.0, ..view(20, 2) };
        assert_eq!(Blest::default().fast_bytes(&fast, &view(100, 0)), 75_000.0);
    }

    #[test]
    fn slow_start_counts_doubling_rounds() {
        // 10·(2⁶ − 1) = 630 segments.
        let fast = View { ssthresh: f64::INFINITY, ..view(20, 10) };
        assert_eq!(Blest::default().fast_bytes(&fast, &view(100, 0)), 630_000.0);
        // As the paper prints it: (10 + 5/2)·6 = 75.
        assert_eq!(Blest::new(false).fast_bytes(&fast, &view(100, 0)), 75_000.0);
    }

    #[test]
    fn uses_the_fast_subflow_when_it_has_room_and_hurries_reinjections() {
        let mut blest = Blest::default();
        let group = [view(20, 9), view(100, 0)];
        assert!(matches!(blest.choose(Demand::New, &group, &context(1_000)), Decision::Send { .. }));
        let group = [view(20, 10), view(100, 0)];
        let again = Demand::Reinjection { tried: super::super::SubflowSet::one(0) };
        assert!(matches!(blest.choose(again, &group, &context(1_000)), Decision::Send { .. }));
    }

    #[test]
    fn lambda_learns_once_a_round_trip_within_its_bounds() {
        let mut blest = Blest::default();
        let slow = view(100, 0);
        let mut now = Instant::ZERO;
        for window_blocks in 1..10 {
            blest.learn(&slow, &Context { now, window_blocks, ..context(0) });
            let before = blest.lambda;
            blest.learn(&slow, &Context { now: now + Duration::NANOSECOND, window_blocks: 99, ..context(0) });
            assert_eq!(blest.lambda, before, "once in a round trip");
            now += Duration::from_millis(100);
        }
        assert_eq!(blest.lambda, 1.3);
        for _ in 0..50 {
            blest.learn(&slow, &Context { now, window_blocks: 9, ..context(0) });
            now += Duration::from_millis(100);
        }
        assert_eq!(blest.lambda, 1.0);
    }

    #[test]
    fn lambda_rises_by_four_hundredths_and_falls_by_one() {
        let mut blest = Blest::default();
        let slow = view(100, 0);
        for (now_ms, window_blocks, lambda) in [(0, 1, 1.24), (100, 1, 1.23), (200, 3, 1.27)] {
            blest.learn(&slow, &Context { now: Instant::from_millis(now_ms), window_blocks, ..context(0) });
            assert!((blest.lambda - lambda).abs() < 1e-9, "{now_ms}: {}", blest.lambda);
        }
    }

    #[test]
    fn what_just_fits_beside_the_slow_segment_is_sent() {
        // λ = 1: 75 kB of the fast subflow and 1 kB of the slow one.
        let group = [view(20, 10), view(100, 0)];
        let decide = |window| Blest { lambda: 1.0, ..Blest::default() }.choose(Demand::New, &group, &context(window));
        assert_eq!(decide(75_999), Decision::Wait { until: Instant::NEVER });
        assert!(matches!(decide(76_000), Decision::Send { .. }));
    }
}
