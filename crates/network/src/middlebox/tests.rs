//! Segments for the tests of the middleboxes, and properties of all of them.

use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use wire::{DataNumber, Dss, Mapping, MpCapable, MptcpOption, RareOptions, SackBlock, Span, Timestamps, UnknownOption};

use super::*;

pub(super) type Bytes = Transit<Vec<u8>>;

pub(super) fn ends() -> Ends {
    Ends { client: "10.0.0.1:4000".parse().unwrap(), server: "192.0.2.1:80".parse().unwrap() }
}

/// A segment with payload and an acknowledgment of 0. Each end has its own timestamp clock.
pub(super) fn data(way: Way, seq: u32, content: &[u8]) -> Bytes {
    let mut transit: Bytes = Transit::bare(way, ends(), seq, 0, Flags::ACK);
    transit.segment.payload = content.to_vec();
    transit.segment.window = 300;
    transit.segment.options.timestamps = Some(Timestamps { value: 1_000 * (1 + way.index() as u32), echo: 0 });
    transit
}

pub(super) fn with_dss(mut transit: Bytes) -> Bytes {
    let mapping = Mapping { dsn: DataNumber::Short(7_000), ssn: 1, len: 3, checksum: Some(5) };
    transit.segment.options.dss =
        Some(Dss { data_ack: Some(DataNumber::Short(9)), mapping: Some(mapping), data_fin: false });
    transit
}

pub(super) fn syn(way: Way, seq: u32) -> Bytes {
    let mut transit = data(way, seq, b"");
    transit.segment.flags = Flags::SYN;
    transit.segment.window = 1_000;
    let capable = MpCapable { version: 1, flags: 1, sender_key: None, receiver_key: None, data: None };
    transit.segment.options.rare = Some(Box::new(RareOptions {
        mss: Some(1_460),
        window_scale: Some(7),
        sack_permitted: true,
        mptcp: vec![MptcpOption::MpCapable(capable)],
        unknown: vec![UnknownOption { kind: 99, data: vec![1] }],
    }));
    transit
}

pub(super) fn syn_ack(seq: u32, ack: u32) -> Bytes {
    let mut transit = syn(Way::Down, seq);
    (transit.segment.flags, transit.segment.ack) = (Flags::SYN | Flags::ACK, ack);
    transit
}

pub(super) fn sacked(way: Way, seq: u32, ack: u32, blocks: &[(u32, u32)]) -> Bytes {
    let mut transit = data(way, seq, b"");
    transit.segment.ack = ack;
    for &(left, right) in blocks {
        transit.segment.options.sack.push(SackBlock { left, right });
    }
    transit
}

/// One middlebox of each kind, with settings that change as little as possible, or as much.
fn boxes<P: Malleable>(idle: bool) -> Vec<Middlebox<P>> {
    let limit = if idle { u16::MAX } else { 2 };
    vec![
        Middlebox::Strip(Strip { on: Stripped::All, way: None }),
        Middlebox::Nat(Nat::new("203.0.113.1".parse().unwrap(), 5_000)),
        Middlebox::SequenceRewriting(SequenceRewriting::new(true, Xoshiro256PlusPlus::seed_from_u64(1))),
        Middlebox::Splitting(Splitting::new(limit)),
        Middlebox::Coalescing(Coalescing::new(1_000, u16::MAX)),
        Middlebox::PayloadRewriting(PayloadRewriting::new(Way::Up, u32::from(limit), 1)),
        Middlebox::ProactiveAcks(ProactiveAcks::new()),
        Middlebox::ResetInjection(ResetInjection::new(u64::from(limit))),
        Middlebox::MssClamping(MssClamping { mss_bytes: if idle { u16::MAX } else { 88 } }),
        Middlebox::MtuFilter(MtuFilter { mtu_bytes: if idle { 1 << 16 } else { 80 } }),
    ]
}

/// Every middlebox keeps ports and ends consistent, is deterministic, and holds nothing forever.
#[test]
fn what_holds_for_every_box() {
    let traffic = [
        syn(Way::Up, 100),
        syn_ack(500, 101),
        with_dss(data(Way::Up, 101, b"abc")),
        data(Way::Up, 104, b"defgh"),
        data(Way::Down, 501, b"xyz"),
        sacked(Way::Down, 504, 101, &[(104, 109)]),
    ];
    for idle in [true, false] {
        for middlebox in boxes::<Vec<u8>>(idle) {
            let run = |mut middlebox: Middlebox<Vec<u8>>| {
                let mut out = Vec::new();
                for (now_ns, transit) in (0..).zip(&traffic) {
                    middlebox.process(now_ns, transit.clone(), &mut out);
                }
                middlebox.handle_timeout(10_000, &mut out);
                assert_eq!(middlebox.next_timeout_ns(), None);
                out
            };
            let out = run(middlebox.clone());
            assert_eq!(out, run(middlebox.clone()));
            assert!(!out.is_empty());
            for Transit { way, ends, segment } in &out {
                let (source, destination) = ends.of(*way);
                assert_eq!((segment.src_port, segment.dst_port), (source.port(), destination.port()), "{middlebox:?}");
            }
        }
    }
}

