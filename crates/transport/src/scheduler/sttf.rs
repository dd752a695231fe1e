//! STTF: shortest transfer time first (Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn 2019).

use std::collections::VecDeque;

use super::dmptcp::candidates;
use super::{Context, Decision, Demand, MinRtt, PacketScheduler, SubflowSet};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

/// Each segment goes where it would be through first, with the growth of the windows: half a round trip if the window has
/// room, and a round trip more for each window that goes out before it. The segments at hand are placed one after
/// another in thought. If one of them would go to a subflow with room, those before it are bound to the full
/// subflows that suit them better, and it is sent; if none would, it waits, and thinks again with the next event.
#[derive(Debug, Default)]
pub struct Sttf {
    /// Where the next segments go, as thought of at one time.
    plan: VecDeque<usize>,
    thought_at: Instant,
    /// Bound in thought, by subflow.
    queued: Vec<u32>,
}

impl Algorithm for Sttf {
    const ABOUT: About = About::new(
        "sttf",
        "sends each segment on the subflow with the shortest transfer time, counting window growth",
        "Hurtig 2019",
    )
    .with(Capability::BindsAhead);
}

impl Make for Sttf {
    fn make(_: &Given, _: &Origin) -> Self {
        Sttf::default()
    }
}

/// How many segments are thought of.
const FAR: u64 = 1024;

/// When the last of `queued` segments arrives, counted from now.
fn transfer(view: &View, queued: u32) -> Duration {
    let (mut left, mut window) = (queued, view.cwnd as u32);
    let mut room = view.free_segments();
    let mut rounds = 0;
    while left > room {
        left -= room;
        rounds += 1;
        let threshold = view.ssthresh.min(1e9) as u32;
        // Doubled, up to the threshold; or one more.
        window = if window < threshold { (2 * window.max(1)).min(threshold) } else { window + 1 };
        room = window;
    }
    rounds * view.srtt + view.srtt / 2
}

impl Sttf {
    /// Places segments until one goes to a subflow with room; empty when none does.
    fn think(&mut self, segments: u64, among: SubflowSet, group: &[View]) {
        self.plan.clear();
        self.queued.clear();
        self.queued.extend(group.iter().map(|view| view.queued));
        for _ in 0..segments.min(FAR) {
            let time = |&r: &usize| transfer(&group[r], self.queued[r] + 1);
            let Some(r) = (0..group.len()).filter(|&r| among.contains(r)).min_by_key(time) else { break };
            self.plan.push_back(r);
            self.queued[r] += 1;
            if group[r].has_room() && self.queued[r] <= group[r].free_segments() {
                return;
            }
        }
        self.plan.clear();
    }
}

