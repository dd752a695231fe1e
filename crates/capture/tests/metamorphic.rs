//! The same packets, captured in another way, give the same numbers. Where that is impossible, the report says so.

mod traffic;

use capture::analysis::report::Analysis;
use traffic::{MS, Plan, Random, Seen, Traffic, analyse, essence, file, generate};

const YEAR_NS: u64 = 365 * 86_400 * 1_000_000_000;

fn plans() -> impl Iterator<Item = Plan> {
    (0..24).map(|seed| Plan {
        subflows: (seed % 4) as usize,
        loss_percent: 4 * (seed % 3),
        timestamps: seed % 2 == 0,
        identified: seed % 5 != 0,
        ..Plan::plain(seed + 1)
    })
}

fn at(traffic: &Traffic, server: bool) -> Vec<Seen> {
    traffic.seen.iter().filter(|seen| seen.at_server == server).cloned().collect()
}

fn one(seen: &[Seen]) -> Analysis {
    analyse([("one", &file(seen, "eth0", 0)[..])])
}

/// The numbers are those the connection was generated with, at either end and at both.
#[test]
fn what_is_counted_is_what_was_made() {
    for plan in plans() {
        let made = generate(plan);
        let (client, server) = (at(&made, false), at(&made, true));
        let files = [file(&client, "client", 0), file(&server, "server", 0)];
        let both = analyse([("client", &files[0][..]), ("server", &files[1][..])]);
        for (place, analysis) in [("client", one(&client)), ("server", one(&server)), ("both", both)] {
            let [connection] = &analysis.connections[..] else { panic!("{plan:?}: {:#?}", analysis.connections) };
            let [up, down] = &connection.streams[..] else { panic!("two directions") };
            assert_eq!((up.bytes, down.bytes, down.missed_bytes), (100, plan.segments * 1000, 0), "{place} {plan:?}");
            assert_eq!(down.unmapped_bytes + down.outstanding_bytes, 0, "{place} {plan:?}");
            if place == "client" {
                continue;
            }
            // The receiver does not see lost packets.
            let counted = (down.segments_sent, down.retransmissions, down.reinjections);
            assert_eq!(counted, (made.sent, made.retransmissions, made.reinjections), "{place} {plan:?}");
            if place == "both" {
                let brought: Vec<u64> = connection.subflows.iter().map(|sub| sub.flows[1].bytes).collect();
                assert_eq!(brought, made.brought, "{plan:?}");
            }
        }
    }
}

#[test]
fn a_capture_in_parts_in_any_order_is_one_capture() {
    for plan in plans() {
        let made = generate(plan);
        for seen in [at(&made, false), at(&made, true)] {
            let whole = essence(&one(&seen));
            let mut random = Random(plan.seed);
            for _ in 0..3 {
                let (mut first, mut second) =
                    (random.below(seen.len() as u64) as usize, random.below(seen.len() as u64) as usize);
                (first, second) = (first.min(second), first.max(second));
                let parts = [&seen[..first], &seen[first..second], &seen[second..]];
                let mut files: Vec<(String, Vec<u8>)> =
                    (0..).zip(parts).map(|(number, part)| (format!("part{number}"), file(part, "eth0", 0))).collect();
                for _ in 0..3 {
                    files.rotate_left(1);
                    let analysis = analyse(files.iter().map(|(name, file)| (name.as_str(), &file[..])));
                    assert_eq!(essence(&analysis), whole, "{plan:?}, cut at {first} and {second}");
                    assert_eq!(analysis.interfaces.len(), 1);
                }
            }
            // Each direction in its own file.
            let ways = [true, false].map(|up| file(seen.iter().filter(|seen| seen.up == up), "tap", 0));
            assert_eq!(essence(&analyse([("up", &ways[0][..]), ("down", &ways[1][..])])), whole, "{plan:?}");
        }
    }
}

#[test]
fn records_a_little_out_of_order_are_put_in_order() {
    for plan in plans() {
        let made = generate(plan);
        let seen = at(&made, true);
        let mut random = Random(plan.seed);
        let mut moved = seen.clone();
        // Reordered by up to 5 ms, as happens with several queues.
        moved.sort_by_cached_key(|seen| seen.time_ns + random.below(5 * MS));
        assert_eq!(essence(&one(&moved)), essence(&one(&seen)), "{plan:?}");
    }
}

