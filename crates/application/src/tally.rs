//! Sums of subflow counters: for one subflow, or for all that an application opened over one path.

use transport::{Instant, Sending, WaitByteNs};

use crate::mark::{Kept, Mark};
use crate::outcome::{Subflow, SubflowShare};

/// The part of the run in which a transfer was active and measured.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Beginning of the window.
    pub from_ns: u64,
    /// End of the window.
    pub to_ns: u64,
}

impl Window {
    /// The window of a transfer with these start and completion times, in a run that ends at `end_ns`.
    pub fn of(start_ns: u64, completion_ns: Option<u64>, warmup_ns: u64, end_ns: u64) -> Window {
        Window {
            from_ns: start_ns.max(warmup_ns),
            to_ns: completion_ns.map_or(end_ns, |completion_ns| completion_ns.min(end_ns)),
        }
    }

    /// `amount` per second of the window; `None` if the window is empty.
    pub fn rate(self, amount: f64) -> Option<f64> {
        (self.to_ns > self.from_ns).then(|| amount * 1e9 / (self.to_ns - self.from_ns) as f64)
    }
}

/// `part` divided by `whole`; `None` if `whole` is zero.
pub fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Which counters a sender reports. A kernel does not report all.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Whether retransmission timeouts are reported.
    pub timeouts: bool,
    /// Whether reinjections are reported.
    pub reinjections: bool,
}

impl Told {
    /// All counters are reported.
    pub const ALL: Told = Told { timeouts: true, reinjections: true };
}

/// Counters of the data sender, and bytes that arrived. Fields marked "measured" exclude the warm-up. `F` names a flow
/// whose packet losses are counted in the network and known only at the end of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally<F = ()> {
    /// Index into the scenario's paths.
    pub path: u32,
    /// New bytes that arrived, from start to end.
    pub all_bytes: u64,
    /// New bytes that arrived, measured.
    bytes: u64,
    segments_sent: u64,
    retransmissions: u64,
    /// `None` if a sender did not report them.
    timeouts: Option<u64>,
    /// Times of the timeouts; `None` if a sender did not report them.
    timeout_times_ns: Option<Vec<u64>>,
    reinjections: Option<u64>,
    /// RTT samples, measured; the next field is their sum.
    rtt_samples: u64,
    rtt_sum_ns: u128,
    /// Integral of the congestion window (segments × ns), measured, and the time that it covers.
    cwnd_integral: f64,
    cwnd_ns: u64,
    /// Whether a subflow was ever established.
    established: bool,
    /// Time that the connection's bytes waited for data of this subflow, from start to end, by the reason for which the
    /// data was sent. `None` if not reported.
    waited: Option<WaitByteNs>,
    /// Data segments sent and lost, measured.
    data: [u64; 2],
    /// Flows whose data segments are added to `data`.
    flows: Vec<F>,
}

impl<F> Tally<F> {
    /// An empty tally for `path`.
    pub fn empty(path: u32) -> Tally<F> {
        Tally {
            path,
            all_bytes: 0,
            bytes: 0,
            segments_sent: 0,
            retransmissions: 0,
            timeouts: Some(0),
            timeout_times_ns: Some(Vec::new()),
            reinjections: Some(0),
            rtt_samples: 0,
            rtt_sum_ns: 0,
            cwnd_integral: 0.0,
            cwnd_ns: 0,
            established: false,
            waited: Some(WaitByteNs::default()),
            data: [0; 2],
            flows: Vec::new(),
        }
    }

    /// The counts of a subflow over `path` in `window`, at whose end its counters are `mark`.
    pub fn of(path: u32, mark: &Mark, kept: &Kept, told: Told, window: Window) -> Tally<F> {
        let (now, warm) = (&mark.sender, &kept.warm);
        let established = now.established_ns > 0;
        let from_ns = window.from_ns.max(now.established_ns);
        Tally {
            all_bytes: mark.bytes_received,
            bytes: mark.bytes_received - warm.bytes_received,
            segments_sent: now.data_segments_sent,
            retransmissions: now.retransmissions,
            timeouts: told.timeouts.then_some(now.timeouts),
            timeout_times_ns: None,
            reinjections: told.reinjections.then_some(now.reinjections),
            rtt_samples: now.rtt_samples - warm.rtt_samples,
            rtt_sum_ns: now.rtt_sum_ns - warm.rtt_sum_ns,
            cwnd_integral: kept.completed_cwnd.unwrap_or(mark.cwnd_integral) - warm.cwnd_integral,
            cwnd_ns: if established { window.to_ns.saturating_sub(from_ns) } else { 0 },
            established,
            waited: None,
            ..Tally::empty(path)
        }
    }

