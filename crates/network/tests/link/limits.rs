//! Drop-tail limits and the drop reasons and counters of all disciplines.

use network::{Change, DropReason};

use super::*;

fn drop_tail(limit: Limit) -> Link<u64> {
    // 1,500 bytes take 1 ms.
    link_of(12_000_000, 0, QueueConfig::DropTail(queue::drop_tail::Config { limit }))
}

#[test]
fn packets_limit_holds_exactly_that_many_with_the_one_being_sent() {
    let mut link = drop_tail(Limit::Packets(3));
    for tag in 0..3 {
        send(&mut link, 0, tag, 1_500);
    }
    assert_eq!(link.enqueue(0, packet(3, 1)), Enqueue::Dropped(DropReason::Full));
    assert_eq!(link.enqueue(999_999, packet(4, 1)), Enqueue::Dropped(DropReason::Full));
    // A packet that departs now no longer counts.
    assert!(!send(&mut link, 1_000_000, 5, 1_500), "the departed one is still to be delivered");
    assert_eq!(link.enqueue(1_000_000, packet(6, 1)), Enqueue::Dropped(DropReason::Full));
    assert_eq!(link.queue(1_000_000), (3, 4_500));
    let counters = link.counters(1_000_000);
    assert_eq!((counters.arrived_packets, counters.dropped_full, counters.sent_packets), (7, 3, 1));
    assert_eq!((counters.queue_max_packets, counters.queue_max_bytes), (3, 4_500));
}

#[test]
fn bytes_limit_holds_exactly_that_many() {
    let mut link = drop_tail(Limit::Bytes(3_040));
    send(&mut link, 0, 0, 1_500);
    send(&mut link, 0, 1, 1_500);
    assert_eq!(link.enqueue(0, packet(2, 41)), Enqueue::Dropped(DropReason::Full));
    send(&mut link, 0, 3, 40);
    assert_eq!(link.enqueue(0, packet(4, 1)), Enqueue::Dropped(DropReason::Full));
    send(&mut link, 0, 5, 0);
    assert_eq!(link.queue(0), (4, 3_040));
    assert_eq!(link.queue(1_000_000), (3, 1_540));
    assert_eq!(link.queue(2_100_000), (0, 0));
}

#[test]
fn an_empty_queue_accepts_any_packet() {
    for limit in [Limit::Bytes(0), Limit::Packets(0), Limit::Bytes(1_499)] {
        let mut link = drop_tail(limit);
        send(&mut link, 0, 0, 1_500);
        assert_eq!(link.enqueue(999_999, packet(1, 1_500)), Enqueue::Dropped(DropReason::Full));
        send(&mut link, 1_000_000, 2, 1_500);
    }
    let limit = Limit::Packets(0);
    let (min_packets, max_packets) = (5.0, 15.0);
    let queue = QueueConfig::Red(queue::red::Config {
        limit,
        min_packets,
        max_packets,
        max_probability: 0.1,
        weight: 0.002,
        gentle: true,
        ecn: false,
    });
    let mut link = link_of(12_000_000, 0, queue);
    send(&mut link, 0, 0, 1_500);
    assert_eq!(link.enqueue(0, packet(1, 40)), Enqueue::Dropped(DropReason::Full));
}

#[test]
fn red_drops_are_told_apart_from_those_of_a_full_queue() {
    let queue = QueueConfig::Red(queue::red::Config {
        limit: Limit::Packets(4),
        min_packets: 2.0,
        max_packets: 3.0,
        max_probability: 0.1,
        weight: 1.0,
        gentle: false,
        ecn: false,
    });
    let mut link = link_of(12_000_000, 0, queue);
    for tag in 0..3 {
        send(&mut link, 0, tag, 1_500);
    }
    assert_eq!(link.enqueue(0, packet(3, 1_500)), Enqueue::Dropped(DropReason::Early));
    link.change(0, Change { dead: Some(true), ..Change::default() }, &mut |_| ());
    assert_eq!(link.enqueue(0, packet(4, 1_500)), Enqueue::Dropped(DropReason::Dead));
    let counters = link.counters(0);
    assert_eq!((counters.dropped_full, counters.dropped_early, counters.dropped_dead), (0, 1, 4));
    assert_eq!((counters.arrived_packets, counters.lost_packets()), (5, 5));
}

#[test]
fn the_integral_of_the_queue_is_exact_between_departures() {
    let mut link = drop_tail(Limit::Packets(10));
    send(&mut link, 0, 0, 1_500);
    // 1 packet for 0.5 ms, 2 for 0.5 ms, 1 for 1 ms.
    assert_eq!(link.counters(0).queue_packet_ns, 0);
    assert_eq!(link.counters(250_000).queue_packet_ns, 250_000);
    send(&mut link, 500_000, 1, 1_500);
    assert_eq!(link.counters(750_000).queue_packet_ns, 1_000_000);
    assert_eq!(link.counters(1_000_000).queue_packet_ns, 1_500_000);
    assert_eq!(link.counters(1_000_001).queue_packet_ns, 1_500_001);
    assert_eq!(link.counters(9_000_000).queue_packet_ns, 2_500_000);
}

#[test]
fn the_maximum_begins_anew_with_the_queue_of_the_moment() {
    let mut link = drop_tail(Limit::Packets(10));
    for tag in 0..4 {
        send(&mut link, 0, tag, 1_500);
    }
    let maxima = |link: &mut Link<u64>, now_ns| {
        let counters = link.counters(now_ns);
        (counters.queue_max_packets, counters.queue_max_bytes)
    };
    assert_eq!(maxima(&mut link, 2_000_000), (4, 6_000));
    link.reset_max(2_000_000);
    assert_eq!(maxima(&mut link, 2_000_000), (2, 3_000));
    send(&mut link, 3_500_000, 4, 40);
    assert_eq!(maxima(&mut link, 9_000_000), (2, 3_000));
}

#[test]
fn a_packet_counts_as_sent_when_its_last_bit_leaves() {
    let mut link = drop_tail(Limit::Packets(10));
    send(&mut link, 0, 0, 1_500);
    let sent = |link: &mut Link<u64>, now_ns| {
        let counters = link.counters(now_ns);
        (counters.sent_packets, counters.sent_bytes)
    };
    assert_eq!(sent(&mut link, 999_999), (0, 0));
    assert_eq!(sent(&mut link, 1_000_000), (1, 1_500));
}
