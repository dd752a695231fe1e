//! The built-in path managers conform, and path managers broken in one way each are caught.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::{Binder, Choice};
use super::*;
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

#[test]
fn the_built_in_path_managers_conform() {
    for choice in Choice::samples() {
        assert_eq!(check(|| Box::new(choice.make(&Origin::alone(1)))), Ok(()), "{choice:?}");
    }
    assert_eq!(check(|| Box::new(Binder::new(vec![2, 1]))), Ok(()));
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    JoinsWhenAccepting,
    JoinsTooSoon,
    JoinsTheUnknown,
    JoinsForEver,
    IgnoresTheReason,
    ClosesTheUnknown,
    AnnouncesTheUnknown,
    WakesInThePast,
    Floods,
    RemembersOthers,
}

static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Broken(Fault, u64);

impl PathPolicy for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        let join = |local_id, remote_id| PathAction::Join { local_id, remote_id, backup: false };
        let begins = event == PathEvent::FullyEstablished;
        match (self.0, event) {
            (Fault::JoinsWhenAccepting, _) if begins && !context.initiator => actions.push(join(0, 0)),
            (Fault::JoinsTooSoon, PathEvent::AddressAdded { remote_id }) if context.initiator => {
                actions.push(join(0, remote_id));
            }
            (Fault::JoinsTheUnknown, _) if begins && context.initiator => actions.push(join(0, 7)),
            (Fault::JoinsForEver, _) if begins && context.initiator => actions.push(join(0, 0)),
            (Fault::JoinsForEver, PathEvent::SubflowClosed { local_id, remote_id, transient: true })
                if context.initiator && context.remote.iter().any(|r| r.id == remote_id) =>
            {
                actions.push(join(local_id, remote_id));
            }
            (Fault::IgnoresTheReason, _) if begins && context.initiator => actions.push(join(0, 0)),
            (Fault::IgnoresTheReason, PathEvent::SubflowClosed { .. })
                if context.initiator && !context.open.is_empty() =>
            {
                actions.push(join(0, 0));
            }
            (Fault::ClosesTheUnknown, PathEvent::SubflowClosed { .. }) => {
                actions.push(PathAction::Close { local_id: 6, remote_id: 6 });
            }
            (Fault::AnnouncesTheUnknown, _) if begins => actions.push(PathAction::Announce { local_id: 9, port: None }),
            (Fault::WakesInThePast, _) => actions.push(PathAction::WakeAt { at: context.now - Duration::NANOSECOND }),
            (Fault::Floods, _) => actions.extend([PathAction::WakeAt { at: Instant::NEVER }; 100]),
            (Fault::RemembersOthers, _) if begins => {
                actions.push(PathAction::WakeAt {
                    at: context.now + Duration::from_nanos(1) + Duration::from_nanos(self.1),
                });
            }
            _ => {}
        }
    }
}

#[test]
fn broken_path_managers_are_caught() {
    let expected = [
        (Fault::JoinsWhenAccepting, "the side that accepted opens no subflow"),
        (Fault::JoinsTooSoon, "no subflow is opened before MPTCP is fully established"),
        (Fault::JoinsTheUnknown, "a subflow is opened between addresses that are known"),
        (Fault::JoinsForEver, "a path that never works is not tried without end"),
        (Fault::IgnoresTheReason, "a path that was closed for good is not tried again"),
        (Fault::ClosesTheUnknown, "only subflows that are open are closed or change their priority"),
        (Fault::AnnouncesTheUnknown, "only own addresses are announced and withdrawn"),
        (Fault::WakesInThePast, "a wake-up does not lie in the past"),
        (Fault::Floods, "one event has at most 64 actions"),
        (Fault::RemembersOthers, "the same events have the same answers"),
    ];
    for (fault, rule) in expected {
        let found = check(|| Box::new(Broken(fault, CONNECTIONS.fetch_add(1, Ordering::Relaxed))));
        assert_eq!(found.map_err(|v| v.rule), Err(rule), "{fault:?}");
    }
}
