//! Rows of the outcome of a run, which are the same whichever engine ran it.

use serde::Serialize;

use crate::mark::Present;

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// Index into the scenario's connections.
    pub kind: usize,
    /// 0 to count − 1.
    pub index: u32,
    /// When it started.
    pub start_s: f64,
    /// In-order application bytes per second received after warm-up, while the connection was active.
    pub goodput_bps: Option<f64>,
    /// In-order application bytes received from start to end.
    pub bytes_delivered: u64,
    /// From start to the arrival of the last byte; absent while there is more to come.
    pub completion_s: Option<f64>,
    /// From start to the acknowledgment of the last byte at the sender (the last DATA_ACK); absent while there is more to
    /// come, where the sender does not tell, and for `requests` and `flows`.
    pub sender_completion_s: Option<f64>,
    /// From start until the sender could write; absent for `requests` and `flows`.
    pub establishment_s: Option<f64>,
    /// The longest time in which nothing arrived in order, from the first byte to the last or, without one, the end of the
    /// run; absent for `requests` and `flows`.
    pub longest_silence_s: Option<f64>,
    /// From the first end of one of its paths to the first data sent again on another; absent where no path ended, nothing
    /// was sent again or the sender does not tell, and for `requests` and `flows`.
    pub notice_s: Option<f64>,
    /// Mean over bytes of the time between a byte's arrival and its in-order delivery; absent where the receiver does not
    /// tell.
    pub out_of_order_delay_mean_s: Option<f64>,
    /// Its 95th percentile.
    pub out_of_order_delay_p95_s: Option<f64>,
    /// Whether MPTCP fell back to TCP.
    pub fallback: bool,
    /// Whether its stream has come to its end or it has failed; of `requests` and `flows`, all those that are there.
    pub ended: bool,
    /// Of applications with parts (requests, flows, pings, pages, segments of a video, files by FTP): those begun after the
    /// warm-up.
    pub transfers: Option<Transfers>,
    /// Of `video`: how it was to watch.
    pub playback: Option<Playback>,
    /// Subflows in the order they were opened; of applications that open several connections one for each path, with all
    /// that crossed it.
    pub subflows: Vec<Subflow>,
    /// Why it ended before its time, where the operating system says so.
    pub failure: Option<String>,
}

/// How a video was to watch, from the first request to its end or, if it came first, that of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Playback {
    /// From the start to the first picture; absent if there was none.
    pub startup_s: Option<f64>,
    /// Number of stalls after that.
    pub stalls: u64,
    /// Total duration.
    pub stalled_s: f64,
    /// Mean bit rate of the segments that arrived.
    pub bitrate_mean_bps: Option<f64>,
    /// How often a segment had another bit rate than the one before.
    pub switches: u64,
}

/// Parts of an application; the columns, of equal length and ordered by completion, are those that became complete.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transfers {
    /// Number begun.
    pub begun: u64,
    /// When each began.
    pub start_s: Vec<f64>,
    /// Its size.
    pub size_bytes: Vec<u64>,
    /// From its start to the arrival of its last byte. A request or flow starts when its connection is opened.
    pub completion_s: Vec<f64>,
    /// From its start to the acknowledgment of its last byte at the sender; absent if that did not arrive or is not
    /// reported.
    pub sender_completion_s: Vec<Option<f64>>,
    /// Its subflows in the order they were opened.
    pub subflows: Vec<Vec<SubflowShare>>,
}

/// What one subflow did for one transfer, warm-up or not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubflowShare {
    /// Index into the scenario's paths.
    pub path: usize,
    /// New application bytes that arrived by it.
    pub bytes: u64,
    /// Data segments sent, retransmissions counted.
    pub segments: u64,
    /// Times of its retransmission timeouts since the run began; absent if the sender does not report them.
    pub timeout_times_s: Option<Vec<f64>>,
}

