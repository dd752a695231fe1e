//! NFLOG: netfilter's log, a list of attributes with type and length, one of which is the packet.

use super::{CUT, Network, raw};

/// `NFULA_PAYLOAD`.
const PAYLOAD: u16 = 9;

/// A frame: family, version and resource in four bytes, then the attributes in the byte order of the logging host.
pub fn frame(frame: &[u8]) -> Network<'_> {
    let Some(attributes) = frame.get(4..) else { return CUT };
    let little = packet(attributes, u16::from_le_bytes);
    match little.or_else(|| packet(attributes, u16::from_be_bytes)) {
        Some(found) => raw(found),
        None => Network::NotRead("NFLOG frames without a packet"),
    }
}

fn packet(mut rest: &[u8], number: fn([u8; 2]) -> u16) -> Option<&[u8]> {
    while let Some(([a, b, c, d], _)) = rest.split_first_chunk::<4>() {
        let (length, kind) = (usize::from(number([*a, *b])), number([*c, *d]) & 0x3fff);
        if length < 4 {
            return None;
        }
        if kind == PAYLOAD {
            // If the snap length cut the attribute, take what is there.
            return rest.get(4..length.min(rest.len()));
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}