#[test]
fn another_clock_at_one_place_changes_nothing() {
    for plan in plans() {
        let made = generate(plan);
        let (client, server) = (at(&made, false), at(&made, true));
        let whole = {
            let files = [file(&client, "client", 0), file(&server, "server", 0)];
            essence(&analyse([("client", &files[0][..]), ("server", &files[1][..])]))
        };
        for ahead_ns in [40 * MS, 3000 * MS, YEAR_NS, 30 * YEAR_NS] {
            let mut shifted = server.clone();
            shifted.iter_mut().for_each(|seen| seen.time_ns += ahead_ns);
            let files = [file(&client, "client", 0), file(&shifted, "server", 0)];
            for order in [[0, 1], [1, 0]] {
                let analysis = analyse(order.map(|number| ("x", &files[number][..])));
                assert_eq!(essence(&analysis), whole, "{plan:?}, {ahead_ns} ns");
                let [clock] = &analysis.clocks[..] else { panic!("{plan:?}: {:?}", analysis.clocks) };
                let found_s = clock.ahead_s.abs();
                assert!((found_s - ahead_ns as f64 / 1e9).abs() < 0.04, "{plan:?}: {clock:?} of {ahead_ns} ns");
            }
        }
    }
}

#[test]
fn a_clock_that_is_set_is_said_with_the_packet() {
    let made = generate(Plan::plain(5));
    let seen = at(&made, true);
    let half = seen.len() / 2;
    for (by_ns, forward) in [(3600 * 1000 * MS, false), (YEAR_NS, true), (YEAR_NS, false)] {
        let mut set: Vec<Seen> = seen.clone();
        for (number, seen) in set.iter_mut().enumerate() {
            seen.time_ns += 2 * YEAR_NS;
            if number >= half {
                seen.time_ns = if forward { seen.time_ns + by_ns } else { seen.time_ns - by_ns };
            }
        }
        let analysis = one(&set);
        let [step] = &analysis.files[0].clock_steps[..] else { panic!("{:?}", analysis.files[0]) };
        assert_eq!(step.packet, half as u64 + 1);
        assert!((step.step_s.abs() - by_ns as f64 / 1e9).abs() < 0.1, "{step:?}");
        assert!(analysis.duration_s < 2.0, "{} s", analysis.duration_s);
        let (as_set, as_was) = (&analysis.connections[0].streams[1], &one(&seen).connections[0].streams[1]);
        assert_eq!((as_set.bytes, as_set.retransmissions), (as_was.bytes, as_was.retransmissions));
    }
}

#[test]
fn from_the_middle_on_it_says_so() {
    for plan in plans() {
        let made = generate(plan);
        for seen in [at(&made, false), at(&made, true)] {
            let whole = one(&seen).connections[0].streams[1].clone();
            let analysis = one(&seen[seen.len() / 2..]);
            assert_eq!(analysis.connections.len(), 1, "{plan:?}");
            for connection in &analysis.connections {
                assert!(!connection.complete, "{plan:?}");
                for stream in &connection.streams {
                    assert!(stream.bytes <= whole.bytes && stream.segments_sent <= whole.segments_sent, "{plan:?}");
                    assert_eq!(stream.unmapped_bytes, 0, "{plan:?}");
                }
            }
        }
    }
}

#[test]
fn of_one_direction_what_is_acknowledged_is_known() {
    for plan in plans() {
        let made = generate(plan);
        for seen in [at(&made, false), at(&made, true)] {
            let acks: Vec<Seen> = seen.iter().filter(|seen| seen.up).cloned().collect();
            let data: Vec<Seen> = seen.iter().filter(|seen| !seen.up).cloned().collect();
            let down = &one(&acks).connections[0].streams[1];
            let all = plan.segments * 1000;
            assert_eq!((down.bytes, down.missed_bytes, down.segments_sent), (all, all, 0), "{plan:?}");
            assert!(down.goodput_bps.is_none_or(|rate| rate < 1e9), "{plan:?}: {down:?}");
            let analysis = one(&data);
            let stream = analysis.connections[0].streams.iter().find(|stream| stream.segments_sent > 0).unwrap();
            assert_eq!((stream.bytes, stream.missed_bytes, stream.acknowledged_bytes), (all, 0, 0), "{plan:?}");
        }
    }
}

