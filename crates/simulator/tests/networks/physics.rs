//! Runs compared with values calculated by hand: times, capacities, shares.

use crate::common::*;
use scenario::description::{Application, Limit, Way};

/// 1500 bytes carry 1448 of payload: 20 are IPv4, 20 TCP, 12 timestamps.
const TCP_PAYLOAD: f64 = 1448.0 / 1500.0;

#[test]
fn the_times_of_a_small_file_are_exact() {
    // 10 Mbit/s: 0.8 µs a byte; 10 ms each way. One segment of 1000 bytes down.
    //   SYN      0      60 bytes (20 IPv4, 20 TCP, 4 MSS, 12 SACK-permitted and timestamps, 4 window scale)
    //   arrives  10 000 + 48          = 10 048.0 µs; SYN/ACK, 60 bytes
    //   arrives  10 048 + 10 048      = 20 096.0 µs; ACK, 52 bytes
    //   arrives  20 096 + 10 041.6    = 30 137.6 µs; data, 1052 bytes
    //   arrives  30 137.6 + 10 841.6  = 40 979.2 µs; ACK, 52 bytes
    //   arrives  40 979.2 + 10 041.6  = 51 020.8 µs
    // The run ends 29 µs later, before the FIN after the data (52 bytes, 41.6 µs) can be acknowledged: two samples.
    let mut description = with_links(description(51_050_000), vec![link("a", 10 * MBIT, 10 * MS, Limit::Packets(100))]);
    description.connections = vec![tcp("t", 0, file(1000))];
    let outcome = run(&description);
    let connection = &outcome.connections[0];
    assert_eq!(connection.bytes_delivered, 1000);
    assert_eq!(connection.completion_s, Some(0.040_979_2));
    assert_eq!(connection.goodput_bps, Some(8e12 / 40_979_200.0));
    assert_eq!(connection.subflows[0].segments_sent, 1);
    // The server's samples: SYN/ACK 30 137.6 − 10 048 = 20 089.6 µs, data 51 020.8 − 30 137.6 = 20 883.2 µs.
    assert_eq!(connection.subflows[0].rtt_mean_s, Some((20_089_600.0 + 20_883_200.0) / 2.0 / 1e9));
    assert_eq!((outcome.links[0].drops, outcome.links[1].drops), (0, 0));
}

#[test]
fn a_second_segment_waits_for_the_first() {
    // As above up to the data, then two segments of 1448 bytes, 1200 µs each.
    //   sent both         30 137.6 µs
    //   arrive            30 137.6 + 1200 + 10 000 = 41 337.6 and 42 537.6 µs; each is acknowledged at once
    //   ACKs arrive       51 379.2 and 52 579.2 µs: samples of 21 241.6 and 22 441.6 µs, 1200 of it in the queue
    let mut description = with_links(description(52_600_000), vec![link("a", 10 * MBIT, 10 * MS, Limit::Packets(100))]);
    description.connections = vec![tcp("t", 0, file(2 * 1448))];
    let outcome = run(&description);
    let subflow = &outcome.connections[0].subflows[0];
    assert_eq!(outcome.connections[0].completion_s, Some(0.042_537_6));
    assert_eq!(subflow.segments_sent, 2);
    assert_eq!(subflow.rtt_mean_s, Some((20_089_600.0 + 21_241_600.0 + 22_441_600.0) / 3.0 / 1e9));
}

#[test]
fn an_upload_takes_one_exchange_less() {
    // At 20 096 µs the client has the SYN/ACK; its data carries the ACK: 1052 bytes, 841.6 µs.
    let mut description = with_links(description(SECOND), vec![link("a", 10 * MBIT, 10 * MS, Limit::Packets(100))]);
    description.connections = vec![tcp("t", 0, file(1000))];
    description.connections[0].direction = Way::Up;
    assert_eq!(run(&description).connections[0].completion_s, Some(0.030_937_6));
}

#[test]
fn a_timer_fires_at_its_time() {
    // The SYN at 0 finds the link down. RFC 6298 §2.1: the next leaves at 1 s, and the first example follows.
    let mut description = with_links(description(2 * SECOND), vec![link("a", 10 * MBIT, 10 * MS, Limit::Packets(100))]);
    description.connections = vec![tcp("t", 0, file(1000))];
    description.events = vec![event(0, 0, dead(true)), event(SECOND / 2, 0, dead(false))];
    assert_eq!(run(&description).connections[0].completion_s, Some(1.040_979_2));
}

