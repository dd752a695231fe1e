//! What a host keeps of a peer that means harm: data beyond the window, one byte at a time, joins that come to nothing.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::{Config, ConnectionId, Event, Host, Instant, Protocol, ReceiveBuffer, SUBFLOW_LIMIT, Tuple};
use wire::{DataNumber, Dss, Flags, Mapping, MpCapable, MpJoin, MptcpOption, Options, RareOptions, Segment};

const MS: u64 = 1_000_000;
/// The attacker's initial sequence number and key.
const ISS: u32 = 1_000;
const KEY: u64 = 0x0123_4567_89ab_cdef;
const BUFFER: u64 = 1 << 18;

/// A server and a peer that has opened one connection to it and now sends whatever it likes.
struct Attack {
    host: Host<Vec<u8>>,
    id: ConnectionId,
    tuple: Tuple,
    now_ns: u64,
    /// What acknowledges the host's SYN.
    ack: u32,
    /// The host's key, under MPTCP.
    host_key: Option<u64>,
    /// The last acknowledgment from the host: number and window in bytes.
    heard: (u32, u64),
    answers: usize,
    /// The host's initial sequence numbers of joins, by the attacker's port.
    joins: BTreeMap<u16, u32>,
}

fn end(last: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port)
}

fn bare(seq: u32, ack: u32, flags: Flags) -> Segment<Vec<u8>> {
    Segment { src_port: 5_000, dst_port: 80, seq, ack, flags, window: 60_000, ..Segment::default() }
}

fn with(segment: Segment<Vec<u8>>, capable: Option<MpCapable>, scale: Option<u8>) -> Segment<Vec<u8>> {
    let mptcp = capable.map(MptcpOption::MpCapable).into_iter().collect();
    let rare = Some(Box::new(RareOptions { mptcp, mss: Some(1_460), window_scale: scale, ..RareOptions::default() }));
    Segment { options: Options { rare, ..Options::default() }, ..segment }
}

fn joining(join: MpJoin) -> Options {
    let rare = Some(Box::new(RareOptions { mptcp: vec![MptcpOption::MpJoin(join)], ..RareOptions::default() }));
    Options { rare, ..Options::default() }
}

impl Attack {
    fn new(protocol: Protocol) -> Attack {
        Attack::on(Config { protocol, ..Config::default() })
    }

    /// On a host with these settings and a fixed receive buffer.
    fn on(config: Config) -> Attack {
        let tuple = Tuple { local: end(1, 80), remote: end(2, 5_000) };
        let mut host = Host::new(Xoshiro256PlusPlus::seed_from_u64(7));
        let config = Config { receive_buffer: ReceiveBuffer::Fixed(BUFFER), ..config };
        let protocol = config.protocol;
        host.listen(80, config);
        let mptcp = protocol == Protocol::Mptcp;
        let capable = |sender_key, receiver_key| {
            mptcp.then_some(MpCapable { version: 1, flags: 1, sender_key, receiver_key, data: None })
        };
        let syn = with(bare(ISS, 0, Flags::SYN), capable(None, None), Some(7));
        let id = host.receive(Instant::ZERO, tuple, syn).expect("it listens").connection;
        let (_, answer) = host.connection_mut(id).transmit(Instant::ZERO).expect("a SYN/ACK");
        let host_key = answer.options.rare.iter().flat_map(|rare| &rare.mptcp).find_map(|option| match option {
            MptcpOption::MpCapable(capable) => capable.sender_key,
            _ => None,
        });
        assert_eq!(host_key.is_some(), mptcp);
        let ack = answer.seq.wrapping_add(1);
        let mut attack =
            Attack { host, id, tuple, now_ns: 0, ack, host_key, heard: (0, 0), answers: 0, joins: BTreeMap::new() };
        attack.send(with(bare(ISS + 1, ack, Flags::ACK), capable(Some(KEY), host_key), None));
        attack.data(0, 1_000, 0);
        attack
    }

