//! A sender's window: what it is worth after a pause, how it grows, and its mean over time.

use super::Subflow;
use crate::congestion::{Ack, Feedback, View, Window};
use crate::queue::Sendable;
use crate::tcp::control::Control;
use crate::tcp::rate::RateSampler;
use crate::tcp::tso::pacing_rate;
use crate::time::{Duration, Instant};
use crate::trace::{Spurious, WindowReason};
use wire::TIMESTAMPS_LEN;

impl<P: Sendable> Subflow<P> {
    /// What the congestion control is told, and what it makes of marks.
    pub fn tell_control(&mut self, samples: bool, scalable: bool) {
        (self.rtt.told, self.ecn.scalable) = (samples, scalable);
    }

    /// A window that the growth allows.
    pub fn bounded(&self, cwnd: f64) -> f64 {
        self.growth.bounded(cwnd)
    }

    /// The window is cut without a loss.
    pub fn penalise(&mut self, now: Instant, window: Window, view: &mut View) {
        self.set_window(now, window, view);
        self.notes.window(WindowReason::Penalty);
    }

    /// Why the window changed last, and by what a loss was shown to be none.
    pub fn take_notes(&mut self) -> (WindowReason, Option<Spurious>) {
        (self.notes.take_reason(), self.notes.spurious.take())
    }

    /// Gives the congestion control the feedback that it asks for. `linux`: windows are validated as in Linux; `kernel`: rates are
    /// measured so too.
    pub fn serve(&mut self, feedback: Feedback, linux: bool, kernel: bool) {
        if linux {
            self.growth.validation.become_linux();
        }
        if feedback != Feedback::Acks {
            self.rate = Some(Box::new(RateSampler::new(kernel)));
        }
        if feedback == Feedback::Steering {
            self.growth.steer();
            self.pacing.get_or_insert_default();
            if let Some(groups) = &mut self.groups {
                groups.steer();
            }
        }
    }

    /// The control sets window and pace itself.
    pub fn is_steered(&self) -> bool {
        self.growth.is_steered()
    }

    /// The window kept the transport from sending more.
    pub fn note_limited(&mut self) {
        self.growth.note_limited(self.snd_nxt);
    }

    /// Data is written in so many buffers, none of which has left, while nothing is under way: Linux looks at the pause for each of them
    /// (`tcp_skb_entail`), unless the control sets the window itself (`tcp_slow_start_after_idle_check`).
    pub fn resume_as_linux(&mut self, now: Instant, buffers: usize, view: &mut View) {
        if !self.board.is_empty() || !self.growth.validation.is_linux() || self.growth.is_steered() {
            return;
        }
        let Some(last_at) = self.groups.as_mut().and_then(|groups| groups.pause()) else { return };
        let idle_ms = now.as_millis() - last_at.as_millis();
        for _ in 0..buffers {
            if let Some(window) = self.growth.validation.halved(idle_ms, self.rtt.rto(), view) {
                if self.group_rate().is_none() {
                    self.keep_group_rate(view, false); // only an acknowledgment changes it
                    self.detection.set_clean(false);
                }
                self.notes.window(WindowReason::IdleRestart);
                self.set_window(now, window, view);
            }
        }
    }

    /// Data goes out with nothing under way: how much the window is worth after the pause (RFC 7661 §4.4.3).
    pub fn resume(&mut self, now: Instant, view: &mut View) {
        if self.groups.is_some() && self.growth.validation.is_linux() {
            return; // it was looked at when the data was written
        }
        if let Some(window) = self.growth.after_pause(now, self.rtt.rto(), view) {
            self.notes.window(WindowReason::IdleRestart);
            self.set_window(now, window, view);
        }
    }

    /// What a segment holds beside timestamps (`mss_cache`).
    pub fn paced_mss(&self) -> u32 {
        self.mss() - if self.timestamps { TIMESTAMPS_LEN as u32 } else { 0 }
    }

    /// The rate at which the kernel would pace, in bytes per second, where that is not what follows from the window.
    pub fn group_rate(&self) -> Option<u64> {
        self.groups.as_ref().and_then(|groups| groups.rate())
    }

    /// Where segments leave in groups: the rate that follows from the window stays until the next acknowledgment, unless nothing is lost
    /// (`tcp_update_pacing_rate`).
    #[cold]
    pub(super) fn keep_group_rate(&mut self, view: &View, clean: bool) {
        let segment = self.paced_mss();
        let outstanding = u64::from(self.board.outstanding());
        if let Some(groups) = &mut self.groups {
            groups.pace_at((!clean).then(|| pacing_rate(view, outstanding, segment)));
        }
    }

    /// What was delivered outside of a recovery opens the window. `before` the acknowledgment: snd_una and what was in
    /// flight. Delivered: bytes, segments, which Linux counts instead, and the age of the youngest, if it says anything.
    #[inline(always)]
    pub fn grow(
        &mut self,
        now: Instant,
        before: (u64, u32),
        (bytes, segments, last_rtt): (u64, u32, Option<Duration>),
        control: &mut Control<'_>,
    ) {
        let view = control.view();
        let by_bytes = bytes as f64 / f64::from(view.mss);
        let acked_segments = if self.growth.validation.is_linux() { f64::from(segments) } else { by_bytes };
        let numbers = (self.snd_una, self.snd_nxt);
        let (cwnd_limited, acked_segments) = self.growth.acknowledged(now, before, acked_segments, numbers, view);
        let ack = Ack { now, acked_segments, rtt: last_rtt, cwnd_limited };
        let window = control.on_ack(&ack);
        self.set_window(now, window, control.view_mut());
        if !cwnd_limited && let Some(window) = self.growth.validation.reduced(now, control.view()) {
            self.notes.window(WindowReason::Validation);
            self.set_window(now, window, control.view_mut());
        }
    }

    /// A threshold as the kernel has it: whole segments, rounded down.
    pub fn whole(&self, ssthresh: f64) -> f64 {
        if self.growth.validation.is_linux() && ssthresh >= 1.0 { ssthresh.floor() } else { ssthresh }
    }

    /// Sets the window and keeps its mean over time.
    pub fn set_window(&mut self, now: Instant, window: Window, view: &mut View) {
        self.set_cwnd(now, window.cwnd, view);
        view.ssthresh = window.ssthresh;
    }

    /// As [`set_window`](Self::set_window), without the threshold.
    pub fn set_cwnd(&mut self, now: Instant, cwnd: f64, view: &mut View) {
        self.sent.extend_cwnd(view.cwnd, now);
        view.cwnd = self.growth.bounded(cwnd);
    }
}
