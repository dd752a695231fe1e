//! Where the counters of a subflow stand at a moment, and what is kept of them.

use transport::Statistics;

/// Where the counters of a subflow stood at some time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// The data sender's.
    pub sender: Statistics,
    /// Stream bytes that had arrived first by this subflow.
    pub bytes_received: u64,
    /// Integral of the congestion window, segments × ns, up to the time of the mark.
    pub cwnd_integral: f64,
}

impl Mark {
    /// At `now_ns`, as the subflow's two ends count; of an end that does not know it yet there is nothing.
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

/// What of a mark the summary leaves out: there are as many as subflows.
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

/// What is kept of a subflow from before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// Where it stood at the end of the warm-up; zeros when it came later.
    pub warm: Warm,
    /// Integral of its window when its transfer became complete.
    pub completed_cwnd: Option<f64>,
    /// Bytes that had arrived by it at the last sample.
    sampled_bytes: u64,
}

impl Kept {
    /// Bytes that arrived by the subflow since the last sample; this is one.
    pub fn sample(&mut self, mark: &Mark) -> u64 {
        mark.bytes_received - std::mem::replace(&mut self.sampled_bytes, mark.bytes_received)
    }
}

/// The present state of one subflow, or of several together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Present {
    /// Sum of the windows.
    pub cwnd_segments: f64,
    /// Sum of what is in flight.
    pub in_flight_segments: u32,
    /// Sum over those that have a smoothed RTT, and how many they are.
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

    /// The mean of their smoothed RTTs in seconds; not a number without one.
    pub fn srtt_s(&self) -> f64 {
        if self.measured == 0 { f64::NAN } else { self.srtt_ns as f64 / self.measured as f64 / 1e9 }
    }
}