    fn send(&mut self, segment: Segment<Vec<u8>>) {
        self.now_ns += MS;
        self.host.receive(Instant::from_nanos(self.now_ns), self.tuple, segment);
        let connection = self.host.connection_mut(self.id);
        if connection.next_timeout() <= Instant::from_nanos(self.now_ns) {
            connection.handle_timeout(Instant::from_nanos(self.now_ns));
        }
        while let Some((_, answer)) = connection.transmit(Instant::from_nanos(self.now_ns)) {
            assert!(!answer.flags.rst(), "the connection is to live on");
            self.heard = (answer.ack, u64::from(answer.window) << 3);
            self.answers += 1;
        }
    }

    /// A SYN with MP_JOIN from a port, and a third ACK whose HMAC is wrong. Answers whether the SYN was answered.
    fn join_in_vain(&mut self, port: u16, token: u32) -> bool {
        self.now_ns += MS;
        let tuple = Tuple { local: self.tuple.local, remote: end(3, port) };
        let syn = MpJoin::Syn { backup: false, address_id: 1, token, nonce: 5 };
        let syn = Segment { src_port: port, options: joining(syn), ..bare(ISS, 0, Flags::SYN) };
        let Some(at) = self.host.receive(Instant::from_nanos(self.now_ns), tuple, syn) else { return false };
        let (_, answer) =
            self.host.connection_mut(self.id).transmit(Instant::from_nanos(self.now_ns)).expect("a SYN/ACK");
        let ack = bare(ISS + 1, answer.seq.wrapping_add(1), Flags::ACK);
        let ack = Segment { src_port: port, options: joining(MpJoin::Ack { hmac: [0; 20] }), ..ack };
        assert_eq!(self.host.receive(Instant::from_nanos(self.now_ns), tuple, ack), Some(at));
        let (_, reset) = self.host.connection_mut(self.id).transmit(Instant::from_nanos(self.now_ns)).expect("a reset");
        assert!(reset.flags.rst());
        while self.host.connection_mut(self.id).poll_event().is_some() {}
        true
    }

    /// A SYN with MP_JOIN from a port: the initial sequence number and the nonce of the answer, if there is one.
    fn begin_join(&mut self, port: u16, token: u32) -> Option<(u32, u32)> {
        self.now_ns += MS;
        let tuple = Tuple { local: self.tuple.local, remote: end(3, port) };
        let syn = MpJoin::Syn { backup: false, address_id: 1, token, nonce: 5 };
        let syn = Segment { src_port: port, options: joining(syn), ..bare(ISS, 0, Flags::SYN) };
        let at = self.host.receive(Instant::from_nanos(self.now_ns), tuple, syn)?;
        let connection = self.host.connection_mut(self.id);
        let (subflow, answer) = connection.transmit(Instant::from_nanos(self.now_ns))?;
        assert_eq!(subflow, at.subflow, "what is dropped is dropped without a word");
        let nonce = answer.options.rare.iter().flat_map(|rare| &rare.mptcp).find_map(|option| match option {
            MptcpOption::MpJoin(MpJoin::SynAck { nonce, .. }) => Some(*nonce),
            _ => None,
        });
        self.joins.insert(port, answer.seq);
        Some((answer.seq, nonce?))
    }

    /// The third ACK of a join: whether the subflow is established.
    fn complete_join(&mut self, port: u16, hmac: [u8; 20]) -> bool {
        let tuple = Tuple { local: self.tuple.local, remote: end(3, port) };
        let ack = bare(ISS + 1, self.joins[&port].wrapping_add(1), Flags::ACK);
        let ack = Segment { src_port: port, options: joining(MpJoin::Ack { hmac }), ..ack };
        let Some(at) = self.host.receive(Instant::from_nanos(self.now_ns), tuple, ack) else { return false };
        let connection = self.host.connection_mut(self.id);
        let mut established = false;
        while let Some(event) = connection.poll_event() {
            established |= event == Event::SubflowEstablished(at.subflow);
        }
        while connection.transmit(Instant::from_nanos(self.now_ns)).is_some() {}
        established
    }

    /// `len` bytes of the stream from `at` on, at that place of the subflow plus `skew`.
    fn data(&mut self, at: u64, len: usize, skew: u32) {
        let content = (0..len as u64).map(|i| byte(at + i)).collect();
        let seq = ISS.wrapping_add(1).wrapping_add(at as u32).wrapping_add(skew);
        let mut segment = Segment { payload: content, ..bare(seq, self.ack, Flags::ACK) };
        if let Some(host_key) = self.host_key {
            let number = |key, place: u64| DataNumber::Long(wire::keys::idsn(key).wrapping_add(1 + place));
            let ssn = (at as u32).wrapping_add(1).wrapping_add(skew);
            let mapping = Mapping { dsn: number(KEY, at), ssn, len: len as u16, checksum: None };
            let dss = Dss { data_ack: Some(number(host_key, 0)), mapping: Some(mapping), data_fin: false };
            segment.options.dss = Some(dss);
        }
        self.send(segment);
    }

