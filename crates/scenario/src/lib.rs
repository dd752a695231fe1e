//! Common parts of all engines: the description of a scenario, its conversion to the configurations of the transport
//! and the links, the measurement of links, and the outcome. No engine, no clock.

pub mod chains;
pub mod convert;
pub mod description;
pub mod kernel_paths;
pub mod link_meter;
pub mod outcome;
mod plugins;

pub use application::random;
pub use description::Description;
pub use plugins::Plugins;

/// The description cannot be run. The text says where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);
