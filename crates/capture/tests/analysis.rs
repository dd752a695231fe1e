//! Captures written by hand, packet by packet, with the expected analysis.

use capture::Writer;
use capture::analysis::report::Analysis;
use capture::analysis::{Analyser, Options, laws};
use proptest::prelude::*;
use std::net::SocketAddr;
use wire::{
    DataNumber, Dss, Flags, IpHeader, Mapping, MpCapable, MpJoin, MptcpOption, Options as TcpOptions, RareOptions,
    Segment, Span, Version0,
};

const KEY_A: u64 = 0x0102_0304_0506_0708;
const KEY_B: u64 = 0x1112_1314_1516_1718;
/// SHA-1 of the keys, computed with Python's hashlib: the first 32 bits and the last 64.
const TOKEN_A: &str = "dd5783bc";
/// HMAC-SHA-1, computed with Python's hmac: the responder's first 64 bits, and all of the initiator's.
const HMAC_B: u64 = 0x254c_e9ce_e1c7_cdd7;
const HMAC_A: [u8; 20] = [
    0xea, 0xdd, 0xd7, 0xd4, 0x4f, 0xb1, 0xbe, 0x97, 0xa6, 0x80, 0xf0, 0xe4, 0xc2, 0xfe, 0x89, 0x6b, 0x33, 0x2c, 0x1a,
    0x95,
];
const MS: u64 = 1_000_000;

/// The addresses of a subflow.
#[derive(Clone, Copy)]
struct Flow {
    client: &'static str,
    server: &'static str,
}

const FIRST: Flow = Flow { client: "10.0.0.1:40000", server: "192.0.2.1:80" };
const SECOND: Flow = Flow { client: "10.0.1.1:40001", server: "192.0.2.1:80" };
const CLIENT_ISN: u32 = 1000;
const SERVER_ISN: u32 = u32::MAX - 500;

/// A capture being written.
struct Capture {
    writer: Writer<Vec<u8>>,
}

#[derive(Default)]
struct Sent {
    flags: Flags,
    seq: u32,
    ack: u32,
    len: u32,
    dss: Option<Dss>,
    mptcp: Vec<MptcpOption>,
}

impl Capture {
    fn new() -> Capture {
        let mut writer = Writer::new(Vec::new(), 96).unwrap();
        writer.interface("here").unwrap();
        Capture { writer }
    }

    /// Adds a packet. Numbers are relative: a SYN has 0, the first byte 1.
    fn packet(&mut self, time_ns: u64, flow: Flow, up: bool, sent: Sent) {
        let (from, to) = if up { (flow.client, flow.server) } else { (flow.server, flow.client) };
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        let (own, other) = if up { (CLIENT_ISN, SERVER_ISN) } else { (SERVER_ISN, CLIENT_ISN) };
        let rare = RareOptions { mptcp: sent.mptcp, ..RareOptions::default() };
        let segment = Segment {
            src_port: from.port(),
            dst_port: to.port(),
            seq: own.wrapping_add(sent.seq),
            ack: if sent.flags.ack() { other.wrapping_add(sent.ack) } else { 0 },
            flags: sent.flags,
            window: 1000,
            options: TcpOptions {
                dss: sent.dss,
                rare: (!rare.mptcp.is_empty()).then(|| Box::new(rare)),
                ..TcpOptions::default()
            },
            payload: Span { offset: 0, len: sent.len },
            ..Segment::default()
        };
        let mut bytes = Vec::new();
        wire::encode(&IpHeader::new(from.ip(), to.ip()), &segment, &mut bytes).unwrap();
        self.writer.packet(0, time_ns, &bytes, bytes.len() as u32).unwrap();
    }

    fn handshake(&mut self, at_ns: u64, flow: Flow, options: [Vec<MptcpOption>; 3]) {
        let [syn, syn_ack, ack] = options;
        self.packet(at_ns, flow, true, Sent { flags: Flags::SYN, mptcp: syn, ..Sent::default() });
        let flags = Flags::SYN | Flags::ACK;
        self.packet(at_ns + 10_000, flow, false, Sent { flags, ack: 1, mptcp: syn_ack, ..Sent::default() });
        self.packet(
            at_ns + 20 * MS,
            flow,
            true,
            Sent { flags: Flags::ACK, seq: 1, ack: 1, mptcp: ack, ..Sent::default() },
        );
    }

    fn analyse(self) -> Analysis {
        analyse(&self.writer.into_inner())
    }
}

fn analyse(file: &[u8]) -> Analysis {
    let mut analyser = Analyser::default();
    assert!(analyser.read("by hand", file, &mut |_| true).unwrap());
    let analysis = analyser.finish(Options { series: true, ..Options::default() });
    assert_eq!(laws::violations(&analysis), []);
    analysis
}

fn mapped(dsn: u64, ssn: u32, len: u16) -> Option<Dss> {
    let mapping = Mapping { dsn: DataNumber::short(dsn), ssn, len, checksum: None };
    Some(Dss { mapping: Some(mapping), ..Dss::default() })
}

