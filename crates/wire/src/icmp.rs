//! ICMP errors about TCP segments (RFC 792, RFC 4443): what they say, and which segment they quote.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use etherparse::{Ipv4Header, Ipv6Header};

use crate::big_endian::{be16, be32};
use crate::checksum::OnesComplement;
use crate::ip::skip_extensions;
use crate::length::IPV6_HEADER_LEN;
use crate::tcp;

/// The kinds of ICMP errors that TCP treats differently (RFC 9293 §3.9.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpKind {
    /// The network or the host cannot be reached, at least for now: a soft error. So is any unknown code.
    Unreachable,
    /// The host does not accept the protocol or the port, or communication is administratively prohibited (IPv4 codes 2
    /// and 3; IPv6 codes 1 and 4, RFC 5461 §2.1): a hard error.
    Refused,
    /// The packet is longer than the MTU of a link on the path, in bytes. If the router does not report it, the next
    /// plateau below the packet's length (RFC 1191 §5).
    TooBig {
        /// Of the link.
        mtu: u32,
    },
    /// Too many hops, or reassembly took too long.
    TimeExceeded,
    /// A router did not understand the header.
    ParameterProblem,
}

/// An ICMP error about a TCP segment that somebody sent from `local` to `remote`. Only what it quotes shows that its
/// sender has seen that segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcmpError {
    /// What it says.
    pub kind: IcmpKind,
    /// Sender of the segment, to whom the error was sent.
    pub local: SocketAddr,
    /// Receiver of the segment.
    pub remote: SocketAddr,
    /// The segment's sequence number.
    pub seq: u32,
}

/// Common MTUs (RFC 1191 §7.1), the largest first.
const PLATEAUS: [u32; 10] = [65_535, 32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296];
/// The least that IPv4 allows (RFC 791 §3.2).
const LEAST: u32 = 68;

const PROTOCOL_V4: u8 = 1;
const PROTOCOL_V6: u8 = 58;
/// Type, code, checksum, and four bytes whose meaning depends on the type.
const HEADER_LEN: usize = 8;
/// The segment's ports and sequence number, which RFC 792 guarantees.
const QUOTED_LEN: usize = 8;

/// Reads an IP packet with an ICMP error about a TCP segment. `None` if it is something else, is truncated, has a wrong
/// checksum, or is an error that TCP discards (Source Quench, RFC 6633; redirects).
#[must_use]
pub fn decode_icmp(packet: &[u8]) -> Option<IcmpError> {
    let error = match packet.first()? >> 4 {
        4 => in_v4(packet),
        6 => in_v6(packet),
        _ => None,
    }?;
    Some(error)
}

fn in_v4(packet: &[u8]) -> Option<IcmpError> {
    let (header, _) = Ipv4Header::from_slice(packet).ok()?;
    if header.is_fragmenting_payload()
        || header.protocol.0 != PROTOCOL_V4
        || sum(&[&packet[..header.header_len()]]) != 0
    {
        return None;
    }
    let message = packet.get(header.header_len()..header.total_len.into())?;
    if message.len() < HEADER_LEN || sum(&[message]) != 0 {
        return None;
    }
    let quoted = &message[HEADER_LEN..];
    let (inner, rest) = Ipv4Header::from_slice(quoted).ok()?;
    let local = Ipv4Addr::from(inner.source);
    // The error is sent to the sender of the segment.
    if inner.protocol.0 != tcp::PROTOCOL || inner.fragment_offset.value() != 0 || local.octets() != header.destination {
        return None;
    }
    let kind = match (message[0], message[1]) {
        (3, 2 | 3) => IcmpKind::Refused,
        (3, 4) => IcmpKind::TooBig { mtu: told_mtu(be16(message, 6).into(), inner.total_len.into()) },
        (3, _) => IcmpKind::Unreachable,
        (11, _) => IcmpKind::TimeExceeded,
        (12, _) => IcmpKind::ParameterProblem,
        _ => return None,
    };
    quoted_segment(kind, local.into(), Ipv4Addr::from(inner.destination).into(), rest)
}

fn in_v6(packet: &[u8]) -> Option<IcmpError> {
    let (header, payload) = Ipv6Header::from_slice(packet).ok()?;
    let len = usize::from(header.payload_length);
    let (protocol, extensions_len) = skip_extensions(header.next_header.0, payload, IPV6_HEADER_LEN + len).ok()?;
    let message = payload.get(extensions_len..len)?;
    let lengths = [(message.len() as u32).to_be_bytes(), [0, 0, 0, PROTOCOL_V6]].concat();
    if protocol != PROTOCOL_V6
        || message.len() < HEADER_LEN
        || sum(&[&header.source, &header.destination, &lengths, message]) != 0
    {
        return None;
    }
    let (inner, rest) = Ipv6Header::from_slice(&message[HEADER_LEN..]).ok()?;
    let end = IPV6_HEADER_LEN + usize::from(inner.payload_length);
    let (protocol, extensions_len) = skip_extensions(inner.next_header.0, rest, end).ok()?;
    if protocol != tcp::PROTOCOL || inner.source != header.destination {
        return None;
    }
    let kind = match (message[0], message[1]) {
        (1, 1 | 4) => IcmpKind::Refused,
        (1, _) => IcmpKind::Unreachable,
        (2, _) => IcmpKind::TooBig { mtu: be32(message, 4) },
        (3, _) => IcmpKind::TimeExceeded,
        (4, _) => IcmpKind::ParameterProblem,
        _ => return None,
    };
    let (local, remote) = (Ipv6Addr::from(inner.source), Ipv6Addr::from(inner.destination));
    quoted_segment(kind, local.into(), remote.into(), rest.get(extensions_len..)?)
}

fn quoted_segment(kind: IcmpKind, local: IpAddr, remote: IpAddr, segment: &[u8]) -> Option<IcmpError> {
    let segment = segment.get(..QUOTED_LEN)?;
    let end = |address, at| SocketAddr::new(address, be16(segment, at));
    Some(IcmpError { kind, local: end(local, 0), remote: end(remote, 2), seq: be32(segment, 4) })
}

/// The MTU of the next hop as the router reports it; routers older than RFC 1191 report 0.
fn told_mtu(told: u32, packet_len: u32) -> u32 {
    if told > 0 { told } else { PLATEAUS.into_iter().find(|&plateau| plateau < packet_len).unwrap_or(LEAST) }
}

/// 0 if the checksum it contains is right.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = OnesComplement::default();
    parts.iter().for_each(|part| sum.add(part));
    sum.finish()
}
