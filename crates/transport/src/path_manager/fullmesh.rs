//! A subflow from every local address to every address of the peer (Chauvenne 2017 §2.2.2).

use super::{PathAction, PathContext, PathEvent, PathPolicy};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

/// A pair that lost its subflow is tried again after this time, then after twice as long, and so on.
const RETRY: Duration = Duration::from_secs(1);
/// The interval grows so many times: to 64 s.
const DOUBLINGS: u32 = 6;
/// So many attempts in a row; a subflow that lasted a minute begins a new row.
const ATTEMPTS: u32 = 8;
const LASTED: Duration = Duration::from_secs(60);

/// A pair of addresses that has, or had, a subflow.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ids: (u8, u8),
    backup: bool,
    attempts: u32,
    established_at: Instant,
    /// When to try again; `u64::MAX`: not.
    retry_at: Instant,
}

/// The initiator joins from each of its addresses to each of the peer's, once it may, and to each that is announced
/// later. A pair whose subflow is lost is tried again, at once when no subflow is left, else after 1 s, 2 s, … 64 s, at
/// most eight times in a row. A pair whose subflow was closed in order, or reset for good (MP_TCPRST without T, RFC 8684
/// §3.6), is not, until the peer announces the address again. An own address that is gone is withdrawn, and joined from
/// again when it is back. The side that accepted the connection joins nothing; it
/// announces its addresses.
#[derive(Debug, Default)]
pub struct Fullmesh {
    begun: bool,
    pairs: Vec<Pair>,
}

impl Algorithm for Fullmesh {
    const ABOUT: About = About::new("fullmesh", "a subflow over every path", "Linux mptcp.org “fullmesh”")
        .with(Capability::InKernel)
        .parameters(&[Parameter::flag(
            "at_once",
            false,
            "open all subflows with the first, with keys known in advance: not RFC 8684, but what some simulators do",
        )
        .fixed_in_kernel()]);
}

impl Make for Fullmesh {
    fn make(_: &Given, _: &Origin) -> Self {
        Fullmesh::default()
    }
}

impl Fullmesh {
    fn pair(&mut self, ids: (u8, u8)) -> &mut Pair {
        let i = match self.pairs.iter().position(|p| p.ids == ids) {
            Some(i) => i,
            None => {
                let pair =
                    Pair { ids, backup: false, attempts: 0, established_at: Instant::ZERO, retry_at: Instant::NEVER };
                self.pairs.push(pair);
                self.pairs.len() - 1
            }
        };
        &mut self.pairs[i]
    }

    /// Joins every pair that has no subflow, of one address of the peer or of all.
    fn join(&mut self, only: Option<u8>, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        self.join_from(None, only, context, actions);
    }

    /// As [`Self::join`], of one own address `from` or of all.
    fn join_from(
        &mut self,
        from: Option<u8>,
        only: Option<u8>,
        context: &PathContext<'_>,
        actions: &mut Vec<PathAction>,
    ) {
        for local in context.local.iter().filter(|a| from.is_none_or(|id| a.id == id)) {
            for remote in context.remote.iter().filter(|r| only.is_none_or(|id| r.id == id)) {
                let ids = (local.id, remote.id);
                if local.address.is_ipv4() == remote.address.is_ipv4() && !context.open.contains(&ids) {
                    let pair = self.pair(ids);
                    pair.backup = local.backup;
                    (pair.attempts, pair.retry_at) = (0, Instant::NEVER);
                    actions.push(PathAction::Join { local_id: ids.0, remote_id: ids.1, backup: local.backup });
                }
            }
        }
    }

