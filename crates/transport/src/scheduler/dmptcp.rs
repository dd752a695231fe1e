//! DMPTCP: as many paths as what is left to send is worth (Dong et al. 2018, algorithm 1).

use super::rounds::{LARGEST, States, delivered};
use super::{Context, Decision, Demand, MinRtt, PacketScheduler, SubflowSet, usable};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

/// Paths by their round-trip times, the shortest first; path i joins if those before it cannot carry all that is left
/// within rtt_i: Σ_{j<i} C_j(rtt_i/rtt_j)·mss < left. C is the round model's. Within the set, the smallest RTT first. The set is
/// chosen anew every round trip of the shortest path, and whenever a path comes or goes.
///
/// Where the size of the flow is not known it is [`MinRtt`]: all paths.
#[derive(Debug, Default)]
pub struct Dmptcp {
    chosen: SubflowSet,
    /// Of which paths it was chosen.
    among: SubflowSet,
    next_at: Instant,
    order: Vec<usize>,
    states: States,
}

impl Algorithm for Dmptcp {
    const ABOUT: About = About::new(
        "dmptcp",
        "uses a slower path only if the rest of the flow is long enough to gain from it",
        "Dong 2018 §4",
    )
    .with(Capability::NeedsSize);
}

impl Make for Dmptcp {
    fn make(_: &Given, _: &Origin) -> Self {
        Dmptcp::default()
    }
}

/// The paths that algorithm 1 chooses between: those that work, and backups only where no other does.
pub(super) fn candidates(group: &[View]) -> SubflowSet {
    let works = |v: &View| v.active && !v.potentially_failed;
    let only_backups = !group.iter().any(|v| works(v) && !v.backup);
    let mut set = SubflowSet::default();
    for (r, view) in group.iter().enumerate().filter(|(_, v)| works(v) && (only_backups || !v.backup)) {
        debug_assert!(view.active);
        set.insert(r);
    }
    set
}

/// The part of a subflow's segments that was lost so far; none before the first loss. At most one half: the model's rounds
/// say nothing of worse paths.
fn loss_rate(context: &Context, r: usize) -> f64 {
    let counters = context.counters(r);
    (counters.segments_lost as f64 / counters.segments_sent.max(1) as f64).min(0.5)
}

impl Dmptcp {
    fn select(&mut self, left_bytes: u64, group: &[View], context: &Context) {
        self.order.clear();
        self.order.extend((0..group.len()).filter(|&r| self.among.contains(r)));
        self.order.sort_by_key(|&r| group[r].srtt);
        self.chosen = SubflowSet::default();
        for place in 0..self.order.len() {
            let slow = &group[self.order[place]];
            let mut left = left_bytes as f64;
            for &j in &self.order[..place] {
                let fast = &group[j];
                let rounds = slow.srtt.as_nanos() as f64 / fast.srtt.max(Duration::NANOSECOND).as_nanos() as f64;
                let threshold = fast.ssthresh.min(f64::from(LARGEST)) as u32;
                let (mss, p) = (f64::from(fast.mss), loss_rate(context, j));
                left -= mss * delivered(fast.cwnd as u32, threshold, p, rounds, left / mss, &mut self.states);
                if left <= 0.0 {
                    break;
                }
            }
            if place > 0 && left <= 0.0 {
                return;
            }
            self.chosen.insert(self.order[place]);
        }
    }

    /// Min-rtt's choice among the paths that `left_bytes` are worth; all of them where that is not known.
    pub(super) fn choose_for(
        &mut self,
        left_bytes: Option<u64>,
        demand: Demand,
        group: &[View],
        context: &Context,
    ) -> Decision {
        let decision = MinRtt.choose(demand, group, context);
        let (Decision::Send { mut on, .. }, Demand::New, Some(left_bytes)) = (decision, demand, left_bytes) else {
            return decision;
        };
        let among = candidates(group);
        if among != self.among || context.now >= self.next_at {
            self.among = among;
            self.select(left_bytes, group, context);
            let shortest = self.order.first().map_or(Duration::ZERO, |&r| group[r].srtt);
            self.next_at = context.now + shortest.max(Duration::NANOSECOND);
        }
        match on.pop() {
            Some(r) if !self.chosen.contains(r) => {
                // None of the set has room, unless round-trip times have changed places since.
                let inside = |&r: &usize| self.chosen.contains(r) && usable(&group[r]);
                match (0..group.len()).filter(inside).min_by_key(|&r| group[r].srtt) {
                    Some(r) => Decision::Send { on: SubflowSet::one(r), burst: 1 },
                    None => Decision::Wait { until: self.next_at.max(context.now + Duration::NANOSECOND) },
                }
            }
            _ => decision,
        }
    }
}

