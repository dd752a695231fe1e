//! Converts what a polled kernel reports about a subflow to the counters of our own transport.

use application::Told;
use transport::Statistics;

use crate::linux::info::TcpInfo;

/// One end of a subflow as reported by the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// The last report, as counters of our own transport.
    pub statistics: Statistics,
    /// Whether the kernel counts timeouts.
    pub has_timeouts: bool,
    bytes_acked: u64,
}

impl Seen {
    /// Updates the counters with the report `tcp`.
    pub fn says(&mut self, now_ns: u64, tcp: TcpInfo) {
        let of = &mut self.statistics;
        let cwnd = f64::from(tcp.cwnd_segments);
        if of.established_ns == 0 {
            (of.established_ns, of.cwnd_integral_until_ns, of.cwnd_segments) = (now_ns.max(1), now_ns, cwnd);
        }
        let passed_ns = now_ns.saturating_sub(of.cwnd_integral_until_ns);
        of.cwnd_integral_segment_ns += (of.cwnd_segments + cwnd) / 2.0 * passed_ns as f64;
        of.cwnd_integral_until_ns = now_ns;
        (of.cwnd_segments, of.srtt_ns) = (cwnd, u64::from(tcp.srtt_us) * 1000);
        of.in_flight_segments = tcp.in_flight_segments;
        of.data_segments_sent = tcp.data_segments_sent.into();
        of.retransmissions = tcp.retransmissions.into();
        of.timeouts = tcp.timeouts.into();
        self.has_timeouts = tcp.has_timeouts;
        of.new_bytes_received = of.new_bytes_received.max(tcp.bytes_received);
        // Smoothed RTTs, weighted by the bytes acknowledged since the last report.
        let acked = tcp.bytes_acked.saturating_sub(self.bytes_acked);
        self.bytes_acked = tcp.bytes_acked;
        if tcp.srtt_us > 0 {
            of.rtt_samples += acked;
            of.rtt_sum_ns += u128::from(acked) * u128::from(of.srtt_ns);
        }
    }

    /// Which of a sender's counters the kernel reports: not reinjections, nor timeouts before Linux 6.7.
    pub fn told(&self) -> Told {
        Told { timeouts: self.has_timeouts, reinjections: false }
    }
}
