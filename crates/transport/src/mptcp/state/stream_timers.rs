//! Timers of the data level: retransmission there, and probes of a closed window.

use crate::scheduler::SubflowSet;
use crate::time::Instant;

/// When they expire, and how often they have in vain.
#[derive(Clone, Copy, Debug)]
pub struct StreamTimers {
    /// Retransmission at the data level.
    pub retransmit_at: Instant,
    /// Subflows that carried the first byte not acknowledged at the data level again.
    pub hole_tried: SubflowSet,
    /// Zero-window probe.
    pub probe_at: Instant,
    pub backoff: u32,
    pub probe_backoff: u32,
    /// A zero-window probe is to be sent.
    pub probe_due: bool,
    /// Zero-window probes since the peer was last heard.
    pub unanswered: u8,
}

impl StreamTimers {
    pub fn new() -> Self {
        StreamTimers {
            retransmit_at: Instant::NEVER,
            hole_tried: SubflowSet::default(),
            probe_at: Instant::NEVER,
            backoff: 0,
            probe_backoff: 0,
            probe_due: false,
            unanswered: 0,
        }
    }

    /// The peer's window opened.
    #[inline(always)]
    pub fn window_opened(&mut self) {
        self.probe_at = Instant::NEVER;
        self.probe_backoff = 0;
    }

    /// The first missing byte has arrived at the peer.
    #[inline(always)]
    pub fn acknowledged(&mut self) {
        self.backoff = 0;
        self.hole_tried = SubflowSet::default();
        self.retransmit_at = Instant::NEVER;
    }

    /// Nothing is to be sent any more.
    pub fn stop(&mut self) {
        self.retransmit_at = Instant::NEVER;
        self.probe_at = Instant::NEVER;
    }
}
