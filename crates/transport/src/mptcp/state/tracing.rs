//! What a traced connection remembers: what it has told, so that it tells what has changed.

use crate::offset::Offset;
use crate::scheduler::SubflowSet;
use crate::time::Instant;
use crate::trace::{Decided, Pause, ReinjectionReason, Timer, Trace, Verdict};

/// The timers of a subflow, in the order of [`Told::timers`].
pub const SUBFLOW_TIMERS: usize = 4;
/// Those of the connection.
pub const CONNECTION_TIMERS: [Timer; 3] = [Timer::DataRetransmission, Timer::WindowProbe, Timer::Scheduler];

/// Of a traced connection.
#[derive(Debug)]
pub struct Tracing {
    pub to: Box<dyn Trace>,
    pub subflows: Vec<Told>,
    pub timers: [Instant; CONNECTION_TIMERS.len()],
    pub data_una: Offset,
    pub pause: Option<Pause>,
    /// The last answer by which nothing was sent, and what stood against each subflow.
    pub refusal: Option<(Decided, Vec<Verdict>)>,
    /// What was queued to be sent on others: from, to and why; newer ones at the end.
    queued: Vec<(Offset, Offset, ReinjectionReason)>,
    /// The reinjection that goes out next.
    pub reinjects: SubflowSet,
}

/// Of a subflow.
#[derive(Debug)]
pub struct Told {
    pub state: &'static str,
    pub cwnd: f64,
    pub ssthresh: f64,
    pub recovering: bool,
    pub timeouts: u64,
    pub active: bool,
    pub suspected: bool,
    pub backup: bool,
    pub timers: [Instant; SUBFLOW_TIMERS],
    /// First sequence numbers of what counts as lost and was not sent again.
    pub lost: Vec<u64>,
    /// The segment that the tail loss probe repeated: sequence number, bytes and place in the stream.
    pub probe: (u64, u64, Offset),
}

impl Default for Told {
    fn default() -> Self {
        Told {
            state: "",
            cwnd: 0.0,
            ssthresh: f64::INFINITY,
            recovering: false,
            timeouts: 0,
            active: false,
            suspected: false,
            backup: false,
            timers: [Instant::NEVER; SUBFLOW_TIMERS],
            lost: Vec::new(),
            probe: (0, 0, Offset::FIRST),
        }
    }
}

impl Tracing {
    pub fn new(to: Box<dyn Trace>) -> Self {
        Tracing {
            to,
            subflows: Vec::new(),
            timers: [Instant::NEVER; CONNECTION_TIMERS.len()],
            data_una: Offset::FIRST,
            pause: None,
            refusal: None,
            queued: Vec::new(),
            reinjects: SubflowSet::default(),
        }
    }

    /// What was told of subflow `r`.
    pub fn told(&mut self, r: usize) -> &mut Told {
        if self.subflows.len() <= r {
            self.subflows.resize_with(r + 1, Told::default);
        }
        &mut self.subflows[r]
    }

    /// These bytes are to be sent on another subflow; what the peer has (below `una`) needs no reason.
    pub fn queue(&mut self, una: Offset, from: Offset, to: Offset, why: ReinjectionReason) {
        self.queued.retain(|&(_, end, _)| end > una);
        self.queued.push((from, to, why));
    }

    /// Why the byte at `at` is sent on another subflow; where nobody has queued it, the scheduler has asked for it.
    pub fn reason_for(&self, at: Offset) -> ReinjectionReason {
        let found = self.queued.iter().rev().find(|(from, to, _)| (*from..*to).contains(&at));
        found.map_or(ReinjectionReason::Scheduler, |&(_, _, why)| why)
    }
}
