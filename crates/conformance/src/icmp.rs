//! ICMP errors sent to the host, as a router writes them (RFC 792).

use crate::dialogue::Flow;
use crate::mistake::{Mistake, Read};

/// The words of a case, with type and code (RFC 792, RFC 1122 §3.2.2).
const KINDS: [(&str, u8, u8); 8] = [
    ("net-unreachable", 3, 0),
    ("host-unreachable", 3, 1),
    ("protocol-unreachable", 3, 2),
    ("port-unreachable", 3, 3),
    ("too-big", 3, 4),
    ("source-quench", 4, 0),
    ("time-exceeded", 11, 0),
    ("parameter-problem", 12, 0),
];
/// The router that sends them.
const ROUTER: [u8; 4] = [10, 0, 0, 254];

/// An error about a segment of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    kind: u8,
    code: u8,
    /// The segment's sequence number, counted from the SYN.
    seq: i64,
    /// What "too-big" tells.
    mtu: u16,
    /// Total length of the packet that is quoted.
    len: u16,
}

/// `too-big seq=1 mtu=576 len=1500`.
pub fn read(words: &[String]) -> Read<Icmp> {
    let names = || KINDS.map(|(name, ..)| name).join(", ");
    let first = words.first().map_or("nothing", String::as_str);
    let &(_, kind, code) =
        KINDS.iter().find(|(name, ..)| *name == first).ok_or_else(|| Mistake::new(first, names()))?;
    let mut icmp = Icmp { kind, code, seq: 0, mtu: 0, len: 1_500 };
    for word in &words[1..] {
        let wrong = || Mistake::new(word, "seq=, mtu= or len= and a number");
        match word.split_once('=').ok_or_else(wrong)? {
            ("seq", value) => icmp.seq = value.parse().map_err(|_| wrong())?,
            ("mtu", value) => icmp.mtu = value.parse().map_err(|_| wrong())?,
            ("len", value) => icmp.len = value.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    Ok(icmp)
}

impl Icmp {
    /// The packet; `None` if the flow is not IPv4.
    pub fn packet(&self, flow: &Flow) -> Option<Vec<u8>> {
        let (std::net::IpAddr::V4(host), std::net::IpAddr::V4(peer)) = (flow.host.ip(), flow.peer.ip()) else {
            return None;
        };
        let mut message = vec![self.kind, self.code, 0, 0, 0, 0];
        message.extend(self.mtu.to_be_bytes());
        message.extend(header(self.len, 6, host.octets(), peer.octets()));
        message.extend(flow.host.port().to_be_bytes());
        message.extend(flow.peer.port().to_be_bytes());
        message.extend(flow.host_number(self.seq).to_be_bytes());
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum);
        let mut packet = header(20 + message.len() as u16, 1, ROUTER, host.octets()).to_vec();
        packet.extend(message);
        Some(packet)
    }
}

fn header(total_len: u16, protocol: u8, src: [u8; 4], dst: [u8; 4]) -> [u8; 20] {
    let mut header = [0; 20];
    (header[0], header[6], header[8], header[9]) = (0x45, 0x40, 64, protocol);
    header[2..4].copy_from_slice(&total_len.to_be_bytes());
    header[12..16].copy_from_slice(&src);
    header[16..20].copy_from_slice(&dst);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum);
    header
}

/// RFC 1071, of an even number of bytes.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let mut sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}
