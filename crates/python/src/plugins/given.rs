//! A plug-in as passed from Python.

use pyo3::prelude::*;

/// A plug-in of a run, as passed from Python.
#[derive(FromPyObject)]
pub struct Given {
    /// `congestion`, `scheduler` or `path_manager`.
    pub kind: String,
    /// Its name in the description.
    pub key: String,
    /// Its name in messages.
    pub name: String,
    /// Whether it is a rule for the classic machine rather than a whole congestion control.
    pub is_rule: bool,
    /// Makes an object for a connection from the seed of its random numbers.
    pub make: Py<PyAny>,
    /// The methods that its class overrides.
    pub methods: Vec<String>,
    /// Whether losses are repaired as in Linux under this scheduler.
    pub repairs_as_kernel: bool,
    /// Names of the columns that a congestion control adds to samples.
    pub columns: Vec<String>,
    /// Time limit of a call.
    pub call_limit_s: f64,
}
