//! The reports match what happened: samples, warm-up, starts and stops, link rows.

use crate::common::*;
use network::loss;
use scenario::description::{Application, Limit, LossConfig, Way};

#[test]
fn samples_add_up_to_the_whole() {
    let links = vec![bdp_link("a", 10 * MBIT, 10 * MS), bdp_link("b", 5 * MBIT, 20 * MS)];
    let mut description = with_links(description(10 * SECOND), links);
    description.sample_ns = Some(100 * MS);
    description.connections = vec![mptcp("m", &[0, 1], Application::Bulk)];
    let outcome = run(&description);
    let samples = &outcome.subflow_samples;
    for subflow in 0..2 {
        let rows = || (0..samples.time_s.len()).filter(|&row| samples.subflow[row] == subflow);
        let sampled: f64 = rows().map(|row| samples.goodput_bps[row] * 0.1).sum();
        let whole = outcome.connections[0].subflows[subflow as usize].goodput_bps.unwrap() * 10.0;
        assert!((sampled - whole).abs() < 1.0, "{sampled} {whole}");
        assert!(rows().all(|row| samples.in_flight_segments[row] < 200));
        assert!(rows().skip(3).all(|row| (0.02..0.2).contains(&samples.srtt_s[row])));
    }
    assert_eq!(samples.time_s.first(), Some(&0.1));
    assert_eq!(samples.time_s.last(), Some(&10.0));
    assert!(samples.time_s.is_sorted());
    let links = &outcome.link_samples;
    assert_eq!(links.time_s.len(), 4 * 100);
    let used: f64 = (0..400).filter(|&row| links.link[row] == 0).map(|row| links.utilization[row]).sum::<f64>() / 100.0;
    assert!((used - outcome.links[0].utilization).abs() < 1e-9, "{used}");
    let drops: u32 = (0..400).filter(|&row| links.link[row] == 0).map(|row| links.drops[row]).sum();
    assert_eq!(u64::from(drops), outcome.links[0].drops);
}

#[test]
fn the_warm_up_is_left_out() {
    // Half the capacity during the warm-up, then all of it; the link's row covers only the second half.
    let mut description = with_links(description(40 * SECOND), vec![bdp_link("a", 10 * MBIT, 10 * MS)]);
    description.links[0].down.rate_bps = 5 * MBIT;
    let unchanged = network::Change::default();
    description.events = vec![event(20 * SECOND, 0, network::Change { rate_bps: Some(10 * MBIT), ..unchanged })];
    description.connections = vec![tcp("t", 0, Application::Bulk)];
    let whole = run(&description);
    description.warmup_ns = 20 * SECOND;
    let warmed = run(&description);
    let goodput = |outcome: &scenario::outcome::Outcome| outcome.connections[0].goodput_bps.unwrap();
    assert!((6.9e6..7.3e6).contains(&goodput(&whole)), "{}", goodput(&whole));
    assert!((9.2e6..9.7e6).contains(&goodput(&warmed)), "{}", goodput(&warmed));
    // Utilisation follows the rate: close to 1 in both.
    assert!((0.95..1.001).contains(&whole.links[0].utilization), "{}", whole.links[0].utilization);
    assert!((0.95..1.001).contains(&warmed.links[0].utilization), "{}", warmed.links[0].utilization);
    assert_eq!(whole.connections[0].bytes_delivered, warmed.connections[0].bytes_delivered);
    assert!(warmed.links[0].drops < whole.links[0].drops);
}

#[test]
fn a_dead_link_has_no_capacity() {
    let mut description = with_links(description(10 * SECOND), vec![bdp_link("a", 10 * MBIT, 10 * MS)]);
    description.connections = vec![tcp("t", 0, Application::Bulk)];
    description.events = vec![event(5 * SECOND, 0, dead(true))];
    let outcome = run(&description);
    assert!((0.9..=1.001).contains(&outcome.links[0].utilization), "{}", outcome.links[0].utilization);
    let goodput_bps = outcome.connections[0].goodput_bps.unwrap();
    assert!((4.3e6..4.9e6).contains(&goodput_bps), "{goodput_bps}");
}

#[test]
fn what_waited_when_the_warm_up_ended_can_still_be_lost() {
    // Ten flows keep the queue full. The link dies right after the warm-up and loses all queued packets.
    let mut description = with_links(description(6 * SECOND), vec![link("a", 10 * MBIT, 10 * MS, Limit::Packets(40))]);
    description.connections = vec![tcp("t", 0, Application::Bulk)];
    description.connections[0].count = 10;
    description.warmup_ns = 5 * SECOND;
    description.events = vec![event(5 * SECOND, 0, dead(true))];
    let outcome = run(&description);
    let down = &outcome.links[0];
    assert!((20..=200).contains(&down.drops), "{down:?}");
    assert_eq!((down.loss_rate, down.utilization), (Some(1.0), 0.0));
    for connection in &outcome.connections {
        assert!(connection.subflows[0].loss_rate.is_none_or(|rate| rate == 1.0), "{connection:?}");
    }
}

