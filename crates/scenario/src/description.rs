//! A complete description of a run. Python parses and validates the scenario file (docs/scenario-format.md), fills in
//! defaults and passes this, with every quantity in its base unit. The settings of queues, losses, middleboxes, media
//! and TCP are those that their crates declare.

pub use application::{Arrivals, Content as Application, Size, Stage};
pub use network::middlebox::{MiddleboxConfig, Way};
pub use network::{DisorderConfig, Limit, LossConfig, MediumConfig, QueueConfig};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::kernel_paths::KernelPaths;

pub use transport::{LossDetection, Protocol, TcpOptions, WindowValidation};

type Table = serde_json::Map<String, serde_json::Value>;

/// A complete scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Virtual time at which the run ends.
    pub duration_ns: u64,
    /// Seed of the scenario. Every value is valid, including 0.
    pub seed: u64,
    /// The warm-up (`measure.warmup`), which rates and losses exclude.
    pub warmup_ns: u64,
    /// Sampling interval; no samples are taken if absent.
    pub sample_ns: Option<u64>,
    /// Whether to encode, decode and compare every segment sent.
    pub through_wire: bool,
    /// Traces that directions of links refer to: the contents of files in Mahimahi's format.
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

/// A half-duplex medium: only one direction of the links on it sends at a time.
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

/// Removes and parses a key of a table whose other keys belong to another type.
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
    /// The direction from the server's side to the client's.
    pub down: Direction,
    /// The direction from the client's side to the server's.
    pub up: Direction,
    /// Middleboxes at its server-side end, the one nearest to the client first. Packets pass them after the link on the
    /// way up, and before it on the way down.
    pub middleboxes: Vec<MiddleboxConfig>,
    /// Cost of its traffic; free if absent.
    #[serde(default)]
    pub metered: Option<Metered>,
}

/// The cost of a link's traffic. Only `backup` affects the run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metered {
    /// Price of 10⁹ bytes, in any currency.
    pub price_per_gb: f64,
    /// Volume to which the price or the contract applies.
    pub cap_bytes: Option<u64>,
    /// Whether subflows from clients' addresses on this link are backups.
    pub backup: bool,
}

/// One direction of a link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Capacity; 0 if there is a trace.
    pub rate_bps: u64,
    /// Sending opportunities, an index into `traces`.
    pub trace: Option<usize>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Queue discipline.
    pub queue: QueueConfig,
    /// Loss on the wire.
    pub loss: LossConfig,
    /// The token bucket before it.
    pub shaper: Option<Shaper>,
    /// Jitter, reordering and duplication after it.
    pub disorder: Option<DisorderConfig>,
}

/// A token bucket before a link (`network::BucketConfig`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// Average rate.
    pub rate_bps: u64,
    /// Maximum burst.
    pub burst_bytes: u64,
    /// Whether packets without tokens are dropped rather than queued.
    pub polices: bool,
    /// The queue before the bucket.
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
    /// Which of the links are crossed in reverse, so that client to server is their direction down. Empty, or one entry
    /// per link.
    pub reversed: Vec<bool>,
}

impl Path {
    /// The directions of links that a packet crosses, in order: link `l` of the description is `2 l` down and `2 l + 1`
    /// up. `down` means from the server's side to the client's.
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
    /// Number of connections.
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
    /// The data to transfer.
    pub application: Application,
    /// Direction of the data.
    pub direction: Way,
    /// Range from which each of the `count` start times is drawn uniformly; both ends are equal if not random.
    pub start_ns: [u64; 2],
    /// When the sender stops offering data; the connection then closes in order.
    pub stop_ns: Option<u64>,
    /// When the receiver reads, and how fast; everything as it comes if empty.
    #[serde(default)]
    pub reading: Vec<Stage>,
    /// Maximum segment size as announced; TCP options reduce the payload.
    pub mss_bytes: u16,
    /// Receive buffer; auto-tuned if absent.
    pub receive_buffer_bytes: Option<u64>,
    /// Whether both ends offer explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Whether both ends request DSS checksums (RFC 8684 §3.3.1).
    pub checksum: bool,
    /// TCP options of both ends, for each subflow.
    pub tcp: TcpOptions,
    /// What the path manager `linux` is told; absent for the others.
    #[serde(default)]
    pub kernel_paths: Option<KernelPaths>,
}

