//! The Python module `mptcplab._core`.
