//! What the kernel does, event by event, worked out by hand from its documentation and seen on kernels 6.1 to 6.18.

use super::super::testing::{ask, closed, remote};
use super::*;
use crate::path_manager::{LocalAddress, RemoteAddress};
use crate::time::Instant;

/// An endpoint of this number with these flags.
fn endpoint(id: u8, flags: &str) -> Endpoint {
    let has = |word: &str| flags.split_whitespace().any(|each| each == word);
    let flags = Flags {
        subflow: has("subflow"),
        signal: has("signal"),
        backup: has("backup"),
        fullmesh: has("fullmesh"),
        laminar: has("laminar"),
    };
    Endpoint { id, is_first: has("first"), flags, port: None }
}

fn host(limits: (u8, u8), endpoints: &[(u8, &str)]) -> Settings {
    let endpoints = endpoints
        .iter()
        .map(|&(id, flags)| {
            let mut each = endpoint(id, flags);
            each.is_first = flags.split_whitespace().any(|word| word == "first");
            each
        })
        .collect();
    let limits = Limits { subflows: limits.0, add_addr_accepted: limits.1 };
    Settings { limits, endpoints, ..Settings::untouched(Kernel::V6_12) }
}

/// A connection in which every join succeeds, unless it is told otherwise.
struct Play {
    manager: Linux,
    remote: Vec<RemoteAddress>,
    open: Vec<Ids>,
}

impl Play {
    fn of(settings: &Settings) -> Self {
        Play { manager: Linux::new(settings), remote: vec![remote(0)], open: vec![FIRST] }
    }

    fn hear(&mut self, event: PathEvent) -> Vec<PathAction> {
        let local: Vec<LocalAddress> = (0..9).map(super::super::testing::local).collect();
        let context =
            PathContext { now: Instant::ZERO, initiator: true, local: &local, remote: &self.remote, open: &self.open };
        let mut actions = ask(&mut self.manager, event, &context);
        if actions.pop_if(|last| matches!(last, PathAction::WakeAt { .. })).is_some() {
            actions.extend(ask(&mut self.manager, PathEvent::Timer, &context));
        }
        for action in &actions {
            if let PathAction::Join { local_id, remote_id, .. } = *action {
                self.open.push((local_id, remote_id));
            }
        }
        actions
    }

    fn announce(&mut self, remote_id: u8) -> Vec<PathAction> {
        self.remote.push(remote(remote_id));
        self.hear(PathEvent::AddressAdded { remote_id })
    }

    fn end(&mut self, local_id: u8, remote_id: u8) -> Vec<PathAction> {
        self.open.retain(|&ids| ids != (local_id, remote_id));
        self.hear(closed(local_id, remote_id))
    }
}

fn join(local_id: u8, remote_id: u8) -> PathAction {
    PathAction::Join { local_id, remote_id, backup: false }
}

const BEGIN: PathEvent = PathEvent::FullyEstablished;

#[test]
fn an_endpoint_fullmesh_of_6_1_opens_a_subflow_for_each_that_exists() {
    let told = host((8, 0), &[(1, "subflow"), (2, "subflow fullmesh"), (3, "subflow fullmesh")]);
    let old = Settings { kernel: Kernel::V6_1, ..told.clone() };
    // The first, then one more, then as many as there are: 2 and 4. Seen on 6.1.192.
    let ids = [1, 2, 2, 3, 3, 3, 3].map(|id| join(id, 0));
    assert_eq!(Play::of(&old).hear(BEGIN), ids);
    assert_eq!(Play::of(&told).hear(BEGIN), [1, 2, 3].map(|id| join(id, 0)));
    let limited = Settings { limits: Limits { subflows: 3, ..old.limits }, ..old };
    assert_eq!(Play::of(&limited).hear(BEGIN), [1, 2, 2].map(|id| join(id, 0)));
}

#[test]
fn a_host_that_was_told_nothing_opens_nothing_and_takes_two() {
    let mut play = Play::of(&Settings::untouched(Kernel::V6_12));
    assert!(play.hear(BEGIN).is_empty());
    assert!(play.announce(1).is_empty(), "add_addr_accepted is 0");
}

