//! Any bytes as what a peer, an application and the clock do to a host: no panic, bounded memory, and no answer to an answer
//! without end. The fuzz target `transport` and a short test play bytes through [`play`].

use std::net::SocketAddr;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::{Config, ConnectionId, Host, Instant, LocalAddress, Protocol, ReceiveBuffer, Tuple};
use wire::{Flags, MpCapable, MptcpOption, Options, RareOptions, Segment};

use crate::dialogue::PEER_KEY;

/// Things that a connection may hold for a peer (`Connection::items_held`): what fits in its buffer in the smallest pieces
/// that it keeps, and what it has sent.
const MOST_ITEMS: usize = 20_000;
/// Segments that a host may send without being sent any, or time going by: its window and what goes with it.
const MOST_AT_ONCE: usize = 2_000;
const BUFFER: u64 = 65_536;
const MSS: u16 = 1_000;

/// The bytes, one after another; zeros after the last.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.next(), self.next()])
    }

    /// A distance: mostly small, of either sign, at times anything.
    fn distance(&mut self) -> u32 {
        match self.next() {
            0..=127 => 0,
            128..=191 => u32::from(self.next()),
            192..=223 => u32::from(self.next()).wrapping_neg(),
            224..=247 => u32::from(self.short()),
            _ => u32::from(self.short()) << 16 | u32::from(self.short()),
        }
    }
}

struct Play {
    host: Host<Vec<u8>>,
    ids: Vec<ConnectionId>,
    tuple: Tuple,
    now_ns: u64,
    /// The peer's next sequence number, and what it has received.
    seq: u32,
    ack: u32,
    host_key: u64,
}

