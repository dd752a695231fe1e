//! What an analysis returns. Times in seconds count from the first TCP packet of all captures; *up* is from the client,
//! which opened the connection, to the server.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Captures, taken together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Analysis {
    /// What was read.
    pub files: Vec<File>,
    /// The interfaces on which TCP was seen.
    pub interfaces: Vec<String>,
    /// When the first TCP packet was captured: nanoseconds, as a rule since 1970.
    pub start_ns: Option<u64>,
    /// From the first TCP packet to the last.
    pub duration_s: f64,
    /// What the clocks of interfaces were put right by, so that packets are not seen before they were sent.
    pub clocks: Vec<Clock>,
    /// The connections in the order of their beginnings.
    pub connections: Vec<Connection>,
    /// Segment by segment.
    #[serde(skip)]
    pub series: Series,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Packets in it.
    pub packets: u64,
    /// Those that are TCP.
    pub tcp: u64,
    /// Those that are something else.
    pub other: u64,
    /// What those are, and how many of each.
    pub not_read: BTreeMap<&'static str, u64>,
    /// Packets that are in it twice, as two interfaces of one host saw them: counted once.
    pub duplicates: u64,
    /// Packets whose IP header has the length 0, before segmentation offload or of BIG TCP: that of the frame was taken.
    pub lengths_of_frames: u64,
    /// Packets whose IP header states more bytes than the frame had: that of the header was taken.
    pub lengths_beyond_frames: u64,
    /// How often the clock was set while packets were captured.
    pub clock_was_set: u64,
    /// The first of those.
    pub clock_steps: Vec<ClockStep>,
    /// Fragments of IP packets, which are not put together.
    pub fragments: u64,
    /// TCP that cannot be decoded: cut too short, or malformed.
    pub undecoded: u64,
    /// The first of those, and why.
    pub first_error: Option<String>,
    /// Checksums that do not fit: damage, or a network card that computes them after the capture.
    pub wrong_checksums: u64,
    /// Link types that are not read.
    pub unknown_links: BTreeSet<u32>,
    /// Where the file is cut off or damaged.
    pub damage: Option<String>,
}

/// A clock that was set: times go on where they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClockStep {
    /// The first packet with the new time, from 1.
    pub packet: u64,
    /// By how much, forward or (negative) back.
    pub step_s: f64,
}

/// A clock that differs from the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Clock {
    /// An index into the interfaces.
    pub interface: u32,
    /// How far it is ahead.
    pub ahead_s: f64,
}

/// A connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Connection {
    /// `mptcp` or `tcp`.
    pub protocol: &'static str,
    /// Version of MPTCP: 0 (RFC 6824) or 1 (RFC 8684); none for TCP, and where no handshake was seen.
    pub version: Option<u8>,
    /// Whether its beginning was seen.
    pub complete: bool,
    /// Address and port of the end that opened it.
    pub client: String,
    /// Those of the other.
    pub server: String,
    /// Token of the client's key, eight hexadecimal digits.
    pub client_token: Option<String>,
    /// Token of the server's key.
    pub server_token: Option<String>,
    /// Whether either side asked for DSS checksums.
    pub checksum: bool,
    /// First packet.
    pub start_s: f64,
    /// Last packet.
    pub end_s: f64,
    /// When and why it went back to TCP.
    pub fallback: Option<Fallback>,
    /// The shortest round trip that was seen.
    pub round_trip_s: Option<f64>,
    /// How it ended.
    pub closing: String,
    /// Up, then down.
    pub streams: Vec<Stream>,
    /// In the order of their beginnings.
    pub subflows: Vec<Subflow>,
    /// Addresses, priorities, failures and ends.
    pub events: Vec<Event>,
}

/// Back to TCP (RFC 8684 §3.7).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fallback {
    /// When it showed.
    pub time_s: f64,
    /// Why.
    pub reason: String,
}

/// One direction of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stream {
    /// `up` or `down`.
    pub direction: &'static str,
    /// Bytes delivered: received in order where the receiver's side was captured, else acknowledged. The sum of what the
    /// subflows brought; of several subflows, and of `missed_bytes`.
    pub bytes: u64,
    /// Those in the window of time that was asked for.
    pub window_bytes: u64,
    /// The part of the window in which the connection was active: to the delivery of its last byte.
    pub span_s: f64,
    /// One by the other; none where the span is shorter than a round trip.
    pub goodput_bps: Option<f64>,
    /// Bytes acknowledged.
    pub acknowledged_bytes: u64,
    /// Bytes in the capture beyond `bytes`: sent and not acknowledged, or received behind a gap.
    pub outstanding_bytes: u64,
    /// Data segments sent, repeated ones counted.
    pub segments_sent: u64,
    /// Repeated by TCP on their own subflow.
    pub retransmissions: u64,
    /// With data that had been sent before under other subflow sequence numbers, as a rule on another subflow.
    pub reinjections: u64,
    /// From sending data to the DATA_ACK of it (of TCP: the ACK), data sent once only; none without the sender's side.
    pub data_ack_rtt: Option<Spread>,
    /// From the arrival of a byte to that of all bytes before it, over bytes; none without the receiver's side.
    pub out_of_order_delay: Option<Spread>,
    /// Bytes that were acknowledged and that the capture does not have.
    pub missed_bytes: u64,
    /// Bytes that no mapping covers.
    pub unmapped_bytes: u64,
    /// The longest time without delivery, from the first byte to the last, or to the connection's end with bytes
    /// outstanding.
    pub longest_silence_s: Option<f64>,
    /// When it ended.
    pub silence_end_s: Option<f64>,
    /// Retransmissions that followed silence, as a retransmission timeout makes them; none without the sender's side.
    pub timeouts: Option<u64>,
}