    /// Sets the numbers of data segments that the network saw and lost, without the warm-up.
    #[must_use]
    pub fn with_data(mut self, sent: u64, lost: u64) -> Tally<F> {
        self.data = [sent, lost];
        self
    }

    /// Sets the times of the timeouts.
    #[must_use]
    pub fn with_timeouts(mut self, times: &[Instant]) -> Tally<F> {
        self.timeout_times_ns = Some(times.iter().map(|at| at.as_nanos()).collect());
        self
    }

    /// Sets the time that bytes waited for this subflow.
    #[must_use]
    pub fn with_waited(mut self, waited: WaitByteNs) -> Tally<F> {
        self.waited = Some(waited);
        self
    }

    /// Adds a flow whose data segments count.
    #[must_use]
    pub fn with_flow(mut self, flow: Option<F>) -> Tally<F> {
        self.flows.extend(flow);
        self
    }

    /// Ends the warm-up: all counts so far belong to it.
    pub fn warm_up_ends(&mut self) {
        *self = Tally {
            all_bytes: self.all_bytes,
            segments_sent: self.segments_sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            timeout_times_ns: self.timeout_times_ns.take(),
            reinjections: self.reinjections,
            waited: self.waited,
            ..Tally::empty(self.path)
        };
    }

    /// Adds the counts of another subflow over the same path.
    pub fn add(&mut self, other: Tally<F>) {
        self.all_bytes += other.all_bytes;
        self.bytes += other.bytes;
        self.segments_sent += other.segments_sent;
        self.retransmissions += other.retransmissions;
        self.timeouts = self.timeouts.zip(other.timeouts).map(|(one, two)| one + two);
        self.timeout_times_ns = self.timeout_times_ns.take().zip(other.timeout_times_ns).map(|(mut one, two)| {
            one.extend(two);
            one.sort_unstable();
            one
        });
        self.reinjections = self.reinjections.zip(other.reinjections).map(|(one, two)| one + two);
        self.rtt_samples += other.rtt_samples;
        self.rtt_sum_ns += other.rtt_sum_ns;
        if other.cwnd_ns > 0 {
            self.cwnd_integral += other.cwnd_integral;
            self.cwnd_ns += other.cwnd_ns;
        }
        self.established |= other.established;
        self.waited = self.waited.zip(other.waited).map(|(one, two)| std::array::from_fn(|kind| one[kind] + two[kind]));
        self.data = [self.data[0] + other.data[0], self.data[1] + other.data[1]];
        self.flows.extend(other.flows);
    }

    /// Times of the timeouts in seconds.
    fn timeout_times_s(&self) -> Option<Vec<f64>> {
        let times_ns = self.timeout_times_ns.as_ref()?;
        Some(times_ns.iter().map(|&at_ns| at_ns as f64 / 1e9).collect())
    }

    /// What the subflow carried of its transfer.
    pub fn carried(&self) -> SubflowShare {
        SubflowShare {
            path: self.path as usize,
            bytes: self.all_bytes,
            segments: self.segments_sent,
            timeout_times_s: self.timeout_times_s(),
        }
    }

