//! Compares with the codec of `wire`, which computes checksums itself.

use std::net::SocketAddr;

use proptest::prelude::*;
use wire::{Checksums, Flags, IpHeader, Options, Segment};

use super::*;

fn segment(data: Vec<u8>, six: bool) -> (IpHeader, Segment<Vec<u8>>) {
    let ends: [SocketAddr; 2] = if six {
        ["[fd00::1]:1000".parse().unwrap(), "[fd00::2]:80".parse().unwrap()]
    } else {
        ["10.0.0.1:1000".parse().unwrap(), "10.0.0.2:80".parse().unwrap()]
    };
    let options = Options { timestamps: Some(wire::Timestamps { value: 7, echo: 8 }), ..Options::default() };
    let segment = Segment {
        src_port: ends[0].port(),
        dst_port: ends[1].port(),
        seq: 1,
        ack: 2,
        flags: Flags::ACK,
        window: 3,
        urgent: 0,
        options,
        payload: data,
    };
    (IpHeader { identification: 0xfffe, ..IpHeader::new(ends[0].ip(), ends[1].ip()) }, segment)
}

/// A frame as the kernel passes it, with all payload in one piece.
fn frame(data: &[u8], segment_len: usize, six: bool, flags: u8) -> Vec<u8> {
    let (ip, segment) = segment(data.to_vec(), six);
    let mut packet = Vec::new();
    wire::encode(&ip, &segment, &mut packet).unwrap();
    let ip_len = if six { 40 } else { 20 };
    packet[ip_len + 4..ip_len + 8].copy_from_slice(&0xffff_ff00_u32.to_be_bytes());
    packet[ip_len + 13] = flags;
    let mut frame = vec![0; HEADER_LEN];
    frame.extend_from_slice(&packet);
    prepare_tcp(&mut frame, ip_len, segment.header_len(), segment_len);
    frame
}

fn cut(frame: &[u8]) -> Vec<Vec<u8>> {
    let mut cut = Cut::new(frame).expect("a frame");
    let mut packets = Vec::new();
    let mut out = vec![0; FRAME_LIMIT];
    while let Some(length) = cut.next(frame, &mut out) {
        packets.push(out[..length].to_vec());
    }
    packets
}

#[test]
fn two_segments_and_a_half_with_their_flags_numbers_and_checksums() {
    let data: Vec<u8> = (0..250_u8).collect();
    const ACK: u8 = 0x10;
    for six in [false, true] {
        let packets = cut(&frame(&data, 100, six, FIN | PSH | CWR | ACK));
        assert_eq!(packets.len(), 3);
        let mut joined = Vec::new();
        for (number, packet) in packets.into_iter().enumerate() {
            let mut packet = packet;
            assert!(is_unfinished(&packet));
            finish_checksum(&mut packet);
            assert!(!is_unfinished(&packet));
            let flags = packet[HEADER_LEN + if six { 40 } else { 20 } + 13];
            assert_eq!(flags, [CWR | ACK, ACK, FIN | PSH | ACK][number]);
            let (ip, segment) = wire::decode_with(&packet[HEADER_LEN..], Checksums::Verify).unwrap();
            // 0xffff_ff00 + 100 is 0xffff_ff64, + 200 is 0xffff_ffc8.
            assert_eq!(segment.seq, [0xffff_ff00_u32, 0xffff_ff64, 0xffff_ffc8][number]);
            assert!(six || ip.identification == [0xfffe, 0xffff, 0][number]);
            assert_eq!(segment.options.timestamps, Some(wire::Timestamps { value: 7, echo: 8 }));
            joined.extend(segment.payload);
        }
        assert_eq!(joined, data);
    }
}

#[test]
fn a_packet_without_offloads_stays_as_it_is() {
    let mut plain = vec![0; HEADER_LEN];
    plain.extend_from_slice(b"anything");
    assert_eq!(cut(&plain), [plain.clone()]);
    let mut finished = plain.clone();
    finish_checksum(&mut finished);
    assert_eq!(finished, plain);
    let mut out = [0; 12];
    assert_eq!(Cut::new(&plain).unwrap().next(&plain, &mut out), Some(0), "no room");
}

#[test]
fn udp_in_one_piece_is_cut_as_well() {
    // 8 bytes of header, 5 of payload, 3 per packet.
    let mut frame = header(UDP, 28, 3, 20, UDP_CHECKSUM_AT).to_vec();
    let mut ip = vec![0x45, 0, 0, 33, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip.extend_from_slice(&[0, 9, 0, 9, 0, 13, 0, 0, 1, 2, 3, 4, 5]);
    frame.extend_from_slice(&ip);
    let mut packets = cut(&frame);
    assert_eq!(packets.len(), 2);
    finish_checksum(&mut packets[1]);
    let second = &packets[1][HEADER_LEN..];
    assert_eq!((second.len(), second[3], second[5], second[25]), (30, 30, 2, 10));
    // By hand: 0a00+0001+0a00+0002+0011+000a (pseudo-header) + 0009+0009+000a (header) + 0405 (payload) = 183f.
    assert_eq!(second[26..28], (!0x183f_u16).to_be_bytes());
    assert_eq!(fold(sum(&second[..20])), 0xffff, "the header's own checksum");
}

#[test]
fn headers_without_data_and_data_make_the_packet() {
    for six in [false, true] {
        let (ip, segment) = segment(b"content".to_vec(), six);
        let mut whole = Vec::new();
        wire::encode(&ip, &segment, &mut whole).unwrap();
        let mut frame = vec![0; HEADER_LEN];
        wire::encode(&ip, &Segment { payload: Vec::new(), ..segment.clone() }, &mut frame).unwrap();
        frame.extend_from_slice(b"content");
        prepare_tcp(&mut frame, if six { 40 } else { 20 }, segment.header_len(), 0);
        assert!(is_unfinished(&frame));
        finish_checksum(&mut frame);
        assert_eq!(&frame[HEADER_LEN..], whole);
    }
}

proptest! {
    /// For any input: no panic, and never more payload out than in.
    #[test]
    fn no_frame_is_a_fault(
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        kind in prop::sample::select(vec![WHOLE, TCP_IPV4, TCP_IPV6, UDP, 9]),
        segment_len in 0_u16..50,
        from in 0_u16..60,
        version in prop::sample::select(vec![0x45_u8, 0x60, 0x4f, 0x00]),
    ) {
        let mut frame = header(kind, 0, segment_len.into(), from.into(), TCP_CHECKSUM_AT).to_vec();
        frame.push(version);
        frame.extend_from_slice(&bytes);
        finish_checksum(&mut frame.clone());
        let mut out = [0; 200];
        let mut count = 0;
        if let Some(mut cut) = Cut::new(&frame) {
            while let Some(length) = cut.next(&frame, &mut out) {
                finish_checksum(&mut out[..length]);
                count += 1;
            }
        }
        prop_assert!(count <= frame.len());
    }

    /// The sum over 32-bit words equals that over 16-bit words.
    #[test]
    fn the_sum_is_that_of_words(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
        let plain: u64 =
            bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| low.into())).sum();
        prop_assert_eq!(fold(sum(&bytes)), fold(plain));
    }
}
