//! A world that is one part of a network's. Every part knows all applications and transfers and starts them at the same times;
//! it has the connections' ends, links and events of its own.

use super::{Step, World};
use crate::agenda::{self, Agenda};
use crate::division::Division;
use crate::flows::{Account, Parcel};
use crate::probe::View;
use crate::transfer::Transfer;
use application::{CLIENT, SERVER, Stream};
use scenario::outcome::Outcome;

impl World<'_> {
    /// From now on, before anything has happened, this is part `number`.
    pub fn set_part(&mut self, division: &Division, number: u32) {
        self.fabric.set_part(division, number);
        self.hosts.iter_mut().for_each(|host| host.number(number, division.parts));
        self.agenda = self.new_agenda().of_parts();
        self.part = Some((Box::new(division.clone()), number));
    }

    /// Whether connections of this kind have this end here.
    pub(super) fn has_end(&self, kind: usize, side: usize) -> bool {
        self.part.as_ref().is_none_or(|(division, number)| division.ends[kind][side] == *number)
    }

    /// Whether the queue of this direction of a link is here.
    pub(super) fn has_link(&self, direction: usize) -> bool {
        self.part.as_ref().is_none_or(|(division, number)| division.links[direction][0] == *number)
    }

    /// All that is to be done at times known beforehand.
    pub fn new_agenda(&self) -> Agenda {
        Agenda::new(self.description, &self.runtime.applications)
    }

    /// When something happens next here; `u64::MAX` if nothing does.
    pub fn next_ns(&self) -> u64 {
        self.agenda.next_ns().min(self.fabric.queue.next_ns())
    }

    /// Does all that happens before `until_ns`.
    pub fn run_until(&mut self, until_ns: u64, watch: &mut dyn FnMut(u64) -> bool) -> Step {
        loop {
            let due_ns = self.agenda.next_ns();
            self.run_events(due_ns.min(until_ns), watch)?;
            if due_ns >= until_ns {
                return Ok(());
            }
            self.act_at(due_ns)?;
        }
    }

    /// Does what is to be done by itself at `now_ns`, before the events of that moment.
    pub fn act_at(&mut self, now_ns: u64) -> Step {
        if self.agenda.next_ns() == now_ns {
            self.now_ns = now_ns;
            while let Some(action) = self.agenda.take(now_ns) {
                self.act(action)?;
            }
        }
        Ok(())
    }

    /// What goes to the other parts.
    pub fn parcels(&mut self) -> &mut [Parcel] {
        self.fabric.part.as_mut().map_or(&mut [], |part| &mut part.parcels)
    }

    /// How many packets go to the other parts.
    pub fn messages(&self) -> u64 {
        self.fabric.part.iter().flat_map(|part| &part.parcels).map(|parcel| parcel.len() as u64).sum()
    }

    /// The earliest time at which what was handed over since the last question arrives.
    pub fn take_earliest_ns(&mut self) -> u64 {
        self.fabric.part.as_mut().map_or(u64::MAX, |part| std::mem::replace(&mut part.earliest_ns, u64::MAX))
    }

    /// Takes in what another part has sent.
    pub fn take_over(&mut self, parcel: &mut Parcel) {
        for opened in parcel.opened.drain(..) {
            self.fabric.learn(&opened);
            self.transfers[opened.connection as usize].subflows.push(opened.number);
        }
        self.fabric.take_over(parcel);
    }

    /// How many events there were so far.
    pub fn events(&self) -> u64 {
        self.fabric.packet_hops + self.other_events
    }

    pub fn account(&self) -> Account {
        self.fabric.account()
    }

    /// The warm-up ends; this is about what all parts have of their own.
    fn warm_up_ends(&mut self) {
        self.runtime.warm_up_ends();
        self.transfers.iter_mut().for_each(|transfer| transfer.stream.warm_up_ends());
        self.fabric.measuring = true;
    }

    /// A measurement of a world in which all parts are joined.
    fn measure(&mut self, now_ns: u64, action: agenda::Action) {
        let view = View {
            hosts: &self.hosts,
            applications: &mut self.runtime.applications,
            transfers: &mut self.transfers,
            fabric: &mut self.fabric,
        };
        match action {
            agenda::Action::Sample => self.probe.sample(now_ns, view),
            _ => self.probe.warm_up_ends(now_ns, view),
        }
    }
}

/// Measures all parts together at `now_ns`.
pub fn measure(worlds: &mut [World], division: &Division, now_ns: u64, actions: &[agenda::Action]) {
    let own = join(worlds, division);
    for &action in actions {
        if let Some(whole) = worlds.first_mut() {
            whole.measure(now_ns, action);
        }
    }
    if let Some(whole) = worlds.first_mut() {
        whole.transfers.iter_mut().zip(own).for_each(|(transfer, stream)| transfer.stream = stream);
    }
    exchange(worlds, division);
    if actions.contains(&agenda::Action::WarmUpEnds) {
        worlds.iter_mut().for_each(World::warm_up_ends);
    }
}

/// The outcome of all parts together, at the end.
pub fn joined(mut worlds: Vec<World>, division: &Division) -> Outcome {
    let mut account = Account::default();
    worlds.iter().for_each(|world| account.add(world.account()));
    account.assert_conserved();
    join(&mut worlds, division);
    let mut worlds = worlds.into_iter();
    let Some(mut whole) = worlds.next() else { unreachable!("a network has a part") };
    for other in worlds {
        whole.fabric.add_counts(&other.fabric);
        whole.other_events += other.other_events;
    }
    whole.into_outcome()
}

/// Brings to the first world what the others have of their own: connections, links, streams, and the names of subflows at their
/// ends. Answers the streams that were there.
fn join(worlds: &mut [World], division: &Division) -> Vec<Stream> {
    exchange(worlds, division);
    let Some((whole, others)) = worlds.split_first_mut() else { return Vec::new() };
    for (number, other) in (1..).zip(others.iter()) {
        for (subflow, of_other) in whole.fabric.subflows.iter_mut().zip(&other.fabric.subflows) {
            for side in [CLIENT, SERVER] {
                if division.ends[subflow.kind as usize][side] == number {
                    subflow.handles[side] = of_other.handles[side];
                }
            }
        }
    }
    let own = whole.transfers.iter().map(|transfer| transfer.stream.clone()).collect();
    for place in 0..whole.transfers.len() {
        let transfer = &whole.transfers[place];
        let kind = whole.runtime.applications[transfer.application as usize].kind;
        let ends = division.ends[kind as usize];
        let at = |side: usize| -> &Transfer {
            match ends[side] {
                0 => transfer,
                part => &others[part as usize - 1].transfers[place],
            }
        };
        let (sender, receiver) = (transfer.stream.sender, transfer.stream.receiver());
        let stream = at(sender).stream.joined(&at(receiver).stream);
        whole.transfers[place].stream = stream;
    }
    own
}

/// Exchanges connections and links between the first world and those that have them.
fn exchange(worlds: &mut [World], division: &Division) {
    let Some((whole, others)) = worlds.split_first_mut() else { return };
    for (number, other) in (1..).zip(others) {
        for side in [CLIENT, SERVER] {
            whole.hosts[side].exchange(&mut other.hosts[side], number, division.parts);
        }
        for (link, _) in division.links.iter().enumerate().filter(|(_, [from, _])| *from == number) {
            std::mem::swap(&mut whole.fabric.links[link], &mut other.fabric.links[link]);
        }
    }
}
