//! External algorithms, by the names under which a description refers to them.

use std::collections::BTreeMap;
use transport::{congestion, path_manager, scheduler};

/// External algorithms. One with the name of a built-in algorithm replaces it.
#[derive(Clone, Debug, Default)]
pub struct Plugins {
    /// Congestion controls.
    pub congestion: BTreeMap<String, congestion::Choice>,
    /// Schedulers.
    pub schedulers: BTreeMap<String, scheduler::Choice>,
    /// Path managers.
    pub path_managers: BTreeMap<String, path_manager::Choice>,
}

impl Plugins {
    /// The congestion control of this name, for connections called `label`.
    pub fn congestion(&self, name: &str, label: &str) -> Option<congestion::Choice> {
        Some(self.congestion.get(name)?.labelled(label))
    }

    /// The scheduler of this name, for connections called `label`.
    pub fn scheduler(&self, name: &str, label: &str) -> Option<scheduler::Choice> {
        Some(self.schedulers.get(name)?.labelled(label))
    }

    /// The path manager of this name, for connections called `label`.
    pub fn path_manager(&self, name: &str, label: &str) -> Option<path_manager::Choice> {
        Some(self.path_managers.get(name)?.labelled(label))
    }
}
