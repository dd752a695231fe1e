//! Observation points: which files are parts of one observation (a capture split into several files, or with one file
//! per direction), and whose clock differs from the others'.

use super::log::Log;
use super::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// Maximum number of packets compared per pair of ends.
const COMPARED: usize = 4096;

/// Up to this many packets, all packets of a part may be repetitions of earlier ones.
const FEW: usize = 4;

/// A file, an interface in it, and the interface number in its frames if they carry one (SLL2).
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Name of the interface, or of the file if the interface has none.
    pub name: String,
    pub file: String,
    pub link_type: u32,
}

/// Identifies a packet wherever it is seen, unless middleboxes change it: direction, numbers and flags.
type Key = (usize, u32, u32, u32, u16, u64);

fn key(record: &Record) -> Key {
    let data = record.data_ack ^ record.dsn.rotate_left(32) ^ u64::from(record.flags.0);
    (record.from(), record.seq, record.ack, record.len, record.stamp, data)
}

/// Comparison of the packets of two points that saw the same two ends.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    packets: usize,
    common: usize,
    /// Whether the hop limits of at least one direction differed.
    hops_differ: bool,
    /// Whether the observations overlapped in time.
    at_once: bool,
}

/// Merges logs that are parts of one observation: both points saw the same two ends, but not the same packets. Returns
/// the remaining points.
pub fn unite(logs: Vec<Log>, points: Vec<Point>) -> (Vec<Log>, Vec<Point>) {
    let mut by_tuple: BTreeMap<[SocketAddr; 2], Vec<usize>> = BTreeMap::new();
    for (number, log) in logs.iter().enumerate() {
        by_tuple.entry(log.tuple).or_default().push(number);
    }
    let mut pairs: BTreeMap<(u32, u32), Compared> = BTreeMap::new();
    for same in by_tuple.values().filter(|same| same.len() > 1) {
        for (at, &one) in same.iter().enumerate() {
            for &other in &same[at + 1..] {
                let (one, other) = (&logs[one], &logs[other]);
                let found = pairs.entry((one.point.min(other.point), one.point.max(other.point))).or_default();
                compare(one, other, found);
            }
        }
    }
    if pairs.is_empty() {
        return (logs, points);
    }
    // If half of the possible packets are common, the points are two places on one path. Repetitions alone give fewer.
    let apart = |found: &Compared| {
        let repeated = found.common < FEW && !found.at_once;
        !repeated && (found.common * 2 >= found.packets.max(1) || (found.hops_differ && found.common > 0))
    };
    // The most similar pairs come first, so that the order of the files does not matter.
    let mut parts: Vec<_> = pairs.iter().filter(|(_, found)| !apart(found)).collect();
    parts.sort_by_key(|((a, b), found)| {
        std::cmp::Reverse((!found.hops_differ, likeness(&points[*a as usize], &points[*b as usize])))
    });
    let mut observation: Vec<u32> = (0..points.len() as u32).collect();
    for ((a, b), _) in parts {
        let (a, b) = (observation[*a as usize], observation[*b as usize]);
        let contradicted = pairs.iter().any(|((one, other), found)| {
            let of = (observation[*one as usize], observation[*other as usize]);
            apart(found) && (of == (a, b) || of == (b, a))
        });
        if a != b && !contradicted {
            let (into, from) = (a.min(b), a.max(b));
            observation.iter_mut().filter(|number| **number == from).for_each(|number| *number = into);
        }
    }
    let observations: Vec<Vec<u32>> = (0..points.len() as u32)
        .filter(|&first| observation[first as usize] == first)
        .map(|first| (0..points.len() as u32).filter(|&point| observation[point as usize] == first).collect())
        .collect();
    let mut renamed = vec![0; points.len()];
    for (number, members) in (0..).zip(&observations) {
        members.iter().for_each(|&member| renamed[member as usize] = number);
    }
    let named = observations.iter().map(|members| points[members[0] as usize].clone()).collect();
    (joined(logs, &renamed), named)
}

fn joined(logs: Vec<Log>, renamed: &[u32]) -> Vec<Log> {
    let mut known: BTreeMap<(u32, [SocketAddr; 2]), usize> = BTreeMap::new();
    let mut found: Vec<Log> = Vec::new();
    for mut log in logs {
        log.point = renamed[log.point as usize];
        match known.get(&(log.point, log.tuple)) {
            Some(&number) => found[number].join(log),
            None => {
                known.insert((log.point, log.tuple), found.len());
                found.push(log);
            }
        }
    }
    found
}

