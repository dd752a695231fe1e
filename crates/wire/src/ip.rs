//! IP packets that carry TCP: IPv4 (RFC 791) and IPv6 (RFC 8200). The fixed headers are
//! etherparse's work.

use crate::big_endian::be16;
use crate::checksum::OnesComplement;
use crate::length::{IPV4_HEADER_LEN, IPV6_HEADER_LEN};
use crate::{DecodeError, EncodeError, Payload, Segment, tcp};
use etherparse::err::{ipv4::HeaderError as Ipv4Error, ipv4::HeaderSliceError as Ipv4SliceError};
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The fields of an IP header, of either version, that TCP and readers of captures need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpHeader {
    /// Source address.
    pub src: IpAddr,
    /// Destination address, of the same version.
    pub dst: IpAddr,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: Ecn,
    /// Differentiated services code point (RFC 2474): 6 bits.
    pub dscp: u8,
    /// Time to live (IPv4) or hop limit (IPv6).
    pub hop_limit: u8,
    /// Identification of IPv4; 0 with IPv6. Packets are written with Don't Fragment, so it may have any value (RFC
    /// 6864).
    pub identification: u16,
    /// Flow label of IPv6, 20 bits; 0 with IPv4.
    pub flow_label: u32,
}

impl IpHeader {
    /// A header with hop limit 64, no ECN, and zeros.
    #[must_use]
    pub const fn new(src: IpAddr, dst: IpAddr) -> Self {
        IpHeader { src, dst, ecn: Ecn::NotEct, dscp: 0, hop_limit: 64, identification: 0, flow_label: 0 }
    }

    /// Encoded length in bytes: 20 or 40.
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        if self.src.is_ipv4() { IPV4_HEADER_LEN } else { IPV6_HEADER_LEN }
    }
}

/// The two ECN bits of an IP header (RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// 00, Not-ECT: the transport does not use ECN.
    #[default]
    NotEct = 0b00,
    /// 01, ECT(1).
    Ect1 = 0b01,
    /// 10, ECT(0), the usual one.
    Ect0 = 0b10,
    /// 11, CE: congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// The two bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// From the lowest two bits.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

/// Whether a decoder verifies checksums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksums {
    /// A wrong checksum is an error.
    Verify,
    /// Checksums are ignored: for captures on a host whose network card computes them.
    Ignore,
}

/// What [`decode_headers`] found about the checksums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChecksumState {
    /// That of TCP, and of IPv4, is right.
    Correct,
    /// One is wrong: damage, or a capture on a host whose network card computes them.
    Wrong,
    /// The capture ends before the packet does.
    Unknown,
}

/// A packet of a capture, perhaps without all of its content.
#[derive(Clone, PartialEq, Debug)]
pub struct Captured<'a> {
    /// The IP header.
    pub ip: IpHeader,
    /// The segment, with what the capture holds of its content.
    pub segment: Segment<&'a [u8]>,
    /// The payload's length in the packet as sent, by the IP header, in bytes.
    pub payload_len: usize,
    /// The IP header has the length 0, and that of the frame was taken instead.
    pub len_of_frame: bool,
    /// The IP header states more bytes than the frame had: one of the two is wrong.
    pub beyond_frame: bool,
    /// What is known of the checksums.
    pub checksums: ChecksumState,
}

/// Appends an IP packet with this segment to `out`, all checksums computed. On an error nothing is appended.
///
/// # Errors
/// Addresses of two IP versions; a number too large for its field (DSCP, flow label, the packet's length of at most
/// 65535 bytes); options that do not fit in 40 bytes or have no valid form (see [`crate::Options::encode`]).
pub fn encode<P: Payload>(ip: &IpHeader, segment: &Segment<P>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let tcp_len = segment.header_len() + segment.payload.len();
    let start = out.len();
    match (ip.src, ip.dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            at_most("IPv4 total length", IPV4_HEADER_LEN + tcp_len, 0xffff)?;
            at_most("DSCP", ip.dscp.into(), 0x3f)?;
            out.reserve(IPV4_HEADER_LEN + tcp_len);
            let mut header = Ipv4Header {
                dscp: IpDscp::try_new(ip.dscp).unwrap_or_default(),
                ecn: IpEcn::try_new(ip.ecn.bits()).unwrap_or_default(),
                total_len: (IPV4_HEADER_LEN + tcp_len) as u16,
                identification: ip.identification,
                dont_fragment: true,
                time_to_live: ip.hop_limit,
                protocol: IpNumber::TCP,
                source: src.octets(),
                destination: dst.octets(),
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            at_most("IPv6 payload length", tcp_len, 0xffff)?;
            at_most("DSCP", ip.dscp.into(), 0x3f)?;
            at_most("flow label", ip.flow_label as usize, 0xf_ffff)?;
            out.reserve(IPV6_HEADER_LEN + tcp_len);
            let header = Ipv6Header {
                traffic_class: ip.dscp << 2 | ip.ecn.bits(),
                flow_label: Ipv6FlowLabel::try_new(ip.flow_label).unwrap_or_default(),
                payload_length: tcp_len as u16,
                next_header: IpNumber::TCP,
                hop_limit: ip.hop_limit,
                source: src.octets(),
                destination: dst.octets(),
            };
            out.extend_from_slice(&header.to_bytes());
        }
        (src, dst) => return Err(EncodeError::MixedFamilies { src, dst }),
    }
    tcp::encode(segment, ip.src, ip.dst, out).inspect_err(|_| out.truncate(start))
}

