//! What a run in real time answers: rows as those of the simulator, with nothing where a host does not tell.

use serde::Serialize;
use simulator::outcome::{Link, LinkSamples, SubflowSamples, Transfers};

use crate::emulator::{FlowCount, FlowKey, Lateness, Report};

/// The outcome of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The few rows.
    pub summary: Summary,
    /// Samples of subflows, ordered by time.
    pub subflow_samples: SubflowSamples,
    /// Samples of links, ordered by time.
    pub link_samples: LinkSamples,
}

/// Rows, and how the emulation went.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Connections, in the scenario's order, `count` of each.
    pub connections: Vec<Connection>,
    /// Links in the scenario's order: down, then up.
    pub links: Vec<Link>,
    /// Data segments and their losses, flow by flow, those of programs that are not ours among them.
    pub flows: Vec<FlowCount>,
    /// How the emulation went.
    pub emulation: Emulation,
}

/// How true the emulation was.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Emulation {
    /// How late packets were handed over.
    pub lateness: Lateness,
    /// Packets that hosts sent.
    pub received: u64,
    /// Packets that no route was found for.
    pub unrouted: u64,
    /// Packets that a host did not take.
    pub refused: u64,
    /// CPU time of the emulator's thread in nanoseconds.
    pub cpu_ns: u64,
    /// Whether the thread was scheduled as real-time.
    pub real_time: bool,
}

impl From<&Report> for Emulation {
    fn from(report: &Report) -> Emulation {
        Emulation {
            lateness: report.lateness,
            received: report.received,
            unrouted: report.unrouted,
            refused: report.refused,
            cpu_ns: report.cpu_ns,
            real_time: report.real_time,
        }
    }
}

/// How many data segments of a flow were sent and lost since the warm-up.
pub(crate) fn sent_and_lost(report: &Report, key: &FlowKey) -> (u64, u64) {
    let flow = report.flows.iter().find(|flow| flow.key == *key);
    flow.map_or((0, 0), |flow| (flow.data_sent, flow.data_lost))
}

/// One connection; see [`simulator::outcome::Connection`].
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // as there
pub struct Connection {
    pub kind: usize,
    pub index: u32,
    pub start_s: f64,
    pub goodput_bps: Option<f64>,
    pub bytes_delivered: u64,
    pub completion_s: Option<f64>,
    pub out_of_order_delay_mean_s: Option<f64>,
    pub out_of_order_delay_p95_s: Option<f64>,
    pub fallback: bool,
    pub transfers: Option<Transfers>,
    pub subflows: Vec<Subflow>,
    /// Why it ended before its time, if it did.
    pub failure: Option<String>,
}

/// One subflow; see [`simulator::outcome::Subflow`]. Bytes are those that arrived in order on the subflow, also when they
/// had arrived by another.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // as there
pub struct Subflow {
    pub path: usize,
    pub goodput_bps: Option<f64>,
    pub share: Option<f64>,
    pub segments_sent: u64,
    pub retransmissions: u64,
    pub timeouts: Option<u64>,
    pub reinjections: Option<u64>,
    pub loss_rate: Option<f64>,
    pub rtt_mean_s: Option<f64>,
    pub cwnd_mean_segments: Option<f64>,
}