/// Similarity of the names of two points: parts of one capture have similar names.
fn likeness(one: &Point, other: &Point) -> (bool, bool, usize) {
    let common = one.file.bytes().zip(other.file.bytes()).take_while(|(a, b)| a == b).count();
    (one.link_type == other.link_type, one.name == other.name, common)
}

fn compare(one: &Log, other: &Log, found: &mut Compared) {
    let (few, many) = if one.records.len() <= other.records.len() { (one, other) } else { (other, one) };
    let keys: BTreeSet<Key> = few.records.iter().take(COMPARED).map(|record| key(&record)).collect();
    let both: BTreeSet<Key> = many.records.iter().map(|record| key(&record)).filter(|key| keys.contains(key)).collect();
    if let (Some((a_first, a_last)), Some((b_first, b_last))) = (one.records.span_ns(), other.records.span_ns()) {
        found.at_once |= a_first <= b_last && b_first <= a_last;
    }
    found.packets += keys.len();
    found.common += both.len();
    found.hops_differ |= (0..2).any(|end| {
        let ((a_least, a_most), (b_least, b_most)) = (one.hop_limits[end], other.hop_limits[end]);
        a_least <= a_most && b_least <= b_most && (a_most < b_least || b_most < a_least)
    });
}

/// For each direction, the smallest and the largest time difference of common packets between two points.
type Differences = [Option<(i64, i64)>; 2];

/// How far the clock of each point is ahead of the first clock that it shares packets with. Zero unless the order of
/// the packets contradicts it. A packet is seen later at the farther point, so the clock offset lies between the
/// differences of the two directions.
pub fn clocks(logs: &[Log], points: usize) -> Vec<i64> {
    let mut by_tuple: BTreeMap<[SocketAddr; 2], Vec<&Log>> = BTreeMap::new();
    for log in logs {
        by_tuple.entry(log.tuple).or_default().push(log);
    }
    // For each pair of points and each direction, the smallest and the largest time difference.
    let mut pairs: BTreeMap<(u32, u32), Differences> = BTreeMap::new();
    for same in by_tuple.values().filter(|same| same.len() > 1) {
        for (at, one) in same.iter().enumerate() {
            for other in same[at + 1..].iter().filter(|other| other.point != one.point) {
                let (one, other) = if one.point < other.point { (*one, *other) } else { (*other, *one) };
                differences(one, other, pairs.entry((one.point, other.point)).or_default());
            }
        }
    }
    let mut ahead: Vec<Option<i64>> = vec![None; points];
    for start in 0..points {
        if ahead[start].is_some() {
            continue;
        }
        ahead[start] = Some(0);
        let mut reached = vec![start];
        while let Some(point) = reached.pop() {
            let own = ahead[point].unwrap_or(0);
            for (&(a, b), found) in &pairs {
                let (next, sign) = match (a as usize == point, b as usize == point) {
                    (true, _) => (b as usize, 1),
                    (_, true) => (a as usize, -1),
                    _ => continue,
                };
                if ahead[next].is_none() {
                    ahead[next] = Some(own.saturating_add(sign * offset(found)));
                    reached.push(next);
                }
            }
        }
    }
    ahead.into_iter().map(Option::unwrap_or_default).collect()
}

/// If only one direction has packets, a smaller difference than this may be the propagation delay.
const WAY_NS: i64 = 1_000_000_000;

fn offset(found: &Differences) -> i64 {
    match *found {
        [Some(up), Some(down)] => {
            // The direction with the smaller differences leads from the second point to the first.
            let (low, high) = if up.0 <= down.0 { (up.1, down.0) } else { (down.1, up.0) };
            let (low, high) = (low.min(high), low.max(high));
            if low <= 0 && 0 <= high { 0 } else { low + (high - low) / 2 }
        }
        [Some(one), None] | [None, Some(one)] if one.0 > WAY_NS || one.1 < -WAY_NS => one.0,
        _ => 0,
    }
}

/// Time differences of the common packets of two logs: the second's time minus the first's.
fn differences(one: &Log, other: &Log, found: &mut Differences) {
    // Packets sent twice could be confused with their repetitions, so that only unique ones count.
    let once = |log: &Log| {
        let mut times: BTreeMap<Key, Option<u64>> = BTreeMap::new();
        for record in log.records.iter().take(COMPARED) {
            times.entry(key(&record)).and_modify(|known| *known = None).or_insert(Some(record.time_ns));
        }
        times
    };
    let (first, second) = (once(one), once(other));
    for (key, time_ns) in first {
        let (Some(a), Some(Some(b))) = (time_ns, second.get(&key)) else { continue };
        let difference = b.wrapping_sub(a) as i64;
        let known = found[key.0].get_or_insert((difference, difference));
        *known = (known.0.min(difference), known.1.max(difference));
    }
}
