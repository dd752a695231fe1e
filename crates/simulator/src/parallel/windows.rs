//! How much the parts of a network do between two meetings: what a simulation on as many threads can gain at most.

use super::{begin, hand_round, run};
use crate::division;
use crate::{SimulateError, validate};
use scenario::description::Description;
use scenario::outcome::Outcome;
use scenario::{Invalid, Plugins};

/// What was counted. An event takes any part about as long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Windows {
    /// Parts of the network.
    pub parts: u32,
    /// The look-ahead.
    pub lookahead_ns: u64,
    /// Windows in which anything happened.
    pub windows: u64,
    /// Events of all parts.
    pub events: u64,
    /// Events of the part that had most in its window, over all windows: what has to be done one after another.
    pub critical_events: u64,
    /// Packets that went from part to part.
    pub handed_over: u64,
}

/// Simulates `description` in so many parts, all on one thread, and counts what each does in each window.
///
/// # Errors
/// As [`crate::simulate`]; [`SimulateError::Invalid`] when the network cannot be divided.
pub fn count(description: &Description, parts: usize) -> Result<(Outcome, Windows), SimulateError> {
    validate::check(description)?;
    let division = division::divide(description, parts).map_err(Invalid)?;
    let mut counted = Windows { parts: division.parts, lookahead_ns: division.lookahead_ns, ..Windows::default() };
    let begun = begin(description, &Plugins::default(), &division)?;
    let outcome = run(description, &division, begun, |worlds, until_ns| {
        loop {
            let earliest = |world: &mut crate::world::World| world.next_ns().min(world.take_earliest_ns());
            let from_ns = worlds.iter_mut().map(earliest).min().unwrap_or(u64::MAX);
            if from_ns >= until_ns {
                return Ok(());
            }
            let to_ns = from_ns.saturating_add(division.lookahead_ns).min(until_ns);
            let mut most = 0;
            for world in worlds.iter_mut() {
                let before = world.events();
                world.run_until(to_ns, &mut |_| true).map_err(|error| *error)?;
                let events = world.events() - before;
                counted.events += events;
                most = most.max(events);
            }
            counted.windows += 1;
            counted.critical_events += most;
            counted.handed_over += worlds.iter_mut().map(|world| world.messages()).sum::<u64>();
            hand_round(worlds);
        }
    })?;
    Ok((outcome, counted))
}
