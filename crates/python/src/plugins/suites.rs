//! The transport's contract suites on classes in Python.

use std::sync::Arc;

use pyo3::prelude::*;
use transport::plugin::{Kind, Origin};
use transport::{congestion, path_manager, scheduler};

use super::Given;
use super::calls::{Calls, Class, Watchdog};

/// Run the transport's contract suite for its kind on a plug-in. Returns the rule that it breaks and where, or None.
///
/// Raises mptcplab.plugins.PluginError when a call fails.
#[pyfunction]
pub fn check_plugin(py: Python<'_>, plugin: Given) -> PyResult<Option<String>> {
    let calls = Arc::new(Calls::default());
    let mut watchdog = Watchdog::start(&calls, None)?;
    let class = Arc::new(Class::new(plugin, calls)?);
    // Objects with the same seed: the suites compare the results of two of them.
    let origin = Origin::alone(1);
    let broken = py.detach(|| {
        let broken = match class.kind {
            Kind::Congestion => {
                let made = || super::congestion::make(&class, &origin);
                congestion::contract::check(made).err().map(|violation| violation.to_string())
            }
            Kind::Scheduler => {
                let made = || super::scheduler::make(&class, &origin);
                scheduler::contract::check(made).err().map(|violation| violation.to_string())
            }
            Kind::PathManager => {
                let made = || super::path_manager::make(&class, &origin);
                path_manager::contract::check(made).err().map(|violation| violation.to_string())
            }
        };
        watchdog.stop();
        broken
    });
    match watchdog.take_error(py) {
        Some(raised) => Err(raised),
        None => Ok(broken),
    }
}
