//! Compares the link with a model that advances nanosecond by nanosecond and bit by bit: without divisions, packet
//! numbers or lazy evaluation, so that everything is computed differently.

use std::collections::VecDeque;

use network::{Change, DropReason};
use proptest::prelude::*;
use rand_core::RngCore;

use super::*;

/// Units of 10⁻⁹ bit, of which `rate_bps` are sent per nanosecond.
const WORK_PER_BYTE: u64 = 8_000_000_000;

struct Waiting {
    tag: u64,
    size: u16,
    work: u64,
    lost: bool,
    ecn: Ecn,
    arrived_ns: u64,
}

/// A line of the log, which must be equal for both links.
#[derive(Clone, Debug, PartialEq)]
enum Line {
    Dropped(u64, DropReason),
    /// Tag, departure, arrival, lost on the wire, dropped at the head, ECN.
    Delivered(u64, u64, u64, bool, bool, Ecn),
}

struct Reference {
    now_ns: u64,
    config: LinkConfig,
    rng: Xoshiro256PlusPlus,
    dead: bool,
    bad: bool,
    since_loss: u64,
    queue: VecDeque<Waiting>,
    /// Remaining work, less than a nanosecond's, of a packet that departed at this nanosecond.
    spill: u64,
    last_arrival_ns: u64,
    /// Packets that departed or were dropped at the head.
    wire: VecDeque<Line>,
    queue_packet_ns: u128,
    sent: (u64, u64),
    dropped_early: u64,
    marked: u64,
    red: ReferenceRed,
    codel: ReferenceCoDel,
}

#[derive(Default)]
struct ReferenceCoDel {
    first_above_ns: Option<u64>,
    dropping: bool,
    drop_next_ns: u64,
    count: u64,
    last_count: u64,
}

#[derive(Default)]
struct ReferenceRed {
    average: f64,
    since_drop: u32,
    idle_ns: u64,
    /// Whether the last drop was certain.
    beyond: bool,
}

