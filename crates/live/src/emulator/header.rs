//! Parses what the emulator needs of a packet: its destination, whether it carries data, and its ECN field. The input
//! is untrusted: a packet that cannot be parsed is not routed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::Ecn;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The two ends of a TCP flow, as seen by the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct FlowKey {
    /// Source address and port.
    pub source: (IpAddr, u16),
    /// Destination address and port.
    pub destination: (IpAddr, u16),
}

/// The parsed header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Destination address.
    pub destination: IpAddr,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Its flow, if it is a TCP segment with data.
    pub data: Option<FlowKey>,
}

impl Header {
    /// Parses the header of a complete packet; `None` if it is neither IPv4 nor IPv6.
    pub fn read(packet: &[u8]) -> Option<Header> {
        match packet.first()? >> 4 {
            4 => Self::read_v4(packet),
            6 => Self::read_v6(packet),
            _ => None,
        }
    }

    fn read_v4(packet: &[u8]) -> Option<Header> {
        let fixed: &[u8; 20] = packet.first_chunk()?;
        let (source, destination) = Self::addresses_v4(fixed);
        let header_len = usize::from(fixed[0] & 0xf) * 4;
        let whole = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff == 0;
        let data = if fixed[9] == TCP && whole && header_len >= 20 {
            flow(packet.get(header_len..)?, source, destination)
        } else {
            None
        };
        Some(Header { destination, ecn: Ecn::from_bits(fixed[1]), data })
    }

    fn addresses_v4(fixed: &[u8; 20]) -> (IpAddr, IpAddr) {
        let address = |at: usize| IpAddr::V4(Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]));
        (address(12), address(16))
    }

    fn addresses_v6(fixed: &[u8; 40]) -> Option<(IpAddr, IpAddr)> {
        let address = |at: usize| fixed[at..].first_chunk::<16>().map(|octets| IpAddr::V6(Ipv6Addr::from(*octets)));
        Some((address(8)?, address(24)?))
    }

    fn read_v6(packet: &[u8]) -> Option<Header> {
        let fixed: &[u8; 40] = packet.first_chunk()?;
        let (source, destination) = Self::addresses_v6(fixed)?;
        let data = if fixed[6] == TCP { flow(&packet[40..], source, destination) } else { None };
        Some(Header { destination, ecn: Ecn::from_bits(fixed[1] >> 4), data })
    }
}

/// The flow of a packet parsed by [`Header::read`], if it is a complete TCP segment, with or without data.
pub fn tcp_flow(packet: &[u8]) -> Option<FlowKey> {
    let (ip_len, source, destination) = match packet.first()? >> 4 {
        4 => {
            let fixed: &[u8; 20] = packet.first_chunk()?;
            let whole = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff == 0;
            let (source, destination) = Header::addresses_v4(fixed);
            let ip_len = usize::from(fixed[0] & 0xf) * 4;
            if fixed[9] != TCP || !whole || ip_len < 20 {
                return None;
            }
            (ip_len, source, destination)
        }
        6 => {
            let fixed: &[u8; 40] = packet.first_chunk()?;
            let (source, destination) = Header::addresses_v6(fixed)?;
            if fixed[6] != TCP {
                return None;
            }
            (40, source, destination)
        }
        _ => return None,
    };
    let [a, b, c, d, ..] = *packet.get(ip_len..)? else { return None };
    let ports = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
    Some(FlowKey { source: (source, ports[0]), destination: (destination, ports[1]) })
}

/// Sets Congestion Experienced (RFC 3168 §5) in a packet parsed by [`Header::read`].
pub fn mark_congestion(packet: &mut [u8]) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= Ecn::Ce as u8;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            // RFC 1624 eq. 3: HC' = ~(~HC + ~m + m').
            let sum = u32::from(!u16::from_be_bytes([packet[10], packet[11]])) + u32::from(!before) + u32::from(after);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        }
        Some(6) if packet.len() >= 40 => packet[1] |= (Ecn::Ce as u8) << 4,
        _ => {}
    }
}

