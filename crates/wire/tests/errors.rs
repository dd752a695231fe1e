//! Malformed bytes and segments: each error names what is wrong and where.

use wire::{
    AddAddr, Checksums, DataNumber, DecodeError, Dss, EncodeError, IpHeader, Mapping, MpCapable, MptcpOption, Options,
    RareOptions, SackBlock, Segment, Timestamps, UnknownOption, decode, decode_headers, decode_with, encode,
};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Options, and the message they give; the first option stands at byte 40, as after an IPv4 and a TCP header.
const MALFORMED: [(&str, &str); 37] = [
    ("02", "option MSS (kind 2): length at byte 41 is missing, expected a byte before the end of the header"),
    ("02 01", "option MSS (kind 2): length at byte 41 is 1, expected 2 or more"),
    ("63 00", "option unknown (kind 99): length at byte 41 is 0, expected 2 or more"),
    ("63 05 00", "option unknown (kind 99): length at byte 41 is 5, expected no more than the header has left"),
    ("02 03 05", "option MSS (kind 2): length at byte 41 is 3, expected 4"),
    ("01 03 04 07 00", "option window scale (kind 3): length at byte 42 is 4, expected 3"),
    ("04 03 00", "option SACK-permitted (kind 4): length at byte 41 is 3, expected 2"),
    ("08 04 0000", "option timestamps (kind 8): length at byte 41 is 4, expected 10"),
    ("05 02", "option SACK (kind 5): length at byte 41 is 2, expected 10, 18, 26 or 34"),
    ("05 06 00000000", "option SACK (kind 5): length at byte 41 is 6, expected 10, 18, 26 or 34"),
    ("02 04 05b4 02 04 05b4", "option MSS (kind 2): kind at byte 44 is 2, expected this option once in a segment"),
    ("03 03 01 03 03 01", "option window scale (kind 3): kind at byte 43 is 3, expected this option once in a segment"),
    ("04 02 04 02", "option SACK-permitted (kind 4): kind at byte 42 is 4, expected this option once in a segment"),
    (
        "08 0a 0000000000000000 08 0a 0000000000000000",
        "option timestamps (kind 8): kind at byte 50 is 8, expected this option once in a segment",
    ),
    (
        "05 0a 0000000000000000 05 0a 0000000000000000",
        "option SACK (kind 5): kind at byte 50 is 5, expected this option once in a segment",
    ),
    ("1e 04 20 00 1e 04 20 00", "option DSS (kind 30): kind at byte 44 is 30, expected this option once in a segment"),
    ("1e 02", "option MPTCP (kind 30): length at byte 41 is 2, expected 3 or more: a subtype"),
    ("1e 03 01", "option MP_CAPABLE (kind 30): length at byte 41 is 3, expected 4, 12, 20, 22 or 24"),
    ("1e 05 01 01 00", "option MP_CAPABLE (kind 30): length at byte 41 is 5, expected 4, 12, 20, 22 or 24"),
    ("1e 04 00 01", "option MP_CAPABLE (kind 30): length at byte 41 is 4, expected 12 or 20 in version 0"),
    ("1e 04 10 00", "option MP_JOIN (kind 30): length at byte 41 is 4, expected 12, 16 or 24"),
    ("1e 03 20", "option DSS (kind 30): length at byte 41 is 3, expected 4 or more: the flags"),
    ("1e 06 20 01 0000", "option DSS (kind 30): length at byte 41 is 6, expected what the flags ask for"),
    ("1e 08 20 03 00000000", "option DSS (kind 30): length at byte 41 is 8, expected what the flags ask for"),
    ("1e 0c 20 04 0000000000000000", "option DSS (kind 30): length at byte 41 is 12, expected what the flags ask for"),
    (
        "1e 0f 20 04 0000000000000000000000",
        "option DSS (kind 30): length at byte 41 is 15, expected what the flags ask for, or 2 more with a mapping",
    ),
    (
        "1e 12 20 04 0000000000000000000000000000",
        "option DSS (kind 30): length at byte 41 is 18, expected what the flags ask for, or 2 more with a mapping",
    ),
    (
        "1e 0a 20 01 00000000 beef",
        "option DSS (kind 30): length at byte 41 is 10, expected what the flags ask for, or 2 more with a mapping",
    ),
    ("1e 05 30 01 00", "option ADD_ADDR (kind 30): length at byte 41 is 5, expected 8, 10, 16, 18, 20, 22, 28 or 30"),
    (
        "1e 08 30 01 0a000001",
        "option ADD_ADDR (kind 30): flags at byte 42 is 0, expected E (1) at this length, which has no HMAC, or the IP \
         version of version 0",
    ),
    (
        "1e 08 36 01 0a000001",
        "option ADD_ADDR (kind 30): flags at byte 42 is 6, expected E (1) at this length, which has no HMAC, or the IP \
         version of version 0",
    ),
    (
        "1e 10 31 01 0a000001 0000000000000000",
        "option ADD_ADDR (kind 30): length at byte 41 is 16, expected 8, 10, 20 or 22: an echo has no HMAC",
    ),
    ("1e 03 40", "option REMOVE_ADDR (kind 30): length at byte 41 is 3, expected 4 or more: at least one address id"),
    ("1e 05 51 01 02", "option MP_PRIO (kind 30): length at byte 41 is 5, expected 3, or 4 in version 0"),
    ("1e 04 60 00", "option MP_FAIL (kind 30): length at byte 41 is 4, expected 12"),
    ("1e 04 70 00", "option MP_FASTCLOSE (kind 30): length at byte 41 is 4, expected 12"),
    ("1e 03 80", "option MP_TCPRST (kind 30): length at byte 41 is 3, expected 4"),
];

