//! The stages before and after a link: token buckets, jitter, reordering, duplicates.

use network::{BucketConfig, DisorderConfig, DropReason};
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn bucket(rate_bps: u64, burst_bytes: u64, polices: bool, queue: QueueConfig) -> Link<u64> {
    let bucket = Some(BucketConfig { burst_bytes, polices });
    Link::new(LinkConfig { bucket, ..LinkConfig::with_rate(rate_bps, 0, queue) }, rng(1))
}

/// 8 Mbit/s with bursts of 3,000 bytes: two packets pass, the third and fourth wait 1.5 and 3 ms, the fifth does not
/// fit.
#[test]
fn a_shaper_queues_and_a_policer_drops() {
    let mut shaper =
        bucket(8_000_000, 3_000, false, QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(2) }));
    let answers: Vec<bool> =
        (0..5).map(|tag| matches!(shaper.enqueue(MS, packet(tag, 1_500)), Enqueue::Accepted { .. })).collect();
    assert_eq!(answers, [true, true, true, true, false]);
    let times: Vec<u64> = deliver_all(&mut shaper).iter().map(|&(_, _, at_ns)| at_ns).collect();
    assert_eq!(times, [MS, MS, 2_500_000, 4 * MS]);
    let mut policer = bucket(8_000_000, 3_000, true, UNLIMITED);
    for (tag, now_ns, passes) in
        [(0, MS, true), (1, MS, true), (2, MS, false), (3, 2_400_000, false), (4, 2_500_000, true)]
    {
        let expected = match passes {
            true => Enqueue::Accepted { first: tag != 1 },
            false => Enqueue::Dropped(DropReason::Full),
        };
        if tag == 4 {
            deliver_all(&mut policer);
        }
        assert_eq!(policer.enqueue(now_ns, packet(tag, 1_500)), expected, "packet {tag}");
    }
}

fn disordered(config: DisorderConfig) -> Link<u64> {
    Link::new(LinkConfig { disorder: Some(config), ..LinkConfig::with_rate(1, 0, UNLIMITED) }, rng(7))
}

const ORDERLY: DisorderConfig = DisorderConfig { jitter_ns: 0, reorder: 0.0, by_ns: 0, duplicate: 0.0 };

#[test]
fn what_is_held_back_is_overtaken() {
    let mut stage = disordered(DisorderConfig { reorder: 1.0, by_ns: 10 * MS, ..ORDERLY });
    let first = stage.enqueue(0, packet(1, 1_500));
    assert_eq!(first, Enqueue::Disordered { reschedule: true, twice: false });
    let mut stage_of_few = disordered(DisorderConfig { reorder: 0.5, by_ns: 10 * MS, ..ORDERLY });
    let order: Vec<u64> = {
        for tag in 0..20 {
            let _ = stage_of_few.enqueue(tag * MS, packet(tag, 1_500));
        }
        deliver_all(&mut stage_of_few).iter().map(|&(tag, ..)| tag).collect()
    };
    assert!(!order.is_sorted(), "{order:?}");
    // Every packet leaves when it arrived or 10 ms later.
    assert_eq!(stage.deliver(10 * MS).tag, 1);
}

proptest! {
    /// Jitter is uniform between 0 and its value and does not reorder; the numbers of duplicates and of packets held
    /// back are as configured; nothing is lost.
    #[test]
    fn disorder_is_as_asked(seed in 0..1_000_u64, jitter_ns in 0..5 * MS) {
        let config = DisorderConfig { jitter_ns, reorder: 0.1, by_ns: 20 * MS, duplicate: 0.05 };
        let mut stage: Link<u64> =
            Link::new(LinkConfig { disorder: Some(config), ..LinkConfig::with_rate(1, 0, UNLIMITED) }, rng(seed));
        let mut copies = 0;
        for tag in 0..2_000 {
            // The packets are so far apart that jitter alone does not reach a neighbour.
            let now_ns = tag * 6 * MS;
            while stage.next_arrival_ns().is_some_and(|at_ns| at_ns <= now_ns) {
                let at_ns = stage.next_arrival_or_max_ns();
                let packet = stage.deliver(at_ns);
                let late_ns = at_ns - packet.tag * 6 * MS;
                prop_assert!(late_ns <= jitter_ns || (20 * MS..=20 * MS + jitter_ns).contains(&late_ns), "{}", late_ns);
            }
            match stage.enqueue(now_ns, packet(tag, 1_500)) {
                Enqueue::Disordered { twice, .. } => {
                    if twice {
                        copies += 1;
                        let again = matches!(stage.enqueue_copy(now_ns, packet(tag, 1_500)), Enqueue::Disordered { twice: false, .. });
                        prop_assert!(again);
                    }
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert!((40..170).contains(&copies), "{}", copies);
    }
}
