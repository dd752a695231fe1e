//! IEEE 802.11, alone or after a Radiotap header (<https://www.radiotap.org>).

use super::{CUT, Network, ether};

/// Radiotap: version, length in little-endian order, words of present bits, and then the fields.
pub fn radiotap(frame: &[u8]) -> Network<'_> {
    let Some([0, _, low, high]) = frame.first_chunk::<4>() else { return CUT };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    let Some(inner) = frame.get(length..).filter(|_| length >= 8) else { return CUT };
    data(inner, flags(&frame[..length]).is_some_and(|flags| flags & 0x20 != 0))
}

/// The flags field: the second field, after the time if present, which is aligned to eight bytes.
fn flags(header: &[u8]) -> Option<u8> {
    let word = |at: usize| header.get(at..at + 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    let present = word(4)?;
    let mut at = 8;
    // The highest bit announces another word.
    let mut last = present;
    while last & 0x8000_0000 != 0 {
        last = word(at)?;
        at += 4;
    }
    if present & 1 != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    if present & 2 == 0 { None } else { header.get(at).copied() }
}

/// An 802.11 frame.
pub fn frame(frame: &[u8]) -> Network<'_> {
    data(frame, false)
}

/// `padded`: whether the header is padded to a multiple of four bytes.
fn data(frame: &[u8], padded: bool) -> Network<'_> {
    let Some(&[control, flags]) = frame.first_chunk::<2>() else { return CUT };
    match control & 0x0c {
        0x08 => {}
        0x00 => return Network::NotRead("802.11 management frames"),
        _ => return Network::NotRead("802.11 control frames"),
    }
    // Bit 6 of the subtype marks a frame without data.
    if control & 0x40 != 0 {
        return Network::NotRead("802.11 frames without data");
    }
    if flags & 0x40 != 0 {
        return Network::NotRead("encrypted 802.11 frames");
    }
    let quality = control & 0x80 != 0;
    let mut length = 24;
    if flags & 3 == 3 {
        length += 6;
    }
    if quality {
        if frame.get(length).is_some_and(|control| control & 0x80 != 0) {
            return Network::NotRead("aggregated 802.11 frames (A-MSDU)");
        }
        length += 2;
        if flags & 0x80 != 0 {
            length += 4;
        }
    }
    if padded {
        length = length.next_multiple_of(4);
    }
    match frame.get(length..).and_then(<[u8]>::split_first_chunk::<8>) {
        Some(([0xaa, 0xaa, 3, _, _, _, high, low], rest)) => ether::payload(u16::from_be_bytes([*high, *low]), rest),
        Some(_) => Network::NotRead("802.11 frames without IP"),
        None => CUT,
    }
}
