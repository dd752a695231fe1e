//! What Python hands over of a plug-in.

use pyo3::prelude::*;

/// A plug-in of a run, as Python hands it over.
#[derive(FromPyObject)]
pub struct Given {
    /// `congestion`, `scheduler` or `path_manager`.
    pub kind: String,
    /// What the description calls it by.
    pub key: String,
    /// What messages call it by.
    pub name: String,
    /// Whether it is a rule for the classic machine, not a whole congestion control.
    pub is_rule: bool,
    /// Makes an object for a connection, of the seed of its random numbers.
    pub make: Py<PyAny>,
    /// The methods that its class does not leave to the base class.
    pub methods: Vec<String>,
    /// Whether a scheduler wants losses repaired as Linux does.
    pub repairs_as_kernel: bool,
    /// Names of the columns that a congestion control shows in samples.
    pub columns: Vec<String>,
    /// How long a call may take.
    pub call_limit_s: f64,
}