fn data_ack(dsn: u64) -> Option<Dss> {
    Some(Dss { data_ack: Some(DataNumber::short(dsn)), ..Dss::default() })
}

/// Version 0, captured at the server, which sends 2,000 bytes. The second half is lost, retransmitted and reinjected.
fn version_0() -> Capture {
    let capable = |sender_key, receiver_key| {
        vec![MptcpOption::Version0(Version0::MpCapable { flags: 1, sender_key, receiver_key })]
    };
    let mut capture = Capture::new();
    capture.handshake(0, FIRST, [capable(KEY_A, None), capable(KEY_B, None), capable(KEY_A, Some(KEY_B))]);
    // Computed with Python's hmac with SHA-1, over the concatenations of RFC 6824 §3.2.
    let join = [
        MpJoin::Syn { backup: true, address_id: 3, token: wire::keys::v0::token(KEY_B), nonce: 0x2122_2324 },
        MpJoin::SynAck { backup: false, address_id: 0, hmac: HMAC_B, nonce: 0x3132_3334 },
        MpJoin::Ack { hmac: HMAC_A },
    ];
    capture.handshake(2 * MS, SECOND, join.map(|join| vec![MptcpOption::MpJoin(join)]));
    let first = wire::keys::v0::idsn(KEY_B).wrapping_add(1);
    let data = |seq: u32, dsn: u64, ssn: u32| Sent {
        flags: Flags::ACK,
        seq,
        ack: 1,
        len: 1000,
        dss: mapped(first.wrapping_add(dsn), ssn, 1000),
        ..Sent::default()
    };
    let ack = |ack: u32, dsn: u64| Sent {
        flags: Flags::ACK,
        seq: 1,
        ack,
        dss: data_ack(first.wrapping_add(dsn)),
        ..Sent::default()
    };
    let announced =
        MptcpOption::Version0(Version0::AddAddr { id: 4, address: "192.0.2.9".parse().unwrap(), port: None });
    let announcement = Sent { flags: Flags::ACK, seq: 1, ack: 1, mptcp: vec![announced], ..Sent::default() };
    capture.packet(29 * MS, FIRST, false, announcement);
    capture.packet(30 * MS, FIRST, false, data(1, 0, 1));
    capture.packet(31 * MS, FIRST, false, data(1001, 1000, 1001));
    capture.packet(50 * MS, FIRST, true, ack(1001, 1000));
    capture.packet(231 * MS, FIRST, false, data(1001, 1000, 1001));
    capture.packet(232 * MS, SECOND, false, data(1, 1000, 1));
    capture.packet(260 * MS, SECOND, true, ack(1001, 2000));
    capture
}

#[test]
fn version_0_by_hand() {
    let analysis = version_0().analyse();
    let [connection] = &analysis.connections[..] else { panic!("{:#?}", analysis.connections) };
    assert_eq!((connection.protocol, connection.version, connection.complete), ("mptcp", Some(0), true));
    assert_eq!(connection.client_token.as_deref(), Some(TOKEN_A));
    assert_eq!((connection.client.as_str(), connection.server.as_str()), (FIRST.client, FIRST.server));
    assert_eq!(connection.fallback, None);
    let [up, down] = &connection.streams[..] else { panic!("two directions") };
    assert_eq!((up.segments_sent, up.bytes), (0, 0));
    assert_eq!((down.segments_sent, down.retransmissions, down.reinjections, down.bytes), (4, 1, 1, 2000));
    // Sent at 30 ms and acknowledged at 50 ms; the other half was sent three times.
    let rtt = down.data_ack_rtt.unwrap();
    assert_eq!((rtt.count, rtt.min_s, rtt.mean_s, rtt.p95_s), (1, 0.02, 0.02, 0.02));
    assert_eq!(down.out_of_order_delay, None, "the receiver was not captured");
    let [first, second] = &connection.subflows[..] else { panic!("two subflows") };
    assert_eq!((first.opened_by, first.join_hmac, first.backup), ("client", None, false));
    assert_eq!((second.opened_by, second.join_hmac, second.backup), ("client", Some("valid"), true));
    assert_eq!(second.address_ids, [Some(3), Some(0)]);
    assert_eq!(second.handshake_rtt_s, Some(0.02));
    assert_eq!((first.flows[1].retransmissions, first.flows[1].reinjections), (1, 0));
    assert_eq!((second.flows[1].retransmissions, second.flows[1].reinjections), (0, 1));
    // From 30 to 50 ms, and from 232 to 260 ms.
    assert_eq!(first.flows[1].rtt.unwrap().mean_s, 0.02);
    assert_eq!(second.flows[1].rtt.unwrap().mean_s, 0.028);
    assert_eq!(connection.events[0].text, "address 4: 192.0.2.9");
}

