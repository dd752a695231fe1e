//! Plausible conversations that use every form of every option, as packets: what the tshark test reads, and the seeds
//! of the fuzzer. Keys, numbers and times are fixed.

use std::net::IpAddr;
use wire::{
    AddAddr, DataNumber, Dss, Flags, IpHeader, Mapping, MpCapable, MpJoin, MptcpOption, Options, RareOptions,
    SackBlock, Segment, Span, Timestamps, UnknownOption, Version0, dss_checksum, encode, keys,
};

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Packets in the order they were captured, 5 ms apart.
#[derive(Default)]
pub struct Capture {
    pub packets: Vec<Vec<u8>>,
    /// Keys of client and server in the conversation.
    keys: [u64; 2],
}

impl Capture {
    /// An empty one; the port makes the keys, so that connections can be told apart.
    fn new(client_port: u16) -> Self {
        let key = 0x0102_0304_0506_0000 | u64::from(client_port);
        Capture { packets: Vec::new(), keys: [key, !key] }
    }

    /// The capture as a file (the classic pcap format, microseconds, link type 101: raw IP).
    pub fn to_pcap(&self) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 0x0004_0000, 101] {
            file.extend(word.to_le_bytes());
        }
        for (number, packet) in self.packets.iter().enumerate() {
            let len = packet.len() as u32;
            for word in [0, 5_000 * number as u32, len, len] {
                file.extend(word.to_le_bytes());
            }
            file.extend(packet);
        }
        file
    }

    /// Sends from the given end of the flow; SYN, FIN and content move its sequence number on.
    fn send(&mut self, flow: &mut Flow, from: usize, flags: Flags, mut options: Options, len: u32) -> Span {
        let payload = Span { offset: flow.sent[from], len };
        if flow.timestamps {
            let now = 1000 + 5 * self.packets.len() as u32;
            let echo = if flags.ack() { now - 5 } else { 0 };
            options.timestamps = Some(Timestamps { value: now, echo });
        }
        let segment = Segment {
            src_port: flow.ports[from],
            dst_port: flow.ports[1 - from],
            seq: flow.next[from],
            ack: if flags.ack() { flow.next[1 - from] } else { 0 },
            flags,
            window: 8192,
            urgent: 0,
            options,
            payload,
        };
        self.write(flow, from, &segment);
        flow.next[from] = flow.next[from].wrapping_add(len + u32::from(flags.syn()) + u32::from(flags.fin()));
        flow.sent[from] += u64::from(len);
        payload
    }

    fn write(&mut self, flow: &Flow, from: usize, segment: &Segment<Span>) {
        let mut packet = Vec::new();
        let ip = IpHeader::new(flow.addresses[from], flow.addresses[1 - from]);
        encode(&ip, segment, &mut packet).expect("a segment of the conversation encodes");
        self.packets.push(packet);
    }
}

/// One TCP connection: a subflow.
struct Flow {
    addresses: [IpAddr; 2],
    ports: [u16; 2],
    initial: [u32; 2],
    next: [u32; 2],
    sent: [u64; 2],
    timestamps: bool,
}

impl Flow {
    fn new(client: &str, server: &str, client_port: u16) -> Self {
        let initial = [0x1000_0000 + u32::from(client_port), 0xffff_ff00];
        let addresses = [client, server].map(|address| address.parse().unwrap());
        Flow { addresses, ports: [client_port, 80], initial, next: initial, sent: [0; 2], timestamps: true }
    }

    /// A mapping of what this end sends next: `dsn` in the form wanted, checksum on demand.
    fn mapping(&self, from: usize, dsn: u64, long: bool, len: u16, data_fin: bool, checksum: bool) -> Mapping {
        let content = Span { offset: self.sent[from], len: len.into() };
        let data_len = len + u16::from(data_fin);
        let ssn = if len == 0 { 0 } else { self.next[from].wrapping_sub(self.initial[from]) };
        let checksum = checksum.then(|| dss_checksum(dsn, ssn, data_len, &content));
        let dsn = if long { DataNumber::Long(dsn) } else { DataNumber::short(dsn) };
        Mapping { dsn, ssn, len: data_len, checksum }
    }
}

fn rare(rare: RareOptions) -> Options {
    Options { rare: Some(Box::new(rare)), ..Options::default() }
}

fn mptcp(option: MptcpOption) -> Options {
    rare(RareOptions { mptcp: vec![option], ..RareOptions::default() })
}

fn on_syn(option: Option<MptcpOption>) -> Options {
    rare(RareOptions {
        mss: Some(1400),
        window_scale: Some(7),
        sack_permitted: true,
        mptcp: option.into_iter().collect(),
        unknown: Vec::new(),
    })
}

