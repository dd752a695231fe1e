//! The parts of hand-written descriptions, for the tests of networks, of the crate's own files, and for the benchmark.
#![allow(dead_code, reason = "each uses its part")]

use network::queue;
use scenario::description::{
    Application, Connection, Description, Direction, Limit, Link, LossConfig, Named, Path, Protocol, QueueConfig,
    TcpOptions, Way,
};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
pub const MBIT: u64 = 1_000_000;

/// An empty network: seed 1, no warm-up, no samples.
pub fn description(duration_ns: u64) -> Description {
    Description {
        duration_ns,
        seed: 1,
        warmup_ns: 0,
        sample_ns: None,
        through_wire: true,
        traces: Vec::new(),
        media: Vec::new(),
        links: Vec::new(),
        paths: Vec::new(),
        connections: Vec::new(),
        events: Vec::new(),
    }
}

/// One direction of a link, with a drop-tail queue and no loss.
pub fn direction(rate_bps: u64, delay_ns: u64, limit: Limit) -> Direction {
    Direction {
        rate_bps,
        trace: None,
        delay_ns,
        queue: QueueConfig::DropTail(queue::drop_tail::Config { limit }),
        loss: LossConfig::None,
        shaper: None,
        disorder: None,
    }
}

/// A symmetric link with drop-tail queues and no loss.
pub fn link(name: &str, rate_bps: u64, delay_ns: u64, limit: Limit) -> Link {
    let direction = direction(rate_bps, delay_ns, limit);
    Link {
        name: name.into(),
        medium: None,
        down: direction.clone(),
        up: direction,
        middleboxes: Vec::new(),
        metered: None,
    }
}

/// As [`link`], with a queue of one bandwidth-delay product of this link alone: rate × 2 delay.
pub fn bdp_link(name: &str, rate_bps: u64, delay_ns: u64) -> Link {
    link(name, rate_bps, delay_ns, Limit::Bytes(rate_bps / 8 * 2 * delay_ns / SECOND))
}

/// The same loss in both directions.
pub fn lossy(mut link: Link, loss: LossConfig) -> Link {
    link.down.loss = loss;
    link.up.loss = loss;
    link
}

/// Adds links, each with a one-link path of the same name.
pub fn with_links(mut description: Description, links: Vec<Link>) -> Description {
    for link in links {
        let number = description.links.len();
        description.paths.push(Path { name: link.name.clone(), links: vec![number], reversed: Vec::new() });
        description.links.push(link);
    }
    description
}

pub fn named(name: &str) -> Named {
    Named { name: name.into(), parameters: serde_json::Map::new() }
}

/// One TCP/Reno download from 0 s on.
pub fn tcp(name: &str, path: usize, application: Application) -> Connection {
    Connection {
        name: name.into(),
        count: 1,
        paths: vec![path],
        protocol: Protocol::Tcp,
        congestion: named("reno"),
        scheduler: named("min-rtt"),
        path_manager: named("default"),
        application,
        direction: Way::Down,
        start_ns: [0, 0],
        stop_ns: None,
        reading: Vec::new(),
        mss_bytes: 1460,
        receive_buffer_bytes: None,
        ecn: false,
        checksum: false,
        tcp: TcpOptions::default(),
        kernel_paths: None,
    }
}

/// One MPTCP/LIA download from 0 s on.
pub fn mptcp(name: &str, paths: &[usize], application: Application) -> Connection {
    Connection {
        paths: paths.to_vec(),
        protocol: Protocol::Mptcp,
        congestion: named("lia"),
        path_manager: named("fullmesh"),
        ..tcp(name, 0, application)
    }
}

pub fn file(size_bytes: u64) -> Application {
    Application::File { size_bytes }
}
