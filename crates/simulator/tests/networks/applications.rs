//! Requests, constant rates and flows, compared with values calculated by hand or from queueing theory.

use crate::common::*;
use network::loss;
use scenario::description::{Application, Arrivals, Description, Limit, Size, Way};
use scenario::outcome::{Outcome, Transfers};

fn over(link: scenario::description::Link, duration_ns: u64, application: Application) -> Description {
    let mut description = with_links(description(duration_ns), vec![link]);
    description.connections = vec![tcp("c", 0, application)];
    description
}

fn requests(size_bytes: u64) -> Application {
    Application::Requests { size_bytes, limit_ns: None }
}

fn flows(size: Size, rate_per_s: f64) -> Application {
    Application::Flows { size, arrivals: Arrivals::Poisson { rate_per_s } }
}

fn transfers(outcome: &Outcome) -> &Transfers {
    outcome.connections[0].transfers.as_ref().expect("requests and flows have transfers")
}

#[test]
fn a_request_takes_its_handshake_and_one_round() {
    // 10 Mbit/s, 10 ms. As in physics.rs, the server sends at 30 137.6 µs: five segments of 1448 bytes (1500 on the
    // wire, 1200 µs each) and one of 760 (812, 649.6 µs), all in the initial window. The last byte arrives at
    // 30 137.6 + 5 · 1200 + 649.6 + 10 000 = 46 787.2 µs,
    // together with the FIN. The next connection is opened then. Its SYN waits for the ACK of both and for the client's
    // FIN, at most 52 bytes each.
    let outcome = run(&over(link("a", 10 * MBIT, 10 * MS, Limit::Packets(100)), 10 * SECOND, requests(8000)));
    let transfers = transfers(&outcome);
    assert_eq!((transfers.start_s[0], transfers.size_bytes[0], transfers.completion_s[0]), (0.0, 8000, 0.046_787_2));
    assert_eq!(transfers.start_s[1], 0.046_787_2);
    for (number, &completion_s) in transfers.completion_s[1..].iter().enumerate() {
        let late_us = (completion_s - 0.046_787_2) * 1e6;
        assert!((41.5..=83.3).contains(&late_us), "request {number}: {late_us} µs later");
    }
    // Requests follow one another: 10 s contain 213 periods of about 46.9 ms.
    assert_eq!((transfers.begun, transfers.completion_s.len()), (214, 213));
    let connection = &outcome.connections[0];
    assert!((213 * 8000..214 * 8000).contains(&connection.bytes_delivered), "{}", connection.bytes_delivered);
    assert_eq!(connection.completion_s, None, "there is more to come");
    assert_eq!(connection.subflows.len(), 1, "one row for all that crossed the path");
    assert_eq!(connection.subflows[0].share, Some(1.0));
    assert!((213 * 6..=214 * 6).contains(&connection.subflows[0].segments_sent));
}

#[test]
fn a_larger_request_takes_two_rounds() {
    // 100 Mbit/s, 10 ms, 20 segments. SYN and SYN/ACK take 4.8 µs, the ACK 4.16 µs: the server sends at 30 013.76 µs.
    // The first segment arrives 10 120 µs later, its ACK 10 004.16 µs after that, at 50 137.92 µs. Each ACK, 120 µs
    // apart, releases two segments of 120 µs: ten leave back to back, and the last arrives at 50 137.92 + 10 · 120 + 10
    // 000 µs.
    let link = link("a", 100 * MBIT, 10 * MS, Limit::Packets(100));
    let outcome = run(&over(link, SECOND, requests(20 * 1448)));
    let first_s = transfers(&outcome).completion_s[0];
    assert!((first_s - 0.061_337_92).abs() < 1e-12, "{first_s}");
}

