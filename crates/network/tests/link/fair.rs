//! FQ-CoDel on a link.

use network::DropReason;
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;
/// 1,500 bytes take 1 ms.
const RATE_BPS: u64 = 12_000_000;

fn fq_codel(limit: Limit) -> QueueConfig {
    QueueConfig::FqCoDel(queue::fq_codel::Config::new(limit))
}

/// A sparse flow beside one that fills the queue waits for the packet in service and at most one more.
#[test]
fn a_sparse_flow_does_not_wait_behind_a_full_queue() {
    let mut link = link_of(RATE_BPS, 0, fq_codel(Limit::Packets(1_000)));
    let mut tag = 0;
    let mut sent_ns = std::collections::BTreeMap::new();
    let mut longest_ns = 0;
    for now_ms in 0..2_000 {
        let now_ns = now_ms * MS;
        while link.next_arrival_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let packet = link.deliver(link.next_arrival_or_max_ns());
            if let Some(at_ns) = sent_ns.remove(&packet.tag) {
                assert!(!packet.lost());
                longest_ns = longest_ns.max(packet.departure_ns - at_ns);
            }
        }
        // The bulk flow sends 1.5 packets per millisecond, regardless of drops.
        for _ in 0..1 + now_ms % 2 {
            let _ = link.enqueue_of(now_ns, packet(1_000_000 + tag, 1_500), || 1_u64);
            tag += 1;
        }
        if now_ms % 20 == 7 {
            sent_ns.insert(now_ms, now_ns);
            assert_eq!(link.enqueue_of(now_ns, packet(now_ms, 100), || 2_u64), Enqueue::Accepted { first: false });
        }
    }
    assert!(link.queue(2_000 * MS).0 > 50, "the bulk flow keeps a queue");
    assert!(longest_ns > 0 && longest_ns <= 2_100_000, "{longest_ns}");
}

/// Five flows exceed their share, one of them tenfold and one with small packets: each gets a fifth.
#[test]
fn flows_that_send_too_much_get_equal_shares() {
    let mut link = link_of(RATE_BPS, 0, fq_codel(Limit::Packets(500)));
    let mut bytes = [0_u64; 5];
    for tenth_ms in 0..50_000_u64 {
        let now_ns = tenth_ms * MS / 10;
        while link.next_arrival_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let packet = link.deliver(link.next_arrival_or_max_ns());
            if !packet.lost() {
                bytes[(packet.tag % 5) as usize] += u64::from(packet.size);
            }
        }
        for flow in 0..5 {
            let (every, size) = if flow == 4 { (1, 300) } else { (if flow == 0 { 1 } else { 10 }, 1_500) };
            if tenth_ms % every == 0 {
                let _ = link.enqueue_of(now_ns, packet(flow, size), || flow);
            }
        }
    }
    let total: u64 = bytes.iter().sum();
    assert!(total > 7_450_000, "{total}");
    for share in bytes {
        assert!(share.abs_diff(total / 5) < total / 100, "{bytes:?}");
    }
}