fn dss(data_ack: Option<DataNumber>, mapping: Option<Mapping>, data_fin: bool) -> Options {
    Options { dss: Some(Dss { data_ack, mapping, data_fin }), ..Options::default() }
}

fn capable(
    flags: u8,
    sender_key: Option<u64>,
    receiver_key: Option<u64>,
    data: Option<(u16, Option<u16>)>,
) -> MptcpOption {
    MptcpOption::MpCapable(MpCapable { version: 1, flags, sender_key, receiver_key, data })
}

const SYN: Flags = Flags::SYN;
const ACK: Flags = Flags::ACK;
const SYN_ACK: Flags = Flags(0x12);
const PSH_ACK: Flags = Flags(0x18);
const FIN_ACK: Flags = Flags(0x11);
const RST_ACK: Flags = Flags(0x14);

/// The MPTCP handshake up to the data on its third segment; answers the client's and the server's next data sequence
/// numbers.
fn open(capture: &mut Capture, flow: &mut Flow, checksum: bool) -> (u64, u64) {
    let flags = if checksum { 0x81 } else { 0x01 };
    let [key_a, key_b] = capture.keys;
    let (first, server_next) = (keys::idsn(key_a).wrapping_add(1), keys::idsn(key_b).wrapping_add(1));
    capture.send(flow, CLIENT, SYN, on_syn(Some(capable(flags, None, None, None))), 0);
    capture.send(flow, SERVER, SYN_ACK, on_syn(Some(capable(flags, Some(key_b), None, None))), 0);
    capture.send(flow, CLIENT, ACK, mptcp(capable(flags, Some(key_a), Some(key_b), None)), 0);
    let sum = checksum.then(|| dss_checksum(first, 1, 100, &Span { offset: 0, len: 100 }));
    capture.send(flow, CLIENT, PSH_ACK, mptcp(capable(flags, Some(key_a), Some(key_b), Some((100, sum)))), 100);
    let next = first.wrapping_add(100);
    capture.send(flow, SERVER, ACK, dss(Some(DataNumber::Long(next)), None, false), 0);
    (next, server_next)
}

/// Opens another subflow of the connection.
fn join(capture: &mut Capture, flow: &mut Flow, address_id: u8, backup: bool, client_next: u64) {
    let [key_a, key_b] = capture.keys;
    let (nonce_a, nonce_b) = (0xa1a2_a3a4, 0xb1b2_b3b4);
    let syn = MpJoin::Syn { backup, address_id, token: keys::token(key_b), nonce: nonce_a };
    capture.send(flow, CLIENT, SYN, on_syn(Some(MptcpOption::MpJoin(syn))), 0);
    let hmac = keys::join_hmac_syn_ack(key_a, key_b, nonce_a, nonce_b);
    let syn_ack = MpJoin::SynAck { backup: false, address_id: 0, hmac, nonce: nonce_b };
    capture.send(flow, SERVER, SYN_ACK, on_syn(Some(MptcpOption::MpJoin(syn_ack))), 0);
    let hmac = keys::join_hmac_ack(key_a, key_b, nonce_a, nonce_b);
    capture.send(flow, CLIENT, ACK, mptcp(MptcpOption::MpJoin(MpJoin::Ack { hmac })), 0);
    capture.send(flow, SERVER, ACK, dss(Some(DataNumber::short(client_next)), None, false), 0);
}

/// Announcements of the server, echoed, then withdrawn.
fn announce(capture: &mut Capture, flow: &mut Flow, addresses: &[(u8, &str, Option<u16>)]) {
    for &(id, address, port) in addresses {
        let address = address.parse().unwrap();
        let hmac = keys::add_addr_hmac(capture.keys[SERVER], capture.keys[CLIENT], id, address, port);
        let add = AddAddr { echo: false, id, address, port, hmac: Some(hmac) };
        capture.send(flow, SERVER, ACK, mptcp(MptcpOption::AddAddr(add)), 0);
        let echo = AddAddr { echo: true, hmac: None, ..add };
        capture.send(flow, CLIENT, ACK, mptcp(MptcpOption::AddAddr(echo)), 0);
    }
    let ids = addresses.iter().map(|&(id, ..)| id).collect();
    capture.send(flow, SERVER, ACK, mptcp(MptcpOption::RemoveAddr(ids)), 0);
}

/// Ends a subflow from both sides.
fn close(capture: &mut Capture, flow: &mut Flow) {
    capture.send(flow, CLIENT, FIN_ACK, Options::default(), 0);
    capture.send(flow, SERVER, FIN_ACK, Options::default(), 0);
    capture.send(flow, CLIENT, ACK, Options::default(), 0);
}

