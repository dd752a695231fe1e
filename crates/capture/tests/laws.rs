//! The laws of `analysis::laws` on random connections with random packets missing from the capture, cut anywhere, of either
//! host or of both: 300 of them, and 20,000 with `cargo test --release -p capture --test laws -- --ignored`.

mod traffic;

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
        // Packets that the capture missed; a direction, and a beginning and an end, that it does not have.
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
    // Every law is checked in it.
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