#[test]
fn a_malformed_option_is_named_with_field_and_byte() {
    for (hex, message) in MALFORMED {
        let error = Options::decode(&bytes(hex), 40).expect_err(hex);
        assert_eq!(error.to_string(), message, "{hex}");
    }
}

/// The SYN of a connection from 10.0.0.1:40000 to 10.0.0.2:80, with MSS 1460; the checksums worked by hand.
/// IPv4: 4500+002c+0000+4000+4006+0a00+0001+0a00+0002 = d935 (4500+002c = 452c, +4000 = 852c, +4006 = c532,
/// +0a00+0001 = cf33, +0a00+0002 = d935), complement 26ca.
/// TCP: addresses 0a00+0001+0a00+0002 = 1403, protocol 0006, length 0018 → 1421; 9c40+0050 → b0b1; sequence
/// 0001+0002 → b0b4; offset and flags 6002 → 110b6 → 10b7; window ffff → 110b6 → 10b7; options 0204+05b4 → 186f;
/// complement e790.
fn syn() -> Vec<u8> {
    bytes(
        "45 00 002c 0000 4000 40 06 26ca 0a000001 0a000002
         9c40 0050 00010002 00000000 60 02 ffff e790 0000 02 04 05b4",
    )
}

fn syn_segment() -> Segment<Vec<u8>> {
    let rare = RareOptions { mss: Some(1460), ..RareOptions::default() };
    Segment {
        src_port: 40000,
        dst_port: 80,
        seq: 0x0001_0002,
        flags: wire::Flags::SYN,
        window: 0xffff,
        options: Options { rare: Some(Box::new(rare)), ..Options::default() },
        ..Segment::default()
    }
}

