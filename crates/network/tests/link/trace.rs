//! Links that send at the opportunities of a trace.

use std::collections::VecDeque;
use std::sync::Arc;

use network::{Change, DropReason, Trace};
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn traced(text: &str, delay_ns: u64, queue: QueueConfig) -> Link<u64> {
    Link::new(LinkConfig::with_trace(Arc::new(Trace::parse(text).unwrap()), delay_ns, queue), rng(1))
}

#[test]
fn departures_are_opportunities_and_arrivals_a_delay_later() {
    let mut link = traced("2\n5\n5\n9\n", 10 * MS, UNLIMITED);
    send(&mut link, 0, 0, 1_500);
    send(&mut link, 0, 1, 40);
    send(&mut link, 0, 2, 40);
    assert_eq!(link.queue(2 * MS), (2, 80));
    send(&mut link, 3 * MS, 3, 1_500);
    // Packet 0 uses the first opportunity; 1, 2 and 1,416 bytes of 3 the second, 88 of 3 the third. No packet waits at
    // 9 ms.
    assert_eq!(link.queue(3 * MS), (3, 1_580));
    send(&mut link, 9 * MS, 4, 100);
    assert_eq!(
        deliver_all(&mut link),
        [(0, 2 * MS, 12 * MS), (1, 5 * MS, 15 * MS), (2, 5 * MS, 15 * MS), (3, 5 * MS, 15 * MS), (4, 11 * MS, 21 * MS)]
    );
}

/// A packet decided at the head uses the rest of an opportunity, or waits for the next if it arrived too late.
#[test]
fn packets_of_a_codel_queue_share_an_opportunity_as_others_do() {
    for queue in [UNLIMITED, QueueConfig::CoDel(queue::codel::Config::new(Limit::Packets(100)))] {
        let mut link = traced("10\n", 0, queue);
        for tag in 0..4 {
            send(&mut link, 0, tag, 600);
        }
        send(&mut link, 10 * MS, 4, 40);
        let departures: Vec<u64> = deliver_all(&mut link).iter().map(|&(_, departure_ns, _)| departure_ns).collect();
        assert_eq!(departures, [10 * MS, 10 * MS, 20 * MS, 20 * MS, 20 * MS]);
    }
}

#[test]
fn the_long_run_carries_the_mean_of_the_trace() {
    // Irregular: 7 opportunities in 20 ms, 4.2 Mbit/s.
    let mut link = traced(
        "1\n1\n2\n9\n15\n15\n20\n",
        0,
        QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(50) }),
    );
    assert_eq!(link.rate_bps(), 4_200_000);
    let seconds = 100;
    for tag in 0..seconds * 500 {
        let now_ns = tag * 2 * MS;
        while link.next_arrival_or_max_ns() <= now_ns {
            let _ = link.deliver(link.next_arrival_or_max_ns());
        }
        let _ = link.enqueue(now_ns, packet(tag, 1_500));
    }
    let counters = link.counters(seconds * 1_000 * MS);
    assert_eq!(counters.sent_bytes * 8, seconds * 4_200_000 - 2 * 12_000, "but for those of the first millisecond");
}

#[test]
fn an_outage_of_the_trace_is_one_of_the_link() {
    let mut link = traced("1\n1000\n1001\n", 0, UNLIMITED);
    for tag in 0..3 {
        send(&mut link, 0, tag, 1_500);
    }
    let departures: Vec<u64> = deliver_all(&mut link).iter().map(|&(_, departure_ns, _)| departure_ns / MS).collect();
    assert_eq!(departures, [1, 1_000, 1_001]);
}

#[test]
fn a_dead_link_gives_its_opportunities_back() {
    let mut link = traced("1\n2\n3\n4\n", 0, UNLIMITED);
    for tag in 0..10 {
        send(&mut link, 0, tag, 1_500);
    }
    let mut dropped = 0;
    link.change(MS + 1, Change { dead: Some(true), ..Change::default() }, &mut |_| dropped += 1);
    assert_eq!(dropped, 9);
    link.change(MS + 2, Change { dead: Some(false), ..Change::default() }, &mut |_| ());
    send(&mut link, MS + 2, 10, 1_500);
    assert_eq!(deliver_all(&mut link), [(0, MS, MS), (10, 2 * MS, 2 * MS)]);
}

#[test]
#[should_panic(expected = "change of a link: rate_bps: found 5, expected no change of rate")]
fn its_rate_does_not_change() {
    let change = Change { rate_bps: Some(5), ..Change::default() };
    traced("1\n", 0, UNLIMITED).change(0, change, &mut |_| ());
}

