//! ECF: earliest completion first (Lim, Nahum, Towsley, Gibbens 2017).

use super::min_rtt::instead_of_fastest;
use super::{Context, Decision, Demand, MinRtt, PacketScheduler};
use crate::algorithm::{About, Algorithm, Given, Make, Parameter};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::time::Instant;

/// Smallest RTT first, but when the fastest subflow f is full, a slower one s is used only if that ends the transfer
/// sooner. With k segments left and δ = max(σ_f, σ_s) it waits for f while
///
/// - rtt_f·(1 + k/w_f) < (1 + β·waiting)·(rtt_s + δ): f is through before a segment has travelled on s, and
/// - rtt_s·k/w_s ≥ 2·rtt_f + δ: s would take longer than waiting for f.
///
/// β = 1/4 keeps it from changing its mind at once: `waiting` is 1 after it waited.
#[derive(Debug)]
pub struct Ecf {
    linux: bool,
    waiting: bool,
}

impl Algorithm for Ecf {
    const ABOUT: About = About::new(
        "ecf",
        "earliest completion first: waits for the fast subflow if the transfer then completes sooner",
        "Lim 2017",
    )
    .parameters(&[Parameter::variant(
        "as printed, or as in the authors' kernel code (\"linux\"): the remaining data is at least one window",
    )]);
}

impl Make for Ecf {
    fn make(given: &Given, _: &Origin) -> Self {
        Ecf::new(given.is_linux())
    }
}

const BETA: f64 = 0.25;

impl Ecf {
    /// As its authors print it; or `linux`, as their kernel code has it: k is at least the window in question, for a
    /// window goes out at once.
    #[must_use]
    pub fn new(linux: bool) -> Self {
        Ecf { linux, waiting: false }
    }

    /// Whether `fast` is worth waiting for, with `left` segments.
    fn waits(&mut self, left: f64, fast: &View, slow: &View) -> bool {
        let rounds = |view: &View| {
            let rounds = left / view.cwnd;
            if self.linux { rounds.max(1.0) } else { rounds }
        };
        let deviation = fast.rttvar.max(slow.rttvar).as_nanos() as f64;
        let (rtt_f, rtt_s) = (fast.srtt.as_nanos() as f64, slow.srtt.as_nanos() as f64);
        let margin = if self.waiting { 1.0 + BETA } else { 1.0 };
        if rtt_f * (1.0 + rounds(fast)) < margin * (rtt_s + deviation) {
            if rtt_s * rounds(slow) >= 2.0 * rtt_f + deviation {
                self.waiting = true;
                return true;
            }
        } else {
            self.waiting = false;
        }
        false
    }
}

impl PacketScheduler for Ecf {
    fn name(&self) -> &'static str {
        "ecf"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let decision = MinRtt.choose(demand, group, context);
        let Some((slow, fast)) = instead_of_fastest(demand, &decision, group) else { return decision };
        // One that pacing holds back with nothing under way has no acknowledgment to wait for.
        if fast.in_flight == 0 {
            return decision;
        }
        // What the application has written, or will write if that is known.
        let left = context.left_bytes().unwrap_or(context.unsent_bytes);
        if self.waits(left as f64 / f64::from(slow.mss), fast, slow) {
            Decision::Wait { until: Instant::NEVER }
        } else {
            decision
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn view(srtt_ms: u64, in_flight: u32) -> View {
        View { srtt: Duration::from_millis(srtt_ms), in_flight, active: true, ..View::new(10.0, 1000) }
    }

    fn decide(ecf: &mut Ecf, segments: u64, group: &[View]) -> bool {
        let context = Context { unsent_bytes: segments * 1000, ..Context::default() };
        matches!(ecf.choose(Demand::New, group, &context), Decision::Wait { .. })
    }

    #[test]
    fn waits_while_the_fast_subflow_is_through_before_the_slow_one() {
        // 20·(1 + k/10) < 100: k < 40; and 100·k/10 ≥ 40: k ≥ 4.
        let group = [view(20, 10), view(100, 0)];
        for (segments, waits) in [(3, false), (4, true), (39, true), (40, false), (1000, false)] {
            assert_eq!(decide(&mut Ecf::new(false), segments, &group), waits, "{segments}");
        }
    }

    #[test]
    fn having_waited_it_waits_a_quarter_longer() {
        // 20·(1 + k/10) < 125: k < 52.5.
        let group = [view(20, 10), view(100, 0)];
        let mut ecf = Ecf::new(false);
        assert!(!decide(&mut ecf, 52, &group));
        assert!(decide(&mut ecf, 39, &group));
        assert!(decide(&mut ecf, 52, &group));
        assert!(!decide(&mut ecf, 53, &group));
        assert!(!decide(&mut ecf, 52, &group), "the margin is gone");
    }

    #[test]
    fn the_larger_deviation_counts() {
        // δ = 30 ms: 20·(1 + k/10) < 130: k < 55; 100·k/10 ≥ 70: k ≥ 7.
        let slow = View { rttvar: Duration::from_millis(30), ..view(100, 0) };
        let group = [View { rttvar: Duration::from_millis(5), ..view(20, 10) }, slow];
        for (segments, waits) in [(6, false), (7, true), (54, true), (55, false)] {
            assert_eq!(decide(&mut Ecf::new(false), segments, &group), waits, "{segments}");
        }
    }

    #[test]
    fn linux_counts_a_window_at_least() {
        // With one segment left: 20·(1 + 1) < 100 and 100·1 ≥ 40.
        let group = [view(20, 10), view(100, 0)];
        assert!(!decide(&mut Ecf::new(false), 1, &group));
        assert!(decide(&mut Ecf::new(true), 1, &group));
        assert!(!decide(&mut Ecf::new(true), 40, &group));
    }

    #[test]
    fn an_announced_size_counts_instead_of_what_was_written() {
        let group = [view(20, 10), view(100, 0)];
        let context = Context { unsent_bytes: 10_000, flow_bytes: Some(1_000_000), ..Context::default() };
        assert!(matches!(Ecf::new(false).choose(Demand::New, &group, &context), Decision::Send { .. }));
        assert!(decide(&mut Ecf::new(false), 10, &group));
    }

    #[test]
    fn uses_the_fast_subflow_when_it_has_room_and_hurries_reinjections() {
        let mut ecf = Ecf::new(false);
        assert!(!decide(&mut ecf, 10, &[view(20, 9), view(100, 0)]));
        let reinjection = Demand::Reinjection { tried: super::super::SubflowSet::one(0) };
        let full = [view(20, 10), view(100, 0)];
        let context = Context { unsent_bytes: 10_000, ..Context::default() };
        assert!(matches!(ecf.choose(reinjection, &full, &context), Decision::Send { .. }));
    }

    #[test]
    fn linux_counts_no_more_than_a_window_where_less_is_left() {
        // With one window counted: 20·(1 + 1) < 45; with two it would be 60.
        assert!(decide(&mut Ecf::new(true), 1, &[view(20, 10), view(45, 0)]));
    }

    #[test]
    fn what_is_held_back_by_pacing_alone_is_not_waited_for() {
        let fast = View { held: true, ..view(20, 0) };
        assert!(!decide(&mut Ecf::new(false), 10, &[fast, view(100, 0)]), "no acknowledgment would come");
        // A window of one segment that is full: one acknowledgment will. 20·(1 + 2) < 100, 100·2/10 < 40 but for w_s = 1.
        let full = View { cwnd: 1.0, ..view(20, 1) };
        assert!(decide(&mut Ecf::new(false), 2, &[full, View { cwnd: 1.0, ..view(100, 0) }]));
    }
}
