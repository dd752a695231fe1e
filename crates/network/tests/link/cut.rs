//! A link that is cut in two: its beginning and its end together are the whole link.

use proptest::prelude::*;

use super::*;

fn queue() -> impl Strategy<Value = QueueConfig> {
    prop_oneof![
        (1_u64..20).prop_map(|packets| QueueConfig::DropTail { limit: Limit::Packets(packets) }),
        (0_u64..20_000).prop_map(|bytes| QueueConfig::DropTail { limit: Limit::Bytes(bytes) }),
        Just(QueueConfig::Red {
            limit: Limit::Packets(20),
            min_packets: 2.0,
            max_packets: 8.0,
            max_probability: 0.2,
            weight: 0.1,
            gentle: true,
            ecn: true,
        }),
    ]
}

/// What comes out by `until_ns`: when, which, and whether it was lost or marked on its way.
fn delivered(link: &mut Link<u64>, until_ns: u64) -> Vec<(u64, u64, bool, bool)> {
    let mut all = Vec::new();
    while let Some(at_ns) = link.next_arrival_ns().filter(|&at_ns| at_ns <= until_ns) {
        let packet = link.deliver(at_ns);
        all.push((at_ns, packet.tag, packet.lost(), packet.ce()));
    }
    all
}

proptest! {
    #[test]
    fn both_ends_of_a_cut_link_are_the_whole(
        queue in queue(), rate_bps in 1_000_000_u64..100_000_000, delay_ns in 0_u64..20_000_000,
        packets in prop::collection::vec((0_u64..2_000_000, 40_u16..1500, any::<bool>()), 1..200),
    ) {
        let made = || {
            let loss = LossConfig::Bernoulli { probability: 0.1 };
            let config = LinkConfig { rate_bps, delay_ns, queue, loss, trace: None, shared: false, bucket: None, disorder: None };
            Link::new(config, rng(3))
        };
        let [mut whole, mut begin, mut end] = [made(), made(), made()];
        begin.cut();
        let (mut now_ns, mut expected, mut found) = (0, Vec::new(), Vec::new());
        for (tag, (after_ns, size, ecn)) in (0..).zip(packets) {
            now_ns += after_ns;
            expected.extend(delivered(&mut whole, now_ns));
            found.extend(delivered(&mut end, now_ns));
            let packet = Packet::new(tag, size, 0, if ecn { Ecn::Ect0 } else { Ecn::NotEct });
            let answer = begin.enqueue(now_ns, packet);
            match whole.enqueue(now_ns, packet) {
                Enqueue::Accepted { .. } => {
                    prop_assert_eq!(answer, Enqueue::Cut);
                    let (packet, arrives_ns) = begin.handed_on();
                    prop_assert_eq!(packet.tag, tag);
                    let first = end.next_arrival_ns().is_none();
                    prop_assert_eq!(end.carry(packet), first);
                    prop_assert!(!first || end.next_arrival_ns() == Some(arrives_ns));
                }
                dropped => prop_assert_eq!(answer, dropped),
            }
            prop_assert_eq!(begin.queue(now_ns), whole.queue(now_ns));
        }
        expected.extend(delivered(&mut whole, u64::MAX));
        found.extend(delivered(&mut end, u64::MAX));
        prop_assert_eq!(expected, found);
        prop_assert_eq!(begin.counters(u64::MAX / 2), whole.counters(u64::MAX / 2));
        prop_assert_eq!(end.under_way(), 0);
    }
}

#[test]
#[should_panic(expected = "cannot be cut")]
fn a_queue_that_decides_at_its_head_cannot_be_cut() {
    let codel = QueueConfig::CoDel {
        limit: Limit::Packets(10),
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        mtu_bytes: 1_500,
        ecn: false,
    };
    link_of(1_000_000, 0, codel).cut();
}