impl Reference {
    fn new(config: LinkConfig, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            now_ns: 0,
            config,
            rng,
            dead: false,
            bad: false,
            since_loss: 0,
            queue: VecDeque::new(),
            spill: 0,
            last_arrival_ns: 0,
            wire: VecDeque::new(),
            queue_packet_ns: 0,
            sent: (0, 0),
            dropped_early: 0,
            marked: 0,
            red: ReferenceRed::default(),
            codel: ReferenceCoDel::default(),
        }
    }

    fn leave(&mut self, waiting: &Waiting, dropped: bool) {
        self.last_arrival_ns = self.last_arrival_ns.max(self.now_ns + self.config.delay_ns);
        let lost = waiting.lost || dropped;
        self.wire.push_back(Line::Delivered(
            waiting.tag,
            self.now_ns,
            self.last_arrival_ns,
            lost,
            dropped,
            waiting.ecn,
        ));
    }

    /// RFC 8289 §5.6, dodequeue: whether the first packet may be dropped.
    fn codel_may_drop(&mut self, target_ns: u64, interval_ns: u64, mtu_bytes: u32) -> bool {
        let behind: u64 = self.queue.iter().skip(1).map(|waiting| u64::from(waiting.size)).sum();
        match self.queue.front() {
            Some(first) if self.now_ns - first.arrived_ns >= target_ns && behind > u64::from(mtu_bytes) => {
                match self.codel.first_above_ns {
                    None => {
                        self.codel.first_above_ns = Some(self.now_ns + interval_ns);
                        false
                    }
                    Some(at_ns) => self.now_ns >= at_ns,
                }
            }
            _ => {
                self.codel.first_above_ns = None;
                false
            }
        }
    }

    /// Returns whether the first packet is marked; otherwise it is dropped.
    fn codel_signal(&mut self, ecn: bool) -> bool {
        let first = self.queue.front_mut().unwrap();
        if ecn && first.ecn != Ecn::NotEct {
            first.ecn = Ecn::Ce;
            self.marked += 1;
            return true;
        }
        let first = self.queue.pop_front().unwrap();
        self.leave(&first, true);
        self.dropped_early += 1;
        false
    }

    /// RFC 8289 §5.6, deque, with marks as in Linux: the packet that is first afterwards is sent.
    fn codel_deque(&mut self) {
        let QueueConfig::CoDel(queue::codel::Config { target_ns, interval_ns, mtu_bytes, ecn, .. }) = self.config.queue
        else {
            return;
        };
        let law = |count: u64| (1..=interval_ns).rev().find(|gap| gap * gap * count <= interval_ns * interval_ns);
        let mut ok = self.codel_may_drop(target_ns, interval_ns, mtu_bytes);
        if self.codel.dropping {
            self.codel.dropping = ok;
            while self.codel.dropping && self.now_ns >= self.codel.drop_next_ns {
                self.codel.count += 1;
                if self.codel_signal(ecn) {
                    self.codel.drop_next_ns += law(self.codel.count).unwrap_or(0);
                    return;
                }
                ok = self.codel_may_drop(target_ns, interval_ns, mtu_bytes);
                if ok {
                    self.codel.drop_next_ns += law(self.codel.count).unwrap_or(0);
                } else {
                    self.codel.dropping = false;
                }
            }
        } else if ok {
            if !self.codel_signal(ecn) {
                self.codel_may_drop(target_ns, interval_ns, mtu_bytes);
            }
            self.codel.dropping = true;
            let delta = self.codel.count - self.codel.last_count;
            let recent = self.now_ns < self.codel.drop_next_ns + 16 * interval_ns;
            self.codel.count = if delta > 1 && recent { delta } else { 1 };
            self.codel.last_count = self.codel.count;
            self.codel.drop_next_ns = self.now_ns + law(self.codel.count).unwrap_or(0);
        }
    }

    /// A packet departs at the last nanosecond at or before its end: when less than one nanosecond's work is left.
    fn depart(&mut self) {
        while self.queue.front().is_some_and(|first| first.work < self.config.rate_bps) {
            let first = self.queue.pop_front().unwrap();
            self.leave(&first, false);
            self.codel_deque();
            match self.queue.front_mut() {
                Some(next) => next.work += first.work,
                None => self.spill = first.work,
            }
            self.sent = (self.sent.0 + 1, self.sent.1 + u64::from(first.size));
        }
    }

    fn tick(&mut self) {
        self.queue_packet_ns += self.queue.len() as u128;
        match self.queue.front_mut() {
            Some(first) => first.work -= self.config.rate_bps,
            None => self.red.idle_ns += 1,
        }
        self.spill = 0;
        self.now_ns += 1;
        self.depart();
    }

    fn bytes(&self) -> u64 {
        self.queue.iter().map(|waiting| u64::from(waiting.size)).sum()
    }

    fn draw(&mut self, p: f64) -> bool {
        if p == 0.0 || p == 1.0 { p == 1.0 } else { ((self.rng.next_u64() >> 11) as f64 * 0.5_f64.powi(53)) < p }
    }

    fn red_drops(&mut self, size: u16) -> bool {
        let QueueConfig::Red(queue::red::Config {
            min_packets: min,
            max_packets: max,
            max_probability,
            weight,
            gentle,
            ..
        }) = self.config.queue
        else {
            return false;
        };
        if self.queue.is_empty() {
            // Subtract packets of this size from the idle time while it is long enough.
            let time = u128::from(size.max(1)) * u128::from(WORK_PER_BYTE);
            let mut packets = 0_u128;
            while u128::from(self.red.idle_ns) * u128::from(self.config.rate_bps) >= (packets + 1) * time {
                packets += 1;
                self.red.average *= 1.0 - weight;
            }
            self.red.idle_ns -= (packets * time / u128::from(self.config.rate_bps)) as u64;
        } else {
            self.red.average = (1.0 - weight) * self.red.average + weight * self.queue.len() as f64;
        }
        let average = self.red.average;
        let p_b = match average {
            _ if average < min => {
                self.red.since_drop = 0;
                return false;
            }
            _ if average < max => max_probability * (average - min) / (max - min),
            _ if gentle && average < 2.0 * max => max_probability + (1.0 - max_probability) * (average - max) / max,
            _ => 1.0,
        };
        self.red.beyond = p_b >= 1.0;
        let rest = 1.0 - f64::from(self.red.since_drop) * p_b;
        let p_a = if rest <= 0.0 { 1.0 } else { (p_b / rest).min(1.0) };
        let drops = self.draw(p_a);
        self.red.since_drop = if drops { 0 } else { self.red.since_drop + 1 };
        drops
    }

    fn enqueue(&mut self, tag: u64, size: u16, mut ecn: Ecn) -> Result<(), DropReason> {
        if self.dead {
            return Err(DropReason::Dead);
        }
        let mut marks = false;
        if self.red_drops(size) {
            marks = matches!(self.config.queue, QueueConfig::Red(queue::red::Config { ecn: true, .. }))
                && ecn != Ecn::NotEct
                && !self.red.beyond;
            if !marks {
                self.dropped_early += 1;
                return Err(DropReason::Early);
            }
        }
        let (QueueConfig::DropTail(queue::drop_tail::Config { limit })
        | QueueConfig::Red(queue::red::Config { limit, .. })
        | QueueConfig::CoDel(queue::codel::Config { limit, .. })) = self.config.queue
        else {
            unreachable!("not modelled here")
        };
        let full = match limit {
            Limit::Packets(packets) => self.queue.len() as u64 + 1 > packets,
            Limit::Bytes(bytes) => self.bytes() + u64::from(size) > bytes,
        };
        if full && !self.queue.is_empty() {
            self.red.since_drop = 0;
            return Err(DropReason::Full);
        }
        if marks {
            ecn = Ecn::Ce;
            self.marked += 1;
        }
        let lost = match self.config.loss {
            LossConfig::None => false,
            LossConfig::Bernoulli(loss::Bernoulli { probability }) => self.draw(probability),
            LossConfig::GilbertElliott(loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }) => {
                let moves = self.draw(if self.bad { bad_to_good } else { good_to_bad });
                self.bad ^= moves;
                self.draw(if self.bad { loss_bad } else { loss_good })
            }
            LossConfig::Periodic(loss::Periodic { every_packets }) => {
                self.since_loss = (self.since_loss + 1) % every_packets;
                self.since_loss == 0
            }
        };
        // There is a spill only while the queue is empty.
        let work = u64::from(size) * WORK_PER_BYTE + std::mem::take(&mut self.spill);
        self.red.idle_ns = 0;
        self.queue.push_back(Waiting { tag, size, work, lost, ecn, arrived_ns: self.now_ns });
        if self.queue.len() == 1 {
            self.codel_deque();
        }
        self.depart();
        Ok(())
    }

    fn change(&mut self, change: Change, log: &mut Vec<Line>) {
        if change.dead == Some(true) {
            self.spill = 0;
            log.extend(self.queue.drain(..).map(|waiting| Line::Dropped(waiting.tag, DropReason::Dead)));
        }
        self.dead = change.dead.unwrap_or(self.dead);
        self.config.delay_ns = change.delay_ns.unwrap_or(self.config.delay_ns);
        if let Some(loss) = change.loss {
            (self.config.loss, self.bad, self.since_loss) = (loss, false, 0);
        }
        if let Some(rate_bps) = change.rate_bps.filter(|&rate_bps| rate_bps != self.config.rate_bps) {
            self.config.rate_bps = rate_bps;
            self.spill = 0;
        }
        self.depart();
    }

    fn deliver(&mut self, log: &mut Vec<Line>) {
        while let Some(line @ &Line::Delivered(_, _, arrival_ns, ..)) = self.wire.front()
            && arrival_ns <= self.now_ns
        {
            log.push(line.clone());
            self.wire.pop_front();
        }
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Wait(u64),
    Arrive(u16, Ecn),
    Change(Change),
}

