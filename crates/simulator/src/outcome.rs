//! What a simulation answers. Python gives it the names and units of the Result (docs/results.md).

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

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// Index into the description's connections.
    pub kind: usize,
    /// 0 to count − 1.
    pub index: u32,
    /// When it started.
    pub start_s: f64,
    /// In-order application bytes per second received after warm-up, while the connection was active.
    pub goodput_bps: Option<f64>,
    /// In-order application bytes received from start to end.
    pub bytes_delivered: u64,
    /// From start to the arrival of the last byte; absent while there is more to come.
    pub completion_s: Option<f64>,
    /// Mean over bytes of the time between a byte's arrival and its in-order delivery.
    pub out_of_order_delay_mean_s: Option<f64>,
    /// Its 95th percentile.
    pub out_of_order_delay_p95_s: Option<f64>,
    /// Whether MPTCP fell back to TCP.
    pub fallback: bool,
    /// Whether its stream has come to its end or it has failed; of `requests` and `flows`, all those that are there.
    pub ended: bool,
    /// Of `requests` and `flows`, each of which has a connection of its own: those begun after the warm-up.
    pub transfers: Option<Transfers>,
    /// Subflows in the order they were opened; of `requests` and `flows` one for each path, with all that crossed it.
    pub subflows: Vec<Subflow>,
}

/// Requests or flows; the columns, of equal length and ordered by completion, are those that became complete.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transfers {
    /// How many were begun.
    pub begun: u64,
    /// When each began.
    pub start_s: Vec<f64>,
    /// Its size.
    pub size_bytes: Vec<u64>,
    /// From its start, when its connection is opened, to the arrival of its last byte.
    pub completion_s: Vec<f64>,
}

/// One subflow. Counters are of the data sender; rates and losses leave out the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subflow {
    /// Index into the description's paths.
    pub path: usize,
    /// New application bytes per second that arrived by this subflow.
    pub goodput_bps: Option<f64>,
    /// Its part of the connection's bytes, in [0, 1].
    pub share: Option<f64>,
    /// Data segments sent, retransmissions counted.
    pub segments_sent: u64,
    /// Retransmissions on the subflow.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Segments that carried data sent before on another subflow.
    pub reinjections: u64,
    /// Data segments lost in the network over data segments sent.
    pub loss_rate: Option<f64>,
    /// Mean of the RTT samples.
    pub rtt_mean_s: Option<f64>,
    /// Time-weighted mean of the congestion window.
    pub cwnd_mean_segments: Option<f64>,
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
}

/// Samples of subflows as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubflowSamples {
    /// End of the interval.
    pub time_s: Vec<f64>,
    /// Index into `Outcome::connections`.
    pub connection: Vec<u32>,
    /// Index into its subflows.
    pub subflow: Vec<u32>,
    /// New application bytes that arrived by this subflow, per second of the interval.
    pub goodput_bps: Vec<f64>,
    /// Congestion window in segments.
    pub cwnd_segments: Vec<f64>,
    /// Smoothed RTT; NaN before the first sample.
    pub srtt_s: Vec<f64>,
    /// Segments in flight.
    pub in_flight_segments: Vec<u32>,
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