fn header() -> IpHeader {
    IpHeader::new("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap())
}

#[test]
fn a_syn_worked_by_hand_is_written_and_read() {
    let mut out = vec![0xaa];
    encode(&header(), &syn_segment(), &mut out).unwrap();
    assert_eq!(out[1..], syn(), "appended after what was there");
    assert_eq!(decode(&syn()).unwrap(), (header(), syn_segment()));
}

#[track_caller]
fn refused(packet: &[u8], message: &str) {
    assert_eq!(decode(packet).expect_err(message).to_string(), message);
}

fn changed(at: usize, value: u8) -> Vec<u8> {
    let mut packet = syn();
    packet[at] = value;
    packet
}

#[test]
fn a_wrong_checksum_is_an_error_unless_it_is_to_be_ignored() {
    let packet = changed(37, 0x91);
    refused(&packet, "TCP checksum at byte 36 is 0xe791, computed 0xe790");
    assert_eq!(decode_with(&packet, Checksums::Ignore).unwrap(), (header(), syn_segment()));
    let packet = changed(10, 0);
    refused(&packet, "IPv4 header checksum at byte 10 is 0x00ca, computed 0x26ca");
    assert_eq!(decode_with(&packet, Checksums::Ignore).unwrap(), (header(), syn_segment()));
    assert_eq!(decode_headers(&packet).unwrap().checksums, wire::ChecksumState::Wrong);
    assert_eq!(decode_headers(&syn()).unwrap().checksums, wire::ChecksumState::Correct);
}

#[test]
fn wrong_ip_headers() {
    refused(
        &[],
        "truncated in the IP header: 20 bytes are needed up to its end, 0 are there (a capture's snap length?)",
    );
    refused(&changed(0, 0x55), "IP version at byte 0 is 5, expected 4 or 6");
    refused(&changed(0, 0x44), "IPv4 header length at byte 0 is 4, expected 5 or more 4-byte words");
    refused(
        &changed(3, 0),
        "IPv4 total length at byte 2 is 0, expected the header's length or more (0 comes from a capture before \
         segmentation offload)",
    );
    refused(&changed(9, 17), "IP protocol 17, expected 6 (TCP)");
    refused(&changed(6, 0x60), "an IP fragment (offset 0 bytes, more fragments: true): reassemble before decoding");
    refused(&changed(7, 0x02), "an IP fragment (offset 16 bytes, more fragments: false): reassemble before decoding");
}

#[test]
fn wrong_tcp_headers() {
    let ignoring = |packet: &[u8]| decode_with(packet, Checksums::Ignore).unwrap_err().to_string();
    let offset =
        |found| format!("TCP data offset at byte 32 is {found}, expected 5 or more 4-byte words, within the segment");
    assert_eq!(ignoring(&changed(32, 0x40)), offset(4));
    assert_eq!(ignoring(&changed(32, 0x70)), offset(7));
    assert_eq!(
        ignoring(&changed(3, 39)),
        "length of the TCP segment at byte 20 is 19, expected 20 bytes or more for TCP after the IP headers"
    );
    assert_eq!(
        ignoring(&changed(41, 9)),
        "option MSS (kind 2): length at byte 41 is 9, expected no more than the header has left"
    );
}

#[test]
fn bytes_after_the_packet_are_left_alone() {
    let mut padded = syn();
    padded.extend([0; 16]);
    assert_eq!(decode(&padded).unwrap(), (header(), syn_segment()));
}

#[test]
fn a_truncated_packet_says_so_at_every_length() {
    let mut packet = Vec::new();
    let segment = Segment { payload: b"hello".to_vec(), ..syn_segment() };
    encode(&header(), &segment, &mut packet).unwrap();
    for len in 0..packet.len() {
        let error = decode(&packet[..len]).unwrap_err();
        assert!(matches!(error, DecodeError::Truncated { captured, .. } if captured == len), "{len}: {error}");
    }
    // With only content missing the headers can be read, and the length is the one sent.
    for len in 44..packet.len() {
        let captured = decode_headers(&packet[..len]).unwrap();
        assert_eq!((captured.payload_len, captured.segment.payload), (5, &b"hello"[..len - 44]));
        assert_eq!(captured.checksums, wire::ChecksumState::Unknown);
    }
    let message =
        "truncated in the TCP options: 44 bytes are needed up to its end, 43 are there (a capture's snap length?)";
    assert_eq!(decode_headers(&packet[..43]).unwrap_err().to_string(), message);
}

/// IPv6 headers, then `extensions`, then the TCP segment of the SYN.
fn ipv6(first: u8, extensions: &str) -> Vec<u8> {
    let extensions = bytes(extensions);
    let mut packet = bytes("60000000 0000 00 40 20010db8000000000000000000000001 20010db8000000000000000000000002");
    packet[5] = extensions.len() as u8 + 24;
    packet[6] = first;
    packet.extend(extensions);
    packet.extend(&syn()[20..]);
    packet
}

#[test]
fn ipv6_extension_headers_before_tcp_are_skipped() {
    for (first, extensions) in [
        (6, ""),
        (0, "06 00 01 04 00000000"),                     // hop-by-hop, PadN
        (60, "06 01 01 04 00000000 01 06 000000000000"), // destination options, 16 bytes
        (0, "2b 00 01 04 00000000 3c 00 04 00 00000000 06 00 010400000000"), // hop-by-hop, routing, destination options
        (44, "06 00 00 00 12345678"),                    // an atomic fragment (RFC 6946) is whole
        (51, "06 04 0000 00000001 00000002 000000000000000000000000"), // authentication
    ] {
        let (ip, segment) = decode_with(&ipv6(first, extensions), Checksums::Ignore).expect(extensions);
        assert_eq!(segment, syn_segment(), "{extensions}");
        assert_eq!(ip, IpHeader::new("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap()));
    }
}

#[test]
fn wrong_ipv6_packets() {
    refused(&ipv6(17, ""), "IP protocol 17, expected 6 (TCP)");
    refused(&ipv6(59, ""), "IP protocol 59, expected 6 (TCP)");
    refused(
        &ipv6(44, "06 00 00 01 12345678"),
        "an IP fragment (offset 0 bytes, more fragments: true): reassemble before decoding",
    );
    refused(
        &ipv6(44, "06 00 05 a8 12345678"),
        "an IP fragment (offset 1448 bytes, more fragments: false): reassemble before decoding",
    );
    refused(
        &ipv6(60, "06 f0 01 04 00000000"),
        "bytes left in the packet at byte 40 is 32, expected room for the whole IPv6 extension header that begins here",
    );
    refused(
        &ipv6(60, "00 00 01 04 00000000 06 00 01 04 00000000"),
        "IPv6 next header, of the header before, at byte 48 is 0, expected the hop-by-hop options (0) only directly after \
         the IPv6 header",
    );
    let cut = &ipv6(60, "06 01 01 04 00000000 01 06 000000000000")[..50];
    refused(
        cut,
        "truncated in the IPv6 extension header: 56 bytes are needed up to its end, 50 are there (a capture's snap length?)",
    );
    let cut = &ipv6(6, "")[..39];
    refused(
        cut,
        "truncated in the IPv6 header: 40 bytes are needed up to its end, 39 are there (a capture's snap length?)",
    );
}

#[track_caller]
fn not_written(segment: &Segment<Vec<u8>>, message: &str) {
    let mut out = vec![1, 2, 3];
    assert_eq!(encode(&header(), segment, &mut out).expect_err(message).to_string(), message);
    assert_eq!(out, [1, 2, 3], "nothing is written on an error");
}

fn with_mptcp(mptcp: MptcpOption) -> Segment<Vec<u8>> {
    let rare = RareOptions { mptcp: vec![mptcp], ..RareOptions::default() };
    Segment { options: Options { rare: Some(Box::new(rare)), ..Options::default() }, ..Segment::default() }
}

#[test]
fn options_that_do_not_fit_are_refused_with_their_lengths() {
    let mut segment = Segment::<Vec<u8>>::default();
    let options = &mut segment.options;
    options.timestamps = Some(Timestamps::default());
    for left in 0..2 {
        options.sack.push(SackBlock { left, right: left + 1 });
    }
    let mapping = Mapping { dsn: DataNumber::Short(0), ssn: 0, len: 0, checksum: None };
    options.dss = Some(Dss { mapping: Some(mapping), ..Dss::default() });
    let rare = RareOptions {
        mss: Some(1),
        window_scale: Some(1),
        sack_permitted: true,
        mptcp: vec![MptcpOption::RemoveAddr(vec![1])],
        unknown: vec![UnknownOption { kind: 99, data: Vec::new() }],
    };
    options.rare = Some(Box::new(rare));
    assert_eq!(options.len(), 60);
    not_written(
        &segment,
        "the options need 60 bytes, a TCP header has room for 40: MSS 4, SACK-permitted 2, timestamps 10, window scale 3, \
         SACK 18, DSS 14, REMOVE_ADDR 4, kind 99 2",
    );
}

#[test]
fn options_without_a_valid_form_are_refused() {
    let capable = MpCapable { version: 1, flags: 0, sender_key: None, receiver_key: None, data: None };
    let address = "10.0.0.1".parse().unwrap();
    let add = AddAddr { echo: true, id: 0, address, port: None, hmac: Some(0) };
    let keys = "MP_CAPABLE: a receiver's key needs the sender's before it, and data needs both keys";
    let version = "MP_CAPABLE: the version must be 1 to 15; version 0 has a variant of its own";
    let known = "unknown MPTCP option: its subtype is one this crate knows: use the subtype's own variant";
    for (option, message) in [
        (MptcpOption::MpCapable(MpCapable { version: 0, ..capable }), version),
        (MptcpOption::MpCapable(MpCapable { version: 16, ..capable }), version),
        (MptcpOption::MpCapable(MpCapable { receiver_key: Some(1), ..capable }), keys),
        (MptcpOption::MpCapable(MpCapable { sender_key: Some(1), data: Some((1, None)), ..capable }), keys),
        (MptcpOption::AddAddr(add), "ADD_ADDR: an echo has no HMAC"),
        (MptcpOption::AddAddr(AddAddr { echo: false, hmac: None, ..add }), "ADD_ADDR: an announcement needs an HMAC"),
        (MptcpOption::RemoveAddr(vec![]), "REMOVE_ADDR: there must be an address id"),
        (MptcpOption::MpTcpRst { flags: 16, reason: 0 }, "MP_TCPRST: there are four flag bits: at most 0xf"),
        (MptcpOption::Unknown(vec![]), "unknown MPTCP option: there must be a subtype"),
        (MptcpOption::Unknown(vec![0x50]), known),
        (MptcpOption::Unknown(vec![0x02, 0x01]), known),
    ] {
        not_written(&with_mptcp(option), message);
    }
    let rare = RareOptions { unknown: vec![UnknownOption { kind: 8, data: vec![] }], ..RareOptions::default() };
    let options = Options { rare: Some(Box::new(rare)), ..Options::default() };
    let message = "unknown option: its kind is one this crate knows: put it in its own field";
    not_written(&Segment { options, ..Segment::default() }, message);
}

#[test]
fn numbers_too_large_for_their_fields_are_refused() {
    let payload = vec![0; 65_496];
    not_written(
        &Segment { payload, ..Segment::default() },
        "IPv4 total length is 65536, the field holds at most 65535",
    );
    let encoded = |ip: IpHeader| encode(&ip, &Segment::<Vec<u8>>::default(), &mut Vec::new()).unwrap_err();
    let field = |error| match error {
        EncodeError::OutOfRange { field, found, max } => (field, found, max),
        other => panic!("{other}"),
    };
    assert_eq!(field(encoded(IpHeader { dscp: 64, ..header() })), ("DSCP", 64, 63));
    let v6 = IpHeader::new("::1".parse().unwrap(), "::2".parse().unwrap());
    assert_eq!(field(encoded(IpHeader { flow_label: 1 << 20, ..v6 })), ("flow label", 1 << 20, (1 << 20) - 1));
    let mixed = encoded(IpHeader { src: v6.src, ..header() });
    assert_eq!(mixed.to_string(), "source ::1 and destination 10.0.0.2 are not of the same IP version");
}
