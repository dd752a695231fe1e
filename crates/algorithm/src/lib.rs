//! Declarations of algorithms, and their choice by name with parameters.
//!
//! The file of an algorithm declares it ([`Algorithm`]: name, one line, source, parameters, capabilities) and creates
//! it ([`Make`]). Each kind (congestion control, scheduler, path manager) has one table of them, in its `mod.rs`.
//! Everything that needs the list of algorithms reads these tables: scenario files and their errors, `mptcplab list`,
//! the documentation, the live engines and the tests of all algorithms.
//!
//! Components with settings that are not such algorithms (queue disciplines, loss models, middleboxes, media, TCP)
//! declare them with [`declared!`], from the parameters in [`declare`]; [`kinds!`] makes a family of them.
//!
//! This crate does not depend on the crates that declare: `transport` and `network`.

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
