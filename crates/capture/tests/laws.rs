//! Checks the invariants of `analysis::laws` on random connections with random packets missing from the capture, cut at
//! random places, taken at either host or at both: 300 of them, and 20,000 with `cargo test --release -p capture --test
//! laws -- --ignored`.

mod traffic;

use capture::analysis::laws;
use capture::analysis::report::{Analysis, Flow, Stream};
use traffic::{Plan, Random, Seen, analyse, file, generate};

fn one_case(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
    let plan = Plan {
        seed: seed + 1,
        subflows: random.below(4) as usize,
        segments: 1 + random.below(50),
        loss_percent: random.below(25),
        timestamps: random.percent(50),
        identified: random.percent(70),
    };
    let made = generate(plan);
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (server, present) in [(false, random.percent(70)), (true, random.percent(70))] {
        if !present {
            continue;
        }
        let mut seen: Vec<Seen> = made.seen.iter().filter(|seen| seen.at_server == server).cloned().collect();
        // Packets that the capture missed; and a direction, a beginning and an end that it lacks.
        let missing = random.below(30);
        let only = [None, None, None, Some(true), Some(false)][random.below(5) as usize];
        seen.retain(|seen| !random.percent(missing) && only.is_none_or(|up| up == seen.up));
        let (a, b) = (random.below(seen.len() as u64 + 1) as usize, random.below(seen.len() as u64 + 1) as usize);
        let mut kept = match random.below(3) {
            0 => seen,
            1 => seen.split_off(a),
            _ => seen[a.min(b)..a.max(b)].to_vec(),
        };
        let ahead_ns = [0, 0, 7_000_000, 5_000_000_000, 40_000_000_000_000_000][random.below(5) as usize];
        kept.iter_mut().for_each(|seen| seen.time_ns += ahead_ns);
        let cut = random.below(kept.len() as u64 + 1) as usize;
        let snap_length = [0, 0, 64, 96][random.below(4) as usize];
        let parts = if random.percent(30) { vec![&kept[..cut], &kept[cut..]] } else { vec![&kept[..]] };
        for part in parts {
            files.push((format!("{server}"), file(part, if server { "eth1" } else { "wlan0" }, snap_length)));
        }
    }
    if random.percent(50) {
        files.reverse();
    }
    // `analyse` checks every invariant.
    let analysis = analyse(files.iter().map(|(name, file)| (name.as_str(), &file[..])));
    let sent = plan.segments * 1000;
    for connection in &analysis.connections {
        for stream in &connection.streams {
            assert!(stream.bytes <= sent.max(100), "seed {seed}: more than was sent: {stream:?} of {plan:?}");
            assert!(stream.goodput_bps.is_none_or(|rate| rate < 1e9), "seed {seed}: {stream:?}");
            let bytes = stream.bytes + stream.outstanding_bytes;
            assert!(bytes <= sent.max(100), "seed {seed}: {stream:?} of {plan:?}");
        }
    }
}

#[test]
fn hold_on_random_captures() {
    (0..300).for_each(one_case);
}

#[test]
#[ignore = "takes a minute"]
fn hold_on_very_many_random_captures() {
    (300..20_300).for_each(one_case);
}

fn stream(analysis: &mut Analysis) -> &mut Stream {
    &mut analysis.connections[0].streams[1]
}

fn flow(analysis: &mut Analysis) -> &mut Flow {
    &mut analysis.connections[0].subflows[0].flows[1]
}

/// Takes the report of a whole connection and changes one number.
#[test]
fn a_law_that_is_broken_is_named() {
    let made = generate(Plan::plain(3));
    let server: Vec<Seen> = made.seen.into_iter().filter(|seen| seen.at_server).collect();
    let whole = analyse([("server", &file(&server, "eth0", 0)[..])]);
    type Change = fn(&mut Analysis);
    let broken: [(&str, Change); 12] = [
        ("the subflows' bytes are the stream's", |analysis| flow(analysis).bytes -= 1),
        ("the subflows' bytes are the stream's", |analysis| stream(analysis).bytes += 1000),
        ("no part is more than the whole", |analysis| stream(analysis).window_bytes += 1),
        ("only what is acknowledged can be missed", |analysis| {
            stream(analysis).missed_bytes = 60_001;
            stream(analysis).bytes += 60_001;
        }),
        ("no subflow brings more than it carries", |analysis| flow(analysis).bytes_seen = 0),
        ("the subflows' counters are the stream's", |analysis| stream(analysis).reinjections += 1),
        ("a counter is below 2^31", |analysis| stream(analysis).retransmissions = u64::from(u32::MAX)),
        ("no more is sent again than is sent", |analysis| stream(analysis).retransmissions = 1000),
        ("shares sum to one", |analysis| flow(analysis).share = Some(0.9)),
        ("goodput times its span is what was delivered", |analysis| stream(analysis).goodput_bps = Some(8e13)),
        ("a goodput has a span of at least a round trip", |analysis| {
            let stream = stream(analysis);
            stream.span_s = 1e-9;
            stream.goodput_bps = Some(stream.window_bytes as f64 * 8e9);
        }),
        ("the subflows' goodput is no more than the connection's", |analysis| {
            flow(analysis).goodput_bps = Some(1e12);
        }),
    ];
    for (law, change) in broken {
        let mut changed = whole.clone();
        change(&mut changed);
        let found = laws::violations(&changed);
        assert!(found.iter().any(|violation| violation.text.contains(law)), "{law}: {found:?}");
        assert!(found.iter().all(|violation| violation.connection == 0 && violation.text.starts_with("down: ")));
    }
}
