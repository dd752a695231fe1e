//! Computes rows and samples from counters.

use application::outcome::Connection;
use application::{Present, Stream};

use super::hosts::StackHosts;
use super::transfer::Transfer;
use crate::emulator::Report;
use crate::engine::outcome::{Outcome, Summary, sent_and_lost};
use transport::Instant;

impl StackHosts<'_> {
    /// Adds one row for each subflow (or path, if the application repeats) of a connection that was not complete before
    /// the interval that ends at `now_ns`.
    pub fn sample(&mut self, now_ns: u64) {
        let Some(sample_ns) = self.description.sample_ns else { return };
        let StackHosts { runtime, transfers, drivers, samples, configs, .. } = self;
        for (number, application) in runtime.applications.iter_mut().enumerate() {
            let completion_ns = application.completion_ns(|place| stream(transfers, place));
            if completion_ns.is_some_and(|at_ns| at_ns < now_ns - sample_ns) {
                continue;
            }
            let own = application.transfers.iter().filter_map(|&place| transfers[place as usize].as_ref());
            let marks = own.flat_map(|transfer| {
                let complete = transfer.stream.completion_ns.is_some();
                let mark = |each: &super::transfer::Subflow| each.mark(now_ns, transfer, drivers);
                transfer.subflows.iter().map(move |each| (each.path as u32, mark(each), complete))
            });
            if application.content.repeats() {
                let rows = application.record.sample_paths(marks).into_iter().enumerate();
                rows.for_each(|(path, (bytes, now))| samples.push(now_ns, sample_ns, [number, path], bytes, &now));
                continue;
            }
            let marks: Vec<_> = marks.collect();
            let own = application.transfers.first().and_then(|&place| transfers[place as usize].as_mut());
            let Some(Transfer { ids, subflows, .. }) = own else { continue };
            let side = application.sender;
            let columns = configs[application.kind as usize][side].congestion.columns();
            for (place, (subflow, (_, mark, _))) in subflows.iter_mut().zip(marks).enumerate() {
                let mut now = Present::default();
                now.add(&mark);
                let bytes = subflow.kept.sample(&mark);
                samples.push(now_ns, sample_ns, [number, place], bytes, &now);
                if let (Some(connection), Some(id)) = (ids[side], subflow.ids[side]) {
                    let connection = drivers[side].connection(connection);
                    samples.show(columns, |columns| connection.show(id, Instant::from_nanos(now_ns), columns));
                }
            }
        }
    }

    /// The outcome at the end of the run.
    pub fn into_outcome(mut self, report: Report) -> Outcome {
        for transfer in self.transfers.iter_mut().flatten().filter(|each| each.stream.path_end_ns.is_some()) {
            let side = transfer.stream.sender;
            let sender = transfer.ids[side].map(|id| self.drivers[side].connection(id));
            let noticed = sender.and_then(transport::Connection::first_reinjection_at);
            transfer.stream.noticed_ns = noticed.map(Instant::as_nanos);
        }
        let connections = (0..self.runtime.applications.len()).map(|number| self.connection(number, &report)).collect();
        let emulation = report.quality;
        Outcome {
            summary: Summary { connections, links: report.links, flows: report.flows, emulation },
            subflow_samples: std::mem::take(&mut self.samples),
            link_samples: report.link_samples,
        }
    }

    fn connection(&self, number: usize, report: &Report) -> Connection {
        let application = &self.runtime.applications[number];
        let mut record = application.record.clone();
        for transfer in application.transfers.iter().filter_map(|&place| self.transfers[place as usize].as_ref()) {
            let receiver = self.receiver(transfer);
            let told = receiver.map(|receiver| (receiver.out_of_order_delays(), receiver.is_fallback()));
            record.add(&transfer.stream, self.tallies(transfer, self.end_ns), told);
            record.fallback |= transfer.fallback;
        }
        let run_ns = (self.description.warmup_ns, self.end_ns);
        let counts = |key: &_| sent_and_lost(report, key);
        application.row(record, |place| stream(&self.transfers, place), run_ns, counts)
    }

    pub fn receiver(&self, transfer: &Transfer) -> Option<&transport::Connection<crate::stack::Chunk>> {
        let side = transfer.stream.receiver();
        Some(self.drivers[side].connection(transfer.ids[side]?))
    }
}

/// The stream of a transfer that was not removed.
fn stream(transfers: &[Option<Transfer>], place: u32) -> &Stream {
    let transfer = transfers[place as usize].as_ref();
    &transfer.unwrap_or_else(|| panic!("transfer {place} has left its application and is still asked for")).stream
}
