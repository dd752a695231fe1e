//! The outcome of a run in real time: rows like the simulator's, without the values that hosts do not report.

pub use application::outcome::Connection;
use application::outcome::SubflowSamples;
use scenario::outcome::{Link, LinkSamples};
use serde::Serialize;

use crate::emulator::{FlowCount, FlowKey, Quality, Report};

/// The outcome of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The rows of the tables.
    pub summary: Summary,
    /// Samples of subflows, ordered by time.
    pub subflow_samples: SubflowSamples,
    /// Samples of links, ordered by time.
    pub link_samples: LinkSamples,
}

/// The rows of the tables, and how the emulation went.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Connections in the scenario's order, `count` of each kind.
    pub connections: Vec<Connection>,
    /// Links in the scenario's order: down, then up.
    pub links: Vec<Link>,
    /// Data segments and their losses by flow, including flows of programs that are not ours.
    pub flows: Vec<FlowCount>,
    /// How the emulation went.
    pub emulation: Quality,
}

/// Data segments of a flow that were sent and lost after the warm-up.
pub(crate) fn sent_and_lost(report: &Report, key: &FlowKey) -> (u64, u64) {
    let flow = report.flows.iter().find(|flow| flow.key == *key);
    flow.map_or((0, 0), |flow| (flow.data_sent, flow.data_lost))
}
