//! What subflows have counted: of one subflow, or of all that an application opened over one path.

use crate::outcome::Subflow;
use crate::probe::{Kept, SubflowMark, View};
use crate::transfer::Transfer;

/// The part of the run in which something was active and measured.
#[derive(Clone, Copy)]
pub struct Window {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Window {
    /// Per second of the window; `None` when it has no length.
    pub fn rate(self, amount: f64) -> Option<f64> {
        (self.to_ns > self.from_ns).then(|| amount * 1e9 / (self.to_ns - self.from_ns) as f64)
    }
}

/// `part` of `whole`; `None` when there is nothing to take a part of.
pub fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Counters of the data sender and bytes that arrived. Those "since" leave out the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Index into the description's paths.
    pub path: u32,
    /// New bytes that arrived, from start to end.
    pub all_bytes: u64,
    /// New bytes that arrived, since.
    bytes: u64,
    segments_sent: u64,
    retransmissions: u64,
    timeouts: u64,
    reinjections: u64,
    /// Since.
    rtt_samples: u64,
    rtt_sum_ns: u128,
    /// Integral of the window since, segments × ns, and the time that it covers.
    cwnd_integral: f64,
    cwnd_ns: u64,
    /// Whether a subflow was ever established.
    established: bool,
    /// Data segments sent and lost since.
    data: [u64; 2],
}

impl Tally {
    /// Nothing yet over `path`.
    pub fn empty(path: u32) -> Tally {
        Tally { path, ..Tally::default() }
    }

    /// What subflow `number` of `transfer` counted in `window`.
    pub fn of(number: u32, transfer: &Transfer, kept: &Kept, view: &View, window: Window) -> Tally {
        let mark = SubflowMark::at(window.to_ns, number, transfer, view);
        let (now, warm) = (&mark.sender, &kept.warm.sender);
        // The flow that leads away from the sender carries the data: up (even) from the client, down (odd) from the server.
        let data = &view.fabric.flows[2 * number as usize + transfer.sender];
        let established = now.established_ns > 0;
        let from_ns = window.from_ns.max(now.established_ns);
        Tally {
            path: view.fabric.subflows[number as usize].path,
            all_bytes: mark.bytes_received,
            bytes: mark.bytes_received - kept.warm.bytes_received,
            segments_sent: now.data_segments_sent,
            retransmissions: now.retransmissions,
            timeouts: now.timeouts,
            reinjections: now.reinjections,
            rtt_samples: now.rtt_samples - warm.rtt_samples,
            rtt_sum_ns: now.rtt_sum_ns - warm.rtt_sum_ns,
            cwnd_integral: kept.completed_cwnd.unwrap_or(mark.cwnd_integral) - kept.warm.cwnd_integral,
            cwnd_ns: if established { window.to_ns.saturating_sub(from_ns) } else { 0 },
            established,
            data: [data.data_sent, data.data_lost],
        }
    }

    /// All that was counted so far belongs to the warm-up.
    pub fn warm_up_ends(&mut self) {
        *self = Tally {
            path: self.path,
            all_bytes: self.all_bytes,
            segments_sent: self.segments_sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            reinjections: self.reinjections,
            ..Tally::default()
        };
    }

    /// Adds what another subflow over the same path counted.
    pub fn add(&mut self, other: &Tally) {
        self.all_bytes += other.all_bytes;
        self.bytes += other.bytes;
        self.segments_sent += other.segments_sent;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.reinjections += other.reinjections;
        self.rtt_samples += other.rtt_samples;
        self.rtt_sum_ns += other.rtt_sum_ns;
        if other.cwnd_ns > 0 {
            self.cwnd_integral += other.cwnd_integral;
            self.cwnd_ns += other.cwnd_ns;
        }
        self.established |= other.established;
        self.data = [self.data[0] + other.data[0], self.data[1] + other.data[1]];
    }

    /// New bytes that arrived since the warm-up.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The row of the outcome. `window` is that of the connection, and `arrived` what arrived by all of its subflows.
    pub fn row(&self, arrived: u64, window: Window) -> Subflow {
        let [data_sent, data_lost] = self.data;
        let rtt_mean_s = || self.rtt_sum_ns as f64 / self.rtt_samples as f64 / 1e9;
        Subflow {
            path: self.path as usize,
            goodput_bps: window.rate(self.bytes as f64 * 8.0),
            share: fraction(self.bytes, arrived),
            segments_sent: self.segments_sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            reinjections: self.reinjections,
            loss_rate: fraction(data_lost, data_sent),
            rtt_mean_s: (self.rtt_samples > 0).then(rtt_mean_s),
            cwnd_mean_segments: (self.established && self.cwnd_ns > 0)
                .then(|| self.cwnd_integral / self.cwnd_ns as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_all_and_rates_over_the_window() {
        let one = Tally {
            path: 3,
            all_bytes: 900,
            bytes: 500,
            segments_sent: 10,
            rtt_samples: 1,
            rtt_sum_ns: 10_000_000,
            cwnd_integral: 10.0 * 4e9,
            cwnd_ns: 4_000_000_000,
            established: true,
            data: [10, 1],
            ..Tally::default()
        };
        let mut sum = one;
        sum.add(&Tally { rtt_samples: 3, rtt_sum_ns: 90_000_000, cwnd_integral: 40e9, cwnd_ns: 1_000_000_000, ..one });
        // A subflow that never stood has no window.
        sum.add(&Tally { established: false, cwnd_ns: 0, cwnd_integral: 0.0, data: [0, 0], ..one });
        let row = sum.row(3000, Window { from_ns: 0, to_ns: 10_000_000_000 });
        assert_eq!((row.path, row.segments_sent, row.goodput_bps, row.share), (3, 30, Some(1200.0), Some(0.5)));
        assert_eq!(row.loss_rate, Some(0.1));
        // (10 + 90 + 10) ms over 5 samples; (40 + 40) segment seconds over 5 s.
        assert_eq!((row.rtt_mean_s, row.cwnd_mean_segments), (Some(0.022), Some(16.0)));
        assert_eq!(sum.all_bytes, 2700);
        // The warm-up leaves the counters from start to end as they are.
        sum.warm_up_ends();
        let row = sum.row(0, Window { from_ns: 0, to_ns: 1 });
        assert_eq!((sum.all_bytes, row.segments_sent), (2700, 30));
        assert_eq!(
            (row.goodput_bps, row.rtt_mean_s, row.cwnd_mean_segments, row.loss_rate),
            (Some(0.0), None, None, None)
        );
    }
}
