//! The path manager that opens nothing itself and accepts what the peer opens ("default" of the 2017 kernel).

use super::{PathAction, PathContext, PathEvent, PathPolicy};
use crate::algorithm::{About, Algorithm, Capability, Given, Make};
use crate::plugin::Origin;

/// Accepts joins, makes none.
#[derive(Debug, Default)]
pub struct Passive;

impl Algorithm for Passive {
    const ABOUT: About = About::new("default", "passive: the initial subflow only", "Linux mptcp.org “default”")
        .with(Capability::InKernel);
}

impl Make for Passive {
    fn make(_: &Given, _: &Origin) -> Self {
        Passive
    }
}

impl PathPolicy for Passive {
    fn name(&self) -> &'static str {
        "default"
    }

    fn on_event(&mut self, _event: PathEvent, _context: &PathContext<'_>, _actions: &mut Vec<PathAction>) {}
}
