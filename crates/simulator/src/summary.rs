//! From counters to the outcome of a run.

use crate::outcome::{Connection, Outcome, Work};
use crate::probe::{Probe, View};
use crate::tally::{Tally, Window};
use crate::transfer::Transfer;
use wire::Span;

/// The outcome at `end_ns`. `events` is how many there were.
pub fn outcome(probe: Probe, view: View, warmup_ns: u64, end_ns: u64, events: u64) -> Outcome {
    let connections =
        (0..view.applications.len()).map(|number| connection(number, &probe, &view, warmup_ns, end_ns)).collect();
    let (links, link_samples) = probe.links.finish(warmup_ns, end_ns, &mut view.fabric.links);
    let work =
        Work { packet_hops: view.fabric.packet_hops, segments_delivered: view.fabric.segments_delivered, events };
    Outcome { connections, links, subflow_samples: probe.subflow_samples, link_samples, work }
}

fn connection(number: usize, probe: &Probe, view: &View, warmup_ns: u64, end_ns: u64) -> Connection {
    let application = &view.applications[number];
    let completion_ns = application.completion_ns(view.transfers);
    let window = window(application.start_ns, completion_ns, warmup_ns, end_ns);
    let repeats = application.content.repeats();
    let mut tallies = application.tallies.clone();
    let (mut bytes_read, mut warm_bytes) = (application.bytes_read, application.warm_bytes);
    let (mut delays, mut fallback) = (application.delays.clone(), application.fallback);
    for transfer in application.transfers.iter().map(|&number| &view.transfers[number as usize]) {
        bytes_read += transfer.bytes_read;
        warm_bytes += transfer.warm_bytes;
        for (position, tally) in self::tallies(transfer, probe, view, warmup_ns, end_ns).into_iter().enumerate() {
            let place = if repeats { tallies.iter().position(|t| t.path == tally.path) } else { Some(position) };
            match place.and_then(|place| tallies.get_mut(place)) {
                Some(sum) => sum.add(&tally),
                None => tallies.push(tally),
            }
        }
        if let Some(receiver) = receiver(transfer, view) {
            delays.merge(receiver.out_of_order_delays());
            fallback |= receiver.is_fallback();
        }
    }
    let arrived = tallies.iter().map(Tally::bytes).sum();
    Connection {
        kind: application.kind as usize,
        index: application.index,
        start_s: application.start_ns as f64 / 1e9,
        goodput_bps: window.rate((bytes_read - warm_bytes) as f64 * 8.0),
        bytes_delivered: bytes_read,
        completion_s: completion_ns.map(|at_ns| (at_ns - application.start_ns) as f64 / 1e9),
        out_of_order_delay_mean_s: delays.mean_s(),
        out_of_order_delay_p95_s: delays.quantile_s(0.95),
        fallback,
        ended: application.transfers.iter().all(|&number| view.transfers[number as usize].ended),
        transfers: repeats.then(|| application.done.clone()),
        subflows: tallies.iter().map(|tally| tally.row(arrived, window)).collect(),
    }
}

/// The part of the run in which something that started and became complete at these times was active and measured.
fn window(start_ns: u64, completion_ns: Option<u64>, warmup_ns: u64, end_ns: u64) -> Window {
    Window {
        from_ns: start_ns.max(warmup_ns),
        to_ns: completion_ns.map_or(end_ns, |completion_ns| completion_ns.min(end_ns)),
    }
}

/// What each subflow of a transfer has counted until `end_ns`, in the order they were opened.
pub fn tallies(transfer: &Transfer, probe: &Probe, view: &View, warmup_ns: u64, end_ns: u64) -> Vec<Tally> {
    let window = window(transfer.start_ns, transfer.completion_ns, warmup_ns, end_ns);
    let tally = |&number: &u32| Tally::of(number, transfer, &probe.kept(number), view, window);
    transfer.subflows.iter().map(tally).collect()
}

/// The receiving end, which knows how long bytes waited for those before them; any of its subflows leads to it.
pub fn receiver<'v>(transfer: &Transfer, view: &'v View) -> Option<&'v transport::Connection<Span>> {
    let side = transfer.receiver();
    let handle = transfer.subflows.iter().find_map(|&number| view.fabric.subflows[number as usize].handles[side])?;
    Some(view.hosts[side].connection(handle.connection))
}