/// Rates at which a byte takes between less than a nanosecond and a few tens of nanoseconds.
fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![200_000_000_u64..2_000_000_000, 1_000_000_000_u64..40_000_000_000, Just(3_000_000_000)]
}

fn loss() -> impl Strategy<Value = LossConfig> {
    let p = || prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    prop_oneof![
        Just(LossConfig::None),
        p().prop_map(|probability| LossConfig::Bernoulli(loss::Bernoulli { probability })),
        (1u64..10).prop_map(|every_packets| LossConfig::Periodic(loss::Periodic { every_packets })),
        (p(), p(), p(), p()).prop_map(|(good_to_bad, bad_to_good, loss_good, loss_bad)| {
            LossConfig::GilbertElliott(loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad })
        }),
    ]
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let limit = prop_oneof![(0_u64..12).prop_map(Limit::Packets), (0_u64..600).prop_map(Limit::Bytes)];
    let red = (limit.clone(), 0.0..3.0, 0.5..4.0, 0.001..=1.0, 0.01..0.5, any::<(bool, bool)>()).prop_map(
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
    // On the scale of the times above: the target is a few packets' wait, the interval a few tens of packets'.
    let codel = (limit.clone(), 1_u64..300, 1_u64..1_500, 0_u32..150, any::<bool>()).prop_map(
        |(limit, target_ns, interval_ns, mtu_bytes, ecn)| {
            QueueConfig::CoDel(queue::codel::Config { limit, target_ns, interval_ns, mtu_bytes, ecn })
        },
    );
    prop_oneof![1 => limit.prop_map(|limit| QueueConfig::DropTail(queue::drop_tail::Config { limit })), 1 => red, 2 => codel]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        2 => rate().prop_map(|rate_bps| Change { rate_bps: Some(rate_bps), ..Change::default() }),
        2 => (0_u64..2_000).prop_map(|delay_ns| Change { delay_ns: Some(delay_ns), ..Change::default() }),
        1 => loss().prop_map(|loss| Change { loss: Some(loss), ..Change::default() }),
        1 => Just(Change { dead: Some(true), ..Change::default() }),
        2 => Just(Change { dead: Some(false), ..Change::default() }),
        1 => (any::<bool>(), rate(), 0_u64..2_000).prop_map(|(dead, rate_bps, delay_ns)| Change {
            dead: Some(dead),
            rate_bps: Some(rate_bps),
            delay_ns: Some(delay_ns),
            loss: None,
        }),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => prop_oneof![Just(1), 0_u64..20, 0_u64..1_000].prop_map(Operation::Wait),
        6 => (
            prop_oneof![Just(1_u16), Just(60), 0_u16..100],
            prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)],
        )
            .prop_map(|(size, ecn)| Operation::Arrive(size, ecn)),
        1 => change().prop_map(Operation::Change),
    ]
}

