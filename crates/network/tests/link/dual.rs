//! DualPI2 on a link.

use super::*;

const MS: u64 = 1_000_000;
/// 1,500 bytes take 1 ms.
const RATE_BPS: u64 = 12_000_000;

/// An unresponsive classic load of 1.25, and a packet with ECT(1) every 20 ms: a fifth or more of the classic packets
/// is dropped at a delay equal to the target. The L queue is marked with twice the square root of that fraction, the
/// coupling law (RFC 9332 §2.1), and waits for one or two packets.
#[test]
fn an_overload_is_held_at_the_target_and_coupled() {
    let mut link = link_of(RATE_BPS, 0, QueueConfig::DualPi2(queue::dualpi2::Config::new(Limit::Packets(10_000))));
    let mut arrived = [0_u64; 2];
    let (mut dropped, mut marked, mut longest_ns) = (0_u64, 0_u64, 0);
    let mut waited_ns = (0_u64, 0_u64);
    let (begin_ms, end_ms) = (20_000, 80_000);
    let mut sent_ns = std::collections::BTreeMap::new();
    for tag in 0..end_ms * 5 {
        // In units of 0.2 ms: five quarters of a packet per millisecond.
        let now_ns = tag * MS / 5;
        let settled = now_ns >= begin_ms * MS;
        while link.next_arrival_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            let packet = link.deliver(link.next_arrival_or_max_ns());
            let Some((at_ns, low)) = sent_ns.remove(&packet.tag) else { panic!("{}", packet.tag) };
            if !settled {
                continue;
            }
            if low {
                marked += u64::from(packet.ce());
                longest_ns = longest_ns.max(packet.departure_ns - at_ns);
                assert!(!packet.dropped());
            } else if packet.dropped() {
                dropped += 1;
            } else {
                waited_ns = (waited_ns.0 + packet.departure_ns - at_ns, waited_ns.1 + 1);
            }
        }
        let classic = tag % 4 == 0;
        let low = tag % 100 == 7;
        if classic || low {
            let ecn = if low { Ecn::Ect1 } else { Ecn::NotEct };
            arrived[usize::from(low)] += u64::from(settled);
            if let Enqueue::Accepted { .. } = link.enqueue(now_ns, Packet::new(tag, 1_500, 0, ecn)) {
                sent_ns.insert(tag, (now_ns, low));
            } else {
                assert!(!low);
                dropped += u64::from(settled);
            }
        }
    }
    let drops = dropped as f64 / arrived[0] as f64;
    let marks = marked as f64 / arrived[1] as f64;
    // 1.25 of classic packets and 0.05 of others: 1 − 0.95/1.25.
    assert!((drops - 0.24).abs() < 0.01, "{drops}");
    assert!((marks - 2.0 * drops.sqrt()).abs() < 0.03, "{marks}");
    let delay_ms = waited_ns.0 as f64 / waited_ns.1 as f64 / 1e6;
    // The controller holds the wait of the first packet; packets sent take one millisecond more.
    assert!((delay_ms - 16.0).abs() < 1.0, "{delay_ms}");
    assert!(longest_ns <= 3 * MS, "{longest_ns}");
}
