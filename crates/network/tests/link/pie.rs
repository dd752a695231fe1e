//! PIE on a link.

use super::*;

const MS: u64 = 1_000_000;
/// 1,500 bytes take 1 ms.
const RATE_BPS: u64 = 12_000_000;

/// An unresponsive load of 1.25: PIE must drop a fifth, and the delay is at the target. This is the controller's
/// equilibrium, because its step is α·(delay − target) while the delay is constant.
#[test]
fn the_delay_of_a_load_that_does_not_answer_is_the_target() {
    let mut link = link_of(RATE_BPS, 0, QueueConfig::Pie(queue::pie::Config::new(Limit::Packets(10_000))));
    let (mut dropped, mut waited_ns, mut packets) = (0_u64, 0, 0);
    let mut arrived_ns = std::collections::BTreeMap::new();
    for tag in 0..250_000 {
        let now_ns = tag * 800_000;
        while link.next_arrival_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let packet = link.deliver(link.next_arrival_or_max_ns());
            let at_ns = arrived_ns.remove(&packet.tag).unwrap();
            if tag > 125_000 {
                waited_ns += packet.departure_ns - at_ns - MS;
                packets += 1;
            }
        }
        match link.enqueue(now_ns, packet(tag, 1_500)) {
            Enqueue::Accepted { .. } => drop(arrived_ns.insert(tag, now_ns)),
            Enqueue::Waiting | Enqueue::Disordered { .. } => panic!("the link is not shared"),
            Enqueue::Dropped(_) => dropped += u64::from(tag > 125_000),
        }
    }
    let delay_ms = waited_ns as f64 / packets as f64 / 1e6;
    let share = dropped as f64 / 125_000.0;
    assert!((share - 0.2).abs() < 0.005, "{share}");
    assert!((12.0..18.0).contains(&delay_ms), "{delay_ms}");
}

/// Packets sent at the link's rate never wait and are not dropped.
#[test]
fn a_load_below_the_rate_is_left_alone() {
    let mut link = link_of(RATE_BPS, 0, QueueConfig::Pie(queue::pie::Config::new(Limit::Packets(10_000))));
    for tag in 0..10_000 {
        let now_ns = tag * 1_050_000;
        while link.next_arrival_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let _ = link.deliver(link.next_arrival_or_max_ns());
        }
        assert_eq!(link.enqueue(now_ns, packet(tag, 1_500)), Enqueue::Accepted { first: true });
    }
}

/// A burst of 140 ms passes without drops after a quiet period; RFC 8033 §4.4 allows 150 ms.
#[test]
fn a_burst_passes() {
    let mut link = link_of(RATE_BPS, 0, QueueConfig::Pie(queue::pie::Config::new(Limit::Packets(10_000))));
    for tag in 0..500 {
        // At three times the rate.
        let now_ns = 1_000 * MS + tag * MS / 3;
        if now_ns < 1_140 * MS {
            assert!(matches!(link.enqueue(now_ns, packet(tag, 1_500)), Enqueue::Accepted { .. }), "{tag}");
        }
    }
}
