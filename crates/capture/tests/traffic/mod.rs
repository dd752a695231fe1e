//! Connections generated packet by packet as both hosts see them, with the true counts: the input of the tests of the
//! laws and of the metamorphic tests.

// Each test uses a part of this module.
#![allow(dead_code)]

use capture::Writer;
use capture::analysis::report::Analysis;
use capture::analysis::{Analyser, Options, laws};
use std::net::SocketAddr;
use wire::{
    DataNumber, Dss, Flags, IpHeader, Mapping, MpCapable, MpJoin, MptcpOption, Options as TcpOptions, RareOptions,
    Segment, Span, Timestamps,
};

pub const MS: u64 = 1_000_000;
const KEYS: [u64; 2] = [0x0102_0304_0506_0708, 0x1112_1314_1516_1718];
const DATA: u32 = 1000;

/// A pseudo-random generator (xorshift). A seed always gives the same connection.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// A packet as one host saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub time_ns: u64,
    pub at_server: bool,
    pub up: bool,
    pub has_data: bool,
    pub bytes: Vec<u8>,
}

/// Parameters of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    /// 0 is plain TCP.
    pub subflows: usize,
    pub segments: u64,
    /// Loss of data segments in the network.
    pub loss_percent: u64,
    pub timestamps: bool,
    pub identified: bool,
}

impl Plan {
    pub fn plain(seed: u64) -> Plan {
        Plan { seed, subflows: 2, segments: 60, loss_percent: 5, timestamps: true, identified: true }
    }
}

/// A connection: the client sends 100 bytes, then the server `segments` of 1000 bytes.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    pub seen: Vec<Seen>,
    /// Bytes of the server that each subflow brought first.
    pub brought: Vec<u64>,
    pub sent: u64,
    pub retransmissions: u64,
    pub reinjections: u64,
}

struct Subflow {
    ends: [SocketAddr; 2],
    isns: [u32; 2],
    way_ns: u64,
    /// Relative numbers: the server's next, the client's next expected, and the data the client holds beyond it.
    next: u32,
    expected: u32,
    held: Vec<(u32, u64, u64)>,
}

struct World {
    plan: Plan,
    traffic: Traffic,
    subflows: Vec<Subflow>,
    identification: [u16; 2],
}

#[derive(Clone, Copy, Default)]
struct Parts {
    flags: Flags,
    seq: u32,
    ack: u32,
    len: u32,
    dss: Option<Dss>,
}

impl World {
    /// Sends a packet, which arrives if `arrives`. Returns the time of arrival.
    fn send(&mut self, at_ns: u64, on: usize, up: bool, parts: Parts, mptcp: Vec<MptcpOption>, arrives: bool) -> u64 {
        let subflow = &self.subflows[on];
        let (from, to) = if up { (0, 1) } else { (1, 0) };
        let mut rare = RareOptions { mptcp, ..RareOptions::default() };
        if parts.flags.syn() {
            rare.window_scale = Some(7);
        }
        let stamp = Timestamps { value: (at_ns / MS) as u32, echo: 1 };
        let segment = Segment {
            src_port: subflow.ends[from].port(),
            dst_port: subflow.ends[to].port(),
            seq: subflow.isns[from].wrapping_add(parts.seq),
            ack: if parts.flags.ack() { subflow.isns[to].wrapping_add(parts.ack) } else { 0 },
            flags: parts.flags,
            window: 1000,
            options: TcpOptions {
                dss: parts.dss,
                timestamps: self.plan.timestamps.then_some(stamp),
                rare: (!rare.mptcp.is_empty() || parts.flags.syn()).then(|| Box::new(rare)),
                ..TcpOptions::default()
            },
            payload: Span { offset: 0, len: parts.len },
            ..Segment::default()
        };
        let mut ip = IpHeader::new(subflow.ends[from].ip(), subflow.ends[to].ip());
        if self.plan.identified {
            self.identification[from] += 1;
            ip.identification = self.identification[from];
        }
        let way_ns = subflow.way_ns;
        let mut see = |time_ns: u64, at_server: bool, hops: u8| {
            let mut bytes = Vec::new();
            wire::encode(&IpHeader { hop_limit: 64 - hops, ..ip }, &segment, &mut bytes).unwrap();
            self.traffic.seen.push(Seen { time_ns, at_server, up, has_data: parts.len > 0, bytes });
        };
        see(at_ns, !up, 0);
        if arrives {
            see(at_ns + way_ns, up, 7);
        }
        at_ns + way_ns
    }

