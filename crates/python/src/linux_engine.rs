//! The engine `linux`, for Python.

use live::linux::Plan;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Form;
use crate::live_network::{answer, copy, run_error};
use crate::watch::Watch;

/// Run a plan of the engine linux (JSON of `live::linux::Plan`) to its end, in real time.
///
/// The GIL is released; signals and `progress` as for `simulate`. The caller keeps its descriptors. With `raw` a column of
/// samples is the bytes of an array, for callers that pass it on.
///
/// Raises ValueError for an invalid plan, SimulationError when the machine fails during the run.
#[pyfunction]
#[pyo3(signature = (plan, progress=None, *, raw=false))]
pub fn run_linux<'py>(
    py: Python<'py>,
    plan: &str,
    progress: Option<Py<PyAny>>,
    raw: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let plan: Plan = serde_json::from_str(plan).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let tuns = plan.ports.iter().map(|port| copy(port.tun)).collect::<PyResult<Vec<_>>>()?;
    let namespaces = plan
        .hosts
        .iter()
        .map(|hosts| Ok([copy(hosts.client_namespace)?, copy(hosts.server_namespace)?]))
        .collect::<PyResult<Vec<_>>>()?;
    let mut watch = Watch::new(progress);
    let ran = py.detach(|| live::linux::run(&plan, tuns, &namespaces, &mut |now_ns| watch.go_on(now_ns)));
    if let Some(raised) = watch.into_error() {
        return Err(raised);
    }
    let outcome = ran.map_err(run_error)?;
    answer(py, outcome, if raw { Form::Bytes } else { Form::Arrays })
}
