//! Hand-written descriptions for tests. All have `through_wire` on.
#![allow(dead_code, reason = "each test file uses its part")]

use network::queue;
use scenario::description::{
    Application, Change, Connection, Description, Direction, Event, Limit, Link, LossConfig, Named, Path, Protocol,
    QueueConfig, TcpOptions, Way,
};
use scenario::outcome::Outcome;
use simulator::SimulateError;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
pub const MBIT: u64 = 1_000_000;

/// Runs a description to its end.
pub fn run(description: &Description) -> Outcome {
    try_run(description).unwrap_or_else(|error| panic!("{error}"))
}

pub fn try_run(description: &Description) -> Result<Outcome, SimulateError> {
    simulator::simulate(description, &mut |_| true)
}

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

/// A symmetric link with drop-tail queues and no loss.
pub fn link(name: &str, rate_bps: u64, delay_ns: u64, limit: Limit) -> Link {
    let direction = Direction {
        rate_bps,
        trace: None,
        delay_ns,
        queue: QueueConfig::DropTail(queue::drop_tail::Config { limit }),
        loss: LossConfig::None,
        shaper: None,
        disorder: None,
    };
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

/// An event that changes both directions of a link.
pub fn event(at_ns: u64, link: usize, set: impl Into<Change>) -> Event {
    let set = set.into();
    Event { at_ns, link, down: true, up: true, set }
}

pub fn dead(dead: bool) -> network::Change {
    network::Change { dead: Some(dead), ..network::Change::default() }
}

/// An integer from the environment.
pub fn environment_number(name: &str) -> Option<u64> {
    #[allow(clippy::disallowed_methods)] // how many cases are run, not what they give
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, found {text}")))
}
