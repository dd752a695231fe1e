//! Snapshots of a subflow's counters, and the parts of them that are kept.

use transport::Statistics;

/// The counters of a subflow at a point in time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// The data sender's counters.
    pub sender: Statistics,
    /// Stream bytes that arrived first on this subflow.
    pub bytes_received: u64,
    /// Integral of the congestion window (segments × ns) up to the time of the mark.
    pub cwnd_integral: f64,
}

impl Mark {
    /// Takes a mark at `now_ns` from the counters of both ends. An end that does not know the subflow yet counts as
    /// zero.
    pub fn at(now_ns: u64, sender: Option<Statistics>, receiver: Option<Statistics>) -> Mark {
        let sender = sender.unwrap_or_default();
        let extension_ns = now_ns.saturating_sub(sender.cwnd_integral_until_ns.max(sender.established_ns));
        let extension = if sender.established_ns > 0 { sender.cwnd_segments * extension_ns as f64 } else { 0.0 };
        Mark {
            sender,
            bytes_received: receiver.map_or(0, |receiver| receiver.new_bytes_received),
            cwnd_integral: sender.cwnd_integral_segment_ns + extension,
        }
    }
}

/// The part of a mark that summaries need. It is small because each subflow has one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Warm {
    pub(crate) rtt_sum_ns: u128,
    pub(crate) rtt_samples: u64,
    pub(crate) bytes_received: u64,
    pub(crate) cwnd_integral: f64,
}

impl From<&Mark> for Warm {
    fn from(mark: &Mark) -> Warm {
        let Mark { sender, bytes_received, cwnd_integral } = *mark;
        Warm { rtt_sum_ns: sender.rtt_sum_ns, rtt_samples: sender.rtt_samples, bytes_received, cwnd_integral }
    }
}

/// Earlier counters of a subflow that are kept for later differences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// Counters at the end of the warm-up; zeros if the subflow was opened later.
    pub warm: Warm,
    /// Integral of the congestion window at the completion of the transfer.
    pub completed_cwnd: Option<f64>,
    /// Bytes that had arrived on the subflow at the last sample.
    sampled_bytes: u64,
}

impl Kept {
    /// Returns the bytes that arrived on the subflow since the last sample, and makes `mark` the last sample.
    pub fn sample(&mut self, mark: &Mark) -> u64 {
        mark.bytes_received - std::mem::replace(&mut self.sampled_bytes, mark.bytes_received)
    }
}

/// The current state of one subflow, or the sum over several.
#[derive(Clone, Copy, Debug, Default)]
pub struct Present {
    /// Sum of the congestion windows.
    pub cwnd_segments: f64,
    /// Sum of the segments in flight.
    pub in_flight_segments: u32,
    /// Sum of the smoothed RTTs of the subflows that have one; `measured` is the number of these subflows.
    srtt_ns: u64,
    measured: u64,
}

impl Present {
    /// Adds a subflow.
    pub fn add(&mut self, mark: &Mark) {
        self.cwnd_segments += mark.sender.cwnd_segments;
        self.in_flight_segments += mark.sender.in_flight_segments;
        self.srtt_ns += mark.sender.srtt_ns;
        self.measured += u64::from(mark.sender.srtt_ns > 0);
    }

    /// Mean of the smoothed RTTs in seconds; NaN if no subflow has one.
    pub fn srtt_s(&self) -> f64 {
        if self.measured == 0 { f64::NAN } else { self.srtt_ns as f64 / self.measured as f64 / 1e9 }
    }
}
