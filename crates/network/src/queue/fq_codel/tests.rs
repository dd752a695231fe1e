use super::*;
use crate::packet::Ecn;
use crate::transmitter::Transmitter;

const MS: u64 = 1_000_000;

/// The discipline with the data that a link keeps: the waiting packets by tag, in the order of the ring.
struct Played {
    queues: FqCoDel,
    ring: Vec<u64>,
    sizes: Vec<u64>,
    in_service: bool,
}

impl Played {
    fn new(limit: Limit, queues: u16) -> Self {
        let queues = FqCoDel::new(Config { queues, ..Config::new(limit) }, 7);
        Self { queues, ring: Vec::new(), sizes: Vec::new(), in_service: false }
    }

    /// `flow` sends the packet `tag`.
    fn arrive(&mut self, now_ns: u64, flow: u64, tag: u64, size: u16) -> Result<(), DropReason> {
        let transmitter = Transmitter::new(1);
        let packets = self.ring.len() as u64 + u64::from(self.in_service);
        let bytes = self.sizes.iter().sum::<u64>();
        let arrival = Arrival {
            now_ns,
            size,
            ecn: Ecn::NotEct,
            packets,
            bytes,
            flow: flow.into(),
            sending_bytes: 0,
            waits: packets > 0,
            transmitter: &transmitter,
        };
        self.queues.admit(arrival)?;
        if packets == 0 {
            self.in_service = true;
        } else {
            self.ring.push(tag);
            self.sizes.push(u64::from(size));
        }
        Ok(())
    }

    /// The packet in service departs. Returns the packets dropped then, and the packet sent next.
    fn serve(&mut self, now_ns: u64) -> (Vec<u64>, Option<u64>) {
        self.in_service = false;
        let mut dropped = Vec::new();
        while let Some((behind, verdict)) = self.queues.next(now_ns) {
            self.ring.swap(0, behind);
            self.sizes.swap(0, behind);
            let tag = self.ring.remove(0);
            self.sizes.remove(0);
            if verdict != Verdict::Drop {
                self.in_service = true;
                return (dropped, Some(tag));
            }
            dropped.push(tag);
        }
        assert!(self.ring.is_empty());
        (dropped, None)
    }

    fn sent(&mut self, count: usize) -> Vec<u64> {
        (0..count).map_while(|_| self.serve(0).1).collect()
    }
}

/// Four packets each of three flows, all of 1,500 bytes; the first is in service. After a flow's first packet, 14 bytes
/// of its credit are left, which admit a second packet. That leaves −1,486 bytes, so that each further round admits
/// one.
#[test]
fn flows_take_turns() {
    let mut played = Played::new(Limit::Packets(100), 1_024);
    for flow in 0..3 {
        for number in 0..4 {
            played.arrive(0, flow, 10 * flow + number, 1_500).unwrap();
        }
    }
    assert_eq!(played.sent(12), [1, 10, 11, 20, 21, 2, 12, 22, 3, 13, 23]);
    assert_eq!(played.serve(0), (vec![], None));
}

/// Flow 1 has a standing queue; flow 2, which sends a packet occasionally, goes first each time.
#[test]
fn a_flow_that_sends_little_goes_first() {
    let mut played = Played::new(Limit::Packets(100), 1_024);
    for number in 0..20 {
        played.arrive(0, 1, number, 1_500).unwrap();
    }
    assert_eq!(played.sent(3), [1, 2, 3]);
    played.arrive(0, 2, 100, 200).unwrap();
    assert_eq!(played.sent(1), [100]);
    assert_eq!(played.sent(1), [4]);
    played.arrive(0, 2, 101, 200).unwrap();
    assert_eq!(played.sent(2), [101, 5]);
}

/// A flow that always sends its next packet just after the previous one is new until its first quantum is used up: 7
/// packets of 200 bytes and one more. With its next quantum it is an old flow, before flow 1, which gets its own only
/// then. 8 packets later it is flow 1's turn.
#[test]
fn a_flow_is_not_new_for_ever() {
    let mut played = Played::new(Limit::Packets(100), 1_024);
    for number in 0..20 {
        played.arrive(0, 1, number, 1_500).unwrap();
    }
    assert_eq!(played.sent(3), [1, 2, 3]);
    let mut sent = Vec::new();
    for number in 0..17 {
        played.arrive(0, 2, 100 + number, 200).unwrap();
        sent.extend(played.sent(1));
    }
    assert_eq!(sent, [(100..116).collect::<Vec<_>>(), vec![4]].concat());
}

