//! Network namespaces and TUN devices, for Python to furnish.

use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd, RawFd};

use live::namespace;
use live::tun::Tun;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The descriptor, while the caller's Python object keeps it open.
pub fn borrow<'a>(descriptor: RawFd) -> PyResult<BorrowedFd<'a>> {
    if descriptor < 0 {
        return Err(PyValueError::new_err(format!("{descriptor} is no file descriptor")));
    }
    // SAFETY: not −1; the call it is for fails with EBADF when it is closed, and keeps nothing of it.
    #[allow(unsafe_code)]
    Ok(unsafe { BorrowedFd::borrow_raw(descriptor) })
}

/// The descriptor of a new network namespace without a name, which goes with the last that holds it.
#[pyfunction]
pub fn create_namespace() -> PyResult<RawFd> {
    Ok(namespace::create()?.into_raw_fd())
}

/// Move the calling thread into a network namespace.
#[pyfunction]
pub fn enter_namespace(descriptor: RawFd) -> PyResult<()> {
    Ok(namespace::enter(borrow(descriptor)?)?)
}

/// The descriptor of a new TUN device in a network namespace; the device goes when it is closed.
#[pyfunction]
pub fn create_tun(namespace: RawFd, name: &str) -> PyResult<RawFd> {
    Ok(OwnedFd::from(Tun::create(borrow(namespace)?, name)?).into_raw_fd())
}
