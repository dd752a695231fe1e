//! Files arrive completely, in order and once, whatever the network does. The receiving application checks the offset
//! of every byte, and every segment goes through the codec.

use crate::common::*;
use network::{loss, queue};
use scenario::description::{Application, Change, Description, Limit, LossConfig, Protocol, QueueConfig, Way};

/// 5 % in both directions.
const BERNOULLI: LossConfig = LossConfig::Bernoulli(loss::Bernoulli { probability: 0.05 });
/// Bursts of 3 packets on average, half of them lost, 5 % of the time.
const GILBERT_ELLIOTT: LossConfig = LossConfig::GilbertElliott(loss::GilbertElliott {
    good_to_bad: 0.0175,
    bad_to_good: 0.333,
    loss_good: 0.0,
    loss_bad: 0.5,
});

fn two_paths(loss: LossConfig) -> Description {
    let links = vec![
        lossy(link("a", 10 * MBIT, 5 * MS, Limit::Packets(50)), loss),
        lossy(link("b", 5 * MBIT, 30 * MS, Limit::Packets(50)), loss),
    ];
    with_links(description(300 * SECOND), links)
}

/// Checks that the file of each connection arrived completely. Returns the completion time of the last.
fn all_complete(description: &Description) -> f64 {
    let outcome = run(description);
    let mut latest_s = 0_f64;
    for connection in &outcome.connections {
        let Application::File { size_bytes } = description.connections[connection.kind].application else { continue };
        assert_eq!(connection.bytes_delivered, size_bytes, "seed {}: {connection:?}", description.seed);
        latest_s = latest_s.max(connection.completion_s.expect("all bytes arrived"));
    }
    latest_s
}

#[test]
fn under_random_loss_both_ways() {
    for seed in 0..8 {
        let mut description = two_paths(BERNOULLI);
        description.seed = seed;
        description.connections = vec![
            tcp("tcp", 0, file(500_000)),
            mptcp("mptcp", &[0, 1], file(1_000_000)),
            mptcp("up", &[1, 0], file(500_000)),
        ];
        description.connections[2].direction = Way::Up;
        all_complete(&description);
    }
}

#[test]
fn under_loss_in_bursts() {
    for seed in 0..8 {
        let mut description = two_paths(GILBERT_ELLIOTT);
        description.seed = seed;
        description.connections = vec![
            tcp("tcp", 1, file(300_000)),
            mptcp("mptcp", &[0, 1], file(1_000_000)),
            mptcp("one", &[0], file(100_000)),
        ];
        all_complete(&description);
    }
}

#[test]
fn under_early_drops() {
    let mut description = two_paths(LossConfig::None);
    let red = QueueConfig::Red(queue::red::Config {
        limit: Limit::Packets(60),
        min_packets: 5.0,
        max_packets: 15.0,
        max_probability: 0.1,
        weight: 0.002,
        gentle: true,
        ecn: false,
    });
    description.links[0].down.queue = red.clone();
    description.links[0].up.queue = red;
    description.connections = vec![tcp("tcp", 0, file(5_000_000)), mptcp("mptcp", &[0, 1], file(5_000_000))];
    all_complete(&description);
}

#[test]
fn over_a_link_that_dies_and_comes_back() {
    let mut description = two_paths(LossConfig::None);
    description.connections = vec![tcp("tcp", 0, file(5_000_000)), mptcp("mptcp", &[0, 1], file(5_000_000))];
    description.events = vec![event(2 * SECOND, 0, dead(true)), event(6 * SECOND, 0, dead(false))];
    let latest_s = all_complete(&description);
    // 10 MB at 10 and 5 Mbit/s take at least 80 Mbit / 15 Mbit/s.
    assert!(latest_s > 5.3, "{latest_s}");
}