/// The source halves its rate at each drop and speeds up otherwise, as TCP does: a drop-tail queue fills, CoDel's does
/// not.
#[test]
fn codel_keeps_the_wait_short_on_a_trace() {
    let wait_ms = |queue| {
        let mut link = traced("3\n4\n10\n", 0, queue);
        let (mut gap_ns, mut now_ns, mut waits_ns, mut sent) = (10.0 * MS as f64, 0, 0, 0_u64);
        let mut arrivals = Vec::new();
        while now_ns < 300_000 * MS {
            while link.next_arrival_or_max_ns() <= now_ns {
                let packet = link.deliver(link.next_arrival_or_max_ns());
                let arrived_ns: u64 = arrivals[packet.tag as usize];
                if packet.dropped() {
                    gap_ns = (gap_ns * 2.0).min(100.0 * MS as f64);
                } else {
                    (waits_ns, sent) = (waits_ns + packet.departure_ns - arrived_ns, sent + 1);
                }
            }
            if matches!(link.enqueue(now_ns, packet(arrivals.len() as u64, 1_500)), Enqueue::Dropped(_)) {
                gap_ns *= 2.0;
            }
            arrivals.push(now_ns);
            gap_ns *= 0.999;
            now_ns += gap_ns as u64;
        }
        (waits_ns as f64 / sent as f64 / 1e6, sent)
    };
    let (drop_tail_ms, _) = wait_ms(QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(500) }));
    let (codel_ms, sent) = wait_ms(QueueConfig::CoDel(queue::codel::Config::new(Limit::Packets(500))));
    println!("drop-tail {drop_tail_ms} ms, CoDel {codel_ms} ms, {sent} of 90000 sent");
    assert!(drop_tail_ms > 200.0 && codel_ms < 40.0, "{drop_tail_ms} {codel_ms}");
    assert!(sent > 60_000, "{sent}");
}

/// Advances from opportunity to opportunity, without computing departures in advance.
struct Reference {
    times_ms: Vec<u64>,
    next: usize,
    began_ms: u64,
    /// Tag, size, bytes left to send.
    queue: VecDeque<(u64, u32, u32)>,
    dead: bool,
    departed: Vec<(u64, u64)>,
}

impl Reference {
    fn run_to(&mut self, now_ns: u64) {
        while (self.began_ms + self.times_ms[self.next]) * MS <= now_ns {
            let at_ms = self.began_ms + self.times_ms[self.next];
            let mut left = 1_504;
            while let Some(first) = self.queue.front_mut()
                && left > 0
            {
                let part = left.min(first.2);
                (left, first.2) = (left - part, first.2 - part);
                if first.2 == 0 {
                    self.departed.push((first.0, at_ms * MS));
                    self.queue.pop_front();
                }
            }
            self.next += 1;
            if self.next == self.times_ms.len() {
                (self.next, self.began_ms) = (0, at_ms);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_link_does_what_a_walk_over_the_trace_does(
        mut times_ms in prop::collection::vec(prop_oneof![0_u64..5, 0_u64..60], 1..20),
        limit in 1_u64..20,
        steps in prop::collection::vec((
            prop_oneof![Just(0), 0_u64..MS, (0_u64..30).prop_map(|ms| ms * MS), 0_u64..300 * MS],
            prop_oneof![
                6 => Just(Some(1_500_u16)),
                6 => (0_u16..400).prop_map(Some),
                1 => any::<u16>().prop_map(Some),
                1 => Just(None),
            ],
        ), 1..200),
    ) {
        times_ms.sort_unstable();
        *times_ms.last_mut().unwrap() += 1;
        let text: String = times_ms.iter().map(|time_ms| format!("{time_ms}\n")).collect();
        let mut link = traced(&text, 0, QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(limit) }));
        let mut reference =
            Reference { times_ms, next: 0, began_ms: 0, queue: VecDeque::new(), dead: false, departed: Vec::new() };
        let (mut now_ns, mut departed) = (0, Vec::new());
        for (tag, (wait_ns, size)) in (0..).zip(steps) {
            now_ns += wait_ns;
            reference.run_to(now_ns);
            while let Some(at_ns) = link.next_arrival_ns().filter(|&at_ns| at_ns <= now_ns) {
                let packet = link.deliver(at_ns);
                departed.push((packet.tag, packet.departure_ns));
            }
            prop_assert_eq!(&departed, &reference.departed);
            match size {
                Some(size) => {
                    let accepts = !reference.dead && (reference.queue.len() as u64) < limit;
                    if accepts {
                        reference.queue.push_back((tag, size.into(), u32::from(size) + 4));
                    }
                    let found = match link.enqueue(now_ns, packet(tag, size)) {
                        Enqueue::Accepted { .. } => None,
                        Enqueue::Waiting | Enqueue::Disordered { .. } => panic!("the link is not shared"),
                        Enqueue::Dropped(reason) => Some(reason),
                    };
                    let reason = if reference.dead { DropReason::Dead } else { DropReason::Full };
                    prop_assert_eq!(found, (!accepts).then_some(reason));
                }
                None => {
                    reference.dead = !reference.dead;
                    reference.queue.clear();
                    link.change(now_ns, Change { dead: Some(reference.dead), ..Change::default() }, &mut |_| ());
                }
            }
            prop_assert_eq!(link.queue(now_ns).0 as usize, reference.queue.len());
        }
    }
}
