//! Samples of subflows from what was last seen of them.

use application::outcome::SubflowSamples;
use application::{Present, Runtime, Stream, Tally, Window};

use super::track::Track;
use crate::emulator::FlowKey;

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

/// A transfer as far as samples and counts need it.
pub trait Sampled {
    /// Its data.
    fn stream(&self) -> &Stream;
    /// Its data, to note what belongs to the warm-up.
    fn stream_mut(&mut self) -> &mut Stream;
    /// Its subflows.
    fn tracks(&self) -> &[Track];
    /// Its subflows, to note what was sampled.
    fn tracks_mut(&mut self) -> &mut [Track];

    /// All so far belongs to the warm-up.
    fn warm_up_ends(&mut self, now_ns: u64) {
        self.stream_mut().warm_up_ends();
        for track in self.tracks_mut() {
            track.kept.warm = (&track.mark(now_ns)).into();
        }
    }

    /// The last byte has arrived.
    fn completed(&mut self, now_ns: u64) {
        for track in self.tracks_mut() {
            track.kept.completed_cwnd = Some(track.mark(now_ns).cwnd_integral);
        }
    }

    /// What each subflow has counted.
    fn tallies(&self, warmup_ns: u64, end_ns: u64) -> Vec<Tally<FlowKey>> {
        let stream = self.stream();
        let window = Window::of(stream.start_ns, stream.completion_ns, warmup_ns, end_ns);
        self.tracks().iter().map(|track| track.tally(window)).collect()
    }
}

/// One row for each subflow (of an application that repeats: each path) of a connection that was not complete before the
/// interval that ends now.
pub fn sample<T: Sampled>(
    runtime: &mut Runtime<FlowKey>,
    transfers: &mut [Option<T>],
    samples: &mut SubflowSamples,
    (now_ns, sample_ns): (u64, u64),
) {
    for (number, application) in runtime.applications.iter_mut().enumerate() {
        let completion_ns = application.completion_ns(|place| stream(transfers, place));
        if completion_ns.is_some_and(|at_ns| at_ns < now_ns - sample_ns) {
            continue;
        }
        if application.content.repeats() {
            let own = application.transfers.iter().filter_map(|&place| transfers[place as usize].as_ref());
            let marks = own.flat_map(|transfer| {
                let complete = transfer.stream().completion_ns.is_some();
                transfer.tracks().iter().map(move |track| (track.path, track.mark(now_ns), complete))
            });
            let rows = application.record.sample_paths(marks).into_iter().enumerate();
            rows.for_each(|(path, (bytes, now))| samples.push(now_ns, sample_ns, [number, path], bytes, &now));
            continue;
        }
        let own = application.transfers.first().and_then(|&place| transfers[place as usize].as_mut());
        for (place, track) in own.into_iter().flat_map(|transfer| transfer.tracks_mut()).enumerate() {
            let mark = track.mark(now_ns);
            let mut now = Present::default();
            now.add(&mark);
            samples.push(now_ns, sample_ns, [number, place], track.kept.sample(&mark), &now);
        }
    }
}

/// The stream of a transfer that has not left.
pub fn stream<T: Sampled>(transfers: &[Option<T>], place: u32) -> &Stream {
    let transfer = transfers[place as usize].as_ref();
    transfer.unwrap_or_else(|| panic!("transfer {place} has left its application and is still asked for")).stream()
}
