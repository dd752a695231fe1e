//! OTIAS: out of order for in-order arrival (Yang, Wang, Amer 2014).

use super::dmptcp::candidates;
use super::{Context, Decision, Demand, MinRtt, PacketScheduler, SubflowSet};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::time::Duration;

/// Each segment goes where it will arrive first, also behind a full window: of a subflow with `queued` segments bound and
/// `free` that its window still allows, after ⌈(queued − free)/w⌉ round trips and half of one. What is bound stays. Data
/// that another subflow carried goes to one with room, in the order of [`MinRtt`].
#[derive(Debug)]
pub struct Otias {
    linux: bool,
}

impl Algorithm for Otias {
    const ABOUT: About = About::new(
        "otias",
        "sends each segment on the subflow where it arrives first, even if its window is full",
        "Yang 2014",
    )
    .with(Capability::BindsAhead)
    .parameters(&[Parameter::variant(
        "as printed, or as in the authors' kernel code (\"linux\"): the segment itself is counted too",
    )]);
}

impl Make for Otias {
    fn make(given: &Given, _: &Origin) -> Self {
        Otias::new(given.is_linux())
    }
}

impl Otias {
    /// As printed; or `linux`, as the kernel code has it that its paper and Dong's compare: the segment in question counts.
    #[must_use]
    pub fn new(linux: bool) -> Self {
        Otias { linux }
    }

    /// When one segment more would arrive, from now.
    fn arrival(&self, view: &View) -> Duration {
        let before = view.queued + u32::from(self.linux);
        let rounds = before.saturating_sub(view.free_segments()).div_ceil((view.cwnd as u32).max(1));
        u64::from(rounds) * view.srtt + view.srtt / 2
    }
}

impl PacketScheduler for Otias {
    fn name(&self) -> &'static str {
        "otias"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let among = candidates(group);
        // Over one path binding ahead would only keep data from the paths to come.
        if demand != Demand::New || among.0.count_ones() < 2 {
            return MinRtt.choose(demand, group, context);
        }
        let best = (0..group.len()).filter(|&r| among.contains(r)).min_by_key(|&r| self.arrival(&group[r]));
        match best {
            Some(r) => Decision::Bind { on: SubflowSet::one(r), bytes: u64::from(group[r].mss) },
            None => Decision::Blocked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(srtt_ms: u64, in_flight: u32, queued: u32) -> View {
        View { srtt: Duration::from_millis(srtt_ms), in_flight, queued, active: true, ..View::new(10.0, 1000) }
    }

    fn chosen(linux: bool, group: &[View]) -> SubflowSet {
        let context = Context { unsent_bytes: 9_000, available_bytes: 9_000, ..Context::default() };
        match Otias::new(linux).choose(Demand::New, group, &context) {
            Decision::Bind { on, bytes: 1000 } => on,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_full_fast_subflow_is_chosen_until_its_queue_takes_longer_than_the_slow_path() {
        // 20 and 100 ms, windows of 10, the fast one full: behind q segments ⌈q/10⌉·20 + 10 ms, on the slow one 50 ms.
        for (queued, fast) in [(0, true), (10, true), (20, true), (21, false), (50, false)] {
            assert_eq!(chosen(false, &[view(20, 10, queued), view(100, 0, 0)]).contains(0), fast, "{queued}");
        }
        // Counting the segment itself: ⌈(q + 1)/10⌉.
        for (queued, fast) in [(0, true), (19, true), (20, false)] {
            assert_eq!(chosen(true, &[view(20, 10, queued), view(100, 0, 0)]).contains(0), fast, "{queued}");
        }
    }

    #[test]
    fn a_window_with_room_counts_before_the_queue() {
        // Four free of ten: nothing waits behind three that are bound.
        assert_eq!(Otias::new(true).arrival(&view(20, 6, 3)), Duration::from_millis(10));
        assert_eq!(Otias::new(true).arrival(&view(20, 6, 4)), Duration::from_millis(30));
        assert_eq!(Otias::new(false).arrival(&view(20, 6, 4)), Duration::from_millis(10));
        // A window of one: two round trips before the third.
        assert_eq!(Otias::new(false).arrival(&View { cwnd: 1.0, ..view(20, 1, 2) }), Duration::from_millis(50));
    }

    #[test]
    fn what_is_sent_again_never_goes_behind_a_full_window() {
        let demand = Demand::Reinjection { tried: SubflowSet::one(0) };
        let decision = Otias::new(false).choose(demand, &[view(20, 10, 0), view(100, 0, 0)], &Context::default());
        assert_eq!(decision, Decision::Send { on: SubflowSet::one(1), burst: 1 });
    }
}
