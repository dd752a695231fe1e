//! One end of a run of the engine `testbed`, for Python.

use live::testbed::Plan;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{self, Form};
use crate::live_network::run_error;
use crate::watch::Watch;

/// Run one end of a plan of the engine testbed (JSON of `live::testbed::Plan`) to its end, in real time, in the
/// caller's network namespace.
///
/// The GIL is released; signals and `progress` as for `simulate`. A column of samples is the bytes of an array.
///
/// Raises ValueError for an invalid plan, SimulationError when the machine fails during the run.
#[pyfunction]
#[pyo3(signature = (plan, progress=None))]
pub fn run_testbed_end<'py>(py: Python<'py>, plan: &str, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyDict>> {
    let plan: Plan = serde_json::from_str(plan).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut watch = Watch::new(progress);
    let ran = py.detach(|| live::testbed::run(&plan, &mut |now_ns| watch.go_on(now_ns)));
    if let Some(raised) = watch.into_error() {
        return Err(raised);
    }
    let outcome = ran.map_err(run_error)?;
    let summary = serde_json::to_string(&outcome.summary).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let answer = PyDict::new(py);
    answer.set_item("summary", summary)?;
    answer.set_item("subflow_samples", columns::of_subflows(py, outcome.subflow_samples, Form::Bytes)?)?;
    Ok(answer)
}
