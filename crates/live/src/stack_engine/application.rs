//! What opens connections: one for `bulk`, `file` and `rate`, one after another for `requests` and `flows`.

use simulator::arrivals::ArrivalProcess;
use simulator::description::{Application as Content, Connection, Description, Way};
use simulator::outcome::Transfers;
use simulator::random;
use transport::DelayHistogram;

use super::marks::Tally;
use super::transfer::{Amount, CLIENT, SERVER};

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
    /// Its transfers; those of one that repeats leave when they are over.
    pub transfers: Vec<usize>,
    /// Of one that repeats: what the transfers that left have counted, by path.
    pub tallies: Vec<Tally>,
    pub delays: DelayHistogram,
    pub bytes_read: u64,
    pub warm_bytes: u64,
    pub last_read_ns: u64,
    pub fallback: bool,
    pub done: Transfers,
    pub arrivals: Option<ArrivalProcess>,
    /// Of `rate`: when its first step was offered, and how many since.
    pub steps: Option<(u64, u64)>,
    /// By path: bytes at the last sample; of one that repeats.
    pub sampled: Vec<u64>,
}

impl Application {
    /// All of a description. The same seed gives the same starts, arrivals and sizes as in virtual time.
    pub fn all(description: &Description) -> Vec<Application> {
        let kinds = description.connections.iter().enumerate();
        kinds
            .flat_map(|(kind, each)| (0..each.count).map(move |n| Application::new(description, kind, each, n)))
            .collect()
    }

    fn new(description: &Description, kind: usize, connection: &Connection, index: u32) -> Application {
        let name = format!("connection/{}/{index}", connection.name);
        let seed = description.seed;
        let start_ns = random::uniform_ns(&mut random::generator(seed, &format!("{name}/start")), connection.start_ns);
        let limit_ns = match connection.application {
            Content::Requests { limit_ns, .. } => limit_ns.map(|limit_ns| start_ns.saturating_add(limit_ns)),
            _ => None,
        };
        let arrivals = match connection.application {
            Content::Flows { size, arrivals } => Some(ArrivalProcess::new(seed, &name, start_ns, size, arrivals)),
            _ => None,
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
            delays: DelayHistogram::default(),
            bytes_read: 0,
            warm_bytes: 0,
            last_read_ns: start_ns,
            fallback: false,
            done: Transfers::default(),
            arrivals,
            steps: None,
            sampled: Vec::new(),
        }
    }

    /// Whether it opens one connection after another.
    pub fn repeats(&self) -> bool {
        self.content.repeats()
    }

    /// What its first or only transfer sends; a flow's size is drawn when it comes.
    pub fn amount(&self) -> Amount {
        match self.content {
            Content::Bulk => Amount::Endless,
            Content::File { size_bytes } | Content::Requests { size_bytes, .. } => Amount::Bytes(size_bytes),
            Content::Rate { .. } => Amount::Steps,
            Content::Flows { .. } => Amount::Bytes(0),
        }
    }

    /// When the next step of a rate, `bytes` each, is due: when the rate has made up for all before.
    pub fn next_step_ns(&self, bytes: u64) -> Option<u64> {
        let (Content::Rate { rate_bps }, Some((first_ns, steps))) = (self.content, self.steps) else { return None };
        let bits = 8 * u128::from(bytes) * u128::from(steps + 1);
        let after_ns = (bits * 1_000_000_000).div_ceil(u128::from(rate_bps));
        Some(u64::try_from(u128::from(first_ns) + after_ns).unwrap_or(u64::MAX))
    }

    /// Adds what a transfer that repeats counted.
    pub fn add(&mut self, tally: Tally) {
        match self.tallies.iter_mut().find(|known| known.path == tally.path) {
            Some(known) => known.add(tally),
            None => self.tallies.push(tally),
        }
    }
}