    fn closed(&mut self, ids: (u8, u8), transient: bool, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        if context.open.contains(&ids) {
            return;
        }
        let (now, alone) = (context.now, context.open.is_empty());
        let pair = self.pair(ids);
        if !pair.established_at.is_zero() && now - pair.established_at >= LASTED {
            pair.attempts = 0;
        }
        pair.established_at = Instant::ZERO;
        if !transient || pair.attempts == ATTEMPTS {
            pair.retry_at = Instant::NEVER;
            return;
        }
        let wait =
            if alone && pair.attempts == 0 { Duration::ZERO } else { RETRY.doubled(pair.attempts.min(DOUBLINGS)) };
        pair.attempts += 1;
        pair.retry_at = now + wait;
        actions.push(PathAction::WakeAt { at: pair.retry_at });
    }

    fn retry(&mut self, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        for pair in &mut self.pairs {
            if pair.retry_at <= context.now {
                pair.retry_at = Instant::NEVER;
                let known = context.local.iter().any(|a| a.id == pair.ids.0)
                    && context.remote.iter().any(|a| a.id == pair.ids.1);
                if known && !context.open.contains(&pair.ids) {
                    let (local_id, remote_id) = pair.ids;
                    actions.push(PathAction::Join { local_id, remote_id, backup: pair.backup });
                }
            } else if pair.retry_at < Instant::NEVER {
                actions.push(PathAction::WakeAt { at: pair.retry_at });
            }
        }
    }
}