#[test]
fn every_path_of_a_description_is_used() {
    // Queues of ten bandwidth-delay products: LIA with twelve subflows increases each window by a twelfth of Reno's.
    let links = (0..12).map(|n| link(&format!("l{n}"), 2 * MBIT, 10 * MS, Limit::Bytes(50_000))).collect();
    let mut description = with_links(description(10 * SECOND), links);
    description.warmup_ns = 2 * SECOND;
    description.connections = vec![mptcp("m", &(0..12).collect::<Vec<_>>(), Application::Bulk)];
    // Auto-tuned buffers depend on how far slow start gets; this fixed buffer is never the limit.
    description.connections[0].receive_buffer_bytes = Some(4 << 20);
    let outcome = run(&description);
    assert_eq!(outcome.connections[0].subflows.iter().map(|s| s.path).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    for subflow in &outcome.connections[0].subflows {
        let goodput_bps = subflow.goodput_bps.unwrap();
        assert!(goodput_bps > 0.97 * 2e6 * 1420.0 / 1500.0, "path {}: {goodput_bps}", subflow.path);
    }
}

#[test]
fn two_links_in_a_row_add_their_times() {
    // The data of the first test over an additional link of 5 Mbit/s and 3 ms: each packet is serialised twice.
    //   SYN 48 + 96, SYN/ACK 96 + 48, ACK 41.6 + 83.2, data 1683.2 + 841.6 µs, and 13 ms four times.
    let links =
        vec![link("a", 10 * MBIT, 10 * MS, Limit::Packets(100)), link("b", 5 * MBIT, 3 * MS, Limit::Packets(100))];
    let mut description = with_links(description(SECOND), links);
    description.paths[0].links = vec![0, 1];
    description.connections = vec![tcp("t", 0, file(1000))];
    let outcome = run(&description);
    let sent_us = 48.0 + 96.0 + 96.0 + 48.0 + 41.6 + 83.2 + 1683.2 + 841.6;
    let completion_s = outcome.connections[0].completion_s.unwrap();
    assert!((completion_s - (0.052 + sent_us * 1e-6)).abs() < 1e-12, "{completion_s}");
}

#[test]
fn one_reno_flow_fills_a_clean_link_with_a_queue_of_one_bdp() {
    let mut description = with_links(description(60 * SECOND), vec![bdp_link("a", 20 * MBIT, 10 * MS)]);
    description.warmup_ns = 10 * SECOND;
    description.connections = vec![tcp("t", 0, Application::Bulk)];
    let outcome = run(&description);
    let capacity_bps = 20e6 * TCP_PAYLOAD;
    let goodput_bps = outcome.connections[0].goodput_bps.unwrap();
    assert!((0.97 * capacity_bps..=capacity_bps).contains(&goodput_bps), "{goodput_bps} of {capacity_bps}");
    assert!((0.97..=1.0).contains(&outcome.links[0].utilization), "{}", outcome.links[0].utilization);
    // Reno's sawtooth lies between one and two bandwidth-delay products of 33.3 packets.
    let cwnd = outcome.connections[0].subflows[0].cwnd_mean_segments.unwrap();
    assert!((33.0..=68.0).contains(&cwnd), "{cwnd}");
    let rtt_s = outcome.connections[0].subflows[0].rtt_mean_s.unwrap();
    assert!((0.0206..=0.0412).contains(&rtt_s), "{rtt_s}");
    assert!(outcome.links[0].drops > 0, "a queue that Reno never filled");
}

#[test]
fn mptcp_fills_two_clean_disjoint_links() {
    let links = vec![bdp_link("a", 20 * MBIT, 10 * MS), bdp_link("b", 20 * MBIT, 10 * MS)];
    let mut description = with_links(description(60 * SECOND), links);
    description.warmup_ns = 10 * SECOND;
    description.connections = vec![mptcp("m", &[0, 1], Application::Bulk)];
    let outcome = run(&description);
    let connection = &outcome.connections[0];
    assert!(!connection.fallback);
    assert_eq!(connection.subflows.iter().map(|s| s.path).collect::<Vec<_>>(), [0, 1]);
    // Of 1500 bytes, 20 are IPv4, 20 TCP, 12 timestamps, 28 the DSS with a 64-bit DATA_ACK and mapping.
    let capacity_bps = 40e6 * 1420.0 / 1500.0;
    let goodput_bps = connection.goodput_bps.unwrap();
    assert!((0.97 * capacity_bps..=capacity_bps).contains(&goodput_bps), "{goodput_bps} of {capacity_bps}");
    for subflow in &connection.subflows {
        let share = subflow.share.unwrap();
        assert!((0.45..=0.55).contains(&share), "{share}");
    }
}

#[test]
fn equal_flows_share_a_link() {
    let mut description = with_links(description(120 * SECOND), vec![bdp_link("a", 20 * MBIT, 10 * MS)]);
    description.warmup_ns = 20 * SECOND;
    description.connections = vec![tcp("t", 0, Application::Bulk)];
    description.connections[0].count = 4;
    description.connections[0].start_ns = [0, SECOND];
    let outcome = run(&description);
    let goodputs: Vec<f64> = outcome.connections.iter().map(|c| c.goodput_bps.unwrap()).collect();
    let sum: f64 = goodputs.iter().sum();
    // Jain's fairness index: (Σx)² / (n Σx²), 1 if all are equal.
    let jain = sum * sum / (4.0 * goodputs.iter().map(|x| x * x).sum::<f64>());
    assert!(jain > 0.9, "{jain}: {goodputs:?}");
    assert!((0.97..=1.0).contains(&(sum / (20e6 * TCP_PAYLOAD))), "{sum}");
}
