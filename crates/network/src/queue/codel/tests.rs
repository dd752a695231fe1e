use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;
const STANDARD: Config =
    Config { limit: Limit::Packets(1_000), target_ns: 5 * MS, interval_ns: 100 * MS, mtu_bytes: 1_500, ecn: false };
const LONG: Head = Head { wait_ns: 20 * MS, bytes_behind: 30_000, ecn: Ecn::NotEct };
const SHORT: Head = Head { wait_ns: 4 * MS, ..LONG };

fn codel(control: Config) -> CoDel {
    CoDel::new(control)
}

/// Offers heads until one is sent. Returns the verdicts.
fn offer(codel: &mut CoDel, now_ns: u64, heads: &[Head]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for &head in heads {
        verdicts.push(codel.decide(now_ns, head));
        if verdicts.last() != Some(&Verdict::Drop) {
            break;
        }
    }
    verdicts
}

/// One packet per millisecond, all above the target. The first drop comes one interval after the first packet above,
/// the next ones 100 ms/√n later: 100, 70.7, 57.7, 50, 44.7 ms, each with the packet of the next whole millisecond.
#[test]
fn drops_follow_the_control_law() {
    let mut codel = codel(STANDARD);
    let mut dropped_ms = Vec::new();
    for now_ms in 10..500 {
        if offer(&mut codel, now_ms * MS, &[LONG, LONG])[0] == Verdict::Drop {
            dropped_ms.push(now_ms);
        }
    }
    // Due at 110; 210; 280.710678; 338.445704; 388.445704; 433.167063; 473.991892.
    assert_eq!(dropped_ms, [110, 210, 281, 339, 389, 434, 474]);
    assert_eq!(codel.tally().dropped, 7);
    // The next drop counts from when the last one was due, not from when it happened: 473.991892 + 100/√7.
    assert_eq!(codel.drop_next_ns, 473_991_892 + 37_796_447);
}

#[test]
fn the_control_law_is_rounded_down_exactly() {
    let mut codel = codel(STANDARD);
    for (count, gap_ns) in [(1, 100_000_000), (2, 70_710_678), (3, 57_735_026), (4, 50_000_000), (1_000_000, 100_000)] {
        codel.count = count;
        assert_eq!(codel.after(7), 7 + gap_ns, "{count}");
    }
    for count in 1..10_000_u64 {
        codel.count = count;
        let gap = u128::from(codel.after(0));
        let (below, above) = (gap * gap * u128::from(count), (gap + 1) * (gap + 1) * u128::from(count));
        assert!(below <= 10_u128.pow(16) && 10_u128.pow(16) < above, "{count}");
    }
}

#[test]
fn nothing_is_dropped_before_a_whole_interval_above() {
    let mut codel = codel(STANDARD);
    for round in 0..10 {
        let start_ns = round * 200 * MS;
        for after_ms in 0..100 {
            assert_eq!(codel.decide(start_ns + after_ms * MS, LONG), Verdict::Send);
        }
        // One packet that is not above restarts the interval: because of its wait or of the bytes behind it.
        let below = if round % 2 == 0 { SHORT } else { Head { bytes_behind: 1_500, ..LONG } };
        assert_eq!(codel.decide(start_ns + 100 * MS, below), Verdict::Send);
    }
    assert_eq!(codel.decide(3_000 * MS, Head { wait_ns: 5 * MS, bytes_behind: 1_501, ..LONG }), Verdict::Send);
    assert_eq!(codel.decide(3_100 * MS, LONG), Verdict::Drop, "the target itself is above");
}

#[test]
fn overdue_drops_come_at_once_and_the_first_of_an_episode_alone() {
    let mut codel = codel(STANDARD);
    assert_eq!(codel.decide(0, LONG), Verdict::Send);
    assert_eq!(offer(&mut codel, 300 * MS, &[LONG; 9]), [Verdict::Drop, Verdict::Send]);
    // Drops are due at 400 and 470.71; the one at 528.44 is in the future.
    assert_eq!(offer(&mut codel, 500 * MS, &[LONG; 9]), [Verdict::Drop, Verdict::Drop, Verdict::Send]);
    // A packet that is not above ends the episode although two drops are overdue.
    assert_eq!(offer(&mut codel, 580 * MS, &[LONG, SHORT, LONG]), [Verdict::Drop, Verdict::Send]);
    assert!(!codel.dropping);
}

#[test]
fn an_episode_soon_after_another_takes_up_its_rate() {
    let episode = |pause_ns: u64, drops: u64| {
        let mut codel = codel(STANDARD);
        assert_eq!(codel.decide(0, LONG), Verdict::Send);
        assert_eq!(codel.decide(100 * MS, LONG), Verdict::Drop);
        assert_eq!(codel.decide(100 * MS, LONG), Verdict::Send);
        for _ in 1..drops {
            let at_ns = codel.drop_next_ns;
            assert_eq!(offer(&mut codel, at_ns, &[LONG; 2]), [Verdict::Drop, Verdict::Send]);
        }
        let due_ns = codel.drop_next_ns;
        assert_eq!(codel.decide(due_ns, SHORT), Verdict::Send);
        let again_ns = due_ns + pause_ns;
        assert_eq!(codel.decide(again_ns - 100 * MS, LONG), Verdict::Send);
        assert_eq!(codel.decide(again_ns, LONG), Verdict::Drop);
        (codel.count, codel.drop_next_ns - again_ns)
    };
    // The count went from 1 to 5: four more drops.
    assert_eq!(episode(200 * MS, 5), (4, 50 * MS));
    assert_eq!(episode(1_600 * MS - 1, 5), (4, 50 * MS));
    assert_eq!(episode(1_600 * MS, 5), (1, 100 * MS));
    // One more drop than the first is not a rate to resume.
    assert_eq!(episode(200 * MS, 2), (1, 100 * MS));
}

