//! Random numbers: none are drawn without need, and equal seeds give equal draws.

use network::Change;

use super::*;

#[test]
fn a_clean_link_never_touches_its_stream() {
    let mut link = link_of(1_000_000, 5, QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(3) }));
    for tag in 0..1_000 {
        let _ = link.enqueue(tag * 100_000, packet(tag, 1_500));
    }
    // A loss model set now starts with the first number of the stream.
    let mut fresh = link_of(1_000_000, 5, QueueConfig::DropTail(queue::drop_tail::Config { limit: Limit::Packets(3) }));
    let loss = Some(LossConfig::Bernoulli(loss::Bernoulli { probability: 0.5 }));
    let at_ns = 1_000_000_000_000;
    let pattern = |link: &mut Link<u64>| {
        deliver_all(link);
        link.change(at_ns, Change { loss, ..Change::default() }, &mut |_| ());
        (0..64)
            .map(|tag| {
                send(link, at_ns + tag * 1_000_000_000, tag, 1_500);
                link.deliver(link.next_arrival_ns().unwrap()).lost()
            })
            .collect::<Vec<bool>>()
    };
    let after_traffic = pattern(&mut link);
    assert_eq!(after_traffic, pattern(&mut fresh));
    assert!(after_traffic.contains(&true) && after_traffic.contains(&false));
}

fn lossy(seed: u64) -> Vec<(u64, u64, bool)> {
    let queue = QueueConfig::Red(queue::red::Config {
        limit: Limit::Packets(30),
        min_packets: 5.0,
        max_packets: 15.0,
        max_probability: 0.1,
        weight: 0.02,
        gentle: true,
        ecn: false,
    });
    let loss = LossConfig::GilbertElliott(loss::GilbertElliott {
        good_to_bad: 0.05,
        bad_to_good: 0.3,
        loss_good: 0.01,
        loss_bad: 0.5,
    });
    let mut link = Link::new(LinkConfig { loss, ..LinkConfig::with_rate(10_000_000, 3_000_000, queue) }, rng(seed));
    let mut out = Vec::new();
    for tag in 0..20_000_u64 {
        let now_ns = tag * 1_150_000;
        while link.next_arrival_or_max_ns() <= now_ns {
            let at_ns = link.next_arrival_or_max_ns();
            let packet = link.deliver(at_ns);
            out.push((packet.tag, at_ns, packet.lost()));
        }
        let _ = link.enqueue(now_ns, packet(tag, 1_500));
    }
    out
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_another() {
    assert_eq!(lossy(0), lossy(0));
    assert_ne!(lossy(0), lossy(1));
}
