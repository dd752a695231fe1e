//! The peer's end of a TCP connection, written out segment by segment: a peer of another make, that acknowledges by parts,
//! shrinks its window, forgets what it told, or was never there.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::congestion::Choice;
use transport::{
    Config, ConnectionId, Event, Host, Instant, LocalAddress, Protocol, Statistics, SubflowId, TcpOptions, Tuple,
};
use wire::{Flags, Options, RareOptions, SackBlock, SackBlocks, Segment, Span, Timestamps};

use super::{MS, SECOND};

/// The peer's initial sequence number.
pub const ISS: u32 = 1_000;
/// What the peer announces: segments of the host have so many bytes of data without options.
pub const MSS: u16 = 1_000;
pub const ACK: Flags = Flags::ACK;

/// A host and the peer's end of one TCP connection. Numbers of either side count from its SYN, which is 0.
pub struct Peer {
    pub host: Host<Span>,
    pub id: Option<ConnectionId>,
    pub tuple: Tuple,
    pub now_ns: u64,
    /// The host's initial sequence number.
    pub host_iss: u32,
    /// Timestamps go with every segment of the peer: the value of the next.
    pub stamp: Option<u32>,
    /// What the last segment of the host had for one.
    pub host_stamp: u32,
    pub sent: Vec<Segment<Span>>,
}

/// What the peer says on its SYN or SYN/ACK.
#[derive(Clone, Copy)]
pub struct Offer {
    pub sack: bool,
    pub stamps: bool,
    pub scale: Option<u8>,
}

pub const PLAIN: Offer = Offer { sack: false, stamps: false, scale: None };
pub const SACK: Offer = Offer { sack: true, ..PLAIN };
pub const STAMPS: Offer = Offer { stamps: true, sack: true, ..PLAIN };

pub fn tcp() -> Config {
    let tcp = TcpOptions { nagle: false, ..TcpOptions::default() };
    Config { protocol: Protocol::Tcp, congestion: Choice::named("reno").unwrap(), tcp, ..Config::default() }
}

pub fn with(change: impl FnOnce(&mut TcpOptions)) -> Config {
    let mut config = tcp();
    change(&mut config.tcp);
    config
}