/// Spans are treated like bytes: numbers, lengths and options do not depend on the payload.
#[test]
fn a_span_fares_as_its_bytes_do() {
    let span = |Transit { way, ends, segment }: Bytes| {
        let mut offset = u64::from(segment.seq);
        if way == Way::Down {
            offset += 1_000_000;
        }
        Transit { way, ends, segment: segment.map_payload(|bytes| Span { offset, len: bytes.len() as u32 }) }
    };
    let traffic = [
        syn(Way::Up, 100),
        syn_ack(500, 101),
        data(Way::Up, 101, b"abcdef"),
        data(Way::Up, 107, b"gh"),
        data(Way::Up, 111, b"gap"),
        data(Way::Down, 501, b"xyz"),
        sacked(Way::Down, 504, 101, &[(104, 109)]),
    ];
    for (mut of_bytes, mut of_spans) in boxes::<Vec<u8>>(false).into_iter().zip(boxes::<Span>(false)) {
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        for transit in &traffic {
            of_bytes.process(0, transit.clone(), &mut bytes);
            of_spans.process(0, span(transit.clone()), &mut spans);
        }
        of_bytes.handle_timeout(10_000, &mut bytes);
        of_spans.handle_timeout(10_000, &mut spans);
        let lengths = |Transit { way, ends, segment }: Bytes| Transit {
            way,
            ends,
            segment: segment.map_payload(|bytes| bytes.len()),
        };
        let bytes: Vec<_> = bytes.into_iter().map(lengths).collect();
        let spans: Vec<_> = spans
            .into_iter()
            .map(|Transit { way, ends, segment }| Transit {
                way,
                ends,
                segment: segment.map_payload(|span| span.len as usize),
            })
            .collect();
        assert_eq!(bytes, spans, "{of_bytes:?}");
    }
}

fn any_transit() -> impl Strategy<Value = Bytes> {
    let number = || prop_oneof![3 => 90_u32..130, 1 => (u32::MAX - 20)..u32::MAX, 1 => any::<u32>()];
    let content = prop::collection::vec(any::<u8>(), 0..12);
    let blocks = prop::collection::vec((number(), number()), 0..4);
    (any::<bool>(), number(), number(), any::<u8>(), content, blocks).prop_map(
        |(up, seq, ack, flags, content, blocks)| {
            let mut transit = with_dss(sacked(if up { Way::Up } else { Way::Down }, seq, ack, &blocks));
            transit.segment.flags = if flags % 4 > 0 { Flags::ACK } else { Flags(flags) };
            transit.segment.payload = content;
            transit
        },
    )
}

proptest! {
    /// For any segments in any order: no middlebox panics, ends and ports stay consistent, and nothing is held forever.
    #[test]
    fn no_segment_is_too_strange(traffic in prop::collection::vec(any_transit(), 1..60), order in any::<u64>()) {
        let mut all = boxes::<Vec<u8>>(false);
        let by = order as usize % all.len();
        all.rotate_left(by);
        let mut chain = Chain::new(all);
        let mut out = Vec::new();
        for (now_ns, transit) in (0..).zip(traffic) {
            chain.process(now_ns * 100, transit, &mut out);
            if let Some(at_ns) = chain.next_timeout_ns() {
                prop_assert!(at_ns <= now_ns * 100 + 1_000);
                if at_ns <= now_ns * 100 {
                    chain.handle_timeout(now_ns * 100, &mut out);
                }
            }
        }
        chain.handle_timeout(1_000_000, &mut out);
        prop_assert_eq!(chain.next_timeout_ns(), None);
        for Transit { way, ends, segment } in &out {
            let (source, destination) = ends.of(*way);
            prop_assert_eq!((segment.src_port, segment.dst_port), (source.port(), destination.port()));
        }
    }

    /// Middleboxes that only renumber, split and join deliver the stream that was sent.
    #[test]
    fn boxes_that_mean_well_keep_the_stream(
        sizes in prop::collection::vec(1_usize..9, 1..40),
        isn in any::<u32>(),
        mss in 1_u16..6,
        max_bytes in 1_u16..20,
    ) {
        let mut chain = Chain::new(vec![
            Middlebox::SequenceRewriting(SequenceRewriting::new(true, Xoshiro256PlusPlus::seed_from_u64(1))),
            Middlebox::Splitting(Splitting::new(mss)),
            Middlebox::Coalescing(Coalescing::new(1_000, max_bytes)),
        ]);
        let mut out = Vec::new();
        chain.process(0, syn(Way::Up, isn), &mut out);
        let mut sent: Vec<u8> = Vec::new();
        for size in sizes {
            let content: Vec<u8> = (sent.len()..sent.len() + size).map(|at| at as u8).collect();
            chain.process(0, data(Way::Up, isn.wrapping_add(1 + sent.len() as u32), &content), &mut out);
            sent.extend(content);
        }
        chain.handle_timeout(1_000, &mut out);
        let first = out.remove(0).segment.seq.wrapping_add(1);
        let mut received = Vec::new();
        for Transit { segment, .. } in out {
            prop_assert_eq!(segment.seq.wrapping_sub(first) as usize, received.len());
            prop_assert!(segment.payload.len() <= usize::from(mss.max(max_bytes)));
            received.extend(segment.payload);
        }
        prop_assert_eq!(received, sent);
    }
}
