//! What the main loop holds at a time.

use super::*;
use crate::parts::{MBIT, MS, SECOND, link, lossy, named, tcp, with_links};
use network::loss;
use scenario::Plugins;
use scenario::description::{Application as Content, Arrivals, Connection, Limit, LossConfig, Protocol, Size};

fn description(content: Content, protocol: Protocol) -> Description {
    let loss = LossConfig::Bernoulli(loss::Bernoulli { probability: 0.02 });
    let links = ["a", "b"].map(|name| lossy(link(name, 10 * MBIT, 5 * MS, Limit::Packets(20)), loss));
    let mut description = with_links(crate::parts::description(60 * SECOND), links.into());
    let paths = if protocol == Protocol::Tcp { vec![0] } else { vec![0, 1] };
    description.connections =
        vec![Connection { paths, protocol, path_manager: named("fullmesh"), ..tcp("c", 0, content) }];
    description
}

/// The world at the end of the run.
fn end(description: &Description) -> World<'_> {
    let mut world = World::new(description, &Plugins::default()).unwrap();
    world.run(&mut |_| true).unwrap();
    world
}

#[test]
fn connections_that_are_over_leave_their_places() {
    let flows = Content::Flows {
        size: Size::Exponential { mean_bytes: 5_000 },
        arrivals: Arrivals::Poisson { rate_per_s: 30.0 },
    };
    let requests = Content::Requests { size_bytes: 5_000, limit_ns: None };
    for (content, protocol) in [(requests, Protocol::Tcp), (flows.clone(), Protocol::Tcp), (flows, Protocol::Mptcp)] {
        let description = description(content.clone(), protocol);
        let world = end(&description);
        let begun = world.runtime.applications[0].record.done.begun;
        assert!(begun > 500, "{begun}");
        // At 2 % loss some wait for timeouts of a second and more.
        assert!(world.transfers.len() < 150, "{} of {begun} {content:?} {protocol:?}", world.transfers.len());
        assert!(world.fabric.subflows.len() < 300, "{}", world.fabric.subflows.len());
        assert_eq!(world.endpoints.len(), 2 * world.transfers.len());
        assert_eq!(world.runtime.applications[0].transfers.len() + world.free.len(), world.transfers.len());
        let connections = world.hosts.each_ref().map(Host::connection_count);
        assert!(connections.iter().all(|&count| count <= world.transfers.len()), "{connections:?}");
    }
}

#[test]
fn ten_thousand_flows_take_no_more_memory_than_those_of_the_moment() {
    let flows = Content::Flows {
        size: Size::Exponential { mean_bytes: 5_000 },
        arrivals: Arrivals::Poisson { rate_per_s: 100.0 },
    };
    for protocol in [Protocol::Tcp, Protocol::Mptcp] {
        let mut description = description(flows.clone(), protocol);
        description.duration_ns = 105_000_000_000;
        description.through_wire = false;
        let world = end(&description);
        let begun = world.runtime.applications[0].record.done.begun;
        assert!(begun > 10_000, "{begun}");
        let connections = world.hosts.each_ref().map(Host::connection_count);
        assert!(connections.iter().all(|&count| count < 250), "{connections:?} of {begun} {protocol:?}");
        assert!(world.transfers.len() < 250, "{}", world.transfers.len());
        assert!(world.fabric.subflows.len() < 500, "{}", world.fabric.subflows.len());
    }
}

#[test]
fn new_addresses_come_when_the_ports_are_used_up() {
    let description = description(Content::Requests { size_bytes: 100, limit_ns: None }, Protocol::Mptcp);
    let mut world = World::new(&description, &Plugins::default()).unwrap();
    assert_eq!((world.callers[0], world.addresses), ((0, CLIENT_PORT), 2));
    world.run(&mut |_| true).unwrap();
    // 64 connections to a port range, 2 addresses to a connection.
    let begun = world.runtime.applications[0].record.done.begun;
    let (first_address, port) = world.callers[0];
    assert_eq!(u64::from(first_address), 2 * (begun / 64));
    assert_eq!(world.addresses, first_address + 2);
    assert_eq!(u64::from((port - CLIENT_PORT) / PORTS_EACH), begun % 64);
    assert!(begun > 500, "{begun}");
}

#[test]
fn a_run_without_addresses_left_ends() {
    let description = description(Content::Requests { size_bytes: 100, limit_ns: None }, Protocol::Tcp);
    let mut world = World::new(&description, &Plugins::default()).unwrap();
    world.callers[0].1 = u16::MAX;
    world.addresses = CLIENT_ADDRESS_LIMIT;
    let error = world.run(&mut |_| true).unwrap_err();
    assert_eq!(error.to_string(), "at 0 ns of virtual time there are too many connections: no address is left");
}
