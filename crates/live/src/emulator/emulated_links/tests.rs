//! The emulated links with time passed by the test, and unused devices.

use std::os::fd::OwnedFd;

use super::*;
use crate::emulator::{Captures, Port, Route, Translations};
use crate::offload::HEADER_LEN;
use crate::tun::Tun;

pub const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
pub const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

/// One path over an access link of 8 Mbit/s and 10 ms and a shared link of 12 Mbit/s and 5 ms, both symmetric.
pub fn description(queue: &str, events: &str) -> Description {
    let link = |name: &str, rate_bps: u64, delay_ns: u64| {
        let way = format!(
            r#"{{"rate_bps": {rate_bps}, "trace": null, "delay_ns": {delay_ns}, "loss": {{"kind": "none"}},
                "queue": {{"kind": "drop-tail", "limit": {queue}}}}}"#
        );
        format!(r#"{{"name": "{name}", "down": {way}, "up": {way}, "middleboxes": []}}"#)
    };
    let text = format!(
        r#"{{"duration_ns": 1000000000, "seed": 1, "warmup_ns": 0, "sample_ns": null, "through_wire": false, "traces": [],
            "media": [],
            "links": [{}, {}], "paths": [{{"name": "p", "links": [0, 1], "reversed": []}}], "connections": [],
            "events": [{events}]}}"#,
        link("access", 8_000_000, 10_000_000),
        link("shared", 12_000_000, 5_000_000)
    );
    serde_json::from_str(&text).unwrap()
}

/// Port 0 is the client's and port 1 the server's.
pub fn network() -> Network {
    let device = || Tun::from(OwnedFd::from(std::fs::File::open("/dev/null").unwrap()));
    let port = |destination, down, port| {
        let routes = vec![Route { destination, path: Some(0), down, port }];
        Port { tun: device(), routes, inner: false }
    };
    Network {
        ports: vec![port(SERVER, false, 1), port(CLIENT, true, 0)],
        packet_bytes: 1500,
        captures: Captures::default(),
        translations: Translations::default(),
    }
}

/// An IPv4 packet of 1,000 bytes with TCP data for `destination`.
pub fn packet(destination: IpAddr) -> Vec<u8> {
    let mut packet = vec![0; 1000];
    packet[0] = 0x45;
    packet[9] = 6;
    let IpAddr::V4(octets) = destination else { unreachable!() };
    packet[16..20].copy_from_slice(&octets.octets());
    packet[32] = 0x50;
    packet
}

pub fn send(emulated: &mut EmulatedLinks, now_ns: u64, port: usize, bytes: &[u8]) {
    let slot = emulated.place();
    emulated.memory(slot)[..HEADER_LEN].fill(0);
    emulated.memory(slot)[HEADER_LEN..][..bytes.len()].copy_from_slice(bytes);
    emulated.accept(now_ns, port, slot, bytes.len());
}

fn arrivals(emulated: &mut EmulatedLinks, now_ns: u64) -> Vec<(usize, u64)> {
    let mut arrived = Vec::new();
    emulated.advance(now_ns, &mut |delivery| arrived.push((delivery.port, delivery.due_ns)));
    arrived
}

