//! The state of a connection, for programs.

use serde::Serialize;
use transport::{Connection, SubflowId};

use super::chunk::Chunk;

/// A subflow.
#[derive(Clone, Debug, Serialize)]
pub struct SubflowState {
    /// Our address and port.
    pub local: String,
    /// The peer's address and port.
    pub remote: String,
    /// Whether it may carry new data.
    pub active: bool,
    /// Whether either side requested backup priority.
    pub backup: bool,
    /// Congestion window in segments.
    pub cwnd_segments: f64,
    /// Smoothed RTT in seconds; 0 before the first sample.
    pub srtt_s: f64,
    /// Data segments sent, including retransmissions.
    pub segments_sent: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Segments with data that another subflow had carried before.
    pub reinjections: u64,
    /// Data segments received.
    pub segments_received: u64,
    /// Bytes of the stream that arrived first on this subflow.
    pub bytes_received: u64,
}

/// A connection.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionState {
    /// Whether MPTCP was requested but fell back to TCP.
    pub fallback: bool,
    /// Whether the connection is over.
    pub over: bool,
    /// Bytes of the peer's stream received in order.
    pub bytes_received: u64,
    /// Bytes written and not acknowledged.
    pub bytes_unacknowledged: u64,
    /// Subflows in the order in which they were opened.
    pub subflows: Vec<SubflowState>,
}

impl ConnectionState {
    pub(super) fn of(connection: &Connection<Chunk>) -> Self {
        let subflow = |number: usize| {
            let id = SubflowId(number as u8);
            let (tuple, view) = (connection.tuple(id), &connection.views()[number]);
            let statistics = connection.statistics(id);
            SubflowState {
                local: tuple.local.to_string(),
                remote: tuple.remote.to_string(),
                active: view.active,
                backup: view.backup,
                cwnd_segments: statistics.cwnd_segments,
                srtt_s: statistics.srtt_ns as f64 / 1e9,
                segments_sent: statistics.data_segments_sent,
                retransmissions: statistics.retransmissions,
                timeouts: statistics.timeouts,
                reinjections: statistics.reinjections,
                segments_received: statistics.data_segments_received,
                bytes_received: statistics.new_bytes_received,
            }
        };
        ConnectionState {
            fallback: connection.is_fallback(),
            over: connection.is_over(),
            bytes_received: connection.bytes_in_order(),
            bytes_unacknowledged: connection.bytes_unacknowledged(),
            subflows: (0..connection.subflow_count()).map(subflow).collect(),
        }
    }
}
