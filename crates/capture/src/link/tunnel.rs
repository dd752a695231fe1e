//! Tunnelled IP packets: IP in IP (RFC 2003, RFC 4213), GRE (RFC 2784, RFC 2890, RFC 2637), VXLAN (RFC 7348), GENEVE
//! (RFC 8926), GTP-U, L2TP, Teredo, and MPLS (RFC 7510).

use super::{CUT, Network, ether, ppp, raw};

/// The packet inside an IP packet that does not carry TCP itself.
#[must_use]
pub fn tunnelled(packet: &[u8]) -> Network<'_> {
    let Ok((protocol, at)) = wire::ip_payload(packet) else { return CUT };
    let inner = packet.get(at..).unwrap_or_default();
    match protocol {
        4 | 41 => raw(inner),
        17 => udp(inner),
        47 => gre(inner),
        137 => ether::payload(0x8847, inner),
        1 | 58 => Network::NotRead("ICMP"),
        2 => Network::NotRead("IGMP"),
        50 => Network::NotRead("IPsec packets (ESP, encrypted)"),
        89 => Network::NotRead("OSPF"),
        97 => ether::payload(0x6558, inner.get(2..).unwrap_or_default()),
        103 => Network::NotRead("PIM"),
        112 => Network::NotRead("VRRP"),
        115 => Network::NotRead("L2TP packets"),
        132 => Network::NotRead("SCTP"),
        _ => Network::NotRead("IP packets of other protocols"),
    }
}

/// GRE: flags and version, the EtherType, and the optional fields that the flags announce.
fn gre(bytes: &[u8]) -> Network<'_> {
    let Some((&[flags, version, high, low], _)) = bytes.split_first_chunk::<4>() else { return CUT };
    let kind = u16::from_be_bytes([high, low]);
    if flags & 0x40 != 0 {
        return Network::NotRead("GRE packets with source routes");
    }
    let mut length = 4;
    for present in [0x80, 0x20, 0x10] {
        length += if flags & present != 0 { 4 } else { 0 };
    }
    let acknowledged = version & 0x80 != 0;
    match version & 7 {
        0 => {}
        // PPTP: always a key, optionally an acknowledgment.
        1 if kind == 0x880b => {
            length += if acknowledged { 4 } else { 0 };
            return bytes
                .get(length..)
                .filter(|rest| !rest.is_empty())
                .map_or(Network::NotRead("PPTP acknowledgments"), ppp::payload);
        }
        _ => return Network::NotRead("GRE packets of an unknown version"),
    }
    let Some(rest) = bytes.get(length..) else { return CUT };
    match kind {
        0x88be => rest.get(if flags & 0x10 != 0 { 8 } else { 0 }..).map_or(CUT, ether::frame),
        0x22eb => rest.get(12..).map_or(CUT, ether::frame),
        // WCCP: the packet; in version 2 after a header of four bytes, which differs from the beginning of an IP
        // packet.
        0x883e => match rest.first().map(|first| first >> 4) {
            Some(4 | 6) => raw(rest),
            _ => rest.get(4..).map_or(CUT, raw),
        },
        _ => ether::payload(kind, rest),
    }
}

/// UDP, by destination port.
fn udp(bytes: &[u8]) -> Network<'_> {
    let Some((&[_, _, high, low, _, _, _, _], rest)) = bytes.split_first_chunk::<8>() else { return CUT };
    match u16::from_be_bytes([high, low]) {
        4789 | 8472 => vxlan(rest),
        1701 => l2tp(rest),
        3544 => teredo(rest),
        6635 => ether::payload(0x8847, rest),
        6081 => geneve(rest),
        2152 => gtp(rest),
        51_820 => Network::NotRead("UDP to WireGuard's port (encrypted)"),
        500 | 4500 => Network::NotRead("UDP to IPsec's ports (encrypted)"),
        1194 => Network::NotRead("UDP to OpenVPN's port (encrypted)"),
        _ => Network::NotRead("UDP"),
    }
}

/// Data of L2TP version 2 (RFC 2661 §3.1): the fields that the flags announce, tunnel and session, then PPP.
fn l2tp(bytes: &[u8]) -> Network<'_> {
    let Some((&[flags, version], rest)) = bytes.split_first_chunk::<2>() else { return CUT };
    match (version & 0x0f, flags & 0x80) {
        (2, 0) => {}
        (2, _) => return Network::NotRead("L2TP control messages"),
        // Only the two ends know the length of the cookie.
        (3, _) => return Network::NotRead("L2TP packets of version 3"),
        _ => return Network::NotRead("UDP"),
    }
    let mut length = 4;
    for (present, bytes) in [(0x40, 2), (0x08, 4)] {
        length += if flags & present != 0 { bytes } else { 0 };
    }
    if flags & 0x02 != 0 {
        let Some(&[high, low]) = rest.get(length..length + 2) else { return CUT };
        length += 2 + usize::from(u16::from_be_bytes([high, low]));
    }
    rest.get(length..).map_or(CUT, ppp::payload)
}

/// IPv6 in UDP (RFC 4380 §5.1.1), optionally after an authentication header and an origin indication.
fn teredo(mut bytes: &[u8]) -> Network<'_> {
    if let Some((&[0, 1, client, authentication], rest)) = bytes.split_first_chunk::<4>() {
        let Some(behind) = rest.get(usize::from(client) + usize::from(authentication) + 9..) else { return CUT };
        bytes = behind;
    }
    if let Some((&[0, 0, ..], behind)) = bytes.split_first_chunk::<8>() {
        bytes = behind;
    }
    match bytes.first().map(|first| first >> 4) {
        Some(6) => raw(bytes),
        Some(_) => Network::NotRead("UDP"),
        None => CUT,
    }
}

fn vxlan(bytes: &[u8]) -> Network<'_> {
    match bytes.split_first_chunk::<8>() {
        Some((header, rest)) if header[0] & 0x08 != 0 => ether::frame(rest),
        Some(_) => Network::NotRead("UDP"),
        None => CUT,
    }
}

/// GENEVE: version and length of the options in words, flags, and the EtherType.
fn geneve(bytes: &[u8]) -> Network<'_> {
    let Some((header, _)) = bytes.split_first_chunk::<8>() else { return CUT };
    if header[0] & 0xc0 != 0 {
        return Network::NotRead("UDP");
    }
    let length = 8 + 4 * usize::from(header[0] & 0x3f);
    bytes.get(length..).map_or(CUT, |rest| ether::payload(u16::from_be_bytes([header[2], header[3]]), rest))
}

/// GTP-U (3GPP TS 29.281): a G-PDU of version 1, optionally with sequence number and extension headers.
fn gtp(bytes: &[u8]) -> Network<'_> {
    let Some((header, _)) = bytes.split_first_chunk::<8>() else { return CUT };
    if header[0] & 0xf0 != 0x30 || header[1] != 255 {
        return Network::NotRead("GTP messages without a packet");
    }
    let mut at = 8;
    if header[0] & 7 != 0 {
        at += 4;
        let mut next = bytes.get(11).copied().unwrap_or(0);
        // Each extension header begins with its length in words and ends with the type of the next one.
        while next != 0 && header[0] & 4 != 0 {
            let words = usize::from(bytes.get(at).copied().unwrap_or(0));
            if words == 0 {
                return CUT;
            }
            at += 4 * words;
            next = bytes.get(at - 1).copied().unwrap_or(0);
        }
    }
    bytes.get(at..).map_or(CUT, raw)
}
