//! Why something changed on a subflow, for a connection that is traced. Written where it is decided, read by nobody else.

use crate::trace::{Spurious, WindowReason};

/// Of a subflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes {
    reason: Option<WindowReason>,
    /// The last loss was none.
    pub spurious: Option<Spurious>,
}

impl Notes {
    /// The window changes for another reason than that something was acknowledged.
    #[inline(always)]
    pub fn window(&mut self, reason: WindowReason) {
        self.reason = Some(reason);
    }

    /// Why it has changed since the last call.
    pub fn take_reason(&mut self) -> WindowReason {
        self.reason.take().unwrap_or(WindowReason::Acknowledgment)
    }
}
