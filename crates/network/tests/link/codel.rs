//! CoDel on a link: decisions at the head are made late but in order.

use super::*;

const MS: u64 = 1_000_000;

/// 1,500 bytes take 1 ms, then 10 ms of propagation.
fn link(ecn: bool) -> Link<u64> {
    link_of(
        12_000_000,
        10 * MS,
        QueueConfig::CoDel(queue::codel::Config { ecn, ..queue::codel::Config::new(Limit::Packets(10_000)) }),
    )
}

/// The packets that leave: tag, departure, arrival, and whether it was dropped at the head.
fn drain(link: &mut Link<u64>) -> Vec<(u64, u64, u64, bool)> {
    let mut out = Vec::new();
    while let Some(at_ns) = link.next_arrival_ns() {
        let packet = link.deliver(at_ns);
        assert_eq!(packet.lost(), packet.dropped());
        out.push((packet.tag, packet.departure_ns, at_ns, packet.dropped()));
    }
    out
}

/// 300 packets at once. Packet k is at the head at k ms. From 5 ms on packets have waited at least 5 ms, so the first
/// drop is at 105 ms: packet 105. Packet 106 is sent instead from 105 ms to 106 ms. The next drops are due at 205 ms
/// and 275.7 ms.
#[test]
fn a_standing_queue_worked_by_hand() {
    let mut link = link(false);
    for tag in 0..300 {
        send(&mut link, 0, tag, 1_500);
    }
    assert_eq!(link.queue(104 * MS), (196, 196 * 1_500));
    assert_eq!(link.queue(105 * MS), (194, 194 * 1_500), "one sent, one dropped");
    let out = drain(&mut link);
    let dropped: Vec<_> = out.iter().filter(|line| line.3).copied().collect();
    // At 276 ms packet 278 is at the head, because two packets were dropped before it.
    assert_eq!(
        dropped,
        [(105, 105 * MS, 115 * MS, true), (206, 205 * MS, 215 * MS, true), (278, 276 * MS, 286 * MS, true)]
    );
    assert_eq!(out[106], (106, 106 * MS, 116 * MS, false));
    assert_eq!(out.len(), 300);
    assert_eq!(out[299], (299, 297 * MS, 307 * MS, false));
    let counters = link.counters(400 * MS);
    assert_eq!((counters.arrived_packets, counters.sent_packets, counters.dropped_early), (300, 297, 3));
    assert_eq!((counters.sent_bytes, counters.lost_packets(), counters.marked), (297 * 1_500, 3, 0));
    assert_eq!((link.under_way(), link.queue(400 * MS)), (0, (0, 0)));
}

#[test]
fn ecn_capable_packets_are_all_sent_and_the_drops_are_marks() {
    let mut link = link(true);
    for tag in 0..300 {
        let _ = link.enqueue(0, Packet::new(tag, 1_500, 0, Ecn::Ect0));
    }
    let mut marked = Vec::new();
    while let Some(at_ns) = link.next_arrival_ns() {
        let packet = link.deliver(at_ns);
        assert!(!packet.lost());
        if packet.ce() {
            marked.push((packet.tag, at_ns));
        }
    }
    assert_eq!(marked, [(105, 116 * MS), (205, 216 * MS), (276, 287 * MS)]);
    let counters = link.counters(400 * MS);
    assert_eq!((counters.sent_packets, counters.dropped_early, counters.marked), (300, 0, 3));
}

/// The bytes behind the head matter too: 1,500 are not enough for a drop, one more is. An arrival at the time of the
/// decision comes after it.
#[test]
fn an_arrival_counts_for_the_decisions_after_it_and_for_none_before() {
    for (last_ns, drops) in [(105 * MS - 1, 1), (105 * MS, 0)] {
        let mut link = link(false);
        // At 105 ms packet 105 is at the head with packet 106 behind it.
        for tag in 0..107 {
            send(&mut link, 0, tag, 1_500);
        }
        send(&mut link, last_ns, 107, 1);
        drain(&mut link);
        assert_eq!(link.counters(200 * MS).dropped_early, drops, "arrival at {last_ns}");
    }
}

/// An unresponsive source sends 2 % above capacity for ten minutes: with drop-tail it would fill any queue.
#[test]
fn the_wait_stays_near_the_target_under_a_long_overload() {
    let mut link = link_of(12_000_000, 0, QueueConfig::CoDel(queue::codel::Config::new(Limit::Packets(10_000))));
    let arrival_ns = |tag: u64| tag * MS * 50 / 51;
    let (mut waits_ns, mut sent, mut longest_ns) = (0, 0_u64, 0);
    let mut take = |link: &mut Link<u64>, until_ns: u64| {
        while link.next_arrival_or_max_ns() <= until_ns {
            let packet = link.deliver(link.next_arrival_or_max_ns());
            if !packet.dropped() {
                let wait_ns = packet.departure_ns - MS - arrival_ns(packet.tag);
                (waits_ns, sent, longest_ns) = (waits_ns + wait_ns, sent + 1, longest_ns.max(wait_ns));
            }
        }
    };
    for tag in 0..612_000 {
        take(&mut link, arrival_ns(tag));
        send(&mut link, arrival_ns(tag), tag, 1_500);
    }
    take(&mut link, u64::MAX - 1);
    let mean_ms = waits_ns as f64 / sent as f64 / 1e6;
    println!("mean wait {mean_ms} ms, longest {longest_ns} ns, {sent} sent");
    assert!((2.5..10.0).contains(&mean_ms), "{mean_ms}");
    assert!(longest_ns < 40 * MS, "{longest_ns}");
    // The link was never idle for long: 600 s of 1 ms each.
    assert!(sent > 597_000, "{sent}");
}

#[test]
fn a_change_of_rate_or_death_meets_only_the_packet_in_service() {
    use network::Change;
    let mut link = link(false);
    for tag in 0..300 {
        send(&mut link, 0, tag, 1_500);
    }
    // At 110.5 ms packet 111 is half sent; the rest and the other packets take ten times as long.
    link.change(110 * MS + MS / 2, Change { rate_bps: Some(1_200_000), ..Change::default() }, &mut |_| ());
    let mut dropped = Vec::new();
    link.change(130 * MS, Change { dead: Some(true), ..Change::default() }, &mut |packet| dropped.push(packet.tag));
    // 111 departs at 115.5 ms, 112 at 125.5 ms; 113 was being sent.
    assert_eq!(dropped, (113..300).collect::<Vec<_>>());
    let counters = link.counters(130 * MS);
    assert_eq!((counters.sent_packets, counters.dropped_early, counters.dropped_dead), (112, 1, 187));
    link.change(140 * MS, Change { dead: Some(false), ..Change::default() }, &mut |_| ());
    let out = drain(&mut link);
    assert_eq!(out.last(), Some(&(112, 125 * MS + MS / 2, 135 * MS + MS / 2, false)));
    send(&mut link, 150 * MS, 300, 1_500);
    assert_eq!(drain(&mut link), [(300, 160 * MS, 170 * MS, false)]);
}
