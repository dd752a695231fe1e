//! Virtual time: a description goes in, an outcome comes out. Between the two stand an event queue, hosts that run the
//! real transport, links, applications that check every byte they read, and probes.
//!
//! Same description, same outcome, to the last bit, on any machine: no clock, no global state; each
//! component draws from random numbers of its own.

mod agenda;
mod ahead;
mod arrived;
mod boxes;
mod endpoint;
mod event_queue;
mod flows;
mod huge_pages;
mod in_flight;
mod probe;
mod slab;
mod summary;
mod tap;
mod through_wire;
mod traces;
mod transfer;
mod validate;
mod world;

pub use network::{Trace, TraceError};
pub use tap::{Interface, Tap};

use scenario::outcome::Outcome;
use scenario::{Description, Invalid, Plugins};

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// The description cannot be run; the text says where and why.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// `watch` answered that the run shall end.
    #[error("stopped at {at_ns} ns of virtual time")]
    Stopped {
        /// Virtual time reached.
        at_ns: u64,
    },
    /// A receiving application read a byte in the wrong place: a fault of the transport.
    #[error(
        "connection \"{connection}\" number {index}: its {end} read byte {position} of the stream where byte {expected} was due"
    )]
    Corrupt {
        /// The connection's name.
        connection: String,
        /// Which of its `count`.
        index: u32,
        /// The end that read, `client` or `server`.
        end: &'static str,
        /// Place in the stream of what was read.
        position: u64,
        /// Place that was due.
        expected: u64,
    },
    /// A run needs more connections at one time, or addresses in all, than there can be.
    #[error("at {at_ns} ns of virtual time there are too many connections: {reason}")]
    TooMany {
        /// Virtual time reached.
        at_ns: u64,
        /// Of what there is no more.
        reason: String,
    },
    /// A segment did not come back from its bytes as it went in: a fault of the transport or the codec.
    #[error("a segment from {from} to {to} does not survive the wire: {reason}")]
    ThroughWire {
        /// The address that sent it.
        from: String,
        /// The address it was meant for.
        to: String,
        /// What differs, or why it could not be encoded.
        reason: String,
    },
    /// The packets of the run could not be captured.
    #[error("the packets could not be captured: {0}")]
    Tap(String),
}

/// Runs `description` to its end.
///
/// `watch` is called about every 65,536 events with the virtual time in nanoseconds; when it answers false the run
/// ends with [`SimulateError::Stopped`].
///
/// # Errors
/// [`SimulateError`]; a description is checked completely before anything runs.
pub fn simulate(description: &Description, watch: &mut dyn FnMut(u64) -> bool) -> Result<Outcome, SimulateError> {
    simulate_with(description, &Plugins::default(), watch, None)
}

/// As [`simulate`]; `tap` sees every packet at the hosts. The outcome is the same.
///
/// # Errors
/// As [`simulate`], and [`SimulateError::Tap`].
pub fn simulate_tapped(
    description: &Description,
    watch: &mut dyn FnMut(u64) -> bool,
    tap: Box<dyn Tap>,
) -> Result<Outcome, SimulateError> {
    simulate_with(description, &Plugins::default(), watch, Some(tap))
}

/// As [`simulate`], with algorithms from outside, and a tap where there is one.
///
/// # Errors
/// As [`simulate_tapped`].
pub fn simulate_with(
    description: &Description,
    plugins: &Plugins,
    watch: &mut dyn FnMut(u64) -> bool,
    tap: Option<Box<dyn Tap>>,
) -> Result<Outcome, SimulateError> {
    simulate_traced(description, plugins, watch, tap, None)
}

/// As [`simulate_with`]; what the connections decide is written to the folder, where there is one. Whether all of it was, tells
/// [`qlog::Folder::finish`]. The outcome is the same.
///
/// # Errors
/// As [`simulate_tapped`].
pub fn simulate_traced(
    description: &Description,
    plugins: &Plugins,
    watch: &mut dyn FnMut(u64) -> bool,
    tap: Option<Box<dyn Tap>>,
    traces: Option<qlog::Folder>,
) -> Result<Outcome, SimulateError> {
    validate::check(description)?;
    let mut world = world::World::new(description, plugins)?;
    let tapped = tap.is_some();
    if let Some(tap) = tap {
        world.tap(tap);
    }
    if let Some(folder) = traces {
        world.trace(folder);
    }
    world.run(watch)?;
    if tapped {
        world.untap().map_err(SimulateError::Tap)?;
    }
    Ok(world.into_outcome())
}
