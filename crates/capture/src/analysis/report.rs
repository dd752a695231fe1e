//! The result of an analysis. Times in seconds count from the first TCP packet of all captures. *Up* is the direction
//! from the client, which opened the connection, to the server.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The analysis of related captures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Analysis {
    /// The files read.
    pub files: Vec<File>,
    /// The interfaces on which TCP was seen.
    pub interfaces: Vec<String>,
    /// Time of the first TCP packet in nanoseconds, usually since 1970.
    pub start_ns: Option<u64>,
    /// Time from the first TCP packet to the last.
    pub duration_s: f64,
    /// Corrections of the interfaces' clocks, so that no packet is seen before it was sent.
    pub clocks: Vec<Clock>,
    /// The connections in order of start time.
    pub connections: Vec<Connection>,
    /// Segment by segment.
    #[serde(skip)]
    pub series: Series,
}

/// A capture file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct File {
    /// Name of the file.
    pub name: String,
    /// Number of packets.
    pub packets: u64,
    /// Number of TCP packets.
    pub tcp: u64,
    /// Number of other packets.
    pub other: u64,
    /// Kinds of these packets, with the number of each.
    pub not_read: BTreeMap<&'static str, u64>,
    /// Packets contained twice because two interfaces of one host saw them; they count once.
    pub duplicates: u64,
    /// Packets with IP length 0 (before segmentation offload, or BIG TCP), for which the length of the frame was used.
    pub lengths_of_frames: u64,
    /// Packets whose IP length exceeds the frame; the length in the header was used.
    pub lengths_beyond_frames: u64,
    /// How often the clock was set during the capture.
    pub clock_was_set: u64,
    /// The first of these clock steps.
    pub clock_steps: Vec<ClockStep>,
    /// Fragments of IP packets, which are not reassembled.
    pub fragments: u64,
    /// TCP packets that cannot be decoded because they are cut or malformed.
    pub undecoded: u64,
    /// The first decoding error.
    pub first_error: Option<String>,
    /// Packets with wrong checksums: corruption, or checksum offload.
    pub wrong_checksums: u64,
    /// Link types that are not supported.
    pub unknown_links: BTreeSet<u32>,
    /// Where the file is truncated or damaged.
    pub damage: Option<String>,
}

/// A step of a clock; times continue across it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClockStep {
    /// The first packet with the new time, counted from 1.
    pub packet: u64,
    /// Size of the step, positive if forward.
    pub step_s: f64,
}

/// A clock that differs from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Clock {
    /// Index into the interfaces.
    pub interface: u32,
    /// How far the clock is ahead.
    pub ahead_s: f64,
}

/// A connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Connection {
    /// `mptcp` or `tcp`.
    pub protocol: &'static str,
    /// Version of MPTCP: 0 (RFC 6824) or 1 (RFC 8684); `None` for TCP, or if no handshake was captured.
    pub version: Option<u8>,
    /// Whether the beginning was captured.
    pub complete: bool,
    /// Address and port of the end that opened the connection.
    pub client: String,
    /// Address and port of the other end.
    pub server: String,
    /// Token of the client's key, eight hexadecimal digits.
    pub client_token: Option<String>,
    /// Token of the server's key.
    pub server_token: Option<String>,
    /// Whether either side asked for DSS checksums.
    pub checksum: bool,
    /// Time of the first packet.
    pub start_s: f64,
    /// Time of the last packet.
    pub end_s: f64,
    /// When and why the connection fell back to TCP.
    pub fallback: Option<Fallback>,
    /// The shortest round trip observed.
    pub round_trip_s: Option<f64>,
    /// How the connection ended.
    pub closing: String,
    /// The two directions: up, then down.
    pub streams: Vec<Stream>,
    /// Subflows in order of start time.
    pub subflows: Vec<Subflow>,
    /// Address advertisements, priority changes, failures and closings.
    pub events: Vec<Event>,
}

