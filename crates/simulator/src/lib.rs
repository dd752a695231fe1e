//! Simulation in virtual time: takes a description and returns an outcome. It consists of an event queue, hosts that
//! run the real transport, links, applications that check every byte they read, and probes.
//!
//! The same description gives the same outcome, to the last bit, on any machine: there is no clock and no global state,
//! and each component has its own random numbers.

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

#[cfg(test)]
#[path = "../tests/networks/common/parts.rs"]
mod parts;

pub use network::{Trace, TraceError};
pub use tap::{Interface, Tap};

use scenario::outcome::Outcome;
use scenario::{Description, Invalid, Plugins};

/// Why a simulation has no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// The description cannot be run. The text says where and why.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// `watch` returned false.
    #[error("stopped at {at_ns} ns of virtual time")]
    Stopped {
        /// Virtual time reached.
        at_ns: u64,
    },
    /// A receiving application read a byte at the wrong offset: a fault of the transport.
    #[error(
        "connection \"{connection}\" number {index}: its {end} read byte {position} of the stream where byte {expected} was due"
    )]
    Corrupt {
        /// Name of the connection.
        connection: String,
        /// Index of the connection among its `count`.
        index: u32,
        /// The end that read, `client` or `server`.
        end: &'static str,
        /// Stream offset of the byte read.
        position: u64,
        /// Stream offset expected.
        expected: u64,
    },
    /// A run needs more simultaneous connections, or more addresses in total, than are available.
    #[error("at {at_ns} ns of virtual time there are too many connections: {reason}")]
    TooMany {
        /// Virtual time reached.
        at_ns: u64,
        /// What was exhausted.
        reason: String,
    },
    /// A segment was not the same after encoding and decoding: a fault of the transport or the codec.
    #[error("a segment from {from} to {to} does not survive the wire: {reason}")]
    ThroughWire {
        /// Source address.
        from: String,
        /// Destination address.
        to: String,
        /// The difference, or why encoding failed.
        reason: String,
    },
    /// The packets of the run could not be captured.
    #[error("the packets could not be captured: {0}")]
    Tap(String),
}

/// Runs `description` to its end.
///
/// `watch` is called about every 65,536 events with the virtual time in nanoseconds. If it returns false, the run ends
/// with [`SimulateError::Stopped`].
///
/// # Errors
/// [`SimulateError`]. A description is checked completely before anything runs.
pub fn simulate(description: &Description, watch: &mut dyn FnMut(u64) -> bool) -> Result<Outcome, SimulateError> {
    simulate_with(description, &Plugins::default(), watch, None)
}

/// As [`simulate`]. `tap` sees every packet at the hosts and does not affect the outcome.
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

/// As [`simulate`], with external algorithms and an optional tap.
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

/// As [`simulate_with`]. The decisions of the connections are written to the folder, if there is one.
/// [`qlog::Folder::finish`] tells whether all of them were written. The outcome is the same.
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
