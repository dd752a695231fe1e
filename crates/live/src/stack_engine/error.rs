//! Errors of a run.

use std::io;

use crate::emulator::EmulatorError;

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The plan is inconsistent.
    #[error("{0}")]
    Invalid(String),
    /// `watch` returned false.
    #[error("stopped")]
    Stopped,
    /// The emulator failed.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The hosts failed.
    #[error("hosts: {0}")]
    Hosts(#[from] io::Error),
}
