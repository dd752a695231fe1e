//! Computes the outcome of a run from counters.

use crate::probe::{Probe, View};
use crate::transfer::Transfer;
use application::{Tally, Told, Window};
use scenario::outcome::{Connection, Outcome, Work};
use transport::{Instant, WaitByteNs};
use wire::Span;

/// The outcome at `end_ns`, after `events` events.
pub fn outcome(probe: Probe, mut view: View, warmup_ns: u64, end_ns: u64, events: u64) -> Outcome {
    note_reinjections(&mut view);
    let connections =
        (0..view.applications.len()).map(|number| connection(number, &probe, &view, warmup_ns, end_ns)).collect();
    let (links, link_samples) = probe.links.finish(warmup_ns, end_ns, &mut view.fabric.links);
    let work =
        Work { packet_hops: view.fabric.packet_hops, segments_delivered: view.fabric.segments_delivered, events };
    Outcome { connections, links, subflow_samples: probe.subflow_samples, link_samples, work }
}

/// Asks the senders when they first reinjected data after the end of a path.
fn note_reinjections(view: &mut View) {
    let ended = |transfer: &&mut Transfer| transfer.stream.path_end_ns.is_some();
    for transfer in view.transfers.iter_mut().filter(ended) {
        let side = transfer.stream.sender;
        let handle = transfer.subflows.iter().find_map(|&number| view.fabric.subflows[number as usize].handles[side]);
        let noticed = handle.and_then(|handle| view.hosts[side].connection(handle.connection).first_reinjection_at());
        transfer.stream.noticed_ns = noticed.map(Instant::as_nanos);
    }
}

fn connection(number: usize, probe: &Probe, view: &View, warmup_ns: u64, end_ns: u64) -> Connection {
    let application = &view.applications[number];
    let mut record = application.record.clone();
    for transfer in application.transfers.iter().map(|&number| &view.transfers[number as usize]) {
        let tallies = tallies(transfer, probe, view, warmup_ns, end_ns);
        let receiver = receiver(transfer, view);
        debug_assert!(receiver.is_none_or(all_waiting_is_put_down), "what bytes waited is not what was put down");
        record.add(
            &transfer.stream,
            tallies,
            receiver.map(|receiver| (receiver.out_of_order_delays(), receiver.is_fallback())),
        );
    }
    let stream = |number: u32| &view.transfers[number as usize].stream;
    application.row(record, stream, (warmup_ns, end_ns), |()| (0, 0))
}

/// Whether the waiting times of all subflows add up to the total waiting time of the bytes.
fn all_waiting_is_put_down(receiver: &transport::Connection<Span>) -> bool {
    let subflows = (0..receiver.subflow_count()).map(|r| transport::SubflowId(r as u8));
    let put_down: u128 = subflows.flat_map(|r| receiver.waited(r)).sum();
    put_down == receiver.out_of_order_delays().totals().1
}

/// The counts of each subflow of a transfer until `end_ns`, in the order in which the subflows were opened.
pub fn tallies(transfer: &Transfer, probe: &Probe, view: &View, warmup_ns: u64, end_ns: u64) -> Vec<Tally> {
    let stream = &transfer.stream;
    let window = Window::of(stream.start_ns, stream.last_ns(), warmup_ns, end_ns);
    let tally = |&number: &u32| {
        // The flow away from the sender carries the data: up (even) from the client, down (odd) from the server.
        let data = &view.fabric.flows[2 * number as usize + stream.sender];
        let mark = view.mark(window.to_ns, number, transfer);
        let path = view.fabric.subflows[number as usize].path;
        let receiver = view.fabric.subflows[number as usize].handles[stream.receiver()];
        let sender = view.fabric.subflows[number as usize].handles[stream.sender];
        let timeouts = sender.map_or(&[][..], |handle| {
            view.hosts[stream.sender].connection(handle.connection).timeout_times(handle.subflow)
        });
        Tally::of(path, &mark, &probe.kept(number), Told::ALL, window)
            .with_data(data.data_sent, data.data_lost)
            .with_timeouts(timeouts)
            .with_waited(receiver.map_or(WaitByteNs::default(), |handle| {
                view.hosts[stream.receiver()].connection(handle.connection).waited(handle.subflow)
            }))
    };
    transfer.subflows.iter().map(tally).collect()
}

/// The receiving end, which knows how long bytes waited for earlier ones. Any of its subflows leads to it.
pub fn receiver<'v>(transfer: &Transfer, view: &'v View) -> Option<&'v transport::Connection<Span>> {
    let side = transfer.stream.receiver();
    let handle = transfer.subflows.iter().find_map(|&number| view.fabric.subflows[number as usize].handles[side])?;
    Some(view.hosts[side].connection(handle.connection))
}