/// Shares are equal in bytes, regardless of the packet sizes.
#[test]
fn shares_are_by_bytes() {
    let mut played = Played::new(Limit::Packets(10_000), 1_024);
    for number in 0..500 {
        played.arrive(0, 1, number, 1_500).unwrap();
    }
    for number in 0..5_000 {
        played.arrive(0, 2, 10_000 + number, 150).unwrap();
    }
    let sent = played.sent(2_200);
    let large = sent.iter().filter(|&&tag| tag < 10_000).count() as f64 * 1_500.0;
    let small = sent.iter().filter(|&&tag| tag >= 10_000).count() as f64 * 150.0;
    assert!((large - small).abs() < 2.0 * 1_514.0, "{large} {small}");
}

/// 20 packets of one flow wait when another flow's packet arrives and exceeds the limit: half of them are dropped from
/// the head, and the new packet stays.
#[test]
fn the_longest_queue_pays_for_an_overflow() {
    let mut played = Played::new(Limit::Packets(21), 1_024);
    for number in 0..21 {
        played.arrive(0, 1, number, 1_500).unwrap();
    }
    played.arrive(0, 2, 100, 100).unwrap();
    let (dropped, next) = played.serve(0);
    assert_eq!(dropped, (1..=10).collect::<Vec<_>>());
    // 14 bytes of the first quantum are left.
    assert_eq!(next, Some(11));
    assert_eq!((played.queues.tally().overflowed, played.queues.tally().dropped), (10, 0));
    assert_eq!(played.sent(20), [vec![100], (12..21).collect::<Vec<_>>()].concat());
}

#[test]
fn a_packet_that_would_be_dropped_at_once_does_not_enter() {
    let mut played = Played::new(Limit::Packets(2), 1_024);
    played.arrive(0, 1, 0, 1_500).unwrap();
    played.arrive(0, 1, 1, 100).unwrap();
    assert_eq!(played.arrive(0, 2, 2, 1_500), Err(DropReason::Full));
    assert_eq!(played.queues.tally().overflowed, 0);
    assert_eq!(played.sent(3), [1]);
}

/// With a single hash value, all flows share a queue, which is served in the order of arrival.
#[test]
fn flows_whose_hashes_collide_share_a_queue() {
    let mut played = Played::new(Limit::Packets(100), 1);
    for number in 0..10 {
        played.arrive(0, number % 3, number, 1_500).unwrap();
    }
    assert_eq!(played.sent(10), (1..10).collect::<Vec<_>>());
}

/// 1,000 flows in 1,024 queues: a random hash uses 1,024·(1 − e^(−1000/1024)) = 638 of them.
#[test]
fn the_hash_spreads_flows() {
    let mut played = Played::new(Limit::Packets(10_000), 1_024);
    for flow in 0..1_000 {
        played.arrive(0, flow, flow, 100).unwrap();
    }
    let used = played.queues.queues.len();
    assert!((598..678).contains(&used), "{used}");
}

/// CoDel's interval of a queue restarts when the queue was empty: only a standing queue has drops.
#[test]
fn each_queue_has_a_control_of_its_own() {
    let mut played = Played::new(Limit::Packets(1_000), 1_024);
    let mut tag = 0;
    let mut dropped = Vec::new();
    // One packet is sent per millisecond; flow 1 keeps 30 packets waiting, flow 2 sends one every 40 ms.
    for now_ms in 0..400 {
        while played.ring.iter().filter(|&&tag| tag < 10_000).count() < 30 {
            played.arrive(now_ms * MS, 1, tag, 1_500).unwrap();
            tag += 1;
        }
        if now_ms % 40 == 0 {
            played.arrive(now_ms * MS, 2, 10_000 + now_ms, 1_500).unwrap();
        }
        dropped.extend(played.serve((now_ms + 1) * MS).0);
    }
    assert!(dropped.len() >= 3, "{dropped:?}");
    assert!(dropped.iter().all(|&tag| tag < 10_000), "{dropped:?}");
    assert_eq!(played.queues.tally().dropped, dropped.len() as u64);
}

#[test]
fn a_link_that_dies_takes_all_along() {
    let mut played = Played::new(Limit::Packets(21), 1_024);
    for number in 0..21 {
        played.arrive(0, number % 4, number, 1_500).unwrap();
    }
    played.arrive(0, 9, 100, 100).unwrap();
    played.queues.clear();
    (played.ring, played.sizes, played.in_service) = (Vec::new(), Vec::new(), false);
    assert_eq!(played.queues.next(MS), None);
    for number in 0..4 {
        played.arrive(MS, number, number, 1_500).unwrap();
    }
    let next = (0..4).map_while(|_| played.serve(MS).1).collect::<Vec<_>>();
    assert_eq!(next, [1, 2, 3]);
}