#[test]
fn a_packet_goes_on_at_the_theoretical_moment_however_late_the_clock_is_read() {
    let description = description(r#"{"packets": 50}"#, "");
    let mut emulated = EmulatedLinks::new(&description, &network()).unwrap();
    send(&mut emulated, 0, 0, &packet(SERVER));
    send(&mut emulated, 0, 0, &packet(SERVER));
    // 1 ms and 10 ms on the access link; 2/3 ms and 5 ms on the shared link, which is idle when the second packet
    // arrives.
    assert_eq!(emulated.next_ns(), 0, "the warm-up ends at once");
    assert_eq!(arrivals(&mut emulated, 16_000_000), []);
    assert_eq!(emulated.next_ns(), 16_666_666);
    // Read much too late; both nevertheless left in time.
    assert_eq!(arrivals(&mut emulated, 500_000_000), [(1, 16_666_666), (1, 17_666_666)]);
    assert_eq!((emulated.in_flight(), emulated.next_ns()), (0, u64::MAX));
}

/// The kernel connects the two ports: the packet is handed over at once, and counted where it first came in.
#[test]
fn a_route_over_no_link_hands_over_at_once() {
    let description = description(r#"{"packets": 50}"#, "");
    let mut network = network();
    for port in &mut network.ports {
        port.routes[0].path = None;
    }
    network.ports[1].inner = true;
    let mut emulated = EmulatedLinks::new(&description, &network).unwrap();
    assert_eq!(arrivals(&mut emulated, 0), []);
    send(&mut emulated, 3, 0, &packet(SERVER));
    send(&mut emulated, 3, 1, &packet(CLIENT));
    assert_eq!(emulated.next_ns(), 3);
    assert_eq!(arrivals(&mut emulated, 3), [(1, 3), (0, 3)]);
    assert_eq!((emulated.in_flight(), emulated.next_ns()), (0, u64::MAX));
    let (links, _, flows) = emulated.finish(1_000_000_000);
    assert_eq!(flows.iter().map(|flow| (flow.key.destination.0, flow.data_sent)).collect::<Vec<_>>(), [(SERVER, 1)]);
    assert!(links.iter().all(|link| link.bytes_sent == 0));
}

/// By hand: each packet takes 0.5 ms and 1 ms of airtime, in turn upwards; the downward one arrives 5.667 ms later.
#[test]
fn a_half_duplex_medium_lets_one_send_at_a_time() {
    let mut description = description(r#"{"packets": 50}"#, "");
    let (share, overhead_ns) = (network::Share::Frames, 500_000);
    let name = "air".into();
    let air = scenario::description::Medium {
        name,
        config: network::MediumConfig { share, overhead_ns, aggregate_packets: 1, longest_ns: 4_000_000 },
    };
    description.media.push(air);
    description.links[0].medium = Some(0);
    let mut emulated = EmulatedLinks::new(&description, &network()).unwrap();
    send(&mut emulated, 0, 0, &packet(SERVER));
    send(&mut emulated, 0, 0, &packet(SERVER));
    send(&mut emulated, 0, 1, &packet(CLIENT));
    assert_eq!(arrivals(&mut emulated, 500_000_000), [(0, 17_166_666), (1, 17_166_666), (1, 18_666_666)]);
    assert_eq!((emulated.in_flight(), emulated.next_ns()), (0, u64::MAX));
}

/// By hand: a shaper of 4 Mbit/s takes 2 ms for 1,000 bytes, and the first packet passes at once; every packet is
/// duplicated after the second link.
#[test]
fn stages_before_and_behind_links() {
    use scenario::description::{DisorderConfig, Limit, QueueConfig, Shaper};
    let mut description = description(r#"{"packets": 50}"#, "");
    let queue = QueueConfig::DropTail(network::queue::drop_tail::Config { limit: Limit::Packets(9) });
    description.links[0].up.shaper = Some(Shaper { rate_bps: 4_000_000, burst_bytes: 1_000, polices: false, queue });
    description.links[1].up.disorder = Some(DisorderConfig { jitter_ns: 0, reorder: 0.0, by_ns: 0, duplicate: 1.0 });
    let mut emulated = EmulatedLinks::new(&description, &network()).unwrap();
    send(&mut emulated, 0, 0, &packet(SERVER));
    send(&mut emulated, 0, 0, &packet(SERVER));
    let [first, second] = [(1, 16_666_666), (1, 18_666_666)];
    assert_eq!(arrivals(&mut emulated, 500_000_000), [first, first, second, second]);
    assert_eq!((emulated.in_flight(), emulated.next_ns()), (0, u64::MAX));
}

#[test]
fn both_ways_have_their_routes_and_other_packets_none() {
    let description = description(r#"{"packets": 50}"#, "");
    let mut emulated = EmulatedLinks::new(&description, &network()).unwrap();
    send(&mut emulated, 0, 1, &packet(CLIENT));
    send(&mut emulated, 0, 1, &packet(SERVER));
    send(&mut emulated, 0, 1, b"no packet");
    assert_eq!(arrivals(&mut emulated, 100_000_000), [(0, 16_666_666)]);
    assert_eq!((emulated.received, emulated.unrouted, emulated.in_flight()), (3, 2, 0));
}

#[test]
fn what_a_queue_drops_counts_for_its_flow_and_gives_its_memory_back() {
    let description = description(r#"{"packets": 2}"#, "");
    let mut emulated = EmulatedLinks::new(&description, &network()).unwrap();
    assert_eq!(arrivals(&mut emulated, 0), []);
    for _ in 0..5 {
        send(&mut emulated, 0, 0, &packet(SERVER));
    }
    assert_eq!(emulated.in_flight(), 2);
    assert_eq!(arrivals(&mut emulated, 100_000_000).len(), 2);
    let (links, _, flows) = emulated.finish(1_000_000_000);
    assert_eq!((flows[0].data_sent, flows[0].data_lost, flows.len()), (5, 3, 1));
    // Two packets of 1,000 bytes upwards in one second at 8 Mbit/s.
    assert_eq!((links[1].drops, links[1].down, links[1].utilization), (3, false, 0.002));
}

#[test]
fn an_event_changes_the_link_at_its_moment_also_when_it_is_seen_late() {
    let event = r#"{"at_ns": 1500000, "link": 0, "down": true, "up": true,
        "set": {"dead": true, "rate_bps": null, "delay_ns": null, "loss": null}}"#;
    let description = description(r#"{"packets": 50}"#, event);
    let mut emulated = EmulatedLinks::new(&description, &network()).unwrap();
    send(&mut emulated, 0, 0, &packet(SERVER));
    send(&mut emulated, 0, 0, &packet(SERVER));
    // The first has left the access link after 1 ms; the second is being sent at 1.5 ms.
    assert_eq!(arrivals(&mut emulated, 900_000_000), [(1, 16_666_666)]);
    assert_eq!(emulated.in_flight(), 0);
}

#[test]
fn a_network_that_does_not_fit_is_refused() {
    let description = description(r#"{"packets": 2}"#, "");
    let mut wrong = network();
    wrong.ports[0].routes[0].path = Some(1);
    assert_eq!(EmulatedLinks::new(&description, &wrong).err().unwrap(), "port 0, route to 10.0.0.2: no path 1");
    let mut wrong = network();
    wrong.ports[0].routes[0].port = 7;
    assert_eq!(EmulatedLinks::new(&description, &wrong).err().unwrap(), "port 0, route to 10.0.0.2: no port 7");
    let mut wrong = network();
    let again = wrong.ports[0].routes[0];
    wrong.ports[0].routes.push(again);
    assert_eq!(EmulatedLinks::new(&description, &wrong).err().unwrap(), "port 0, route to 10.0.0.2: twice");
}