fn at_most(field: &'static str, found: usize, max: usize) -> Result<(), EncodeError> {
    if found > max { Err(EncodeError::OutOfRange { field, found, max }) } else { Ok(()) }
}

/// Reads an IP packet with a TCP segment. Bytes after the packet's end, such as Ethernet padding, are ignored.
///
/// # Errors
/// See [`DecodeError`]; the crate's documentation says what is rejected and what is kept.
pub fn decode(bytes: &[u8]) -> Result<(IpHeader, Segment<Vec<u8>>), DecodeError> {
    decode_with(bytes, Checksums::Verify)
}

/// Like [`decode`], optionally without verifying checksums.
///
/// # Errors
/// See [`decode`].
pub fn decode_with(bytes: &[u8], checksums: Checksums) -> Result<(IpHeader, Segment<Vec<u8>>), DecodeError> {
    let packet = Packet::locate(bytes)?;
    if packet.tcp.len() < packet.tcp_len {
        let needed = packet.tcp_offset + packet.tcp_len;
        return Err(DecodeError::Truncated { what: "packet", needed, captured: bytes.len() });
    }
    if checksums == Checksums::Verify {
        packet.verify()?;
    }
    let segment = tcp::decode(packet.tcp, packet.tcp_len, packet.tcp_offset)?;
    Ok((packet.ip, segment.map_payload(<[u8]>::to_vec)))
}

/// Reads the headers of a packet whose payload may be cut short, as in a capture with a snap length. IP and TCP headers
/// and all options must be complete. Checksums are reported, not required. Allocates only for rare options.
///
/// # Errors
/// See [`decode`].
pub fn decode_headers(bytes: &[u8]) -> Result<Captured<'_>, DecodeError> {
    captured(Packet::locate(bytes)?)
}

/// As [`decode_headers`], of a packet that had `frame_len` bytes on the wire. A length of 0 in the IP header, which stands
/// there before segmentation offload and with BIG TCP, then means that length, and a jumbo payload (RFC 2675) is read.
///
/// # Errors
/// See [`decode`].
pub fn decode_frame(bytes: &[u8], frame_len: usize) -> Result<Captured<'_>, DecodeError> {
    let packet = Packet::locate_in(bytes, Some(frame_len))?;
    let beyond_frame = packet.tcp_offset + packet.tcp_len > frame_len;
    Ok(Captured { beyond_frame, ..captured(packet)? })
}

/// What an IP packet carries: the protocol after IPv6's extension headers, and where it begins.
///
/// # Errors
/// See [`decode`]; of a fragment too, since what it carries has no beginning of its own.
pub fn ip_payload(bytes: &[u8]) -> Result<(u8, usize), DecodeError> {
    let place = match bytes.first().map(|first| first >> 4) {
        Some(4) => {
            let (header, _) = ipv4_header(bytes)?;
            (header.protocol.0, header.header_len())
        }
        Some(6) if bytes.len() >= IPV6_HEADER_LEN => {
            let (protocol, len) = skip_extensions(bytes[6], &bytes[IPV6_HEADER_LEN..], bytes.len())?;
            (protocol, IPV6_HEADER_LEN + len)
        }
        _ => return Err(Packet::locate(bytes).err().unwrap_or(DecodeError::NotTcp { protocol: tcp::PROTOCOL })),
    };
    Ok(place)
}

