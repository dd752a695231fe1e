//! Times worked by hand.

use network::Enqueue;
use proptest::prelude::*;

use super::*;

#[test]
fn serialisation_queueing_and_propagation_add_up() {
    // 10 Mbit/s: 1,500 bytes take 1.2 ms, 40 bytes 32 µs.
    let mut link = link_of(10_000_000, 5_000_000, UNLIMITED);
    assert!(send(&mut link, 0, 0, 1_500));
    assert!(!send(&mut link, 0, 1, 1_500));
    assert!(!send(&mut link, 1_000_000, 2, 40));
    // The link becomes idle at 2.432 ms with three packets on the wire.
    assert!(!send(&mut link, 3_000_000, 3, 40));
    assert_eq!(link.next_arrival_ns(), Some(6_200_000));
    assert_eq!(
        deliver_all(&mut link),
        [(0, 1_200_000, 6_200_000), (1, 2_400_000, 7_400_000), (2, 2_432_000, 7_432_000), (3, 3_032_000, 8_032_000)]
    );
    assert_eq!(link.next_arrival_ns(), None);
    assert_eq!(link.next_arrival_or_max_ns(), u64::MAX);
    assert!(send(&mut link, 9_000_000, 4, 1_500), "first again");
}

#[test]
fn a_round_trip_is_two_delays_two_serialisations_and_the_queue() {
    // 25 Mbit/s down, 5 Mbit/s up, 12.5 ms in each direction. The data packet finds three packets of 1,500 bytes in the
    // queue.
    let mut down = link_of(25_000_000, 12_500_000, UNLIMITED);
    let mut up = link_of(5_000_000, 12_500_000, UNLIMITED);
    for tag in 0..4 {
        send(&mut down, 0, tag, 1_500);
    }
    let (tag, _, at_receiver_ns) = *deliver_all(&mut down).last().unwrap();
    send(&mut up, at_receiver_ns, tag, 52);
    let (_, _, at_sender_ns) = deliver_all(&mut up)[0];
    // 3 × 480 µs of queueing, 480 µs and 83.2 µs of serialisation, 25 ms of propagation.
    assert_eq!(at_sender_ns, 3 * 480_000 + 480_000 + 83_200 + 25_000_000);
}

#[test]
fn two_links_in_a_row_store_and_forward() {
    let mut first = link_of(100_000_000, 1_000_000, UNLIMITED);
    let mut second = link_of(10_000_000, 2_000_000, UNLIMITED);
    for tag in 0..3 {
        send(&mut first, 0, tag, 1_500);
    }
    while let Some(at_ns) = first.next_arrival_ns() {
        let mut packet = first.deliver(at_ns);
        packet.hop += 1;
        assert!(matches!(second.enqueue(at_ns, packet), Enqueue::Accepted { .. }));
    }
    // The first packet arrives at 1.12 ms; then each takes 1.2 ms at the bottleneck.
    let arrivals: Vec<u64> = deliver_all(&mut second).iter().map(|&(_, _, at_ns)| at_ns).collect();
    assert_eq!(arrivals, [4_320_000, 5_520_000, 6_720_000]);
}

#[test]
fn the_remainder_goes_to_the_next_packet() {
    // 8 bits at 3 bit/s: 2.666… s. Departures at ⌊n·8/3 s⌋.
    let mut link = link_of(3, 0, UNLIMITED);
    for tag in 0..3 {
        send(&mut link, 0, tag, 1);
    }
    let departures: Vec<u64> = deliver_all(&mut link).iter().map(|&(_, departure_ns, _)| departure_ns).collect();
    assert_eq!(departures, [2_666_666_666, 5_333_333_333, 8_000_000_000]);
}

#[test]
fn an_idle_link_forgets_the_remainder_and_a_busy_one_does_not() {
    // 1 byte at 3 Gbit/s takes 2⅔ ns. The next packets arrive exactly at departures, and the third ends a busy period
    // of exactly 8 ns.
    let mut link = link_of(3_000_000_000, 0, UNLIMITED);
    send(&mut link, 0, 0, 1);
    send(&mut link, 2, 1, 1);
    send(&mut link, 5, 2, 1);
    send(&mut link, 8, 3, 1);
    // ⅔ ns of the fourth are left at 10 ns; at 11 ns the link is idle.
    send(&mut link, 11, 4, 1);
    let departures: Vec<u64> = deliver_all(&mut link).iter().map(|&(_, departure_ns, _)| departure_ns).collect();
    assert_eq!(departures, [2, 5, 8, 10, 13]);
}

