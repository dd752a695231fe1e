//! Errors of a run.

use std::io;

use crate::emulator::EmulatorError;

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The plan does not fit together.
    #[error("{0}")]
    Invalid(String),
    /// `watch` answered that the run shall end.
    #[error("stopped")]
    Stopped,
    /// The emulator failed.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// The hosts failed.
    #[error("hosts: {0}")]
    Hosts(#[from] io::Error),
}