#[test]
fn random_loss_is_found_again() {
    let loss = LossConfig::Bernoulli(loss::Bernoulli { probability: 0.02 });
    let mut description =
        with_links(description(100 * SECOND), vec![lossy(link("a", 10 * MBIT, 5 * MS, Limit::Packets(1000)), loss)]);
    description.links[0].up.loss = LossConfig::None;
    description.connections = vec![tcp("t", 0, Application::Bulk)];
    let outcome = run(&description);
    let (subflow, link) = (&outcome.connections[0].subflows[0], &outcome.links[0]);
    // n packets: the standard deviation is sqrt(0.02 × 0.98 / n); the bound is five of them.
    let within = 5.0 * (0.02 * 0.98 / subflow.segments_sent as f64).sqrt();
    for rate in [subflow.loss_rate.unwrap(), link.loss_rate.unwrap()] {
        assert!((rate - 0.02).abs() < within, "{rate} ± {within}");
    }
    assert!(subflow.retransmissions as f64 >= 0.9 * link.drops as f64);
    assert_eq!(outcome.links[1].drops, 0);
}

#[test]
fn bulk_stops_when_told_and_closes_in_order() {
    let mut description = with_links(description(20 * SECOND), vec![bdp_link("a", 10 * MBIT, 10 * MS)]);
    description.warmup_ns = SECOND;
    for direction in [Way::Down, Way::Up] {
        description.connections = vec![tcp("t", 0, Application::Bulk), mptcp("m", &[0], Application::Bulk)];
        for connection in &mut description.connections {
            connection.direction = direction;
            connection.start_ns = [2 * SECOND; 2];
            connection.stop_ns = Some(7 * SECOND);
        }
        let outcome = run(&description);
        let mut total_bps = 0.0;
        for connection in &outcome.connections {
            // Data sent before the stop still arrives, within the time of two full queues.
            let completion_s = connection.completion_s.expect("it stopped");
            assert!((4.9..6.0).contains(&completion_s), "{completion_s}");
            let goodput_bps = connection.goodput_bps.unwrap();
            assert!((goodput_bps - connection.bytes_delivered as f64 * 8.0 / completion_s).abs() < 1e-3);
            total_bps += goodput_bps;
        }
        assert!((8.5e6..9.7e6).contains(&total_bps), "{total_bps}");
    }
}

#[test]
fn what_never_began_has_no_goodput() {
    let mut description = with_links(description(SECOND), vec![bdp_link("a", 10 * MBIT, 10 * MS)]);
    description.connections =
        vec![tcp("late", 0, file(10)), tcp("early", 0, file(10)), tcp("stopped", 0, Application::Bulk)];
    description.connections[0].start_ns = [2 * SECOND; 2];
    // Stopped during the handshake: an empty stream.
    description.connections[2].stop_ns = Some(MS);
    description.warmup_ns = SECOND / 2;
    let outcome = run(&description);
    let [late, early, stopped] = &outcome.connections[..] else { panic!("three connections") };
    assert_eq!((late.goodput_bps, late.bytes_delivered, late.subflows.len()), (None, 0, 0));
    // Completed before the measurement began.
    assert_eq!((early.goodput_bps, early.bytes_delivered), (None, 10));
    assert!(early.completion_s.is_some());
    assert_eq!(stopped.bytes_delivered, 0);
}

#[test]
fn starts_are_drawn_for_each_connection() {
    let mut description = with_links(description(10 * SECOND), vec![bdp_link("a", 10 * MBIT, 10 * MS)]);
    description.connections = vec![tcp("t", 0, file(1000))];
    description.connections[0].count = 50;
    description.connections[0].start_ns = [SECOND, 5 * SECOND];
    let outcome = run(&description);
    let mut starts: Vec<f64> = outcome.connections.iter().map(|c| c.start_s).collect();
    assert!(starts.iter().all(|start| (1.0..=5.0).contains(start)));
    starts.sort_by(f64::total_cmp);
    starts.dedup();
    assert_eq!(starts.len(), 50);
    assert!(starts[0] < 2.0 && starts[49] > 4.0);
    assert!(outcome.connections.iter().all(|c| c.completion_s.is_some()));
}
