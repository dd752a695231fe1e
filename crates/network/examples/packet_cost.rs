//! Nanoseconds per packet for enqueue and deliver, on one core:
//! `cargo run --release -p network --example packet_cost [PACKETS]`.
//!
//! Drop-tail links with a standing queue and packets on the wire, driven as by an event queue: each delivery is
//! followed by an arrival of 1,500 bytes. "1 link" stays in the cache; "4,096 links" in random order do not.
#![allow(clippy::disallowed_types, reason = "measures real time; nothing else in the crate reads a clock")]

use std::hint::black_box;
use std::time::Instant;

use network::queue::{codel, drop_tail, red};
use network::{Ecn, Enqueue, Limit, Link, LinkConfig, LossConfig, Packet, QueueConfig, Xoshiro256PlusPlus, loss};
use rand_core::{RngCore, SeedableRng};

const PACKETS: u32 = 5_000_000;
const ROUNDS: u32 = 10;
const DROP_TAIL: QueueConfig = QueueConfig::DropTail(drop_tail::Config { limit: Limit::Packets(100) });
/// The average stays below its thresholds, so that this measures the cost of the average, not of drops.
const RED: QueueConfig = QueueConfig::Red(red::Config {
    limit: Limit::Packets(100),
    min_packets: 60.0,
    max_packets: 80.0,
    max_probability: 0.1,
    weight: 0.002,
    gentle: true,
    ecn: false,
});

/// The 50 packets in the queue wait 6 ms, so that this measures the cost of the state, not of drops.
const CODEL: QueueConfig = QueueConfig::CoDel(codel::Config {
    limit: Limit::Packets(100),
    target_ns: 10_000_000,
    interval_ns: 100_000_000,
    mtu_bytes: 1_500,
    ecn: false,
});

fn link(queue: QueueConfig, loss: LossConfig, seed: u64) -> Link<[u32; 2]> {
    let config = LinkConfig {
        rate_bps: 100_000_000,
        delay_ns: 10_000_000,
        queue,
        loss,
        trace: None,
        shared: false,
        bucket: None,
        disorder: None,
    };
    Link::new(config, Xoshiro256PlusPlus::seed_from_u64(seed))
}

/// The fastest of several rounds, in nanoseconds per packet.
fn measure(packets: u32, name: &str, links: usize, queue: QueueConfig, loss: LossConfig) {
    let mut links: Vec<Link<[u32; 2]>> = (0..links).map(|seed| link(queue.clone(), loss, seed as u64)).collect();
    for link in &mut links {
        // 50 in the queue, and 83 on the wire once the first arrives.
        for slot in 0..133 {
            let now_ns = u64::from(slot) * 120_000;
            let _ = link
                .enqueue(if slot < 83 { now_ns } else { 83 * 120_000 }, Packet::new([0, slot], 1_500, 0, Ecn::NotEct));
        }
    }
    let mut order = Xoshiro256PlusPlus::seed_from_u64(0);
    let mut fastest_ns = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for slot in 0..packets {
            let at = if links.len() == 1 { 0 } else { order.next_u64() as usize % links.len() };
            let link = &mut links[at];
            let now_ns = link.next_arrival_or_max_ns();
            black_box(link.deliver(now_ns));
            let accepted = link.enqueue(now_ns, Packet::new([1, slot], 1_500, 0, Ecn::NotEct));
            assert_ne!(black_box(accepted), Enqueue::Accepted { first: true });
        }
        fastest_ns = fastest_ns.min(start.elapsed().as_nanos() as f64 / f64::from(packets));
    }
    let now_ns = links[0].next_arrival_or_max_ns();
    let counters = links[0].counters(now_ns);
    println!(
        "{name:<44} {fastest_ns:6.2} ns a packet (queue up to {}, {} dropped)",
        counters.queue_max_packets,
        counters.lost_packets()
    );
}

fn main() {
    let packets = std::env::args().nth(1).map_or(PACKETS, |word| word.parse().expect("PACKETS: a number"));
    println!("a link is {} bytes", size_of::<Link<[u32; 2]>>());
    let measure = |name, links, queue, loss| measure(packets, name, links, queue, loss);
    measure("drop-tail, 1 link", 1, DROP_TAIL, LossConfig::None);
    measure(
        "drop-tail, 1 link, Bernoulli loss",
        1,
        DROP_TAIL,
        LossConfig::Bernoulli(loss::Bernoulli { probability: 0.01 }),
    );
    measure("RED, 1 link", 1, RED, LossConfig::None);
    measure("CoDel, 1 link", 1, CODEL, LossConfig::None);
    measure("drop-tail, 4,096 links in random order", 4_096, DROP_TAIL, LossConfig::None);
}
