//! The path manager that opens nothing itself and accepts what the peer opens ("default" of the 2017 kernel).

use super::{PathAction, PathContext, PathEvent, PathPolicy};

/// Accepts joins, makes none.
#[derive(Debug, Default)]
pub struct Passive;

impl PathPolicy for Passive {
    fn name(&self) -> &'static str {
        "default"
    }

    fn on_event(&mut self, _event: PathEvent, _context: &PathContext<'_>, _actions: &mut Vec<PathAction>) {}
}
