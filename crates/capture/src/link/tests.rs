//! All headers that may precede an IP packet, written by hand from the documents named in each module.

use super::*;
use proptest::prelude::*;

const IP: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];

fn ethernet(kind: u16) -> Vec<u8> {
    [&[0; 12][..], &kind.to_be_bytes()].concat()
}

/// Headers by link type, with the interface number in the frame.
fn headers() -> Vec<(u32, Vec<u8>, u32)> {
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let session = [0x11, 0, 0, 7, 0, 22, 0, 0x21];
    let mut sll = vec![0; 14];
    sll.extend([0x08, 0x00]);
    let sll_session = [&[0; 14][..], &[0x88, 0x64], &session].concat();
    let mut sll2 = vec![0x08, 0x00, 0, 0, 0, 0, 0, 7];
    sll2.extend([0; 12]);
    let mut sll2_tagged = vec![0x81, 0x00, 0, 0, 0, 0, 0, 7];
    sll2_tagged.extend([0; 12]);
    sll2_tagged.extend([0, 5, 8, 0]);
    let pktap = [&108_u32.to_le_bytes()[..], &[1, 0, 0, 0], &12_u32.to_le_bytes(), &[0; 96]].concat();
    // Data from an access point: 24 bytes, plus 2 of quality of service, then LLC and SNAP.
    let wireless = [&[0x08, 0x02][..], &[0; 22], &snap].concat();
    let quality = [&[0x88, 0x02][..], &[0; 24], &snap].concat();
    // Time (8 bytes, aligned) and flags, which mark the header as padded to 28 bytes; then two words of present bits.
    let radiotap = [&[0, 0, 17, 0, 3, 0, 0, 0][..], &[0; 8], &[0], &wireless].concat();
    let padded = [&[0, 0, 9, 0, 2, 0, 0, 0, 0x20][..], &[0x88, 0x02], &[0; 24], &[0, 0], &snap].concat();
    let words = [&[0, 0, 13, 0, 2, 0, 0, 0x80, 0, 0, 0, 0, 0][..], &wireless].concat();
    let nflog = [&[2, 0, 0, 1][..], &[8, 0, 1, 0, 0, 0, 0, 0], &[5, 0, 10, 0, b'x', 0, 0, 0], &[24, 0, 9, 0]].concat();
    let nflog_big = [&[2, 0, 0, 1][..], &[0, 8, 0, 1, 0, 0, 0, 0], &[0, 24, 0, 9]].concat();
    vec![
        (101, vec![], 0),
        (12, vec![], 0),
        (14, vec![], 0),
        (228, vec![], 0),
        (229, vec![], 0),
        (1, ethernet(0x0800), 0),
        (1, [&ethernet(0x88a8)[..], &[0, 1, 0x81, 0, 0, 2, 8, 0]].concat(), 0),
        (1, [&ethernet(0x8864)[..], &session].concat(), 0),
        (1, [&ethernet(0x8100)[..], &[0, 7, 0x88, 0x64], &session].concat(), 0),
        (1, [&ethernet(1000)[..], &snap].concat(), 0),
        (1, [&ethernet(0x88e7)[..], &[0, 0, 0, 9], &ethernet(0x0800)].concat(), 0),
        (1, [&ethernet(0x8847)[..], &[0, 1, 0, 64, 0, 1, 1, 64]].concat(), 0),
        (9, vec![0xff, 3, 0, 0x21], 0),
        (9, vec![0, 0x21], 0),
        (9, vec![0x21], 0),
        (50, vec![0xff, 3, 0, 0x21], 0),
        (50, vec![0x0f, 0, 8, 0], 0),
        (51, session.to_vec(), 0),
        (104, vec![0x8f, 0, 8, 0], 0),
        (166, vec![1, 0, 0x21], 0),
        (204, vec![0, 0xff, 3, 0, 0x21], 0),
        (113, sll, 0),
        (113, sll_session, 0),
        (276, sll2, 7),
        (276, sll2_tagged, 7),
        (281, [&[0; 12][..], &[9; 4], &[8, 0]].concat(), 0),
        (282, [&[9; 4][..], &[0; 12], &[8, 0]].concat(), 0),
        (284, [&[0; 12][..], &[9; 4], &[8, 0]].concat(), 0),
        (285, [&[0; 12][..], &[0xda, 0xda, 0, 0], &[9; 4], &[8, 0]].concat(), 0),
        (242, [&[0; 40][..], &[8, 0, 0, 0]].concat(), 0),
        (192, [&[0, 0, 8, 0, 1, 0, 0, 0][..], &ethernet(0x0800)].concat(), 0),
        (192, vec![0, 0, 12, 0, 101, 0, 0, 0, 1, 0, 0, 0], 0),
        (0, vec![2, 0, 0, 0], 0),
        (0, vec![0, 0, 0, 30], 0),
        (108, vec![0, 0, 0, 24], 0),
        (258, pktap.clone(), 0),
        (149, pktap, 0),
        (105, wireless, 0),
        (105, quality, 0),
        (127, radiotap, 0),
        (127, padded, 0),
        (127, words, 0),
        (239, nflog, 0),
        (239, nflog_big, 0),
    ]
}

