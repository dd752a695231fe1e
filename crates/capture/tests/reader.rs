//! Capture files: both formats, both byte orders, several interfaces, truncation and damage.

use capture::{CaptureError, Reader, Writer};
use proptest::prelude::*;

/// Time, interface, original length and bytes of a packet.
type Row = (u64, usize, u32, Vec<u8>);

fn read(file: &[u8]) -> (Vec<Row>, Option<String>) {
    let mut reader = Reader::new(file).expect("a capture");
    let mut rows = Vec::new();
    while let Some(packet) = reader.next_packet().expect("memory can be read") {
        rows.push((packet.time_ns, packet.interface, packet.original_len, packet.bytes.to_vec()));
    }
    (rows, reader.damage().map(str::to_owned))
}

/// Builds a file in one byte order.
struct Bytes {
    big_endian: bool,
    bytes: Vec<u8>,
}

impl Bytes {
    fn new(big_endian: bool) -> Bytes {
        Bytes { big_endian, bytes: Vec::new() }
    }

    fn word(mut self, word: u32) -> Bytes {
        self.bytes.extend(if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
        self
    }

    fn short(mut self, short: u16) -> Bytes {
        self.bytes.extend(if self.big_endian { short.to_be_bytes() } else { short.to_le_bytes() });
        self
    }

    fn raw(mut self, raw: &[u8]) -> Bytes {
        self.bytes.extend(raw);
        self
    }

    /// Makes a block with the bytes so far as its body.
    fn block(self, kind: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32 + 12;
        Bytes::new(self.big_endian).word(kind).word(length).raw(&self.bytes).word(length).bytes
    }
}

fn pcap(big_endian: bool, magic: u32, link_type: u32, packets: &[(u32, u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = Bytes::new(big_endian).word(magic).short(2).short(4).word(0).word(0).word(65_535).word(link_type);
    for &(seconds, fraction, original_len, bytes) in packets {
        file = file.word(seconds).word(fraction).word(bytes.len() as u32).word(original_len).raw(bytes);
    }
    file.bytes
}

fn section(big_endian: bool) -> Vec<u8> {
    Bytes::new(big_endian).word(0x1a2b_3c4d).short(1).short(0).raw(&[0xff; 8]).block(0x0a0d_0d0a)
}

#[test]
fn pcap_of_both_byte_orders_and_resolutions() {
    for big_endian in [false, true] {
        for (magic, unit_ns) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let file = pcap(big_endian, magic, 101, &[(5, 17, 1500, &[1, 2, 3]), (6, 0, 0, &[])]);
            let expected = vec![(5_000_000_000 + 17 * unit_ns, 0, 1500, vec![1, 2, 3]), (6_000_000_000, 0, 0, vec![])];
            assert_eq!(read(&file), (expected, None));
        }
    }
}

#[test]
fn pcapng_of_both_byte_orders_with_every_kind_of_packet_block() {
    for big in [false, true] {
        let new = || Bytes::new(big);
        // Milliseconds; a power of two with an offset of 10 s; the default of microseconds.
        let offset = if big { 10_i64.to_be_bytes() } else { 10_i64.to_le_bytes() };
        let millis = new().short(101).short(0).word(0).short(9).short(1).raw(&[3, 0, 0, 0]).short(0).short(0);
        let binary = new().short(1).short(0).word(0).short(2).short(2).raw(b"b\xff\0\0");
        let binary = binary.short(9).short(1).raw(&[0x8a, 0, 0, 0]).short(14).short(8).raw(&offset);
        let file = [
            section(big),
            millis.block(1),
            binary.short(0).short(0).block(1),
            new().word(7).raw(b"who?").block(0x0000_0bad),
            new().word(0).word(1).word(2).word(3).word(9).raw(&[7, 8, 9, 0]).block(6),
            new().word(1).word(0).word(512).word(0).word(0).block(6),
            new().short(0).short(3).word(0).word(4000).word(1).word(1).raw(&[5, 0, 0, 0]).block(2),
            new().word(2).raw(&[1, 2, 0, 0]).block(3),
            section(!big),
            Bytes::new(!big).short(12).short(0).word(0).block(1),
            Bytes::new(!big).word(0).word(0).word(6).word(0).word(0).block(6),
        ]
        .concat();
        let expected = vec![
            (((1 << 32) + 2) * 1_000_000, 0, 9, vec![7, 8, 9]),
            (10_500_000_000, 1, 0, vec![]),
            (4_000_000_000, 0, 1, vec![5]),
            (4_000_000_000, 0, 2, vec![1, 2]),
            (6000, 2, 0, vec![]),
        ];
        assert_eq!(read(&file), (expected, None));
    }
}

#[test]
fn what_was_written_is_read_again() {
    let mut writer = Writer::new(Vec::new(), 4).unwrap();
    writer.interface("client-wifi").unwrap();
    writer.interface("client-lte").unwrap();
    writer.packet(1, 1_700_000_000_123_456_789, &[1, 2, 3, 4, 5], 1500).unwrap();
    writer.packet(0, 3, &[], 0).unwrap();
    let file = writer.into_inner();
    let mut reader = Reader::new(&file[..]).unwrap();
    let first = reader.next_packet().unwrap().unwrap();
    assert_eq!((first.time_ns, first.interface, first.original_len), (1_700_000_000_123_456_789, 1, 1500));
    assert_eq!((first.link_type, first.bytes), (101, &[1, 2, 3, 4][..]));
    assert_eq!(reader.interfaces()[1].name, "client-lte");
    assert!(reader.next_packet().unwrap().is_some() && reader.next_packet().unwrap().is_none());
    assert_eq!(reader.damage(), None);
}

#[test]
fn a_file_that_is_cut_off_is_read_as_far_as_it_goes() {
    let whole = pcap(false, 0xa1b2_c3d4, 101, &[(1, 0, 3, &[1, 2, 3]), (2, 0, 3, &[4, 5, 6])]);
    for (length, packets, damage) in [
        (whole.len(), 2, None),
        (whole.len() - 1, 1, Some("the file is cut off in a packet at byte 43: what follows is not read")),
        (45, 1, Some("the file is cut off in the header of a packet at byte 43: what follows is not read")),
        (43, 1, None),
        (24, 0, None),
    ] {
        let (rows, found) = read(&whole[..length]);
        assert_eq!((rows.len(), found.as_deref()), (packets, damage), "{length} bytes");
    }
}

#[test]
fn damage_ends_the_reading_and_is_told() {
    let block = |length: u32| [section(false), Bytes::new(false).word(6).word(length).word(0).bytes].concat();
    for (length, reason) in [(8, "claims 8 bytes"), (u32::MAX, "claims 4294967295 bytes"), (64, "cut off in a block")] {
        let (rows, damage) = read(&block(length));
        assert!(rows.is_empty() && damage.as_ref().is_some_and(|text| text.contains(reason)), "{damage:?}");
    }
    // A packet of an interface that does not exist.
    let stray = [section(false), Bytes::new(false).word(5).word(0).word(0).word(0).word(0).block(6)].concat();
    assert!(read(&stray).1.unwrap().contains("contradicts itself"));
}

#[test]
fn what_is_no_capture_is_said_to_be_none() {
    for (bytes, words) in [
        (&b""[..], "the file is empty"),
        (b"\x1f\x8b\x08\0\0", "the gzip data are cut off or damaged"),
        (b"\x28\xb5\x2f\xfd\0", "the Zstandard data are cut off or damaged"),
        (b"\xfd7zXZ\0\0", "the xz data are cut off or damaged"),
        (b"BZh9", "begins with the bytes 42 5a 68 39, which is bzip2: bunzip2 it first"),
        (b"{\"title\"", "begins with the bytes 7b 22 74 69; pcapng begins with 0a 0d 0d 0a"),
        (b"\xd4\xc3\xb2\xa1\x02\0", "the header of a pcap file is cut off"),
    ] {
        match Reader::new(bytes) {
            Err(error @ (CaptureError::NotACapture(_) | CaptureError::Packed(_))) => {
                assert!(error.to_string().contains(words), "{error}");
            }
            other => panic!("{:?}", other.err()),
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(start in 0..4_usize, bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let beginning = [
            section(false),
            section(true),
            pcap(false, 0xa1b2_c3d4, 1, &[]),
            [section(false), Bytes::new(false).short(101).short(0).word(0).block(1)].concat(),
        ];
        let mut analyser = capture::analysis::Analyser::default();
        let file = [&beginning[start][..], &bytes[..]].concat();
        analyser.read("any", &file[..], &mut |_| true).unwrap();
        let found = analyser.finish(capture::analysis::Options::default());
        prop_assert_eq!(found.files.len(), 1);
        prop_assert_eq!(capture::analysis::laws::violations(&found), []);
    }

    #[test]
    fn packets_come_back(
        rows in proptest::collection::vec((any::<u64>(), 0..3_u32, proptest::collection::vec(any::<u8>(), 0..50)), 0..20)
    ) {
        let mut writer = Writer::new(Vec::new(), 0).unwrap();
        for name in ["a", "b", "c"] {
            writer.interface(name).unwrap();
        }
        for (time_ns, interface, bytes) in &rows {
            writer.packet(*interface, *time_ns, bytes, bytes.len() as u32).unwrap();
        }
        let rows = rows.into_iter().map(|(at, on, bytes)| (at, on as usize, bytes.len() as u32, bytes));
        prop_assert_eq!(read(&writer.into_inner()), (rows.collect::<Vec<Row>>(), None));
    }
}
