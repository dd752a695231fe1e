//! What a subflow keeps of losses and of what was done about them: without memory on one that never lost anything.

use super::recovery::{Frto, Recovery, Retransmission, Undo};
use crate::time::Instant;

/// Of a subflow on which something was lost, probed for, or marked.
#[derive(Debug, Default)]
pub struct Losses {
    pub recovery: Recovery,
    pub undo: Option<Undo>,
    /// The first retransmission of a recovery that another one follows at once.
    pub earlier: Option<Retransmission>,
    pub frto: Frto,
    /// When retransmission timeouts were.
    pub timeout_times: Vec<Instant>,
    /// Tail loss probes that sent a segment again, which nobody held to be lost.
    pub repeats: u64,
    /// The rest as in [`Statistics`](crate::Statistics).
    pub timeouts: u64,
    pub undone: u64,
    pub marks: u64,
    pub probes: u64,
    pub reinjections: u64,
    pub first_reinjection_at: Instant,
}

impl Losses {
    /// The counters alone, for the subflow that has the place of this one from now on.
    pub fn counts(&self) -> Losses {
        let Losses { timeouts, undone, marks, probes, reinjections, first_reinjection_at, .. } = *self;
        Losses { timeouts, undone, marks, probes, reinjections, first_reinjection_at, ..Losses::default() }
    }

    /// A segment goes out with data sent before on another subflow.
    pub fn reinjected(&mut self, now: Instant) {
        self.reinjections += 1;
        if self.first_reinjection_at.is_zero() {
            self.first_reinjection_at = now;
        }
    }
}
