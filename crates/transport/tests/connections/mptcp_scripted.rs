//! What a host answers to a peer that is written out segment by segment: a peer of another make, that does what ours never
//! would (RFC 8684 §3.1, §3.3.3, §3.5).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::{Config, ConnectionId, Event, Host, Instant, LocalAddress, Tuple};
use wire::{DataNumber, Dss, Flags, Mapping, MpCapable, MptcpOption, Options, RareOptions, Segment, Span};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// The peer's initial sequence number and key.
const ISS: u32 = 1_000;
const KEY: u64 = 0x0123_4567_89ab_cdef;
/// Flags of MP_CAPABLE: B, and HMAC-SHA256.
const B: u8 = 0x40;
const H: u8 = 0x01;

/// A host and the peer's end of one subflow.
struct Peer {
    host: Host<Span>,
    id: Option<ConnectionId>,
    tuple: Tuple,
    now_ns: u64,
    /// What the peer sends next, and what it has received, as sequence numbers.
    seq: u32,
    ack: u32,
    /// The host's key, once it has told it.
    host_key: u64,
    sent: Vec<Segment<Span>>,
}

fn capable(version: u8, flags: u8, sender_key: Option<u64>, receiver_key: Option<u64>) -> MptcpOption {
    MptcpOption::MpCapable(MpCapable { version, flags, sender_key, receiver_key, data: None })
}

fn options(segment: &Segment<Span>) -> &[MptcpOption] {
    segment.options.rare.as_deref().map_or(&[], |rare| &rare.mptcp)
}

fn capable_of(segment: &Segment<Span>) -> Option<&MpCapable> {
    options(segment).iter().find_map(|o| match o {
        MptcpOption::MpCapable(m) => Some(m),
        _ => None,
    })
}

impl Peer {
    fn new() -> Peer {
        let end = |last, port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port);
        let mut host = Host::new(Xoshiro256PlusPlus::seed_from_u64(7));
        host.listen(80, Config::default());
        let tuple = Tuple { local: end(1, 80), remote: end(2, 5_000) };
        Peer { host, id: None, tuple, now_ns: 0, seq: ISS, ack: 0, host_key: 0, sent: Vec::new() }
    }

    /// A segment of the peer as its state has it.
    fn segment(&self, flags: Flags) -> Segment<Span> {
        Segment {
            src_port: self.tuple.remote.port(),
            dst_port: self.tuple.local.port(),
            seq: self.seq,
            ack: self.ack,
            flags,
            window: 60_000,
            ..Segment::default()
        }
    }

    fn with(&self, flags: Flags, mptcp: Vec<MptcpOption>) -> Segment<Span> {
        let sack_permitted = flags.syn();
        let rare = Some(Box::new(RareOptions { mptcp, mss: Some(1_000), sack_permitted, ..RareOptions::default() }));
        Segment { options: Options { rare, ..Options::default() }, ..self.segment(flags) }
    }

    /// An acknowledgment of the host's data up to `data_ack`, counted from its first byte.
    fn signal(&self, flags: Flags, data_ack: u64, mapping: Option<Mapping>, data_fin: bool) -> Segment<Span> {
        let data_ack = DataNumber::Long(wire::keys::idsn(self.host_key).wrapping_add(1 + data_ack));
        let dss = Some(Dss { data_ack: Some(data_ack), mapping, data_fin });
        Segment { options: Options { dss, ..Options::default() }, ..self.segment(flags) }
    }

    /// The host receives a segment; what it answers at once.
    fn send(&mut self, segment: Segment<Span>) -> Vec<Segment<Span>> {
        self.now_ns += MS;
        if let Some(at) = self.host.receive(Instant::from_nanos(self.now_ns), self.tuple, segment) {
            self.id = Some(at.connection);
        }
        self.collect()
    }

    fn collect(&mut self) -> Vec<Segment<Span>> {
        let mut out = Vec::new();
        while let Some((_, segment)) = self.host.transmit() {
            out.push(segment);
        }
        if let Some(id) = self.id {
            while let Some((_, segment)) = self.host.connection_mut(id).transmit(Instant::from_nanos(self.now_ns)) {
                out.push(segment);
            }
        }
        self.sent.extend(out.iter().cloned());
        out
    }

    /// Time goes by.
    fn wait(&mut self, ns: u64) -> Vec<Segment<Span>> {
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

    /// SYN and SYN/ACK; the answer is the latter.
    fn syn(&mut self, mptcp: Vec<MptcpOption>) -> Segment<Span> {
        let mut answers = self.send(self.with(Flags::SYN, mptcp));
        assert_eq!(answers.len(), 1, "{answers:?}");
        let answer = answers.remove(0);
        assert_eq!(answer.flags, Flags::SYN | Flags::ACK);
        self.host_key = capable_of(&answer).and_then(|m| m.sender_key).unwrap_or(0);
        (self.seq, self.ack) = (ISS + 1, answer.seq.wrapping_add(1));
        answer
    }

    /// The whole handshake of MPTCP.
    fn established() -> Peer {
        let mut peer = Peer::new();
        peer.syn(vec![capable(1, H, None, None)]);
        let (ours, host) = (KEY, peer.host_key);
        peer.send(peer.with(Flags::ACK, vec![capable(1, H, Some(ours), Some(host))]));
        assert!(!peer.fell_back() && peer.events().contains(&Event::Established));
        peer
    }

    fn fell_back(&self) -> bool {
        self.host.connection(self.id.unwrap()).is_fallback()
    }

    fn events(&mut self) -> Vec<Event> {
        let connection = self.host.connection_mut(self.id.unwrap());
        std::iter::from_fn(|| connection.poll_event()).collect()
    }

    /// The end of the peer's stream, which has no byte.
    fn data_fin(&self) -> Mapping {
        let dsn = DataNumber::Long(wire::keys::idsn(KEY).wrapping_add(1));
        Mapping { dsn, ssn: 0, len: 1, checksum: None }
    }
}