#[test]
fn requests_stop_at_their_limit() {
    let mut description = over(link("a", 10 * MBIT, 10 * MS, Limit::Packets(100)), 10 * SECOND, requests(8000));
    description.connections[0].application = Application::Requests { size_bytes: 8000, limit_ns: Some(SECOND) };
    description.connections[0].start_ns = [2 * SECOND, 2 * SECOND];
    let outcome = run(&description);
    // 1 s contains 21 periods of about 46.9 ms; the request in progress is cut off in its handshake.
    assert_eq!((transfers(&outcome).begun, transfers(&outcome).completion_s.len()), (22, 21));
    assert_eq!(outcome.connections[0].bytes_delivered, 21 * 8000);
    let completion_s = outcome.connections[0].completion_s.unwrap();
    assert!((0.95..=1.05).contains(&completion_s), "{completion_s}");
    // The application's own stop takes effect if it is earlier.
    description.connections[0].stop_ns = Some(5 * SECOND / 2);
    assert_eq!(transfers(&run(&description)).completion_s.len(), 10);
}

#[test]
fn requests_go_on_over_lossy_paths_and_leave_out_the_warm_up() {
    let loss = scenario::description::LossConfig::Bernoulli(loss::Bernoulli { probability: 0.02 });
    let links = ["a", "b"].map(|name| lossy(link(name, 10 * MBIT, 10 * MS, Limit::Packets(100)), loss));
    let mut description = with_links(description(20 * SECOND), links.to_vec());
    description.connections = vec![mptcp("c", &[0, 1], requests(100_000))];
    let whole = run(&description);
    description.warmup_ns = 10 * SECOND;
    let warmed = run(&description);
    let connection = &warmed.connections[0];
    assert_eq!(connection.bytes_delivered, whole.connections[0].bytes_delivered);
    let (all, late) = (transfers(&whole), transfers(&warmed));
    assert!((20..all.begun).contains(&late.begun), "{} of {}", late.begun, all.begun);
    assert!(late.start_s.iter().all(|&start_s| start_s >= 10.0));
    assert_eq!(all.completion_s[all.completion_s.len() - late.completion_s.len()..], late.completion_s);
    assert_eq!(connection.subflows.iter().map(|row| row.path).collect::<Vec<_>>(), [0, 1]);
    // The goodput counts the same objects as the list, and no more.
    let objects = late.completion_s.len() as f64;
    let goodput_bytes = connection.goodput_bps.unwrap() * 10.0 / 8.0 / 100_000.0;
    assert!((goodput_bytes - objects).abs() < 2.0, "{goodput_bytes} of {objects}");
    let shares: f64 = connection.subflows.iter().filter_map(|row| row.share).sum();
    assert!((shares - 1.0).abs() < 1e-12, "{shares}");
    for row in &connection.subflows {
        assert!((0.005..0.05).contains(&row.loss_rate.unwrap()), "{row:?}");
        assert!((0.02..0.1).contains(&row.rtt_mean_s.unwrap()), "{row:?}");
        assert!((2.0..100.0).contains(&row.cwnd_mean_segments.unwrap()), "{row:?}");
    }
    let sum_bps: f64 = connection.subflows.iter().filter_map(|row| row.goodput_bps).sum();
    // In order or arrived: the data waiting for a hole at the ends of the window makes the difference.
    assert!((sum_bps / connection.goodput_bps.unwrap() - 1.0).abs() < 0.02, "{sum_bps}");
}

#[test]
fn samples_of_requests_add_up_to_the_whole() {
    let links = vec![bdp_link("a", 10 * MBIT, 10 * MS), bdp_link("b", 5 * MBIT, 20 * MS)];
    let mut description = with_links(description(10 * SECOND), links);
    description.sample_ns = Some(100 * MS);
    description.connections = vec![mptcp("m", &[0, 1], flows(Size::Constant { mean_bytes: 50_000 }, 10.0))];
    let outcome = run(&description);
    let samples = &outcome.subflow_samples;
    for (position, row) in outcome.connections[0].subflows.iter().enumerate() {
        let of_path = |&row: &usize| samples.subflow[row] as usize == position;
        let sampled: f64 = (0..samples.time_s.len()).filter(of_path).map(|row| samples.goodput_bps[row] * 0.1).sum();
        // The window begins with the application, at 0 s.
        assert!((sampled - row.goodput_bps.unwrap() * 10.0).abs() < 1.0, "{sampled} {row:?}");
    }
}

