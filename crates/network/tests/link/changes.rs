//! Changes of a running link, worked by hand.

use network::{Change, DropReason};

use super::*;

const MS: u64 = 1_000_000;

/// 1,500 bytes take 1 ms, then 10 ms of propagation.
fn link() -> Link<u64> {
    link_of(12_000_000, 10 * MS, UNLIMITED)
}

fn change(link: &mut Link<u64>, now_ns: u64, change: Change) {
    link.change(now_ns, change, &mut |packet| panic!("packet {} dropped", packet.tag));
}

fn rate(rate_bps: u64) -> Change {
    Change { rate_bps: Some(rate_bps), ..Change::default() }
}

fn delay(delay_ns: u64) -> Change {
    Change { delay_ns: Some(delay_ns), ..Change::default() }
}

fn dead(dead: bool) -> Change {
    Change { dead: Some(dead), ..Change::default() }
}

fn arrivals(link: &mut Link<u64>) -> Vec<u64> {
    deliver_all(link).iter().map(|&(_, _, at_ns)| at_ns).collect()
}

#[test]
fn a_longer_delay_is_for_packets_that_have_not_departed() {
    let mut link = link();
    for tag in 0..3 {
        send(&mut link, 0, tag, 1_500);
    }
    // At 1 ms the first has just departed.
    change(&mut link, MS, delay(50 * MS));
    assert_eq!(arrivals(&mut link), [11 * MS, 52 * MS, 53 * MS]);
    send(&mut link, 60 * MS, 3, 1_500);
    assert_eq!(arrivals(&mut link), [111 * MS]);
}

#[test]
fn a_shorter_delay_overtakes_nothing() {
    let mut link = link();
    for tag in 0..3 {
        send(&mut link, 0, tag, 1_500);
    }
    change(&mut link, 3 * MS / 2, delay(0));
    assert_eq!(arrivals(&mut link), [11 * MS, 11 * MS, 11 * MS]);
    send(&mut link, 11 * MS, 3, 1_500);
    assert_eq!(arrivals(&mut link), [12 * MS]);
}

#[test]
fn several_delays_can_be_on_the_wire_at_once() {
    let mut link = link();
    for tag in 0..5 {
        send(&mut link, 0, tag, 1_500);
    }
    change(&mut link, MS, delay(20 * MS));
    change(&mut link, 2 * MS, delay(30 * MS));
    change(&mut link, 2 * MS, delay(40 * MS));
    change(&mut link, 4 * MS, delay(41 * MS));
    assert_eq!(arrivals(&mut link), [11 * MS, 22 * MS, 43 * MS, 44 * MS, 46 * MS]);
}

#[test]
fn the_head_in_the_queue_takes_the_new_delay_at_once() {
    let mut link = link();
    send(&mut link, 0, 0, 1_500);
    assert_eq!(link.next_arrival_ns(), Some(11 * MS));
    change(&mut link, MS / 2, delay(20 * MS));
    assert_eq!(link.next_arrival_ns(), Some(21 * MS));
    change(&mut link, MS, delay(30 * MS));
    assert_eq!(link.next_arrival_ns(), Some(21 * MS), "it departed at 1 ms");
}

#[test]
fn the_rest_of_a_packet_in_service_goes_at_the_new_rate() {
    let mut link = link();
    for tag in 0..3 {
        send(&mut link, 0, tag, 1_500);
    }
    // A quarter of the second packet is sent at 1.25 ms; the rest takes 10 times as long.
    change(&mut link, 5 * MS / 4, rate(1_200_000));
    let departures: Vec<u64> = deliver_all(&mut link).iter().map(|&(_, departure_ns, _)| departure_ns).collect();
    assert_eq!(departures, [MS, 5 * MS / 4 + 15 * MS / 2, 5 * MS / 4 + 35 * MS / 2]);
    assert_eq!(link.rate_bps(), 1_200_000);
}

#[test]
fn a_higher_rate_brings_the_head_forward() {
    let mut link = link();
    send(&mut link, 0, 0, 1_500);
    send(&mut link, 0, 1, 1_500);
    change(&mut link, MS / 2, rate(120_000_000));
    assert_eq!(link.next_arrival_ns(), Some(MS / 2 + MS / 20 + 10 * MS));
    assert_eq!(arrivals(&mut link), [10_550_000, 10_650_000]);
}

#[test]
fn a_rate_that_comes_back_leaves_no_rounding_behind() {
    // 1 byte at 3 Gbit/s is 2⅔ ns; 1 ns at 7 Gbit/s between. Work: 8·10⁹ units a byte.
    let mut link = link_of(3_000_000_000, 0, UNLIMITED);
    for tag in 0..4 {
        send(&mut link, 0, tag, 1);
    }
    change(&mut link, 1, rate(7_000_000_000));
    change(&mut link, 2, rate(3_000_000_000));
    // 3 bits are sent by 1 ns, 10 by 2 ns, then 3 per nanosecond; packets end after 8, 16, 24 and 32 bits. The first
    // two end at 1 + 5/7 and 1 + 13/7 as computed at 1 ns, so that they count as departed at 1 and 2. The 6 bits that
    // the second still lacks at 2 ns are kept: the third ends at 2 + 14/3, the fourth at 2 + 22/3.
    let departures: Vec<u64> = deliver_all(&mut link).iter().map(|&(_, departure_ns, _)| departure_ns).collect();
    assert_eq!(departures, [1, 2, 6, 9]);
}

