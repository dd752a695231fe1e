//! Timers of control: when something at the level of MPTCP is due that is not data.

use crate::time::NEVER;

/// When.
#[derive(Clone, Copy, Debug)]
pub struct ControlTimers {
    /// The earliest of all that `control_timer` looks at.
    pub next_ns: u64,
    /// The scheduler asked to be asked again then.
    pub scheduler_ns: u64,
    /// The path manager wants to be asked then.
    pub path_ns: u64,
    /// No subflow is left; the connection is given up then.
    pub interrupted_until_ns: u64,
}

impl ControlTimers {
    pub fn new() -> Self {
        ControlTimers { next_ns: NEVER, scheduler_ns: NEVER, path_ns: NEVER, interrupted_until_ns: NEVER }
    }

    /// Nothing is due any more.
    pub fn stop(&mut self) {
        self.path_ns = NEVER;
        self.interrupted_until_ns = NEVER;
    }
}
