//! What a host that waits for a TCP peer knows of its timeouts: backoff, samples, probes and needless retransmissions, with a
//! peer that is written out segment by segment (RFC 6298, 5681, 5682, 6582, 6937, 8985); and what can be set while a connection lives.

use transport::{Duration, Event, Instant, LossDetection, SubflowId};
use wire::{Flags, Segment, Span};

use crate::common::tcp_peer::{ACK, PLAIN, Peer, SACK, STAMPS, tcp, with};
use crate::common::{MS, SECOND};

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
        assert!(peer.host.connection(peer.id.unwrap()).views()[0].srtt > Duration::from_secs(1));
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
        let mut srtt = peer.host.connection(peer.id.unwrap()).views()[0].srtt;
        for n in 1..=3 {
            peer.wait(80 * MS);
            sent.extend(peer.send(peer.segment(ACK, 1, len * n + 1)));
            let srtt_after = peer.host.connection(peer.id.unwrap()).views()[0].srtt;
            // The second and the third copy go out together, on the first acknowledgment: α = 1/8.
            if n > 1 && expected > 0 {
                assert_eq!(srtt_after, (7 * srtt + Duration::from_millis(u64::from(n - 1) * 81)) / 8);
            }
            srtt = srtt_after;
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
        assert_eq!(
            connection.timeout_times(SubflowId(0)),
            [Instant::from_nanos(sent_ns + timeout_ms * MS)],
            "impatient: {impatient}"
        );
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