#[test]
fn equal_links_in_a_row_do_not_drift() {
    let mut first = link_of(3_000_000_000, 0, UNLIMITED);
    let mut second = link_of(3_000_000_000, 0, UNLIMITED);
    for tag in 0..3_000 {
        send(&mut first, 0, tag, 1_499);
    }
    while let Some(at_ns) = first.next_arrival_ns() {
        let packet = first.deliver(at_ns);
        assert!(matches!(second.enqueue(at_ns, packet), Enqueue::Accepted { .. }));
    }
    // The time of 3,001 packets, 3997⅓ ns each, with no more rounding than at the entrance.
    let (_, _, last_ns) = *deliver_all(&mut second).last().unwrap();
    assert_eq!(last_ns, 3_001 * 1_499 * 8 / 3);
}

#[test]
fn a_late_delivery_delays_nothing_behind_it() {
    let mut link = link_of(12_000_000, 10_000_000, UNLIMITED);
    for tag in 0..3 {
        send(&mut link, 0, tag, 1_500);
    }
    assert_eq!(link.deliver(12_500_000).tag, 0);
    // Its arrival time is 12 ms, although it is later than that.
    assert_eq!(link.next_arrival_ns(), Some(12_000_000));
    assert_eq!(link.deliver(12_500_000).departure_ns, 2_000_000);
    assert_eq!(link.next_arrival_ns(), Some(13_000_000));
}

#[test]
fn time_saturates() {
    let mut link = link_of(1, u64::MAX, UNLIMITED);
    send(&mut link, u64::MAX - 5, 0, u16::MAX);
    send(&mut link, u64::MAX - 5, 1, u16::MAX);
    assert_eq!(link.next_arrival_ns(), Some(u64::MAX));
    assert_eq!(link.deliver(u64::MAX).tag, 0);
    assert_eq!(link.deliver(u64::MAX).tag, 1);
    assert_eq!(link.next_arrival_ns(), None);
}

#[test]
fn the_tag_hop_and_ecn_come_out_as_they_went_in() {
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Tag {
        flow: u32,
        slot: u32,
    }
    let config = LinkConfig {
        rate_bps: 1_000_000,
        delay_ns: 0,
        queue: UNLIMITED,
        loss: LossConfig::None,
        trace: None,
        shared: false,
        bucket: None,
        disorder: None,
    };
    let mut link = Link::new(config, rng(0));
    let packet = Packet::new(Tag { flow: 3, slot: 9 }, 100, 2, Ecn::Ect0);
    assert_eq!(link.enqueue(0, packet), Enqueue::Accepted { first: true });
    let out = link.deliver(800_000);
    assert_eq!((out.tag, out.size, out.hop, out.ecn(), out.lost()), (packet.tag, 100, 2, Ecn::Ect0, false));
}

proptest! {
    /// The n-th departure of a busy period is the exact time rounded down, for any sizes and rates.
    #[test]
    fn a_busy_period_takes_the_true_total(
        rate_bps in prop_oneof![1_u64..100, 1_000_u64..10_000_000, 1_000_000_u64..400_000_000_000, Just(u64::MAX)],
        sizes in prop::collection::vec(prop_oneof![Just(1_500_u16), Just(52), 0..=u16::MAX], 1..200),
        start_ns in 0..1_000_000_000_u64,
    ) {
        let mut link = link_of(rate_bps, 0, UNLIMITED);
        let mut bits = 0_u128;
        for (tag, &size) in sizes.iter().enumerate() {
            send(&mut link, start_ns, tag as u64, size);
        }
        for ((_, departure_ns, _), size) in deliver_all(&mut link).into_iter().zip(sizes) {
            bits += u128::from(size) * 8;
            prop_assert_eq!(u128::from(departure_ns - start_ns), bits * 1_000_000_000 / u128::from(rate_bps));
        }
    }
}