/// Plays the bytes. Panics where the host does, or breaks a bound.
pub fn play(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let begin = bytes.next();
    let mut config = Config { receive_buffer: ReceiveBuffer::Fixed(BUFFER), mss: MSS, ..Config::default() };
    if begin & 1 != 0 {
        config.protocol = Protocol::Tcp;
    }
    config.checksum = begin & 2 != 0;
    config.tcp.timestamps = begin & 4 != 0;
    config.tcp.ecn = begin & 8 != 0;
    let ends: [SocketAddr; 2] = [([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 5_000).into()];
    let tuple = Tuple { local: ends[0], remote: ends[1] };
    let mut host = Host::new(Xoshiro256PlusPlus::seed_from_u64(u64::from(begin)));
    let mut play = Play {
        ids: Vec::new(),
        tuple,
        now_ns: 1_000_000_000,
        seq: 1_000,
        ack: 0,
        host_key: 0,
        host: {
            host.listen(80, config.clone());
            host
        },
    };
    let mptcp = config.protocol == Protocol::Mptcp;
    if begin & 16 != 0 {
        let local = LocalAddress { id: 0, address: tuple.local.ip(), backup: false };
        play.ids.push(play.host.connect(Instant::from_nanos(play.now_ns), config, &[local], 80, tuple.remote));
        play.collect();
        play.say(Flags::SYN | Flags::ACK, play.capable(mptcp, true, false), 0);
    } else if begin & 32 != 0 {
        play.say(Flags::SYN, play.capable(mptcp, false, false), 0);
        play.say(Flags::ACK, play.capable(mptcp, true, true), 0);
    }
    while !bytes.0.is_empty() {
        play.step(&mut bytes);
    }
}

impl Play {
    fn capable(&self, mptcp: bool, own: bool, both: bool) -> Options {
        let option = MpCapable {
            version: 1,
            flags: 1,
            sender_key: own.then_some(PEER_KEY),
            receiver_key: both.then_some(self.host_key),
            data: None,
        };
        let mptcp = if mptcp { vec![MptcpOption::MpCapable(option)] } else { Vec::new() };
        let rare = RareOptions { mptcp, mss: Some(MSS), sack_permitted: true, ..RareOptions::default() };
        Options { rare: Some(Box::new(rare)), ..Options::default() }
    }

    /// The peer sends what is next.
    fn say(&mut self, flags: Flags, options: Options, len: usize) {
        let (seq, ack) = (self.seq, self.ack);
        self.arrive(
            self.tuple,
            Segment {
                src_port: self.tuple.remote.port(),
                dst_port: self.tuple.local.port(),
                seq,
                ack,
                flags,
                window: 60_000,
                urgent: 0,
                options,
                payload: vec![0; len],
            },
        );
        self.seq = self.seq.wrapping_add(len as u32 + u32::from(flags.syn()) + u32::from(flags.fin()));
    }

    fn arrive(&mut self, tuple: Tuple, segment: Segment<Vec<u8>>) {
        if let Some(at) = self.host.receive(Instant::from_nanos(self.now_ns), tuple, segment)
            && !self.ids.contains(&at.connection)
        {
            self.ids.push(at.connection);
        }
        self.collect();
    }

    /// What the host sends now; the peer takes note of its numbers and key.
    fn collect(&mut self) {
        let mut count = 0;
        while self.host.transmit().is_some() {}
        for &id in &self.ids {
            let connection = self.host.connection_mut(id);
            while let Some((_, segment)) = connection.transmit(Instant::from_nanos(self.now_ns)) {
                count += 1;
                assert!(count <= MOST_AT_ONCE, "the host sends without end");
                let length = segment.payload.len() as u32 + u32::from(segment.flags.syn() || segment.flags.fin());
                self.ack = segment.seq.wrapping_add(length);
                for option in segment.options.rare.iter().flat_map(|rare| &rare.mptcp) {
                    if let MptcpOption::MpCapable(MpCapable { sender_key: Some(key), .. }) = option {
                        self.host_key = *key;
                    }
                }
                let mut written = Vec::new();
                segment.options.encode(&mut written).expect("what the transport sends can be written");
            }
            while connection.poll_event().is_some() {}
            let held = connection.items_held();
            assert!(held <= MOST_ITEMS, "the connection holds {held} things");
        }
    }

    fn step(&mut self, bytes: &mut Bytes) {
        let what = bytes.next();
        let id = self.ids.first().copied();
        match (what % 16, id) {
            (0, Some(id)) => self.host.connection_mut(id).write(vec![0; usize::from(bytes.next()) * 16]),
            (1, Some(id)) => drop(self.host.connection_mut(id).read()),
            (2, Some(id)) => self.host.connection_mut(id).close(Instant::from_nanos(self.now_ns)),
            (3, Some(id)) if what > 128 => self.host.connection_mut(id).close_both(Instant::from_nanos(self.now_ns)),
            (3, Some(id)) if what > 64 => self.host.connection_mut(id).abort(Instant::from_nanos(self.now_ns)),
            (4 | 5, _) => {
                // Time goes by, to a timer at the latest.
                let until_ns = self.now_ns + (1_u64 << (bytes.next() % 38));
                let next_ns = self.ids.iter().map(|&id| self.host.connection(id).next_timeout().as_nanos()).min();
                self.now_ns = until_ns.min(next_ns.unwrap_or(u64::MAX)).max(self.now_ns);
                for index in 0..self.ids.len() {
                    let connection = self.host.connection_mut(self.ids[index]);
                    if connection.next_timeout().as_nanos() <= self.now_ns {
                        connection.handle_timeout(Instant::from_nanos(self.now_ns));
                    }
                }
            }
            (6, _) => self.say(Flags::ACK, Options::default(), usize::from(bytes.next()) * 4),
            _ => self.segment(bytes),
        }
        self.collect();
    }

    /// A segment of which everything is in the bytes, near what fits.
    fn segment(&mut self, bytes: &mut Bytes) {
        let flags = Flags(bytes.next());
        let seq = self.seq.wrapping_add(bytes.distance());
        let ack = self.ack.wrapping_add(bytes.distance());
        let (window, len, room) = (bytes.short(), usize::from(bytes.next()), usize::from(bytes.next() % 41));
        let (area, rest) = bytes.0.split_at(room.min(bytes.0.len()));
        bytes.0 = rest;
        let options = Options::decode(area, 20).unwrap_or_default();
        let mut tuple = self.tuple;
        if window % 7 == 0 {
            tuple.remote.set_port(5_000 + window % 3); // another subflow, or another connection
        }
        let (src_port, dst_port) = (tuple.remote.port(), tuple.local.port());
        let payload = vec![0; len * 4];
        self.arrive(tuple, Segment { src_port, dst_port, seq, ack, flags, window, urgent: 0, options, payload });
    }
}
