//! Actions at times known beforehand: changes of links, starts and stops of connections, the end of the warm-up,
//! samples. The agenda is separate from the event queue, so that an action precedes all events of its time and an
//! additional action does not change the order of events.

use application::Application;
use scenario::description::Description;

/// An action at a given time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Take a sample.
    Sample,
    /// Take a snapshot of all counters.
    WarmUpEnds,
    /// Apply the event with this index in the description.
    Change(usize),
    /// Start the application with this index.
    Start(usize),
    /// Stop the application with this index.
    Stop(usize),
}

/// Actions in time order. At equal times a sample comes first, then the order of [`Action`] applies.
pub struct Agenda {
    /// Sorted with the earliest action last.
    actions: Vec<(u64, Action)>,
    next_sample_ns: u64,
    sample_ns: u64,
}

impl Agenda {
    pub fn new(description: &Description, applications: &[Application<()>]) -> Agenda {
        let mut actions = vec![(description.warmup_ns, Action::WarmUpEnds)];
        actions.extend(description.events.iter().enumerate().map(|(n, event)| (event.at_ns, Action::Change(n))));
        actions
            .extend(applications.iter().enumerate().map(|(n, application)| (application.start_ns, Action::Start(n))));
        for (number, application) in applications.iter().enumerate() {
            if let Some(stop_ns) = application.stop_ns {
                actions.push((stop_ns, Action::Stop(number)));
            }
        }
        // The sort is stable. Reversing the list and taking from its end keep the order of construction at equal times.
        actions.sort_by_key(|&(at_ns, _)| at_ns);
        actions.reverse();
        let sample_ns = description.sample_ns.unwrap_or(u64::MAX);
        Agenda { actions, next_sample_ns: sample_ns, sample_ns }
    }

    /// Time of the next action, or `u64::MAX`.
    pub fn next_ns(&self) -> u64 {
        self.actions.last().map_or(u64::MAX, |&(at_ns, _)| at_ns).min(self.next_sample_ns)
    }

    /// Takes the next action due at `now_ns`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::description::{Change, Event};

    fn agenda(sample_ns: Option<u64>, change_at_ns: &[u64]) -> Agenda {
        let set = Change::default();
        let event = |&at_ns| Event { at_ns, link: 0, down: true, up: true, set };
        let description = Description {
            duration_ns: 100,
            seed: 0,
            warmup_ns: 20,
            sample_ns,
            through_wire: false,
            traces: Vec::new(),
            media: Vec::new(),
            links: Vec::new(),
            paths: Vec::new(),
            connections: Vec::new(),
            events: change_at_ns.iter().map(event).collect(),
        };
        Agenda::new(&description, &[])
    }

    #[test]
    fn actions_come_by_time_and_a_sample_first() {
        let mut agenda = agenda(Some(10), &[30, 5, 20, 5]);
        let mut taken = Vec::new();
        while agenda.next_ns() <= 30 {
            let now_ns = agenda.next_ns();
            while let Some(action) = agenda.take(now_ns) {
                taken.push((now_ns, action));
            }
        }
        let expected = [
            (5, Action::Change(1)),
            (5, Action::Change(3)),
            (10, Action::Sample),
            (20, Action::Sample),
            (20, Action::WarmUpEnds),
            (20, Action::Change(2)),
            (30, Action::Sample),
            (30, Action::Change(0)),
        ];
        assert_eq!(taken, expected);
        assert_eq!(agenda.next_ns(), 40);
    }

    #[test]
    fn an_agenda_without_samples_ends() {
        let mut agenda = agenda(None, &[]);
        assert_eq!(agenda.next_ns(), 20);
        assert_eq!((agenda.take(19), agenda.take(20), agenda.take(20)), (None, Some(Action::WarmUpEnds), None));
        assert_eq!((agenda.next_ns(), agenda.take(u64::MAX)), (u64::MAX, None));
    }
}