    fn in_order(&self) -> u64 {
        self.host.connection(self.id).bytes_in_order()
    }

    fn pieces(&self) -> usize {
        self.host.connection(self.id).items_held()
    }

    /// Reads all there is, and checks it.
    fn read(&mut self, from: u64) -> u64 {
        let mut at = from;
        while let Some(piece) = self.host.connection_mut(self.id).read() {
            assert!(piece.iter().enumerate().all(|(i, &b)| b == byte(at + i as u64)), "wrong bytes behind {at}");
            at += piece.len() as u64;
        }
        at
    }
}

fn byte(place: u64) -> u8 {
    (place.wrapping_mul(0x9e37_79b9) >> 13) as u8
}

const BOTH: [Protocol; 2] = [Protocol::Tcp, Protocol::Mptcp];

#[test]
fn data_beyond_the_window_is_not_kept() {
    for protocol in BOTH {
        let mut attack = Attack::new(protocol);
        let mut at = 1_000;
        while at < 4 * BUFFER {
            attack.data(at, 1_460, 0);
            at += 1_460;
        }
        assert!(attack.in_order() <= BUFFER, "{protocol:?}: {} bytes wait", attack.in_order());
        assert!(attack.in_order() > BUFFER - 1_460, "{protocol:?}: {} bytes are allowed", attack.in_order());
        assert!(attack.pieces() as u64 <= BUFFER / 1_460 + 2, "{protocol:?}: {}", attack.pieces());
        assert!(attack.answers > 300, "what is not taken is answered: {}", attack.answers);
        // Room is made: the next bytes are taken, and the stream is whole.
        let (next, from) = (attack.in_order(), attack.read(0));
        assert_eq!(next, from);
        attack.data(next, 1_460, 0);
        assert_eq!(attack.read(from), next + 1_460, "{protocol:?}");
    }
}

/// The byte at the edge of a window, again and again while nobody reads: a closed window takes not even one.
#[test]
fn a_closed_window_is_closed() {
    for protocol in BOTH {
        let mut attack = Attack::new(protocol);
        let mut at = 1_000;
        while at < BUFFER {
            let len = (BUFFER - at).min(1_460);
            attack.data(at, len as usize, 0);
            at += len;
        }
        assert_eq!((attack.in_order(), attack.heard.1), (BUFFER, 0), "{protocol:?}");
        for n in 0..1_000 {
            attack.data(BUFFER + n, 1, 0);
        }
        assert_eq!(attack.in_order(), BUFFER, "{protocol:?}");
    }
}

/// Under MPTCP a subflow's own window is wide: what lies beyond the connection's is known by its mapping.
#[test]
fn a_mapping_beyond_the_window_is_not_taken() {
    let mut attack = Attack::new(Protocol::Mptcp);
    let before = attack.heard.0;
    for n in 0..1_000 {
        // In order on the subflow, each a megabyte further in the stream.
        attack.data(1_000 + (n + 1) * (1 << 20), 100, 0_u32.wrapping_sub(((n + 1) << 20) as u32));
    }
    assert_eq!(attack.heard.0, before, "none is acknowledged");
    assert!(attack.pieces() <= 2, "{}", attack.pieces());
    attack.data(1_000, 100, 0);
    assert_eq!(attack.in_order(), 1_100);
}

#[test]
fn bytes_one_by_one_take_little_more_than_bytes_together() {
    for protocol in BOTH {
        let mut attack = Attack::new(protocol);
        for at in 1_000..20_000 {
            attack.data(at, 1, 0);
        }
        assert_eq!(attack.in_order(), 20_000);
        assert!(attack.pieces() <= 20_000 / 1_024, "{protocol:?}: {} pieces", attack.pieces());
        assert_eq!(attack.read(0), 20_000);
    }
}