fn captured(packet: Packet<'_>) -> Result<Captured<'_>, DecodeError> {
    let segment = tcp::decode(packet.tcp, packet.tcp_len, packet.tcp_offset)?;
    // A checksum is computed after segmentation, so there is none yet of a length that is not known.
    let checksums = if packet.tcp.len() < packet.tcp_len || packet.len_of_frame {
        ChecksumState::Unknown
    } else if packet.verify().is_ok() {
        ChecksumState::Correct
    } else {
        ChecksumState::Wrong
    };
    let missing = packet.tcp_len - packet.tcp.len();
    let payload_len = segment.payload.len() + missing;
    let Packet { ip, len_of_frame, .. } = packet;
    Ok(Captured { ip, payload_len, len_of_frame, beyond_frame: false, segment, checksums })
}

fn ipv4_header(bytes: &[u8]) -> Result<(Ipv4Header, &[u8]), DecodeError> {
    Ipv4Header::from_slice(bytes).map_err(|error| match error {
        Ipv4SliceError::Len(len) => {
            DecodeError::Truncated { what: "IPv4 header", needed: len.required_len, captured: bytes.len() }
        }
        Ipv4SliceError::Content(Ipv4Error::HeaderLengthSmallerThanHeader { ihl }) => {
            header_error("IPv4 header length", 0, ihl.into(), "5 or more 4-byte words")
        }
        Ipv4SliceError::Content(Ipv4Error::UnexpectedVersion { version_number }) => {
            header_error("IP version", 0, version_number.into(), "4")
        }
    })
}

/// Where TCP stands in a packet.
struct Packet<'a> {
    bytes: &'a [u8],
    ip: IpHeader,
    /// The part of the segment that is present.
    tcp: &'a [u8],
    /// Its length according to the IP header.
    tcp_len: usize,
    tcp_offset: usize,
    len_of_frame: bool,
}

impl<'a> Packet<'a> {
    fn locate(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::locate_in(bytes, None)
    }

    fn locate_in(bytes: &'a [u8], frame_len: Option<usize>) -> Result<Self, DecodeError> {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => Self::locate_v4(bytes, frame_len),
            Some(6) => Self::locate_v6(bytes, frame_len),
            Some(version) => Err(header_error("IP version", 0, version.into(), "4 or 6")),
            None => Err(DecodeError::Truncated { what: "IP header", needed: IPV4_HEADER_LEN, captured: 0 }),
        }
    }

    fn locate_v4(bytes: &'a [u8], frame_len: Option<usize>) -> Result<Self, DecodeError> {
        let (header, _) = ipv4_header(bytes)?;
        let header_len = header.header_len();
        let len_of_frame = header.total_len == 0 && frame_len.is_some_and(|len| len >= header_len);
        let total_len = match frame_len {
            Some(len) if len_of_frame => len,
            _ => usize::from(header.total_len),
        };
        if total_len < header_len {
            let expected = "the header's length or more (0 comes from a capture before segmentation offload)";
            return Err(header_error("IPv4 total length", 2, total_len as u64, expected));
        }
        if header.is_fragmenting_payload() {
            let fragment_offset = usize::from(header.fragment_offset.value()) * 8;
            return Err(DecodeError::Fragment { fragment_offset, more: header.more_fragments });
        }
        if header.protocol != IpNumber::TCP {
            return Err(DecodeError::NotTcp { protocol: header.protocol.0 });
        }
        let ip = IpHeader {
            src: IpAddr::V4(Ipv4Addr::from(header.source)),
            dst: IpAddr::V4(Ipv4Addr::from(header.destination)),
            ecn: Ecn::from_bits(header.ecn.value()),
            dscp: header.dscp.value(),
            hop_limit: header.time_to_live,
            identification: header.identification,
            flow_label: 0,
        };
        let tcp = &bytes[header_len..total_len.min(bytes.len())];
        Ok(Packet { bytes, ip, tcp, tcp_len: total_len - header_len, tcp_offset: header_len, len_of_frame })
    }

    fn locate_v6(bytes: &'a [u8], frame_len: Option<usize>) -> Result<Self, DecodeError> {
        // The version is 6, so only the length can be wrong.
        let (header, _) = Ipv6Header::from_slice(bytes).map_err(|_| DecodeError::Truncated {
            what: "IPv6 header",
            needed: IPV6_HEADER_LEN,
            captured: bytes.len(),
        })?;
        let len_of_frame = header.payload_length == 0 && frame_len.is_some_and(|len| len >= IPV6_HEADER_LEN);
        let end = match frame_len {
            Some(len) if len_of_frame => jumbo_len(header.next_header.0, &bytes[IPV6_HEADER_LEN..])
                .map_or(len, |jumbo| IPV6_HEADER_LEN.saturating_add(jumbo).min(len)),
            _ => IPV6_HEADER_LEN + usize::from(header.payload_length),
        };
        let payload = &bytes[IPV6_HEADER_LEN..end.min(bytes.len())];
        let (protocol, extensions_len) = skip_extensions(header.next_header.0, payload, end)?;
        if protocol != tcp::PROTOCOL {
            return Err(DecodeError::NotTcp { protocol });
        }
        let tcp = &payload[extensions_len..];
        let tcp_offset = IPV6_HEADER_LEN + extensions_len;
        let ip = IpHeader {
            src: IpAddr::V6(Ipv6Addr::from(header.source)),
            dst: IpAddr::V6(Ipv6Addr::from(header.destination)),
            ecn: Ecn::from_bits(header.traffic_class),
            dscp: header.traffic_class >> 2,
            hop_limit: header.hop_limit,
            identification: 0,
            flow_label: header.flow_label.value(),
        };
        Ok(Packet { bytes, ip, tcp, tcp_len: end - tcp_offset, tcp_offset, len_of_frame })
    }

    /// Verifies the checksums; the whole segment is present.
    fn verify(&self) -> Result<(), DecodeError> {
        if self.ip.src.is_ipv4() {
            let header = &self.bytes[..self.tcp_offset];
            let mut sum = OnesComplement::default();
            sum.add(header);
            fits("IPv4 header", 10, be16(header, 10), sum.finish())?;
        }
        let offset = self.tcp_offset + tcp::CHECKSUM_AT;
        let Some(&[high, low]) = self.tcp.get(tcp::CHECKSUM_AT..tcp::CHECKSUM_AT + 2) else {
            return Ok(()); // too short for TCP: the error of the header says it better
        };
        let rest = tcp::checksum(self.ip.src, self.ip.dst, self.tcp);
        fits("TCP", offset, u16::from_be_bytes([high, low]), rest)
    }
}

