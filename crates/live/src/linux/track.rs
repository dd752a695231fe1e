//! What is kept of a subflow while it is looked at from time to time, and what that comes to.

use std::net::SocketAddr;

use super::info::{Subflow, TcpInfo};
use crate::emulator::FlowKey;
use crate::engine::outcome;

/// One subflow.
#[derive(Clone, Debug)]
pub struct Track {
    /// Its client's end, which tells it from all others.
    client: SocketAddr,
    /// The flow that carries its data.
    flow: FlowKey,
    pub path: usize,
    /// The sender as last seen.
    pub sender: TcpInfo,
    /// Bytes that have arrived by it, and how many before the end of the warm-up.
    pub received: u64,
    warm_received: u64,
    seen_ns: u64,
    cwnd_integral: f64,
    cwnd_ns: u64,
    /// Smoothed RTTs, each weighted by the bytes acknowledged while it was so.
    rtt_us_bytes: f64,
    rtt_bytes: u64,
}

impl Track {
    /// A subflow that its sender sees for the first time.
    pub fn new(seen: &Subflow, client: SocketAddr, path: usize, now_ns: u64) -> Track {
        let end = |address: SocketAddr| (address.ip(), address.port());
        Track {
            client,
            flow: FlowKey { source: end(seen.local), destination: end(seen.remote) },
            path,
            sender: TcpInfo::default(),
            received: 0,
            warm_received: 0,
            seen_ns: now_ns,
            cwnd_integral: 0.0,
            cwnd_ns: 0,
            rtt_us_bytes: 0.0,
            rtt_bytes: 0,
        }
    }

    /// Whether it is the one with this client's end.
    pub fn is_of(&self, client: SocketAddr) -> bool {
        self.client == client
    }

    /// The sender says this now.
    pub fn sender_says(&mut self, now_ns: u64, tcp: TcpInfo) {
        let before = std::mem::replace(&mut self.sender, tcp);
        let passed_ns = now_ns.saturating_sub(self.seen_ns);
        self.seen_ns = now_ns;
        let first = if before.cwnd_segments == 0 { tcp.cwnd_segments } else { before.cwnd_segments };
        self.cwnd_integral += f64::from(first + tcp.cwnd_segments) / 2.0 * passed_ns as f64;
        self.cwnd_ns += passed_ns;
        let acked = tcp.bytes_acked.saturating_sub(before.bytes_acked);
        if tcp.srtt_us > 0 {
            self.rtt_us_bytes += f64::from(tcp.srtt_us) * acked as f64;
            self.rtt_bytes += acked;
        }
    }

    /// Means and rates begin anew.
    pub fn warm_up_ends(&mut self) {
        self.warm_received = self.received;
        (self.cwnd_integral, self.cwnd_ns) = (0.0, 0);
        (self.rtt_us_bytes, self.rtt_bytes) = (0.0, 0);
    }
}

/// Counters of a subflow, or of all that an application opened over one path.
#[derive(Clone, Debug)]
pub struct Tally {
    pub path: usize,
    /// Bytes from start to end.
    pub all_bytes: u64,
    bytes: u64,
    segments_sent: u64,
    retransmissions: u64,
    timeouts: Option<u64>,
    cwnd_integral: f64,
    cwnd_ns: u64,
    rtt_us_bytes: f64,
    rtt_bytes: u64,
    flows: Vec<FlowKey>,
}

impl Tally {
    /// Nothing yet.
    pub fn empty(path: usize) -> Tally {
        Tally {
            path,
            all_bytes: 0,
            bytes: 0,
            segments_sent: 0,
            retransmissions: 0,
            timeouts: Some(0),
            cwnd_integral: 0.0,
            cwnd_ns: 0,
            rtt_us_bytes: 0.0,
            rtt_bytes: 0,
            flows: Vec::new(),
        }
    }

    /// Of one subflow.
    pub fn of(track: &Track) -> Tally {
        Tally {
            path: track.path,
            all_bytes: track.received,
            bytes: track.received - track.warm_received,
            segments_sent: track.sender.data_segments_sent.into(),
            retransmissions: track.sender.retransmissions.into(),
            timeouts: track.sender.has_timeouts.then(|| track.sender.timeouts.into()),
            cwnd_integral: track.cwnd_integral,
            cwnd_ns: track.cwnd_ns,
            rtt_us_bytes: track.rtt_us_bytes,
            rtt_bytes: track.rtt_bytes,
            flows: vec![track.flow],
        }
    }

    /// Adds another over the same path.
    pub fn add(&mut self, other: Tally) {
        self.all_bytes += other.all_bytes;
        self.bytes += other.bytes;
        self.segments_sent += other.segments_sent;
        self.retransmissions += other.retransmissions;
        self.timeouts = self.timeouts.zip(other.timeouts).map(|(one, two)| one + two);
        self.cwnd_integral += other.cwnd_integral;
        self.cwnd_ns += other.cwnd_ns;
        self.rtt_us_bytes += other.rtt_us_bytes;
        self.rtt_bytes += other.rtt_bytes;
        self.flows.extend(other.flows);
    }

    /// All so far belongs to the warm-up.
    pub fn warm_up_ends(&mut self) {
        self.bytes = 0;
        (self.cwnd_integral, self.cwnd_ns) = (0.0, 0);
        (self.rtt_us_bytes, self.rtt_bytes) = (0.0, 0);
        self.flows.clear();
    }

    /// Bytes since the warm-up.
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
            reinjections: None,
            loss_rate: part(lost as f64, sent as f64),
            rtt_mean_s: part(self.rtt_us_bytes * 1e-6, self.rtt_bytes as f64),
            cwnd_mean_segments: part(self.cwnd_integral, self.cwnd_ns as f64),
        }
    }
}
