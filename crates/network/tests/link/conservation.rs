//! Conservation: every packet is accounted for once and in order.

use std::sync::Arc;

use network::{Change, DropReason, Trace};
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Operation {
    Wait(u64),
    /// Size and flow.
    Arrive(u16, u64),
    Deliver,
    Change(Change),
    Look,
}

fn loss() -> impl Strategy<Value = LossConfig> {
    prop_oneof![
        Just(LossConfig::None),
        (0.0..=1.0).prop_map(|probability| LossConfig::Bernoulli(loss::Bernoulli { probability })),
        (0.0..=1.0, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0).prop_map(|(good_to_bad, bad_to_good, loss_good, loss_bad)| {
            LossConfig::GilbertElliott(loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad })
        }),
    ]
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![(0_u64..20).prop_map(Limit::Packets), (0_u64..30_000).prop_map(Limit::Bytes)];
    let red = (limit.clone(), 0.0..5.0, 0.1..5.0, 0.001..=1.0, 0.001..=1.0, any::<(bool, bool)>()).prop_map(
        |(limit, min_packets, span, max_probability, weight, (gentle, ecn))| {
            QueueConfig::Red(queue::red::Config {
                limit,
                min_packets,
                max_packets: min_packets + span,
                max_probability,
                weight,
                gentle,
                ecn,
            })
        },
    );
    let red_ns2 =
        (limit.clone(), 0_u64..20_000_000, 1_u16..2_000, 1_000_000_u64..200_000_000, 0.001..=1.0, any::<bool>())
            .prop_map(|(limit, target_delay_ns, mean_packet_bytes, rtt_ns, max_probability, gentle)| {
                QueueConfig::RedNs2(queue::red_ns2::Config {
                    limit,
                    target_delay_ns,
                    mean_packet_bytes,
                    rtt_ns,
                    max_probability,
                    gentle,
                })
            });
    let codel = (limit.clone(), 1_u64..20_000_000, 1_u64..100_000_000, 0_u32..2_000, any::<bool>()).prop_map(
        |(limit, target_ns, interval_ns, mtu_bytes, ecn)| {
            QueueConfig::CoDel(queue::codel::Config { limit, target_ns, interval_ns, mtu_bytes, ecn })
        },
    );
    let fq_codel = (
        limit.clone(),
        0_u64..20_000_000,
        1_u64..100_000_000,
        0_u32..2_000,
        any::<[bool; 2]>(),
        1_u16..8,
        1_u32..4_000,
    )
        .prop_map(|(limit, target_ns, interval_ns, mtu_bytes, [ecn, isolates_hosts], queues, quantum_bytes)| {
            // With a set of eight queues the five flows do not collide, which could change their order.
            let queues = if isolates_hosts { 8 } else { queues };
            let config =
                queue::fq_codel::Config { limit, target_ns, interval_ns, mtu_bytes, queues, quantum_bytes, ecn };
            if isolates_hosts { QueueConfig::Cake(config) } else { QueueConfig::FqCoDel(config) }
        });
    let pie = (
        limit.clone(),
        1_u64..20_000_000,
        1_000_000_u64..50_000_000,
        0_u64..200_000_000,
        0.0..9.0,
        0.0..9.0,
        any::<bool>(),
    )
        .prop_map(|(limit, target_ns, update_ns, max_burst_ns, alpha_per_s, beta_per_s, ecn)| {
            QueueConfig::Pie(queue::pie::Config {
                limit,
                target_ns,
                update_ns,
                max_burst_ns,
                alpha_per_s,
                beta_per_s,
                mtu_bytes: 1_500,
                ecn,
            })
        });
    let dualpi2 =
        (limit.clone(), (1_u64..20_000_000, 1_000_000_u64..50_000_000), 0.0..9.0, 0.0..9.0, 0.1..4.0, 0.0..=1.0)
            .prop_map(|(limit, (target_ns, update_ns), alpha_per_s, beta_per_s, coupling, classic_share)| {
                let step_ns = target_ns / 10;
                QueueConfig::DualPi2(queue::dualpi2::Config {
                    limit,
                    target_ns,
                    update_ns,
                    alpha_per_s,
                    beta_per_s,
                    coupling,
                    step_ns,
                    classic_share,
                })
            });
    prop_oneof![
        limit.prop_map(|limit| QueueConfig::DropTail(queue::drop_tail::Config { limit })),
        red,
        red_ns2,
        codel,
        fq_codel,
        pie,
        dualpi2
    ]
}

fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![1_000_u64..1_000_000, 1_000_000_u64..1_000_000_000, 1_u64..u64::MAX]
}