#[test]
fn marks_take_the_place_of_drops_and_keep_the_packet() {
    let mut codel = codel(Config { ecn: true, ..STANDARD });
    let capable = Head { ecn: Ecn::Ect0, ..LONG };
    let mut marked_ms = Vec::new();
    for now_ms in 10..300 {
        match codel.decide(now_ms * MS, capable) {
            Verdict::Mark => marked_ms.push(now_ms),
            verdict => assert_eq!(verdict, Verdict::Send),
        }
    }
    assert_eq!(marked_ms, [110, 210, 281]);
    // A packet that is not ECN-capable is dropped in its turn; one marked upstream counts as ECN-capable.
    assert_eq!(codel.decide(339 * MS, LONG), Verdict::Drop);
    assert_eq!(codel.decide(339 * MS, LONG), Verdict::Send);
    assert_eq!(codel.decide(389 * MS, Head { ecn: Ecn::Ce, ..LONG }), Verdict::Mark);
    assert_eq!((codel.tally().dropped, codel.tally().marked), (1, 4));
}

/// The pseudo-code of RFC 8289 §5, statement by statement, with its own queue. As in the RFC, times are signed and 0
/// means "not above"; the square root is the machine's.
#[derive(Default)]
struct Rfc {
    /// Arrival time and size.
    queue: VecDeque<(i64, u64)>,
    first_above_time: i64,
    drop_next: i64,
    count: i64,
    lastcount: i64,
    dropping: bool,
    dropped: u64,
}

const TARGET: i64 = 5_000_000;
const INTERVAL: i64 = 100_000_000;
const MAXPACKET: u64 = 1_500;

impl Rfc {
    fn dodequeue(&mut self, now: i64) -> (Option<(i64, u64)>, bool) {
        let Some(packet) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        let bytes: u64 = self.queue.iter().map(|&(_, size)| size).sum();
        if now - packet.0 < TARGET || bytes <= MAXPACKET {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    fn deque(&mut self, now: i64) -> Option<(i64, u64)> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped += 1;
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            self.dropped += 1;
            packet = self.dodequeue(now).0;
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = control_law(now, self.count);
            self.lastcount = self.count;
        }
        packet
    }
}

fn control_law(t: i64, count: i64) -> i64 {
    t + (INTERVAL as f64 / (count as f64).sqrt()) as i64
}

/// The same queue with `decide`, as used by a link.
struct Queue {
    codel: CoDel,
    waiting: VecDeque<(u64, u64)>,
}

impl Queue {
    fn deque(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        while let Some((arrived_ns, size)) = self.waiting.pop_front() {
            let bytes_behind = self.waiting.iter().map(|&(_, size)| size).sum();
            let head = Head { wait_ns: now_ns - arrived_ns, bytes_behind, ecn: Ecn::Ect0 };
            match self.codel.decide(now_ns, head) {
                Verdict::Drop => {}
                Verdict::Send => return Some((arrived_ns, size)),
                Verdict::Mark => unreachable!("ECN is off"),
            }
        }
        None
    }
}

proptest! {
    /// Phases of load, each with its own intervals between arrivals and between departures: overload, drain, idle.
    #[test]
    fn decides_as_the_pseudo_code_of_the_rfc(
        phases in prop::collection::vec((1_u64..3_000, 1_u64..4_000, 1_u64..800, 40_u64..1_500), 1..12),
    ) {
        let mut rfc = Rfc::default();
        let mut queue = Queue { codel: codel(STANDARD), waiting: VecDeque::new() };
        // Nonzero, because 0 means never in the RFC.
        let mut now_ns = 1_u64;
        for (arrival_us, departure_us, packets, size) in phases {
            let (mut arrival_ns, mut departure_ns) = (now_ns, now_ns);
            for _ in 0..packets {
                while departure_ns < arrival_ns {
                    let sent = queue.deque(departure_ns);
                    prop_assert_eq!(sent.map(|(at, size)| (at as i64, size)), rfc.deque(departure_ns as i64));
                    prop_assert_eq!(queue.codel.tally().dropped, rfc.dropped);
                    departure_ns += departure_us * 1_000;
                }
                queue.waiting.push_back((arrival_ns, size));
                rfc.queue.push_back((arrival_ns as i64, size));
                now_ns = now_ns.max(departure_ns).max(arrival_ns);
                arrival_ns += arrival_us * 1_000;
            }
        }
    }
}

/// Thousands of drops, including overdue ones, which the random phases rarely reach.
#[test]
fn decides_as_the_pseudo_code_under_a_long_overload() {
    let mut rfc = Rfc::default();
    let mut queue = Queue { codel: codel(STANDARD), waiting: VecDeque::new() };
    let mut now_ns = 1;
    for packet in 0..60_000_u64 {
        // In one second out of ten, packets arrive at half the rate.
        let arrivals = if packet % 10_000 < 9_000 { 2 } else { packet & 1 };
        for _ in 0..arrivals {
            queue.waiting.push_back((now_ns, 1_500));
            rfc.queue.push_back((now_ns as i64, 1_500));
        }
        now_ns += if packet % 977 == 0 { 300 * MS } else { MS };
        let sent = queue.deque(now_ns).map(|(at, size)| (at as i64, size));
        assert_eq!(sent, rfc.deque(now_ns as i64), "packet {packet}");
        assert_eq!(queue.codel.tally().dropped, rfc.dropped);
    }
    assert!(rfc.dropped > 10_000, "{}", rfc.dropped);
}