impl Connection {
    /// The ids of the client's addresses whose path begins with a link, to which the link's events apply.
    pub fn addresses_on<'c>(&'c self, description: &'c Description, link: usize) -> impl Iterator<Item = u8> + 'c {
        let begins = move |&path: &usize| description.paths[path].links.first() == Some(&link);
        self.paths.iter().enumerate().filter(move |&(_, path)| begins(path)).map(move |(place, _)| self.local_id(place))
    }

    /// The address id of the client's address on the path at this place among the connection's paths.
    pub fn local_id(&self, place: usize) -> u8 {
        // There may be as many paths as an octet can count.
        self.kernel_paths.as_ref().map_or(place as u8, |told| told.client.id(place))
    }

    /// Whether subflows from the client's address with this number are backups because the first link of its path is
    /// metered as such.
    pub fn is_backup(&self, description: &Description, address: usize) -> bool {
        if let Some(told) = &self.kernel_paths {
            // The first subflow becomes one by MP_PRIO.
            return address > 0 && told.client.is_backup(address);
        }
        let first = self.paths.get(address).and_then(|&path| description.paths[path].links.first());
        first.is_some_and(|&link| description.links[link].metered.is_some_and(|metered| metered.backup))
    }

    /// Whether an event ends one of its paths.
    pub fn loses_path(&self, description: &Description, event: &Event) -> bool {
        event.set.ends_paths() && self.paths.iter().any(|&path| description.paths[path].links.contains(&event.link))
    }

    /// The times at which its paths end, in order.
    pub fn path_ends_ns(&self, description: &Description) -> Vec<u64> {
        let ends = description.events.iter().filter(|event| self.loses_path(description, event));
        let mut at_ns: Vec<u64> = ends.map(|event| event.at_ns).collect();
        at_ns.sort_unstable();
        at_ns
    }

    /// The applications of this kind of connection.
    pub fn kind(&self) -> application::Kind<'_> {
        application::Kind {
            name: &self.name,
            count: self.count,
            content: self.application.clone(),
            sender: sender(self.direction),
            start_ns: self.start_ns,
            stop_ns: self.stop_ns,
            reading: &self.reading,
        }
    }
}

/// An algorithm by name, with its parameters.
#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    /// Name as in `mptcplab list`.
    pub name: String,
    /// Parameters of the algorithm.
    #[serde(flatten)]
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

/// The end that sends data in this direction.
pub fn sender(way: Way) -> usize {
    match way {
        Way::Up => application::CLIENT,
        Way::Down => application::SERVER,
    }
}

/// A change of a link at a given time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Time of the change.
    pub at_ns: u64,
    /// Index into `links`.
    pub link: usize,
    /// Whether the server-to-client direction changes.
    pub down: bool,
    /// Whether the client-to-server direction changes.
    pub up: bool,
    /// The change.
    pub set: Change,
}

impl Change {
    /// Whether the change ends the paths over the link.
    pub fn ends_paths(&self) -> bool {
        self.link.dead == Some(true) || self.address == Some(false)
    }
}

/// A change by an event; absent values stay unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// Change of the link itself.
    pub link: network::Change,
    /// New rate of the shaper before it; 0 means unlimited.
    pub shaper_bps: Option<u64>,
    /// False: clients whose path begins with this link lose their address on it. True: they regain it.
    pub address: Option<bool>,
    /// True: clients whose path begins with this link request backup priority for it (MP_PRIO). False: they withdraw
    /// that.
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
