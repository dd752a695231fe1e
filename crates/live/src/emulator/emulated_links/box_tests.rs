//! Middleboxes on the routes of the emulated links, with time passed by the test.

use std::net::SocketAddr;

use network::middlebox;
use scenario::description::MiddleboxConfig;
use wire::{Ecn, Flags, IpHeader, Options, Segment};

use super::tests::{CLIENT, SERVER, description, network, packet, send};
use super::*;

const CLIENT_END: SocketAddr = SocketAddr::new(CLIENT, 4_000);
const SERVER_END: SocketAddr = SocketAddr::new(SERVER, 80);
/// A packet without data takes 40 µs and 26,666 ns of serialisation, and 15 ms of propagation.
const ARRIVES_NS: u64 = 40_000 + 10_000_000 + 26_666 + 5_000_000;

/// A network with these middleboxes on the first link.
fn with(boxes: &[MiddleboxConfig]) -> Description {
    let mut description = description(r#"{"packets": 50}"#, "");
    description.links[0].middleboxes = boxes.to_vec();
    description
}

fn segment(flags: Flags, seq: u32, payload: &[u8]) -> Segment<Vec<u8>> {
    Segment {
        src_port: 4_000,
        dst_port: 80,
        seq,
        ack: 0,
        flags,
        window: 1_000,
        urgent: 0,
        options: Options::default(),
        payload: payload.to_vec(),
    }
}

fn encoded(source: SocketAddr, destination: SocketAddr, ecn: Ecn, segment: Segment<Vec<u8>>) -> Vec<u8> {
    let segment = Segment { src_port: source.port(), dst_port: destination.port(), ..segment };
    let mut bytes = Vec::new();
    let header = IpHeader { ecn, ..IpHeader::new(source.ip(), destination.ip()) };
    wire::encode(&header, &segment, &mut bytes).unwrap();
    bytes
}

fn up(segment: Segment<Vec<u8>>) -> Vec<u8> {
    encoded(CLIENT_END, SERVER_END, Ecn::NotEct, segment)
}

/// Packets that arrive by `now_ns`: port, time, and the packet, whose checksums must be valid.
fn arrivals(emulated: &mut EmulatedLinks, now_ns: u64) -> Vec<(usize, u64, IpHeader, Segment<Vec<u8>>)> {
    let mut arrived = Vec::new();
    emulated.advance(now_ns, &mut |delivery| {
        let (header, segment) = wire::decode(&delivery.frame[HEADER_LEN..]).expect("a whole packet");
        arrived.push((delivery.port, delivery.due_ns, header, segment));
    });
    arrived
}

#[test]
fn a_nat_hides_the_client_and_answers_find_back() {
    let description = with(&[MiddleboxConfig::Nat(middlebox::nat::Config {})]);
    let network = network();
    let mut emulated = EmulatedLinks::new(&description, &network).unwrap();
    send(&mut emulated, 0, 0, &up(segment(Flags::SYN, 1, b"")));
    let [(1, ARRIVES_NS, header, syn)] = &arrivals(&mut emulated, 100_000_000)[..] else { panic!("one packet") };
    let outside = SocketAddr::new(header.src, syn.src_port);
    assert_eq!(outside, "100.64.0.1:1024".parse().unwrap());
    assert_eq!(network.translations.inside(outside), CLIENT_END);
    let answer = encoded(SERVER_END, outside, Ecn::NotEct, segment(Flags::ACK, 9, b"yes"));
    send(&mut emulated, 100_000_000, 1, &answer);
    let back = arrivals(&mut emulated, 200_000_000);
    let [(0, _, header, data)] = &back[..] else { panic!("{back:?}") };
    assert_eq!((header.dst, data.dst_port, &data.payload[..]), (CLIENT, 4_000, &b"yes"[..]));
    // No flow uses this other port, and the server cannot know the inside address.
    let stranger = SocketAddr::new(outside.ip(), 1_025);
    send(&mut emulated, 200_000_000, 1, &encoded(SERVER_END, stranger, Ecn::NotEct, segment(Flags::ACK, 9, b"")));
    assert_eq!(emulated.unrouted, 1);
    send(&mut emulated, 200_000_000, 1, &encoded(SERVER_END, CLIENT_END, Ecn::NotEct, segment(Flags::ACK, 9, b"")));
    assert_eq!(arrivals(&mut emulated, 300_000_000), []);
    // The server's segments count for the flow under the client's own address.
    let (_, _, flows) = emulated.finish(1_000_000_000);
    assert_eq!(flows.iter().map(|flow| flow.key.destination).collect::<Vec<_>>(), [(CLIENT, 4_000)]);
}

#[test]
fn a_split_segment_arrives_in_parts_and_counts_once() {
    let description = with(&[MiddleboxConfig::Splitting(middlebox::splitting::Config { max_bytes: 400 })]);
    let network = network();
    let mut emulated = EmulatedLinks::new(&description, &network).unwrap();
    assert_eq!(arrivals(&mut emulated, 0), []);
    let bytes: Vec<u8> = (0..900_u32).map(|at| at as u8).collect();
    send(&mut emulated, 0, 0, &up(segment(Flags::ACK, u32::MAX - 500, &bytes)));
    let arrived = arrivals(&mut emulated, 100_000_000);
    let parts: Vec<_> = arrived.iter().map(|(_, _, _, part)| (part.seq, part.payload.len())).collect();
    assert_eq!(parts, [(u32::MAX - 500, 400), (u32::MAX - 100, 400), (299, 100)]);
    assert_eq!(arrived.iter().flat_map(|(_, _, _, part)| part.payload.clone()).collect::<Vec<_>>(), bytes);
    assert_eq!(emulated.in_flight(), 0);
    let (_, _, flows) = emulated.finish(1_000_000_000);
    assert_eq!((flows.len(), flows[0].data_sent, flows[0].data_lost), (1, 1, 0));
}

/// By hand: 140 bytes take 140 µs on the access link and 93,333 ns on the shared link; the second segment follows 5 ms
/// later.
#[test]
fn what_a_box_holds_leaves_at_its_time_and_keeps_its_mark() {
    let description =
        with(&[MiddleboxConfig::Coalescing(middlebox::coalescing::Config { hold_ns: 1_000_000, max_bytes: 9_000 })]);
    let network = network();
    let mut emulated = EmulatedLinks::new(&description, &network).unwrap();
    send(&mut emulated, 0, 0, &up(segment(Flags::SYN, 0, b"")));
    arrivals(&mut emulated, 50_000_000);
    let marked = |seq| encoded(CLIENT_END, SERVER_END, Ecn::Ce, segment(Flags::ACK, seq, &[7; 100]));
    send(&mut emulated, 50_000_000, 0, &marked(1));
    let alone = arrivals(&mut emulated, 90_000_000);
    let [(1, 66_233_333, header, data)] = &alone[..] else { panic!("{alone:?}") };
    assert_eq!((header.ecn, data.payload.len()), (Ecn::Ce, 100));
    // Two segments that come together leave as one, with the mark of the first.
    send(&mut emulated, 100_000_000, 0, &marked(101));
    send(
        &mut emulated,
        100_000_000,
        0,
        &encoded(CLIENT_END, SERVER_END, Ecn::Ect0, segment(Flags::ACK, 201, &[8; 100])),
    );
    let together = arrivals(&mut emulated, 190_000_000);
    let [(1, 115_440_000, header, data)] = &together[..] else { panic!("{together:?}") };
    assert_eq!((header.ecn, data.seq, data.payload.len()), (Ecn::Ce, 101, 200));
    assert_eq!(emulated.in_flight(), 0);
}

/// By hand: the proxy is at the far end of the access link, so its answer crosses only that link.
#[test]
fn what_a_box_sends_back_takes_the_way_back() {
    let description = with(&[MiddleboxConfig::ProactiveAcks(middlebox::proactive_acks::Config {})]);
    let network = network();
    let mut emulated = EmulatedLinks::new(&description, &network).unwrap();
    send(&mut emulated, 0, 0, &up(segment(Flags::SYN, 0, b"")));
    send(
        &mut emulated,
        30_000_000,
        1,
        &encoded(SERVER_END, CLIENT_END, Ecn::NotEct, Segment { ack: 1, ..segment(Flags::SYN | Flags::ACK, 500, b"") }),
    );
    arrivals(&mut emulated, 100_000_000);
    send(&mut emulated, 100_000_000, 0, &up(Segment { ack: 501, ..segment(Flags::ACK, 1, &[1; 60]) }));
    let arrived = arrivals(&mut emulated, 200_000_000);
    let [(1, _, _, data), (0, 120_140_000, header, answer)] = &arrived[..] else { panic!("{arrived:?}") };
    assert_eq!((data.payload.len(), answer.ack, header.src, header.dst), (60, 61, SERVER, CLIENT));
}

#[test]
fn what_is_no_tcp_or_is_damaged_passes_as_it_is() {
    let description = with(&[
        MiddleboxConfig::Nat(middlebox::nat::Config {}),
        MiddleboxConfig::Splitting(middlebox::splitting::Config { max_bytes: 10 }),
    ]);
    let network = network();
    let mut emulated = EmulatedLinks::new(&description, &network).unwrap();
    let mut damaged = up(segment(Flags::ACK, 1, &[1; 60]));
    *damaged.last_mut().unwrap() ^= 1;
    let mut datagram = packet(SERVER);
    datagram[9] = 17;
    for bytes in [damaged, datagram] {
        send(&mut emulated, 0, 0, &bytes);
        let mut arrived = Vec::new();
        emulated.advance(500_000_000, &mut |delivery| arrived.push(delivery.frame[HEADER_LEN..].to_vec()));
        assert_eq!(arrived, [bytes]);
    }
}

/// A scenario may contain a middlebox that makes packets larger than any device accepts. Nothing is written outside
/// their slots.
#[test]
fn what_becomes_too_large_is_dropped_and_counted() {
    let growth_bytes = 65_000;
    let way = scenario::description::Way::Up;
    let description = with(&[MiddleboxConfig::PayloadRewriting(middlebox::payload_rewriting::Config {
        way,
        at_byte: 0,
        growth_bytes,
    })]);
    let network = network();
    let mut emulated = EmulatedLinks::new(&description, &network).unwrap();
    send(&mut emulated, 0, 0, &up(segment(Flags::SYN, 0, b"")));
    arrivals(&mut emulated, 50_000_000);
    send(&mut emulated, 50_000_000, 0, &up(segment(Flags::ACK, 1, &[1; 1_000])));
    assert_eq!(arrivals(&mut emulated, 500_000_000), []);
    assert_eq!(emulated.in_flight(), 0);
}
