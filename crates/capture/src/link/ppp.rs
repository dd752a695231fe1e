//! PPP (RFC 1661) as a link type, PPP in HDLC framing (RFC 1662), and Cisco HDLC.

use super::{CUT, Network, after_ether_type, raw};

/// A frame of one of the PPP link types.
pub fn frame(link_type: u32, frame: &[u8]) -> Network<'_> {
    match (link_type, frame) {
        // The first byte gives the direction.
        (166 | 204, [0 | 1, rest @ ..]) => hdlc(rest),
        (51, [0x11, _, _, _, _, _, rest @ ..]) => payload(rest),
        (51, _) => Network::NotRead("PPPoE discovery frames"),
        _ => hdlc(frame),
    }
}

/// Address and control unless compressed away, or Cisco's address and EtherType.
fn hdlc(frame: &[u8]) -> Network<'_> {
    match frame {
        [0xff, 0x03, rest @ ..] => payload(rest),
        [0x0f | 0x8f, 0, high, low, rest @ ..] => after_ether_type(u16::from_be_bytes([*high, *low]), rest),
        _ => payload(frame),
    }
}

/// The protocol, in two bytes or compressed to one odd byte, and its payload.
pub fn payload(bytes: &[u8]) -> Network<'_> {
    let (protocol, rest) = match bytes {
        [0xff, 0x03, high, low, rest @ ..] if high & 1 == 0 => (u16::from_be_bytes([*high, *low]), rest),
        [low, rest @ ..] if low & 1 == 1 => (u16::from(*low), rest),
        [high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]), rest),
        _ => return CUT,
    };
    match protocol {
        0x0021 | 0x0057 => raw(rest),
        0x0281 => after_ether_type(0x8847, rest),
        0x002d | 0x002f => Network::NotRead("PPP frames with compressed TCP headers"),
        0x003d => Network::NotRead("PPP multilink fragments"),
        0x00fd => Network::NotRead("compressed PPP frames"),
        0x0053 => Network::NotRead("encrypted PPP frames"),
        0x8000..=0xffff => Network::NotRead("PPP control frames (LCP, IPCP, authentication)"),
        _ => Network::NotRead("PPP frames of other protocols"),
    }
}
