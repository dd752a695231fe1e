//! The TCP header (RFC 9293 §3.1).

use crate::big_endian::{be16, be32};
use crate::checksum::OnesComplement;
use crate::length::TCP_HEADER_LEN;
use crate::{DecodeError, EncodeError, Flags, Options, Payload, Segment};
use std::net::IpAddr;

/// IP's number for TCP.
pub(crate) const PROTOCOL: u8 = 6;
/// Offset of the checksum in the header.
pub(crate) const CHECKSUM_AT: usize = 16;

/// Appends header, options and content, with the checksum under these addresses. `src` and `dst` are of one family.
pub(crate) fn encode<P: Payload>(
    segment: &Segment<P>,
    src: IpAddr,
    dst: IpAddr,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    out.extend_from_slice(&segment.src_port.to_be_bytes());
    out.extend_from_slice(&segment.dst_port.to_be_bytes());
    out.extend_from_slice(&segment.seq.to_be_bytes());
    out.extend_from_slice(&segment.ack.to_be_bytes());
    out.extend_from_slice(&[0, segment.flags.0]);
    out.extend_from_slice(&segment.window.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&segment.urgent.to_be_bytes());
    segment.options.encode(out)?;
    let header_len = out.len() - start;
    out[start + 12] = (header_len as u8 / 4) << 4;
    out.resize(start + header_len + segment.payload.len(), 0);
    segment.payload.write_to(&mut out[start + header_len..]);
    let checksum = checksum(src, dst, &out[start..]);
    out[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// The checksum over the pseudo-header and `tcp`, including its checksum field: 0 if that field is right; if the field
/// is 0, the value to put there.
pub(crate) fn checksum(src: IpAddr, dst: IpAddr, tcp: &[u8]) -> u16 {
    let mut sum = OnesComplement::default();
    for address in [src, dst] {
        match address {
            IpAddr::V4(v4) => sum.add(&v4.octets()),
            IpAddr::V6(v6) => sum.add(&v6.octets()),
        }
    }
    // Protocol and length, in 16 or 32 bits with zeros between: the sum is the same for IPv4 and IPv6.
    sum.add(&u32::from(PROTOCOL).to_be_bytes());
    sum.add(&(tcp.len() as u32).to_be_bytes());
    sum.add(tcp);
    sum.finish()
}

/// Reads a segment of `len` bytes of which `bytes` are present, the first at `offset`. Its payload is the part that is
/// present.
pub(crate) fn decode(bytes: &[u8], len: usize, offset: usize) -> Result<Segment<&[u8]>, DecodeError> {
    if len < TCP_HEADER_LEN {
        let (found, expected) = (len as u64, "20 bytes or more for TCP after the IP headers");
        return Err(DecodeError::Header { field: "length of the TCP segment", offset, found, expected });
    }
    let truncated =
        |what, needed| DecodeError::Truncated { what, needed: offset + needed, captured: offset + bytes.len() };
    if bytes.len() < TCP_HEADER_LEN {
        return Err(truncated("TCP header", TCP_HEADER_LEN));
    }
    let words = bytes[12] >> 4;
    let header_len = 4 * usize::from(words);
    if header_len < TCP_HEADER_LEN || header_len > len {
        let expected = "5 or more 4-byte words, within the segment";
        return Err(DecodeError::Header {
            field: "TCP data offset",
            offset: offset + 12,
            found: words.into(),
            expected,
        });
    }
    if bytes.len() < header_len {
        return Err(truncated("TCP options", header_len));
    }
    Ok(Segment {
        src_port: be16(bytes, 0),
        dst_port: be16(bytes, 2),
        seq: be32(bytes, 4),
        ack: be32(bytes, 8),
        flags: Flags(bytes[13]),
        window: be16(bytes, 14),
        urgent: be16(bytes, 18),
        options: Options::decode(&bytes[TCP_HEADER_LEN..header_len], offset + TCP_HEADER_LEN)?,
        payload: &bytes[header_len..],
    })
}