/// A connection with checksums over two subflows: handshakes, every form of DSS, addresses, priority, a loss with
/// SACK, an unknown option, DATA_FIN both ways.
pub fn two_subflows(client: [&str; 2], server: &str, ports: [u16; 2], announced: [&str; 2]) -> Capture {
    let capture = &mut Capture::new(ports[0]);
    let first = &mut Flow::new(client[0], server, ports[0]);
    let second = &mut Flow::new(client[1], server, ports[1]);
    let (mut data, answer) = open(capture, first, true);
    announce(capture, first, &[(3, announced[0], None), (4, announced[1], Some(8080))]);
    join(capture, second, 1, true, data);
    let prio = |backup| mptcp(MptcpOption::MpPrio { backup });
    capture.send(second, CLIENT, ACK, prio(false), 0);
    // Mappings with 32 and 64 bits, without and with a DATA_ACK of 32 and 64 bits.
    for (long, data_ack) in [
        (false, None),
        (true, None),
        (false, Some(DataNumber::short(answer))),
        (true, Some(DataNumber::short(answer))),
        (false, Some(DataNumber::Long(answer))),
        (true, Some(DataNumber::Long(answer))),
    ] {
        let mapping = second.mapping(CLIENT, data, long, 333, false, true);
        capture.send(second, CLIENT, PSH_ACK, dss(data_ack, Some(mapping), false), 333);
        data = data.wrapping_add(333);
        capture.send(second, SERVER, ACK, dss(Some(DataNumber::short(data)), None, false), 0);
    }
    lose_one(capture, first, &mut data);
    let unknown = vec![UnknownOption { kind: 253, data: vec![0xde, 0xad, 1, 2] }];
    capture.send(first, SERVER, ACK, rare(RareOptions { unknown, ..RareOptions::default() }), 0);
    // A DATA_FIN with the last data one way, a lone one the other.
    let mapping = first.mapping(CLIENT, data, false, 50, true, true);
    capture.send(first, CLIENT, PSH_ACK, dss(Some(DataNumber::short(answer)), Some(mapping), true), 50);
    data = data.wrapping_add(51);
    let mapping = first.mapping(SERVER, answer, false, 0, true, true);
    capture.send(first, SERVER, ACK, dss(Some(DataNumber::short(data)), Some(mapping), true), 0);
    let answered = Some(DataNumber::short(answer.wrapping_add(1)));
    capture.send(first, CLIENT, ACK, dss(answered, None, false), 0);
    close(capture, second);
    close(capture, first);
    std::mem::take(capture)
}

/// Four segments of which the first does not arrive: acknowledgments with one SACK block, then it is sent again.
fn lose_one(capture: &mut Capture, flow: &mut Flow, data: &mut u64) {
    let lost = flow.next[CLIENT];
    let lost_data = *data;
    let mut again = None;
    for _ in 0..4 {
        let mapping = flow.mapping(CLIENT, *data, false, 200, false, true);
        let options = dss(None, Some(mapping), false);
        let payload = capture.send(flow, CLIENT, ACK, options.clone(), 200);
        again.get_or_insert((options, payload));
        *data = data.wrapping_add(200);
    }
    let end = flow.next[CLIENT];
    for right in [lost + 400, lost + 600, end] {
        let mut options = dss(Some(DataNumber::short(lost_data)), None, false);
        options.sack.push(SackBlock { left: lost + 200, right });
        flow.next[CLIENT] = lost;
        capture.send(flow, SERVER, ACK, options, 0);
    }
    let (mut options, payload) = again.expect("four were sent");
    let now = 1000 + 5 * capture.packets.len() as u32;
    options.timestamps = Some(Timestamps { value: now, echo: now - 5 });
    let segment = Segment {
        src_port: flow.ports[CLIENT],
        dst_port: flow.ports[SERVER],
        seq: lost,
        ack: flow.next[SERVER],
        flags: PSH_ACK,
        window: 8192,
        urgent: 0,
        options,
        payload,
    };
    capture.write(flow, CLIENT, &segment);
    flow.next[CLIENT] = end;
    capture.send(flow, SERVER, ACK, dss(Some(DataNumber::short(*data)), None, false), 0);
}

/// A connection without checksums that ends by force: MP_TCPRST on one subflow, then MP_FASTCLOSE.
pub fn forced_close(client: [&str; 2], server: &str, ports: [u16; 2]) -> Capture {
    let capture = &mut Capture::new(ports[0]);
    let first = &mut Flow::new(client[0], server, ports[0]);
    let second = &mut Flow::new(client[1], server, ports[1]);
    let (data, _) = open(capture, first, false);
    join(capture, second, 1, false, data);
    capture.send(second, SERVER, RST_ACK, mptcp(MptcpOption::MpTcpRst { flags: 1, reason: 3 }), 0);
    capture.send(first, CLIENT, ACK, mptcp(MptcpOption::MpFastclose { receiver_key: capture.keys[SERVER] }), 0);
    capture.send(first, SERVER, RST_ACK, Options::default(), 0);
    std::mem::take(capture)
}

