//! Network namespaces and TUN devices, for Python to configure.

use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd, RawFd};

use live::engine::RunError;
use live::engine::outcome::Outcome;
use live::namespace;
use live::tun::Tun;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::SimulationError;
use crate::columns::{self, Form};

/// The descriptor, while the caller's Python object keeps it open.
pub fn borrow<'a>(descriptor: RawFd) -> PyResult<BorrowedFd<'a>> {
    if descriptor < 0 {
        return Err(PyValueError::new_err(format!("{descriptor} is not a file descriptor")));
    }
    // SAFETY: it is not −1; if it is closed, the call that uses it fails with EBADF, and nothing keeps the borrowed descriptor.
    #[allow(unsafe_code)]
    Ok(unsafe { BorrowedFd::borrow_raw(descriptor) })
}

/// A duplicate of a descriptor of the caller.
pub fn copy(descriptor: RawFd) -> PyResult<OwnedFd> {
    Ok(borrow(descriptor)?.try_clone_to_owned()?)
}

/// The exception for a run in real time without an outcome.
pub fn run_error(error: RunError) -> PyErr {
    match error {
        RunError::Invalid(problem) => PyValueError::new_err(problem),
        other => SimulationError::new_err(other.to_string()),
    }
}

/// The outcome of a run in real time: `summary` as JSON, samples as columns.
pub fn answer(py: Python<'_>, outcome: Outcome, form: Form) -> PyResult<Bound<'_, PyDict>> {
    let summary = serde_json::to_string(&outcome.summary).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let answer = PyDict::new(py);
    answer.set_item("summary", summary)?;
    answer.set_item("subflow_samples", columns::of_subflows(py, outcome.subflow_samples, form)?)?;
    answer.set_item("link_samples", columns::of_links(py, outcome.link_samples, form)?)?;
    Ok(answer)
}

/// The descriptor of a new unnamed network namespace, which lives as long as a descriptor or process refers to it.
#[pyfunction]
pub fn create_namespace() -> PyResult<RawFd> {
    Ok(namespace::create()?.into_raw_fd())
}

/// Move the calling thread into a network namespace.
#[pyfunction]
pub fn enter_namespace(descriptor: RawFd) -> PyResult<()> {
    Ok(namespace::enter(borrow(descriptor)?)?)
}

/// The descriptor of a new TUN device in a network namespace; closing it removes the device.
#[pyfunction]
pub fn create_tun(namespace: RawFd, name: &str) -> PyResult<RawFd> {
    Ok(OwnedFd::from(Tun::create(borrow(namespace)?, name)?).into_raw_fd())
}

/// The descriptor of a TUN device in the caller's network namespace, which is created if missing.
#[pyfunction]
pub fn open_tun(name: &str, offloads: bool) -> PyResult<RawFd> {
    Ok(OwnedFd::from(Tun::open(name, offloads)?).into_raw_fd())
}
