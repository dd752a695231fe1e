//! The outcome of a simulation. Python converts it to the names and units of the Result (docs/results.md).

pub use application::outcome::{Connection, Subflow, SubflowSamples, Transfers};
use serde::Serialize;

/// The outcome of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Connections in the scenario's order, `count` of each kind.
    pub connections: Vec<Connection>,
    /// Links in the scenario's order: down, then up.
    pub links: Vec<Link>,
    /// Samples of subflows, ordered by time.
    pub subflow_samples: SubflowSamples,
    /// Samples of links, ordered by time.
    pub link_samples: LinkSamples,
    /// Counters of the simulator's work.
    pub work: Work,
}

/// One direction of a link, without the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Index into the description's links.
    pub link: usize,
    /// True for server to client.
    pub down: bool,
    /// Bytes sent divided by the capacity.
    pub utilization: f64,
    /// Packets lost in the queue and on the wire, divided by the packets that arrived or waited at the end of the
    /// warm-up.
    pub loss_rate: Option<f64>,
    /// Packets lost, in the queue and on the wire.
    pub drops: u64,
    /// Time-weighted mean number of packets in the queue, including the one being sent.
    pub queue_mean_packets: f64,
    /// Maximum number of packets in the queue.
    pub queue_max_packets: u64,
    /// Bytes sent in the whole run, including the warm-up.
    pub bytes_sent: u64,
    /// Bytes that arrived while the link was down, or were queued when it went down, in the whole run.
    pub dead_bytes: u64,
}

/// Samples of links, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkSamples {
    /// End of the sampling interval.
    pub time_s: Vec<f64>,
    /// Index into `Outcome::links`.
    pub link: Vec<u32>,
    /// Packets in the queue.
    pub queue_packets: Vec<u32>,
    /// Bytes in the queue.
    pub queue_bytes: Vec<u64>,
    /// Bytes sent in the interval divided by the capacity.
    pub utilization: Vec<f64>,
    /// Packets lost in the interval.
    pub drops: Vec<u32>,
}

/// Counters for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Packets, data or ACK, that crossed a queue and its link.
    pub packet_hops: u64,
    /// Data segments that reached the receiving host.
    pub segments_delivered: u64,
    /// Events taken from the event queue.
    pub events: u64,
}