/// A single subflow with checksums on which one failed: MP_FAIL with the number, then the infinite mapping.
pub fn fallback(client: &str, server: &str, port: u16) -> Capture {
    let capture = &mut Capture::new(port);
    let flow = &mut Flow::new(client, server, port);
    let (data, answer) = open(capture, flow, true);
    capture.send(flow, SERVER, ACK, mptcp(MptcpOption::MpFail { dsn: data.wrapping_sub(100) }), 0);
    let ssn = flow.next[CLIENT].wrapping_sub(flow.initial[CLIENT]);
    let infinite = Mapping { dsn: DataNumber::short(data), ssn, len: 0, checksum: Some(0) };
    capture.send(flow, CLIENT, PSH_ACK, dss(Some(DataNumber::short(answer)), Some(infinite), false), 500);
    capture.send(flow, SERVER, ACK, Options::default(), 0);
    close(capture, flow);
    std::mem::take(capture)
}

/// The same in version 0, with its own forms of MP_CAPABLE, ADD_ADDR and MP_PRIO.
pub fn version_0(client: &str, server: &str, port: u16) -> Capture {
    let capture = &mut Capture::new(port);
    let flow = &mut Flow::new(client, server, port);
    let [key_a, key_b] = capture.keys;
    let form =
        |sender_key, receiver_key| MptcpOption::Version0(Version0::MpCapable { flags: 0x01, sender_key, receiver_key });
    capture.send(flow, CLIENT, SYN, on_syn(Some(form(key_a, None))), 0);
    capture.send(flow, SERVER, SYN_ACK, on_syn(Some(form(key_b, None))), 0);
    capture.send(flow, CLIENT, ACK, mptcp(form(key_a, Some(key_b))), 0);
    let first = keys::v0::idsn(key_a).wrapping_add(1);
    let mapping = flow.mapping(CLIENT, first, false, 100, false, false);
    let data_ack = Some(DataNumber::short(keys::v0::idsn(key_b).wrapping_add(1)));
    capture.send(flow, CLIENT, PSH_ACK, dss(data_ack, Some(mapping), false), 100);
    capture.send(flow, SERVER, ACK, dss(Some(DataNumber::short(first.wrapping_add(100))), None, false), 0);
    for (address, port) in
        [("10.0.3.1", None), ("10.0.3.2", Some(8080)), ("2001:db8::3", None), ("2001:db8::4", Some(8080))]
    {
        let add = Version0::AddAddr { id: 3, address: address.parse().unwrap(), port };
        capture.send(flow, SERVER, ACK, mptcp(MptcpOption::Version0(add)), 0);
    }
    capture.send(flow, CLIENT, ACK, mptcp(MptcpOption::Version0(Version0::MpPrio { backup: true, address_id: 0 })), 0);
    close(capture, flow);
    std::mem::take(capture)
}

/// Plain TCP with timestamps, window scale and SACK.
pub fn plain_tcp(client: &str, server: &str, port: u16) -> Capture {
    let capture = &mut Capture::new(port);
    let flow = &mut Flow::new(client, server, port);
    capture.send(flow, CLIENT, SYN, on_syn(None), 0);
    capture.send(flow, SERVER, SYN_ACK, on_syn(None), 0);
    capture.send(flow, CLIENT, ACK, Options::default(), 0);
    capture.send(flow, CLIENT, PSH_ACK, Options::default(), 1400);
    capture.send(flow, SERVER, ACK, Options::default(), 0);
    close(capture, flow);
    std::mem::take(capture)
}

/// All conversations, over IPv4 and IPv6, one after the other.
pub fn all() -> Capture {
    let (v4, v6) = (["10.0.1.1", "10.0.2.1"], ["2001:db8:1::1", "2001:db8:2::1"]);
    let (server_v4, server_v6) = ("10.0.9.1", "2001:db8:9::1");
    let parts = [
        plain_tcp(v4[0], server_v4, 40_000),
        plain_tcp(v6[0], server_v6, 40_001),
        two_subflows(v4, server_v4, [40_010, 40_011], ["10.0.9.2", "10.0.9.3"]),
        two_subflows(v6, server_v6, [40_020, 40_021], ["2001:db8:9::2", "2001:db8:9::3"]),
        forced_close(v4, server_v4, [40_030, 40_031]),
        forced_close(v6, server_v6, [40_040, 40_041]),
        fallback(v4[0], server_v4, 40_050),
        fallback(v6[0], server_v6, 40_060),
        version_0(v4[0], server_v4, 40_070),
        version_0(v6[0], server_v6, 40_080),
    ];
    Capture { packets: parts.into_iter().flat_map(|part| part.packets).collect(), keys: [0; 2] }
}