/// A hash of the flow of a packet parsed by [`Header::read`]: of its addresses and protocol and, unless it is a
/// fragment or has none, its ports.
pub fn flow_number(packet: &[u8]) -> u64 {
    let (addresses, protocol, ports_at) = match packet.first().map(|first| (first >> 4, usize::from(first & 0xf) * 4)) {
        Some((4, header_len)) if packet.len() >= 20 => {
            let whole = u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff == 0;
            (&packet[12..20], packet[9], whole.then_some(header_len))
        }
        Some((6, _)) if packet.len() >= 40 => (&packet[8..40], packet[6], Some(40)),
        _ => return 0,
    };
    let ports = match protocol {
        TCP | UDP => ports_at.and_then(|at| packet.get(at..at + 4)).unwrap_or_default(),
        _ => &[],
    };
    let bytes = addresses.iter().chain(std::iter::once(&protocol)).chain(ports);
    // FNV-1a; the queue mixes the result with its own key.
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The flow of a packet, and its hosts by their addresses.
pub fn flow_of(packet: &[u8]) -> network::Flow {
    let address = |bytes: Option<&[u8]>| {
        let bytes = bytes.and_then(<[u8]>::last_chunk::<4>);
        bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
    };
    let hosts = match packet.first().map(|first| first >> 4) {
        Some(4) => [address(packet.get(12..16)), address(packet.get(16..20))],
        Some(6) => [address(packet.get(8..24)), address(packet.get(24..40))],
        _ => [0; 2],
    };
    network::Flow { number: flow_number(packet), hosts }
}

fn flow(segment: &[u8], source: IpAddr, destination: IpAddr) -> Option<FlowKey> {
    let fixed: &[u8; 20] = segment.first_chunk()?;
    let data_at = usize::from(fixed[12] >> 4) * 4;
    let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    (segment.len() > data_at).then(|| FlowKey { source: (source, port(0)), destination: (destination, port(2)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet from 10.0.0.1:1000 to 10.0.0.2:80 with this many bytes of data.
    fn v4(data: usize) -> Vec<u8> {
        let mut packet = vec![0; 40 + data];
        packet[0] = 0x45;
        packet[1] = Ecn::Ect0 as u8;
        packet[9] = TCP;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        packet[20..24].copy_from_slice(&[0x03, 0xe8, 0, 80]);
        packet[32] = 0x50;
        let checksum = !sum(&packet[..20]);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet
    }

    fn sum(header: &[u8]) -> u16 {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_segment_with_data_has_a_flow_and_one_without_has_none() {
        let header = Header::read(&v4(1)).unwrap();
        assert_eq!((header.destination, header.ecn), (IpAddr::from([10, 0, 0, 2]), Ecn::Ect0));
        let flow = header.data.unwrap();
        assert_eq!(
            (flow.source, flow.destination),
            ((IpAddr::from([10, 0, 0, 1]), 1000), (IpAddr::from([10, 0, 0, 2]), 80))
        );
        assert_eq!(Header::read(&v4(0)).unwrap().data, None);
    }

    #[test]
    fn a_marked_packet_keeps_a_right_checksum() {
        let mut packet = v4(3);
        assert_eq!(sum(&packet[..20]), 0xffff, "the test's own checksum");
        mark_congestion(&mut packet);
        assert_eq!(Header::read(&packet).unwrap().ecn, Ecn::Ce);
        assert_eq!(sum(&packet[..20]), 0xffff);
    }

    #[test]
    fn ipv6_is_read_and_marked() {
        let mut packet = vec![0; 61];
        packet[0] = 0x60;
        packet[1] = (Ecn::Ect1 as u8) << 4;
        packet[6] = TCP;
        packet[23] = 1;
        packet[39] = 2;
        packet[52] = 0x50;
        let header = Header::read(&packet).unwrap();
        assert_eq!((header.destination, header.ecn), ("::2".parse().unwrap(), Ecn::Ect1));
        assert!(header.data.is_some());
        mark_congestion(&mut packet);
        assert_eq!(Header::read(&packet).unwrap().ecn, Ecn::Ce);
    }

    #[test]
    fn a_flow_is_addresses_protocol_and_ports() {
        let packet = v4(10);
        let number = flow_number(&packet);
        assert_eq!(number, flow_number(&v4(500)), "whatever it carries");
        // The last byte of each address, a port of each end, and the protocol.
        for at in [15, 19, 21, 23, 9] {
            let mut other = packet.clone();
            other[at] ^= 1;
            assert_ne!(number, flow_number(&other), "{at}");
        }
        let mut fragment = packet.clone();
        fragment[7] = 1;
        let mut last = fragment.clone();
        last[20] ^= 1;
        assert_eq!(flow_number(&fragment), flow_number(&last), "a fragment has no ports");
        for length in 0..packet.len() {
            let _ = flow_number(&packet[..length]);
        }
        assert_eq!(flow_number(&[]), 0);
    }

    #[test]
    fn every_cut_packet_is_refused_or_read_without_a_fault() {
        for whole in [v4(5), {
            let mut six = vec![0; 60];
            six[0] = 0x60;
            six[6] = TCP;
            six
        }] {
            for length in 0..whole.len() {
                let _ = Header::read(&whole[..length]);
                mark_congestion(&mut whole[..length].to_vec());
            }
        }
        // A header length beyond the end, and one below the minimum.
        let mut long = v4(0);
        long[0] = 0x4f;
        assert_eq!(Header::read(&long), None);
        long[0] = 0x41;
        assert_eq!(Header::read(&long).unwrap().data, None);
    }
}