impl PacketScheduler for Dmptcp {
    fn name(&self) -> &'static str {
        "dmptcp"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        self.choose_for(context.left_bytes(), demand, group, context)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Counters;
    use super::*;

    fn view(srtt_ms: u64, cwnd: f64, in_flight: u32) -> View {
        View { srtt: Duration::from_millis(srtt_ms), in_flight, active: true, ..View::new(cwnd, 1400) }
    }

    fn chosen(left: u64, group: &[View]) -> u64 {
        let mut dmptcp = Dmptcp::default();
        let context = Context { unsent_bytes: left, flow_bytes: Some(left), ..Context::default() };
        dmptcp.choose(Demand::New, group, &context);
        dmptcp.chosen.0
    }

    #[test]
    fn figure_8_uses_the_slow_path_only_beyond_what_the_fast_one_carries_in_four_rounds() {
        // 8 + 16 + 32 + 64 segments of 1400 bytes: 168 000. The printed remainder is 40 KB.
        let group = [view(20, 8.0, 0), view(80, 1.0, 0)];
        for (left, set) in [(1, 0b01), (40_000, 0b01), (168_000, 0b01), (168_001, 0b11)] {
            assert_eq!(chosen(left, &group), set, "{left}");
        }
        let swapped = [group[1], group[0]];
        assert_eq!((chosen(168_000, &swapped), chosen(168_001, &swapped)), (0b10, 0b11));
    }

    #[test]
    fn three_paths_join_in_turn() {
        // C_1(2) = 1 + 2; C_1(4) + C_2(2) = 15 + 3.
        let group = [view(20, 1.0, 0), view(40, 1.0, 0), view(80, 1.0, 0)];
        for (segments, extra, set) in [(3, 0, 0b001), (3, 1, 0b011), (18, 0, 0b011), (18, 1, 0b111)] {
            assert_eq!(chosen(segments * 1400 + extra, &group), set, "{segments} {extra}");
        }
    }

    #[test]
    fn it_waits_for_the_fast_path_and_looks_again_after_a_round_trip_of_it() {
        let mut dmptcp = Dmptcp::default();
        let group = [view(20, 8.0, 8), view(80, 1.0, 0)];
        let context = |now, left| Context { now, unsent_bytes: left, flow_bytes: Some(left), ..Context::default() };
        assert_eq!(
            dmptcp.choose(Demand::New, &group, &context(Instant::from_nanos(5), 40_000)),
            Decision::Wait { until: Instant::from_nanos(20_000_005) }
        );
        // More to send, but the round is not over; then it is.
        assert!(matches!(
            dmptcp.choose(Demand::New, &group, &context(Instant::from_nanos(6), 200_000)),
            Decision::Wait { .. }
        ));
        let later = dmptcp.choose(Demand::New, &group, &context(Instant::from_nanos(20_000_005), 200_000));
        assert_eq!(later, Decision::Send { on: SubflowSet::one(1), burst: 1 });
    }

    #[test]
    fn a_path_that_fails_is_no_longer_waited_for() {
        let mut dmptcp = Dmptcp::default();
        let mut group = [view(20, 8.0, 8), view(80, 1.0, 0)];
        let context = Context { unsent_bytes: 40_000, flow_bytes: Some(40_000), ..Context::default() };
        assert!(matches!(dmptcp.choose(Demand::New, &group, &context), Decision::Wait { .. }));
        group[0].potentially_failed = true;
        let now = dmptcp.choose(Demand::New, &group, &context);
        assert_eq!(now, Decision::Send { on: SubflowSet::one(1), burst: 1 });
    }

