//! What both sides have said so far: numbers, keys and nonces, from which the next segment of the peer is made and with
//! which those of the host are compared.

use std::net::SocketAddr;

use wire::{Flags, Segment, expand32};

/// The peer's key, where it speaks Multipath TCP.
pub const PEER_KEY: u64 = 0x0123_4567_89ab_cdef;

/// One flow.
#[derive(Clone, Debug)]
pub struct Flow {
    pub peer: SocketAddr,
    pub host: SocketAddr,
    /// The peer's initial sequence number, and the host's when it was seen.
    pub peer_iss: u32,
    pub host_iss: Option<u32>,
    /// What the peer sends next and expects next, counted from the SYNs.
    pub peer_next: i64,
    pub host_next: i64,
    /// The last timestamp of the host.
    pub host_stamp: u32,
    pub peer_nonce: u32,
    pub host_nonce: u32,
    /// Whether the host sent the first SYN.
    pub opened_by_host: bool,
    /// Where the peer's last mapping leads: subflow number and place in the stream.
    pub mapping: Option<(i64, i64)>,
}

impl Flow {
    pub fn new(index: usize, peer: SocketAddr, host: SocketAddr, iss: u32) -> Flow {
        Flow {
            peer,
            host,
            peer_iss: iss.wrapping_add(1_000_000 * index as u32),
            host_iss: None,
            peer_next: 0,
            host_next: 0,
            host_stamp: 0,
            peer_nonce: 0,
            host_nonce: 0,
            opened_by_host: false,
            mapping: None,
        }
    }

    /// A number of the host on the wire, and back.
    pub fn host_number(&self, relative: i64) -> u32 {
        self.host_iss.unwrap_or(0).wrapping_add(relative as u32)
    }

    pub fn of_host(&self, number: u32) -> i64 {
        relative(number.wrapping_sub(self.host_iss.unwrap_or(0)), self.host_next)
    }

    pub fn peer_number(&self, relative: i64) -> u32 {
        self.peer_iss.wrapping_add(relative as u32)
    }

    pub fn of_peer(&self, number: u32) -> i64 {
        relative(number.wrapping_sub(self.peer_iss), self.peer_next)
    }

    /// The host has sent this.
    pub fn host_sent(&mut self, segment: &Segment<Vec<u8>>) {
        if segment.flags.syn() {
            self.host_iss = Some(segment.seq);
        }
        if let Some(stamp) = segment.options.timestamps {
            self.host_stamp = stamp.value;
        }
        if segment.flags.rst() || self.host_iss.is_none() {
            return;
        }
        let from = self.of_host(segment.seq);
        if from <= self.host_next {
            self.host_next = self.host_next.max(from + length(segment));
        }
    }

    /// Notes what the peer has sent, if it is next in order.
    pub fn said(&mut self, segment: &Segment<Vec<u8>>) {
        let from = self.of_peer(segment.seq);
        if !segment.flags.rst() && from == self.peer_next {
            self.peer_next += length(segment);
        }
    }
}

/// What a segment takes of the sequence numbers.
pub fn length(segment: &Segment<Vec<u8>>) -> i64 {
    segment.payload.len() as i64 + i64::from(segment.flags.syn()) + i64::from(segment.flags.fin())
}

/// Expands a difference of 32 bits to the number nearest to `near`.
fn relative(difference: u32, near: i64) -> i64 {
    // In two's complement, so that a number just below the first one is negative.
    expand32(near as u64, difference) as i64
}

/// Both ends of a connection.
#[derive(Clone, Debug)]
pub struct Dialogue {
    pub flows: Vec<Option<Flow>>,
    pub host_key: Option<u64>,
    /// The next byte of the peer's stream, and of the host's; the first is 1.
    pub peer_data_next: i64,
    pub host_data_next: i64,
}

impl Dialogue {
    /// A flow that was named.
    pub fn flow(&self, index: usize) -> &Flow {
        self.flows[index].as_ref().expect("looked for before")
    }

    pub fn flow_mut(&mut self, index: usize) -> &mut Flow {
        self.flows[index].as_mut().expect("looked for before")
    }

    pub fn peer_idsn(&self) -> u64 {
        wire::keys::idsn(PEER_KEY)
    }

    pub fn host_idsn(&self) -> u64 {
        wire::keys::idsn(self.host_key.unwrap_or(0))
    }

    pub fn key(&self, name: &str) -> u64 {
        match name {
            "peer" => PEER_KEY,
            "host" => self.host_key.unwrap_or(0),
            _ => self.host_key.unwrap_or(0) ^ 0xffff,
        }
    }
}

/// Words for the control bits.
pub fn flag_names(flags: Flags) -> String {
    let names = [
        (Flags::SYN, "syn"),
        (Flags::FIN, "fin"),
        (Flags::RST, "rst"),
        (Flags::PSH, "psh"),
        (Flags::ACK, "ack"),
        (Flags::URG, "urg"),
        (Flags::ECE, "ece"),
        (Flags::CWR, "cwr"),
    ];
    let set: Vec<&str> = names.iter().filter(|(bit, _)| flags.0 & bit.0 != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { "none".to_owned() } else { set.join("+") }
}