    fn handshake(&mut self, at_ns: u64, on: usize) {
        let capable = |sender_key, receiver_key| {
            MptcpOption::MpCapable(MpCapable { version: 1, flags: 1, sender_key, receiver_key, data: None })
        };
        let (own, other, nonces) = (KEYS[0], KEYS[1], [7 + on as u32, 70 + on as u32]);
        let options: [Vec<MptcpOption>; 3] = match (self.plan.subflows, on) {
            (0, _) => [vec![], vec![], vec![]],
            (_, 0) => {
                [vec![capable(None, None)], vec![capable(Some(other), None)], vec![capable(Some(own), Some(other))]]
            }
            _ => [
                MpJoin::Syn { backup: false, address_id: on as u8, token: wire::keys::token(other), nonce: nonces[0] },
                MpJoin::SynAck {
                    backup: false,
                    address_id: 0,
                    hmac: wire::keys::join_hmac_syn_ack(own, other, nonces[0], nonces[1]),
                    nonce: nonces[1],
                },
                MpJoin::Ack { hmac: wire::keys::join_hmac_ack(own, other, nonces[0], nonces[1]) },
            ]
            .map(|join| vec![MptcpOption::MpJoin(join)]),
        };
        let [syn, syn_ack, ack] = options;
        let at_ns = self.send(at_ns, on, true, Parts { flags: Flags::SYN, ..Parts::default() }, syn, true);
        let flags = Flags::SYN | Flags::ACK;
        let at_ns = self.send(at_ns + 50_000, on, false, Parts { flags, ack: 1, ..Parts::default() }, syn_ack, true);
        let parts = Parts { flags: Flags::ACK, seq: 1, ack: 1, ..Parts::default() };
        self.send(at_ns + 50_000, on, true, parts, ack, true);
    }
}

fn idsn(side: usize) -> u64 {
    wire::keys::idsn(KEYS[side]).wrapping_add(1)
}

/// A segment of the stream waiting to be sent.
struct Waiting {
    at_ns: u64,
    on: usize,
    /// Its sequence number if it was sent before on this subflow.
    again: Option<u32>,
    offset: u64,
    tries: u32,
}

