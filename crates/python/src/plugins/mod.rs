//! Algorithms written in Python: adapters that implement the transport's traits by calling a Python object.
//!
//! `python/mptcplab/plugins` loads the classes, checks their parameters and passes a [`Given`] for each: how to make an
//! object of it and which methods it has. An error in a call is kept in [`Calls`] and ends the run.

mod calls;
mod congestion;
mod given;
mod path_manager;
mod scheduler;
mod suites;
mod views;

use std::sync::Arc;

use pyo3::prelude::*;
use scenario::Plugins;
use transport::plugin::Kind;

use calls::Calls;
pub use calls::Watchdog;
pub use given::Given;
pub use suites::check_plugin;
pub use views::{PyAck, PyContext, PyCounters, PyDemand, PySample, PySubflow, PySubflows};

impl Watchdog {
    /// The plug-ins of a run that is about to begin, and their watchdog.
    pub fn over(given: Vec<Given>, progress: Option<&Py<PyAny>>) -> PyResult<(Plugins, Watchdog)> {
        let calls = Arc::new(Calls::default());
        let watchdog = match given.is_empty() {
            true => Watchdog::idle(&calls),
            false => Watchdog::start(&calls, progress.map(|ask| Python::attach(|py| ask.clone_ref(py))))?,
        };
        let mut plugins = Plugins::default();
        for each in given {
            let key = each.key.clone();
            let class = Arc::new(calls::Class::new(each, Arc::clone(&calls))?);
            match class.kind {
                Kind::Congestion => {
                    plugins.congestion.insert(key, congestion::choice(class));
                }
                Kind::Scheduler => {
                    plugins.schedulers.insert(key, scheduler::choice(class));
                }
                Kind::PathManager => {
                    plugins.path_managers.insert(key, path_manager::choice(class));
                }
            }
        }
        Ok((plugins, watchdog))
    }
}
