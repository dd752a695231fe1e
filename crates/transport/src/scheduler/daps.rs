//! DAPS: delay-aware packet scheduling (Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli 2014; Sarwar 2013).

use std::collections::VecDeque;

use super::dmptcp::candidates;
use super::{Context, Decision, Demand, MinRtt, PacketScheduler, SubflowSet};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

/// Data is bound for a whole run so that it arrives in order: a subflow with one-way delay d brings a window at d, 2d, 3d, …,
/// and the run ends with the least common multiple of the delays. Whatever arrives earlier carries what comes earlier in
/// the stream; at one time the shorter path comes first. Windows are those of the beginning. The next run is made when
/// nothing of the last one waits, so that what happens in a run is answered after it.
///
/// A window leaves once every round trip, though, so that it arrives at d, 3d, 5d, … where the way back takes as long:
/// `windows = "rtt"` orders by these times.
///
/// A subflow in slow start after a loss takes no part, nor does one that does not answer; where only one takes part, and
/// for data that another subflow carried, it is [`MinRtt`].
#[derive(Debug, Default)]
pub struct Daps {
    linux: bool,
    /// Windows are counted once every round trip.
    by_rtt: bool,
    /// Subflows in the order of arrival, with the segments that each brings.
    run: VecDeque<(usize, u64)>,
    order: Vec<(u64, usize)>,
    /// Of the kernel's form, by subflow: the window smoothed over round trips, and when it is looked at next.
    smoothed: Vec<(f64, Instant)>,
}

impl Algorithm for Daps {
    const ABOUT: About = About::new(
        "daps",
        "assigns runs of segments to subflows so that they arrive in order",
        "Kuhn 2014; Sarwar 2013",
    )
    .with(Capability::BindsAhead)
    .parameters(&[
        Parameter::variant(
            "as printed, or as its kernel code (\"linux\"): delays in steps of 4 ms, smoothed windows, also in \
                     slow start",
        ),
        Parameter::word(
            "windows",
            "delay",
            &["delay", "rtt"],
            "how often a path delivers a window: every one-way delay, as printed, or every round trip",
        ),
    ]);
}

impl Make for Daps {
    fn make(given: &Given, _: &Origin) -> Self {
        Daps { linux: given.is_linux(), by_rtt: given.word("windows") == "rtt", ..Daps::default() }
    }
}

/// Delays count in milliseconds.
const TICK: Duration = Duration::from_millis(1);
/// The kernel's round to multiples of so many.
const KERNEL_TICKS: u64 = 4;
/// The kernel's windows follow by so much of a change every round trip.
const KERNEL_GAIN: f64 = 1.0 / 8.0;
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
    /// The one-way delay of a subflow, in ticks.
    fn delay(&self, view: &View) -> u64 {
        let half = view.srtt / 2;
        if self.linux {
            let ticks = half / TICK;
            return ((ticks + KERNEL_TICKS / 2) / KERNEL_TICKS * KERNEL_TICKS).max(1);
        }
        ((half + TICK / 2) / TICK).max(1)
    }

    /// What a subflow's window counts for.
    fn window(&self, r: usize, view: &View) -> u64 {
        let window = if self.linux { self.smoothed.get(r).map_or(view.cwnd, |&(window, _)| window) } else { view.cwnd };
        (window as u64).max(1)
    }

    /// Follows the windows, once every round trip of each.
    fn smooth(&mut self, group: &[View], now: Instant) {
        self.smoothed.resize(group.len(), (0.0, Instant::ZERO));
        for (view, (window, next_at)) in group.iter().zip(&mut self.smoothed) {
            if view.active && now >= *next_at {
                *window += (view.cwnd - *window) * if *window > 0.0 { KERNEL_GAIN } else { 1.0 };
                *next_at = now + view.srtt;
            }
        }
    }

    /// A run over the subflows `among`.
    fn plan(&mut self, among: SubflowSet, group: &[View]) {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend((0..group.len()).filter(|&r| among.contains(r)).map(|r| (self.delay(&group[r]), r)));
        order.sort_by_key(|&(delay, r)| (delay, group[r].srtt, r));
        let longest = order.last().map_or(1, |&(delay, _)| delay);
        let end = order.iter().fold(1, |end, &(delay, _)| common_multiple(end, delay, LONGEST * longest));
        // Window k arrives at k·d, or, once a round trip of 2·d, at (2k − 1)·d.
        let (every, end) = if self.by_rtt { (2, 2 * end) } else { (1, end) };
        let before = |delay: u64| (every - 1) * delay;
        let due = |now: u64, delay: u64| (now + before(delay)).is_multiple_of(every * delay);
        let mut now = 0;
        loop {
            // The next arrivals.
            let next = |&(delay, _): &(u64, usize)| {
                ((now + before(delay)) / (every * delay) + 1) * every * delay - before(delay)
            };
            now = order.iter().map(next).min().unwrap_or(u64::MAX);
            if now > end {
                break;
            }
            for &(_, r) in order.iter().filter(|&&(delay, _)| due(now, delay)) {
                self.run.push_back((r, self.window(r, &group[r])));
            }
        }
        self.order = order;
    }
}

