//! Where the IP packet stands in a frame, by the capture's link type (<https://www.tcpdump.org/linktypes.html>).

/// The link types that are read.
pub const KNOWN: [(u32, &str); 9] = [
    (0, "NULL"),
    (1, "Ethernet"),
    (12, "RAW"),
    (101, "RAW"),
    (108, "LOOP"),
    (113, "Linux SLL"),
    (228, "IPV4"),
    (229, "IPV6"),
    (276, "Linux SLL2"),
];

/// A frame's network layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Network<'a> {
    /// An IP packet, and the number of the interface where the frame itself tells one (SLL2), else 0.
    Ip(&'a [u8], u32),
    /// Something else (ARP, LLDP…), or too short to tell.
    Other,
    /// The link type is not one of [`KNOWN`].
    UnknownLink,
}

/// Finds the IP packet.
#[must_use]
pub fn network(link_type: u32, frame: &[u8]) -> Network<'_> {
    let found = match link_type {
        12 | 101 | 228 | 229 => Some((frame, 0)),
        1 => ethertype(frame, 12).map(|packet| (packet, 0)),
        113 => ethertype(frame, 14).map(|packet| (packet, 0)),
        276 => sll2(frame),
        0 | 108 => loopback(frame).map(|packet| (packet, 0)),
        _ => return Network::UnknownLink,
    };
    match found {
        Some((packet, interface)) if !packet.is_empty() => Network::Ip(packet, interface),
        _ => Network::Other,
    }
}

/// What follows the EtherType at `at`, past VLAN tags (IEEE 802.1Q, 802.1ad), when it is IP.
fn ethertype(frame: &[u8], mut at: usize) -> Option<&[u8]> {
    loop {
        let kind = u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]);
        match kind {
            0x0800 | 0x86dd => return frame.get(at + 2..),
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            _ => return None,
        }
    }
}

/// Linux cooked capture version 2: protocol first, then the interface's number; the header has 20 bytes.
fn sll2(frame: &[u8]) -> Option<(&[u8], u32)> {
    let interface = u32::from_be_bytes(*frame.get(4..8)?.first_chunk()?);
    match (*frame.first()?, *frame.get(1)?) {
        (0x08, 0x00) | (0x86, 0xdd) => Some((frame.get(20..)?, interface)),
        // With a tag, the EtherType behind it is the last of the four bytes that follow.
        (0x81, 0x00) | (0x88, 0xa8) => Some((ethertype(frame, 22)?, interface)),
        _ => None,
    }
}

/// The address family in four bytes, in the order of the machine that captured (NULL) or of the network (LOOP).
fn loopback(frame: &[u8]) -> Option<&[u8]> {
    let family: [u8; 4] = *frame.first_chunk()?;
    let family = u32::from_le_bytes(family).min(u32::from_be_bytes(family));
    // AF_INET, and AF_INET6 of Linux, NetBSD, FreeBSD and macOS.
    matches!(family, 2 | 10 | 24 | 28 | 30).then(|| &frame[4..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: [u8; 3] = [0x45, 1, 2];

    fn frame(header: &[u8]) -> Vec<u8> {
        [header, &IP].concat()
    }

    #[test]
    fn finds_the_packet_behind_every_link_header() {
        let mut ethernet = vec![0; 12];
        ethernet.extend([0x08, 0x00]);
        let mut tagged = vec![0; 12];
        tagged.extend([0x88, 0xa8, 0, 1, 0x81, 0x00, 0, 2, 0x86, 0xdd]);
        let mut sll = vec![0; 14];
        sll.extend([0x08, 0x00]);
        let mut sll2 = vec![0x08, 0x00, 0, 0, 0, 0, 0, 7];
        sll2.extend([0; 12]);
        for (link_type, header, interface) in [
            (101, vec![], 0),
            (12, vec![], 0),
            (228, vec![], 0),
            (229, vec![], 0),
            (1, ethernet, 0),
            (1, tagged, 0),
            (113, sll, 0),
            (276, sll2, 7),
            (0, vec![2, 0, 0, 0], 0),
            (0, vec![0, 0, 0, 30], 0),
            (108, vec![0, 0, 0, 24], 0),
        ] {
            let whole = frame(&header);
            assert_eq!(network(link_type, &whole), Network::Ip(&IP, interface), "link type {link_type}");
            for length in 0..=header.len() {
                let cut = network(link_type, &whole[..length]);
                assert_eq!(cut, Network::Other, "link type {link_type}, {length} bytes");
            }
        }
    }

    #[test]
    fn what_is_not_ip_is_left_alone() {
        let mut arp = vec![0; 12];
        arp.extend([0x08, 0x06, 1, 2, 3, 4]);
        assert_eq!(network(1, &arp), Network::Other);
        assert_eq!(network(0, &[9, 0, 0, 0, 1]), Network::Other);
        assert_eq!(network(147, &IP), Network::UnknownLink);
    }
}