/// RFC 8684 §3.3.3: DATA_FIN ends one direction, and the peer's FINs that follow it end that of the subflows. The other
/// direction goes on as long as the application writes.
#[test]
fn what_is_written_after_the_peers_data_fin_and_fin_is_sent() {
    let mut peer = Peer::established();
    let data_fin = peer.data_fin();
    peer.send(peer.signal(Flags::ACK, 0, Some(data_fin), true));
    assert!(peer.events().contains(&Event::EndOfStream));
    let answers = peer.send(peer.signal(Flags::FIN | Flags::ACK, 0, None, false));
    peer.seq += 1;
    assert!(answers.iter().any(|s| s.ack == peer.seq && !s.flags.fin()), "{answers:?}");

    let id = peer.id.unwrap();
    peer.host.connection_mut(id).offer(100);
    let data = peer.collect();
    assert_eq!(data.iter().map(|s| s.payload.len).sum::<u32>(), 100, "{data:?}");
    peer.ack = peer.ack.wrapping_add(100);
    peer.send(peer.signal(Flags::ACK, 100, None, false));

    // Now our direction ends too: DATA_FIN, then FIN, and nothing is reset.
    let now_ns = peer.now_ns;
    peer.host.connection_mut(id).close(Instant::from_nanos(now_ns));
    let end = peer.collect();
    assert!(end.iter().any(|s| s.options.dss.is_some_and(|d| d.data_fin)), "{end:?}");
    let fin = peer.send(peer.signal(Flags::ACK, 101, None, false));
    assert!(fin.iter().any(|s| s.flags.fin()), "{fin:?}");
    peer.ack = peer.ack.wrapping_add(1);
    peer.send(peer.signal(Flags::ACK, 101, None, false));
    peer.wait(120 * SECOND);
    let events = peer.events();
    assert!(events.contains(&Event::Flushed) && events.contains(&Event::Closed), "{events:?}");
    assert!(!peer.sent.iter().any(|s| s.flags.rst()));
}

/// A FIN without DATA_FIN takes the subflow away, not the connection: ours goes the same way.
#[test]
fn a_fin_without_data_fin_ends_the_subflow_in_both_directions() {
    let mut peer = Peer::established();
    let answers = peer.send(peer.signal(Flags::FIN | Flags::ACK, 0, None, false));
    assert!(answers.iter().any(|s| s.flags.fin()), "{answers:?}");
}

