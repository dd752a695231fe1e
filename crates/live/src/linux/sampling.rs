//! Samples of subflows from what was last seen of them.

use simulator::outcome::SubflowSamples;

use super::track::{Tally, Track};
use super::traffic::Traffic;

/// Means of windows and RTTs are taken from looks this often, where samples are not finer.
const LOOK_NS: u64 = 20_000_000;
/// With more connections, looks are as far apart as samples: each costs some ten microseconds a connection.
const MANY: usize = 32;

/// How often the connections are looked at: a whole number of times in a sample.
pub fn interval_ns(sample_ns: Option<u64>, connections: usize) -> u64 {
    let sample_ns = sample_ns.unwrap_or(5 * LOOK_NS);
    if connections > MANY {
        return sample_ns;
    }
    let times = sample_ns.div_ceil(LOOK_NS);
    if sample_ns.is_multiple_of(times) { sample_ns / times } else { sample_ns }
}

/// One row for each subflow (of an application that repeats: each path) of a connection that was not complete before the
/// interval that ends now.
pub fn sample(traffic: &mut Traffic<'_>, now_ns: u64, sample_ns: u64) {
    let Traffic { applications, transfers, samples, .. } = traffic;
    for (number, application) in applications.iter_mut().enumerate() {
        if application.completion_ns.is_some_and(|at_ns| at_ns < now_ns - sample_ns) {
            continue;
        }
        let tracks = application.transfers.iter().filter_map(|&place| transfers[place].as_ref());
        let mut rows: Vec<(u64, Vec<&Track>)>;
        if application.repeats() {
            let mut paths: Vec<usize> = application.tallies.iter().map(|tally| tally.path).collect();
            let all: Vec<&Track> = tracks.flat_map(|transfer| &transfer.tracks).collect();
            for track in &all {
                if !paths.contains(&track.path) {
                    // It will have this place when its transfer is over, or another; places are given on first sight.
                    paths.push(track.path);
                }
            }
            let bytes =
                |path: usize| application.tallies.iter().find(|tally| tally.path == path).map_or(0, |t| t.all_bytes);
            rows = paths
                .iter()
                .map(|&path| (bytes(path), all.iter().copied().filter(|track| track.path == path).collect()))
                .collect();
            for &path in &paths[application.tallies.len()..] {
                application.tallies.push(Tally::empty(path));
            }
        } else {
            rows = tracks.flat_map(|transfer| &transfer.tracks).map(|track| (0, vec![track])).collect();
        }
        application.sampled.resize(rows.len().max(application.sampled.len()), 0);
        for (position, (over_bytes, tracks)) in rows.drain(..).enumerate() {
            let bytes = over_bytes + tracks.iter().map(|track| track.received).sum::<u64>();
            let earlier = std::mem::replace(&mut application.sampled[position], bytes);
            push(samples, now_ns, sample_ns, [number, position], bytes.saturating_sub(earlier), &tracks);
        }
    }
}

fn push(
    samples: &mut SubflowSamples,
    now_ns: u64,
    sample_ns: u64,
    [connection, subflow]: [usize; 2],
    bytes: u64,
    tracks: &[&Track],
) {
    let measured: Vec<u32> = tracks.iter().map(|track| track.sender.srtt_us).filter(|&srtt_us| srtt_us > 0).collect();
    let mean_us = measured.iter().map(|&srtt_us| f64::from(srtt_us)).sum::<f64>() / measured.len() as f64;
    samples.time_s.push(now_ns as f64 / 1e9);
    samples.connection.push(connection as u32);
    samples.subflow.push(subflow as u32);
    samples.goodput_bps.push(bytes as f64 * 8e9 / sample_ns as f64);
    samples.cwnd_segments.push(tracks.iter().map(|track| f64::from(track.sender.cwnd_segments)).sum());
    // Without one the mean is not a number, which is what a sample has then.
    samples.srtt_s.push(mean_us * 1e-6);
    samples.in_flight_segments.push(tracks.iter().map(|track| track.sender.in_flight_segments).sum());
}