#[test]
fn a_rate_below_the_capacity_is_delivered_exactly() {
    // 1448 bytes at 4 Mbit/s: one step every 2896 µs. The server receives the client's ACK at 30 137.6 µs; a segment
    // takes 11 200 µs. Segments sent by 9 988 800 µs arrive before 10 s: 1 + ⌊(9 988 800 − 30 137.6)/2896⌋ = 3439.
    let rate = Application::Rate { rate_bps: 4 * MBIT };
    let mut description = over(link("a", 10 * MBIT, 10 * MS, Limit::Packets(100)), 10 * SECOND, rate);
    let outcome = run(&description);
    let connection = &outcome.connections[0];
    assert_eq!(connection.bytes_delivered, 3439 * 1448);
    assert_eq!(connection.subflows[0].segments_sent, 3439 + 4, "four are on the way");
    assert_eq!((outcome.links[0].queue_max_packets, outcome.links[0].drops), (1, 0));
    // A packet of 1500 bytes every 2896 µs.
    assert!((outcome.links[0].utilization - 1200.0 / 2896.0).abs() < 0.002, "{}", outcome.links[0].utilization);

    // Over a period that is a multiple of the step, the goodput is the rate: 2896 µs · 125 000 = 362 s.
    description.warmup_ns = SECOND;
    description.duration_ns = SECOND + 1000 * 2_896_000;
    assert_eq!(run(&description).connections[0].goodput_bps, Some(4e6));
}

#[test]
fn a_rate_ends_at_its_stop_with_all_that_was_offered() {
    for (rate_bps, direction) in [(4 * MBIT, Way::Up), (20 * MBIT, Way::Down)] {
        let rate = Application::Rate { rate_bps };
        let mut description = over(link("a", 10 * MBIT, 10 * MS, Limit::Packets(100)), 10 * SECOND, rate);
        description.connections[0].direction = direction;
        description.connections[0].stop_ns = Some(2 * SECOND);
        let connection = &run(&description).connections[0];
        // The ends are established at 20 096 µs (client) and 30 137.6 µs (server); a step is offered every 11 584 bits.
        let established_s = if direction == Way::Up { 0.020_096 } else { 0.030_137_6 };
        let steps = 1 + ((2.0 - established_s) * rate_bps as f64 / 11_584.0) as u64;
        assert_eq!(connection.bytes_delivered, steps * 1448);
        // At twice the capacity, data offered in 2 s takes nearly 4 s to deliver.
        let completion_s = connection.completion_s.unwrap();
        let expected_s = if rate_bps == 4 * MBIT { 2.0..2.02 } else { 4.0..4.5 };
        assert!(expected_s.contains(&completion_s), "{completion_s}");
    }
}

#[test]
fn a_rate_over_two_paths_is_delivered() {
    let links = vec![bdp_link("a", 3 * MBIT, 10 * MS), bdp_link("b", 3 * MBIT, 30 * MS)];
    let mut description = with_links(description(30 * SECOND), links);
    description.warmup_ns = 10 * SECOND;
    description.connections = vec![mptcp("m", &[0, 1], Application::Rate { rate_bps: 4 * MBIT })];
    let connection = &run(&description).connections[0];
    let goodput_bps = connection.goodput_bps.unwrap();
    assert!((goodput_bps / 4e6 - 1.0).abs() < 0.005, "{goodput_bps}");
    assert!(connection.subflows.iter().all(|row| row.share.unwrap() > 0.2), "{:?}", connection.subflows);
}

