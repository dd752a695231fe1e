//! What opens connections: one for `bulk`, `file` and `rate`, one after another for `requests` and `flows`.

use simulator::arrivals::ArrivalProcess;
use simulator::description::{Application as Content, Connection, Description, Way};
use simulator::outcome::Transfers;
use simulator::random;

use super::track::Tally;
use super::transfer::{CLIENT, SERVER};

/// TCP options of a data segment: timestamps, and under Multipath TCP a mapping with a DATA_ACK.
const TCP_OPTIONS: u16 = 12;
const MPTCP_OPTIONS: u16 = 40;

/// One of the `count` connections of a kind; or, of one that repeats, what opens them.
pub struct Application {
    pub kind: usize,
    pub index: u32,
    pub start_ns: u64,
    pub stop_ns: Option<u64>,
    pub content: Content,
    /// The end that writes.
    pub sender: usize,
    pub stopped: bool,
    /// Its transfers that are not over; of one that does not repeat, its transfer for good.
    pub transfers: Vec<usize>,
    /// What is over: of one that repeats by path, else by subflow.
    pub tallies: Vec<Tally>,
    pub bytes_read: u64,
    pub warm_bytes: u64,
    pub last_read_ns: u64,
    pub completion_ns: Option<u64>,
    pub fallback: bool,
    pub done: Transfers,
    pub arrivals: Option<ArrivalProcess>,
    /// Of `rate`: a segment's data, when the first was offered, and how many since.
    pub step_bytes: u64,
    pub steps: Option<(u64, u64)>,
    pub failure: Option<String>,
    /// By path, or subflow: bytes at the last sample.
    pub sampled: Vec<u64>,
}

impl Application {
    /// All of a description.
    pub fn all(description: &Description) -> Vec<Application> {
        let kinds = description.connections.iter().enumerate();
        kinds
            .flat_map(|(kind, each)| (0..each.count).map(move |n| Application::new(description, kind, each, n)))
            .collect()
    }

    fn new(description: &Description, kind: usize, connection: &Connection, index: u32) -> Application {
        let name = format!("connection/{}/{index}", connection.name);
        let seed = description.seed;
        // As in virtual time: the same seed, the same start.
        let start_ns = random::uniform_ns(&mut random::generator(seed, &format!("{name}/start")), connection.start_ns);
        let limit_ns = match connection.application {
            Content::Requests { limit_ns, .. } => limit_ns.map(|limit_ns| start_ns.saturating_add(limit_ns)),
            _ => None,
        };
        let arrivals = match connection.application {
            Content::Flows { size, arrivals } => Some(ArrivalProcess::new(seed, &name, start_ns, size, arrivals)),
            _ => None,
        };
        let options = match connection.protocol {
            simulator::description::Protocol::Tcp => TCP_OPTIONS,
            simulator::description::Protocol::Mptcp => MPTCP_OPTIONS,
        };
        Application {
            kind,
            index,
            start_ns,
            stop_ns: [connection.stop_ns, limit_ns].into_iter().flatten().min(),
            content: connection.application,
            sender: match connection.direction {
                Way::Up => CLIENT,
                Way::Down => SERVER,
            },
            stopped: false,
            transfers: Vec::new(),
            tallies: Vec::new(),
            bytes_read: 0,
            warm_bytes: 0,
            last_read_ns: start_ns,
            completion_ns: None,
            fallback: false,
            done: Transfers::default(),
            arrivals,
            step_bytes: u64::from(connection.mss_bytes.saturating_sub(options).max(1)),
            steps: None,
            failure: None,
            sampled: Vec::new(),
        }
    }

    /// Whether it opens one connection after another.
    pub fn repeats(&self) -> bool {
        self.content.repeats()
    }

    /// When the next step of a rate is due: when the rate has made up for all before.
    pub fn next_step_ns(&self) -> Option<u64> {
        let (Content::Rate { rate_bps }, Some((first_ns, steps))) = (self.content, self.steps) else { return None };
        let bits = 8 * u128::from(self.step_bytes) * u128::from(steps + 1);
        let after_ns = (bits * 1_000_000_000).div_ceil(u128::from(rate_bps));
        Some(u64::try_from(u128::from(first_ns) + after_ns).unwrap_or(u64::MAX))
    }

    /// Adds what a transfer that repeats counted, path by path.
    pub fn add(&mut self, tally: Tally) {
        match self.tallies.iter_mut().find(|known| known.path == tally.path) {
            Some(known) => known.add(tally),
            None => self.tallies.push(tally),
        }
    }
}