/// RFC 8684 §3.1: with B set, of no known algorithm, or of another version, "the MP_CAPABLE option … MUST be silently
/// ignored", "MUST be treated as invalid and ignored": wherever it stands.
#[test]
fn an_mp_capable_that_cannot_be_understood_is_ignored() {
    for flags in [B | H, 0, 0x02, B] {
        let mut peer = Peer::new();
        let answer = peer.syn(vec![capable(1, flags, None, None)]);
        assert_eq!(capable_of(&answer), None, "SYN with flags {flags:#x}");

        let mut peer = Peer::new();
        peer.syn(vec![capable(1, H, None, None)]);
        let host = peer.host_key;
        peer.send(peer.with(Flags::ACK, vec![capable(1, flags, Some(KEY), Some(host))]));
        assert!(peer.fell_back(), "third ACK with flags {flags:#x}");
    }
    for version in [2, 15] {
        let mut peer = Peer::new();
        let answer = peer.syn(vec![capable(version, H, None, None)]);
        // What is higher than ours is answered with ours.
        assert_eq!(capable_of(&answer).map(|m| m.version), Some(1));
        let host = peer.host_key;
        peer.send(peer.with(Flags::ACK, vec![capable(version, H, Some(KEY), Some(host))]));
        assert!(peer.fell_back(), "third ACK of version {version}");
    }
}

#[test]
fn a_syn_ack_with_an_mp_capable_that_cannot_be_understood_is_one_without() {
    for (version, flags, falls_back) in [(1, H, false), (1, B | H, true), (1, 0, true), (2, H, true)] {
        let mut peer = Peer::new();
        let local = LocalAddress { id: 0, address: peer.tuple.local.ip(), backup: false };
        let id =
            peer.host.connect(Instant::ZERO, Config::default(), &[local], peer.tuple.local.port(), peer.tuple.remote);
        peer.id = Some(id);
        let syn = peer.collect().remove(0);
        peer.ack = syn.seq.wrapping_add(1);
        let answers = peer.send(peer.with(Flags::SYN | Flags::ACK, vec![capable(version, flags, Some(KEY), None)]));
        assert_eq!(peer.fell_back(), falls_back, "version {version}, flags {flags:#x}");
        assert_eq!(capable_of(&answers[0]).is_none(), falls_back);
    }
}

/// RFC 9293 §3.5.3 (RFC 5961 §3.2): a reset in the window that is not the next segment is answered with a challenge ACK,
/// whatever options it has.
#[test]
fn a_fast_close_with_a_reset_beside_the_next_sequence_number_is_challenged() {
    let mut peer = Peer::established();
    let host_key = peer.host_key;
    let mut reset = peer.with(Flags::RST, vec![MptcpOption::MpFastclose { receiver_key: host_key }]);
    let right = reset.clone();
    reset.seq = reset.seq.wrapping_add(100);
    let answers = peer.send(reset);
    assert!(answers.len() == 1 && answers[0].flags == Flags::ACK && answers[0].ack == peer.seq, "{answers:?}");
    assert!(!peer.events().contains(&Event::Aborted));
    // In its place it does what it says.
    peer.send(right);
    assert!(peer.events().contains(&Event::Aborted));
}

/// A closed subflow owes no acknowledgment: the connection can be forgotten although one was due when it ended.
#[test]
fn a_fast_close_ahead_of_an_acknowledgment_leaves_nothing_to_do() {
    let mut peer = Peer::established();
    let dsn = DataNumber::Long(wire::keys::idsn(KEY).wrapping_add(1));
    let mapping = Mapping { dsn, ssn: 1, len: 1_000, checksum: None };
    let data = Segment { payload: Span { offset: 0, len: 1_000 }, ..peer.signal(Flags::ACK, 0, Some(mapping), false) };
    let mut reset = peer.with(Flags::RST, vec![MptcpOption::MpFastclose { receiver_key: peer.host_key }]);
    reset.seq = reset.seq.wrapping_add(1_000);
    for segment in [data, reset] {
        peer.host.receive(Instant::from_nanos(peer.now_ns), peer.tuple, segment);
    }
    assert!(peer.events().contains(&Event::Aborted));
    while peer.host.connection_mut(peer.id.unwrap()).read().is_some() {}
    assert!(peer.collect().is_empty(), "to a peer that has gone");
    assert!(peer.host.connection(peer.id.unwrap()).is_at_rest());
}

