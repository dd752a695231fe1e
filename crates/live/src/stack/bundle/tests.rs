//! Segments are bundled, split again and decoded.

use std::net::SocketAddr;

use wire::{Checksums, Dss, Timestamps};

use super::*;
use crate::offload::{Cut, FRAME_LIMIT, finish_checksum};
use crate::stack::mappings::Mappings;

const ISS: u32 = 0xffff_f000;

fn ip(six: bool) -> IpHeader {
    let ends: [SocketAddr; 2] = if six {
        ["[fd00::1]:1".parse().unwrap(), "[fd00::2]:2".parse().unwrap()]
    } else {
        ["10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap()]
    };
    IpHeader::new(ends[0].ip(), ends[1].ip())
}

/// Bytes `from` to `to` of a stream. Its first byte has the relative sequence number 1 and the data sequence number
/// 1,000,000.
fn data(from: usize, to: usize) -> Segment<Chunk> {
    let mut segment = Segment {
        flags: Flags::ACK,
        seq: ISS.wrapping_add(1 + from as u32),
        ack: 77,
        window: 88,
        payload: Chunk::from((from..to).map(|place| place as u8).collect::<Vec<u8>>()),
        ..Segment::default()
    };
    segment.options.timestamps = Some(Timestamps { value: 5, echo: 6 });
    let mapping = Mapping {
        dsn: DataNumber::Long(1_000_000 + from as u64),
        ssn: 1 + from as u32,
        len: (to - from) as u16,
        checksum: None,
    };
    segment.options.dss = Some(Dss { data_ack: Some(DataNumber::Long(9)), mapping: Some(mapping), data_fin: false });
    segment
}

fn mapping(segment: &Segment<Vec<u8>>) -> (u64, u32, u16) {
    let mapping = segment.options.dss.unwrap().mapping.unwrap();
    let DataNumber::Long(dsn) = mapping.dsn else { panic!("a short number") };
    (dsn, mapping.ssn, mapping.len)
}

/// The segments that the other end of the device receives.
fn sent(bundle: &mut Bundle, mappings: &mut Mappings, six: bool) -> Vec<Segment<Vec<u8>>> {
    let mut frame = Vec::new();
    if let Some(common) = bundle.write(&ip(six), &mut frame).unwrap() {
        mappings.keep(common);
    }
    let mut cut = Cut::new(&frame).unwrap();
    let mut out = vec![0; FRAME_LIMIT];
    let mut segments = Vec::new();
    while let Some(len) = cut.next(&frame, &mut out) {
        finish_checksum(&mut out[..len]);
        segments.push(wire::decode_with(&out[HEADER_LEN..len], Checksums::Verify).unwrap().1);
    }
    segments
}

/// Sends all segments in as few bundles as possible. Returns the number of segments in each bundle, and the segments.
fn send(all: &[Segment<Chunk>], mappings: &mut Mappings, six: bool) -> (Vec<usize>, Vec<Segment<Vec<u8>>>) {
    let mut bundle = Bundle::default();
    let (mut sizes, mut segments) = (Vec::new(), Vec::new());
    for segment in all {
        let mut segment = segment.clone();
        let standing = mappings.apply(&mut segment);
        if !bundle.is_empty() && bundle.add(&mut segment, standing) {
            continue;
        }
        if !bundle.is_empty() {
            sizes.push(bundle.segments());
            segments.extend(sent(&mut bundle, mappings, six));
        }
        bundle.begin(&mut segment, standing, ip(six).wire_len());
    }
    sizes.push(bundle.segments());
    segments.extend(sent(&mut bundle, mappings, six));
    (sizes, segments)
}

#[test]
fn segments_in_one_piece_arrive_as_they_were_but_with_one_mapping() {
    for six in [false, true] {
        let mut all = [data(0, 100), data(100, 200), data(200, 250)];
        all[2].flags = Flags::ACK | Flags::PSH;
        let (sizes, got) = send(&all, &mut Mappings::default(), six);
        assert_eq!(sizes, [3]);
        for (was, got) in all.iter().zip(&got) {
            assert_eq!(mapping(got), (1_000_000, 1, 250));
            let mut as_was = got.clone();
            as_was.options.dss = was.options.dss;
            assert_eq!(as_was, was.clone().map_payload(|chunk| chunk.0.to_vec()));
        }
    }
}

#[test]
fn what_differs_in_more_than_its_place_goes_by_itself() {
    let pair = |change: fn(&mut Segment<Chunk>)| {
        let mut second = data(100, 200);
        change(&mut second);
        let (sizes, got) = send(&[data(0, 100), second], &mut Mappings::default(), false);
        assert_eq!(got[0].options.dss, data(0, 100).options.dss);
        sizes
    };
    assert_eq!(pair(|segment| segment.ack += 1), [1, 1]);
    assert_eq!(pair(|segment| segment.seq += 1), [1, 1]);
    assert_eq!(pair(|segment| segment.window += 1), [1, 1]);
    assert_eq!(pair(|segment| segment.flags = Flags::ACK | Flags::CWR), [1, 1]);
    assert_eq!(pair(|segment| segment.options.timestamps = None), [1, 1]);
    assert_eq!(pair(|segment| segment.options.dss.as_mut().unwrap().data_fin = true), [1, 1]);
    let elsewhere: fn(&mut Segment<Chunk>) = |segment| {
        let mapping = segment.options.dss.as_mut().unwrap().mapping.as_mut().unwrap();
        mapping.dsn = DataNumber::Long(5);
    };
    assert_eq!(pair(elsewhere), [1, 1]);
    // A longer segment cannot follow, and nothing follows a shorter one.
    let (sizes, _) = send(&[data(0, 100), data(100, 250)], &mut Mappings::default(), false);
    assert_eq!(sizes, [1, 1]);
    let (sizes, _) = send(&[data(0, 100), data(100, 150), data(150, 200)], &mut Mappings::default(), false);
    assert_eq!(sizes, [2, 1]);
    // 65,535 bytes with headers hold 45 times 1,428, not 46 times.
    let many: Vec<_> = (0..46).map(|place| data(1428 * place, 1428 * (place + 1))).collect();
    let (sizes, _) = send(&many, &mut Mappings::default(), false);
    assert_eq!(sizes, [45, 1]);
}

#[test]
fn what_is_sent_again_keeps_its_mapping() {
    let mut mappings = Mappings::default();
    send(&[data(0, 100), data(100, 200), data(200, 300)], &mut mappings, false);
    send(&[data(300, 400)], &mut mappings, false);
    // A bundle, the last segment with the DATA_FIN that was unknown before, and one that was sent alone.
    let (sizes, got) = send(&[data(100, 200), data(200, 300)], &mut mappings, false);
    assert_eq!((sizes, mapping(&got[0]), mapping(&got[1])), (vec![2], (1_000_000, 1, 300), (1_000_000, 1, 300)));
    let mut last = data(200, 300);
    let dss = last.options.dss.as_mut().unwrap();
    dss.data_fin = true;
    dss.mapping.as_mut().unwrap().len += 1;
    assert_eq!(mapping(&send(&[last], &mut mappings, false).1[0]), (1_000_000, 1, 301));
    // Segments sent alone stay separate, because the peer may have one of them already.
    let (sizes, got) = send(&[data(300, 400)], &mut mappings, false);
    assert_eq!((sizes, mapping(&got[0])), (vec![1], (1_000_300, 301, 100)));
    send(&[data(400, 500)], &mut mappings, false);
    let (sizes, _) = send(&[data(300, 400), data(400, 500)], &mut mappings, false);
    assert_eq!(sizes, [1, 1]);
}

#[test]
fn what_is_acknowledged_is_forgotten() {
    let mut mappings = Mappings::default();
    send(&[data(0, 100), data(100, 200)], &mut mappings, false);
    let again = |mappings: &mut Mappings| mapping(&send(&[data(100, 200)], mappings, false).1[0]);
    mappings.acknowledged(ISS.wrapping_add(101));
    assert_eq!(again(&mut mappings), (1_000_000, 1, 200));
    // An acknowledgment of data never sent is ignored.
    mappings.acknowledged(ISS.wrapping_add(500));
    assert_eq!(again(&mut mappings), (1_000_000, 1, 200));
    mappings.acknowledged(ISS.wrapping_add(201));
    assert_eq!(again(&mut mappings), (1_000_100, 101, 100));
}