#[test]
fn over_the_other_link_when_one_dies_for_good() {
    for dying in [0, 1] {
        let mut description = two_paths(LossConfig::None);
        description.connections = vec![mptcp("mptcp", &[0, 1], file(5_000_000))];
        description.events = vec![event(2 * SECOND, dying, dead(true))];
        let completion_s = all_complete(&description);
        // At most 3.75 MB arrive in the first 2 s, so at least 1.25 MB use the other link alone, and within a minute of
        // timeouts.
        assert!((3.0..60.0).contains(&completion_s), "link {dying} died: {completion_s}");
    }
}

#[test]
fn over_links_that_change_rate_delay_and_loss() {
    let mut description = two_paths(LossConfig::None);
    description.connections = vec![tcp("tcp", 0, file(3_000_000)), mptcp("mptcp", &[0, 1], file(3_000_000))];
    let unchanged = network::Change::default();
    description.events = vec![
        event(SECOND, 0, network::Change { rate_bps: Some(MBIT), ..unchanged }),
        event(2 * SECOND, 0, network::Change { delay_ns: Some(100 * MS), ..unchanged }),
        event(3 * SECOND, 0, network::Change { delay_ns: Some(MS), loss: Some(BERNOULLI), ..unchanged }),
        event(4 * SECOND, 0, network::Change { rate_bps: Some(20 * MBIT), loss: Some(LossConfig::None), ..unchanged }),
        event(4 * SECOND, 1, network::Change { rate_bps: Some(100_000), ..unchanged }),
    ];
    all_complete(&description);
}

#[test]
fn with_small_segments_and_small_buffers() {
    for (mss_bytes, receive_buffer_bytes) in [(200, Some(4000)), (536, Some(10_000)), (9000, None), (1460, Some(1500))]
    {
        let mut description = two_paths(LossConfig::None);
        for protocol in [Protocol::Tcp, Protocol::Mptcp] {
            let mut connection = mptcp("c", if protocol == Protocol::Tcp { &[0] } else { &[0, 1] }, file(200_000));
            connection.protocol = protocol;
            connection.mss_bytes = mss_bytes;
            connection.receive_buffer_bytes = receive_buffer_bytes;
            description.connections = vec![connection];
            all_complete(&description);
        }
    }
}

#[test]
fn files_of_no_and_of_one_byte() {
    let mut description = two_paths(LossConfig::None);
    description.connections = vec![tcp("none", 0, file(0)), tcp("one", 0, file(1)), mptcp("none-m", &[0, 1], file(0))];
    all_complete(&description);
}

/// Joins from 63 addresses fail and free their identifiers. One of the addresses is removed, so that at the next
/// attempt the others take identifiers that belonged to another address. Then their link works, and the file arrives
/// over them.
#[test]
fn ids_of_failed_joins_serve_other_addresses() {
    let late = |name| link(name, MBIT, 5 * MS, Limit::Packets(50));
    let links = vec![link("good", 100_000, 5 * MS, Limit::Packets(50)), late("gone"), late("late")];
    let mut network = with_links(description(300 * SECOND), links);
    network.paths = [0, 1].into_iter().chain([2; 62]).map(|link| network.paths[link].clone()).collect();
    let all: Vec<usize> = (0..64).collect();
    network.connections = vec![mptcp("m", &all, file(2_000_000))];
    network.connections[0].tcp.syn_retries = 0;
    let gone = Change { address: Some(false), ..Change::default() };
    network.events = vec![
        event(0, 1, dead(true)),
        event(0, 2, dead(true)),
        event(SECOND, 1, gone),
        event(10 * SECOND, 2, dead(false)),
    ];
    let outcome = run(&network);
    let connection = &outcome.connections[0];
    assert_eq!(connection.bytes_delivered, 2_000_000);
    let paths: Vec<usize> = connection.subflows.iter().map(|subflow| subflow.path).collect();
    assert!(paths.len() == 64 && paths[1] > 1, "the id of the path that is gone was not given out again: {paths:?}");
    let late = connection.subflows.iter().filter(|subflow| subflow.path > 1).filter_map(|subflow| subflow.share);
    assert!(late.sum::<f64>() > 0.5, "{:?}", connection.subflows);
}