#[test]
fn packets_that_are_there_twice_count_once() {
    for plan in plans() {
        let made = generate(plan);
        let seen = at(&made, true);
        let whole = essence(&one(&seen));
        for (later_ns, hops) in [(30_000, 1), (0, 0), (10_000, 0), (2 * MS, 1)] {
            let mut twice: Vec<Seen> = Vec::new();
            for packet in &seen {
                let mut copy = packet.clone();
                copy.time_ns += later_ns;
                copy.bytes[8] -= hops;
                twice.extend([packet.clone(), copy]);
            }
            twice.sort_by_key(|seen| seen.time_ns);
            let analysis = one(&twice);
            assert_eq!(essence(&analysis), whole, "{plan:?}, {later_ns} ns");
            // Identical acknowledgments in quick succession may add a few.
            assert!(analysis.files[0].duplicates >= seen.len() as u64, "{plan:?}");
        }
    }
}

/// A closed end answers every packet with an identical reset, and each of them counts.
#[test]
fn resets_that_say_the_same_are_several() {
    let mut seen = at(&generate(Plan { timestamps: true, identified: false, ..Plan::plain(3) }), true);
    let mut reset = seen.iter().rev().find(|seen| seen.up && !seen.has_data).unwrap().clone();
    reset.bytes[33] = 4; // the TCP flags, after 20 bytes of IP
    let (before, end_ns) = (one(&seen), seen.last().unwrap().time_ns);
    for number in 1..=3 {
        seen.push(Seen { time_ns: end_ns + number * 600_000, ..reset.clone() });
    }
    let after = one(&seen);
    assert_eq!(after.files[0].duplicates, before.files[0].duplicates);
    assert_eq!(after.connections[0].subflows.iter().map(|subflow| subflow.resets).sum::<u64>(), 3);
}

/// At the receiver, a packet that was reordered in the network counts neither as retransmitted nor as lost.
#[test]
fn overtaken_packets_are_not_sent_again() {
    for plan in plans().filter(|plan| plan.loss_percent == 0 && plan.segments > 3) {
        let mut seen = at(&generate(plan), false);
        let whole = one(&seen);
        let data: Vec<usize> = (0..seen.len()).filter(|&at| !seen[at].up && seen[at].has_data).collect();
        let ports = |seen: &Seen| seen.bytes[20..24].to_vec();
        let pair = data.windows(2).find(|pair| ports(&seen[pair[0]]) == ports(&seen[pair[1]])).unwrap();
        let (first, second) = (pair[0], pair[1]);
        seen[first].time_ns = seen[second].time_ns + 1000;
        seen.sort_by_key(|seen| seen.time_ns);
        let overtaken = one(&seen);
        let (before, after) = (&whole.connections[0], &overtaken.connections[0]);
        let reordered = |connection: &capture::analysis::report::Connection| -> u64 {
            connection.subflows.iter().map(|subflow| subflow.flows[1].reordered).sum()
        };
        assert_eq!((reordered(before), reordered(after)), (0, 1), "{plan:?}");
        for (before, after) in before.streams.iter().zip(&after.streams) {
            assert_eq!(after.bytes, before.bytes, "{plan:?}");
            assert_eq!(after.segments_sent, before.segments_sent, "{plan:?}");
            assert_eq!(after.retransmissions, before.retransmissions, "{plan:?}");
        }
    }
}

#[test]
fn a_lost_mapping_that_comes_again_later_is_used() {
    for plan in plans().filter(|plan| plan.subflows > 0) {
        let made = generate(plan);
        let mut seen = at(&made, true);
        let whole = essence(&one(&seen));
        // The first copy of each retransmitted segment loses its options, which are replaced by NOPs.
        let mut later = std::collections::BTreeSet::new();
        for packet in seen.iter_mut().rev().filter(|packet| packet.has_data && !packet.up) {
            let numbers = packet.bytes[20..28].to_vec();
            if !later.insert(numbers) {
                let end = 20 + usize::from(packet.bytes[32] >> 4) * 4;
                let from = if plan.timestamps { 52 } else { 40 };
                packet.bytes[from..end].fill(1);
            }
        }
        assert_eq!(essence(&one(&seen)), whole, "{plan:?}");
    }
}

#[test]
fn snap_lengths_that_keep_the_headers_change_nothing() {
    let made = generate(Plan::plain(9));
    let seen = at(&made, true);
    let whole = essence(&one(&seen));
    for snap_length in [80, 96, 128, 1000] {
        assert_eq!(essence(&analyse([("cut", &file(&seen, "eth0", snap_length)[..])])), whole, "{snap_length}");
    }
    let analysis = analyse([("cut", &file(&seen, "eth0", 40)[..])]);
    assert!(analysis.files[0].undecoded > 0, "and where it does not keep them, it is said");
}

