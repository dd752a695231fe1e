//! The link emulator: the links, queues, loss and events of a scenario between TUN devices, by the machine's clock.
//!
//! One thread takes packets from the devices, moves them over the links of crate `network` and hands them over when a
//! link says so. A packet goes on to its next link at the moment the link before *says*, not at the moment this thread
//! came to it, so that lateness does not add up from hop to hop; what is left is how late packets are handed over at the
//! end, which is measured for each of them ([`Report::lateness`]).
//!
//! The thread asks for SCHED_FIFO and for idle states without latency, sleeps in `epoll_pwait2` and never spins.

mod boxes;
mod capture;
mod emulated_links;
mod header;
mod lateness;
mod pool;
mod thread;

use std::io;
use std::net::IpAddr;

use scenario::outcome::{Link, LinkSamples};

use crate::tun::Tun;
pub use boxes::Translations;
pub use capture::{Asked, Captures};
pub use header::FlowKey;
pub use lateness::Summary as Lateness;
pub use thread::Running;

/// The devices that packets come in and leave by, and their ways over the paths of a description.
#[derive(Debug)]
pub struct Network {
    /// In the order that routes count them.
    pub ports: Vec<Port>,
    /// The largest packet that any of them takes, in bytes: the largest MTU.
    pub packet_bytes: usize,
    /// Captures of what passes them.
    pub captures: Captures,
    /// Clients behind NATs, as they become known.
    pub translations: Translations,
}

/// One device.
#[derive(Debug)]
pub struct Port {
    /// It.
    pub tun: Tun,
    /// Destinations of packets from it; others are counted and dropped.
    pub routes: Vec<Route>,
    /// Whether packets from it came in by another device before, and were counted there.
    pub inner: bool,
}

/// Where packets to one address go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The packet's destination.
    pub destination: IpAddr,
    /// Index into the description's paths; `None`: the packet goes straight to the port, over no link.
    pub path: Option<usize>,
    /// Whether the path is crossed from the server's side to the client's.
    pub down: bool,
    /// Index of the port that they leave by.
    pub port: usize,
}

/// Segments with data of one flow that came in after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FlowCount {
    /// Its ends; the client's is its own, also where a NAT shows servers another.
    pub key: FlowKey,
    /// How many came in.
    pub data_sent: u64,
    /// How many of those were lost.
    pub data_lost: u64,
}

/// Results of an emulation.
#[derive(Clone, Debug)]
pub struct Report {
    /// Directions of links in the description's order: down, then up.
    pub links: Vec<Link>,
    /// Samples of them.
    pub link_samples: LinkSamples,
    /// Data segments and their losses, flow by flow.
    pub flows: Vec<FlowCount>,
    /// How late packets were handed over.
    pub lateness: Lateness,
    /// Packets that came in.
    pub received: u64,
    /// Packets that no route was found for.
    pub unrouted: u64,
    /// Packets that a host did not take: its interface was down, or it had no memory.
    pub refused: u64,
    /// CPU time of the thread in nanoseconds; what the kernel does with a packet while it is handed over is in it.
    pub cpu_ns: u64,
    /// Whether the thread was scheduled as real-time.
    pub real_time: bool,
}

/// Why there is no emulation.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The network does not fit the description.
    #[error("{0}")]
    Invalid(String),
    /// The machine refuses.
    #[error("emulator: {0}")]
    Machine(#[from] io::Error),
}