#[test]
fn the_same_rate_changes_nothing() {
    let mut link = link_of(7_777_777, 3, UNLIMITED);
    for tag in 0..50 {
        send(&mut link, 0, tag, 1_499);
    }
    let mut changed = link.clone();
    for now_ns in [0, 1, 1_000_000, 1_541_828, 5_000_000] {
        change(&mut changed, now_ns, rate(7_777_777));
    }
    assert_eq!(deliver_all(&mut changed), deliver_all(&mut link));
}

#[test]
fn a_new_rate_on_an_idle_link_begins_with_the_next_packet() {
    let mut link = link();
    change(&mut link, 5 * MS, rate(1_200_000));
    send(&mut link, 6 * MS, 0, 1_500);
    assert_eq!(arrivals(&mut link), [26 * MS]);
}

#[test]
fn a_dead_link_loses_its_queue_and_what_arrives_but_not_what_is_on_the_wire() {
    let mut link = link();
    for tag in 0..4 {
        send(&mut link, 0, tag, 1_500);
    }
    let mut dropped = Vec::new();
    link.change(3 * MS / 2, dead(true), &mut |packet| dropped.push(packet.tag));
    assert_eq!(dropped, [1, 2, 3]);
    assert_eq!(link.queue(3 * MS / 2), (0, 0));
    assert_eq!(link.enqueue(2 * MS, packet(4, 40)), Enqueue::Dropped(DropReason::Dead));
    assert_eq!(arrivals(&mut link), [11 * MS]);
    let counters = link.counters(20 * MS);
    assert_eq!((counters.arrived_packets, counters.dropped_dead, counters.sent_packets), (5, 4, 1));
    // 4 packets for 1 ms, then 3 for half a millisecond.
    assert_eq!(counters.queue_packet_ns, u128::from(4 * MS + 3 * MS / 2));
}

#[test]
fn a_link_that_comes_back_is_idle() {
    let mut link = link();
    for tag in 0..100 {
        send(&mut link, 0, tag, 1_500);
    }
    link.change(MS / 2, dead(true), &mut |_| ());
    assert_eq!(link.next_arrival_ns(), None);
    change(&mut link, 2 * MS, dead(true));
    change(&mut link, 3 * MS, dead(false));
    assert!(send(&mut link, 3 * MS, 100, 1_500));
    assert_eq!(arrivals(&mut link), [14 * MS]);
}

#[test]
fn a_change_while_dead_holds_afterwards() {
    let mut link = link();
    change(&mut link, 0, dead(true));
    change(&mut link, 1, Change { delay_ns: Some(MS), rate_bps: Some(120_000_000), ..Change::default() });
    assert!(matches!(link.enqueue(2, packet(0, 1_500)), Enqueue::Dropped(DropReason::Dead)));
    change(&mut link, 3, dead(false));
    send(&mut link, 10 * MS, 1, 1_500);
    assert_eq!(arrivals(&mut link), [11 * MS + MS / 10]);
}

#[test]
fn new_loss_is_for_packets_that_arrive_from_now_on() {
    let mut link = link();
    send(&mut link, 0, 0, 1_500);
    let certain = LossConfig::Bernoulli(loss::Bernoulli { probability: 1.0 });
    change(&mut link, 0, Change { loss: Some(certain), ..Change::default() });
    send(&mut link, 0, 1, 1_500);
    change(&mut link, 0, Change { loss: Some(LossConfig::None), ..Change::default() });
    send(&mut link, 0, 2, 1_500);
    let lost = |link: &mut Link<u64>, at_ns| link.deliver(at_ns).lost();
    assert_eq!(link.counters(MS).lost_on_wire, 0);
    assert_eq!(link.counters(2 * MS).lost_on_wire, 1);
    assert!(!lost(&mut link, 11 * MS));
    assert!(lost(&mut link, 12 * MS));
    assert!(!lost(&mut link, 13 * MS));
}

#[test]
fn a_packet_that_dies_in_the_queue_is_not_lost_on_the_wire_too() {
    let mut link = link();
    let certain = LossConfig::Bernoulli(loss::Bernoulli { probability: 1.0 });
    change(&mut link, 0, Change { loss: Some(certain), ..Change::default() });
    send(&mut link, 0, 0, 1_500);
    link.change(MS / 2, dead(true), &mut |_| ());
    let counters = link.counters(MS);
    assert_eq!((counters.lost_on_wire, counters.dropped_dead, counters.lost_packets()), (0, 1, 1));
}