#[test]
fn endpoints_are_used_in_their_order_up_to_the_limit() {
    let all = [(1, "subflow"), (2, "subflow backup"), (3, "subflow")];
    let mut play = Play::of(&host((2, 0), &all));
    assert_eq!(play.hear(BEGIN), [join(1, 0), PathAction::Join { local_id: 2, remote_id: 0, backup: true }]);
    // The limit is for those that are there: the third endpoint has its turn when one goes, and the first never again.
    assert_eq!(play.end(1, 0), [join(3, 0)]);
    assert!(play.end(3, 0).is_empty());
    let mut none = Play::of(&host((0, 0), &all));
    assert!(none.hear(BEGIN).is_empty());
}

#[test]
fn the_endpoint_of_the_first_subflow_opens_none_and_a_backup_is_told() {
    let mut play = Play::of(&host((2, 0), &[(1, "first subflow backup"), (2, "subflow")]));
    let told = PathAction::SetBackup { local_id: 0, remote_id: 0, backup: true };
    assert_eq!(play.hear(BEGIN), [told, join(2, 0)]);
}

#[test]
fn a_join_that_fails_makes_room_for_the_next_endpoint() {
    let mut play = Play::of(&host((1, 0), &[(1, "subflow"), (2, "subflow")]));
    assert_eq!(play.hear(BEGIN), [join(1, 0)]);
    assert_eq!(play.end(1, 0), [join(2, 0)]);
    assert!(play.end(2, 0).is_empty());
}

#[test]
fn addresses_are_announced_one_after_another() {
    let mut play = Play::of(&host((2, 0), &[(4, "signal"), (5, "signal")]));
    let announce = |local_id| PathAction::Announce { local_id, port: None };
    assert_eq!(play.hear(BEGIN), [announce(4)]);
    assert_eq!(play.hear(PathEvent::AddressEchoed { local_id: 4 }), [announce(5)]);
    assert!(play.hear(PathEvent::AddressEchoed { local_id: 5 }).is_empty());
}

#[test]
fn an_announced_address_is_joined_from_where_the_routing_says() {
    let mut settings = host((2, 1), &[]);
    settings.sources = vec![(remote(5).address.ip(), 3)];
    let mut play = Play::of(&settings);
    play.hear(BEGIN);
    assert_eq!(play.announce(5), [join(3, 5)]);
    assert!(play.hear(PathEvent::AddressAdded { remote_id: 5 }).is_empty(), "a subflow leads there");
    assert!(play.announce(6).is_empty(), "one address is accepted");
}

/// An announcement that comes with what establishes MPTCP is dealt with first, and may take the last subflow.
#[test]
fn an_announcement_in_the_same_segment_goes_first() {
    let mut manager = Linux::new(&host((1, 1), &[(1, "subflow")]));
    let (open, known) = ([FIRST], [remote(0), remote(5)]);
    let context = PathContext { now: Instant::from_nanos(7), initiator: true, local: &[], remote: &known, open: &open };
    assert_eq!(ask(&mut manager, BEGIN, &context), [PathAction::WakeAt { at: Instant::from_nanos(7) }]);
    assert_eq!(ask(&mut manager, PathEvent::AddressAdded { remote_id: 5 }, &context), [join(0, 5)]);
    assert!(ask(&mut manager, PathEvent::Timer, &context).is_empty(), "the limit is reached");
}

/// With a limit of 0 and nothing to announce the kernel never looks which endpoint is the first subflow's.
#[test]
fn an_endpoint_that_was_never_looked_for_is_withdrawn_by_its_own_number() {
    let mut play = Play::of(&host((0, 0), &[(3, "first subflow")]));
    play.hear(BEGIN);
    assert_eq!(play.hear(PathEvent::LocalAddressRemoved { local_id: 0 }), [PathAction::Withdraw { local_id: 3 }]);
}

#[test]
fn a_withdrawn_address_makes_room_for_another() {
    let mut play = Play::of(&host((2, 1), &[]));
    play.hear(BEGIN);
    assert_eq!(play.announce(5), [join(0, 5)]);
    let removed = play.hear(PathEvent::AddressRemoved { remote_id: 5 });
    assert_eq!(removed, [PathAction::Close { local_id: 0, remote_id: 5 }]);
    play.open.retain(|&ids| ids != (0, 5));
    assert_eq!(play.announce(6), [join(0, 6)]);
}

