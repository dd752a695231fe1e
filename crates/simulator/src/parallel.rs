//! One network on several threads: each simulates a part of it ([`Division`]) for as long as nothing that another does can be
//! felt in it, then all exchange what goes from part to part (conservative synchronisation by windows of time: B. Lubachevsky,
//! "Efficient distributed event-driven simulations of multiple-loop networks", Communications of the ACM 32(1), 1989).
//!
//! Within a part, events have the order that they have in the whole network, which depends on nothing but virtual time
//! (`event_queue/stamp.rs`). So the outcome is the same on any number of threads.

mod gate;
mod post;
pub mod windows;

use crate::SimulateError;
use crate::agenda::{Action, Agenda};
use crate::division::Division;
use crate::flows::Parcel;
use crate::world::{self, World};
use gate::{Alarm, Gate};
use post::Post;
use scenario::Plugins;
use scenario::description::Description;
use scenario::outcome::Outcome;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a run ended early, by the number of the part where.
type Failures = Mutex<Vec<(usize, SimulateError)>>;

/// The worlds of all parts, before the first event, and what is measured of all together.
fn begin<'d>(
    description: &'d Description,
    plugins: &Plugins,
    division: &Division,
) -> Result<(Vec<World<'d>>, Agenda), SimulateError> {
    let mut worlds = Vec::new();
    let mut agenda = None;
    for number in 0..division.parts {
        let mut world = World::new(description, plugins)?;
        agenda = agenda.or_else(|| Some(world.new_agenda().of_measurements()));
        world.set_part(division, number);
        worlds.push(world);
    }
    let Some(agenda) = agenda else { unreachable!("a division has parts") };
    Ok((worlds, agenda))
}

/// Runs all parts to the end of the description's duration. `between` has them go on to a time, exclusively; measurements are
/// taken where it stops.
fn run<'d>(
    description: &Description,
    division: &Division,
    (mut worlds, mut agenda): (Vec<World<'d>>, Agenda),
    mut between: impl FnMut(&mut [World<'d>], u64) -> Result<(), SimulateError>,
) -> Result<Outcome, SimulateError> {
    let end_ns = description.duration_ns;
    loop {
        let due_ns = agenda.next_ns();
        between(&mut worlds, due_ns.min(end_ns))?;
        if due_ns > end_ns {
            break;
        }
        let actions: Vec<Action> = std::iter::from_fn(|| agenda.take(due_ns)).collect();
        world::measure(&mut worlds, division, due_ns, &actions);
    }
    for world in &mut worlds {
        world.act_at(end_ns).map_err(|error| *error)?;
    }
    hand_round(&mut worlds);
    Ok(world::joined(worlds, division))
}

/// Brings every part what the others have for it, on one thread.
fn hand_round(worlds: &mut [World]) {
    for from in 0..worlds.len() {
        for to in 0..worlds.len() {
            let mut parcel = Parcel::default();
            std::mem::swap(&mut worlds[from].parcels()[to], &mut parcel);
            worlds[to].take_over(&mut parcel);
            // Its memory serves again.
            worlds[from].parcels()[to] = parcel;
        }
    }
}

/// Runs `description` on a thread for each part. `watch` as in [`crate::simulate`], of the first part.
pub fn simulate(
    description: &Description,
    plugins: &Plugins,
    division: &Division,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Outcome, SimulateError> {
    let begun = begin(description, plugins, division)?;
    run(description, division, begun, |worlds, until_ns| on_threads(worlds, division, until_ns, watch))
}

/// Has all parts go on to `until_ns`, each on a thread.
fn on_threads(
    worlds: &mut [World],
    division: &Division,
    until_ns: u64,
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<(), SimulateError> {
    let (gate, post) = (Gate::new(worlds.len()), Post::new(worlds.len()));
    let (failed, failures) = (AtomicU64::new(u64::MAX), Failures::default());
    let lookahead_ns = division.lookahead_ns;
    let Some((first, others)) = worlds.split_first_mut() else { return Ok(()) };
    std::thread::scope(|scope| {
        let shared = Shared { gate: &gate, post: &post, failed: &failed, failures: &failures, lookahead_ns, until_ns };
        for (number, world) in (1..).zip(others) {
            let goes_on = move |_| shared.failed.load(Ordering::Relaxed) == u64::MAX;
            scope.spawn(move || shared.go_on(world, number, &mut { goes_on }));
        }
        shared.go_on(first, 0, watch);
    });
    let mut failures = failures.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    // One that stopped because another failed says nothing of the cause.
    failures.sort_by_key(|(number, error)| (matches!(error, SimulateError::Stopped { .. }), *number));
    failures.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// What the threads have in common.
#[derive(Clone, Copy)]
struct Shared<'a> {
    gate: &'a Gate,
    post: &'a Post,
    /// The window in which a part failed; `u64::MAX`: none has.
    failed: &'a AtomicU64,
    failures: &'a Failures,
    lookahead_ns: u64,
    until_ns: u64,
}

impl Shared<'_> {
    /// One thread's work: part `number`.
    fn go_on(self, world: &mut World, number: usize, watch: &mut dyn FnMut(u64) -> bool) {
        let _alarm = Alarm(self.gate);
        let mut next_ns = world.next_ns();
        // What is sent in one window is read after it, while the next one's goes elsewhere: one meeting a window is enough.
        for window in 0_u64.. {
            self.post.send(window, number, next_ns, world.parcels());
            // A failure of this very window may be seen by one and not yet by another, and who leaves is waited for: all leave at the
            // next meeting.
            if !self.gate.pass() || self.failed.load(Ordering::Acquire) < window {
                return;
            }
            self.post.receive(window, number, |parcel| world.take_over(parcel));
            let from_ns = self.post.earliest_ns(window);
            if from_ns >= self.until_ns {
                return;
            }
            let to_ns = from_ns.saturating_add(self.lookahead_ns).min(self.until_ns);
            if let Err(error) = world.run_until(to_ns, watch) {
                if let Ok(mut failures) = self.failures.lock() {
                    failures.push((number, *error));
                }
                self.failed.fetch_min(window, Ordering::Release);
            }
            next_ns = world.next_ns().min(world.take_earliest_ns());
        }
    }
}

#[cfg(test)]
mod tests;