    #[test]
    fn losses_make_the_fast_path_carry_less() {
        let group = [view(20, 8.0, 0), view(80, 1.0, 0)];
        let counters = [Counters { segments_sent: 100, segments_lost: 5, ..Counters::default() }];
        let context = Context { unsent_bytes: 1, flow_bytes: Some(100_000), subflows: &counters, ..Context::default() };
        let mut dmptcp = Dmptcp::default();
        dmptcp.choose(Demand::New, &group, &context);
        assert_eq!((dmptcp.chosen.0, chosen(100_000, &group)), (0b11, 0b01));
    }

    #[test]
    fn without_an_end_it_is_min_rtt() {
        let group = [view(20, 8.0, 8), view(80, 1.0, 0)];
        let context = Context { unsent_bytes: 10, ..Context::default() };
        let decision = Dmptcp::default().choose(Demand::New, &group, &context);
        assert_eq!(decision, MinRtt.choose(Demand::New, &group, &context));
        assert!(matches!(decision, Decision::Send { .. }));
    }

    #[test]
    fn the_selections_of_pythons_round_model() {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/vectors/rounds.json")).unwrap();
        for case in all["selection"].as_array().unwrap() {
            let paths = case["paths"].as_array().unwrap();
            let number = |path: &serde_json::Value, name: &str| path[name].as_f64().unwrap();
            let group: Vec<View> = paths
                .iter()
                .map(|path| View {
                    ssthresh: number(path, "threshold"),
                    ..view(number(path, "rtt_ms") as u64, number(path, "window"), 0)
                })
                .collect();
            let mut counters = [Counters::default(); 3];
            for (path, counter) in paths.iter().zip(&mut counters) {
                counter.segments_sent = 1_000_000;
                counter.segments_lost = (1e6 * number(path, "loss_rate")).round() as u64;
            }
            let left = case["left_bytes"].as_u64().unwrap();
            let context =
                Context { unsent_bytes: left, flow_bytes: Some(left), subflows: &counters, ..Context::default() };
            let mut dmptcp = Dmptcp::default();
            dmptcp.choose(Demand::New, &group, &context);
            let expected = case["selected"].as_array().unwrap().iter().fold(0, |set, r| set | 1 << r.as_u64().unwrap());
            assert_eq!(dmptcp.chosen.0, expected, "{case}");
        }
    }

    #[test]
    fn a_backup_is_a_candidate_only_when_no_other_path_works() {
        let backup = View { backup: true, ..view(20, 8.0, 0) };
        let failed = View { potentially_failed: true, ..view(20, 8.0, 0) };
        let closed = View { active: false, ..view(20, 8.0, 0) };
        assert_eq!(candidates(&[view(80, 8.0, 0), backup]).0, 0b01);
        assert_eq!(candidates(&[failed, backup]).0, 0b10);
        assert_eq!(candidates(&[closed, backup]).0, 0b10);
        assert_eq!(candidates(&[backup]).0, 0b1);
    }

    #[test]
    fn at_most_half_is_thought_lost() {
        let rate = |segments_sent, segments_lost| {
            let counters = [Counters { segments_sent, segments_lost, ..Counters::default() }];
            loss_rate(&Context { subflows: &counters, ..Context::default() }, 0)
        };
        assert_eq!((rate(0, 0), rate(4, 1), rate(4, 3)), (0.0, 0.25, 0.5));
    }

    #[test]
    fn a_chosen_path_with_room_takes_one_segment() {
        // Since it chose, the round-trip times have changed places: the path left out is the faster one now.
        let mut dmptcp = Dmptcp::default();
        let context = Context { unsent_bytes: 40_000, flow_bytes: Some(40_000), ..Context::default() };
        dmptcp.choose(Demand::New, &[view(20, 8.0, 0), view(80, 1.0, 0)], &context);
        let now = dmptcp.choose(Demand::New, &[view(90, 8.0, 0), view(80, 1.0, 0)], &context);
        assert_eq!(now, Decision::Send { on: SubflowSet::one(0), burst: 1 });
    }
}
