//! Segment → bytes → segment, and bytes → segment → bytes → segment.

mod common;

use common::{ip_header, mptcp_option, options, segment};
use proptest::prelude::*;
use wire::{
    ChecksumState, Checksums, EncodeError, MAX_OPTIONS_LEN, Options, Payload, SackBlocks, Segment, Span, decode,
    decode_headers, decode_with, encode,
};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..100)
}

fn span() -> impl Strategy<Value = Span> {
    (0..u64::MAX / 2, 0..3000_u32).prop_map(|(offset, len)| Span { offset, len })
}

/// What decodes, encodes, and decodes again to the same.
fn stable(packet: &[u8]) -> Result<(), TestCaseError> {
    let Ok((ip, segment)) = decode_with(packet, Checksums::Ignore) else { return Ok(()) };
    let mut again = Vec::new();
    encode(&ip, &segment, &mut again).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(decode(&again).map_err(|error| TestCaseError::fail(error.to_string()))?, (ip, segment));
    Ok(())
}

/// A packet with this option area and content, the checksums left 0.
fn packet_with(options: &[u8], content: &[u8]) -> Vec<u8> {
    let header_len = 20 + options.len();
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet[2..4].copy_from_slice(&((20 + header_len + content.len()) as u16).to_be_bytes());
    packet.extend([0; 20]);
    packet[32] = (header_len as u8 / 4) << 4;
    packet.extend(options);
    packet.extend(content);
    packet
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_segment_comes_back_from_the_wire(ip in ip_header(), segment in segment(bytes())) {
        let mut out = Vec::new();
        match encode(&ip, &segment, &mut out) {
            Ok(()) => {
                prop_assert!(segment.options.len() <= MAX_OPTIONS_LEN);
                prop_assert_eq!(out.len(), ip.wire_len() + segment.header_len() + segment.payload.len());
                prop_assert_eq!(4 * usize::from(out[ip.wire_len() + 12] >> 4), segment.header_len());
                prop_assert_eq!(decode(&out).unwrap(), (ip, segment));
            }
            Err(error @ EncodeError::OptionsTooLong { .. }) => {
                prop_assert!(segment.options.len() > MAX_OPTIONS_LEN, "{error}");
                prop_assert!(out.is_empty());
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn a_span_arrives_as_its_bytes(ip in ip_header(), segment in segment(span())) {
        prop_assume!(segment.options.len() <= MAX_OPTIONS_LEN);
        let mut out = Vec::new();
        encode(&ip, &segment, &mut out).unwrap();
        let (read_ip, read) = decode(&out).unwrap();
        prop_assert_eq!(read_ip, ip);
        let expected: Vec<u8> = (0..segment.payload.len() as u64).map(|i| Span::byte_at(segment.payload.offset + i)).collect();
        prop_assert_eq!(read, segment.map_payload(|_| expected));
    }

    #[test]
    fn a_cut_packet_gives_its_headers_and_the_length_it_had(ip in ip_header(), segment in segment(bytes()), cut: prop::sample::Index) {
        prop_assume!(segment.options.len() <= MAX_OPTIONS_LEN);
        let mut out = Vec::new();
        encode(&ip, &segment, &mut out).unwrap();
        let missing = cut.index(segment.payload.len() + 1);
        let captured = decode_headers(&out[..out.len() - missing]).unwrap();
        prop_assert_eq!(captured.ip, ip);
        prop_assert_eq!(captured.payload_len, segment.payload.len());
        let state = if missing == 0 { ChecksumState::Correct } else { ChecksumState::Unknown };
        prop_assert_eq!(captured.checksums, state);
        let there = segment.payload.len() - missing;
        prop_assert_eq!(captured.segment.map_payload(<[u8]>::to_vec), segment.map_payload(|p| p[..there].to_vec()));
    }

    #[test]
    fn one_flipped_bit_is_seen_or_changes_what_is_read(
        ip in ip_header(), segment in segment(bytes()), bit: prop::sample::Index,
    ) {
        prop_assume!(segment.options.len() <= MAX_OPTIONS_LEN);
        let mut out = Vec::new();
        encode(&ip, &segment, &mut out).unwrap();
        let bit = bit.index(8 * out.len());
        out[bit / 8] ^= 0x80 >> (bit % 8);
        // IPv6 leaves its first 8 bytes (traffic class, label, hop limit) without a checksum.
        if let Ok(read) = decode(&out) {
            prop_assert!(bit < 64 && ip.src.is_ipv6() && read != (ip, segment));
        }
    }

    #[test]
    fn every_mptcp_option_has_the_length_it_foretells(option in mptcp_option()) {
        let length = option.length();
        let rare = wire::RareOptions { mptcp: vec![option.clone()], ..Default::default() };
        let options = Options { rare: Some(Box::new(rare)), ..Options::default() };
        prop_assert_eq!(options.len(), option.wire_len());
        let mut out = Vec::new();
        options.encode(&mut out).unwrap();
        prop_assert_eq!((usize::from(out[1]), out.len()), (length, option.wire_len()));
    }

    #[test]
    fn options_fit_or_are_refused_and_append(options in options(), before in bytes()) {
        let mut out = before.clone();
        match options.encode(&mut out) {
            Ok(()) => prop_assert_eq!(out.len() - before.len(), options.len()),
            Err(_) => prop_assert!(options.len() > MAX_OPTIONS_LEN && out == before),
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(packet in prop::collection::vec(any::<u8>(), 0..200), version in 0..3_u8) {
        let mut packet = packet;
        if let (Some(first), 1..) = (packet.first_mut(), version) {
            *first = if version == 1 { 0x45 } else { 0x60 };
        }
        let _ = decode(&packet);
        let _ = decode_headers(&packet);
        stable(&packet)?;
    }

    #[test]
    fn arbitrary_option_bytes_never_panic_and_are_stable(words in 0..=10_usize, noise: [u8; 40], content in bytes()) {
        stable(&packet_with(&noise[..4 * words], &content))?;
    }

    /// Nearer to what passes than noise: options in any order with their length bytes right or nearly.
    #[test]
    fn options_with_arbitrary_bodies_never_panic_and_are_stable(
        parts in prop::collection::vec((0..12_usize, 0..7_usize, any::<[u8; 30]>(), any::<bool>()), 0..6),
    ) {
        const KINDS: [(u8, &[usize]); 12] = [
            (0, &[1]), (1, &[1]), (2, &[4]), (3, &[3]), (4, &[2]), (5, &[10, 18, 26, 34]), (8, &[10]),
            (30, &[4, 12, 20, 22, 24]), (30, &[8, 12, 16, 24, 28, 3, 4]), (30, &[8, 10, 16, 18, 20, 22, 28]),
            (30, &[3, 4, 5, 12]), (99, &[2, 3, 4]),
        ];
        let mut area = Vec::new();
        for (which, form, body, wrong) in parts {
            let (kind, lengths) = KINDS[which];
            let length = lengths[form % lengths.len()];
            area.push(kind);
            if length > 1 {
                area.push(length as u8 + u8::from(wrong));
                area.extend(body.iter().cycle().take(length - 2));
            }
        }
        area.resize(area.len().next_multiple_of(4), 0);
        prop_assume!(area.len() <= 40);
        stable(&packet_with(&area, b"content"))?;
    }
}

/// The sizes that the simulator asks for: a data segment, an acknowledgment, a handshake.
#[test]
fn header_lengths_worked_by_hand() {
    let mut segment = Segment::<Span>::default();
    assert_eq!(segment.header_len(), 20);
    segment.options.timestamps = Some(wire::Timestamps::default());
    assert_eq!(segment.header_len(), 32);
    let mapping = wire::Mapping { dsn: wire::DataNumber::Short(1), ssn: 1, len: 1400, checksum: None };
    let data_ack = Some(wire::DataNumber::Short(1));
    segment.options.dss = Some(wire::Dss { data_ack, mapping: Some(mapping), data_fin: false });
    assert_eq!(segment.header_len(), 52);
    segment.options.dss = Some(wire::Dss { data_ack, mapping: None, data_fin: false });
    segment.options.sack.push(wire::SackBlock { left: 1, right: 2 });
    assert_eq!(segment.header_len(), 20 + 12 + 8 + 12);
    assert_eq!(wire::SackBlocks::fitting(40 - 12 - 8), 2);
    assert_eq!([0, 11, 12, 35, 36, 40].map(wire::SackBlocks::fitting), [0, 0, 1, 3, 4, 4]);
}

proptest! {
    /// A segment in little room comes back as it was, and says how long its header is; one that finds none is left alone.
    #[test]
    fn a_compact_segment_is_the_segment(mut segment in segment(span()), fits in any::<bool>()) {
        let payload = segment.payload;
        if fits {
            (segment.options.rare, segment.options.sack, segment.urgent) = (None, SackBlocks::default(), 0);
        }
        if fits && let Some(wire::Dss { mapping: Some(mapping), data_fin, .. }) = &mut segment.options.dss {
            mapping.len = payload.len as u16 + u16::from(*data_fin);
        }
        let (whole, header_len) = (segment.clone(), segment.header_len());
        match wire::Compact::of(&mut segment) {
            None => prop_assert_eq!(segment, whole),
            Some(mut compact) => {
                prop_assert_eq!(compact.header_len(), header_len);
                compact.expand_into(&mut segment);
                prop_assert_eq!(segment, whole);
            }
        }
    }
}