/// RFC 8684 §3.3.4: data beyond the window of the data level is not kept, whatever the subflow's sequence numbers say; what
/// was not allowed is not acknowledged at the data level (finding 18 of docs/conformance.md).
#[test]
fn data_outside_the_window_is_not_taken_at_the_data_level() {
    let mut peer = Peer::established();
    let first = wire::keys::idsn(KEY).wrapping_add(1);
    let (mut at, mut last) = (0_u64, None);
    for _ in 0..100 {
        let mapping =
            Mapping { dsn: DataNumber::Long(first.wrapping_add(at)), ssn: 1 + at as u32, len: 1_000, checksum: None };
        let mut segment = peer.signal(Flags::ACK, 0, Some(mapping), false);
        segment.payload = Span { offset: at, len: 1_000 };
        peer.seq = peer.seq.wrapping_add(1_000);
        at += 1_000;
        last = peer.send(segment).pop().or(last);
    }
    let taken = peer.host.connection(peer.id.unwrap()).bytes_in_order();
    // Nobody reads, so a segment counts half of its memory as data: (131,072 - 2,304) / 2 behind the first 1,000 bytes is 65,384.
    assert_eq!(taken, 65_000, "of a window that ends at 65,384");
    let Some(Dss { data_ack: Some(number), .. }) = last.unwrap().options.dss else { panic!("no DSS") };
    assert_eq!(number.expand(first), first.wrapping_add(taken));
}

/// RFC 8684 §3.3.1: a mapping says which octets of the subflow it is of. Data without one makes the only subflow fall back (§3.7),
/// and that is so where everything before was in order.
#[test]
fn a_mapping_of_other_octets_maps_nothing() {
    let mut peer = Peer::established();
    let first = wire::keys::idsn(KEY).wrapping_add(1);
    let send = |peer: &mut Peer, at: u64, ssn: u32| {
        let dsn = DataNumber::Long(first.wrapping_add(at));
        let mut segment = peer.signal(Flags::ACK, 0, Some(Mapping { dsn, ssn, len: 1_000, checksum: None }), false);
        segment.payload = Span { offset: at, len: 1_000 };
        peer.seq = peer.seq.wrapping_add(1_000);
        peer.send(segment);
        peer.host.connection(peer.id.unwrap()).bytes_in_order()
    };
    assert_eq!(send(&mut peer, 0, 1), 1_000);
    assert_eq!(send(&mut peer, 1_000, 1_001), 2_000);
    assert!(!peer.fell_back());
    // The mapping is of the thousand after these.
    assert_eq!(send(&mut peer, 3_000, 3_001), 3_000, "what follows on the subflow follows in the stream");
    assert!(peer.fell_back());
}

/// RFC 8684 §3.3.2: a DATA_ACK of what was never sent acknowledges nothing.
#[test]
fn a_data_ack_beyond_what_was_sent_is_ignored() {
    let mut peer = Peer::established();
    peer.send(peer.signal(Flags::ACK, 0, None, false));
    let id = peer.id.unwrap();
    peer.host.connection_mut(id).offer(900);
    assert_eq!(peer.collect().iter().map(|s| s.payload.len).sum::<u32>(), 900);
    peer.send(peer.signal(Flags::ACK, 5_000, None, false));
    assert_eq!(peer.host.connection(id).bytes_unacknowledged(), 900);
    peer.send(peer.signal(Flags::ACK, 900, None, false));
    assert_eq!(peer.host.connection(id).bytes_unacknowledged(), 0);
}

/// RFC 8684 §3.3.2, §3.6: what a box acknowledges on the subflow and never delivers has no DATA_ACK. The bytes go out again at
/// the data level, at least as often as R2 says, and then the subflow is reset with the reason for a middlebox (6).
#[test]
fn data_that_is_acknowledged_on_the_subflow_only_is_given_up() {
    let mut peer = Peer::established();
    peer.send(peer.signal(Flags::ACK, 0, None, false));
    let id = peer.id.unwrap();
    peer.host.connection_mut(id).set_retries(2);
    peer.host.connection_mut(id).offer(100);
    let mut out = peer.collect();
    let mut times = 0;
    for _ in 0..1_000 {
        let data: u32 = out.iter().map(|s| s.payload.len).sum();
        times += u32::from(data > 0);
        peer.ack = peer.ack.wrapping_add(data);
        out = if data > 0 { peer.send(peer.signal(Flags::ACK, 0, None, false)) } else { peer.wait(50 * MS) };
        if out.iter().any(|s| s.flags.rst()) {
            break;
        }
    }
    let reset = out.iter().find(|s| s.flags.rst()).expect("it is given up");
    assert!(options(reset).iter().any(|o| matches!(o, MptcpOption::MpTcpRst { reason: 6, .. })), "{reset:?}");
    assert!((3..=6).contains(&times), "sent {times} times");
    // No other subflow comes.
    peer.wait(600 * SECOND);
    assert!(peer.events().contains(&Event::Aborted));
}
