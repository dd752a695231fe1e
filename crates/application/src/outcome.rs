//! Rows of a run's outcome, the same for every engine.

use serde::Serialize;

use crate::mark::Present;

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// Index into the scenario's connections.
    pub kind: usize,
    /// 0 to count − 1.
    pub index: u32,
    /// Start time.
    pub start_s: f64,
    /// In-order application bytes per second received after warm-up, while the connection was active.
    pub goodput_bps: Option<f64>,
    /// In-order application bytes received from start to end.
    pub bytes_delivered: u64,
    /// Time from the start to the arrival of the last byte; absent while data is outstanding.
    pub completion_s: Option<f64>,
    /// Time from the start to the acknowledgment of the last byte at the sender (the last DATA_ACK); absent while data
    /// is outstanding, if the sender does not report it, and for `requests` and `flows`.
    pub sender_completion_s: Option<f64>,
    /// Time from the start until the sender could write; absent for `requests` and `flows`.
    pub establishment_s: Option<f64>,
    /// Longest time without in-order data, from the first byte to the last, or to the end of the run if the transfer is
    /// not complete; absent for `requests` and `flows`.
    pub longest_silence_s: Option<f64>,
    /// Time from the first end of one of the connection's paths to the first reinjection on another path; absent if no
    /// path ended, if nothing was reinjected, if the sender does not report it, and for `requests` and `flows`.
    pub notice_s: Option<f64>,
    /// Mean over bytes of the time between a byte's arrival and its in-order delivery; absent if the receiver does not
    /// report it.
    pub out_of_order_delay_mean_s: Option<f64>,
    /// 95th percentile of that time.
    pub out_of_order_delay_p95_s: Option<f64>,
    /// Whether MPTCP fell back to TCP.
    pub fallback: bool,
    /// Whether the stream has ended or failed; for `requests` and `flows`, whether all present streams have.
    pub ended: bool,
    /// For applications with parts (requests, flows, pings, pages, video segments, FTP files): the parts that began
    /// after the warm-up.
    pub transfers: Option<Transfers>,
    /// For `video`: the quality of the playback.
    pub playback: Option<Playback>,
    /// Subflows in the order in which they were opened. Applications that open several connections have one entry per
    /// path, which sums all their subflows over it.
    pub subflows: Vec<Subflow>,
    /// Why the connection ended early, if the operating system reports it.
    pub failure: Option<String>,
}

/// Playback of a video, from the first request to the end of the video or of the run, whichever comes first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Playback {
    /// Time from the start to the first picture; absent if there was none.
    pub startup_s: Option<f64>,
    /// Number of stalls after the first picture.
    pub stalls: u64,
    /// Total duration of the stalls.
    pub stalled_s: f64,
    /// Mean bit rate of the segments received.
    pub bitrate_mean_bps: Option<f64>,
    /// Number of segments with a bit rate different from the previous one's.
    pub switches: u64,
}

/// Parts of an application. The columns list the completed parts, have equal length and are ordered by completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transfers {
    /// Number of parts begun.
    pub begun: u64,
    /// Start time of each part.
    pub start_s: Vec<f64>,
    /// Size of each part.
    pub size_bytes: Vec<u64>,
    /// Time from the part's start to the arrival of its last byte. A request or flow starts when its connection is
    /// opened.
    pub completion_s: Vec<f64>,
    /// Time from the part's start to the acknowledgment of its last byte at the sender; absent if that did not arrive
    /// or is not reported.
    pub sender_completion_s: Vec<Option<f64>>,
    /// The part's subflows in the order in which they were opened.
    pub subflows: Vec<Vec<SubflowShare>>,
}

/// What one subflow carried of one transfer, including during the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubflowShare {
    /// Index into the scenario's paths.
    pub path: usize,
    /// New application bytes that arrived on the subflow.
    pub bytes: u64,
    /// Data segments sent, including retransmissions.
    pub segments: u64,
    /// Times of its retransmission timeouts since the start of the run; absent if the sender does not report them.
    pub timeout_times_s: Option<Vec<f64>>,
}

/// One subflow. Counters are the data sender's; rates and losses exclude the warm-up. For a kernel's receiver, bytes
/// are those that arrived in order on the subflow, even if another subflow had delivered them before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subflow {
    /// Index into the scenario's paths.
    pub path: usize,
    /// New application bytes per second that arrived on this subflow.
    pub goodput_bps: Option<f64>,
    /// The subflow's share of the connection's bytes, in [0, 1].
    pub share: Option<f64>,
    /// Data segments sent, including retransmissions.
    pub segments_sent: u64,
    /// Retransmissions on the subflow.
    pub retransmissions: u64,
    /// Retransmission timeouts; absent if the sender does not report them.
    pub timeouts: Option<u64>,
    /// Time of each timeout since the start of the run; absent if the sender does not report them.
    pub timeout_times_s: Option<Vec<f64>>,
    /// Segments that carried data already sent on another subflow; absent if the sender does not report them.
    pub reinjections: Option<u64>,
    /// Data segments lost in the network divided by data segments sent.
    pub loss_rate: Option<f64>,
    /// Mean of the RTT samples.
    pub rtt_mean_s: Option<f64>,
    /// Time-weighted mean of the congestion window.
    pub cwnd_mean_segments: Option<f64>,
    /// Time that the connection's bytes waited, after their arrival, for data that this subflow sent for the first
    /// time; mean over all bytes of the connection. This and the next three, summed over all subflows, give the
    /// connection's out-of-order delay. Absent if not reported.
    pub waited_first_s: Option<f64>,
    /// Time waited for retransmitted data.
    pub waited_retransmission_s: Option<f64>,
    /// Time waited for data retransmitted after a timeout.
    pub waited_timeout_s: Option<f64>,
    /// Time waited for data that this subflow delivered after another subflow had sent it before.
    pub waited_reinjection_s: Option<f64>,
}

/// Samples of subflows, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubflowSamples {
    /// End of the sampling interval.
    pub time_s: Vec<f64>,
    /// Index into the outcome's connections.
    pub connection: Vec<u32>,
    /// Index into the connection's subflows.
    pub subflow: Vec<u32>,
    /// New application bytes that arrived on this subflow, per second of the interval.
    pub goodput_bps: Vec<f64>,
    /// Congestion window in segments.
    pub cwnd_segments: Vec<f64>,
    /// Smoothed RTT; NaN before the first sample.
    pub srtt_s: Vec<f64>,
    /// Segments in flight.
    pub in_flight_segments: Vec<u32>,
    /// Values that congestion controls report, by name; NaN for subflows with other congestion controls.
    pub own: Vec<(String, Vec<f64>)>,
}

impl SubflowSamples {
    /// Creates a table with one column for each distinct name in `names`, the values that congestion controls report.
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

    /// Fills in the values that the congestion control of the last sample reports, in the columns `names`.
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

    /// Adds the sample of the interval of length `sample_ns` that ends at `now_ns`, in which `bytes` arrived.
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
