//! From counters to rows and samples.

use super::application::Application;
use super::marks::{Mark, Tally};
use super::transfer::Transfer;
use super::world::World;
use crate::emulator::Report;
use crate::engine::outcome::{Connection, Emulation, Outcome, Summary, sent_and_lost};

/// What subflows come to at one moment, of one or of several together.
#[derive(Default)]
struct Now {
    cwnd_segments: f64,
    in_flight_segments: u32,
    srtt_ns: u64,
    measured: u64,
}

impl Now {
    fn add(&mut self, mark: &Mark) {
        self.cwnd_segments += mark.sender.cwnd_segments;
        self.in_flight_segments += mark.sender.in_flight_segments;
        self.srtt_ns += mark.sender.srtt_ns;
        self.measured += u64::from(mark.sender.srtt_ns > 0);
    }
}

impl World<'_> {
    /// One row for each subflow (of an application that repeats: each path) of a connection that was not complete before
    /// the interval that ends at `now_ns`.
    pub fn sample(&mut self, now_ns: u64) {
        let Some(sample_ns) = self.description.sample_ns else { return };
        for number in 0..self.applications.len() {
            let application = &self.applications[number];
            if self.completion_ns(application).is_some_and(|at_ns| at_ns < now_ns - sample_ns) {
                continue;
            }
            let rows = if application.repeats() {
                self.sample_paths(number, now_ns)
            } else {
                self.sample_subflows(number, now_ns)
            };
            for (subflow, (bytes, now)) in rows.into_iter().enumerate() {
                let samples = &mut self.samples;
                samples.time_s.push(now_ns as f64 / 1e9);
                samples.connection.push(number as u32);
                samples.subflow.push(subflow as u32);
                samples.goodput_bps.push(bytes as f64 * 8e9 / sample_ns as f64);
                samples.cwnd_segments.push(now.cwnd_segments);
                let srtt_s = now.srtt_ns as f64 / now.measured as f64 / 1e9;
                samples.srtt_s.push(if now.measured == 0 { f64::NAN } else { srtt_s });
                samples.in_flight_segments.push(now.in_flight_segments);
            }
        }
    }

    fn sample_subflows(&mut self, number: usize, now_ns: u64) -> Vec<(u64, Now)> {
        let Some(&place) = self.applications[number].transfers.first() else { return Vec::new() };
        let Some(mut transfer) = self.transfers[place].take() else { return Vec::new() };
        let rows = (0..transfer.subflows.len())
            .map(|each| {
                let mark = Mark::at(now_ns, &transfer.subflows[each], &transfer, &self.drivers);
                let sampled = &mut transfer.subflows[each].sampled_bytes;
                let bytes = mark.bytes_received - std::mem::replace(sampled, mark.bytes_received);
                let mut now = Now::default();
                now.add(&mark);
                (bytes, now)
            })
            .collect();
        self.transfers[place] = Some(transfer);
        rows
    }

    fn sample_paths(&mut self, number: usize, now_ns: u64) -> Vec<(u64, Now)> {
        let application = &self.applications[number];
        let mut rows: Vec<(usize, u64, Now)> =
            application.tallies.iter().map(|tally| (tally.path, tally.all_bytes, Now::default())).collect();
        for transfer in application.transfers.iter().filter_map(|&place| self.transfers[place].as_ref()) {
            for subflow in &transfer.subflows {
                let mark = Mark::at(now_ns, subflow, transfer, &self.drivers);
                let place = rows.iter().position(|row| row.0 == subflow.path).unwrap_or_else(|| {
                    rows.push((subflow.path, 0, Now::default()));
                    rows.len() - 1
                });
                rows[place].1 += mark.bytes_received;
                if transfer.completion_ns.is_none() {
                    rows[place].2.add(&mark);
                }
            }
        }
        let application = &mut self.applications[number];
        // Places are given on first sight, and stay.
        for row in &rows[application.tallies.len()..] {
            application.tallies.push(Tally::empty(row.0));
        }
        application.sampled.resize(rows.len(), 0);
        rows.into_iter()
            .zip(&mut application.sampled)
            .map(|((_, bytes, now), sampled)| (bytes.saturating_sub(std::mem::replace(sampled, bytes)), now))
            .collect()
    }

    /// When the last byte arrived, if there is nothing more to come.
    fn completion_ns(&self, application: &Application) -> Option<u64> {
        let own = || application.transfers.iter().filter_map(|&place| self.transfers[place].as_ref());
        if !application.repeats() {
            return own().next()?.completion_ns;
        }
        let over = application.stopped && own().all(|transfer| transfer.ended);
        over.then(|| own().map(|transfer| transfer.last_read_ns).fold(application.last_read_ns, u64::max))
    }

    /// The outcome, at the end of the run.
    pub fn into_outcome(mut self, report: Report) -> Outcome {
        let connections = (0..self.applications.len()).map(|number| self.connection(number, &report)).collect();
        let emulation = Emulation::from(&report);
        Outcome {
            summary: Summary { connections, links: report.links, flows: report.flows, emulation },
            subflow_samples: std::mem::take(&mut self.samples),
            link_samples: report.link_samples,
        }
    }

    fn connection(&self, number: usize, report: &Report) -> Connection {
        let application = &self.applications[number];
        let completion_ns = self.completion_ns(application);
        let repeats = application.repeats();
        let mut tallies = application.tallies.clone();
        let mut delays = application.delays.clone();
        let (mut bytes_read, mut warm_bytes) = (application.bytes_read, application.warm_bytes);
        let mut fallback = application.fallback;
        for transfer in application.transfers.iter().filter_map(|&place| self.transfers[place].as_ref()) {
            bytes_read += transfer.bytes_read;
            warm_bytes += transfer.warm_bytes;
            for tally in self.tallies(transfer, self.end_ns) {
                match tallies.iter_mut().find(|known| repeats && known.path == tally.path) {
                    Some(known) => known.add(tally),
                    None => tallies.push(tally),
                }
            }
            fallback |= transfer.fallback;
            if let Some(receiver) = self.receiver(transfer) {
                delays.merge(receiver.out_of_order_delays());
                fallback |= receiver.is_fallback();
            }
        }
        let from_ns = application.start_ns.max(self.description.warmup_ns);
        let to_ns = completion_ns.unwrap_or(self.end_ns).min(self.end_ns);
        let window_ns = to_ns.saturating_sub(from_ns);
        let arrived = tallies.iter().map(Tally::bytes).sum();
        let counts = |key: &_| sent_and_lost(report, key);
        Connection {
            kind: application.kind,
            index: application.index,
            start_s: application.start_ns as f64 / 1e9,
            goodput_bps: (window_ns > 0).then(|| (bytes_read - warm_bytes) as f64 * 8e9 / window_ns as f64),
            bytes_delivered: bytes_read,
            completion_s: completion_ns.map(|at_ns| at_ns.saturating_sub(application.start_ns) as f64 / 1e9),
            out_of_order_delay_mean_s: delays.mean_s(),
            out_of_order_delay_p95_s: delays.quantile_s(0.95),
            fallback,
            transfers: repeats.then(|| application.done.clone()),
            subflows: tallies.iter().map(|tally| tally.row(arrived, window_ns, counts)).collect(),
            failure: None,
        }
    }

    fn receiver(&self, transfer: &Transfer) -> Option<&transport::Connection<crate::stack::Chunk>> {
        let side = transfer.receiver();
        Some(self.drivers[side].connection(transfer.ids[side]?))
    }
}
