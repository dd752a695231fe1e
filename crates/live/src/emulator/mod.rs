//! The link emulator: runs the links, queues, losses and events of a scenario between TUN devices, in real time.
//!
//! One thread reads packets from the devices, moves them over the links of crate `network` and hands them over at the
//! time that a link computes. A packet moves to its next link at the time the previous link *computed*, not when this
//! thread got to it, so that lateness does not accumulate from hop to hop. What remains is the lateness of the final
//! hand-over, which is measured for each packet ([`Report::lateness`]).
//!
//! The thread requests SCHED_FIFO and processor idle states without latency, sleeps in `epoll_pwait2` and never spins.

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

/// The devices that packets enter and leave by, and their routes over the paths of a description.
#[derive(Debug)]
pub struct Network {
    /// The ports, in the order in which routes number them.
    pub ports: Vec<Port>,
    /// The largest packet that any port accepts, in bytes: the largest MTU.
    pub packet_bytes: usize,
    /// Captures of the packets at the ports.
    pub captures: Captures,
    /// The clients behind NATs found so far.
    pub translations: Translations,
}

/// A device of the emulator.
#[derive(Debug)]
pub struct Port {
    /// The TUN device.
    pub tun: Tun,
    /// Routes by destination. Packets to other destinations are counted and dropped.
    pub routes: Vec<Route>,
    /// Whether its packets came in by another device before and were counted there.
    pub inner: bool,
}

/// The route of packets to one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Destination address of the packets.
    pub destination: IpAddr,
    /// Index into the description's paths; `None` if the packets go straight to the port, over no link.
    pub path: Option<usize>,
    /// Whether the path is crossed from the server's side to the client's.
    pub down: bool,
    /// Index of the outgoing port.
    pub port: usize,
}

/// Data segments of one flow that came in after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FlowCount {
    /// Ends of the flow, with the client's own address even if a NAT shows servers another.
    pub key: FlowKey,
    /// Data segments that came in.
    pub data_sent: u64,
    /// How many of these were lost.
    pub data_lost: u64,
}

/// Results of an emulation.
#[derive(Clone, Debug)]
pub struct Report {
    /// Directions of links in the description's order: down, then up.
    pub links: Vec<Link>,
    /// Samples of the links.
    pub link_samples: LinkSamples,
    /// Data segments and their losses, flow by flow.
    pub flows: Vec<FlowCount>,
    /// How it went.
    pub quality: Quality,
}

/// How the emulation went.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Quality {
    /// Lateness of the packets.
    pub lateness: Lateness,
    /// Packets that hosts sent.
    pub received: u64,
    /// Packets without a route.
    pub unrouted: u64,
    /// Packets that a host did not accept because its interface was down or it had no memory.
    pub refused: u64,
    /// CPU time of the thread in nanoseconds, including what the kernel does with a packet during its hand-over.
    pub cpu_ns: u64,
    /// Whether the thread had a real-time priority.
    pub real_time: bool,
}

/// Why an emulation failed.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    /// The network does not fit the description.
    #[error("{0}")]
    Invalid(String),
    /// A system call failed.
    #[error("emulator: {0}")]
    Machine(#[from] io::Error),
}