/// A rate, or the times of a trace in milliseconds.
#[derive(Clone, Debug)]
enum Capacity {
    Rate(u64),
    Trace(Vec<u64>),
}

impl Capacity {
    fn config(&self, delay_ns: u64, queue: QueueConfig, loss: LossConfig) -> LinkConfig {
        let config = match self {
            Self::Rate(rate_bps) => LinkConfig::with_rate(*rate_bps, delay_ns, queue),
            Self::Trace(times_ms) => {
                let text: String = times_ms.iter().map(|time_ms| format!("{time_ms}\n")).collect();
                LinkConfig::with_trace(Arc::new(Trace::parse(&text).unwrap()), delay_ns, queue)
            }
        };
        LinkConfig { loss, ..config }
    }
}

fn capacity() -> impl Strategy<Value = Capacity> {
    let times = prop::collection::vec(prop_oneof![0_u64..10, 0_u64..200], 1..30).prop_map(|mut times_ms| {
        times_ms.sort_unstable();
        *times_ms.last_mut().unwrap() += 1;
        Capacity::Trace(times_ms)
    });
    prop_oneof![2 => rate().prop_map(Capacity::Rate), 1 => times]
}

fn change() -> impl Strategy<Value = Change> {
    (
        prop::option::of(any::<bool>()),
        prop::option::of(rate()),
        prop::option::of(0_u64..100_000_000),
        prop::option::of(loss()),
    )
        .prop_map(|(dead, rate_bps, delay_ns, loss)| Change { dead, rate_bps, delay_ns, loss })
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => prop_oneof![Just(0), 0_u64..100, 0_u64..20_000_000].prop_map(Operation::Wait),
        8 => (prop_oneof![Just(1_500), Just(52), any::<u16>()], 0_u64..5)
            .prop_map(|(size, flow)| Operation::Arrive(size, flow)),
        6 => Just(Operation::Deliver),
        1 => change().prop_map(Operation::Change),
        1 => Just(Operation::Look),
    ]
}

/// Keeps its own counters and checks the link's.
#[derive(Default)]
struct Books {
    /// Whether the link has a trace, so that its rate cannot change.
    traced: bool,
    /// Whether flows take turns, so that packets keep their order only within a flow.
    fair: bool,
    now_ns: u64,
    arrived: u64,
    dropped: [u64; 3],
    /// Tags of accepted packets not yet delivered, in order.
    inside: std::collections::VecDeque<u64>,
    delivered: u64,
    lost: u64,
    /// Packets dropped at the head and returned by the link.
    dropped_at_head: u64,
    bytes_out: u64,
    last_arrival_ns: u64,
    last_departure_ns: u64,
}

impl Books {
    fn apply(&mut self, link: &mut Link<u64>, operation: &Operation) {
        match *operation {
            Operation::Wait(wait_ns) => self.now_ns += wait_ns,
            Operation::Arrive(size, flow) => {
                let was_empty = self.inside.is_empty();
                match link.enqueue_of(self.now_ns, packet(self.arrived, size), || flow) {
                    Enqueue::Accepted { first } => {
                        assert_eq!(first, was_empty);
                        self.inside.push_back(self.arrived);
                    }
                    Enqueue::Waiting | Enqueue::Disordered { .. } => {
                        panic!("no link of these is shared")
                    }
                    Enqueue::Dropped(DropReason::Full) => self.dropped[0] += 1,
                    Enqueue::Dropped(DropReason::Early) => self.dropped[1] += 1,
                    Enqueue::Dropped(DropReason::Dead) => self.dropped[2] += 1,
                }
                self.arrived += 1;
            }
            Operation::Deliver => self.deliver(link),
            Operation::Change(mut change) => {
                if self.traced {
                    change.rate_bps = None;
                }
                let (inside, dropped) = (&mut self.inside, &mut self.dropped[2]);
                let (waiting, _) = link.queue(self.now_ns);
                let mut flushed = Vec::new();
                link.change(self.now_ns, change, &mut |packet| flushed.push(packet.tag));
                *dropped += flushed.len() as u64;
                assert_eq!(flushed.len(), if change.dead == Some(true) { waiting as usize } else { 0 });
                if self.fair {
                    for tag in flushed {
                        let place = inside.iter().position(|&inside| inside == tag).expect("flushed twice");
                        inside.remove(place);
                    }
                } else {
                    assert_eq!(inside.split_off(inside.len() - flushed.len()), flushed);
                }
            }
            Operation::Look => {
                let _ = link.queue(self.now_ns);
            }
        }
        assert_eq!(link.under_way(), self.inside.len() as u64);
        assert_eq!(link.next_arrival_ns().is_some(), !self.inside.is_empty());
        assert_eq!(link.next_arrival_or_max_ns(), link.next_arrival_ns().unwrap_or(u64::MAX));
    }

