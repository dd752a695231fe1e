//! A complete description of what is to be simulated. Python parses, fills in defaults and validates the scenario
//! file (docs/scenario-format.md) and hands over this, every quantity in its base unit. What belongs to a queue, a loss, a
//! middlebox, a medium or TCP is the settings of that, as their owners declare them.

pub use application::{Arrivals, Content as Application, Size};
pub use network::middlebox::{MiddleboxConfig, Way};
pub use network::{DisorderConfig, Limit, LossConfig, MediumConfig, QueueConfig};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

pub use transport::{LossDetection, Protocol, TcpOptions, WindowValidation};

type Table = serde_json::Map<String, serde_json::Value>;

/// One scenario, complete.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Virtual time at which the run ends.
    pub duration_ns: u64,
    /// Seed of the scenario; every seed, 0 too, is one.
    pub seed: u64,
    /// What `measure.warmup` leaves out of rates and losses.
    pub warmup_ns: u64,
    /// Distance of samples; none are taken when absent.
    pub sample_ns: Option<u64>,
    /// Encode, decode and compare every segment that is sent.
    pub through_wire: bool,
    /// Traces that directions of links name: the texts of files in Mahimahi's format.
    pub traces: Vec<String>,
    /// Half-duplex media that links may share.
    pub media: Vec<Medium>,
    /// Links.
    pub links: Vec<Link>,
    /// Paths over links.
    pub paths: Vec<Path>,
    /// Connections.
    pub connections: Vec<Connection>,
    /// Changes of links, in any order.
    pub events: Vec<Event>,
}

/// A half-duplex medium: of the directions of the links on it, one sends at a time.
#[derive(Clone, Debug)]
pub struct Medium {
    /// Name in the scenario.
    pub name: String,
    /// Its settings.
    pub config: MediumConfig,
}

impl<'de> Deserialize<'de> for Medium {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::deserialize(deserializer)?;
        Ok(Medium { name: own(&mut table, "name")?, config: algorithm::rest(table)? })
    }
}

/// A key of a table whose other keys belong to another type.
fn own<T: DeserializeOwned, E: Error>(table: &mut Table, key: &str) -> Result<T, E> {
    T::deserialize(table.remove(key).unwrap_or_default()).map_err(|error| E::custom(format!("{key}: {error}")))
}

/// A link with its two directions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name in the scenario.
    pub name: String,
    /// The medium that both directions share, an index into `media`.
    pub medium: Option<usize>,
    /// From the server's side to the client's.
    pub down: Direction,
    /// From the client's side to the server's.
    pub up: Direction,
    /// Boxes at its end on the server's side, the one nearest to the client first. What goes up passes them after the
    /// link, what goes down before it.
    pub middleboxes: Vec<MiddleboxConfig>,
    /// What its traffic costs; absent: nothing.
    #[serde(default)]
    pub metered: Option<Metered>,
}

/// What the traffic of a link costs. Only `backup` changes what happens.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metered {
    /// Price of 10⁹ bytes, in whatever currency.
    pub price_per_gb: f64,
    /// What the price or the contract holds for.
    pub cap_bytes: Option<u64>,
    /// Whether subflows from clients' addresses on this link are backups.
    pub backup: bool,
}

/// One direction of a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Capacity; 0 where there is a trace.
    pub rate_bps: u64,
    /// What it can send and when, an index into `traces`.
    pub trace: Option<usize>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Queue discipline.
    pub queue: QueueConfig,
    /// Loss on the wire.
    pub loss: LossConfig,
    /// A token bucket before it.
    pub shaper: Option<Shaper>,
    /// What happens to the times and the order of packets behind it.
    pub disorder: Option<DisorderConfig>,
}

/// A token bucket in front of a link (`network::BucketConfig`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// What it lets through on average.
    pub rate_bps: u64,
    /// What it lets through at once.
    pub burst_bytes: u64,
    /// Whether packets without tokens are dropped in place of queued.
    pub polices: bool,
    /// Where they are queued.
    pub queue: QueueConfig,
}

/// A path: links from the client's side to the server's, by index.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Name in the scenario.
    pub name: String,
    /// Indices into `links`.
    pub links: Vec<usize>,
    /// Which of them are crossed from their far end: there client to server is the direction down. Empty, or one for
    /// each of `links`.
    pub reversed: Vec<bool>,
}

impl Path {
    /// The directions of links that a packet crosses, in its order: link `l` of the description is `2 l` down and
    /// `2 l + 1` up. `down`: from the server's side to the client's.
    pub fn crossed(&self, down: bool) -> Vec<u32> {
        let upwards = self.links.iter().enumerate().map(|(position, &link)| {
            let reversed = self.reversed.get(position).copied().unwrap_or(false);
            2 * link as u32 + u32::from(!reversed)
        });
        if down { upwards.rev().map(|direction| direction ^ 1).collect() } else { upwards.collect() }
    }
}