#[test]
fn a_full_mesh_joins_every_address_from_every_endpoint() {
    let all = [(1, "first subflow fullmesh"), (2, "subflow fullmesh")];
    let mut play = Play::of(&host((8, 8), &all));
    assert_eq!(play.hear(BEGIN), [join(2, 0)]);
    assert_eq!(play.announce(5), [join(0, 5), join(2, 5)]);
    let mut few = Play::of(&host((2, 8), &all));
    assert_eq!(few.hear(BEGIN), [join(2, 0)]);
    assert_eq!(few.announce(5), [join(0, 5)], "two in all");
}

#[test]
fn a_server_with_flag_c_is_joined_at_what_it_announces_from_the_endpoints() {
    let mut play = Play::of(&host((2, 0), &[(1, "first subflow"), (2, "subflow")]));
    play.remote.clear();
    assert!(play.hear(BEGIN).is_empty());
    assert_eq!(play.announce(7), [join(2, 7)]);
    let mut open = Play::of(&host((2, 0), &[(2, "subflow")]));
    open.hear(BEGIN);
    assert!(open.announce(7).is_empty(), "without the flag the limit of 0 holds");
}

#[test]
fn laminar_endpoints_join_announced_addresses_one_each() {
    let all = [(1, "first laminar"), (2, "laminar"), (3, "laminar")];
    let mut settings = host((8, 8), &all);
    settings.kernel = Kernel::V6_18;
    let mut play = Play::of(&settings);
    assert!(play.hear(BEGIN).is_empty());
    assert_eq!(play.announce(5), [join(2, 5)]);
    assert_eq!(play.announce(6), [join(3, 6)]);
    assert!(play.announce(7).is_empty(), "none is free");
    settings.kernel = Kernel::V6_12;
    let mut older = Play::of(&settings);
    older.hear(BEGIN);
    assert_eq!(older.announce(5), [join(0, 5)], "6.12 knows no such endpoints");
}

#[test]
fn an_endpoint_that_goes_and_comes_back_is_used_again() {
    let mut play = Play::of(&host((2, 0), &[(1, "first subflow"), (2, "subflow"), (3, "signal")]));
    play.hear(BEGIN);
    assert_eq!(play.hear(PathEvent::LocalAddressRemoved { local_id: 2 }), [PathAction::Withdraw { local_id: 2 }]);
    play.open.retain(|&ids| ids.0 != 2);
    assert_eq!(play.hear(PathEvent::LocalAddressAdded { local_id: 2 }), [join(2, 0)]);
    assert_eq!(play.hear(PathEvent::LocalAddressRemoved { local_id: 0 }), [PathAction::Withdraw { local_id: 0 }]);
    play.open.retain(|&ids| ids.0 != 0);
    assert_eq!(play.hear(PathEvent::LocalAddressAdded { local_id: 0 }), [join(0, 0)]);
    assert!(play.hear(PathEvent::LocalAddressRemoved { local_id: 8 }).is_empty(), "there is no endpoint for it");
}

/// A law for any settings: a host never counts more subflows than its limit, but for one joined without an endpoint.
#[test]
fn the_limit_holds_whatever_the_endpoints() {
    let words = ["subflow", "signal", "backup", "fullmesh", "first"];
    for seed in 0..500_u64 {
        let mut draw = crate::draw::Draw(seed);
        let endpoints: Vec<(u8, String)> = (1..=draw.below(6) as u8)
            .map(|id| (id, words.iter().filter(|_| draw.below(2) == 0).copied().collect::<Vec<_>>().join(" ")))
            .collect();
        let endpoints: Vec<(u8, &str)> = endpoints.iter().map(|(id, flags)| (*id, flags.as_str())).collect();
        let limits = (draw.below(9) as u8, draw.below(3) as u8);
        let mut play = Play::of(&host(limits, &endpoints));
        play.hear(BEGIN);
        for step in 0..20 {
            match draw.below(3) {
                0 => drop(play.announce(20 + step)),
                1 if play.open.len() > 1 => {
                    let (local_id, remote_id) = play.open[1 + draw.below(play.open.len() as u64 - 1) as usize];
                    play.end(local_id, remote_id);
                }
                _ => drop(play.hear(PathEvent::AddressEchoed { local_id: 1 })),
            }
            let extra = play.open.len() - usize::from(play.open.contains(&FIRST));
            assert!(extra <= usize::from(limits.0) + usize::from(limits.1), "seed {seed}: {:?}", play.open);
        }
    }
}