#[test]
fn finds_the_packet_behind_every_link_header() {
    for (link_type, header, interface) in headers() {
        let whole = [&header[..], &IP].concat();
        assert_eq!(network(link_type, &whole), Network::Ip(&IP, interface), "link type {link_type}: {header:02x?}");
        for length in 0..=header.len() {
            let cut = network(link_type, &whole[..length]);
            assert!(matches!(cut, Network::NotRead(_)), "link type {link_type}, {length} bytes: {cut:?}");
        }
    }
    let mut known: Vec<u32> = headers().iter().map(|(link_type, ..)| *link_type).collect();
    known.sort_unstable();
    known.dedup();
    assert_eq!(known, KNOWN.map(|(link_type, _)| link_type));
}

/// An IPv4 packet of the given protocol.
fn ip(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = IP.to_vec();
    packet[9] = protocol;
    packet[3] = 20 + payload.len() as u8;
    packet.extend(payload);
    packet
}

/// A UDP packet to the given port.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    ip(17, &[&[0, 9][..], &port.to_be_bytes(), &[0, 0, 0, 0], payload].concat())
}

fn tunnels() -> Vec<Vec<u8>> {
    let six = [&[0x60, 0, 0, 0, 0, 20, 4, 64][..], &[0; 32]].concat();
    let six_with_options =
        [&[0x60, 0, 0, 0, 0, 28, 60, 64][..], &[0; 32], &[47, 0, 1, 4, 0, 0, 0, 0], &[0, 0, 8, 0]].concat();
    vec![
        ip(4, &[]),
        six,
        six_with_options,
        ip(47, &[0, 0, 8, 0]),
        // With a checksum, a key and a sequence number.
        ip(47, &[&[0xb0, 0, 8, 0][..], &[0; 12]].concat()),
        ip(47, &[&[0, 0, 0x65, 0x58][..], &ethernet(0x0800)].concat()),
        // PPTP: key and sequence number, then PPP.
        ip(47, &[&[0x30, 0x01, 0x88, 0x0b][..], &[0; 8], &[0xff, 3, 0, 0x21]].concat()),
        // ERSPAN of type II.
        ip(47, &[&[0x10, 0, 0x88, 0xbe][..], &[0; 12], &ethernet(0x0800)].concat()),
        ip(97, &[&[0x30, 0][..], &ethernet(0x0800)].concat()),
        ip(137, &[0, 0, 1, 64]),
        udp(4789, &[&[8, 0, 0, 0, 0, 0, 9, 0][..], &ethernet(0x0800)].concat()),
        udp(6081, &[&[1, 0, 0x65, 0x58, 0, 0, 9, 0][..], &[0; 4], &ethernet(0x0800)].concat()),
        udp(6081, &[0, 0, 8, 0, 0, 0, 9, 0]),
        // WCCP without and with its own header.
        ip(47, &[0, 0, 0x88, 0x3e]),
        ip(47, &[0, 0, 0x88, 0x3e, 0, 0, 0, 1]),
        udp(6635, &[0, 1, 1, 64]),
        // L2TP: the shortest header, and one with length, sequence numbers and an offset of two bytes.
        udp(1701, &[0, 2, 0, 1, 0, 1, 0xff, 3, 0, 0x21]),
        udp(1701, &[&[0x4a, 2, 0, 40, 0, 1, 0, 1, 0, 5, 0, 6, 0, 2, 9, 9][..], &[0xff, 3, 0, 0x21]].concat()),
        udp(2152, &[0x30, 255, 0, 20, 0, 0, 0, 1]),
        udp(2152, &[&[0x34, 255, 0, 28, 0, 0, 0, 1][..], &[0, 0, 0, 0x85], &[1, 0, 0, 0]].concat()),
    ]
}

