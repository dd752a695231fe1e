//! What happens at times known beforehand: changes of links, starts and stops of connections, the end of the warm-up,
//! samples. It stands beside the event queue, so that an action comes before all events of its moment and one more
//! action does not change the order of events.

use crate::application::Application;
use crate::description::Description;

/// Something to be done at its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Take a sample.
    Sample,
    /// Note where all counters stand.
    WarmUpEnds,
    /// Apply this event of the description.
    Change(usize),
    /// Open this connection.
    Start(usize),
    /// This connection's sender stops.
    Stop(usize),
}

/// Actions in the order of their times; at one time a sample first, then in the order of [`Action`].
pub struct Agenda {
    /// The earliest last.
    actions: Vec<(u64, Action)>,
    next_sample_ns: u64,
    sample_ns: u64,
}

impl Agenda {
    pub fn new(description: &Description, applications: &[Application]) -> Agenda {
        let mut actions = vec![(description.warmup_ns, Action::WarmUpEnds)];
        actions.extend(description.events.iter().enumerate().map(|(n, event)| (event.at_ns, Action::Change(n))));
        actions
            .extend(applications.iter().enumerate().map(|(n, application)| (application.start_ns, Action::Start(n))));
        for (number, application) in applications.iter().enumerate() {
            if let Some(stop_ns) = description.connections[application.kind as usize].stop_ns {
                actions.push((stop_ns, Action::Stop(number)));
            }
        }
        // Both steps keep or reverse the order of equals: together they keep it.
        actions.sort_by_key(|&(at_ns, _)| at_ns);
        actions.reverse();
        let sample_ns = description.sample_ns.unwrap_or(u64::MAX);
        Agenda { actions, next_sample_ns: sample_ns, sample_ns }
    }

    /// When the next action is due; `u64::MAX` when there is none.
    pub fn next_ns(&self) -> u64 {
        self.actions.last().map_or(u64::MAX, |&(at_ns, _)| at_ns).min(self.next_sample_ns)
    }

    /// Takes the next action that is due at `now_ns`.
    pub fn take(&mut self, now_ns: u64) -> Option<Action> {
        if self.next_sample_ns == now_ns && now_ns != u64::MAX {
            self.next_sample_ns = self.next_sample_ns.saturating_add(self.sample_ns);
            return Some(Action::Sample);
        }
        let &(at_ns, action) = self.actions.last()?;
        (at_ns == now_ns).then(|| {
            self.actions.pop();
            action
        })
    }
}