/// The length that a jumbo payload option tells (RFC 2675 §2): the option is the first of a hop-by-hop header, as BIG TCP
/// writes it.
fn jumbo_len(next_header: u8, payload: &[u8]) -> Option<usize> {
    match payload {
        [_, _, 0xc2, 4, a, b, c, d, ..] if next_header == extension::HOP_BY_HOP => {
            Some(u32::from_be_bytes([*a, *b, *c, *d]) as usize)
        }
        _ => None,
    }
}

/// IPv6 extension headers that may stand before TCP (RFC 8200 §4).
mod extension {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
}

/// The protocol after the extension headers, and their length. `payload` is what is present of the packet after the
/// IPv6 header; `end` is where the packet ends by its length field. Not by etherparse: version 0.20 reads past the end
/// of the slice if a header is malformed.
pub(crate) fn skip_extensions(mut next: u8, payload: &[u8], end: usize) -> Result<(u8, usize), DecodeError> {
    let mut at = 0;
    loop {
        let offset = IPV6_HEADER_LEN + at;
        if !matches!(
            next,
            extension::HOP_BY_HOP
                | extension::ROUTING
                | extension::FRAGMENT
                | extension::AUTHENTICATION
                | extension::DESTINATION
        ) {
            return Ok((next, at));
        }
        if next == extension::HOP_BY_HOP && at > 0 {
            let expected = "the hop-by-hop options (0) only directly after the IPv6 header";
            return Err(header_error("IPv6 next header, of the header before,", offset, 0, expected));
        }
        // All are at least 8 bytes long; the second byte counts the words after the first two or eight bytes.
        let words = payload.get(at + 1).copied().map(usize::from);
        let len = match next {
            extension::FRAGMENT => 8,
            extension::AUTHENTICATION => 4 * (words.unwrap_or(0) + 2),
            _ => 8 * (words.unwrap_or(0) + 1),
        };
        let Some(header) = payload.get(at..at + len) else {
            if offset + len > end {
                let expected = "room for the whole IPv6 extension header that begins here";
                return Err(header_error("bytes left in the packet", offset, (end - offset) as u64, expected));
            }
            let captured = IPV6_HEADER_LEN + payload.len();
            return Err(DecodeError::Truncated { what: "IPv6 extension header", needed: offset + len, captured });
        };
        if next == extension::FRAGMENT {
            let place = be16(header, 2);
            let (fragment_offset, more) = (usize::from(place & !7), place & 1 != 0);
            // Offset 0 without more fragments is an atomic fragment: a whole packet (RFC 6946).
            if fragment_offset > 0 || more {
                return Err(DecodeError::Fragment { fragment_offset, more });
            }
        }
        next = header[0];
        at += len;
    }
}

fn header_error(field: &'static str, offset: usize, found: u64, expected: &'static str) -> DecodeError {
    DecodeError::Header { field, offset, found, expected }
}

/// `rest` is the complement of the sum including the checksum field: 0 if the field is right.
fn fits(what: &'static str, offset: usize, found: u16, rest: u16) -> Result<(), DecodeError> {
    if rest == 0 {
        return Ok(());
    }
    // Take the field out of the sum again: the sum without it is !rest - found in ones complement.
    let sum = u32::from(!rest) + u32::from(!found);
    let expected = !((sum & 0xffff) + (sum >> 16)) as u16;
    Err(DecodeError::Checksum { what, offset, found, expected })
}