/// Delivers the packets due by `now_ns`, like an event queue.
fn deliver_due(link: &mut Link<u64>, now_ns: u64, log: &mut Vec<Line>) {
    while let Some(at_ns) = link.next_arrival_ns().filter(|&at_ns| at_ns <= now_ns) {
        let packet = link.deliver(at_ns);
        let (lost, dropped) = (packet.lost(), packet.dropped());
        log.push(Line::Delivered(packet.tag, packet.departure_ns, at_ns, lost, dropped, packet.ecn()));
    }
}

fn run(config: LinkConfig, operations: &[Operation], seed: u64) -> Result<(), TestCaseError> {
    let mut link = Link::new(config.clone(), rng(seed));
    let mut reference = Reference::new(config, rng(seed));
    let (mut log, mut expected) = (Vec::new(), Vec::new());
    for (tag, operation) in (0..).zip(operations) {
        match *operation {
            Operation::Wait(wait_ns) => {
                for _ in 0..wait_ns {
                    reference.tick();
                    reference.deliver(&mut expected);
                }
            }
            Operation::Arrive(size, ecn) => {
                if let Err(reason) = reference.enqueue(tag, size, ecn) {
                    expected.push(Line::Dropped(tag, reason));
                }
                let packet = Packet::new(tag, size, 0, ecn);
                if let Enqueue::Dropped(reason) = link.enqueue(reference.now_ns, packet) {
                    log.push(Line::Dropped(tag, reason));
                }
            }
            Operation::Change(change) => {
                reference.change(change, &mut expected);
                link.change(reference.now_ns, change, &mut |packet| {
                    log.push(Line::Dropped(packet.tag, DropReason::Dead));
                });
            }
        }
        let now_ns = reference.now_ns;
        reference.deliver(&mut expected);
        deliver_due(&mut link, now_ns, &mut log);
        prop_assert_eq!(&log, &expected);
        // Read a copy, so that the link itself stays in its lazy state.
        let mut looked = link.clone();
        let counters = looked.counters(now_ns);
        prop_assert_eq!(counters.queue_packet_ns, reference.queue_packet_ns);
        prop_assert_eq!((counters.sent_packets, counters.sent_bytes), reference.sent);
        prop_assert_eq!((counters.dropped_early, counters.marked), (reference.dropped_early, reference.marked));
        prop_assert_eq!(looked.queue(now_ns), (reference.queue.len() as u32, reference.bytes()));
        prop_assert_eq!(link.under_way(), (reference.queue.len() + reference.wire.len()) as u64);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_link_does_what_a_model_does_bit_by_bit(
        (rate_bps, delay_ns, queue, loss) in (rate(), 0_u64..2_000, queue(), loss()),
        seed in any::<u64>(),
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        run(LinkConfig { loss, ..LinkConfig::with_rate(rate_bps, delay_ns, queue) }, &operations, seed)?;
    }
}