/// Fallback to TCP (RFC 8684 §3.7).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fallback {
    /// When the fallback became visible.
    pub time_s: f64,
    /// The reason.
    pub reason: String,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stream {
    /// `up` or `down`.
    pub direction: &'static str,
    /// Bytes delivered: received in order if the receiver's side was captured, else acknowledged. The sum of the
    /// subflows' bytes; with several subflows, plus `missed_bytes`.
    pub bytes: u64,
    /// Bytes delivered in the requested time window.
    pub window_bytes: u64,
    /// The part of the window in which the connection was active, up to the delivery of its last byte.
    pub span_s: f64,
    /// `window_bytes` over `span_s`; `None` if the span is shorter than a round trip.
    pub goodput_bps: Option<f64>,
    /// Bytes acknowledged.
    pub acknowledged_bytes: u64,
    /// Bytes in the capture beyond `bytes`: sent but not acknowledged, or received after a gap.
    pub outstanding_bytes: u64,
    /// Data segments sent, including retransmissions.
    pub segments_sent: u64,
    /// Segments that TCP retransmitted on their own subflow.
    pub retransmissions: u64,
    /// Segments with data sent before under other subflow sequence numbers, usually on another subflow.
    pub reinjections: u64,
    /// Time from sending data to its DATA_ACK (for TCP, its ACK), for data sent once only; `None` without the sender's
    /// side.
    pub data_ack_rtt: Option<Spread>,
    /// Time from the arrival of a byte to that of all earlier bytes, over bytes; `None` without the receiver's side.
    pub out_of_order_delay: Option<Spread>,
    /// Bytes acknowledged but absent from the capture.
    pub missed_bytes: u64,
    /// Bytes that no mapping covers.
    pub unmapped_bytes: u64,
    /// Longest time without delivery, from the first byte to the last, or to the connection's end if bytes are
    /// outstanding.
    pub longest_silence_s: Option<f64>,
    /// When this silence ended.
    pub silence_end_s: Option<f64>,
    /// Longest time for which the DATA_ACK stood still although the receiver had acknowledged what comes next on its
    /// subflow, up to the last packet that says so; `None` without the receiver's side.
    pub longest_data_ack_stall_s: Option<f64>,
    /// When it ended.
    pub data_ack_stall_end_s: Option<f64>,
    /// Retransmissions after a silence, as caused by a retransmission timeout; `None` without the sender's side.
    pub timeouts: Option<u64>,
}

/// A subflow; plain TCP has one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Subflow {
    /// Address and port at the client.
    pub client: String,
    /// Address and port at the server.
    pub server: String,
    /// The side that opened it: `client` or `server`.
    pub opened_by: &'static str,
    /// Time of the first packet.
    pub start_s: f64,
    /// Time of the last packet.
    pub end_s: f64,
    /// Address identifiers, client first.
    pub address_ids: [Option<u8>; 2],
    /// Whether either side requested backup priority when the subflow was opened.
    pub backup: bool,
    /// `valid`, `wrong`, `unknown` (the handshakes were not captured completely), or `None` for a first subflow.
    pub join_hmac: Option<&'static str>,
    /// Number of RSTs.
    pub resets: u64,
    /// Time from the SYN to the third packet of the handshake; `None` if a SYN was sent twice (Karn's algorithm).
    pub handshake_rtt_s: Option<f64>,
    /// Where the subflow was seen: indices into the interfaces.
    pub seen_at: Vec<u32>,
    /// How the subflow ended.
    pub closing: String,
    /// The two directions: up, then down.
    pub flows: Vec<Flow>,
}