    fn deliver(&mut self, link: &mut Link<u64>) {
        let Some(at_ns) = link.next_arrival_ns() else { return };
        self.now_ns = self.now_ns.max(at_ns);
        let packet = link.deliver(self.now_ns);
        let place = self.inside.iter().position(|&tag| tag == packet.tag).expect("delivered twice");
        assert!(self.fair || place == 0, "order");
        self.inside.remove(place);
        assert!(self.last_arrival_ns <= at_ns && packet.departure_ns <= at_ns, "overtaken");
        assert!(self.last_departure_ns <= packet.departure_ns);
        (self.last_arrival_ns, self.last_departure_ns) = (at_ns, packet.departure_ns);
        if packet.dropped() {
            assert!(packet.lost());
            self.dropped_at_head += 1;
            return;
        }
        self.bytes_out += u64::from(packet.size);
        *(if packet.lost() { &mut self.lost } else { &mut self.delivered }) += 1;
    }

    fn compare(&self, link: &mut Link<u64>) {
        let counters = link.counters(self.now_ns);
        let (waiting, waiting_bytes) = link.queue(self.now_ns);
        assert_eq!(counters.arrived_packets, self.arrived);
        // Packets dropped at the head that the link has yet to return.
        let dropped = counters.dropped_early + counters.dropped_full;
        let at_head = dropped - self.dropped[0] - self.dropped[1] - self.dropped_at_head;
        assert_eq!(counters.dropped_dead, self.dropped[2]);
        assert!(self.fair || counters.dropped_full == self.dropped[0]);
        let on_wire = self.inside.len() as u64 - u64::from(waiting) - at_head;
        assert_eq!(counters.sent_packets, self.delivered + self.lost + on_wire);
        assert!(counters.lost_on_wire >= self.lost && counters.lost_on_wire <= self.lost + on_wire);
        let dropped = self.dropped.iter().sum::<u64>() + at_head + self.dropped_at_head;
        assert_eq!(self.arrived, self.delivered + self.lost + dropped + on_wire + u64::from(waiting));
        if waiting == 0 {
            assert_eq!(waiting_bytes, 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_packet_is_somewhere_once_and_none_overtakes(
        (capacity, delay_ns, queue, loss, seed) in (capacity(), 0_u64..100_000_000, queue(), loss(), any::<u64>()),
        operations in prop::collection::vec(operation(), 1..400),
    ) {
        let mut link = Link::new(capacity.config(delay_ns, queue.clone(), loss), rng(seed));
        let (traced, fair) = (matches!(capacity, Capacity::Trace(_)), matches!(queue, QueueConfig::FqCoDel(_) | QueueConfig::Cake(_) | QueueConfig::DualPi2(_)));
        let mut books = Books { traced, fair, ..Books::default() };
        for operation in &operations {
            books.apply(&mut link, operation);
            books.compare(&mut link.clone());
        }
        while !books.inside.is_empty() {
            books.deliver(&mut link);
        }
        books.compare(&mut link);
        let counters = link.counters(books.now_ns);
        prop_assert_eq!(counters.lost_on_wire, books.lost);
        prop_assert_eq!(counters.sent_bytes, books.bytes_out);
    }

    /// Reading a link's state at any time changes nothing: departures may be processed early or late.
    #[test]
    fn looking_changes_nothing(
        (capacity, queue, loss) in (capacity(), queue(), loss()),
        operations in prop::collection::vec((operation(), any::<bool>()), 1..200),
    ) {
        let config = capacity.config(1_000_000, queue.clone(), loss);
        let (mut watched, mut alone) = (Link::new(config.clone(), rng(7)), Link::new(config, rng(7)));
        let traced = matches!(capacity, Capacity::Trace(_));
        let fair = matches!(queue, QueueConfig::FqCoDel(_) | QueueConfig::Cake(_) | QueueConfig::DualPi2(_));
        let books = || Books { traced, fair, ..Books::default() };
        let (mut books_watched, mut books_alone) = (books(), books());
        for (operation, look) in &operations {
            if *look {
                let _ = watched.counters(books_watched.now_ns);
            }
            books_watched.apply(&mut watched, operation);
            if !matches!(operation, Operation::Look) {
                books_alone.apply(&mut alone, operation);
            }
        }
        let now_ns = books_alone.now_ns;
        prop_assert_eq!(watched.counters(now_ns), alone.counters(now_ns));
        prop_assert_eq!(deliver_all(&mut watched), deliver_all(&mut alone));
    }
}
