//! Packet schedulers: which subflow carries the next segment. One algorithm a file, which declares it, and a line in the
//! table below (docs/add-an-algorithm.md); a scheduler only chooses, the transport acts.

mod blest;
mod context;
pub mod contract;
mod daps;
mod dmptcp;
mod dmptcp_online;
mod ecf;
mod linux;
mod linux_choice;
mod linux_limits;
mod linux_memory;
mod linux_pages;
mod min_rtt;
mod opportunistic;
mod otias;
mod redundant;
mod round_robin;
mod rounds;
mod sttf;

built_in! {
    /// A scheduler: built-in, or from outside by its box.
    enum Scheduler, dyn PacketScheduler:
    min_rtt::MinRtt: MinRttOrp,
    round_robin::RoundRobin,
    redundant::Redundant,
    blest::Blest,
    ecf::Ecf,
    dmptcp::Dmptcp: Box<Dmptcp>,
    dmptcp_online::DmptcpOnline: Box<DmptcpOnline>,
    otias::Otias,
    daps::Daps: Box<Daps>,
    sttf::Sttf: Box<Sttf>,
    linux::Linux: Box<Linux>,
}

pub use context::{Carried, Context, Counters, Lookup};
pub use opportunistic::MinRttOrp;

use crate::algorithm::{self, Family, Row, built_in};
use crate::congestion::View;
use crate::time::Instant;

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
    /// Data never sent before: what the application wrote, or what had been bound to a subflow that failed.
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
        /// Where; not empty, each usable. Several carry the same.
        on: SubflowSet,
        /// Segments.
        burst: u32,
    },
    /// Bind the next bytes to each subflow of the set, whatever its window: each sends what is bound to it in order, as its
    /// window allows. Then ask again, before anything is sent. Several carry the same.
    Bind {
        /// Where; not empty, each established.
        on: SubflowSet,
        /// At least 1; no more are bound than the data asked about and the connection-level window have.
        bytes: u64,
    },
    /// Bind once more, to these subflows, bytes that were sent or bound already and are not acknowledged. Then ask again.
    Repeat {
        /// Where; not empty, each established.
        on: SubflowSet,
        /// The first byte.
        from: u64,
        /// Behind the last.
        to: u64,
    },
    /// Halve the windows of these subflows, without a loss (Raiciu 2012 §4.2). Only when
    /// [idle](PacketScheduler::when_idle); then ask again.
    Penalise {
        /// Which.
        subflows: SubflowSet,
    },
    /// Leave this data unbound and ask about what comes next: after a reinjection new data.
    Pass,
    /// Better to wait for a subflow that is full now; ask again at the next event, or at this time.
    Wait {
        /// `u64::MAX`: only at the next event.
        until: Instant,
    },
    /// No subflow can take anything.
    Blocked,
}

/// The subflow that would get the next data if the connection-level window were open. Nothing is appended to what waits there and
/// does not end where that data begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Next {
    /// Its place among the subflows.
    pub on: usize,
    /// The application has written: what waits there may leave, also where it was put off.
    pub pushed: bool,
}

/// A packet scheduler.
pub trait PacketScheduler: std::fmt::Debug + Send {
    /// Its name as in `mptcplab list schedulers`.
    fn name(&self) -> &'static str;

    /// Chooses; `group[r]` is the subflow with id r. Called for each segment (or burst), so it must be quick. Under TCP, also
    /// after a fallback to it, nobody is asked.
    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision;

    /// There is nothing to [choose](Self::choose) for: no data that is not bound, or a closed connection-level window. Called
    /// where it would have been asked, for a scheduler that keeps account.
    fn when_dry(&mut self, _group: &[View], _context: &Context) {}

    /// After [`when_dry`](Self::when_dry).
    fn next_if_open(&mut self) -> Option<Next> {
        None
    }

    /// Nothing more can be sent now: there is no data, or the connection-level window is closed, or [`choose`](Self::choose)
    /// found no subflow; and what is bound waits for windows. [`Decision::Repeat`] and [`Decision::Penalise`] are done;
    /// after [`Decision::Pass`] the scheduler is asked about new data once more; all others end it.
    fn when_idle(&mut self, _group: &[View], _context: &Context) -> Decision {
        Decision::Blocked
    }

    /// How losses are repaired across subflows. Asked once for each connection.
    fn repair(&self) -> Repair {
        Repair::Prompt
    }

    /// Whether data that it took from the application waits for room in a subflow's buffer. Asked after each
    /// [choice](Self::choose) for new data under [`Repair::Kernel`].
    fn holds_data(&self) -> bool {
        false
    }

    /// Where the page ends that has the byte at `place` of the stream, in bytes; none where that is not known. Asked under
    /// [`Repair::Kernel`] when the oldest page is to be sent once more.
    fn page_end(&self, _place: u64) -> Option<u64> {
        None
    }

    /// Whether it answers as [`MinRtt`] does as long as the window has room for a full segment, and has nothing to say
    /// [when idle](Self::when_idle) then: the transport need not ask. Asked once for each connection.
    fn is_smallest_rtt(&self) -> bool {
        false
    }
}

/// What becomes of the data of a subflow that does not answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Repair {
    /// With its first timeout what it has not delivered, and what is bound to it, goes to the others.
    #[default]
    Prompt,
    /// As in Linux 6 (docs/decisions/0006): all stays, the data level sends its oldest page once more where nothing is under
    /// way, and after four periods of its timer without a word others carry it all.
    Kernel,
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

    fn when_dry(&mut self, group: &[View], context: &Context) {
        each!(self, s => s.when_dry(group, context));
    }

    fn next_if_open(&mut self) -> Option<Next> {
        each!(self, s => s.next_if_open())
    }

    fn when_idle(&mut self, group: &[View], context: &Context) -> Decision {
        each!(self, s => s.when_idle(group, context))
    }

    fn repair(&self) -> Repair {
        each!(self, s => s.repair())
    }

    fn holds_data(&self) -> bool {
        each!(self, s => s.holds_data())
    }

    fn page_end(&self, place: u64) -> Option<u64> {
        each!(self, s => s.page_end(place))
    }

    fn is_smallest_rtt(&self) -> bool {
        each!(self, s => s.is_smallest_rtt())
    }
}
