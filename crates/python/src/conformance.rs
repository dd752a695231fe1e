//! The conformance cases, for Python.

use std::path::PathBuf;

use conformance::{Who, report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Run the cases below a folder whose names or requirements contain `only`.
///
/// `against` names the implementations under test: `transport`, `linux`. Returns JSON: a list of rows.
///
/// Raises ValueError with the errors in the files, one line each.
#[pyfunction]
#[pyo3(signature = (folder, only, against, threads))]
pub fn play_cases(
    py: Python<'_>,
    folder: PathBuf,
    only: &str,
    against: Vec<String>,
    threads: usize,
) -> PyResult<String> {
    let against = against
        .iter()
        .map(|who| match who.as_str() {
            "transport" => Ok(Who::Transport),
            "linux" => Ok(Who::Linux),
            other => Err(PyValueError::new_err(format!("found {other:?}, expected transport or linux"))),
        })
        .collect::<PyResult<Vec<_>>>()?;
    py.detach(|| {
        let cases = report::read(&folder, only).map_err(|problems| PyValueError::new_err(problems.join("\n")))?;
        let rows = report::play(&cases, &against, threads, &|_| {});
        serde_json::to_string(&rows).map_err(|error| PyValueError::new_err(error.to_string()))
    })
}
