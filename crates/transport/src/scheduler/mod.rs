//! Packet schedulers: which subflow carries the next segment. One algorithm a file, which declares it, and a line in the
//! table below (docs/add-an-algorithm.md); a scheduler only chooses, the transport acts.

mod blest;
pub mod conformance;
mod context;
mod dmptcp;
mod ecf;
mod linux;
mod min_rtt;
mod redundant;
mod round_robin;
mod rounds;

built_in! {
    /// A scheduler: built-in, or from outside by its box.
    enum Scheduler, dyn PacketScheduler:
    min_rtt::MinRtt,
    round_robin::RoundRobin,
    redundant::Redundant,
    blest::Blest,
    ecf::Ecf,
    dmptcp::Dmptcp,
    linux::Linux,
}

pub use context::{Context, Counters, Lookup};
pub(crate) use linux::{Linger, SendBuffer, buffer_limit, memory};

use crate::algorithm::{self, Family, Row, built_in};
use crate::congestion::View;

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

/// The schedulers.
#[derive(Debug)]
pub struct Schedulers;

impl Family for Schedulers {
    const NOUN: &'static str = "scheduler";
    type Built = Scheduler;
    type Outside = dyn PacketScheduler;

    fn table() -> &'static [Row<Scheduler>] {
        TABLE
    }

    fn outside(algorithm: Box<dyn PacketScheduler>) -> Scheduler {
        Scheduler::Custom(algorithm)
    }
}

/// Which scheduler a connection gets.
pub type Choice = algorithm::Choice<Schedulers>;

impl PacketScheduler for Scheduler {
    fn name(&self) -> &'static str {
        each!(self, s => s.name())
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        each!(self, s => s.choose(demand, group, context))
    }
}