/// All supported encapsulations of a packet.
#[test]
fn each_encapsulation_gives_the_same() {
    let made = generate(Plan::plain(11));
    let seen = at(&made, true);
    let whole = essence(&one(&seen));
    let ethernet = |kind: u16| [&[2; 12][..], &kind.to_be_bytes()].concat();
    let ip = |protocol: u8, inner: &[u8]| {
        let len = (20 + inner.len()) as u16;
        let [high, low] = len.to_be_bytes();
        [&[0x45, 0, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 9, 9, 1, 10, 9, 9, 2][..], inner].concat()
    };
    let udp = |port: u16, inner: &[u8]| {
        let len = (8 + inner.len()) as u16;
        ip(17, &[&[200, 1][..], &port.to_be_bytes(), &len.to_be_bytes(), &[0, 0], inner].concat())
    };
    type Wrap<'a> = Box<dyn Fn(&[u8]) -> Vec<u8> + 'a>;
    let before = |header: Vec<u8>| -> Wrap { Box::new(move |packet| [&header[..], packet].concat()) };
    let wraps: Vec<(&str, u32, Wrap)> = vec![
        ("Ethernet", 1, before(ethernet(0x0800))),
        ("PPPoE", 1, before([&ethernet(0x8864)[..], &[0x11, 0, 0, 1, 0, 0, 0, 0x21]].concat())),
        (
            "PPPoE in VLAN",
            1,
            before([&ethernet(0x8100)[..], &[0, 7, 0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21]].concat()),
        ),
        ("PPPoE in SLL", 113, before([&[0; 14][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21]].concat())),
        ("PPP", 9, before(vec![0, 0x21])),
        ("PPP in HDLC", 50, before(vec![0xff, 3, 0, 0x21])),
        (
            "NFLOG",
            239,
            Box::new(|packet| {
                let len = (packet.len() + 4) as u16;
                [&[2, 0, 0, 0][..], &len.to_le_bytes(), &[9, 0], packet].concat()
            }),
        ),
        ("PKTAP", 258, before([&[108, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0][..], &[0; 96]].concat())),
        (
            "RadioTap",
            127,
            before([&[0, 0, 8, 0, 0, 0, 0, 0, 8, 1][..], &[0; 22], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()),
        ),
        ("IP in IP", 101, Box::new(|packet| ip(4, packet))),
        ("GRE", 101, Box::new(|packet| ip(47, &[&[0, 0, 8, 0][..], packet].concat()))),
        (
            "VXLAN",
            101,
            Box::new(|packet| udp(4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], &ethernet(0x0800), packet].concat())),
        ),
        (
            "GENEVE",
            101,
            Box::new(|packet| udp(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 1, 0][..], &ethernet(0x0800), packet].concat())),
        ),
        (
            "GRE in PPPoE",
            51,
            Box::new(|packet| {
                [&[0x11, 0, 0, 1, 0, 0, 0, 0x21][..], &ip(47, &[&[0, 0, 8, 0][..], packet].concat())].concat()
            }),
        ),
    ];
    for (name, link_type, wrap) in wraps {
        let mut file = [0xa1b2_3c4d_u32, 0x0002_0004, 0, 0, 1 << 18, link_type].map(u32::to_be_bytes).concat();
        for packet in &seen {
            let bytes = wrap(&packet.bytes);
            let (s, ns, len) = (packet.time_ns / 1_000_000_000, packet.time_ns % 1_000_000_000, bytes.len() as u32);
            file.extend([s as u32, ns as u32, len, len].map(u32::to_be_bytes).concat());
            file.extend(bytes);
        }
        assert_eq!(essence(&analyse([(name, &file[..])])), whole, "{name}");
    }
}

/// An IPv4 packet of length 0 gets the length of its frame.
#[test]
fn a_length_of_zero_is_that_of_the_frame() {
    let made = generate(Plan::plain(12));
    let mut seen = at(&made, true);
    let whole = essence(&one(&seen));
    seen.iter_mut().filter(|seen| seen.has_data).for_each(|seen| seen.bytes[2..4].fill(0));
    for snap_length in [0, 96] {
        let analysis = analyse([("offload", &file(&seen, "eth0", snap_length)[..])]);
        assert_eq!(essence(&analysis), whole);
        assert!(analysis.files[0].lengths_of_frames > 0 && analysis.files[0].undecoded == 0);
    }
}
