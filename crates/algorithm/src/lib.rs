//! What every algorithm says of itself, and how one is chosen: by its name, with parameters.
//!
//! The file of an algorithm declares it ([`Algorithm`]: name, one line, source, parameters, capabilities) and makes it
//! ([`Make`]). Each kind (congestion control, scheduler, path manager) has one table of them, in its `mod.rs`. Whatever
//! needs to know which algorithms there are reads the tables: scenario files and their errors, `mptcplab list`, the
//! documentation, the live engines and the tests that hold for all of them.
//!
//! What has settings and no algorithm of its own (a queue discipline, a loss model, a middlebox, a medium, TCP) declares them
//! with [`declared!`], from the parameters in [`declare`]; [`kinds!`] makes a family of those.
//!
//! This crate does not know who declares: `transport` and `network` do.

mod about;
mod choice;
pub mod declare;
mod declared;
pub mod json;
mod parameter;
pub mod plugin;
mod table;
mod words;

pub use about::{About, Capabilities, Capability, Column, Order};
pub use choice::{Algorithm, Choice, ChoiceError, Family, Given, Make, Row};
pub use declared::{ConfigError, Declared, Field, by_kind, rest};
pub use parameter::{Absent, Domain, Measure, Parameter, Value};
pub use serde;
