//! The error for a parameter outside its range.

use std::fmt;

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigError {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// What was found.
    pub found: f64,
    /// What would do.
    pub expected: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}, expected {}", self.parameter, self.found, self.expected)
    }
}

impl std::error::Error for ConfigError {}

pub(crate) fn require(
    holds: bool,
    parameter: &'static str,
    found: f64,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError { parameter, found, expected }) }
}

pub(crate) fn probability(parameter: &'static str, found: f64) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&found), parameter, found, "a probability from 0 to 1")
}