/// Every other byte from the end to the beginning, then the rest: the most pieces that a window can hold, put in where it
/// costs most.
#[test]
fn every_other_byte_takes_a_bounded_number_of_places() {
    for protocol in BOTH {
        let mut attack = Attack::new(protocol);
        let far = 1_000 + BUFFER / 2;
        for at in (1_001..far).rev().step_by(2) {
            attack.data(at, 1, 0);
        }
        // Pieces and, under MPTCP, their mappings.
        let limit = (256 + BUFFER / 128) as usize;
        assert!(attack.pieces() <= 2 * limit, "{protocol:?}: {} pieces", attack.pieces());
        assert!(attack.pieces() >= limit, "{protocol:?}: {} pieces, all that are allowed", attack.pieces());
        assert_eq!(attack.in_order(), 1_000);
        // What was not kept was not acknowledged either: a peer in good faith sends it again.
        let mut at = 1_000;
        while at < far {
            attack.data(at, 1_000.min(far - at) as usize, 0);
            at += 1_000;
        }
        assert_eq!(attack.read(0), far, "{protocol:?}");
    }
}

/// In order on the subflow, every other byte in the stream: the connection holds them, not the subflow.
#[test]
fn every_other_byte_of_the_stream_takes_a_bounded_number_of_places() {
    let mut attack = Attack::new(Protocol::Mptcp);
    for n in 0..BUFFER as u32 / 4 {
        let at = 1_001 + 2 * u64::from(n);
        // The nth byte of the subflow behind the first 1,000.
        attack.data(at, 1, 0_u32.wrapping_sub(1 + n));
    }
    let limit = (256 + BUFFER / 128) as usize;
    assert!(attack.pieces() <= limit + 8, "{} pieces", attack.pieces());
    assert!(attack.pieces() >= limit, "{} pieces", attack.pieces());
    assert_eq!(attack.in_order(), 1_000);
}

/// Joins with the right token and a wrong HMAC used to take an id each until none was left.
#[test]
fn failed_joins_give_their_ids_back() {
    let mut attack = Attack::new(Protocol::Mptcp);
    let token = wire::keys::token(attack.host_key.unwrap());
    for n in 0..1_000 {
        assert!(attack.join_in_vain(10_000 + n, token), "join {n}");
    }
    let connection = attack.host.connection(attack.id);
    assert_eq!(connection.subflow_count(), SUBFLOW_LIMIT);
    let known = (0..1_000).filter(|n| {
        let tuple = Tuple { local: attack.tuple.local, remote: end(3, 10_000 + n) };
        attack.host.subflow_at(tuple).is_some()
    });
    assert_eq!(known.count(), SUBFLOW_LIMIT - 1, "the ends of the others are forgotten");
    attack.data(1_000, 1_000, 0);
    assert_eq!(attack.read(0), 2_000, "the connection lives on");
}

/// Whoever has seen the token, which is in clear in every join, can begin joins: they take no more than the oldest of their own
/// kind, and one in good faith succeeds although others begin all the time.
#[test]
fn half_open_joins_do_not_keep_others_out() {
    let mut attack = Attack::new(Protocol::Mptcp);
    let host_key = attack.host_key.unwrap();
    let token = wire::keys::token(host_key);
    let mut port = 10_000;
    let mut strays = |attack: &mut Attack, count: u16| {
        for _ in 0..count {
            port += 1;
            assert!(attack.begin_join(port, token).is_some(), "join {port}");
        }
    };
    for n in 0..7 {
        strays(&mut attack, 20);
        let (_, nonce) = attack.begin_join(5_000 + n, token).expect("it is answered");
        // Fewer than may be half open come within a round trip.
        strays(&mut attack, 7);
        let hmac = wire::keys::join_hmac_ack(KEY, host_key, 5, nonce);
        assert!(attack.complete_join(5_000 + n, hmac), "join {n} succeeds");
    }
    let connection = attack.host.connection(attack.id);
    assert!(connection.subflow_count() <= SUBFLOW_LIMIT, "{} subflows", connection.subflow_count());
    // Eight subflows are open: that is as many as may be, and not for having begun.
    assert!(attack.begin_join(6_000, token).is_none());
    attack.data(1_000, 1_000, 0);
    assert_eq!(attack.read(0), 2_000, "the connection lives on");
}

