//! Packets over links without a transport: times, drops and counters calculated by hand.

use super::*;
use crate::parts::{MBIT, MS};
use scenario::description::{Limit, Link as LinkDescription, Path};

/// Down 8 Mbit/s (1 µs per byte), up 4 Mbit/s (2 µs per byte), the given delay in both directions; the queue holds two
/// packets.
fn link(name: &str, delay_ns: u64) -> LinkDescription {
    let mut link = crate::parts::link(name, 8 * MBIT, delay_ns, Limit::Packets(2));
    link.up.rate_bps = 4 * MBIT;
    link
}

/// One subflow over links of 1 ms and 5 ms delay.
fn fabric() -> Fabric {
    let description = Description {
        through_wire: false,
        links: vec![link("near", MS), link("far", 5 * MS)],
        paths: vec![Path { name: "both".into(), links: vec![0, 1], reversed: Vec::new() }],
        ..crate::parts::description(1)
    };
    let mut fabric = Fabric::new(&description);
    let end = "10.0.0.1:1".parse().unwrap();
    assert_eq!(fabric.open(Subflow { connection: 3, kind: 0, path: 0, ends: [end; 2], handles: [None; 2] }), 0);
    assert_eq!((fabric.flows[0].to, fabric.flows[1].to), (7, 6), "up to the server, down to the client");
    fabric
}

/// A segment whose packet has `size` bytes.
fn segment(size: u32) -> Segment<Span> {
    Segment { payload: Span { offset: 0, len: size - 40 }, ..Segment::default() }
}

/// Runs until no events are left. Returns time, flow and size of the packets that arrived.
fn arrivals(fabric: &mut Fabric) -> Vec<(u64, u32, u32)> {
    let mut arrivals = Vec::new();
    fabric.queue.set_limit(u64::MAX);
    while let Some((at_ns, link)) = fabric.queue.pop() {
        if let Some(arrived) = fabric.hop::<true>(at_ns, link) {
            let mut segment = Segment::default();
            let (flow, _) = fabric.take(arrived, &mut segment);
            arrivals.push((at_ns, flow, segment.payload.len + 40));
        }
    }
    fabric.assert_conserved();
    arrivals
}

#[test]
fn a_packet_crosses_its_links_in_order_and_against_it() {
    let mut fabric = fabric();
    fabric.send(0, (0, Sending::First), &mut segment(1000), Ecn::NotEct).unwrap();
    fabric.send(0, (1, Sending::First), &mut segment(1000), Ecn::NotEct).unwrap();
    // Down: 1 ms of serialisation on each link, delays 5 and 1 ms. Up: 2 ms of serialisation on each, delays 1 and 5
    // ms.
    assert_eq!(arrivals(&mut fabric), [(8 * MS, 1, 1000), (10 * MS, 0, 1000)]);
    assert_eq!((fabric.packet_hops, fabric.segments_delivered), (4, 2));
    assert_eq!([0, 1, 2, 3].map(|link| fabric.links[link].counters(10 * MS).sent_packets), [1, 1, 1, 1]);
}

#[test]
fn what_does_not_fit_is_lost_and_counted() {
    let mut fabric = fabric();
    fabric.measuring = true;
    for size in [1000, 500, 300] {
        fabric.send(0, (1, Sending::First), &mut segment(size), Ecn::NotEct).unwrap();
    }
    // A packet without data does not count as data, although it is lost too.
    fabric.send(0, (1, Sending::First), &mut segment(40), Ecn::NotEct).unwrap();
    // The second packet waits 1 ms on the far link; on the near one it arrives after the first has left.
    let expected = [(8 * MS, 1, 1000), (8 * MS + MS / 2, 1, 500)];
    assert_eq!(arrivals(&mut fabric), expected);
    assert_eq!((fabric.flows[1].data_sent, fabric.flows[1].data_lost), (3, 1));
    assert_eq!((fabric.sent, fabric.delivered, fabric.lost), (4, 2, 2));
}

#[test]
fn losses_of_packets_sent_during_the_warm_up_do_not_count() {
    let mut fabric = fabric();
    fabric.send(0, (1, Sending::First), &mut segment(1000), Ecn::NotEct).unwrap();
    fabric.measuring = true;
    fabric.send(0, (1, Sending::First), &mut segment(1000), Ecn::NotEct).unwrap();
    let dead = network::Change { dead: Some(true), ..network::Change::default() };
    fabric.change(MS / 2, 2, dead);
    assert_eq!(arrivals(&mut fabric), []);
    assert_eq!((fabric.flows[1].data_sent, fabric.flows[1].data_lost, fabric.lost), (1, 1, 2));
}

#[test]
fn a_change_moves_the_head_of_a_link_in_the_event_queue() {
    let change = |rate_bps| network::Change { rate_bps: Some(rate_bps), ..network::Change::default() };
    // Half of the first millisecond is over; the rest takes half or twice the rate.
    for (rate_bps, first_ns, second_ns) in
        [(4_000_000, 8 * MS + MS / 2, 10 * MS + MS / 2), (16_000_000, 7 * MS + 3 * MS / 4, 8 * MS + 3 * MS / 4)]
    {
        let mut fabric = fabric();
        fabric.send(0, (1, Sending::First), &mut segment(1000), Ecn::NotEct).unwrap();
        fabric.send(0, (1, Sending::First), &mut segment(1000), Ecn::NotEct).unwrap();
        fabric.change(MS / 2, 2, change(rate_bps));
        assert_eq!(arrivals(&mut fabric), [(first_ns, 1, 1000), (second_ns, 1, 1000)], "{rate_bps}");
    }
}

#[test]
fn client_addresses_count_through_10_0_0_0() {
    let text = |index| client_address(index).to_string();
    assert_eq!(text(0), "10.0.0.1");
    assert_eq!(text(254), "10.0.0.255");
    assert_eq!(text(255), "10.0.1.0");
    assert_eq!(text(CLIENT_ADDRESS_LIMIT - 1), "10.255.255.254");
    for index in [0, 1, 255, 65_535, CLIENT_ADDRESS_LIMIT - 1] {
        assert_eq!(client_index(client_address(index)), Some(index));
    }
    assert_eq!(client_index(IpAddr::V4(SERVER_ADDRESS)), None);
}

#[test]
fn a_packet_on_a_link_is_24_bytes() {
    assert_eq!(size_of::<Packet<Tag>>(), 24);
}
