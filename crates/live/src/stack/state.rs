//! The state of a connection, for programs.

use serde::Serialize;
use transport::{Connection, SubflowId};

use super::chunk::Chunk;

/// A subflow.
#[derive(Clone, Debug, Serialize)]
pub struct SubflowState {
    /// Our address and port.
    pub local: String,
    /// The peer's.
    pub remote: String,
    /// Whether it may carry new data.
    pub active: bool,
    /// Whether either side wants it as a backup.
    pub backup: bool,
    /// Congestion window, segments.
    pub cwnd_segments: f64,
    /// Smoothed RTT, seconds; 0 before the first sample.
    pub srtt_s: f64,
    /// Data segments sent, retransmissions counted.
    pub segments_sent: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Segments with data that another subflow had carried.
    pub reinjections: u64,
    /// Data segments received.
    pub segments_received: u64,
    /// Bytes of the stream that arrived first by this subflow.
    pub bytes_received: u64,
}

/// A connection.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionState {
    /// Whether MPTCP was asked for and TCP is spoken.
    pub fallback: bool,
    /// Whether it is over.
    pub over: bool,
    /// Bytes of the peer's stream that are in order.
    pub bytes_received: u64,
    /// Bytes that were written and are not acknowledged.
    pub bytes_unacknowledged: u64,
    /// Subflows in the order they were opened.
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