#[test]
fn a_join_that_is_not_genuine_is_found() {
    let mut capture = version_0();
    let third = Flow { client: "10.0.2.1:40002", server: "192.0.2.1:80" };
    let join = [
        MpJoin::Syn { backup: false, address_id: 5, token: wire::keys::v0::token(KEY_B), nonce: 7 },
        MpJoin::SynAck { backup: false, address_id: 0, hmac: HMAC_B, nonce: 8 },
        MpJoin::Ack { hmac: HMAC_A },
    ];
    capture.handshake(300 * MS, third, join.map(|join| vec![MptcpOption::MpJoin(join)]));
    let analysis = capture.analyse();
    assert_eq!(analysis.connections.len(), 1);
    assert_eq!(analysis.connections[0].subflows[2].join_hmac, Some("wrong"));
}

/// Plain TCP with a retransmission.
fn plain() -> Capture {
    let mut capture = Capture::new();
    capture.handshake(0, FIRST, Default::default());
    let data = |seq: u32, len: u32| Sent { flags: Flags::ACK, seq, ack: 1, len, ..Sent::default() };
    let ack = |ack: u32| Sent { flags: Flags::ACK, seq: 1, ack, ..Sent::default() };
    // The sequence numbers wrap within the first segment.
    capture.packet(30 * MS, FIRST, false, data(1, 1000));
    capture.packet(31 * MS, FIRST, false, data(1001, 1000));
    capture.packet(51 * MS, FIRST, true, ack(2001));
    capture.packet(60 * MS, FIRST, false, data(1001, 1000));
    capture.packet(90 * MS, FIRST, false, Sent { flags: Flags::FIN | Flags::ACK, ..data(2001, 0) });
    capture.packet(110 * MS, FIRST, true, ack(2002));
    capture.packet(111 * MS, FIRST, true, Sent { flags: Flags::FIN | Flags::ACK, ..ack(2002) });
    capture
}

#[test]
fn plain_tcp_has_one_subflow_and_its_own_numbers() {
    let analysis = plain().analyse();
    let [connection] = &analysis.connections[..] else { panic!("{:#?}", analysis.connections) };
    let down = &connection.streams[1];
    assert_eq!((connection.protocol, connection.closing.as_str()), ("tcp", "FIN"));
    assert_eq!((down.bytes, down.segments_sent, down.retransmissions, down.reinjections), (2000, 3, 1, 0));
    assert_eq!(connection.subflows[0].flows[1].rtt.unwrap().mean_s, 0.02);
    assert_eq!((down.missed_bytes, down.unmapped_bytes), (0, 0));
}

#[test]
fn an_acknowledgment_of_nothing_acknowledges_nothing() {
    let mut capture = Capture::new();
    let data = |len: u32| Sent { flags: Flags::ACK, seq: 1, ack: 1, len, ..Sent::default() };
    capture.packet(30 * MS, FIRST, false, data(1000));
    // An acknowledgment of the SYN's own number covers no data.
    capture.packet(50 * MS, FIRST, true, Sent { ack: 0, ..data(0) });
    let analysis = capture.analyse();
    // Without a SYN, the sender of the first packet is the client.
    let down = &analysis.connections[0].streams[0];
    assert_eq!((down.bytes, down.segments_sent, down.retransmissions), (1000, 1, 0));
}

#[test]
fn a_server_without_mptcp_makes_it_tcp() {
    let capable = MpCapable { version: 1, flags: 1, sender_key: None, receiver_key: None, data: None };
    let mut capture = Capture::new();
    capture.handshake(0, FIRST, [vec![MptcpOption::MpCapable(capable)], vec![], vec![]]);
    let data = Sent { flags: Flags::ACK, seq: 1, ack: 1, len: 500, ..Sent::default() };
    capture.packet(30 * MS, FIRST, false, data);
    capture.packet(50 * MS, FIRST, true, Sent { flags: Flags::ACK, seq: 1, ack: 501, ..Sent::default() });
    let analysis = capture.analyse();
    let connection = &analysis.connections[0];
    let fallback = connection.fallback.as_ref().unwrap();
    assert!(fallback.reason.contains("the SYN/ACK has no MP_CAPABLE"), "{}", fallback.reason);
    assert_eq!((connection.protocol, connection.streams[1].bytes), ("mptcp", 500));
}

#[test]
fn two_files_of_one_connection_are_one_connection() {
    let whole = version_0().writer.into_inner();
    let mut analyser = Analyser::default();
    for name in ["one", "again"] {
        analyser.read(name, &whole[..], &mut |_| true).unwrap();
    }
    let analysis = analyser.finish(Options::default());
    let down = &analysis.connections[0].streams[1];
    assert_eq!((analysis.connections.len(), down.segments_sent, down.reinjections), (1, 4, 1));
}

proptest! {
    #[test]
    fn changed_bytes_make_nothing_panic(multipath in any::<bool>(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30), end in any::<prop::sample::Index>()) {
        let mut file = if multipath { version_0() } else { plain() }.writer.into_inner();
        for (at, byte) in changes {
            let at = at.index(file.len() - 64) + 64;
            file[at] = byte;
        }
        file.truncate(64 + end.index(file.len() - 63));
        analyse(&file);
    }
}
