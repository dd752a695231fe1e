//! The Python module `mptcplab._core`: the one door between Python and the engines in Rust. It converts and checks
//! signals; what is computed stands in the other crates. `python/mptcplab/_core.pyi` is its interface.

use pyo3::prelude::*;

/// The engines in Rust.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    /// Version of the core; equals that of the Python package.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Commit the core was built from, where the build was told it (`MPTCPLAB_COMMIT`); None in a checkout.
    #[pyfunction]
    fn build_commit() -> Option<&'static str> {
        option_env!("MPTCPLAB_COMMIT")
    }
}
