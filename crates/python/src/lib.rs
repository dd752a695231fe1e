//! The Python module `mptcplab._core`: the only interface between Python and the engines in Rust. It converts and checks
//! signals; all computation is in the other crates. `python/mptcplab/_core.pyi` is its interface.

mod algorithms;
mod capture;
mod columns;
mod conformance;
mod linux_engine;
mod live_network;
mod plugins;
mod stack;
mod stack_engine;
mod testbed;
mod watch;

use pyo3::prelude::*;

// The base of all errors of the package is written in Python, where it can be read without the core.
pyo3::import_exception!(mptcplab.errors, Error);
pyo3::create_exception!(
    mptcplab._core,
    SimulationError,
    Error,
    "A simulation that could not be carried out or finished."
);

/// The engines in Rust.
#[pymodule]
mod _core {
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use pyo3::types::PyDict;
    use scenario::description::Description;
    use simulator::{SimulateError, TraceError};

    #[pymodule_export]
    use super::SimulationError;
    use crate::capture::Files;
    #[pymodule_export]
    use crate::capture::analyze;
    use crate::columns::Answer;
    #[pymodule_export]
    use crate::columns::Samples;
    #[pymodule_export]
    use crate::conformance::play_cases;
    #[pymodule_export]
    use crate::linux_engine::run_linux;
    #[pymodule_export]
    use crate::live_network::{create_namespace, create_tun, enter_namespace, open_tun};
    #[pymodule_export]
    use crate::plugins::check_plugin;
    use crate::plugins::{Given, Watchdog};
    #[pymodule_export]
    use crate::plugins::{PyAck, PyContext, PyCounters, PyDemand, PySample, PySubflow, PySubflows};
    #[pymodule_export]
    use crate::stack::{PySocket, PyStack};
    #[pymodule_export]
    use crate::stack_engine::run_stack;
    #[pymodule_export]
    use crate::testbed::run_testbed_end;
    use crate::watch::Watch;

    /// Simulate one complete description (JSON of `scenario::description`).
    ///
    /// The GIL is released. At most every 50 ms signals are checked and `progress` is called with the virtual time in
    /// seconds; an exception from either ends the simulation and is raised.
    ///
    /// If there is a directory `capture`, the packets of each interface are written to it as pcapng, each cut to
    /// `snap_length` bytes.
    ///
    /// If there is a directory `trace`, the decisions of each end of each connection are written to it as qlog.
    ///
    /// `plugins` are algorithms in Python that the description names (`mptcplab.plugins.running.Given`).
    ///
    /// Raises ValueError for an invalid description, SimulationError when the simulation fails, OSError when a
    /// capture or a trace cannot be written, mptcplab.plugins.PluginError when a plug-in fails.
    #[pyfunction]
    #[pyo3(signature = (description, progress=None, capture=None, snap_length=128, plugins=None, trace=None))]
    fn simulate<'py>(
        py: Python<'py>,
        description: &str,
        progress: Option<Py<PyAny>>,
        capture: Option<std::path::PathBuf>,
        snap_length: u32,
        plugins: Option<Vec<Given>>,
        trace: Option<std::path::PathBuf>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (plugins, mut watchdog) = Watchdog::over(plugins.unwrap_or_default(), progress.as_ref())?;
        let mut watch = Watch::new(progress);
        // Work without Python: other Python threads run meanwhile.
        let answer = py.detach(|| -> PyResult<Answer> {
            let description: Description =
                serde_json::from_str(description).map_err(|error| PyValueError::new_err(error.to_string()))?;
            let go_on = &mut |now_ns| !watchdog.calls().have_failed() && watch.go_on(now_ns);
            let tap = match &capture {
                Some(directory) => Some(Box::new(Files::create(directory, &description, snap_length)?) as _),
                None => None,
            };
            let traces = trace.map(qlog::Folder::new);
            let simulated = simulator::simulate_traced(&description, &plugins, go_on, tap, traces.clone());
            watchdog.stop();
            let outcome = simulated.map_err(|error| match error {
                SimulateError::Invalid(_) => PyValueError::new_err(error.to_string()),
                _ => SimulationError::new_err(error.to_string()),
            })?;
            traces.map_or(Ok(()), |traces| traces.finish())?;
            Answer::new(outcome)
        });
        match watchdog.take_error(py).or(watch.into_error()) {
            Some(raised) => Err(raised),
            None => answer?.into_python(py),
        }
    }

    /// The algorithms of the transport: JSON, `mptcplab.registry` reads it.
    #[pyfunction]
    fn algorithms() -> String {
        crate::algorithms::tables().to_string()
    }

    /// Mean rate in bit/s and period in nanoseconds of a trace in Mahimahi's format.
    ///
    /// Raises ValueError with the arguments line, found and expected.
    #[pyfunction]
    fn read_trace(text: &str) -> PyResult<(u64, u64)> {
        match simulator::Trace::parse(text) {
            Ok(trace) => Ok((trace.mean_rate_bps(), trace.period_ns())),
            Err(TraceError { line, found, expected }) => Err(PyValueError::new_err((line, found, expected))),
        }
    }

    /// Version of the core; equals that of the Python package.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Commit that the core was built from, if given to the build (`MPTCPLAB_COMMIT`); None in a checkout.
    #[pyfunction]
    fn build_commit() -> Option<&'static str> {
        option_env!("MPTCPLAB_COMMIT")
    }

    /// Digest of the sources that the core was built from (`mptcplab.sources`), if given to the build.
    #[pyfunction]
    fn build_sources() -> Option<&'static str> {
        option_env!("MPTCPLAB_SOURCES")
    }
}
