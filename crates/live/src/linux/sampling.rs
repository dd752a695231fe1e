//! Samples of subflows from their latest measurements.

use application::outcome::{Connection, SubflowSamples};
use application::{Application, Present, Runtime, Stream};

use super::account::Account;
use crate::emulator::FlowKey;

/// Interval between measurements for means of windows and RTTs, unless samples are more frequent.
const LOOK_NS: u64 = 20_000_000;
/// With more connections than this, measurements are as rare as samples: each takes some ten microseconds per
/// connection.
const MANY: usize = 32;

/// Interval between measurements, which divides the sampling interval.
pub fn interval_ns(sample_ns: Option<u64>, connections: usize) -> u64 {
    let sample_ns = sample_ns.unwrap_or(5 * LOOK_NS);
    if connections > MANY {
        return sample_ns;
    }
    let times = sample_ns.div_ceil(LOOK_NS);
    if sample_ns.is_multiple_of(times) { sample_ns / times } else { sample_ns }
}

/// Adds one row for each subflow (or path, if the application repeats) of a connection that was not complete before the
/// interval that ends now.
pub fn sample<T: AsRef<Account> + AsMut<Account>>(
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
            let marks = accounts(&application.transfers, transfers).flat_map(|account| {
                let complete = account.stream.completion_ns.is_some();
                account.tracks.iter().map(move |track| (track.path, track.mark(now_ns), complete))
            });
            let rows = application.record.sample_paths(marks).into_iter().enumerate();
            rows.for_each(|(path, (bytes, now))| samples.push(now_ns, sample_ns, [number, path], bytes, &now));
            continue;
        }
        let own = application.transfers.first().and_then(|&place| transfers[place as usize].as_mut());
        for (place, track) in own.into_iter().flat_map(|transfer| &mut transfer.as_mut().tracks).enumerate() {
            let mark = track.mark(now_ns);
            let mut now = Present::default();
            now.add(&mark);
            samples.push(now_ns, sample_ns, [number, place], track.kept.sample(&mark), &now);
        }
    }
}

/// The row of an application and its transfers. `counts` returns what the links sent and lost of a flow.
pub fn row<T: AsRef<Account>>(
    application: &Application<FlowKey>,
    transfers: &[Option<T>],
    (warmup_ns, end_ns): (u64, u64),
    counts: impl Fn(&FlowKey) -> (u64, u64),
) -> Connection {
    let mut record = application.record.clone();
    for account in accounts(&application.transfers, transfers) {
        record.add(&account.stream, account.tallies(warmup_ns, end_ns), None);
        record.fallback |= account.fallback;
    }
    application.row(record, |place| stream(transfers, place), (warmup_ns, end_ns), counts)
}

fn accounts<'t, T: AsRef<Account>>(places: &'t [u32], transfers: &'t [Option<T>]) -> impl Iterator<Item = &'t Account> {
    places.iter().filter_map(|&place| Some(transfers[place as usize].as_ref()?.as_ref()))
}

/// The stream of a transfer that was not removed.
fn stream<T: AsRef<Account>>(transfers: &[Option<T>], place: u32) -> &Stream {
    let transfer = transfers[place as usize].as_ref();
    &transfer
        .unwrap_or_else(|| panic!("transfer {place} has left its application and is still asked for"))
        .as_ref()
        .stream
}
