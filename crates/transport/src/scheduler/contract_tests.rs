//! The built-in schedulers conform, and schedulers broken in one way each are caught.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::{Choice, MinRtt};
use super::*;
use crate::algorithm::Value;
use crate::plugin::Origin;
use crate::time::Instant;

#[test]
fn the_built_in_schedulers_conform() {
    for choice in Choice::samples() {
        assert_eq!(check(|| Box::new(choice.make(&Origin::alone(1)))), Ok(()), "{choice:?}");
    }
    let waiting = [("segments", Value::Whole(7)), ("cwnd_limited", Value::Flag(false))];
    let waiting = Choice::with("round-robin", waiting).unwrap();
    assert_eq!(check(|| Box::new(waiting.make(&Origin::alone(1)))), Ok(()));
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    SendsNothing,
    SendsNowhere,
    SendsBeyond,
    FillsWindows,
    UsesBackups,
    RepeatsItself,
    NeverSends,
    WaitsForEver,
    WaitsForThePast,
    RemembersOthers,
    BindsNothing,
    BindsBeyond,
    BindsToTheGone,
    BindsToBackups,
    BindsToTheDead,
    RepeatsWhatHasArrived,
    RepeatsForEver,
    PassesOverAll,
    Penalises,
}

static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// `MinRtt` with one fault.
#[derive(Debug)]
struct Broken(Fault, u64);

impl PacketScheduler for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let send = |r: usize| Decision::Send { on: SubflowSet::one(r), burst: 1 };
        let good = MinRtt.choose(demand, group, context);
        let bind = |r: Option<usize>| {
            r.map_or(good, |r| Decision::Bind { on: SubflowSet::one(r), bytes: context.available_bytes })
        };
        match self.0 {
            Fault::SendsNothing => Decision::Send { on: SubflowSet::one(0), burst: 0 },
            Fault::SendsNowhere => Decision::Send { on: SubflowSet::default(), burst: 1 },
            Fault::SendsBeyond => send(group.len()),
            Fault::FillsWindows => (0..group.len()).find(|&r| group[r].active).map_or(good, send),
            Fault::UsesBackups if demand != Demand::New => good,
            Fault::UsesBackups => (0..group.len()).find(|&r| usable(&group[r])).map_or(good, send),
            Fault::RepeatsItself => MinRtt.choose(Demand::New, group, context),
            Fault::NeverSends => Decision::Blocked,
            Fault::WaitsForEver => Decision::Wait { until: Instant::NEVER },
            Fault::WaitsForThePast => Decision::Wait { until: context.now },
            Fault::RemembersOthers if self.1 % 2 == 1 => {
                let last = (0..group.len()).rev().find(|&r| usable(&group[r]) && !group[r].backup);
                if demand == Demand::New { last.map_or(good, send) } else { good }
            }
            Fault::RemembersOthers => good,
            Fault::BindsNothing => Decision::Bind { on: SubflowSet::one(0), bytes: 0 },
            Fault::BindsBeyond => Decision::Bind { on: SubflowSet::one(group.len()), bytes: 1 },
            Fault::BindsToTheGone => bind((0..group.len()).find(|&r| !group[r].active)),
            Fault::BindsToBackups => bind((0..group.len()).find(|&r| group[r].active && !group[r].potentially_failed)),
            Fault::BindsToTheDead => bind((0..group.len()).find(|&r| group[r].active && group[r].potentially_failed)),
            Fault::RepeatsWhatHasArrived => Decision::Repeat {
                on: SubflowSet::one(0),
                from: context.acknowledged_bytes - 1,
                to: context.sent_bytes,
            },
            Fault::RepeatsForEver => match (0..group.len()).find(|&r| usable(&group[r]) && !group[r].backup) {
                Some(r) if context.outstanding_bytes() > 0 => Decision::Repeat {
                    on: SubflowSet::one(r),
                    from: context.acknowledged_bytes,
                    to: context.acknowledged_bytes + 1,
                },
                _ => good,
            },
            Fault::PassesOverAll => Decision::Pass,
            Fault::Penalises => Decision::Penalise { subflows: SubflowSet::one(0) },
        }
    }
}

#[test]
fn broken_schedulers_are_caught() {
    let expected = [
        (Fault::SendsNothing, "it sends on at least one subflow, one segment or more"),
        (Fault::SendsNowhere, "it sends on at least one subflow, one segment or more"),
        (Fault::SendsBeyond, "the subflow exists"),
        (Fault::FillsWindows, "the subflow can take a segment"),
        (Fault::UsesBackups, "a backup carries data only where no other subflow works"),
        (Fault::RepeatsItself, "a reinjection goes to a subflow that has not carried the data"),
        (Fault::NeverSends, "with nothing under way it sends, or names a time"),
        (Fault::WaitsForEver, "with nothing under way it sends, or names a time"),
        (Fault::WaitsForThePast, "a wait ends later than now"),
        (Fault::RemembersOthers, "the same questions have the same answers"),
        (Fault::BindsNothing, "it sends on at least one subflow, one segment or more"),
        (Fault::BindsBeyond, "the subflow exists"),
        (Fault::BindsToTheGone, "data is bound to what is established"),
        (Fault::BindsToBackups, "a backup carries data only where no other subflow works"),
        (Fault::BindsToTheDead, "data is bound to one at least that is not suspected dead"),
        (Fault::RepeatsWhatHasArrived, "what is sent again was sent and is not acknowledged"),
        (Fault::RepeatsForEver, "binding comes to an end"),
        (Fault::PassesOverAll, "new data is not passed over"),
        (Fault::Penalises, "windows are halved only when nothing can be sent"),
    ];
    for (fault, rule) in expected {
        let found = check(|| Box::new(Broken(fault, CONNECTIONS.fetch_add(1, Ordering::Relaxed))));
        assert_eq!(found.map_err(|v| v.rule), Err(rule), "{fault:?}");
    }
}