impl PacketScheduler for Sttf {
    fn name(&self) -> &'static str {
        "sttf"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let among = candidates(group);
        if demand != Demand::New || among.0.count_ones() < 2 {
            return MinRtt.choose(demand, group, context);
        }
        let Some(mss) = group.iter().map(|view| u64::from(view.mss)).min() else { return Decision::Blocked };
        if self.plan.is_empty() || self.thought_at != context.now {
            self.think(context.available_bytes.div_ceil(mss), among, group);
            self.thought_at = context.now;
        }
        match self.plan.pop_front() {
            // The last of the plan; if it is bound too, it stays behind those before it.
            Some(r) if self.plan.is_empty() && group[r].queued == 0 && group[r].has_room() => {
                Decision::Send { on: SubflowSet::one(r), burst: 1 }
            }
            Some(r) => Decision::Bind { on: SubflowSet::one(r), bytes: u64::from(group[r].mss) },
            None => Decision::Wait { until: Instant::NEVER },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(srtt_ms: u64, in_flight: u32) -> View {
        let open = View::new(10.0, 1000);
        View { srtt: Duration::from_millis(srtt_ms), in_flight, active: true, ssthresh: 10.0, ..open }
    }

    fn decide(segments: u64, group: &[View]) -> Decision {
        let bytes = segments * 1000;
        let context = Context { unsent_bytes: bytes, available_bytes: bytes, ..Context::default() };
        Sttf::default().choose(Demand::New, group, &context)
    }

    #[test]
    fn transfer_times_by_hand() {
        let half = 10_000_000;
        // Four free of ten at the threshold; then windows of 11, 12, …
        let near = view(20, 6);
        for (queued, halves) in [(4, 1), (5, 3), (15, 3), (16, 5), (27, 5), (28, 7)] {
            assert_eq!(transfer(&near, queued), Duration::from_nanos(halves * half), "{queued}");
        }
        // Slow start: 20, 40, and then the threshold of 50.
        let slow = View { ssthresh: 50.0, ..view(20, 10) };
        for (queued, halves) in [(20, 3), (21, 5), (60, 5), (61, 7), (110, 7), (111, 9)] {
            assert_eq!(transfer(&slow, queued), Duration::from_nanos(halves * half), "{queued}");
        }
        // From a window of one: 2, then 4.
        let first = View { cwnd: 1.0, ..View { in_flight: 1, ..slow } };
        for (queued, halves) in [(2, 3), (3, 5), (6, 5), (7, 7)] {
            assert_eq!(transfer(&first, queued), Duration::from_nanos(halves * half), "{queued}");
        }
    }

    #[test]
    fn it_waits_while_the_fast_subflow_is_through_before_the_slow_one() {
        // 20 and 100 ms: 50 ms on the slow one; behind the full fast one 30 ms for 11 segments, 50 for 12 more.
        let group = [view(20, 10), view(100, 0)];
        for (segments, waits) in [(1, true), (11, true), (23, true), (24, false)] {
            let decision = decide(segments, &group);
            assert_eq!(decision == Decision::Wait { until: Instant::NEVER }, waits, "{segments}: {decision:?}");
        }
        // What comes before the one for the slow path is bound to the fast one.
        assert_eq!(decide(24, &group), Decision::Bind { on: SubflowSet::one(0), bytes: 1000 });
    }

    #[test]
    fn the_segment_that_suits_the_slow_subflow_is_sent_at_once() {
        let group = [view(20, 10), view(100, 0)];
        let context = Context { unsent_bytes: 30_000, available_bytes: 30_000, ..Context::default() };
        let mut sttf = Sttf::default();
        let mut group_now = group;
        for _ in 0..23 {
            assert_eq!(
                sttf.choose(Demand::New, &group_now, &context),
                Decision::Bind { on: SubflowSet::one(0), bytes: 1000 }
            );
            group_now[0].queued += 1;
        }
        let last = sttf.choose(Demand::New, &group_now, &context);
        assert_eq!(last, Decision::Send { on: SubflowSet::one(1), burst: 1 });
    }

    #[test]
    fn what_cannot_be_bound_ahead_goes_as_min_rtt_has_it() {
        let group = [view(20, 10), view(100, 0)];
        let again = Demand::Reinjection { tried: SubflowSet::one(0) };
        let context = Context { unsent_bytes: 9_000, available_bytes: 9_000, ..Context::default() };
        let sent = Decision::Send { on: SubflowSet::one(1), burst: 1 };
        assert_eq!(Sttf::default().choose(again, &group, &context), sent);
        assert_eq!(Sttf::default().choose(Demand::New, &group[..1], &context), Decision::Blocked);
    }

    #[test]
    fn the_last_free_segment_is_sent_and_what_has_others_before_it_is_bound() {
        let slow = view(100, 0);
        assert_eq!(decide(1, &[view(20, 9), slow]), Decision::Send { on: SubflowSet::one(0), burst: 1 });
        let behind = View { queued: 1, ..view(20, 8) };
        assert_eq!(decide(1, &[behind, slow]), Decision::Bind { on: SubflowSet::one(0), bytes: 1000 });
        let held = View { held: true, ..view(20, 0) };
        assert_eq!(
            decide(1, &[held, slow]),
            Decision::Wait { until: Instant::NEVER },
            "pacing has the fast one for later"
        );
    }

    #[test]
    fn what_is_left_counts_in_the_smallest_segments() {
        // 24 segments of 500 bytes reach the slow path, 12 of 1000 would not.
        let fast = View { mss: 500, ..view(20, 10) };
        assert_eq!(decide(12, &[fast, view(100, 0)]), Decision::Bind { on: SubflowSet::one(0), bytes: 500 });
    }

    #[test]
    fn it_thinks_again_when_time_has_passed() {
        let group = [view(20, 10), view(100, 0)];
        let mut sttf = Sttf::default();
        let mut at = |now, segments: u64| {
            let bytes = segments * 1000;
            let context = Context { now, unsent_bytes: bytes, available_bytes: bytes, ..Context::default() };
            sttf.choose(Demand::New, &group, &context)
        };
        assert_eq!(at(Instant::from_nanos(5), 24), Decision::Bind { on: SubflowSet::one(0), bytes: 1000 });
        assert_eq!(
            at(Instant::from_nanos(5), 1),
            Decision::Bind { on: SubflowSet::one(0), bytes: 1000 },
            "the same plan"
        );
        assert_eq!(at(Instant::from_nanos(6), 1), Decision::Wait { until: Instant::NEVER });
    }
}
