//! Timers of the data level: retransmission there, and probes of a closed window.

use crate::scheduler::SubflowSet;
use crate::time::Instant;

/// When they expire, and how often they have in vain.
#[derive(Clone, Copy, Debug)]
pub struct StreamTimers {
    /// Retransmission at the data level.
    retransmit_at: Instant,
    /// Subflows that carried the first byte not acknowledged at the data level again.
    hole_tried: SubflowSet,
    /// Zero-window probe.
    probe_at: Instant,
    backoff: u32,
    probe_backoff: u32,
    /// A zero-window probe is to be sent.
    probe_due: bool,
    /// Zero-window probes since the peer was last heard.
    unanswered: u8,
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

    /// When data goes out again at the data level.
    pub fn retransmit_at(&self) -> Instant {
        self.retransmit_at
    }

    /// When the peer's closed window is probed.
    pub fn probe_at(&self) -> Instant {
        self.probe_at
    }

    /// How often data was sent again in vain.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// How often the peer's window was probed since it closed.
    pub fn probe_backoff(&self) -> u32 {
        self.probe_backoff
    }

    /// Data goes out again then.
    #[inline(always)]
    pub fn set_retransmission(&mut self, at: Instant) {
        self.retransmit_at = at;
    }

    /// Nothing is outstanding.
    pub fn stop_retransmission(&mut self) {
        self.retransmit_at = Instant::NEVER;
    }

    /// Whether data goes out again now.
    pub fn takes_retransmission(&mut self, now: Instant) -> bool {
        let due = self.retransmit_at <= now;
        if due {
            self.stop_retransmission();
        }
        due
    }

    /// Data has gone out again.
    pub fn note_retransmission(&mut self) {
        self.backoff += 1;
    }

    /// There is a path again.
    pub fn begin_anew(&mut self) {
        self.backoff = 0;
    }

    /// Subflow `r` carries the first missing byte again.
    #[inline(always)]
    pub fn try_hole(&mut self, r: usize) {
        self.hole_tried.insert(r);
    }

    /// Subflows that carried the first missing byte again.
    pub fn hole_tried(&self) -> SubflowSet {
        self.hole_tried
    }

    /// The next probe of the closed window is due then.
    pub fn set_probe(&mut self, at: Instant) {
        self.probe_backoff += 1;
        self.probe_at = at;
    }

    /// Whether a probe is due now.
    pub fn takes_probe(&mut self, now: Instant) -> bool {
        let due = self.probe_at <= now;
        if due {
            self.probe_at = Instant::NEVER;
        }
        due
    }

    /// A probe is to go out, unless so many have had no answer. Answers whether it is.
    pub fn probe(&mut self, most: u32) -> bool {
        let more = u32::from(self.unanswered) < most;
        if more {
            self.unanswered += 1;
            self.probe_due = true;
        }
        more
    }

    /// A zero-window probe is to be sent.
    #[inline(always)]
    pub fn is_probe_due(&self) -> bool {
        self.probe_due
    }

    /// The same, which now goes out.
    #[inline(always)]
    pub fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_due)
    }

    /// A segment came from the peer, or another subflow is to bring one.
    #[inline(always)]
    pub fn heard(&mut self) {
        self.unanswered = 0;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_taken_once() {
        let mut timers = StreamTimers::new();
        let at = Instant::from_millis(5);
        timers.set_retransmission(at);
        timers.set_probe(at);
        assert!(!timers.takes_retransmission(Instant::from_millis(4)) && !timers.takes_probe(Instant::from_millis(4)));
        assert!(timers.takes_retransmission(at) && timers.takes_probe(at));
        assert!(!timers.takes_retransmission(at) && !timers.takes_probe(at));
        timers.note_retransmission();
        timers.try_hole(1);
        assert_eq!((timers.backoff(), timers.probe_backoff(), timers.hole_tried()), (1, 1, SubflowSet::one(1)));
        timers.acknowledged();
        timers.window_opened();
        assert_eq!((timers.backoff(), timers.probe_backoff(), timers.hole_tried()), (0, 0, SubflowSet::default()));
    }

    /// RFC 9293 §3.8.6.1: probes go on as long as they are answered.
    #[test]
    fn so_many_probes_may_stay_without_an_answer() {
        let mut timers = StreamTimers::new();
        assert!(timers.probe(2) && timers.take_probe() && !timers.take_probe());
        assert!(timers.probe(2) && !timers.probe(2));
        timers.heard();
        assert!(timers.probe(2) && timers.is_probe_due());
    }
}