impl Peer {
    /// Nothing was said yet; the host listens.
    pub fn new(config: Config) -> Peer {
        let end = |last, port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port);
        let mut host = Host::new(Xoshiro256PlusPlus::seed_from_u64(7));
        host.listen(80, config);
        let tuple = Tuple { local: end(1, 80), remote: end(2, 5_000) };
        let (host_iss, stamp, host_stamp) = (0, None, 0);
        Peer { host, id: None, tuple, now_ns: SECOND, host_iss, stamp, host_stamp, sent: Vec::new() }
    }

    /// The host calls; answers its SYN.
    pub fn called(config: Config) -> (Peer, Segment<Span>) {
        let mut peer = Peer::new(config.clone());
        let local = LocalAddress { id: 0, address: peer.tuple.local.ip(), backup: false };
        let port = peer.tuple.local.port();
        peer.id = Some(peer.host.connect(Instant::from_nanos(peer.now_ns), config, &[local], port, peer.tuple.remote));
        let syn = peer.collect().remove(0);
        assert_eq!(syn.flags, Flags::SYN);
        peer.host_iss = syn.seq;
        (peer, syn)
    }

    /// The peer has called, and the handshake is done.
    pub fn established(config: Config, offer: Offer) -> Peer {
        let mut peer = Peer::new(config);
        peer.call(offer);
        peer.send(peer.segment(ACK, 1, 1));
        assert!(peer.events().contains(&Event::Established));
        peer
    }

    /// SYN of the peer; the answer is the host's.
    pub fn call(&mut self, offer: Offer) -> Segment<Span> {
        self.stamp = offer.stamps.then_some(1);
        let syn = self.with_offer(Segment { ack: 0, ..self.segment(Flags::SYN, 0, 0) }, offer);
        let mut answers = self.send(syn);
        assert_eq!(answers.len(), 1, "{answers:?}");
        let answer = answers.remove(0);
        assert_eq!(answer.flags, Flags::SYN | ACK);
        self.host_iss = answer.seq;
        answer
    }

    pub fn with_offer(&self, segment: Segment<Span>, offer: Offer) -> Segment<Span> {
        let rare = RareOptions {
            mss: Some(MSS),
            window_scale: offer.scale,
            sack_permitted: offer.sack,
            ..RareOptions::default()
        };
        Segment { options: Options { rare: Some(Box::new(rare)), ..segment.options }, ..segment }
    }

    /// A segment of the peer.
    pub fn segment(&self, flags: Flags, seq: u32, ack: u32) -> Segment<Span> {
        let timestamps = self.stamp.map(|value| Timestamps { value, echo: self.host_stamp });
        Segment {
            src_port: self.tuple.remote.port(),
            dst_port: self.tuple.local.port(),
            seq: ISS.wrapping_add(seq),
            ack: self.host_iss.wrapping_add(ack),
            flags,
            window: 60_000,
            options: Options { timestamps, ..Options::default() },
            ..Segment::default()
        }
    }

    /// The same with so many bytes of data.
    pub fn data(&self, seq: u32, len: u32, ack: u32) -> Segment<Span> {
        Segment { payload: Span { offset: u64::from(seq) - 1, len }, ..self.segment(ACK, seq, ack) }
    }

    /// An acknowledgment with SACK blocks.
    pub fn sack(&self, ack: u32, blocks: &[(u32, u32)]) -> Segment<Span> {
        let mut segment = self.segment(ACK, 1, ack);
        let mut sack = SackBlocks::default();
        for &(left, right) in blocks {
            sack.push(SackBlock { left: self.host_iss.wrapping_add(left), right: self.host_iss.wrapping_add(right) });
        }
        segment.options.sack = sack;
        segment
    }

    /// The host receives a segment a millisecond later; what it answers at once.
    pub fn send(&mut self, segment: Segment<Span>) -> Vec<Segment<Span>> {
        self.now_ns += MS;
        self.send_now(segment)
    }

    pub fn send_now(&mut self, segment: Segment<Span>) -> Vec<Segment<Span>> {
        if let Some(at) = self.host.receive(Instant::from_nanos(self.now_ns), self.tuple, segment) {
            self.id = Some(at.connection);
        }
        self.collect()
    }

    pub fn collect(&mut self) -> Vec<Segment<Span>> {
        let mut out = Vec::new();
        while let Some((_, segment)) = self.host.transmit() {
            out.push(segment);
        }
        if let Some(id) = self.id {
            while let Some((_, segment)) = self.host.connection_mut(id).transmit(Instant::from_nanos(self.now_ns)) {
                out.push(segment);
            }
        }
        if let Some(t) = out.last().and_then(|s| s.options.timestamps) {
            self.host_stamp = t.value;
        }
        self.sent.extend(out.iter().cloned());
        out
    }

    /// Time goes by.
    pub fn wait(&mut self, ns: u64) -> Vec<Segment<Span>> {
        let (until_ns, mut out) = (self.now_ns + ns, Vec::new());
        while let Some(id) = self.id {
            let at_ns = self.host.connection(id).next_timeout().as_nanos();
            if at_ns > until_ns {
                break;
            }
            self.now_ns = at_ns;
            self.host.connection_mut(id).handle_timeout(Instant::from_nanos(at_ns));
            out.extend(self.collect());
        }
        self.now_ns = until_ns;
        out
    }

    /// The host's application writes so many bytes; what goes out.
    pub fn write(&mut self, bytes: u64) -> Vec<Segment<Span>> {
        self.host.connection_mut(self.id.unwrap()).offer(bytes);
        self.collect()
    }

    /// Reads one piece; what goes out then.
    pub fn read(&mut self) -> Vec<Segment<Span>> {
        assert!(self.host.connection_mut(self.id.unwrap()).read().is_some());
        self.collect()
    }

    pub fn events(&mut self) -> Vec<Event> {
        let connection = self.host.connection_mut(self.id.unwrap());
        std::iter::from_fn(|| connection.poll_event()).collect()
    }

    pub fn statistics(&self) -> Statistics {
        self.host.connection(self.id.unwrap()).statistics(SubflowId(0))
    }

    pub fn cwnd(&self) -> f64 {
        self.host.connection(self.id.unwrap()).views()[0].cwnd
    }

    /// The sequence numbers of the data in these segments, first and next.
    pub fn ranges(&self, segments: &[Segment<Span>]) -> Vec<(u32, u32)> {
        let of = |s: &Segment<Span>| s.seq.wrapping_sub(self.host_iss);
        segments.iter().filter(|s| s.payload.len > 0).map(|s| (of(s), of(s) + s.payload.len)).collect()
    }
}

/// A bare acknowledgment: neither data nor a flag beside ACK.
pub fn is_bare(segment: &Segment<Span>) -> bool {
    segment.flags == ACK && segment.payload.len == 0
}
