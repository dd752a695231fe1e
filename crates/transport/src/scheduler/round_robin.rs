//! The subflows in turn: "roundrobin" of the 2017 kernel (Chauvenne 2017 §2.2.1).

use super::{Context, Decision, Demand, PacketScheduler, SubflowSet, usable};
use crate::algorithm::{About, Algorithm, Given, Make, Parameter};
use crate::congestion::View;
use crate::plugin::Origin;

/// Each subflow in turn carries `segments` segments. One whose window is full is skipped (`cwnd_limited`), or the
/// turn waits for it.
#[derive(Debug)]
pub struct RoundRobin {
    segments: u32,
    cwnd_limited: bool,
    turn: usize,
    left: u32,
}

impl Algorithm for RoundRobin {
    const ABOUT: About =
        About::new("round-robin", "each subflow in turn", "Linux mptcp.org “roundrobin”").parameters(&[
            Parameter::whole("segments", 1, [1, 255], "segments per turn"),
            Parameter::flag("cwnd_limited", true, "skip a subflow whose window is full instead of waiting for it"),
        ]);
}

impl Make for RoundRobin {
    fn make(given: &Given, _: &Origin) -> Self {
        RoundRobin::new(given.whole("segments") as u32, given.flag("cwnd_limited"))
    }
}

impl RoundRobin {
    /// `segments` at least 1.
    #[must_use]
    pub fn new(segments: u32, cwnd_limited: bool) -> Self {
        RoundRobin { segments: segments.max(1), cwnd_limited, turn: 0, left: segments.max(1) }
    }
}

impl PacketScheduler for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn choose(&mut self, demand: Demand, group: &[View], _context: &Context) -> Decision {
        let only_backups = !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
        let takes_part = |v: &View| v.active && !v.potentially_failed && (only_backups || !v.backup);
        if let Demand::Reinjection { tried } = demand {
            // What failed elsewhere does not wait for its turn.
            let fresh = |&r: &usize| usable(&group[r]) && takes_part(&group[r]);
            let on = (0..group.len()).filter(fresh).min_by_key(|&r| tried.contains(r));
            return on.map_or(Decision::Blocked, |r| Decision::Send { on: SubflowSet::one(r), burst: 1 });
        }
        // Whose turn it is, when that one is gone or has had its share, passes on; once round is enough.
        for step in 0..=group.len() {
            let r = (self.turn + step) % group.len().max(1);
            let Some(view) = group.get(r).filter(|v| takes_part(v)) else { continue };
            if step == 0 && self.left == 0 {
                continue;
            }
            if view.has_room() {
                self.left = if step == 0 { self.left - 1 } else { self.segments - 1 };
                self.turn = r;
                return Decision::Send { on: SubflowSet::one(r), burst: 1 };
            }
            if !self.cwnd_limited {
                return Decision::Blocked;
            }
        }
        Decision::Blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn view(in_flight: u32) -> View {
        View { srtt: Duration::from_nanos(1), in_flight, active: true, ..View::new(10.0, 1420) }
    }

    fn turns(rr: &mut RoundRobin, group: &[View], n: usize) -> Vec<Option<usize>> {
        let context = Context { unsent_bytes: 1, free_window_bytes: 1, ..Context::default() };
        (0..n)
            .map(|_| match rr.choose(Demand::New, group, &context) {
                Decision::Send { mut on, burst: 1 } => on.pop(),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn one_or_several_segments_in_turn() {
        let group = [view(0), view(0), view(0)];
        assert_eq!(turns(&mut RoundRobin::new(1, true), &group, 4), [Some(0), Some(1), Some(2), Some(0)]);
        assert_eq!(turns(&mut RoundRobin::new(2, true), &group, 5), [Some(0), Some(0), Some(1), Some(1), Some(2)]);
    }

    #[test]
    fn a_full_window_is_skipped_or_waited_for() {
        let group = [view(0), view(10), view(0)];
        assert_eq!(turns(&mut RoundRobin::new(1, true), &group, 3), [Some(0), Some(2), Some(0)]);
        assert_eq!(turns(&mut RoundRobin::new(1, false), &group, 3), [Some(0), None, None]);
    }

    #[test]
    fn a_single_subflow_has_every_turn() {
        assert_eq!(turns(&mut RoundRobin::new(1, true), &[view(0)], 3), [Some(0); 3]);
        let gone = View { active: false, ..view(0) };
        assert_eq!(turns(&mut RoundRobin::new(1, true), &[gone, view(0)], 2), [Some(1); 2]);
        assert_eq!(turns(&mut RoundRobin::new(1, true), &[gone], 1), [None]);
    }

    #[test]
    fn a_backup_has_turns_only_when_no_other_works() {
        let backup = View { backup: true, ..view(0) };
        let failed = View { potentially_failed: true, ..view(0) };
        let closed = View { active: false, ..view(0) };
        assert_eq!(turns(&mut RoundRobin::new(1, true), &[view(0), backup], 2), [Some(0), Some(0)]);
        assert_eq!(turns(&mut RoundRobin::new(1, true), &[failed, backup], 2), [Some(1), Some(1)]);
        assert_eq!(turns(&mut RoundRobin::new(1, true), &[closed, backup], 2), [Some(1), Some(1)]);
    }

    #[test]
    fn what_is_sent_again_goes_to_the_first_fresh_subflow_with_room() {
        let again = |group: &[View], tried| {
            RoundRobin::new(2, false).choose(Demand::Reinjection { tried }, group, &Context::default())
        };
        let first = super::super::SubflowSet::one(0);
        let on = |r| Decision::Send { on: super::super::SubflowSet::one(r), burst: 1 };
        assert_eq!(again(&[view(0), view(0)], first), on(1));
        assert_eq!(again(&[view(0), view(10)], first), on(0), "the fresh one is full");
        assert_eq!(again(&[view(10), view(10)], first), Decision::Blocked);
        assert_eq!(again(&[view(10), View { backup: true, ..view(0) }], first), Decision::Blocked);
    }
}