/// A subflow; plain TCP has one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Subflow {
    /// Address and port at the client's side.
    pub client: String,
    /// At the server's.
    pub server: String,
    /// `client` or `server`.
    pub opened_by: &'static str,
    /// First packet.
    pub start_s: f64,
    /// Last packet.
    pub end_s: f64,
    /// Address ids, client first.
    pub address_ids: [Option<u8>; 2],
    /// Whether either side asked, when it was opened, for use as a backup only.
    pub backup: bool,
    /// `valid`, `wrong`, `unknown` (not all of the handshakes was seen), or none for a first subflow.
    pub join_hmac: Option<&'static str>,
    /// RSTs.
    pub resets: u64,
    /// From SYN to the third packet of the handshake; none where a SYN was sent twice (Karn's rule).
    pub handshake_rtt_s: Option<f64>,
    /// Where it was seen, an index into the interfaces.
    pub seen_at: Vec<u32>,
    /// How it ended.
    pub closing: String,
    /// Up, then down.
    pub flows: Vec<Flow>,
}

/// One direction of a subflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Flow {
    /// `up` or `down`.
    pub direction: &'static str,
    /// Bytes of the stream that came in order on it before they did on any other (where the receiver's side was not
    /// captured: that were sent on it first), and on the only subflow those missed.
    pub bytes: u64,
    /// Those that came in the window of time.
    pub window_bytes: u64,
    /// Those per second.
    pub goodput_bps: Option<f64>,
    /// Its part of the connection's, in the window of time.
    pub share: Option<f64>,
    /// Data segments sent.
    pub segments_sent: u64,
    /// Their content.
    pub bytes_sent: u64,
    /// Content of the data segments where `bytes` are counted, repeated ones included.
    pub bytes_seen: u64,
    /// Repeated on the subflow.
    pub retransmissions: u64,
    /// With data that had been sent before under other subflow sequence numbers, as a rule on another subflow.
    pub reinjections: u64,
    /// Out of order in the network, as far as it can be told from a repetition.
    pub reordered: u64,
    /// See the stream's.
    pub timeouts: Option<u64>,
    /// From a segment to the ACK that covers it first, segments sent once only; none without the sender's side.
    pub rtt: Option<Spread>,
}

/// Of many values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// The least.
    pub min_s: f64,
    /// Mean.
    pub mean_s: f64,
    /// 95th percentile, nearest rank.
    pub p95_s: f64,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Event {
    /// When.
    pub time_s: f64,
    /// On which subflow.
    pub subflow: u32,
    /// Who said it: `client` or `server`.
    pub from: &'static str,
    /// `add_addr`, `add_addr_echo`, `remove_addr`, `mp_prio`, `mp_fail`, `mp_fastclose`, `mp_tcprst`, `data_fin`, `fin`,
    /// `rst`, `join`.
    pub kind: &'static str,
    /// In words.
    pub text: String,
}

/// Columns of equal length, ordered by connection, direction and time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Data segments as they were sent.
    pub sent: Segments,
    /// Data as they came in order on their subflows.
    pub received: Segments,
    /// Advances of the DATA_ACK (of TCP: the ACK).
    pub acks: Acks,
}

/// Data segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segments {
    /// When.
    pub time_s: Vec<f64>,
    /// Index of the connection.
    pub connection: Vec<u32>,
    /// 0 up, 1 down.
    pub direction: Vec<u8>,
    /// Index of the subflow.
    pub subflow: Vec<u32>,
    /// Place of the first byte in the data stream.
    pub offset: Vec<u64>,
    /// Bytes.
    pub length: Vec<u32>,
    /// What was sent: 0 new, 1 repeated on its subflow, 2 reinjected; of what arrived: bytes new to the
    /// receiver.
    pub note: Vec<u32>,
}

/// Acknowledgments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acks {
    /// When.
    pub time_s: Vec<f64>,
    /// Index of the connection.
    pub connection: Vec<u32>,
    /// Of what: 0 up, 1 down.
    pub direction: Vec<u8>,
    /// The subflow it came on.
    pub subflow: Vec<u32>,
    /// All bytes before this place.
    pub offset: Vec<u64>,
    /// Bytes beyond it that the receiver has room for; NaN where the scale of the window is not known.
    pub window: Vec<f64>,
}

impl Series {
    /// Appends what another connection's says.
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
