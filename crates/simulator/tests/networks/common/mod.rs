//! Hand-written descriptions for tests. All have `through_wire` on.
#![allow(dead_code, reason = "each test file uses its part")]

mod parts;

pub use parts::*;
use scenario::description::{Change, Description, Event};
use scenario::outcome::Outcome;
use simulator::SimulateError;

/// Runs a description to its end.
pub fn run(description: &Description) -> Outcome {
    try_run(description).unwrap_or_else(|error| panic!("{error}"))
}

pub fn try_run(description: &Description) -> Result<Outcome, SimulateError> {
    simulator::simulate(description, &mut |_| true)
}

/// An event that changes both directions of a link.
pub fn event(at_ns: u64, link: usize, set: impl Into<Change>) -> Event {
    let set = set.into();
    Event { at_ns, link, down: true, up: true, set }
}

pub fn dead(dead: bool) -> network::Change {
    network::Change { dead: Some(dead), ..network::Change::default() }
}

/// An integer from the environment.
pub fn environment_number(name: &str) -> Option<u64> {
    #[allow(clippy::disallowed_methods)] // how many cases are run, not what they give
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, found {text}")))
}
