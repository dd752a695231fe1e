//! Everything on every subflow ("redundant" of the 2017 kernel; Frömmgen 2016).

use super::{Context, Decision, Demand, MinRtt, PacketScheduler, SubflowSet, usable};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::congestion::View;
use crate::plugin::Origin;

/// Every subflow carries the whole stream, each at its own pace; what the DATA_ACK covers is done for all. New data is bound
/// to all of them when the first one with room has nothing else to send; a subflow that joins first carries what is
/// under way. Backups take part when no other subflow works. A reinjection, which another subflow carries in any case,
/// comes last, in the order of [`MinRtt`].
#[derive(Debug, Default)]
pub struct Redundant {
    /// Subflows that have, or are to have, all that is not acknowledged.
    members: SubflowSet,
}

impl Algorithm for Redundant {
    const ABOUT: About =
        About::new("redundant", "sends the whole stream on every subflow", "Linux mptcp.org “redundant”")
            .with(Capability::Redundant);
}

impl Make for Redundant {
    fn make(_: &Given, _: &Origin) -> Self {
        Redundant::default()
    }
}

impl Redundant {
    /// The subflows that take part now; the others begin anew when they come back.
    fn take_part(&mut self, group: &[View]) -> SubflowSet {
        let only_backups = !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
        let mut all = SubflowSet::default();
        for (r, view) in group.iter().enumerate() {
            // One that does not answer keeps its place, to go on when it does.
            if view.active && (!view.backup || only_backups) {
                all.insert(r);
            }
        }
        self.members.0 &= all.0;
        all
    }

    /// What the subflows that are new among them are to carry first.
    fn welcome(&mut self, all: SubflowSet, context: &Context) -> Option<Decision> {
        let fresh = SubflowSet(all.0 & !self.members.0);
        self.members = all;
        let (from, to) = (context.acknowledged_bytes, context.sent_bytes);
        (fresh.0 != 0 && from < to).then_some(Decision::Repeat { on: fresh, from, to })
    }
}

impl PacketScheduler for Redundant {
    fn name(&self) -> &'static str {
        "redundant"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let all = self.take_part(group);
        if let Some(repeat) = self.welcome(all, context) {
            return repeat;
        }
        let mut with_room = (0..group.len()).filter(|&r| all.contains(r) && usable(&group[r]));
        match demand {
            Demand::New => match with_room.next() {
                Some(r) if group[r].queued == 0 => {
                    let bytes = u64::from(group[r].mss).min(context.available_bytes);
                    Decision::Bind { on: all, bytes }
                }
                _ => Decision::Blocked,
            },
            Demand::Reinjection { .. } => {
                let new = context.unsent_bytes > 0 && context.free_window_bytes > 0;
                if with_room.any(|r| new || group[r].queued > 0) {
                    return Decision::Pass;
                }
                MinRtt.choose(demand, group, context)
            }
        }
    }

    fn when_idle(&mut self, group: &[View], context: &Context) -> Decision {
        let all = self.take_part(group);
        self.welcome(all, context).unwrap_or(Decision::Blocked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Duration, Instant};

    fn view(in_flight: u32, queued: u32) -> View {
        View { srtt: Duration::from_nanos(1), in_flight, queued, active: true, ..View::new(10.0, 1000) }
    }

    const ASKED: Context = Context {
        now: Instant::from_nanos(1),
        available_bytes: 5_000,
        unsent_bytes: 5_000,
        free_window_bytes: 9_000,
        ..NONE
    };
    const NONE: Context = Context {
        now: Instant::ZERO,
        place: 0,
        available_bytes: 0,
        acknowledged_bytes: 0,
        sent_bytes: 0,
        unsent_bytes: 0,
        free_window_bytes: 0,
        window_bytes: 0,
        window_blocks: 0,
        flow_bytes: None,
        ended: false,
        subflows: &[],
    };

    #[test]
    fn a_segment_goes_to_all_when_the_first_with_room_has_caught_up() {
        let mut redundant = Redundant::default();
        let choose = |redundant: &mut Redundant, group: &[View]| redundant.choose(Demand::New, group, &ASKED);
        let both = Decision::Bind { on: SubflowSet(3), bytes: 1000 };
        assert_eq!(choose(&mut redundant, &[view(3, 0), view(10, 4)]), both);
        assert_eq!(choose(&mut redundant, &[view(10, 0), view(3, 0)]), both);
        assert_eq!(choose(&mut redundant, &[view(10, 0), view(3, 2)]), Decision::Blocked);
        assert_eq!(choose(&mut redundant, &[view(10, 0), view(10, 0)]), Decision::Blocked);
    }

    #[test]
    fn one_that_joins_or_takes_over_begins_with_what_is_under_way() {
        let mut redundant = Redundant::default();
        let context = Context { acknowledged_bytes: 2_000, sent_bytes: 7_000, ..ASKED };
        let backup = View { backup: true, ..view(0, 0) };
        let repeat = |r| Decision::Repeat { on: SubflowSet::one(r), from: 2_000, to: 7_000 };
        assert_eq!(
            redundant.choose(Demand::New, &[view(0, 0)], &ASKED),
            Decision::Bind { on: SubflowSet(1), bytes: 1000 }
        );
        assert_eq!(redundant.when_idle(&[view(10, 0), view(0, 0)], &context), repeat(1));
        assert_eq!(redundant.when_idle(&[view(10, 0), view(0, 0)], &context), Decision::Blocked);
        assert_eq!(redundant.when_idle(&[view(10, 0), backup], &context), Decision::Blocked);
        let failed = View { potentially_failed: true, ..view(10, 0) };
        assert_eq!(redundant.choose(Demand::New, &[failed, backup], &context), repeat(1));
        assert_eq!(redundant.choose(Demand::New, &[view(10, 0), backup], &context), Decision::Blocked);
    }

    #[test]
    fn a_reinjection_comes_last() {
        let mut redundant = Redundant::default();
        let again = Demand::Reinjection { tried: SubflowSet::one(0) };
        let nothing_new = Context { unsent_bytes: 0, ..ASKED };
        let group = [view(0, 0), view(10, 3)];
        assert_eq!(redundant.choose(again, &group, &ASKED), Decision::Pass);
        assert_eq!(redundant.choose(again, &group, &nothing_new), Decision::Send { on: SubflowSet::one(0), burst: 1 });
        assert_eq!(redundant.choose(again, &[view(0, 1), view(10, 3)], &nothing_new), Decision::Pass);
    }
}
