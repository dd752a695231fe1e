//! Timers of control: when something at the level of MPTCP is due that is not data.

use crate::time::Instant;

/// When.
#[derive(Clone, Copy, Debug)]
pub struct ControlTimers {
    /// The earliest of all that `control_timer` looks at.
    next_at: Instant,
    /// The scheduler asked to be asked again then.
    scheduler_at: Instant,
    /// The path manager wants to be asked then.
    path_at: Instant,
    /// No subflow is left; the connection is given up then.
    interrupted_until: Instant,
}

impl ControlTimers {
    pub fn new() -> Self {
        let never = Instant::NEVER;
        ControlTimers { next_at: never, scheduler_at: never, path_at: never, interrupted_until: never }
    }

    pub fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Something of them, or of those that others keep, is due then.
    pub fn look_by(&mut self, at: Instant) {
        self.next_at = self.next_at.min(at);
    }

    /// All are looked at now. What is due later is to be told again.
    pub fn look(&mut self) {
        self.next_at = Instant::NEVER;
    }

    /// When the path manager is asked, or the connection given up.
    pub fn own_at(&self) -> Instant {
        self.path_at.min(self.interrupted_until)
    }

    pub fn scheduler_at(&self) -> Instant {
        self.scheduler_at
    }

    pub fn ask_scheduler_at(&mut self, at: Instant) {
        self.scheduler_at = at;
    }

    /// Whether the scheduler is to be asked now.
    pub fn asks_scheduler(&mut self, now: Instant) -> bool {
        self.scheduler_at.expires(now)
    }

    /// The path manager is asked then at the latest. Answers when it is.
    pub fn ask_path_manager_by(&mut self, at: Instant) -> Instant {
        self.path_at = self.path_at.min(at);
        self.path_at
    }

    /// Whether the path manager is to be asked now.
    pub fn asks_path_manager(&mut self, now: Instant) -> bool {
        self.path_at.expires(now)
    }

    pub fn forget_path_manager(&mut self) {
        self.path_at = Instant::NEVER;
    }

    pub fn is_interrupted(&self) -> bool {
        !self.interrupted_until.is_never()
    }

    /// No subflow is left; an attempt to join that fails does not prolong it. Answers when the connection is given up.
    pub fn interrupt(&mut self, until: Instant) -> Instant {
        self.interrupted_until = self.interrupted_until.min(until);
        self.interrupted_until
    }

    pub fn resume(&mut self) {
        self.interrupted_until = Instant::NEVER;
    }

    /// Whether the connection is to be given up now.
    pub fn gives_up(&mut self, now: Instant) -> bool {
        self.interrupted_until.expires(now)
    }

    /// Nothing is due any more.
    pub fn stop(&mut self) {
        self.forget_path_manager();
        self.resume();
    }
}
