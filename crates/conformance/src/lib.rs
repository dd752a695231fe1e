//! Cases of conformance: segments in, segments out, one readable text file a case, run against a TCP or Multipath TCP that is
//! judged from outside, by its packets and its sockets alone.
//!
//! [`parse`] reads a file into a [`Case`] (docs/conformance.md has the language), [`run`] plays it to a [`Subject`]:
//! [`virtual_host::VirtualHost`] is our transport in virtual time, [`kernel::Kernel`] the Linux kernel in a network
//! namespace of its own, behind a TUN device.

pub mod any_bytes;
pub mod case;
mod content;
mod dialogue;
mod fields;
mod icmp;
#[cfg(target_os = "linux")]
pub mod kernel;
mod mistake;
mod options;
mod parse;
pub mod report;
mod run;
mod subject;
#[cfg(target_os = "linux")]
mod system;
pub mod virtual_host;

pub use case::{Case, Who};
pub use parse::{ParseError, parse};
pub use run::{Outcome, run};
pub use subject::{Cannot, Subject};

/// A second on the clock of a case.
pub const SECOND_NS: u64 = 1_000_000_000;
