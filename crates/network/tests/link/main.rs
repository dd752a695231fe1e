//! Links as seen by their callers.
#![allow(missing_docs)]

mod changes;
mod codel;
mod conservation;
mod dual;
mod fair;
mod faults;
mod limits;
mod outside;
mod pie;
mod random;
mod reference;
mod stages;
mod table;
mod timing;
mod trace;

use network::queue;
use network::{Ecn, Enqueue, Limit, Link, LinkConfig, LossConfig, Packet, QueueConfig, Xoshiro256PlusPlus, loss};
use rand_core::SeedableRng;

const UNLIMITED: QueueConfig = QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(u64::MAX) });

fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn link_of(rate_bps: u64, delay_ns: u64, queue: QueueConfig) -> Link<u64> {
    Link::new(LinkConfig::with_rate(rate_bps, delay_ns, queue), rng(1))
}

fn packet(tag: u64, size: u16) -> Packet<u64> {
    Packet::new(tag, size, 0, Ecn::NotEct)
}

/// Enqueues a packet that must be accepted. Returns whether it was the first.
fn send(link: &mut Link<u64>, now_ns: u64, tag: u64, size: u16) -> bool {
    match link.enqueue(now_ns, packet(tag, size)) {
        Enqueue::Accepted { first } => first,
        Enqueue::Waiting | Enqueue::Disordered { .. } => panic!("the link is not shared"),
        Enqueue::Dropped(reason) => panic!("packet {tag} dropped: {reason:?}"),
    }
}

/// Delivers all packets in flight: (tag, departure, arrival).
fn deliver_all(link: &mut Link<u64>) -> Vec<(u64, u64, u64)> {
    let mut delivered = Vec::new();
    while let Some(at_ns) = link.next_arrival_ns() {
        let packet = link.deliver(at_ns);
        delivered.push((packet.tag, packet.departure_ns, at_ns));
    }
    delivered
}