/// One subflow. Counters are of the data sender; rates and losses leave out the warm-up. Of a kernel's receiver, bytes are
/// those that arrived in order on the subflow, also when they had arrived by another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subflow {
    /// Index into the scenario's paths.
    pub path: usize,
    /// New application bytes per second that arrived by this subflow.
    pub goodput_bps: Option<f64>,
    /// Its part of the connection's bytes, in [0, 1].
    pub share: Option<f64>,
    /// Data segments sent, retransmissions counted.
    pub segments_sent: u64,
    /// Retransmissions on the subflow.
    pub retransmissions: u64,
    /// Retransmission timeouts; absent if the sender does not report them.
    pub timeouts: Option<u64>,
    /// Time of each since the run began; absent if the sender does not report them.
    pub timeout_times_s: Option<Vec<f64>>,
    /// Segments that carried data sent before on another subflow; absent if the sender does not report them.
    pub reinjections: Option<u64>,
    /// Data segments lost in the network over data segments sent.
    pub loss_rate: Option<f64>,
    /// Mean of the RTT samples.
    pub rtt_mean_s: Option<f64>,
    /// Time-weighted mean of the congestion window.
    pub cwnd_mean_segments: Option<f64>,
    /// What the connection's bytes waited, after they had arrived, for data that this subflow brought as new; mean over all
    /// bytes of the connection. With the next three, and over all subflows, they are its out-of-order delay. Absent where it
    /// is not told.
    pub waited_first_s: Option<f64>,
    /// For retransmitted data.
    pub waited_retransmission_s: Option<f64>,
    /// For data retransmitted after a timeout.
    pub waited_timeout_s: Option<f64>,
    /// For data that it delivered and that another subflow had sent before.
    pub waited_reinjection_s: Option<f64>,
}

/// Samples of subflows as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubflowSamples {
    /// End of the interval.
    pub time_s: Vec<f64>,
    /// Index into the outcome's connections.
    pub connection: Vec<u32>,
    /// Index into its subflows.
    pub subflow: Vec<u32>,
    /// New application bytes that arrived by this subflow, per second of the interval.
    pub goodput_bps: Vec<f64>,
    /// Congestion window in segments.
    pub cwnd_segments: Vec<f64>,
    /// Smoothed RTT; NaN before the first sample.
    pub srtt_s: Vec<f64>,
    /// Segments in flight.
    pub in_flight_segments: Vec<u32>,
    /// Values shown by congestion controls, by name; NaN for subflows of other controls.
    pub own: Vec<(String, Vec<f64>)>,
}

impl SubflowSamples {
    /// With a column for each of these names of congestion controls' own numbers; several may have one name.
    #[must_use]
    pub fn with_columns<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        let mut own: Vec<(String, Vec<f64>)> = Vec::new();
        for name in names {
            if !own.iter().any(|(known, _)| known == name) {
                own.push((name.clone(), Vec::new()));
            }
        }
        SubflowSamples { own, ..SubflowSamples::default() }
    }

    /// Fills in what the congestion control of the last sample shows of itself, in columns of these names.
    pub fn show(&mut self, names: &[String], write: impl FnOnce(&mut [f64])) {
        if names.is_empty() {
            return;
        }
        let mut values = vec![f64::NAN; names.len()];
        write(&mut values);
        for (name, value) in names.iter().zip(values) {
            let (_, column) = self.own.iter_mut().find(|(known, _)| known == name).expect("named at the beginning");
            *column.last_mut().expect("there is a sample") = value;
        }
    }

    /// Adds the sample of an interval of `sample_ns` that ends at `now_ns`, in which `bytes` arrived.
    pub fn push(&mut self, now_ns: u64, sample_ns: u64, [connection, subflow]: [usize; 2], bytes: u64, now: &Present) {
        self.time_s.push(now_ns as f64 / 1e9);
        self.connection.push(connection as u32);
        self.subflow.push(subflow as u32);
        self.goodput_bps.push(bytes as f64 * 8e9 / sample_ns as f64);
        self.cwnd_segments.push(now.cwnd_segments);
        self.srtt_s.push(now.srtt_s());
        self.in_flight_segments.push(now.in_flight_segments);
        self.own.iter_mut().for_each(|(_, column)| column.push(f64::NAN));
    }
}