/// Eight joins may be half open where two subflows may be open, and twelve where twelve may: one more drops the oldest.
#[test]
fn as_many_joins_may_be_half_open_as_docs_security_says() {
    for (max_subflows, most) in [(2, 8), (8, 8), (12, 12)] {
        for others in [most - 1, most] {
            let mut attack = Attack::on(Config { max_subflows, ..Config::default() });
            let host_key = attack.host_key.unwrap();
            let token = wire::keys::token(host_key);
            let (_, nonce) = attack.begin_join(5_000, token).expect("it is answered");
            for n in 0..others {
                assert!(attack.begin_join(6_000 + n, token).is_some());
            }
            let hmac = wire::keys::join_hmac_ack(KEY, host_key, 5, nonce);
            assert_eq!(attack.complete_join(5_000, hmac), others < most, "{others} others, {max_subflows} subflows");
        }
    }
}

/// A SYN from anywhere, which nobody will ever complete.
fn stray_syn(n: u32) -> (Tuple, Segment<Vec<u8>>) {
    let remote = SocketAddr::new(Ipv4Addr::from_bits(0x0b00_0000 + n).into(), 5_000);
    (Tuple { local: end(1, 80), remote }, with(bare(n, 0, Flags::SYN), None, Some(7)))
}

#[test]
fn a_flood_of_syns_takes_no_more_than_the_backlog() {
    for protocol in BOTH {
        let mut host: Host<Vec<u8>> = Host::new(Xoshiro256PlusPlus::seed_from_u64(7));
        host.listen(80, Config { protocol, ..Config::default() });
        host.limit_backlog(100);
        let mut flood = 0..;
        let mut strays = |host: &mut Host<Vec<u8>>, count: usize| {
            for n in flood.by_ref().take(count) {
                let (tuple, syn) = stray_syn(n);
                let at = host.receive(Instant::ZERO, tuple, syn).expect("a SYN/ACK is to be sent");
                assert!(host.connection_mut(at.connection).transmit(Instant::ZERO).is_some_and(|(_, s)| s.flags.syn()));
            }
        };
        strays(&mut host, 5_000);
        assert_eq!((host.connection_count(), host.backlog_counts()), (100, (100, 4_900)));
        assert_eq!(host.take_dropped().len(), 4_900);
        assert_eq!(host.next_accepted(), None, "no handshake is over");
        // Someone in good faith, while up to 99 more come in a round trip: the handshake succeeds.
        let tuple = Tuple { local: end(1, 80), remote: end(2, 5_000) };
        let id = host.receive(Instant::ZERO, tuple, with(bare(ISS, 0, Flags::SYN), None, Some(7))).unwrap().connection;
        let (_, answer) = host.connection_mut(id).transmit(Instant::ZERO).unwrap();
        strays(&mut host, 99);
        assert_eq!(host.next_accepted(), None, "nor is this one yet");
        host.receive(Instant::from_nanos(1), tuple, bare(ISS + 1, answer.seq.wrapping_add(1), Flags::ACK))
            .expect("it is still known");
        assert_eq!((host.next_accepted(), host.next_accepted()), (Some(id), None));
        // It no longer counts among those that may have to go.
        strays(&mut host, 5_000);
        assert_eq!((host.connection_count(), host.backlog_counts().0), (101, 100));
        assert!(host.connection(id).is_established() && !host.connection(id).is_over());
        assert!(host.forget(id), "{protocol:?}");
    }
}

/// A handshake that the peer breaks off is nobody's connection.
#[test]
fn a_handshake_that_fails_is_not_accepted() {
    let mut host: Host<Vec<u8>> = Host::new(Xoshiro256PlusPlus::seed_from_u64(7));
    host.listen(80, Config::default());
    host.limit_backlog(100);
    let (tuple, syn) = stray_syn(1);
    let id = host.receive(Instant::ZERO, tuple, syn).unwrap().connection;
    host.connection_mut(id).transmit(Instant::ZERO).unwrap();
    host.receive(Instant::from_nanos(1), tuple, bare(2, 0, Flags::RST));
    assert!(host.connection(id).is_over());
    assert_eq!((host.next_accepted(), host.backlog_counts()), (None, (0, 0)));
}