/// One direction of a subflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Flow {
    /// `up` or `down`.
    pub direction: &'static str,
    /// Bytes of the stream that arrived in order on this subflow before any other (or were sent on it first, if the
    /// receiver's side was not captured). On an only subflow, missed bytes are included.
    pub bytes: u64,
    /// Bytes of these that arrived in the time window.
    pub window_bytes: u64,
    /// Bytes in the window, in bits per second.
    pub goodput_bps: Option<f64>,
    /// Share of the connection's bytes in the time window.
    pub share: Option<f64>,
    /// Data segments sent.
    pub segments_sent: u64,
    /// Payload bytes in these segments.
    pub bytes_sent: u64,
    /// Payload bytes of the data segments at the point where `bytes` are counted, including repetitions.
    pub bytes_seen: u64,
    /// Segments retransmitted on the subflow.
    pub retransmissions: u64,
    /// Segments with data sent before under other subflow sequence numbers, usually on another subflow.
    pub reinjections: u64,
    /// Segments reordered in the network, as far as they can be told from retransmissions.
    pub reordered: u64,
    /// As [`Stream::timeouts`].
    pub timeouts: Option<u64>,
    /// Time from a segment to the first ACK that covers it, for segments sent once only; `None` without the sender's
    /// side.
    pub rtt: Option<Spread>,
}

/// Summary of many durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Number of values.
    pub count: u64,
    /// Minimum.
    pub min_s: f64,
    /// Mean.
    pub mean_s: f64,
    /// 95th percentile, nearest rank.
    pub p95_s: f64,
}

/// An event of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Event {
    /// Time of the event.
    pub time_s: f64,
    /// Index of the subflow.
    pub subflow: u32,
    /// The side that signalled it: `client` or `server`.
    pub from: &'static str,
    /// `add_addr`, `add_addr_echo`, `remove_addr`, `mp_prio`, `mp_fail`, `mp_fastclose`, `mp_tcprst`, `data_fin`, `fin`,
    /// `rst`, `join`.
    pub kind: &'static str,
    /// Description in words.
    pub text: String,
}

/// Columns of equal length, ordered by connection, direction and time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Data segments at the sender.
    pub sent: Segments,
    /// Data at the receiver, when it is in order on its subflow.
    pub received: Segments,
    /// Advances of the DATA_ACK (of TCP: the ACK).
    pub acks: Acks,
}

/// Data segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segments {
    /// Time of each segment.
    pub time_s: Vec<f64>,
    /// Index of the connection.
    pub connection: Vec<u32>,
    /// 0 up, 1 down.
    pub direction: Vec<u8>,
    /// Index of the subflow.
    pub subflow: Vec<u32>,
    /// Stream offset of the first byte.
    pub offset: Vec<u64>,
    /// Number of bytes.
    pub length: Vec<u32>,
    /// For sent segments: 0 new, 1 retransmitted on its subflow, 2 reinjected. For received data: the number of bytes
    /// new to the receiver.
    pub note: Vec<u32>,
}

/// Acknowledgments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acks {
    /// Time of each acknowledgment.
    pub time_s: Vec<f64>,
    /// Index of the connection.
    pub connection: Vec<u32>,
    /// Direction of the data acknowledged: 0 up, 1 down.
    pub direction: Vec<u8>,
    /// Index of the subflow that carried the acknowledgment.
    pub subflow: Vec<u32>,
    /// All bytes before this stream offset are acknowledged.
    pub offset: Vec<u64>,
    /// Bytes beyond it that fit the receive window; NaN if the window scale is unknown.
    pub window: Vec<f64>,
}

impl Series {
    /// Appends the series of another connection.
    pub(super) fn append(&mut self, mut other: Series) {
        for (own, other) in [(&mut self.sent, &mut other.sent), (&mut self.received, &mut other.received)] {
            own.time_s.append(&mut other.time_s);
            own.connection.append(&mut other.connection);
            own.direction.append(&mut other.direction);
            own.subflow.append(&mut other.subflow);
            own.offset.append(&mut other.offset);
            own.length.append(&mut other.length);
            own.note.append(&mut other.note);
        }
        let (own, other) = (&mut self.acks, &mut other.acks);
        own.time_s.append(&mut other.time_s);
        own.connection.append(&mut other.connection);
        own.direction.append(&mut other.direction);
        own.subflow.append(&mut other.subflow);
        own.offset.append(&mut other.offset);
        own.window.append(&mut other.window);
    }
}