#[test]
fn a_full_queue_drops_from_the_flow_that_fills_it() {
    let mut link = link_of(RATE_BPS, 0, fq_codel(Limit::Packets(20)));
    for tag in 0..20 {
        assert!(matches!(link.enqueue_of(0, packet(tag, 1_500), || 1_u64), Enqueue::Accepted { .. }));
    }
    assert_eq!(link.enqueue_of(0, packet(100, 1_500), || 2_u64), Enqueue::Accepted { first: false });
    let mut lost = Vec::new();
    let mut delivered = Vec::new();
    while let Some(at_ns) = link.next_arrival_ns() {
        let packet = link.deliver(at_ns);
        if packet.dropped() { &mut lost } else { &mut delivered }.push(packet.tag);
    }
    assert_eq!(lost, (1..=10).collect::<Vec<_>>());
    assert_eq!(delivered.len(), 11);
    assert!(delivered[..3].contains(&100), "{delivered:?}");
    let counters = link.counters(1_000 * MS);
    assert_eq!([counters.dropped_full, counters.dropped_early, counters.sent_packets], [10, 0, 11]);
    assert_eq!(counters.sent_bytes, 11 * 1_500);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A single flow sees plain CoDel: the same departures, drops and marks.
    #[test]
    fn one_flow_sees_codel(
        arrivals in prop::collection::vec((0_u64..3 * MS, 40_u16..1_501), 1..400),
        ecn in any::<bool>(),
    ) {
        let (target_ns, interval_ns, mtu_bytes) = (5 * MS, 20 * MS, 1_500);
        let limit = Limit::Packets(10_000);
        let (queues, quantum_bytes) = (1_024, 1_514);
        let fair = QueueConfig::FqCoDel(queue::fq_codel::Config { limit, target_ns, interval_ns, mtu_bytes, queues, quantum_bytes, ecn });
        let alone = QueueConfig::CoDel(queue::codel::Config { limit, target_ns, interval_ns, mtu_bytes, ecn });
        let logs = [fair, alone].map(|queue| {
            let mut link = link_of(RATE_BPS / 2, MS, queue);
            let (mut now_ns, mut log) = (0, Vec::new());
            for (tag, &(wait_ns, size)) in (0..).zip(&arrivals) {
                now_ns += wait_ns;
                let packet = Packet::new(tag, size, 0, Ecn::Ect0);
                if let Enqueue::Dropped(reason) = link.enqueue_of(now_ns, packet, || 3_u64) {
                    assert_eq!(reason, DropReason::Full);
                }
            }
            while let Some(at_ns) = link.next_arrival_ns() {
                let packet = link.deliver(at_ns);
                log.push((packet.tag, packet.departure_ns, at_ns, packet.dropped(), packet.ecn()));
            }
            (log, link.counters(now_ns + 10_000 * MS))
        });
        prop_assert_eq!(&logs[0], &logs[1]);
    }
}

/// One host with one flow and one with eight, all of which exceed their share: each host gets half of the link, and
/// each flow of the second an eighth of that. Without isolation, each flow gets a ninth.
#[test]
fn hosts_get_equal_shares_and_so_do_their_flows() {
    for isolates_hosts in [true, false] {
        let config = queue::fq_codel::Config::new(Limit::Packets(2_000));
        let queue = if isolates_hosts { QueueConfig::Cake(config) } else { QueueConfig::FqCoDel(config) };
        let mut link = link_of(RATE_BPS, 0, queue);
        let mut bytes = [0_u64; 9];
        for now_ms in 0..10_000_u64 {
            let now_ns = now_ms * MS;
            while link.next_arrival_ns().is_some_and(|at_ns| at_ns <= now_ns) {
                let packet = link.deliver(link.next_arrival_or_max_ns());
                // Once the queues have built up.
                if !packet.lost() && now_ms > 1_000 {
                    bytes[(packet.tag % 9) as usize] += u64::from(packet.size);
                }
            }
            for flow in 0..9 {
                let host = u32::from(flow > 0);
                let flow = network::Flow { number: flow, hosts: [host; 2] };
                // The single flow sends as much as half of the others together.
                for _ in 0..if flow.number == 0 { 4 } else { 1 } {
                    let _ = link.enqueue_of(now_ns, packet(flow.number, 1_500), || flow);
                }
            }
        }
        let total: u64 = bytes.iter().sum();
        assert!(total > 13_400_000, "the link is full: {total}");
        let expected = |flow: usize| match (isolates_hosts, flow) {
            (false, _) => total / 9,
            (true, 0) => total / 2,
            (true, _) => total / 16,
        };
        for (flow, &found) in bytes.iter().enumerate() {
            let share = expected(flow);
            assert!(found.abs_diff(share) < share / 50, "isolates: {isolates_hosts}, flow {flow}: {bytes:?}");
        }
    }
}
