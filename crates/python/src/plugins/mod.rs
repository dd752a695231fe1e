//! Algorithms written in Python: adapters that implement the transport's traits by calling a Python object.
//!
//! `python/mptcplab/plugins` loads the classes, checks their parameters and hands over a [`Given`] for each: how to make an
//! object of it and which methods it has. What goes wrong in a call is kept in [`Calls`] and ends the run.

mod calls;
mod congestion;
mod path_manager;
mod scheduler;
mod suites;
mod views;

use std::sync::Arc;

use pyo3::prelude::*;
use simulator::Plugins;
use transport::plugin::Kind;

use calls::Calls;
pub use calls::Watchdog;
pub use suites::check_plugin;
pub use views::{PyAck, PyContext, PyCounters, PyDemand, PySample, PySubflow, PySubflows};

/// A plug-in of a run, as Python hands it over.
#[derive(FromPyObject)]
pub struct Given {
    /// `congestion`, `scheduler` or `path_manager`.
    pub kind: String,
    /// What the description calls it by.
    pub key: String,
    /// What messages call it by.
    pub name: String,
    /// Whether it is a rule for the classic machine, not a whole congestion control.
    pub is_rule: bool,
    /// Makes an object for a connection, of the seed of its random numbers.
    pub make: Py<PyAny>,
    /// The methods that its class does not leave to the base class.
    pub methods: Vec<String>,
    /// Whether a scheduler wants losses repaired as Linux does.
    pub repairs_as_kernel: bool,
    /// Names of the columns that a congestion control shows in samples.
    pub columns: Vec<String>,
    /// How long a call may take.
    pub call_limit_s: f64,
}

impl Watchdog {
    /// The plug-ins of a run that is about to begin, and what watches them.
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
