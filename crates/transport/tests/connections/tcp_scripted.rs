//! What a host answers to a TCP peer that is written out segment by segment: acknowledgments and windows, resets and half-open
//! connections, timestamps, data where it is seldom seen (RFC 9293, 5681, 2018, 7323).

use transport::{Config, Event, ReceiveBuffer};
use wire::{Flags, Segment, Span, Timestamps};

use crate::common::tcp_peer::{ACK, ISS, Offer, PLAIN, Peer, SACK, STAMPS, is_bare, tcp, with};
use crate::common::{MS, SECOND};

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
    let new = peer.write(100_000);
    assert_eq!(peer.ranges(&new).last().map(|r| r.1), Some(13_001), "5 000 acknowledged, then 8 000 allowed");
    let more = peer.send(Segment { window: 8_000, ..peer.segment(ACK, 201, 10_001) });
    assert_eq!(peer.ranges(&more).last().map(|r| r.1), Some(18_001));
}

/// RFC 9293 §3.9.1.2 (SHLD-28): the last segment of what was written says PSH, the others do not.
#[test]
fn the_last_of_what_was_written_is_pushed() {
    let mut peer = Peer::established(tcp(), SACK);
    for round in 0..2 {
        let sent = peer.write(2_500);
        assert_eq!(sent.iter().map(|s| s.flags.psh()).collect::<Vec<_>>(), [false, false, true]);
        peer.send(peer.segment(ACK, 1, 2_501 + 2_500 * round));
    }
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