impl PathPolicy for Fullmesh {
    fn name(&self) -> &'static str {
        "fullmesh"
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        if !context.initiator {
            if event == PathEvent::FullyEstablished {
                let others = context.local.iter().filter(|a| a.id != 0);
                actions.extend(others.map(|a| PathAction::Announce { local_id: a.id, port: None }));
            }
            return;
        }
        match event {
            PathEvent::FullyEstablished => {
                self.begun = true;
                self.join(None, context, actions);
            }
            PathEvent::AddressAdded { remote_id } if self.begun => self.join(Some(remote_id), context, actions),
            PathEvent::AddressAdded { .. } | PathEvent::AddressEchoed { .. } => {}
            PathEvent::AddressRemoved { remote_id } => self.pairs.retain(|p| p.ids.1 != remote_id),
            PathEvent::SubflowEstablished { local_id, remote_id } => {
                self.pair((local_id, remote_id)).established_at = context.now.max(Instant::from_nanos(1));
            }
            PathEvent::SubflowClosed { local_id, remote_id, transient } => {
                self.closed((local_id, remote_id), transient, context, actions);
            }
            PathEvent::LocalAddressRemoved { local_id } => {
                self.pairs.retain(|p| p.ids.0 != local_id);
                actions.push(PathAction::Withdraw { local_id });
            }
            PathEvent::LocalAddressAdded { local_id } if self.begun => {
                self.join_from(Some(local_id), None, context, actions);
            }
            PathEvent::LocalAddressAdded { .. } => {}
            PathEvent::Timer => self.retry(context, actions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LocalAddress;
    use super::super::testing::{ask, closed, join, local, remote};
    use super::*;

    #[test]
    fn joins_all_pairs_but_those_that_are_open() {
        let addresses = [local(0), local(1), LocalAddress { backup: true, ..local(2) }];
        let context = PathContext {
            now: Instant::ZERO,
            initiator: true,
            local: &addresses,
            remote: &[remote(0)],
            open: &[(0, 0)],
        };
        let mut mesh = Fullmesh::default();
        let backup = PathAction::Join { local_id: 2, remote_id: 0, backup: true };
        assert_eq!(ask(&mut mesh, PathEvent::FullyEstablished, &context), [join(1, 0), backup]);
        let both = [remote(0), remote(7)];
        let open = [(0, 0), (1, 0), (2, 0), (0, 7)];
        let context = PathContext { remote: &both, open: &open, ..context };
        let actions = ask(&mut mesh, PathEvent::AddressAdded { remote_id: 7 }, &context);
        assert_eq!(actions, [join(1, 7), PathAction::Join { local_id: 2, remote_id: 7, backup: true }]);
    }

    #[test]
    fn an_address_that_is_gone_is_withdrawn_and_joined_from_when_it_is_back() {
        let addresses = [local(0), local(1)];
        let context = PathContext {
            now: Instant::ZERO,
            initiator: true,
            local: &addresses,
            remote: &[remote(0)],
            open: &[(0, 0)],
        };
        let mut mesh = Fullmesh::default();
        let back = PathEvent::LocalAddressAdded { local_id: 1 };
        assert!(ask(&mut mesh, back, &context).is_empty(), "before the peer has proved that it speaks MPTCP");
        assert_eq!(ask(&mut mesh, PathEvent::FullyEstablished, &context), [join(1, 0)]);
        let gone = PathEvent::LocalAddressRemoved { local_id: 1 };
        assert_eq!(ask(&mut mesh, gone, &context), [PathAction::Withdraw { local_id: 1 }]);
        assert_eq!(ask(&mut mesh, back, &context), [join(1, 0)]);
        let there = PathContext { open: &[(0, 0), (1, 0)], ..context };
        assert!(ask(&mut mesh, back, &there).is_empty(), "it has a subflow");
    }

    #[test]
    fn the_accepting_side_announces_and_does_not_join() {
        let addresses = [local(0), local(1)];
        let context = PathContext {
            now: Instant::ZERO,
            initiator: false,
            local: &addresses,
            remote: &[remote(0)],
            open: &[(0, 0)],
        };
        let mut mesh = Fullmesh::default();
        let announce = PathAction::Announce { local_id: 1, port: None };
        assert_eq!(ask(&mut mesh, PathEvent::FullyEstablished, &context), [announce]);
        assert!(ask(&mut mesh, closed(0, 0), &context).is_empty());
    }

    /// Waits of 1, 2, 4, … 64, 64 s: eight attempts, then none.
    #[test]
    fn a_lost_subflow_is_tried_again_ever_later_and_given_up() {
        let addresses = [local(0), local(1)];
        let mut context = PathContext {
            now: Instant::from_secs(1),
            initiator: true,
            local: &addresses,
            remote: &[remote(0)],
            open: &[(0, 0)],
        };
        let mut mesh = Fullmesh::default();
        ask(&mut mesh, PathEvent::FullyEstablished, &context);
        ask(&mut mesh, PathEvent::SubflowEstablished { local_id: 1, remote_id: 0 }, &context);
        for wait_s in [1, 2, 4, 8, 16, 32, 64, 64] {
            let at = context.now + Duration::from_secs(wait_s);
            assert_eq!(ask(&mut mesh, closed(1, 0), &context), [PathAction::WakeAt { at }]);
            context.now = at - Duration::NANOSECOND;
            assert_eq!(ask(&mut mesh, PathEvent::Timer, &context), [PathAction::WakeAt { at }], "too early");
            context.now = at;
            assert_eq!(ask(&mut mesh, PathEvent::Timer, &context), [join(1, 0)]);
        }
        assert!(ask(&mut mesh, closed(1, 0), &context).is_empty());
        // A subflow that lasted begins again.
        ask(&mut mesh, PathEvent::SubflowEstablished { local_id: 1, remote_id: 0 }, &context);
        context.now += LASTED;
        let at = context.now + Duration::from_secs(1);
        assert_eq!(ask(&mut mesh, closed(1, 0), &context), [PathAction::WakeAt { at }]);
    }

    #[test]
    fn the_last_subflow_is_replaced_at_once_and_one_closed_for_good_is_not() {
        let addresses = [local(0)];
        let context = PathContext {
            now: Instant::from_nanos(5),
            initiator: true,
            local: &addresses,
            remote: &[remote(0)],
            open: &[],
        };
        let mut mesh = Fullmesh::default();
        let for_good = PathEvent::SubflowClosed { local_id: 0, remote_id: 0, transient: false };
        assert!(ask(&mut mesh, for_good, &context).is_empty());
        assert_eq!(ask(&mut mesh, closed(0, 0), &context), [PathAction::WakeAt { at: Instant::from_nanos(5) }]);
        assert_eq!(ask(&mut mesh, PathEvent::Timer, &context), [join(0, 0)]);
    }
}
