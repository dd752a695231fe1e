//! The agenda of a run in real time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use application::{Runtime, Stream};
use scenario::description::Description;

/// An action at a given time. Simultaneous actions happen in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Due {
    /// Query the kernel about its sockets.
    Look,
    /// Take a sample.
    Sample,
    /// Take a snapshot of all counters.
    WarmUpEnds,
    /// An event of the scenario. The emulated links receive it separately.
    Change(usize),
    /// An application starts.
    Start(u32),
    /// An application asked to be woken at this time.
    Wake(u32),
    /// The application at the receiving end of a transfer reads again.
    Read(usize),
    /// An application stops.
    Stop(u32),
}

/// All actions that are due later.
#[derive(Debug)]
pub struct Agenda {
    due: BinaryHeap<Reverse<(u64, Due)>>,
}

impl Agenda {
    /// The actions known in advance: the end of the warm-up, starts and stops.
    pub fn new<F: Clone>(description: &Description, applications: &Runtime<F>) -> Agenda {
        let mut agenda = Agenda::measuring(description);
        for (number, application) in (0..).zip(&applications.applications) {
            agenda.push(application.start_ns, Due::Start(number));
            if let Some(stop_ns) = application.stop_ns {
                agenda.push(stop_ns, Due::Stop(number));
            }
        }
        agenda
    }

    /// Only the measurements: no application starts here.
    pub fn measuring(description: &Description) -> Agenda {
        let mut agenda = Agenda { due: BinaryHeap::new() };
        agenda.push(description.warmup_ns, Due::WarmUpEnds);
        agenda
    }

    /// Adds an action.
    pub fn push(&mut self, at_ns: u64, due: Due) {
        self.due.push(Reverse((at_ns, due)));
    }

    /// When the next action is due, or `u64::MAX`.
    pub fn next_ns(&self) -> u64 {
        self.due.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns)
    }

    /// Takes the next action due at `now_ns`, with the time at which it was due.
    pub fn take(&mut self, now_ns: u64) -> Option<(u64, Due)> {
        if self.next_ns() > now_ns {
            return None;
        }
        self.due.pop().map(|Reverse(due)| due)
    }
}

/// Starts, wakes or stops an application. `stream` returns the stream of a transfer.
pub fn tell<'s, F: Clone>(applications: &mut Runtime<F>, due: Due, stream: impl FnOnce(u32) -> Option<&'s Stream>) {
    match due {
        Due::Start(number) => applications.start(number),
        Due::Wake(number) => applications.wake(number, stream),
        Due::Stop(number) => applications.stop(number),
        Due::Look | Due::Sample | Due::WarmUpEnds | Due::Change(_) | Due::Read(_) => {}
    }
}
