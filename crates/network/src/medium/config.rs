//! What a medium is told when it is made.

use crate::config_error::ConfigError;

/// Between whom a medium is shared equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Stations send equally many aggregates.
    Frames,
    /// Stations send equally long.
    Airtime,
}

/// A medium with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumConfig {
    /// What stations with packets get the same of.
    pub share: Share,
    /// Airtime that every aggregate takes beside its packets, before them.
    pub overhead_ns: u64,
    /// Packets in an aggregate at most; at least 1.
    pub packets: u32,
    /// No packet of an aggregate begins so long after the first one, or later.
    pub longest_ns: u64,
}

impl MediumConfig {
    /// Whether a medium can be made of it.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub const fn check(&self) -> Result<(), ConfigError> {
        match self.packets {
            0 => Err(ConfigError { parameter: "packets", found: 0.0, expected: "at least 1" }),
            _ => Ok(()),
        }
    }
}
