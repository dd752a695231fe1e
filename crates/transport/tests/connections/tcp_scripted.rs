//! What a host answers to a TCP peer that is written out segment by segment: a peer of another make, that acknowledges by
//! parts, shrinks its window, forgets what it told, or was never there (RFC 9293, 5681, 6298, 7323, 8985).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::congestion::Choice;
use transport::{
    Config, ConnectionId, Event, Host, LocalAddress, LossDetection, Protocol, ReceiveBuffer, Statistics, SubflowId,
    TcpOptions, Tuple,
};
use wire::{Flags, Options, RareOptions, SackBlock, SackBlocks, Segment, Span, Timestamps};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// The peer's initial sequence number.
const ISS: u32 = 1_000;
/// What the peer announces: segments of the host have so many bytes of data without options.
const MSS: u16 = 1_000;
const ACK: Flags = Flags::ACK;

/// A host and the peer's end of one TCP connection. Numbers of either side count from its SYN, which is 0.
struct Peer {
    host: Host<Span>,
    id: Option<ConnectionId>,
    tuple: Tuple,
    now_ns: u64,
    /// The host's initial sequence number.
    host_iss: u32,
    /// Timestamps go with every segment of the peer: the value of the next.
    stamp: Option<u32>,
    /// What the last segment of the host had for one.
    host_stamp: u32,
    sent: Vec<Segment<Span>>,
}

/// What the peer says on its SYN or SYN/ACK.
#[derive(Clone, Copy)]
struct Offer {
    sack: bool,
    stamps: bool,
    scale: Option<u8>,
}

const PLAIN: Offer = Offer { sack: false, stamps: false, scale: None };
const SACK: Offer = Offer { sack: true, ..PLAIN };
const STAMPS: Offer = Offer { stamps: true, sack: true, ..PLAIN };

fn tcp() -> Config {
    let tcp = TcpOptions { nagle: false, ..TcpOptions::default() };
    Config { protocol: Protocol::Tcp, congestion: Choice::named("reno").unwrap(), tcp, ..Config::default() }
}

fn with(change: impl FnOnce(&mut TcpOptions)) -> Config {
    let mut config = tcp();
    change(&mut config.tcp);
    config
}

