//! What subflows have counted: one of them at a moment, or all that an application opened over one path.

use transport::Statistics;

use super::transfer::{Subflow, Transfer};
use crate::emulator::FlowKey;
use crate::engine::outcome;
use crate::stack::Driver;

/// Where the counters of a subflow stood at some time.
#[derive(Clone, Copy, Default)]
pub struct Mark {
    /// The data sender's.
    pub sender: Statistics,
    /// Stream bytes that had arrived first by it.
    pub bytes_received: u64,
    /// Integral of the congestion window up to the time of the mark, segments × ns.
    pub cwnd_integral: f64,
}

impl Mark {
    pub fn at(now_ns: u64, subflow: &Subflow, transfer: &Transfer, drivers: &[Driver; 2]) -> Mark {
        let statistics = |side: usize| {
            if let (None, Some(seen)) = (subflow.ids[side], subflow.kernel) {
                return Some(seen.statistics);
            }
            let (id, subflow) = (transfer.ids[side]?, subflow.ids[side]?);
            Some(drivers[side].connection(id).statistics(subflow))
        };
        let sender = statistics(transfer.sender).unwrap_or_default();
        let bytes_received = statistics(transfer.receiver()).map_or(0, |receiver| receiver.new_bytes_received);
        let extension_ns = now_ns.saturating_sub(sender.cwnd_integral_until_ns.max(sender.established_ns));
        let extension = if sender.established_ns > 0 { sender.cwnd_segments * extension_ns as f64 } else { 0.0 };
        Mark { sender, bytes_received, cwnd_integral: sender.cwnd_integral_segment_ns + extension }
    }
}

/// Counters; those "since" leave out the warm-up.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub path: usize,
    /// Bytes from start to end.
    pub all_bytes: u64,
    /// Since.
    bytes: u64,
    segments_sent: u64,
    retransmissions: u64,
    /// None when the sender does not tell.
    timeouts: Option<u64>,
    reinjections: Option<u64>,
    /// Since.
    rtt_samples: u64,
    rtt_sum_ns: u128,
    cwnd_integral: f64,
    cwnd_ns: u64,
    flows: Vec<FlowKey>,
}

impl Tally {
    pub fn empty(path: usize) -> Tally {
        Tally { path, timeouts: Some(0), reinjections: Some(0), ..Tally::default() }
    }

    /// What a subflow counted until `to_ns`, and since `from_ns`.
    pub fn of(subflow: &Subflow, transfer: &Transfer, drivers: &[Driver; 2], from_ns: u64, to_ns: u64) -> Tally {
        let mark = Mark::at(to_ns, subflow, transfer, drivers);
        let (now, warm) = (&mark.sender, &subflow.warm.sender);
        let from_ns = from_ns.max(now.established_ns);
        let established = now.established_ns > 0;
        let (tells_timeouts, tells_reinjections) = subflow.tells(transfer.sender);
        Tally {
            path: subflow.path,
            all_bytes: mark.bytes_received,
            bytes: mark.bytes_received - subflow.warm.bytes_received,
            segments_sent: now.data_segments_sent,
            retransmissions: now.retransmissions,
            timeouts: tells_timeouts.then_some(now.timeouts),
            reinjections: tells_reinjections.then_some(now.reinjections),
            rtt_samples: now.rtt_samples - warm.rtt_samples,
            rtt_sum_ns: now.rtt_sum_ns - warm.rtt_sum_ns,
            cwnd_integral: subflow.completed_cwnd.unwrap_or(mark.cwnd_integral) - subflow.warm.cwnd_integral,
            cwnd_ns: if established { to_ns.saturating_sub(from_ns) } else { 0 },
            flows: flow(subflow, transfer, drivers).into_iter().collect(),
        }
    }

    pub fn add(&mut self, other: Tally) {
        self.all_bytes += other.all_bytes;
        self.bytes += other.bytes;
        self.segments_sent += other.segments_sent;
        self.retransmissions += other.retransmissions;
        self.timeouts = self.timeouts.zip(other.timeouts).map(|(one, two)| one + two);
        self.reinjections = self.reinjections.zip(other.reinjections).map(|(one, two)| one + two);
        self.rtt_samples += other.rtt_samples;
        self.rtt_sum_ns += other.rtt_sum_ns;
        if other.cwnd_ns > 0 {
            self.cwnd_integral += other.cwnd_integral;
            self.cwnd_ns += other.cwnd_ns;
        }
        self.flows.extend(other.flows);
    }

    /// All so far belongs to the warm-up.
    pub fn warm_up_ends(&mut self) {
        self.bytes = 0;
        (self.rtt_samples, self.rtt_sum_ns) = (0, 0);
        (self.cwnd_integral, self.cwnd_ns) = (0.0, 0);
        self.flows.clear();
    }

    /// Bytes since.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The row of the outcome: `all` bytes arrived by all subflows in `window_ns`; `lost` tells of a flow how many data
    /// segments were sent and lost since the warm-up.
    pub fn row(&self, all: u64, window_ns: u64, lost: impl Fn(&FlowKey) -> (u64, u64)) -> outcome::Subflow {
        let (sent, lost) = self.flows.iter().map(lost).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let part = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        outcome::Subflow {
            path: self.path,
            goodput_bps: part(self.bytes as f64 * 8e9, window_ns as f64),
            share: part(self.bytes as f64, all as f64),
            segments_sent: self.segments_sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            reinjections: self.reinjections,
            loss_rate: part(lost as f64, sent as f64),
            rtt_mean_s: part(self.rtt_sum_ns as f64 / 1e9, self.rtt_samples as f64),
            cwnd_mean_segments: part(self.cwnd_integral, self.cwnd_ns as f64),
        }
    }
}

/// The flow that carries a subflow's data.
fn flow(subflow: &Subflow, transfer: &Transfer, drivers: &[Driver; 2]) -> Option<FlowKey> {
    let of = |side: usize| Some(drivers[side].connection(transfer.ids[side]?).tuple(subflow.ids[side]?));
    let end = |address: std::net::SocketAddr| (address.ip(), address.port());
    let (source, destination) = match of(transfer.sender) {
        Some(tuple) => (tuple.local, tuple.remote),
        None => of(transfer.receiver()).map(|tuple| (tuple.remote, tuple.local))?,
    };
    Some(FlowKey { source: end(source), destination: end(destination) })
}