/// Generates a connection.
pub fn generate(plan: Plan) -> Traffic {
    let mut random = Random(plan.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mptcp = plan.subflows > 0;
    let count = plan.subflows.max(1);
    let subflows = (0..count).map(|on| Subflow {
        ends: [format!("10.0.{on}.1:4000{on}").parse().unwrap(), "192.0.2.1:443".parse().unwrap()],
        isns: [random.below(1 << 32) as u32, (1_u64 << 32).wrapping_sub(random.below(90_000)) as u32],
        way_ns: (3 + 11 * on as u64) * MS,
        next: 1,
        expected: 1,
        held: Vec::new(),
    });
    let subflows = subflows.collect();
    let traffic = Traffic { brought: vec![0; count], ..Traffic::default() };
    let mut world = World { plan, traffic, subflows, identification: [100, 9000] };
    for on in 0..count {
        world.handshake(on as u64 * 7 * MS, on);
    }
    let dss = |side: usize, data: Option<(u64, u32, u16)>, ack: u64| {
        let mapping = data.map(|(offset, ssn, len)| Mapping {
            dsn: DataNumber::Long(idsn(side).wrapping_add(offset)),
            ssn,
            len,
            checksum: None,
        });
        let data_ack = Some(DataNumber::short(idsn(1 - side).wrapping_add(ack)));
        mptcp.then_some(Dss { mapping, data_ack, ..Dss::default() })
    };
    // The request and its acknowledgment.
    let parts = Parts { flags: Flags::ACK | Flags::PSH, seq: 1, ack: 1, len: 100, dss: dss(0, Some((0, 1, 100)), 0) };
    let at_ns = world.send(100 * MS, 0, true, parts, vec![], true);
    let parts = Parts { flags: Flags::ACK, seq: 1, ack: 101, len: 0, dss: dss(1, None, 100) };
    world.send(at_ns + MS / 4, 0, false, parts, vec![], true);

    let upward = |on: usize| if on == 0 { 101 } else { 1 };
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut at_ns = 120 * MS;
    for number in 0..plan.segments {
        at_ns += 100_000 + random.below(2 * MS);
        let on = random.below(count as u64) as usize;
        waiting.push(Waiting { at_ns, on, again: None, offset: number * u64::from(DATA), tries: 0 });
    }
    let mut come: Vec<(u64, u64)> = Vec::new();
    let mut in_order = 0;
    let mut end_ns = at_ns;
    // Arrivals are processed in time order, interleaved with sendings.
    let mut arrivals: Vec<(u64, usize, u32, u64)> = Vec::new();
    loop {
        let sending = waiting.iter().enumerate().min_by_key(|(_, each)| each.at_ns).map(|(at, each)| (at, each.at_ns));
        let arrival = arrivals.iter().enumerate().min_by_key(|(_, each)| each.0).map(|(at, each)| (at, each.0));
        let next_is_arrival = match (sending, arrival) {
            (None, None) => break,
            (Some((_, send_ns)), Some((_, arrive_ns))) => arrive_ns <= send_ns,
            (sending, _) => sending.is_none(),
        };
        if next_is_arrival {
            let (now_ns, on, seq, offset) = arrivals.swap_remove(arrival.unwrap().0);
            let subflow = &mut world.subflows[on];
            if seq >= subflow.expected && !subflow.held.iter().any(|held| held.0 == seq) {
                subflow.held.push((seq, offset, now_ns));
                subflow.held.sort_unstable();
            }
            while let Some(&(seq, offset, _)) = subflow.held.first()
                && seq == subflow.expected
            {
                subflow.held.remove(0);
                subflow.expected += DATA;
                if !come.iter().any(|&(start, _)| start == offset) {
                    come.push((offset, offset + u64::from(DATA)));
                    world.traffic.brought[on] += u64::from(DATA);
                }
            }
            while come.iter().any(|&(start, _)| start == in_order) {
                in_order += u64::from(DATA);
            }
            let ack = world.subflows[on].expected;
            let parts = Parts { flags: Flags::ACK, seq: upward(on), ack, len: 0, dss: dss(0, None, in_order) };
            end_ns = end_ns.max(world.send(now_ns + 20_000, on, true, parts, vec![], true));
            continue;
        }
        let Waiting { at_ns, on, again, offset, tries } = waiting.swap_remove(sending.unwrap().0);
        let seq = again.unwrap_or(world.subflows[on].next);
        if again.is_none() {
            world.subflows[on].next += DATA;
        }
        let lost = tries < 3 && random.percent(plan.loss_percent);
        let ack = upward(on);
        let data = Some((offset, seq, DATA as u16));
        let parts = Parts { flags: Flags::ACK, seq, ack, len: DATA, dss: dss(1, data, 100) };
        let arrive_ns = world.send(at_ns, on, false, parts, vec![], !lost);
        world.traffic.sent += 1;
        world.traffic.retransmissions += u64::from(again.is_some());
        if !lost {
            arrivals.push((arrive_ns, on, seq, offset));
            continue;
        }
        // The segment is sent again on its subflow when the timer expires, and perhaps sooner on another.
        let after_ns = 200 * MS + random.below(50 * MS);
        waiting.push(Waiting { at_ns: at_ns + after_ns, on, again: Some(seq), offset, tries: tries + 1 });
        if count > 1 && again.is_none() && random.percent(50) {
            let on = (on + 1) % count;
            world.traffic.reinjections += 1;
            waiting.push(Waiting { at_ns: at_ns + 100 * MS, on, again: None, offset, tries: 3 });
        }
    }
    let mut traffic = world.traffic;
    traffic.seen.sort_by_key(|seen| seen.time_ns);
    traffic
}

/// Writes packets to a file.
pub fn file<'a>(seen: impl IntoIterator<Item = &'a Seen>, name: &str, snap_length: u32) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), snap_length).unwrap();
    writer.interface(name).unwrap();
    for packet in seen {
        writer.packet(0, packet.time_ns, &packet.bytes, packet.bytes.len() as u32).unwrap();
    }
    writer.into_inner()
}

/// Reads files and checks every law on the result.
pub fn analyse<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Analysis {
    let mut analyser = Analyser::default();
    for (name, file) in files {
        assert!(analyser.read(name, file, &mut |_| true).unwrap());
    }
    let analysis = analyser.finish(Options::default());
    assert_eq!(laws::violations(&analysis), []);
    analysis
}

/// The parts of a report that must not depend on how the packets were captured.
pub fn essence(analysis: &Analysis) -> String {
    let mut text = String::new();
    for connection in &analysis.connections {
        text += &format!("{} {:?} {}\n", connection.protocol, connection.version, connection.closing);
        for (direction, stream) in connection.streams.iter().enumerate() {
            let rate = stream.goodput_bps.map(|rate| format!("{:.2e}", rate));
            text += &format!(
                "{} {} B, {rate:?}, {} missed, {} unmapped, {} outstanding, {} segments, {} again, {} reinjected\n",
                stream.direction,
                stream.bytes,
                stream.missed_bytes,
                stream.unmapped_bytes,
                stream.outstanding_bytes,
                stream.segments_sent,
                stream.retransmissions,
                stream.reinjections,
            );
            for subflow in &connection.subflows {
                let flow = &subflow.flows[direction];
                text += &format!("  {} {}: {} B, {:?}\n", subflow.client, subflow.server, flow.bytes, flow.share);
            }
        }
    }
    text
}
