//! How fast the simulator is, on one core: `cargo run --release -p simulator --example bench [SECONDS]`.
//!
//! W5: ten Reno flows over one 100 Mbit/s link. W1: two disjoint 100 Mbit/s paths with ten TCP flows on each and one
//! MPTCP/LIA connection over both. Everywhere RTT 20 ms, a drop-tail queue of one bandwidth-delay product, bulk downloads,
//! 60 s of virtual time unless another number is given.

use simulator::description::{
    Application, Connection, Description, Direction, Limit, Link, Loss, Named, Path, Protocol, Queue, Way,
};
use simulator::outcome::Outcome;

fn link(name: &str) -> Link {
    // 100 Mbit/s × 20 ms = 250 kB.
    let queue = Queue::DropTail { limit: Limit::Bytes(250_000) };
    let direction = Direction { rate_bps: 100_000_000, delay_ns: 10_000_000, queue, loss: Loss::None };
    Link { name: name.into(), down: direction.clone(), up: direction }
}

fn connection(name: &str, count: u32, paths: &[usize], protocol: Protocol) -> Connection {
    let named = |name: &str| Named { name: name.into(), parameters: serde_json::Map::new() };
    let (congestion, path_manager) = match protocol {
        Protocol::Tcp => ("reno", "default"),
        Protocol::Mptcp => ("lia", "fullmesh"),
    };
    Connection {
        name: name.into(),
        count,
        paths: paths.to_vec(),
        protocol,
        congestion: named(congestion),
        scheduler: named("min-rtt"),
        path_manager: named(path_manager),
        application: Application::Bulk,
        direction: Way::Down,
        start_ns: [0, 1_000_000_000],
        stop_ns: None,
        mss_bytes: 1460,
        receive_buffer_bytes: None,
        ecn: false,
    }
}

fn workload(links: &[&str], connections: Vec<Connection>, seconds: u64) -> Description {
    Description {
        duration_ns: seconds * 1_000_000_000,
        seed: 1,
        warmup_ns: seconds * 100_000_000,
        sample_ns: None,
        through_wire: false,
        links: links.iter().map(|name| link(name)).collect(),
        paths: links
            .iter()
            .enumerate()
            .map(|(n, &name)| Path { name: name.into(), links: vec![n], reversed: Vec::new() })
            .collect(),
        connections,
        events: Vec::new(),
    }
}

/// CPU time of this thread in seconds, as Linux counts it.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this benchmark needs Linux's schedstat");
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds on the CPU") / 1e9
}

fn run(name: &str, description: &Description) -> Result<(), simulator::SimulateError> {
    let before_s = cpu_s();
    let outcome: Outcome = simulator::simulate(description, &mut |_| true)?;
    let took_s = cpu_s() - before_s;
    let work = outcome.work;
    let simulated_s = description.duration_ns as f64 / 1e9;
    println!(
        "{name}: {took_s:.3} s of CPU for {simulated_s} s\n  \
         {:.3} M delivered segments/s, {:.3} M packet-hops/s, {:.1} ns a hop, {:.0} simulated seconds a second, {} events",
        work.segments_delivered as f64 / took_s / 1e6,
        work.packet_hops as f64 / took_s / 1e6,
        took_s * 1e9 / work.packet_hops as f64,
        simulated_s / took_s,
        work.events,
    );
    for row in outcome.links.iter().filter(|row| row.down) {
        let link = &description.links[row.link].name;
        println!(
            "  link {link} down: utilisation {:.4}, {} drops, mean queue {:.1} packets",
            row.utilization, row.drops, row.queue_mean_packets
        );
    }
    for (kind, connection) in description.connections.iter().enumerate() {
        let goodputs = outcome.connections.iter().filter(|c| c.kind == kind).filter_map(|c| c.goodput_bps);
        let sum: f64 = goodputs.sum();
        println!(
            "  {} × {}: {:.3} Mbit/s each",
            connection.count,
            connection.name,
            sum / f64::from(connection.count) / 1e6
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(60), |seconds| seconds.parse())?;
    let w5 = workload(&["bottleneck"], vec![connection("reno", 10, &[0], Protocol::Tcp)], seconds);
    let w1 = workload(
        &["one", "two"],
        vec![
            connection("mptcp", 1, &[0, 1], Protocol::Mptcp),
            connection("tcp-one", 10, &[0], Protocol::Tcp),
            connection("tcp-two", 10, &[1], Protocol::Tcp),
        ],
        seconds,
    );
    run("W5", &w5)?;
    run("W1", &w1)?;
    Ok(())
}
