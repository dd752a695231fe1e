//! What a simulation returns. Python gives it the names and units of the Result (docs/results.md).

pub use application::outcome::{Connection, Subflow, SubflowSamples, Transfers};
use serde::Serialize;

/// The outcome of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Connections, in the scenario's order, `count` of each.
    pub connections: Vec<Connection>,
    /// Links in the scenario's order: down, then up.
    pub links: Vec<Link>,
    /// Samples of subflows, ordered by time.
    pub subflow_samples: SubflowSamples,
    /// Samples of links, ordered by time.
    pub link_samples: LinkSamples,
    /// What the simulator did.
    pub work: Work,
}

/// One direction of a link; warm-up left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// Index into the description's links.
    pub link: usize,
    /// True for server to client.
    pub down: bool,
    /// Bytes sent over what the capacity allowed.
    pub utilization: f64,
    /// Packets lost, in the queue and on the wire, over packets that arrived or waited when the warm-up ended.
    pub loss_rate: Option<f64>,
    /// Packets lost, in the queue and on the wire.
    pub drops: u64,
    /// Time-weighted mean of the packets in the queue, the one being sent counted.
    pub queue_mean_packets: f64,
    /// The most there were.
    pub queue_max_packets: u64,
    /// Bytes sent in the whole run, warm-up included.
    pub bytes_sent: u64,
    /// Bytes that came while it was dead, or were in its queue when it died, in the whole run.
    pub dead_bytes: u64,
}

/// Samples of links as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkSamples {
    /// End of the interval.
    pub time_s: Vec<f64>,
    /// Index into `Outcome::links`.
    pub link: Vec<u32>,
    /// Packets in the queue.
    pub queue_packets: Vec<u32>,
    /// Bytes in the queue.
    pub queue_bytes: Vec<u64>,
    /// Bytes sent in the interval over what the capacity allowed.
    pub utilization: Vec<f64>,
    /// Packets lost in the interval.
    pub drops: Vec<u32>,
}

/// Counters for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// One packet, data or ACK, over one queue and its link.
    pub packet_hops: u64,
    /// Data segments that reached the receiving host.
    pub segments_delivered: u64,
    /// Events taken from the event queue.
    pub events: u64,
}
