//! Packet schedulers: which subflow carries the next segment. One algorithm a file; a scheduler only chooses, the
//! transport acts.

mod blest;
pub mod conformance;
mod context;
mod dmptcp;
mod ecf;
mod linux;
mod min_rtt;
mod round_robin;
mod rounds;

pub use blest::Blest;
pub use context::{Context, Counters, Lookup};
pub use dmptcp::Dmptcp;
pub use ecf::Ecf;
pub use linux::Linux;
pub(crate) use linux::{Linger, SendBuffer, buffer_limit, memory};
pub use min_rtt::MinRtt;
pub use round_robin::RoundRobin;

use crate::congestion::View;
use crate::plugin::{Factory, Origin};

/// A set of subflows, by id: below [`SUBFLOW_LIMIT`](crate::SUBFLOW_LIMIT).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SubflowSet(pub u64);

impl SubflowSet {
    /// The set of one.
    #[must_use]
    pub fn one(subflow: usize) -> Self {
        SubflowSet(1 << subflow)
    }

    /// Whether it holds the subflow.
    #[must_use]
    pub fn contains(self, subflow: usize) -> bool {
        self.0 & (1 << subflow) != 0
    }

    /// Adds a subflow.
    pub fn insert(&mut self, subflow: usize) {
        self.0 |= 1 << subflow;
    }

    /// Takes a subflow out.
    pub fn remove(&mut self, subflow: usize) {
        self.0 &= !(1 << subflow);
    }

    /// Takes out and answers the smallest id.
    pub fn pop(&mut self) -> Option<usize> {
        (self.0 != 0).then(|| {
            let subflow = self.0.trailing_zeros() as usize;
            self.0 &= self.0 - 1;
            subflow
        })
    }
}

/// What there is to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Data never sent before.
    New,
    /// Data sent before, whose subflow failed or is late.
    Reinjection {
        /// The subflows that carried it.
        tried: SubflowSet,
    },
}

/// A scheduler's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Send the next segment on each subflow of the set, and up to `burst` segments before asking again.
    Send {
        /// Where; not empty, each usable.
        on: SubflowSet,
        /// Segments.
        burst: u32,
    },
    /// Better to wait for a subflow that is full now; ask again at the next event, or at this time.
    Wait {
        /// `u64::MAX`: only at the next event.
        until_ns: u64,
    },
    /// No subflow can take anything.
    Blocked,
}

/// A packet scheduler.
pub trait PacketScheduler: std::fmt::Debug + Send {
    /// Its name as in `mptcplab list schedulers`.
    fn name(&self) -> &'static str;

    /// Chooses; `group[r]` is the subflow with id r. Called for each segment (or burst), so it must be quick.
    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision;
}

/// Whether a subflow can take a segment now: established, not suspected dead, with room in its window.
#[must_use]
pub fn usable(view: &View) -> bool {
    view.active && !view.potentially_failed && view.has_room()
}

/// Which scheduler a connection gets.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Smallest RTT first.
    MinRtt,
    /// Smallest RTT first, with opportunistic retransmission and penalisation (Raiciu 2012).
    MinRttOrp,
    /// In turn.
    RoundRobin {
        /// Segments a turn.
        segments: u32,
        /// Skip a subflow whose window is full; else wait for it.
        cwnd_limited: bool,
    },
    /// Everything on every subflow.
    Redundant,
    /// Blocking estimation.
    Blest {
        /// Count the fast subflow's doubling rounds of slow start; without, as if it always grew by one.
        slow_start: bool,
    },
    /// Earliest completion first.
    Ecf {
        /// As in its authors' kernel code.
        linux: bool,
    },
    /// As many paths as the rest of the flow is worth.
    Dmptcp,
    /// The least lingering subflow.
    Linux,
    /// One from outside: see [`Choice::custom`].
    Custom(Factory<dyn PacketScheduler>),
}

/// A scheduler: built-in, or from outside by its box.
#[derive(Debug)]
pub enum Scheduler {
    /// Smallest RTT first.
    MinRtt(MinRtt),
    /// In turn.
    RoundRobin(RoundRobin),
    /// Blocking estimation.
    Blest(Blest),
    /// Earliest completion first.
    Ecf(Ecf),
    /// As many paths as the rest of the flow is worth.
    Dmptcp(Dmptcp),
    /// The least lingering subflow.
    Linux(Linux),
    /// From outside.
    Custom(Box<dyn PacketScheduler>),
}

impl Choice {
    /// One from outside: `make` is called for each connection, and may capture. Messages call it by `name`.
    pub fn custom(name: &str, make: impl Fn(&Origin) -> Box<dyn PacketScheduler> + Send + Sync + 'static) -> Self {
        Choice::Custom(Factory::new(name, make))
    }
}

impl Scheduler {
    /// A fresh scheduler.
    #[must_use]
    pub fn new(choice: &Choice, origin: &Origin) -> Self {
        match choice {
            // Redundancy needs no choice for new data; for a reinjection any order will do.
            Choice::MinRtt | Choice::MinRttOrp | Choice::Redundant => Scheduler::MinRtt(MinRtt),
            &Choice::RoundRobin { segments, cwnd_limited } => {
                Scheduler::RoundRobin(RoundRobin::new(segments, cwnd_limited))
            }
            &Choice::Blest { slow_start } => Scheduler::Blest(Blest::new(slow_start)),
            &Choice::Ecf { linux } => Scheduler::Ecf(Ecf::new(linux)),
            Choice::Dmptcp => Scheduler::Dmptcp(Dmptcp::default()),
            Choice::Linux => Scheduler::Linux(Linux),
            Choice::Custom(factory) => Scheduler::Custom(factory.make(origin)),
        }
    }

    pub(crate) fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        match self {
            Scheduler::MinRtt(s) => s.choose(demand, group, context),
            Scheduler::RoundRobin(s) => s.choose(demand, group, context),
            Scheduler::Blest(s) => s.choose(demand, group, context),
            Scheduler::Ecf(s) => s.choose(demand, group, context),
            Scheduler::Dmptcp(s) => s.choose(demand, group, context),
            Scheduler::Linux(s) => s.choose(demand, group, context),
            Scheduler::Custom(s) => s.choose(demand, group, context),
        }
    }
}
