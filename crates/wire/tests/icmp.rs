//! ICMP errors: two packets whose bytes were computed elsewhere, what makes them void, and any bytes at all.

use proptest::prelude::*;
use wire::{IcmpError, IcmpKind, decode_icmp};

/// "Fragmentation needed", MTU 576, from 10.0.0.254, about a segment of 1,500 bytes from 10.0.0.1:80 to 10.0.0.2:5000.
const V4: &str = "4500003800004000400125c70a0000fe0a000001 0304e2dd00000240 450005dc000040004006211a0a0000010a000002 0050138801020304";
/// "Packet too big", MTU 1280, the same over IPv6.
const V6: &str = "6000000000383a40 20010db80000000000000000000000fe 20010db8000000000000000000000001 0200bd1000000500 \
                  6000000005780640 20010db8000000000000000000000001 20010db8000000000000000000000002 0050138801020304";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The checksum at `at` of what begins at `from` set right, `pseudo` being added to the sum.
fn seal(packet: &mut [u8], from: usize, to: usize, at: usize, pseudo: u32) {
    packet[at..at + 2].fill(0);
    let word = |pair: &[u8]| u32::from(pair[0]) * 256 + u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum = packet[from..to].chunks(2).fold(pseudo, |sum, pair| sum + word(pair));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// The IPv4 packet with this type, code and MTU field.
fn v4(kind: u8, code: u8, mtu: u16) -> Vec<u8> {
    let mut packet = bytes(V4);
    (packet[20], packet[21]) = (kind, code);
    packet[26..28].copy_from_slice(&mtu.to_be_bytes());
    seal(&mut packet, 20, 56, 22, 0);
    packet
}

fn kind_of(packet: &[u8]) -> Option<IcmpKind> {
    decode_icmp(packet).map(|error| error.kind)
}

#[test]
fn the_quoted_segment_is_found() {
    for (packet, ends, mtu) in
        [(V4, ["10.0.0.1:80", "10.0.0.2:5000"], 576), (V6, ["[2001:db8::1]:80", "[2001:db8::2]:5000"], 1280)]
    {
        let [local, remote] = ends.map(|end| end.parse().unwrap());
        let error = IcmpError { kind: IcmpKind::TooBig { mtu }, local, remote, seq: 0x0102_0304 };
        assert_eq!(decode_icmp(&bytes(packet)), Some(error));
    }
}

/// RFC 9293 §3.9.2.2: soft are IPv4's 3/0, 3/1, 3/5, 11 and 12; hard are 3/2 and 3/3 (and 3/4 where the path MTU is not looked
/// for). Source Quench is discarded.
#[test]
fn types_and_codes_of_ipv4() {
    for code in [0, 1, 5, 13] {
        assert_eq!(kind_of(&v4(3, code, 0)), Some(IcmpKind::Unreachable), "{code}");
    }
    for code in [2, 3] {
        assert_eq!(kind_of(&v4(3, code, 0)), Some(IcmpKind::Refused), "{code}");
    }
    assert_eq!(kind_of(&v4(11, 0, 0)), Some(IcmpKind::TimeExceeded));
    assert_eq!(kind_of(&v4(12, 0, 0)), Some(IcmpKind::ParameterProblem));
    for other in [0, 4, 5, 8] {
        assert_eq!(kind_of(&v4(other, 0, 0)), None, "{other}");
    }
}

/// RFC 1191 §5: a router that does not tell its MTU says 0; the plateau below 1,500 is 1,492.
#[test]
fn an_mtu_that_is_not_told_is_the_next_plateau() {
    assert_eq!(kind_of(&v4(3, 4, 0)), Some(IcmpKind::TooBig { mtu: 1_492 }));
}

#[test]
fn what_is_damaged_or_not_ours_is_nothing() {
    for (packet, len) in [(bytes(V4), 56), (bytes(V6), 96)] {
        assert_eq!(packet.len(), len);
        for short in 0..len {
            assert_eq!(decode_icmp(&packet[..short]), None, "{short} bytes of {len}");
        }
        for at in 0..len {
            // Neither the flow label and hop limit of IPv6 nor an address pair that is swapped is under a checksum of its own.
            if len == 96 && (at < 4 || at == 7) {
                continue;
            }
            let mut damaged = packet.clone();
            damaged[at] ^= 0x10;
            assert_eq!(decode_icmp(&damaged), None, "byte {at} of {len}");
        }
    }
    // The quoted segment is from another host than the one that the error went to.
    let mut other = bytes(V4);
    other[43] = 9;
    seal(&mut other, 20, 56, 22, 0);
    assert_eq!(decode_icmp(&other), None);
    // The second fragment of a packet has no ports.
    let mut fragment = bytes(V4);
    fragment[35] = 1;
    seal(&mut fragment, 20, 56, 22, 0);
    assert_eq!(decode_icmp(&fragment), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_do_no_harm(packet in prop::collection::vec(any::<u8>(), 0..200)) {
        _ = decode_icmp(&packet);
    }

    /// Any quoted packet behind a header and a checksum that are right: headers of any length and any protocol.
    #[test]
    fn any_quoted_packet_does_no_harm(
        v6: bool, kind: u8, code: u8, quoted in prop::collection::vec(any::<u8>(), 0..120), first in 0x44u8..0x70,
    ) {
        let mut packet = bytes(if v6 { V6 } else { V4 });
        let message = if v6 { 40 } else { 20 };
        packet.truncate(message + 8);
        packet.extend(&quoted);
        if let Some(byte) = packet.get_mut(message + 8) {
            *byte = first;
        }
        (packet[message], packet[message + 1]) = (kind, code);
        let (len, end) = (packet.len() - message, packet.len());
        if v6 {
            packet[4..6].copy_from_slice(&(len as u16).to_be_bytes());
            let addresses: u32 = packet[8..40].chunks(2).map(|pair| u32::from(pair[0]) * 256 + u32::from(pair[1])).sum();
            seal(&mut packet, message, end, message + 2, addresses + len as u32 + 58);
        } else {
            packet[2..4].copy_from_slice(&(end as u16).to_be_bytes());
            seal(&mut packet, 0, 20, 10, 0);
            seal(&mut packet, message, end, message + 2, 0);
        }
        _ = decode_icmp(&packet);
    }
}