#[test]
fn finds_the_packet_in_every_tunnel() {
    for header in tunnels() {
        let whole = [&header[..], &IP].concat();
        assert_eq!(tunnelled(&whole), Network::Ip(&IP, 0), "{header:02x?}");
        for length in 0..=header.len() {
            assert!(matches!(tunnelled(&whole[..length]), Network::NotRead(_)), "{length} bytes of {header:02x?}");
        }
    }
}

#[test]
fn what_is_not_read_is_named() {
    for (link_type, frame, name) in [
        (1, ethernet(0x0806), "ARP"),
        (1, ethernet(0x8863), "PPPoE discovery frames"),
        (0, vec![9, 0, 0, 0, 1], "frames of another address family than IP"),
        (9, vec![0xc0, 0x21, 1], "PPP control frames (LCP, IPCP, authentication)"),
        (105, vec![0x80, 0], "802.11 management frames"),
        (105, vec![0x08, 0x40], "encrypted 802.11 frames"),
        (258, vec![12, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0], "frames with headers in headers"),
    ] {
        assert_eq!(network(link_type, &frame), Network::NotRead(name));
    }
    assert_eq!(network(147, &IP), Network::UnknownLink);
    assert_eq!(tunnelled(&ip(50, &[])), Network::NotRead("IPsec packets (ESP, encrypted)"));
    assert_eq!(tunnelled(&udp(53, &[])), Network::NotRead("UDP"));
    assert_eq!(tunnelled(&udp(1701, &[0xc8, 2, 0, 20])), Network::NotRead("L2TP control messages"));
    assert_eq!(tunnelled(&udp(1701, &[0, 3, 0, 0])), Network::NotRead("L2TP packets of version 3"));
}

#[test]
fn ipv6_in_teredo() {
    let inner = [&[0x60, 0, 0, 0, 0, 0, 59, 64][..], &[0; 32]].concat();
    let authentication = [&[0, 1, 2, 3][..], &[7; 5], &[0; 9]].concat();
    let origin = [0, 0, 0x12, 0x34, 1, 2, 3, 4];
    for header in [vec![], authentication.clone(), origin.to_vec(), [&authentication[..], &origin].concat()] {
        assert_eq!(tunnelled(&udp(3544, &[&header[..], &inner].concat())), Network::Ip(&inner, 0), "{header:02x?}");
    }
    assert_eq!(tunnelled(&udp(3544, &IP)), Network::NotRead("UDP"));
}

proptest! {
    #[test]
    fn no_frame_makes_it_panic(link_type in 0..300_u32, known in any::<prop::sample::Index>(), change in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), tail in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = network(link_type, &tail);
        let _ = tunnelled(&tail);
        let several = headers();
        let (link_type, header, _) = &several[known.index(several.len())];
        let tunnels = tunnels();
        let mut frame = [&header[..], &tunnels[known.index(tunnels.len())], &tail].concat();
        for (at, byte) in change {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        if let Network::Ip(packet, _) = network(*link_type, &frame) {
            let _ = tunnelled(packet);
        }
    }
}
