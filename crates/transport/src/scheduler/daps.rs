//! DAPS: delay-aware packet scheduling (Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli 2014; Sarwar 2013).

use std::collections::VecDeque;

use super::dmptcp::candidates;
use super::{Context, Decision, Demand, MinRtt, PacketScheduler, SubflowSet};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::congestion::View;
use crate::plugin::Origin;

/// Data is bound for a whole run so that it arrives in order: a subflow with one-way delay d brings a window at d, 2d, 3d, …,
/// and the run ends with the least common multiple of the delays. Whatever arrives earlier carries what comes earlier in
/// the stream; at one time the shorter path comes first. Windows are those of the beginning. The next run is made when
/// nothing of the last one waits, so that what happens in a run is answered after it.
///
/// A subflow in slow start after a loss takes no part, nor does one that does not answer; where only one takes part, and
/// for data that another subflow carried, it is [`MinRtt`].
#[derive(Debug, Default)]
pub struct Daps {
    /// Subflows in the order of arrival, with the segments that each brings.
    run: VecDeque<(usize, u64)>,
    order: Vec<(u64, usize)>,
}

impl Algorithm for Daps {
    const ABOUT: About =
        About::new("daps", "binds a run of segments so that they arrive in sequence", "Kuhn 2014; Sarwar 2013")
            .with(Capability::BindsAhead);
}

impl Make for Daps {
    fn make(_: &Given, _: &Origin) -> Self {
        Daps::default()
    }
}

/// Delays count in milliseconds.
const TICK_NS: u64 = 1_000_000;
/// A run lasts no longer than so many times the longest delay: delays without a common divisor have runs without end.
const LONGEST: u64 = 16;

/// Least common multiple, at most `most`.
fn common_multiple(one: u64, other: u64, most: u64) -> u64 {
    let (mut a, mut b) = (one, other);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (one / a).saturating_mul(other).min(most)
}

impl Daps {
    /// A run over the subflows `among`.
    fn plan(&mut self, among: SubflowSet, group: &[View]) {
        let delay = |r: usize| ((group[r].srtt_ns / 2 + TICK_NS / 2) / TICK_NS).max(1);
        self.order.clear();
        self.order.extend((0..group.len()).filter(|&r| among.contains(r)).map(|r| (delay(r), r)));
        self.order.sort_unstable();
        let longest = self.order.last().map_or(1, |&(delay, _)| delay);
        let end = self.order.iter().fold(1, |end, &(delay, _)| common_multiple(end, delay, LONGEST * longest));
        let mut now = 0;
        loop {
            // The next arrivals.
            now = self.order.iter().map(|&(delay, _)| (now / delay + 1) * delay).min().unwrap_or(u64::MAX);
            if now > end {
                return;
            }
            for &(_, r) in self.order.iter().filter(|&&(delay, _)| now % delay == 0) {
                self.run.push_back((r, (group[r].cwnd as u64).max(1)));
            }
        }
    }
}

impl PacketScheduler for Daps {
    fn name(&self) -> &'static str {
        "daps"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let all = candidates(group);
        let mut among = all;
        for (r, view) in group.iter().enumerate() {
            if view.in_slow_start() && view.ssthresh.is_finite() {
                among.remove(r);
            }
        }
        if demand != Demand::New || all.0.count_ones() < 2 || among.0 == 0 {
            return MinRtt.choose(demand, group, context);
        }
        if self.run.is_empty() {
            if group.iter().any(|view| view.queued > 0) {
                return Decision::Blocked;
            }
            self.plan(among, group);
        }
        while let Some(front) = self.run.front_mut() {
            let (r, segments) = *front;
            if !all.contains(r) {
                self.run.pop_front();
                continue;
            }
            let mss = u64::from(group[r].mss);
            // A segment at a time where less than that is left, so that windows are counted right.
            let now = segments.min((context.available_bytes / mss).max(1));
            front.1 -= now;
            if front.1 == 0 {
                self.run.pop_front();
            }
            return Decision::Bind { on: SubflowSet::one(r), bytes: now * mss };
        }
        MinRtt.choose(demand, group, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(srtt_ms: u64, cwnd: f64) -> View {
        View { srtt_ns: srtt_ms * 1_000_000, active: true, ..View::new(cwnd, 1000) }
    }

    fn bound(daps: &mut Daps, group: &[View], count: usize) -> Vec<(u64, u64)> {
        let context = Context { unsent_bytes: u64::MAX, available_bytes: 1_000_000, ..Context::default() };
        (0..count)
            .map(|_| match daps.choose(Demand::New, group, &context) {
                Decision::Bind { on, bytes } => (on.0, bytes / 1000),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_run_over_20_and_100_ms_is_five_windows_of_one_and_then_one_of_the_other() {
        // Delays 10 and 50 ms: the fast path arrives at 10, 20, 30, 40, 50 ms, the slow one at 50 ms behind it.
        let group = [view(20, 4.0), view(100, 7.0)];
        let run = [(1, 4), (1, 4), (1, 4), (1, 4), (1, 4), (2, 7)];
        assert_eq!(bound(&mut Daps::default(), &group, 12), [run, run].concat());
    }

    #[test]
    fn the_horizon_is_the_least_common_multiple() {
        // 20 and 30 ms: delays 10 and 15, arrivals at 10, 15, 20, 30 and 30.
        let group = [view(30, 2.0), view(20, 3.0)];
        assert_eq!(bound(&mut Daps::default(), &group, 5), [(2, 3), (1, 2), (2, 3), (2, 3), (1, 2)]);
        assert_eq!(common_multiple(12, 32, 1000), 96);
        assert_eq!(common_multiple(49, 50, 800), 800, "cut off");
    }

    #[test]
    fn the_next_run_waits_for_the_last_to_go_out() {
        let mut daps = Daps::default();
        let mut group = [view(20, 4.0), view(100, 7.0)];
        bound(&mut daps, &group, 6);
        group[0].queued = 1;
        assert_eq!(daps.choose(Demand::New, &group, &Context::default()), Decision::Blocked);
        group[0].queued = 0;
        assert_eq!(bound(&mut daps, &group, 1), [(1, 4)]);
    }

    #[test]
    fn one_that_fails_or_starts_slowly_after_a_loss_takes_no_part() {
        let mut group = [view(20, 4.0), view(100, 7.0), view(50, 5.0)];
        group[1].ssthresh = 20.0;
        let arrivals = bound(&mut Daps::default(), &group, 7);
        assert!(arrivals.iter().all(|&(on, _)| on != 2), "{arrivals:?}");
        let mut daps = Daps::default();
        group[1].ssthresh = f64::INFINITY;
        bound(&mut daps, &group, 1);
        group[0].potentially_failed = true;
        assert!(bound(&mut daps, &group, 5).iter().all(|&(on, _)| on != 1));
    }
}
