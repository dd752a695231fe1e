//! The tail loss probe of a sender: when it is scheduled, and what became of it (RFC 8985 §7). Its timer is in `rack.rs`.

use super::Subflow;
use crate::congestion::{Phase, View, Window};
use crate::queue::Sendable;
use crate::tcp::control::Control;
use crate::tcp::rack::Probe;
use crate::tcp::wheel;
use crate::time::{Duration, Instant};
use crate::trace::WindowReason;

impl<P: Sendable> Subflow<P> {
    /// Schedules a tail loss probe (RFC 8985 §7.2): with SACK, when nothing is being repaired or looks lost.
    pub fn arm_probe(&mut self, now: Instant, view: &View) {
        if self.rtt.ticks {
            self.arm_probe_in_ticks(now, view, now + wheel::ticks(self.rtt.rto()));
        } else if self.wants_probe(view) {
            self.rack.arm_probe(now, view.srtt, self.board.outstanding(), self.timer);
        } else {
            self.rack.probe_at = Instant::NEVER;
        }
    }

    /// The same with timers as Linux's, at the latest at `rto_at`.
    #[cold]
    pub fn arm_probe_in_ticks(&mut self, now: Instant, view: &View, rto_at: Instant) {
        if self.wants_probe(view) {
            self.rack.arm_probe_in_ticks(now, view.srtt, self.board.outstanding(), rto_at);
        } else {
            self.rack.probe_at = Instant::NEVER;
        }
    }

    fn wants_probe(&self, view: &View) -> bool {
        self.sack
            && self.detection.is_by_time()
            && view.phase == Phase::Open
            && self.rack.probe.is_none()
            && self.board.sacked() == 0
            && !self.board.is_empty()
    }

    /// A tail loss probe is due, in place of a timeout that is due too (RFC 8985 §7.2).
    pub fn probe_timer(&mut self, now: Instant) {
        self.detection.set_clean(false);
        self.rack.probe_at = Instant::NEVER;
        self.probe_due = true;
        self.timer = self.timer.max(now + Duration::NANOSECOND);
    }

    /// The probe went out.
    pub fn probe_sent(&mut self, now: Instant, repeated: bool) {
        self.detection.set_clean(false);
        self.probe_due = false;
        self.rack.probe_at = Instant::NEVER;
        self.rack.probe = Some(Probe { end: self.snd_nxt, repeated });
        self.rack.sampled = false;
        self.restart_timer(now);
    }

    /// What became of the probe (RFC 8985 §7.4.2). `duplicate`: the acknowledgment is a duplicate without SACK blocks, which
    /// answers the second copy where no D-SACK is spoken.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn settle_probe(
        &mut self,
        now: Instant,
        ack: u64,
        duplicate_reported: bool,
        duplicate: bool,
        control: &mut Control<'_>,
    ) {
        let Some(probe) = self.rack.probe else { return };
        if ack < probe.end {
            return;
        }
        if probe.repeated && !duplicate_reported && ack == probe.end && !duplicate {
            return; // both copies may still be reported: an acknowledgment above tells
        }
        self.rack.probe = None;
        let repaired = probe.repeated && !duplicate_reported && control.view().phase == Phase::Open && ack > probe.end;
        if repaired {
            // The probe filled the only hole: a loss like any other for the congestion control.
            let ssthresh = self.whole(control.on_loss(now));
            let view = control.view_mut();
            view.bytes_between_losses = std::mem::take(&mut view.bytes_since_loss);
            self.notes.window(WindowReason::TailLossProbe);
            self.set_window(now, Window { cwnd: ssthresh, ssthresh }, view);
        }
    }
}
