//! What all engines share: the description of a scenario, what the transport and the links are made with, the measurement of
//! links, and the outcome. No engine, no clock.

pub mod chains;
pub mod convert;
pub mod description;
pub mod link_meter;
pub mod outcome;
mod plugins;

pub use application::random;
pub use description::Description;
pub use plugins::Plugins;

/// The description cannot be run; the text says where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);