    /// New bytes that arrived after the warm-up.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The row of the outcome. `window` is the connection's, `arrived` the bytes that arrived on all its subflows,
    /// `delivered` the bytes delivered in order, including during the warm-up. `counted` returns the data segments of a
    /// flow that the network saw and lost after the warm-up.
    pub fn row(&self, arrived: u64, delivered: u64, window: Window, counted: impl Fn(&F) -> (u64, u64)) -> Subflow {
        let [data_sent, data_lost] =
            self.flows.iter().map(counted).fold(self.data, |sum, one| [sum[0] + one.0, sum[1] + one.1]);
        let rtt_mean_s = || self.rtt_sum_ns as f64 / self.rtt_samples as f64 / 1e9;
        let waited_s = |sending: Sending| {
            let waited = self.waited.filter(|_| delivered > 0)?;
            Some(waited[sending as usize] as f64 / delivered as f64 / 1e9)
        };
        Subflow {
            path: self.path as usize,
            goodput_bps: window.rate(self.bytes as f64 * 8.0),
            share: fraction(self.bytes, arrived),
            segments_sent: self.segments_sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            timeout_times_s: self.timeout_times_s(),
            reinjections: self.reinjections,
            loss_rate: fraction(data_lost, data_sent),
            rtt_mean_s: (self.rtt_samples > 0).then(rtt_mean_s),
            cwnd_mean_segments: (self.established && self.cwnd_ns > 0)
                .then(|| self.cwnd_integral / self.cwnd_ns as f64),
            waited_first_s: waited_s(Sending::First),
            waited_retransmission_s: waited_s(Sending::Retransmission),
            waited_timeout_s: waited_s(Sending::Timeout),
            waited_reinjection_s: waited_s(Sending::Reinjection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_all_and_rates_over_the_window() {
        let one = Tally {
            all_bytes: 900,
            bytes: 500,
            segments_sent: 10,
            rtt_samples: 1,
            rtt_sum_ns: 10_000_000,
            cwnd_integral: 10.0 * 4e9,
            cwnd_ns: 4_000_000_000,
            established: true,
            data: [10, 1],
            ..Tally::<u64>::empty(3)
        };
        let mut sum = one.clone();
        sum.add(Tally {
            rtt_samples: 3,
            rtt_sum_ns: 90_000_000,
            cwnd_integral: 40e9,
            cwnd_ns: 1_000_000_000,
            ..one.clone()
        });
        // A subflow that was never established has no congestion window.
        sum.add(Tally { established: false, cwnd_ns: 0, cwnd_integral: 0.0, data: [0, 0], ..one });
        let row = sum.row(3000, 3000, Window { from_ns: 0, to_ns: 10_000_000_000 }, |_| unreachable!());
        assert_eq!((row.path, row.segments_sent, row.goodput_bps, row.share), (3, 30, Some(1200.0), Some(0.5)));
        assert_eq!(row.loss_rate, Some(0.1));
        // (10 + 90 + 10) ms over 5 samples; (40 + 40) segment-seconds over 5 s.
        assert_eq!((row.rtt_mean_s, row.cwnd_mean_segments), (Some(0.022), Some(16.0)));
        assert_eq!(sum.all_bytes, 2700);
        // The end of the warm-up does not change the counters from start to end.
        sum.warm_up_ends();
        let row = sum.row(0, 0, Window { from_ns: 0, to_ns: 1 }, |_| unreachable!());
        assert_eq!((sum.all_bytes, row.segments_sent), (2700, 30));
        assert_eq!(
            (row.goodput_bps, row.rtt_mean_s, row.cwnd_mean_segments, row.loss_rate),
            (Some(0.0), None, None, None)
        );
    }

    #[test]
    fn what_one_sender_does_not_tell_the_sum_does_not_know() {
        let window = Window::of(0, Some(7), 2, 9);
        assert_eq!((window.from_ns, window.to_ns), (2, 7));
        let mut mark = Mark::default();
        (mark.sender.timeouts, mark.sender.reinjections) = (2, 3);
        let of = |told| Tally::<u64>::of(1, &mark, &Kept::default(), told, window);
        let mut sum = of(Told::ALL);
        sum.add(of(Told { timeouts: true, reinjections: false }));
        let row = sum.row(0, 0, window, |_| unreachable!());
        assert_eq!((row.timeouts, row.reinjections), (Some(4), None));
    }

    #[test]
    fn losses_of_flows_are_added_at_the_end() {
        let mut sum = Tally::empty(0).with_data(5, 0).with_flow(Some(7_u64));
        sum.add(Tally::empty(0).with_flow(Some(8)).with_flow(None));
        let row = |sum: &Tally<u64>| sum.row(0, 0, Window { from_ns: 0, to_ns: 1 }, |&flow| (10 * flow, flow - 7));
        assert_eq!(row(&sum).loss_rate, Some(1.0 / 155.0));
        sum.warm_up_ends();
        assert_eq!(row(&sum).loss_rate, None);
    }
}