impl Peer {
    /// Nothing was said yet; the host listens.
    fn new(config: Config) -> Peer {
        let end = |last, port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port);
        let mut host = Host::new(Xoshiro256PlusPlus::seed_from_u64(7));
        host.listen(80, config);
        let tuple = Tuple { local: end(1, 80), remote: end(2, 5_000) };
        let (host_iss, stamp, host_stamp) = (0, None, 0);
        Peer { host, id: None, tuple, now_ns: SECOND, host_iss, stamp, host_stamp, sent: Vec::new() }
    }

    /// The host calls; answers its SYN.
    fn called(config: Config) -> (Peer, Segment<Span>) {
        let mut peer = Peer::new(config.clone());
        let local = LocalAddress { id: 0, address: peer.tuple.local.ip(), backup: false };
        let port = peer.tuple.local.port();
        peer.id = Some(peer.host.connect(peer.now_ns, config, &[local], port, peer.tuple.remote));
        let syn = peer.collect().remove(0);
        assert_eq!(syn.flags, Flags::SYN);
        peer.host_iss = syn.seq;
        (peer, syn)
    }

    /// The peer has called, and the handshake is done.
    fn established(config: Config, offer: Offer) -> Peer {
        let mut peer = Peer::new(config);
        peer.call(offer);
        peer.send(peer.segment(ACK, 1, 1));
        assert!(peer.events().contains(&Event::Established));
        peer
    }

    /// SYN of the peer; the answer is the host's.
    fn call(&mut self, offer: Offer) -> Segment<Span> {
        self.stamp = offer.stamps.then_some(1);
        let syn = self.with_offer(Segment { ack: 0, ..self.segment(Flags::SYN, 0, 0) }, offer);
        let mut answers = self.send(syn);
        assert_eq!(answers.len(), 1, "{answers:?}");
        let answer = answers.remove(0);
        assert_eq!(answer.flags, Flags::SYN | ACK);
        self.host_iss = answer.seq;
        answer
    }

    fn with_offer(&self, segment: Segment<Span>, offer: Offer) -> Segment<Span> {
        let rare = RareOptions {
            mss: Some(MSS),
            window_scale: offer.scale,
            sack_permitted: offer.sack,
            ..RareOptions::default()
        };
        Segment { options: Options { rare: Some(Box::new(rare)), ..segment.options }, ..segment }
    }

    /// A segment of the peer.
    fn segment(&self, flags: Flags, seq: u32, ack: u32) -> Segment<Span> {
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
    fn data(&self, seq: u32, len: u32, ack: u32) -> Segment<Span> {
        Segment { payload: Span { offset: u64::from(seq) - 1, len }, ..self.segment(ACK, seq, ack) }
    }

    /// An acknowledgment with SACK blocks.
    fn sack(&self, ack: u32, blocks: &[(u32, u32)]) -> Segment<Span> {
        let mut segment = self.segment(ACK, 1, ack);
        let mut sack = SackBlocks::default();
        for &(left, right) in blocks {
            sack.push(SackBlock { left: self.host_iss.wrapping_add(left), right: self.host_iss.wrapping_add(right) });
        }
        segment.options.sack = sack;
        segment
    }

    /// The host receives a segment a millisecond later; what it answers at once.
    fn send(&mut self, segment: Segment<Span>) -> Vec<Segment<Span>> {
        self.now_ns += MS;
        self.send_now(segment)
    }

    fn send_now(&mut self, segment: Segment<Span>) -> Vec<Segment<Span>> {
        if let Some(at) = self.host.receive(self.now_ns, self.tuple, segment) {
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
            while let Some((_, segment)) = self.host.connection_mut(id).transmit(self.now_ns) {
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
    fn wait(&mut self, ns: u64) -> Vec<Segment<Span>> {
        let (until_ns, mut out) = (self.now_ns + ns, Vec::new());
        while let Some(id) = self.id {
            let at_ns = self.host.connection(id).next_timeout_ns();
            if at_ns > until_ns {
                break;
            }
            self.now_ns = at_ns;
            self.host.connection_mut(id).handle_timeout(at_ns);
            out.extend(self.collect());
        }
        self.now_ns = until_ns;
        out
    }

    /// The host's application writes so many bytes; what goes out.
    fn write(&mut self, bytes: u64) -> Vec<Segment<Span>> {
        self.host.connection_mut(self.id.unwrap()).offer(bytes);
        self.collect()
    }

    /// Reads one piece; what goes out then.
    fn read(&mut self) -> Vec<Segment<Span>> {
        assert!(self.host.connection_mut(self.id.unwrap()).read().is_some());
        self.collect()
    }

    fn events(&mut self) -> Vec<Event> {
        let connection = self.host.connection_mut(self.id.unwrap());
        std::iter::from_fn(|| connection.poll_event()).collect()
    }

    fn statistics(&self) -> Statistics {
        self.host.connection(self.id.unwrap()).statistics(SubflowId(0))
    }

    fn cwnd(&self) -> f64 {
        self.host.connection(self.id.unwrap()).views()[0].cwnd
    }

    /// The sequence numbers of the data in these segments, first and next.
    fn ranges(&self, segments: &[Segment<Span>]) -> Vec<(u32, u32)> {
        let of = |s: &Segment<Span>| s.seq.wrapping_sub(self.host_iss);
        segments.iter().filter(|s| s.payload.len > 0).map(|s| (of(s), of(s) + s.payload.len)).collect()
    }
}

/// A bare acknowledgment: neither data nor a flag beside ACK.
fn is_bare(segment: &Segment<Span>) -> bool {
    segment.flags == ACK && segment.payload.len == 0
}

// Acknowledgments by parts, duplicate acknowledgments and windows.

/// RFC 2018 §3: a block tells octets, not segments. A receiver that got a segment in parts ends a block within it first and
/// beyond it later.
#[test]
fn a_segment_that_is_selectively_acknowledged_by_parts_is_acknowledged() {
    let mut peer = Peer::established(tcp(), SACK);
    assert_eq!(peer.write(10_000).len(), 10);
    // The first is missing; the others arrive in parts of 700 bytes, so that every block ends in the middle of a segment.
    let mut again = Vec::new();
    for right in (1_700..=10_001).step_by(700) {
        again.extend(peer.send(peer.sack(1, &[(1_001, right)])));
    }
    again.extend(peer.send(peer.sack(1, &[(1_001, 10_001)])));
    assert_eq!(peer.ranges(&again), [(1, 1_001)], "only what is missing");
    let connection = peer.host.connection(peer.id.unwrap());
    assert_eq!(connection.views()[0].in_flight, 1);
    peer.send(peer.segment(ACK, 1, 10_001));
    assert_eq!(peer.statistics().retransmissions, 1);
}

/// RFC 5681 §3.2 step 1: on the first two duplicate ACKs one new segment each, "and the TCP sender MUST NOT change cwnd to
/// reflect these two segments". In flight are then at most cwnd + 2 SMSS.
#[test]
fn duplicate_acknowledgments_do_not_open_the_window() {
    for offer in [SACK, PLAIN] {
        let mut peer = Peer::established(tcp(), offer);
        assert_eq!(peer.write(100_000).len(), 10);
        let mut out = 10;
        for right in [3_001, 4_001] {
            let blocks = [(2_001, right)];
            let duplicate = if offer.sack { peer.sack(1, &blocks) } else { peer.segment(ACK, 1, 1) };
            let new = peer.send(duplicate);
            assert_eq!(new.len(), 1, "limited transmit (RFC 3042): {new:?}");
            out += new.len();
            assert_eq!(peer.cwnd(), 10.0);
        }
        assert_eq!(out, 12);
    }
}

/// §3.1: what a cumulative acknowledgment acknowledges opens the window, whether it was selectively acknowledged before
/// or not: a network that reorders costs no growth.
#[test]
fn what_was_selectively_acknowledged_opens_the_window_when_it_is_acknowledged() {
    let mut peer = Peer::established(tcp(), SACK);
    peer.write(100_000);
    peer.send(peer.sack(1, &[(1_001, 3_001)]));
    peer.send(peer.segment(ACK, 1, 3_001));
    assert_eq!(peer.cwnd(), 13.0, "slow start: three segments");
}

/// RFC 9293 §3.8.6: a window that shrinks may leave a usable window below zero; the sender "SHOULD NOT send new data
/// (SHLD-15), but SHOULD retransmit normally the old unacknowledged data" (SHLD-16), and must not give up because what lies
/// beyond the edge is not acknowledged (SHLD-17).
#[test]
fn a_window_that_shrinks_is_obeyed() {
    let mut peer = Peer::established(tcp(), SACK);
    let mut sent = peer.write(200_000).len() as u32;
    for ack in [10_001, 26_001] {
        let window = if ack == 26_001 { 0 } else { 60_000 };
        let new = peer.send(Segment { window, ..peer.segment(ACK, 1, ack) });
        if window == 0 {
            assert_eq!(new, [], "the window is closed");
        }
        sent += new.len() as u32;
    }
    assert!(sent > 26, "something lies beyond the edge now");
    // Minutes of timeouts, each answered: it is not given up.
    let (mut again, mut tries) = (Vec::new(), 0);
    while tries < 40 {
        let out = peer.wait(30 * SECOND);
        tries += out.len();
        again.extend(out);
        peer.send(Segment { window: 0, ..peer.segment(ACK, 1, 26_001) });
    }
    assert!(peer.ranges(&again).iter().all(|r| r.1 <= sent * 1_000 + 1), "old data only");
    assert_eq!(peer.events(), []);
    // It opens again.
    peer.send(Segment { window: 60_000, ..peer.segment(ACK, 1, 26_001) });
    let more = peer.send(Segment { window: 60_000, ..peer.segment(ACK, 1, sent * 1_000 + 1) });
    assert!(peer.ranges(&more).iter().any(|r| r.0 == sent * 1_000 + 1), "{more:?}");
}

/// §3.10.7.4, fifth: the window of an older segment is not taken: not of one that acknowledges less, nor of data from
/// further back.
#[test]
fn the_window_of_an_old_segment_is_not_taken() {
    let mut peer = Peer::established(tcp(), SACK);
    peer.write(10_000);
    peer.send(Segment { window: 5_000, ..peer.segment(ACK, 1, 5_001) });
    peer.send(Segment { window: 10_000, ..peer.segment(ACK, 1, 4_001) });
    // Out of order: the later one says 8 000, the earlier one, which comes after it, 2 000.
    peer.send(Segment { window: 8_000, ..peer.data(101, 100, 5_001) });
    peer.send(Segment { window: 2_000, ..peer.data(1, 50, 5_001) });
    peer.send(Segment { window: 8_000, ..peer.segment(ACK, 201, 10_001) });
    let new = peer.write(100_000);
    assert_eq!(peer.ranges(&new).last().map(|r| r.1), Some(18_001), "5 000 acknowledged, then 8 000 allowed");
}

/// RFC 9293 §3.8.6.2.2: what was read is told when it opens the window. A window field of 16 bits cannot tell more than
/// 65 535 << scale: an acknowledgment that says nothing new would count as a duplicate at the peer.
#[test]
fn reading_sends_no_acknowledgment_that_says_nothing_new() {
    for (buffer, scale, len) in [(1 << 20, None, 40), (6 << 20, None, 1_000), (1 << 30, Some(2), 700)] {
        let config = Config { receive_buffer: ReceiveBuffer::Fixed(buffer), ..tcp() };
        let mut peer = Peer::established(config, Offer { scale, ..SACK });
        let mut at = 1;
        for _ in 0..200 {
            peer.send(peer.data(at, len, 1));
            at += len;
            peer.wait(50 * MS); // the delayed acknowledgment
            let out = peer.read();
            let last = |n| peer.sent.iter().rev().nth(n).map(|s| (s.ack, s.window));
            assert!(out.is_empty() || last(0) != last(1), "a pure duplicate: {out:?}");
        }
    }
}

// Segments that are not acceptable, resets, and half-open connections.

const RST: Flags = Flags::RST;

/// RFC 9293 §3.10.7.1: CLOSED answers `<SEQ=SEG.ACK><CTL=RST>`, or without an acknowledgment
/// `<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>`; here of a connection that was reset and not forgotten.
#[test]
fn what_comes_after_the_end_is_answered_with_a_reset_that_fits() {
    let mut peer = Peer::established(tcp(), STAMPS);
    assert_eq!(peer.send(peer.segment(RST, 1, 0)), []);
    assert!(peer.events().contains(&Event::Aborted));
    let answers = peer.send(peer.data(1, 100, 77));
    assert_eq!(answers.len(), 1);
    let seq = peer.host_iss.wrapping_add(77);
    assert_eq!((answers[0].flags, answers[0].seq, answers[0].ack), (RST, seq, 0));
    let mut without_ack = peer.data(5, 100, 0);
    (without_ack.flags, without_ack.ack) = (Flags::FIN, 0);
    let answers = peer.send(without_ack);
    assert_eq!((answers[0].flags, answers[0].seq, answers[0].ack), (RST | ACK, 0, ISS + 5 + 101));
    assert_eq!(peer.send(peer.segment(RST, 1, 1)), []);
}

/// §3.5.2, §3.10.7.4: an unacceptable segment is answered with an acknowledgment, an empty one too; but two ends that
/// disagree do not answer each other without end (RFC 5961 §7).
#[test]
fn an_unacceptable_empty_segment_is_answered_now_and_then() {
    let mut peer = Peer::established(tcp(), SACK);
    peer.send(peer.data(1, 500, 1));
    for far in [0x4000_0000, 200_000, 100] {
        let answers = peer.send(peer.segment(ACK, far, 1));
        assert!(answers.len() == 1 && is_bare(&answers[0]) && answers[0].ack == ISS + 501, "{far}: {answers:?}");
        let again: usize = (0..100).map(|_| peer.send(peer.segment(ACK, far, 1)).len()).sum();
        assert_eq!(again, 0, "{far}");
        peer.wait(SECOND);
        assert_eq!(peer.send(peer.segment(RST, far.wrapping_add(0x1000_0000), 1)), [], "a reset is not");
    }
}

/// §3.10.7.3: in SYN-SENT an acknowledgment of what was never sent is answered with a reset, and the SYN goes on. So a
/// half-open connection of the peer, which answers the SYN with its own numbers, comes to its end (§3.5.1, figure 9).
#[test]
fn an_unacceptable_acknowledgment_of_a_syn_is_reset() {
    let (mut peer, _) = Peer::called(tcp());
    for flags in [ACK, Flags::SYN | ACK] {
        for ack in [0, 2, 0x7000_0000, u32::MAX] {
            let answers = peer.send(peer.segment(flags, 0, ack));
            assert_eq!(answers.len(), 1, "{flags:?} {ack}");
            let seq = peer.host_iss.wrapping_add(ack);
            assert_eq!((answers[0].flags, answers[0].seq), (RST, seq), "{flags:?} {ack}");
        }
    }
    assert_eq!(peer.send(peer.segment(RST | ACK, 0, 7)), [], "a reset is not answered");
    let syn = peer.wait(2 * SECOND);
    assert!(syn.iter().any(|s| s.flags == Flags::SYN), "{syn:?}");
    peer.send(peer.with_offer(peer.segment(Flags::SYN | ACK, 0, 1), SACK));
    assert!(peer.events().contains(&Event::Established));
}

/// The same between two hosts of ours: a client that has lost its state calls again from the same port.
#[test]
fn a_half_open_connection_gives_way_to_a_new_one() {
    let mut server = Peer::established(tcp(), SACK);
    let (mut client, mut syn) = Peer::called(tcp());
    // The client is behind the peer's address, and the server's challenge goes to it.
    for round in 0..3 {
        syn.src_port = 5_000;
        syn.dst_port = 80;
        let Some(answer) = server.send(syn.clone()).pop() else { panic!("round {round}: no answer") };
        let answers = client.send(answer.clone());
        if answer.flags == Flags::SYN | ACK {
            assert!(round > 0 && client.events().contains(&Event::Established));
            return;
        }
        assert_eq!(answers.len(), 1, "{answer:?}");
        for segment in answers {
            server.send(segment);
        }
        assert!(server.events().contains(&Event::Aborted));
        syn = client.wait(2 * SECOND).remove(0);
        assert_eq!(syn.flags, Flags::SYN);
    }
    panic!("no connection");
}

/// §3.10.7.4 in SYN-RECEIVED: the sequence number is looked at first; an acknowledgment of what was not sent is reset, and
/// the right one still makes the connection.
#[test]
fn a_third_segment_that_does_not_fit_is_answered() {
    let mut peer = Peer::new(tcp());
    peer.call(SACK);
    for ack in [0, 2, 0x7000_0000] {
        let answers = peer.send(peer.segment(ACK, 1, ack));
        assert_eq!(answers.len(), 1, "{ack}");
        let seq = peer.host_iss.wrapping_add(ack);
        assert_eq!((answers[0].flags, answers[0].seq), (RST, seq), "{ack}");
    }
    let answers = peer.send(peer.segment(ACK, 0x4000_0000, 1));
    assert!(answers.len() == 1 && is_bare(&answers[0]), "outside of the window: {answers:?}");
    assert_eq!((answers[0].seq, answers[0].ack), (peer.host_iss.wrapping_add(1), ISS + 1));
    assert_eq!(peer.events(), []);
    peer.send(peer.segment(ACK, 1, 1));
    assert!(peer.events().contains(&Event::Established));
}

/// §3.10.7.4, second: a reset in the window beside RCV.NXT is challenged, one in its place is taken, one outside dropped; in
/// SYN-RECEIVED as in ESTABLISHED (RFC 5961 §3.2).
#[test]
fn a_reset_beside_the_next_number_is_challenged_in_syn_received() {
    let mut peer = Peer::new(tcp());
    peer.call(SACK);
    assert_eq!(peer.send(peer.segment(RST, 0x4000_0000, 0)), []);
    let answers = peer.send(peer.segment(RST, 100, 0));
    assert!(answers.len() == 1 && is_bare(&answers[0]) && answers[0].ack == ISS + 1, "{answers:?}");
    assert_eq!(peer.events(), []);
    assert_eq!(peer.send(peer.segment(RST, 1, 0)), []);
    assert!(peer.events().contains(&Event::Aborted));
}

/// A SYN of another connection in SYN-RECEIVED: challenged, and what the peer answers to that ends the old one.
#[test]
fn another_syn_in_syn_received_is_challenged() {
    let mut peer = Peer::new(tcp());
    peer.call(SACK);
    let again = Segment { ack: 0, ..peer.segment(Flags::SYN, 0, 0) };
    let answers = peer.send(again.clone());
    assert_eq!(answers[0].flags, Flags::SYN | ACK, "the same SYN again");
    let answers = peer.send(Segment { seq: 0x1234_5678, ..again });
    assert!(answers.len() == 1 && is_bare(&answers[0]) && answers[0].ack == ISS + 1, "{answers:?}");
}

// Timestamps (RFC 7323).

/// §3.2: once agreed on, timestamps SHOULD be on resets too; an answer without ACK has no echo.
#[test]
fn a_reset_has_timestamps_where_they_are_in_use() {
    let mut peer = Peer::established(with(|tcp| tcp.retries = 1), STAMPS);
    peer.write(1_000);
    let given_up = peer.wait(100 * SECOND);
    let reset = given_up.last().unwrap();
    assert!(reset.flags.rst() && reset.options.timestamps.is_some_and(|t| t.echo == 1), "{reset:?}");
    let answer = peer.send(peer.data(1, 10, 1)).remove(0);
    assert!(answer.flags == RST && answer.options.timestamps.is_some_and(|t| t.echo == 0), "{answer:?}");
}

/// §5.3 R1: a reset is not dropped for its old timestamp.
#[test]
fn a_reset_with_an_old_timestamp_is_taken() {
    let mut peer = Peer::established(tcp(), STAMPS);
    peer.stamp = Some(1_000);
    peer.send(peer.data(1, 100, 1));
    peer.stamp = Some(5);
    assert!(peer.send(peer.data(101, 100, 1)).iter().all(|s| s.ack == ISS + 101), "old data is");
    peer.send(peer.segment(RST, 101, 1));
    assert!(peer.events().contains(&Event::Aborted));
}

/// TS.Recent is not taken of a segment that is dropped for its acknowledgment: else one forged segment would make PAWS drop
/// all that follow.
#[test]
fn the_timestamp_of_a_segment_that_is_dropped_is_not_kept() {
    let mut peer = Peer::established(tcp(), STAMPS);
    for flags in [ACK, Flags::SYN | ACK] {
        let mut forged = peer.segment(flags, 1, 0x1000_0000);
        forged.options.timestamps = Some(Timestamps { value: 0x4000_0000, echo: 0 });
        peer.send(forged);
        peer.wait(SECOND);
    }
    peer.stamp = Some(2);
    let answers = peer.send(peer.data(1, 100, 1));
    assert!(answers.iter().any(|s| s.ack == ISS + 101), "{answers:?}");
}

// Data where it is seldom seen.

/// §3.10.7.2, §3.10.7.3: data on a SYN or SYN/ACK is kept until the connection is made, and then acknowledged.
#[test]
fn data_on_a_syn_is_kept() {
    let mut peer = Peer::new(tcp());
    let mut syn = peer.with_offer(Segment { ack: 0, ..peer.segment(Flags::SYN, 0, 0) }, SACK);
    syn.payload = Span { offset: 0, len: 300 };
    let answer = peer.send(syn).remove(0);
    peer.host_iss = answer.seq;
    let id = peer.id.unwrap();
    assert!(peer.host.connection_mut(id).read().is_none(), "not before the handshake");
    let answers = peer.send(peer.data(301, 200, 1));
    assert!(answers.iter().any(|s| s.ack == ISS + 501), "{answers:?}");
    let connection = peer.host.connection_mut(id);
    let read: u32 = std::iter::from_fn(|| connection.read()).map(|s| s.len).sum();
    assert_eq!(read, 500);
}

#[test]
fn data_on_a_syn_ack_is_kept() {
    let (mut peer, _) = Peer::called(tcp());
    let mut answer = peer.with_offer(peer.segment(Flags::SYN | ACK, 0, 1), SACK);
    answer.payload = Span { offset: 0, len: 300 };
    let answers = peer.send(answer);
    assert!(answers.iter().any(|s| s.ack == ISS + 301), "{answers:?}");
    assert_eq!(peer.host.connection_mut(peer.id.unwrap()).read(), Some(Span { offset: 0, len: 300 }));
}

/// §3.10.7.4, first, table 6: with the window closed no data is acceptable, and of a segment that reaches beyond the window
/// only what lies within it.
#[test]
fn data_outside_the_window_is_not_taken() {
    let config = Config { receive_buffer: ReceiveBuffer::Fixed(2_500), ..tcp() };
    let mut peer = Peer::established(config, SACK);
    let mut at = 1;
    for _ in 0..5 {
        peer.send(peer.data(at, 1_000, 1));
        at += 1_000;
    }
    let last = peer.sent.last().unwrap();
    assert_eq!((last.ack, last.window), (ISS + 1 + 2_500, 0), "the window is full");
    let connection = peer.host.connection(peer.id.unwrap());
    assert_eq!(connection.bytes_in_order(), 2_500);
    let answers = peer.send(peer.data(2_501, 1_000, 1));
    assert!(answers.len() == 1 && answers[0].ack == ISS + 2_501, "{answers:?}");
    let fin = Segment { flags: Flags::FIN | ACK, ..peer.data(2_501, 10, 1) };
    peer.send(fin);
    assert!(!peer.events().contains(&Event::EndOfStream));
    // Acknowledgments are heard all the same.
    peer.write(1_000);
    peer.send(peer.segment(ACK, 2_501, 1_001));
    assert_eq!(peer.host.connection(peer.id.unwrap()).bytes_unacknowledged(), 0);
}

// Timeouts, and what is known of them.

/// RFC 2018 §8: after a timeout the segment at the left edge MUST be sent again, "whether or not the SACKed bit is on": the
/// receiver may have thrown away what it had selectively acknowledged.
#[test]
fn a_receiver_that_reneges_gets_its_data_again() {
    for loss_detection in [LossDetection::RackTlp, LossDetection::Sack] {
        let mut peer = Peer::established(with(|tcp| tcp.loss_detection = loss_detection), SACK);
        peer.write(5_000);
        peer.send(peer.sack(1, &[(1_001, 5_001)]));
        // The first arrives, and the receiver has no room for the others any more: it does not speak of them again.
        peer.send(peer.segment(ACK, 1, 1_001));
        let again = peer.wait(10 * SECOND);
        assert_eq!(peer.ranges(&again).first(), Some(&(1_001, 2_001)), "{loss_detection:?}");
        for ack in [2_001, 3_001, 4_001, 5_001] {
            peer.send(peer.segment(ACK, 1, ack));
            peer.wait(5 * SECOND);
        }
        assert_eq!(peer.host.connection(peer.id.unwrap()).bytes_unacknowledged(), 0, "{loss_detection:?}");
    }
}

/// RFC 6298 §5 (Karn): the timeout stays backed off until there is a sample. When the RTT rises to 2 s with one segment in
/// flight, every segment is sent again before its acknowledgment comes, and none would ever give one.
#[test]
fn a_round_trip_that_grows_is_found_out() {
    for offer in [PLAIN, STAMPS] {
        let mut peer = Peer::established(with(|tcp| tcp.loss_detection = LossDetection::Sack), offer);
        let mut acked = 1;
        let mut resent = Vec::new();
        for n in 0..30 {
            let rtt_ns = if n < 10 { 100 * MS } else { 2 * SECOND };
            let first = peer.write(1_000);
            // What the peer echoes is of the first copy.
            let echo = first[0].options.timestamps.map_or(0, |t| t.value);
            let again = peer.wait(rtt_ns - MS);
            resent.push(peer.ranges(&again).len());
            acked += 1_000;
            peer.host_stamp = echo;
            peer.send(peer.segment(ACK, 1, acked));
        }
        assert!(resent[10] > 0, "the timeout was that of 100 ms");
        assert!(resent[13..].iter().all(|&n| n == 0), "{:?}", resent);
        assert!(peer.host.connection(peer.id.unwrap()).views()[0].srtt_ns > SECOND);
    }
}

/// RFC 7323 §4.1: an acknowledgment that advances gives a sample, also when it covers part of a segment, as where a box
/// splits them and the queue behind it takes one part at a time. The timeout must not stay backed off there.
#[test]
fn part_of_a_retransmission_that_is_acknowledged_ends_the_backoff() {
    let mut peer = Peer::established(with(|tcp| tcp.loss_detection = LossDetection::Sack), STAMPS);
    peer.write(1_000);
    peer.wait(1_300 * MS);
    for part in 0..8 {
        let copy = (0..500).map(|_| peer.wait(MS)).find(|sent| !sent.is_empty());
        let copy = copy.unwrap_or_else(|| panic!("part {part}: nothing within half a second"));
        // The peer answers at once.
        peer.host_stamp = copy[0].options.timestamps.map_or(0, |t| t.value);
        peer.send(peer.segment(ACK, 1, 101 + 100 * part));
    }
    assert!(peer.statistics().timeouts >= 3 + 7, "{}", peer.statistics().timeouts);
}

/// RFC 7323 §4.1: where a timestamp tells that it was the copy that arrived, the round trip is measured also after the
/// backoff has ended. A sender that repairs a window of losses one segment after another would not see the queue grow.
#[test]
fn each_repaired_segment_gives_a_sample_with_timestamps() {
    // Timestamps take 12 bytes of each segment.
    for (offer, len, expected) in [(STAMPS, 988, 3), (SACK, 1_000, 0)] {
        let mut peer = Peer::established(with(|tcp| tcp.loss_detection = LossDetection::Sack), offer);
        peer.write(u64::from(3 * len));
        let (before, mut sent) = (peer.statistics().rtt_samples, peer.wait(300 * MS));
        let mut srtt_ns = peer.host.connection(peer.id.unwrap()).views()[0].srtt_ns;
        for n in 1..=3 {
            peer.wait(80 * MS);
            sent.extend(peer.send(peer.segment(ACK, 1, len * n + 1)));
            let now_ns = peer.host.connection(peer.id.unwrap()).views()[0].srtt_ns;
            // The second and the third copy go out together, on the first acknowledgment: α = 1/8.
            if n > 1 && expected > 0 {
                assert_eq!(now_ns, (7 * srtt_ns + u64::from(n - 1) * 81 * MS) / 8);
            }
            srtt_ns = now_ns;
        }
        assert_eq!(peer.ranges(&sent).len(), 3, "one copy of each");
        assert_eq!(peer.statistics().rtt_samples - before, expected);
    }
}

/// RFC 7323 §4.1: the timestamp says which copy arrived, however long the round trips before were. After a handshake that took
/// long, on a path that loses the first copy of everything, there would be no other sample, and each timeout twice the last.
#[test]
fn a_path_that_got_shorter_is_found_out_by_copies() {
    for (offer, shorter) in [(STAMPS, true), (SACK, false)] {
        let (mut peer, syn) = Peer::called(with(|tcp| tcp.loss_detection = LossDetection::Sack));
        peer.wait(900 * MS);
        if offer.stamps {
            (peer.stamp, peer.host_stamp) = (Some(1), syn.options.timestamps.unwrap().value);
        }
        peer.send(peer.with_offer(peer.segment(Flags::SYN | ACK, 0, 1), offer));
        let mut waits_ns = Vec::new();
        for n in 1..=5 {
            peer.write(900);
            let sent_ns = peer.now_ns;
            let copy = (0..60_000).map(|_| peer.wait(MS)).find(|sent| !sent.is_empty());
            waits_ns.push(peer.now_ns - sent_ns);
            let copy = copy.unwrap_or_else(|| panic!("segment {n}: no copy within a minute"));
            peer.host_stamp = copy[0].options.timestamps.map_or(0, |t| t.value);
            peer.wait(50 * MS);
            peer.send(peer.segment(ACK, 1, 1 + 900 * n));
        }
        // RFC 6298 §2 by hand: 0.9 + 4 · 0.45 = 2.7 s, and after samples of 50 ms 3.00, 3.10, 3.07 and 2.95 s, for the
        // variation grows first. Without a sample 2.7, 5.4, 10.8, 21.6 and 43.2 s.
        let expected_ms =
            if shorter { [2_700, 2_997, 3_096, 3_067, 2_954] } else { [2_700, 5_400, 10_800, 21_600, 43_200] };
        for (wait_ns, expected_ms) in waits_ns.iter().zip(expected_ms) {
            assert!(wait_ns.abs_diff(expected_ms * MS) <= expected_ms * MS / 100, "{waits_ns:?}");
        }
    }
}

/// RFC 5681 §3.1: "if the SYN or SYN/ACK is lost, the initial window … MUST be one segment"; RFC 6298 §5.7: the timeout of the
/// first data is 3 s then, unless timestamps tell the round trip.
#[test]
fn a_lost_syn_leaves_one_segment_and_three_seconds() {
    for (offer, least_ns) in [(PLAIN, 2_900 * MS), (STAMPS, 1_100 * MS)] {
        let (mut peer, _) = Peer::called(tcp());
        let again = peer.wait(1_500 * MS);
        assert_eq!(again.len(), 1);
        peer.stamp = offer.stamps.then_some(1);
        peer.host_stamp = again[0].options.timestamps.map_or(0, |t| t.value);
        peer.send(peer.with_offer(peer.segment(Flags::SYN | ACK, 0, 1), offer));
        assert_eq!(peer.cwnd(), 1.0);
        assert_eq!(peer.write(5_000).len(), 1);
        let sent_ns = peer.now_ns;
        while peer.wait(MS).is_empty() {}
        assert!((least_ns..least_ns + 700 * MS).contains(&(peer.now_ns - sent_ns)), "{}", peer.now_ns - sent_ns);
        // The same of a SYN/ACK.
        let mut peer = Peer::new(tcp());
        peer.call(offer);
        assert_eq!(peer.wait(1_500 * MS).len(), 1);
        peer.send(peer.segment(ACK, 1, 1));
        assert_eq!(peer.cwnd(), 1.0);
    }
    // A SYN that was only slow is not lost: the answer echoes the first.
    let (mut peer, syn) = Peer::called(tcp());
    peer.wait(1_500 * MS);
    (peer.stamp, peer.host_stamp) = (Some(1), syn.options.timestamps.unwrap().value);
    peer.send(peer.with_offer(peer.segment(Flags::SYN | ACK, 0, 1), STAMPS));
    assert_eq!(peer.cwnd(), 10.0);
}

/// RFC 8985 §6.3: on a timeout what was sent a moment ago is not marked lost.
#[test]
fn a_timeout_spares_what_was_just_sent() {
    // A round trip of 100 ms, so a timeout of 300 ms.
    let mut peer = Peer::new(with(|tcp| tcp.frto = false));
    peer.call(SACK);
    peer.wait(99 * MS);
    peer.send(peer.segment(ACK, 1, 1));
    let id = peer.id.unwrap();
    // Two go out, then a probe after two round trips; two more just before the timeout.
    peer.write(2_000);
    peer.wait(490 * MS);
    assert_eq!((peer.statistics().probes, peer.statistics().timeouts), (1, 0));
    assert_eq!(peer.write(2_000).len(), 2);
    let again = peer.wait(15 * MS);
    assert_eq!(peer.statistics().timeouts, 1);
    assert_eq!(peer.ranges(&again), [(1, 1_001)], "the left edge, whatever the window has room for");
    let in_flight = peer.host.connection(id).views()[0].in_flight;
    assert_eq!(in_flight, 3, "those sent last are not lost");
}

/// §7.4.2: a probe that repeats the tail is kept in mind until something above it is acknowledged: then it has repaired a
/// loss, to which the congestion control answers; a D-SACK says that it has not.
#[test]
fn a_tail_that_a_probe_has_repaired_counts_as_a_loss() {
    for lost in [true, false] {
        let mut peer = Peer::established(tcp(), SACK);
        peer.write(4_000);
        peer.send(peer.segment(ACK, 1, 3_001));
        let probe = peer.wait(300 * MS);
        assert_eq!(peer.ranges(&probe).first(), Some(&(3_001, 4_001)));
        let before = peer.cwnd();
        peer.send(if lost { peer.segment(ACK, 1, 4_001) } else { peer.sack(4_001, &[(3_001, 4_001)]) });
        assert_eq!(peer.cwnd().floor(), before.floor(), "not known yet");
        peer.write(1_000);
        peer.send(peer.segment(ACK, 1, 5_001));
        assert_eq!(peer.cwnd() < 0.8 * before, lost, "{lost}: {} after {before}", peer.cwnd());
    }
}

/// RFC 8985 §7.3: no probe without an RTT sample since the last one. Without timestamps a segment that was probed gives none
/// (Karn), so probe after probe would hide a round trip that has grown.
#[test]
fn a_probe_needs_an_rtt_sample_since_the_last_one() {
    let mut peer = Peer::established(tcp(), SACK);
    peer.write(1_000);
    peer.wait(300 * MS);
    assert_eq!((peer.statistics().probes, peer.statistics().timeouts), (1, 0));
    // The probe was in vain: both copies arrived.
    peer.send(peer.sack(1_001, &[(1, 1_001)]));
    peer.write(1_000);
    peer.wait(300 * MS);
    assert_eq!((peer.statistics().probes, peer.statistics().timeouts), (1, 1), "the timer, which backs off");
    peer.send(peer.segment(ACK, 1, 2_001));
    peer.write(1_000);
    peer.send(peer.segment(ACK, 1, 3_001));
    peer.write(1_000);
    peer.wait(300 * MS);
    assert_eq!((peer.statistics().probes, peer.statistics().timeouts), (2, 1), "after a sample");
}

/// RFC 6582 §3.2 step 1: three duplicates that do not acknowledge more than `recover` are of what was sent again in vain.
#[test]
fn duplicates_of_needless_retransmissions_start_no_recovery() {
    let mut peer = Peer::established(with(|tcp| tcp.frto = false), PLAIN);
    peer.write(10_000);
    peer.wait(250 * MS);
    assert_eq!(peer.statistics().timeouts, 1);
    // Only the first was lost; its acknowledgment is of all, and each copy that was sent again makes a duplicate.
    peer.send(peer.segment(ACK, 1, 5_001));
    peer.send(peer.segment(ACK, 1, 10_001));
    peer.write(10_000);
    let before = peer.statistics().retransmissions;
    for _ in 0..6 {
        peer.send(peer.segment(ACK, 1, 10_001));
    }
    assert_eq!(peer.statistics().retransmissions, before);
    // Nor does the acknowledgment of the next segment, which says that it arrived: the six were not of a hole above it.
    peer.send(peer.segment(ACK, 1, 11_001));
    assert_eq!(peer.statistics().retransmissions, before);
    // Above it three duplicates are a loss again.
    for _ in 0..3 {
        peer.send(peer.segment(ACK, 1, 11_001));
    }
    assert_eq!(peer.statistics().retransmissions, before + 1);
}

/// RFC 5681 §2, duplicate acknowledgment, (e): one with another window is a window update.
#[test]
fn a_window_update_is_no_duplicate() {
    let mut peer = Peer::established(tcp(), PLAIN);
    peer.write(10_000);
    for n in 0..8 {
        peer.send(Segment { window: 50_000 + n, ..peer.segment(ACK, 1, 1) });
    }
    assert_eq!(peer.statistics().retransmissions, 0);
    for _ in 0..3 {
        peer.send(Segment { window: 50_007, ..peer.segment(ACK, 1, 1) });
    }
    assert_eq!(peer.statistics().retransmissions, 1);
}

/// RFC 5682 §2.1: without SACK the first acknowledgment after a timeout says nothing; when only the first segment was lost
/// it covers all that waited behind it.
#[test]
fn the_first_acknowledgment_after_a_timeout_does_not_make_it_spurious() {
    let mut peer = Peer::established(tcp(), PLAIN);
    peer.write(100_000);
    peer.wait(250 * MS);
    assert_eq!(peer.statistics().timeouts, 1);
    peer.send(peer.segment(ACK, 1, 5_001));
    assert_eq!(peer.statistics().undone, 0);
    assert!(peer.cwnd() < 10.0);
    // A second one that advances does.
    peer.send(peer.segment(ACK, 1, 7_001));
    assert_eq!(peer.statistics().undone, 1);
}

/// RFC 6937 §2: without SACK each duplicate tells of a segment that arrived. During recovery new segments go out for them, so
/// that the ACK which ends it does not find the path empty (issue 14, finding 20).
#[test]
fn newreno_sends_new_data_on_the_duplicates_of_a_recovery() {
    let mut peer = Peer::established(with(|tcp| tcp.initial_window = 20), PLAIN);
    assert_eq!(peer.write(100_000).len(), 20);
    let mut sent = Vec::new();
    for _ in 0..19 {
        sent.extend(peer.send(peer.segment(ACK, 1, 1)));
    }
    let ranges = peer.ranges(&sent);
    assert_eq!(ranges.iter().filter(|r| r.0 == 1).count(), 1, "the first again, once: {ranges:?}");
    // Two by limited transmit; of 20 in flight half remain, the retransmission counted.
    let new = ranges.iter().filter(|r| r.0 > 20_000).count();
    assert!((8..=11).contains(&new), "{ranges:?}");
    let end = peer.send(peer.segment(ACK, 1, 20_001));
    assert!(end.len() <= 3, "no burst: {}", end.len());
}

// What changes on a live connection, and what can be asked of it.

/// RFC 6582 §3.2 step 3: "for the first partial ACK that arrives during fast recovery, also reset the retransmit timer"; §4: the
/// Slow-but-Steady variant does at each. Of ten segments the first four are lost. The partial acknowledgments come 100, 150 and
/// 180 ms after the data, and nothing after them: with a timeout of 201 ms (a round trip of 1 ms, and 200 ms at least beside it)
/// the first variant waits until 301 ms, the second until 381 ms.
#[test]
fn an_impatient_sender_restarts_its_timer_for_the_first_partial_acknowledgment_only() {
    for (impatient, timeout_ms) in [(true, 301), (false, 381)] {
        let mut peer = Peer::established(with(|tcp| tcp.impatient = impatient), PLAIN);
        assert_eq!(peer.write(10_000).len(), 10);
        let sent_ns = peer.now_ns;
        let duplicates: Vec<_> = (0..6).flat_map(|_| peer.send(peer.segment(ACK, 1, 1))).collect();
        assert_eq!(peer.ranges(&duplicates), [(1, 1_001)], "the fast retransmit");
        for (ack, at_ms) in [(1_001, 100), (2_001, 150), (3_001, 180)] {
            peer.wait(sent_ns + (at_ms - 1) * MS - peer.now_ns);
            let again = peer.send(peer.segment(ACK, 1, ack));
            assert_eq!(peer.ranges(&again).first(), Some(&(ack, ack + 1_000)), "the next hole");
        }
        peer.wait(sent_ns + 400 * MS - peer.now_ns);
        let connection = peer.host.connection(peer.id.unwrap());
        assert_eq!(connection.timeout_times_ns(SubflowId(0)), [sent_ns + timeout_ms * MS], "impatient: {impatient}");
    }
}

#[test]
fn what_is_looked_at_stays_to_be_read() {
    let mut peer = Peer::established(tcp(), PLAIN);
    let id = peer.id.unwrap();
    assert_eq!(peer.host.connection(id).peek(), None);
    peer.send(peer.data(1, 700, 1));
    let span = Span { offset: 0, len: 700 };
    for _ in 0..2 {
        assert_eq!(peer.host.connection(id).peek(), Some(&span));
    }
    assert_eq!(peer.host.connection_mut(id).read(), Some(span));
    assert_eq!(peer.host.connection(id).peek(), None);
}

/// RFC 9293 §3.7.4, MUST-17: an application can turn Nagle's algorithm off, also later.
#[test]
fn a_segment_that_nagle_holds_back_goes_out_when_he_is_turned_off() {
    let mut peer = Peer::established(with(|tcp| tcp.nagle = true), PLAIN);
    assert_eq!(peer.write(100).len(), 1);
    assert_eq!(peer.write(100), [], "the first is outstanding");
    peer.host.connection_mut(peer.id.unwrap()).set_nagle(false);
    let out = peer.collect();
    assert_eq!(peer.ranges(&out), [(101, 201)]);
}

/// RFC 9293 §3.8.3, MUST-21: R2 of a connection that stands already.
#[test]
fn how_often_data_is_sent_again_can_be_set_on_a_live_connection() {
    let mut peer = Peer::established(tcp(), PLAIN);
    peer.write(100);
    peer.host.connection_mut(peer.id.unwrap()).set_retries(2);
    let again = peer.wait(60 * SECOND);
    assert_eq!(peer.ranges(&again).len(), 2);
    assert!(peer.events().contains(&Event::Aborted));
}
