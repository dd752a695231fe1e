//! Ethernet and payloads with an EtherType: tags, PPPoE, MPLS (IEEE 802.3, 802.1Q, RFC 2516, RFC 3032).

use super::{CUT, Network, ppp, raw};

/// Maximum number of tags or labels that are skipped. A frame with more is not valid.
const DEPTH: usize = 8;

/// An Ethernet frame: two addresses, then the EtherType.
pub fn frame(frame: &[u8]) -> Network<'_> {
    at(frame, 12)
}

/// A frame whose EtherType is at offset `at`.
pub fn at(frame: &[u8], at: usize) -> Network<'_> {
    match frame.get(at..).and_then(<[u8]>::split_first_chunk::<2>) {
        Some((kind, rest)) => payload(u16::from_be_bytes(*kind), rest),
        None => CUT,
    }
}

/// The payload after an EtherType.
pub fn payload(mut kind: u16, mut rest: &[u8]) -> Network<'_> {
    for _ in 0..DEPTH {
        match kind {
            0x0800 | 0x86dd => return raw(rest),
            // Tags: two bytes of their own, then the next EtherType.
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
                let Some((tag, behind)) = rest.split_first_chunk::<4>() else { return CUT };
                (kind, rest) = (u16::from_be_bytes([tag[2], tag[3]]), behind);
            }
            // PPPoE session: version, code, session and length, then PPP.
            0x8864 => return rest.get(6..).map_or(CUT, ppp::payload),
            0x8847 | 0x8848 => return labelled(rest),
            // Provider backbone bridging: the service tag, then the customer's whole frame (IEEE 802.1ah).
            0x6558 | 0x88e7 => {
                let skipped = if kind == 0x88e7 { 4 } else { 0 };
                let Some((kind_of_inner, behind)) = rest.get(skipped + 12..).and_then(<[u8]>::split_first_chunk::<2>)
                else {
                    return CUT;
                };
                (kind, rest) = (u16::from_be_bytes(*kind_of_inner), behind);
            }
            // A length: LLC, and SNAP followed by an EtherType (RFC 1042).
            0..=1500 => match rest.split_first_chunk::<8>() {
                Some(([0xaa, 0xaa, 3, 0, 0, 0, high, low], behind)) => {
                    (kind, rest) = (u16::from_be_bytes([*high, *low]), behind);
                }
                // SLL uses 1 for 802.3 frames without LLC, and 4 with LLC.
                Some(_) => return Network::NotRead("802.3 frames without IP"),
                None => return CUT,
            },
            other => return Network::NotRead(name(other)),
        }
    }
    Network::NotRead("frames with more than eight tags")
}

/// MPLS: a bit marks the last label. The IP version of the payload is read from its first byte.
fn labelled(mut rest: &[u8]) -> Network<'_> {
    for _ in 0..DEPTH {
        let Some((label, behind)) = rest.split_first_chunk::<4>() else { return CUT };
        rest = behind;
        if label[2] & 1 != 0 {
            return match rest.first().map(|first| first >> 4) {
                Some(4 | 6) => Network::Ip(rest, 0),
                // A pseudowire's control word begins with 0 (RFC 4385); without one, an Ethernet frame follows
                // directly.
                Some(_) => Network::NotRead("MPLS frames without IP"),
                None => CUT,
            };
        }
    }
    Network::NotRead("MPLS frames with more than eight labels")
}

const fn name(kind: u16) -> &'static str {
    match kind {
        0x0806 => "ARP",
        0x8035 => "RARP",
        0x8863 => "PPPoE discovery frames",
        0x88cc => "LLDP",
        0x888e => "EAPOL",
        0x88e5 => "MACsec frames (encrypted)",
        0x88f7 => "PTP",
        0x8809 => "LACP and other slow protocols",
        0x9000 => "loopback test frames",
        0x894f => "NSH frames",
        0x22eb => "TRILL frames",
        0x8137 => "IPX",
        0x809b => "AppleTalk",
        0xcafe => "frames of EtherType 0xcafe",
        _ => "frames of another EtherType",
    }
}
