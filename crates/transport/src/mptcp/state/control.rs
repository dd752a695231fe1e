//! Timers of control: when something at the level of MPTCP is due that is not data.

use crate::time::Instant;

/// When.
#[derive(Clone, Copy, Debug)]
pub struct ControlTimers {
    /// The earliest of all that `control_timer` looks at.
    pub next_at: Instant,
    /// The scheduler asked to be asked again then.
    pub scheduler_at: Instant,
    /// The path manager wants to be asked then.
    pub path_at: Instant,
    /// No subflow is left; the connection is given up then.
    pub interrupted_until: Instant,
}

impl ControlTimers {
    pub fn new() -> Self {
        ControlTimers {
            next_at: Instant::NEVER,
            scheduler_at: Instant::NEVER,
            path_at: Instant::NEVER,
            interrupted_until: Instant::NEVER,
        }
    }

    /// Nothing is due any more.
    pub fn stop(&mut self) {
        self.path_at = Instant::NEVER;
        self.interrupted_until = Instant::NEVER;
    }
}
