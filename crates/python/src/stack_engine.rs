//! The engine `stack`, for Python.

use live::stack_engine::Plan;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Form;
use crate::live_network::{answer, copy, run_error};
use crate::plugins::{Given, Watchdog};
use crate::watch::Watch;

/// Run a plan of the engine stack (JSON of `live::stack_engine::Plan`) to its end, in real time.
///
/// The GIL is released; signals, `progress`, `plugins` and `trace` as for `simulate`. The caller keeps its descriptors.
///
/// Raises ValueError for an invalid plan, SimulationError when the run fails,
/// mptcplab.plugins.PluginError when a plug-in fails.
#[pyfunction]
#[pyo3(signature = (plan, progress=None, plugins=None, trace=None))]
pub fn run_stack<'py>(
    py: Python<'py>,
    plan: &str,
    progress: Option<Py<PyAny>>,
    plugins: Option<Vec<Given>>,
    trace: Option<std::path::PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan: Plan = serde_json::from_str(plan).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let tuns = plan.ports.iter().map(|port| copy(port.tun)).collect::<PyResult<Vec<_>>>()?;
    let hosts = [copy(plan.client)?, copy(plan.server)?];
    let (plugins, mut watchdog) = Watchdog::over(plugins.unwrap_or_default(), progress.as_ref())?;
    let mut watch = Watch::new(progress);
    let traces = trace.map(qlog::Folder::new);
    let ran = py.detach(|| {
        let go_on = &mut |now_ns| !watchdog.calls().have_failed() && watch.go_on(now_ns);
        let ran = live::stack_engine::run(&plan, &plugins, tuns, hosts, go_on, traces.clone());
        watchdog.stop();
        ran
    });
    if let Some(raised) = watchdog.take_error(py).or(watch.into_error()) {
        return Err(raised);
    }
    let outcome = ran.map_err(run_error)?;
    traces.map_or(Ok(()), |traces| traces.finish())?;
    answer(py, outcome, Form::Arrays)
}