impl PacketScheduler for Daps {
    fn name(&self) -> &'static str {
        "daps"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let all = candidates(group);
        let mut among = all;
        if self.linux {
            self.smooth(group, context.now);
        }
        for (r, view) in group.iter().enumerate() {
            if !self.linux && view.in_slow_start() && view.ssthresh.is_finite() {
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
        View { srtt: Duration::from_millis(srtt_ms), active: true, ..View::new(cwnd, 1000) }
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
    fn by_round_trips_the_slow_window_is_in_the_middle() {
        // Arrivals at 10, 30, 50, 70 and 90 ms, and at 50 ms.
        let group = [view(20, 4.0), view(100, 7.0)];
        let mut daps = Daps { by_rtt: true, ..Daps::default() };
        let run = [(1, 4), (1, 4), (1, 4), (2, 7), (1, 4), (1, 4)];
        assert_eq!(bound(&mut daps, &group, 18), [run, run, run].concat());
        // 20 and 30 ms in 60: 10, 15, 30, 45, 50.
        let group = [view(30, 2.0), view(20, 3.0)];
        let mut daps = Daps { by_rtt: true, ..Daps::default() };
        assert_eq!(bound(&mut daps, &group, 5), [(2, 3), (1, 2), (2, 3), (1, 2), (2, 3)]);
    }

    #[test]
    fn the_kernels_delays_come_in_steps_of_4_ms_and_its_windows_follow_slowly() {
        // 9 and 51 ms as 8 and 52: 13 windows of one in 104 ms.
        let mut group = [view(18, 4.0), view(102, 8.0)];
        let mut daps = Daps { linux: true, ..Daps::default() };
        let run = bound(&mut daps, &group, 15);
        assert_eq!(run.iter().filter(|&&(on, _)| on == 1).count(), 13, "{run:?}");
        assert_eq!(&run[5..8], &[(1, 4), (2, 8), (1, 4)]);
        // 8 + (16 − 8)/8 a round trip later; also in slow start after a loss.
        group[1].cwnd = 16.0;
        group[1].ssthresh = 20.0;
        daps.smooth(&group, Instant::from_millis(102));
        assert_eq!(daps.window(1, &group[1]), 9);
        daps.smooth(&group, Instant::from_nanos(203_999_999));
        assert_eq!(daps.window(1, &group[1]), 9, "once every round trip");
        assert!(bound(&mut daps, &group, 15).contains(&(2, 9)));
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

    #[test]
    fn delays_are_rounded_to_ticks_and_windows_to_whole_segments() {
        let delay = |srtt_us: u64, linux| {
            Daps { linux, ..Daps::default() }
                .delay(&View { srtt: Duration::from_nanos(srtt_us * 1_000), ..view(0, 4.0) })
        };
        assert_eq!([20_800, 21_200, 400].map(|srtt_us| delay(srtt_us, false)), [10, 11, 1]);
        assert_eq!([18_000, 20_000, 2_000].map(|srtt_us| delay(srtt_us, true)), [8, 12, 1]);
        assert_eq!(Daps::default().window(0, &view(20, 0.5)), 1);
        assert_eq!(Daps::default().window(0, &view(20, 4.9)), 4);
    }

    #[test]
    fn the_shortest_delay_of_one_tick_has_its_first_window() {
        let group = [view(2, 4.0), view(4, 7.0)];
        assert_eq!(bound(&mut Daps::default(), &group, 3), [(1, 4), (1, 4), (2, 7)]);
    }

    #[test]
    fn what_cannot_be_bound_ahead_goes_as_min_rtt_has_it() {
        let group = [view(20, 4.0), view(100, 7.0)];
        let again = Demand::Reinjection { tried: SubflowSet::one(0) };
        let context = Context { unsent_bytes: 9_000, available_bytes: 9_000, ..Context::default() };
        assert_eq!(Daps::default().choose(again, &group, &context), MinRtt.choose(again, &group, &context));
        let sent = Decision::Send { on: SubflowSet::one(0), burst: 1 };
        assert_eq!(Daps::default().choose(Demand::New, &group[..1], &context), sent, "one path");
        let slow_start = group.map(|view| View { ssthresh: 20.0, ..view });
        assert_eq!(Daps::default().choose(Demand::New, &slow_start, &context), sent, "none takes part");
        // One that takes part beside one that does not is bound to.
        assert_eq!(bound(&mut Daps::default(), &[group[0], slow_start[1]], 1), [(1, 4)]);
    }

    #[test]
    fn a_window_is_bound_in_parts_when_less_is_written() {
        let group = [view(20, 4.0), view(100, 7.0)];
        let mut daps = Daps::default();
        let mut bytes = |available_bytes| {
            let context = Context { unsent_bytes: available_bytes, available_bytes, ..Context::default() };
            match daps.choose(Demand::New, &group, &context) {
                Decision::Bind { bytes, .. } => bytes,
                other => panic!("{other:?}"),
            }
        };
        // Of four segments two, one that is not full, and the last.
        assert_eq!([2_500, 500, 9_000, 9_000].map(&mut bytes), [2_000, 1_000, 1_000, 4_000]);
    }
}