#[test]
fn flows_load_a_link_as_much_as_they_are() {
    // Poisson arrivals, 20 per second, with a mean of 25 000 bytes: 4 Mbit/s are offered to 10. In 300 s, 6000 flows
    // arrive, standard deviation √6000 = 77.5. Their sizes are exponential: the sum deviates by 25 000 · √(2 · 6000)
    // bytes, 1.8 %.
    let content = flows(Size::Exponential { mean_bytes: 25_000 }, 20.0);
    let mut description = over(link("a", 10 * MBIT, 10 * MS, Limit::Packets(200)), 300 * SECOND, content);
    description.through_wire = false;
    let outcome = run(&description);
    let (connection, transfers) = (&outcome.connections[0], transfers(&outcome));
    assert!((transfers.begun as f64 - 6000.0).abs() < 3.0 * 77.5, "{}", transfers.begun);
    let goodput_bps = connection.goodput_bps.unwrap();
    assert!((goodput_bps / 4e6 - 1.0).abs() < 3.0 * 0.018, "{goodput_bps}");
    // All flows that began are complete, except for the few in progress.
    let complete: u64 = transfers.size_bytes.iter().sum();
    let missing = transfers.begun as usize - transfers.completion_s.len();
    assert!(missing < 10, "{missing} of {} are under way", transfers.begun);
    assert!(connection.bytes_delivered >= complete && connection.bytes_delivered < complete + 500_000);
    // No flow is faster than its handshake, its serialisation and one way: 40 ms and 0.8 µs per byte.
    for (&size_bytes, &completion_s) in transfers.size_bytes.iter().zip(&transfers.completion_s) {
        let least_s = 0.04 + size_bytes as f64 * 0.8e-6;
        assert!(completion_s > least_s, "{size_bytes} bytes in {completion_s} s");
    }
    // The link carries the offered load with headers: 1500 bytes for 1448, and the smaller last segments.
    let load = outcome.links[0].utilization / (goodput_bps / 10e6);
    assert!((1500.0 / 1448.0..1.06).contains(&load), "{load}");
}

#[test]
fn periodic_flows_come_at_their_times_and_stop() {
    let arrivals = Arrivals::Periodic { rate_per_s: 4.0 };
    let content = Application::Flows { size: Size::Constant { mean_bytes: 1000 }, arrivals };
    let mut description = over(link("a", 10 * MBIT, 10 * MS, Limit::Packets(100)), 10 * SECOND, content);
    description.connections[0].start_ns = [SECOND, SECOND];
    description.connections[0].stop_ns = Some(2 * SECOND);
    let outcome = run(&description);
    let transfers = transfers(&outcome);
    assert_eq!(transfers.start_s, [1.0, 1.25, 1.5, 1.75]);
    // As the small file of physics.rs.
    assert_eq!(transfers.completion_s, [0.040_979_2; 4]);
    assert_eq!(outcome.connections[0].completion_s, Some(0.75 + 0.040_979_2));
    assert_eq!(outcome.connections[0].bytes_delivered, 4000);
}

#[test]
fn flows_survive_a_dead_link() {
    let mut description = over(
        link("a", 10 * MBIT, 10 * MS, Limit::Packets(100)),
        30 * SECOND,
        flows(Size::Pareto { mean_bytes: 20_000, shape: 1.5 }, 20.0),
    );
    description.connections[0].stop_ns = Some(15 * SECOND);
    description.events = vec![event(5 * SECOND, 0, dead(true)), event(6 * SECOND, 0, dead(false))];
    let outcome = run(&description);
    assert_eq!(transfers(&outcome).begun as usize, transfers(&outcome).completion_s.len());
    assert!(outcome.connections[0].completion_s.is_some());
    assert_eq!(transfers(&outcome).size_bytes.iter().sum::<u64>(), outcome.connections[0].bytes_delivered);
    assert_eq!(format!("{outcome:?}"), format!("{:?}", run(&description)));
}