/// `count` independent connections of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Name in the scenario.
    pub name: String,
    /// How many.
    pub count: u32,
    /// Indices into `paths`; the first opens the connection.
    pub paths: Vec<usize>,
    /// TCP or MPTCP.
    pub protocol: Protocol,
    /// Congestion control.
    pub congestion: Named,
    /// Scheduler.
    pub scheduler: Named,
    /// Path manager.
    pub path_manager: Named,
    /// What is sent.
    pub application: Application,
    /// Which way the data goes.
    pub direction: Way,
    /// Start, drawn uniformly from `[start_ns[0], start_ns[1]]` for each of the `count`; equal when not random.
    pub start_ns: [u64; 2],
    /// When the sender stops offering data; the connection then closes in order.
    pub stop_ns: Option<u64>,
    /// Maximum segment size as announced (TCP options take from it).
    pub mss_bytes: u16,
    /// Receive buffer; absent: automatic.
    pub receive_buffer_bytes: Option<u64>,
    /// Whether both ends offer explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Whether both ends ask for DSS checksums (RFC 8684 §3.3.1).
    pub checksum: bool,
    /// How TCP behaves at both ends, on each subflow.
    pub tcp: TcpOptions,
}

impl Connection {
    /// The client's addresses, by number, whose path begins with a link: those that an event of the link concerns.
    pub fn addresses_on<'c>(&'c self, description: &'c Description, link: usize) -> impl Iterator<Item = u8> + 'c {
        let begins = move |&path: &usize| description.paths[path].links.first() == Some(&link);
        // Numbers second: they end with the paths, of which there may be as many as an octet can count.
        self.paths.iter().zip(0..).filter(move |&(path, _)| begins(path)).map(|(_, id)| id)
    }

    /// Whether subflows from the client's address of this number are backups, because its path begins with a link that is
    /// metered so.
    pub fn is_backup(&self, description: &Description, address: usize) -> bool {
        let first = self.paths.get(address).and_then(|&path| description.paths[path].links.first());
        first.is_some_and(|&link| description.links[link].metered.is_some_and(|metered| metered.backup))
    }

    /// Whether one of its paths ends with an event.
    pub fn loses_path(&self, description: &Description, event: &Event) -> bool {
        event.set.ends_paths() && self.paths.iter().any(|&path| description.paths[path].links.contains(&event.link))
    }

    /// When its paths end, in order.
    pub fn path_ends_ns(&self, description: &Description) -> Vec<u64> {
        let ends = description.events.iter().filter(|event| self.loses_path(description, event));
        let mut at_ns: Vec<u64> = ends.map(|event| event.at_ns).collect();
        at_ns.sort_unstable();
        at_ns
    }

    /// What its applications are.
    pub fn kind(&self) -> application::Kind<'_> {
        application::Kind {
            name: &self.name,
            count: self.count,
            content: self.application.clone(),
            sender: sender(self.direction),
            start_ns: self.start_ns,
            stop_ns: self.stop_ns,
        }
    }
}

/// An algorithm by its name, with its parameters.
#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    /// Name as in `mptcplab list`.
    pub name: String,
    /// Parameters that the name takes.
    #[serde(flatten)]
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

/// The end that sends what goes this way.
pub fn sender(way: Way) -> usize {
    match way {
        Way::Up => application::CLIENT,
        Way::Down => application::SERVER,
    }
}

/// A change of a link at a moment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When.
    pub at_ns: u64,
    /// Index into `links`.
    pub link: usize,
    /// Whether the server-to-client direction changes.
    pub down: bool,
    /// Whether the client-to-server direction changes.
    pub up: bool,
    /// What changes.
    pub set: Change,
}

impl Change {
    /// Whether the paths over the link end with it.
    pub fn ends_paths(&self) -> bool {
        self.link.dead == Some(true) || self.address == Some(false)
    }
}

/// What an event sets; what is absent stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Of the link itself.
    pub link: network::Change,
    /// New rate of the shaper before it; 0 lets everything pass.
    pub shaper_bps: Option<u64>,
    /// False: clients whose path begins with this link lose their address on it; true: they have it again.
    pub address: Option<bool>,
    /// True: clients whose path begins with this link ask for it to be a backup (MP_PRIO); false: no longer.
    pub backup: Option<bool>,
}

impl From<network::Change> for Change {
    fn from(link: network::Change) -> Self {
        Change { link, ..Change::default() }
    }
}

impl<'de> Deserialize<'de> for Change {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::deserialize(deserializer)?;
        Ok(Change {
            shaper_bps: own(&mut table, "shaper_bps")?,
            address: own(&mut table, "address")?,
            backup: own(&mut table, "backup")?,
            link: algorithm::rest(table)?,
        })
    }
}
