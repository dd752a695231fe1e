//! How a sender's window grows and what bounds it: by what is acknowledged, unless it was not filled (RFC 7661).

use super::rate::RateSampler;
use super::subflow::Subflow;
use super::validation::Validation;
use crate::congestion::{Ack, Controller, Feedback, View, Window};
use crate::queue::Stream;
use crate::trace::WindowReason;
use crate::{Growth as By, TcpOptions};

/// What the growth of a window depends on.
#[derive(Debug)]
#[repr(C)]
pub struct Growth {
    /// Data below this sequence number was sent while the window was the limit.
    limited_below: u64,
    validation: Validation,
    /// In segments, beyond which the window does not grow.
    max_window: f64,
    /// By acknowledgments, not by what they are for.
    counts_acks: bool,
    /// The control sets the window with each delivery, in recovery too.
    steered: bool,
}

impl Growth {
    pub fn new(options: &TcpOptions) -> Self {
        Growth {
            limited_below: 0,
            validation: Validation::new(options.initial_window),
            max_window: options.max_window.map_or(f64::INFINITY, f64::from),
            counts_acks: options.growth == By::Acks,
            steered: false,
        }
    }

    /// A window of as many segments, unless that is too many.
    #[inline(always)]
    pub fn bounded(&self, cwnd: f64) -> f64 {
        // Not `min`, which would hide a NaN.
        if cwnd > self.max_window { self.max_window } else { cwnd }
    }

    /// Whether the control sets the window with each delivery.
    pub fn is_steered(&self) -> bool {
        self.steered
    }

    /// Whether windows are validated as in Linux.
    pub fn is_linux(&self) -> bool {
        self.validation.is_linux()
    }

    /// As [`Validation::repaired`].
    pub fn repaired(&mut self, ssthresh: f64, retransmissions: u64) -> Option<f64> {
        self.validation.repaired(ssthresh, retransmissions)
    }

    /// As [`Validation::lost`].
    pub fn lost(&mut self, outstanding: u32, cwnd: f64, retransmissions: u64) -> Option<f64> {
        self.validation.lost(outstanding, cwnd, retransmissions)
    }

    #[cfg(test)]
    pub fn limited_below(&self) -> u64 {
        self.limited_below
    }
}

impl<P: Stream> Subflow<P> {
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
            self.growth.steered = true;
            self.pacing.get_or_insert_default();
        }
    }

    /// The window kept the transport from sending more.
    pub fn note_limited(&mut self) {
        self.growth.limited_below = self.snd_nxt;
    }

    /// Data goes out with nothing under way: how much the window is worth after the pause (RFC 7661 §4.4.3).
    pub fn resume(&mut self, now_ns: u64, view: &mut View) {
        if self.growth.steered {
            return;
        }
        let window = if self.growth.validation.is_linux() {
            self.growth.validation.restarted(now_ns, self.rtt.rto_ns(), view)
        } else {
            self.growth.validation.resumed(now_ns, view)
        };
        if let Some(window) = window {
            self.notes.window(WindowReason::IdleRestart);
            self.set_window(now_ns, window, view);
        }
    }

    /// What was delivered outside of a recovery opens the window. `before` the acknowledgment: snd_una and what was in
    /// flight. Delivered: bytes, and the age of the youngest segment, if it says anything.
    #[inline]
    pub fn grow(
        &mut self,
        now_ns: u64,
        (una_before, pipe_before): (u64, u32),
        (bytes, last_rtt_ns): (u64, Option<u64>),
        group: &mut [View],
        r: usize,
        controller: &mut Controller,
    ) {
        let view = &group[r];
        let limited = una_before < self.growth.limited_below
            || (view.in_slow_start() && view.cwnd < 2.0 * f64::from(pipe_before));
        let acked_segments = bytes as f64 / f64::from(view.mss);
        let numbers = (self.snd_una, self.snd_nxt);
        self.growth.validation.acknowledged(now_ns, acked_segments, numbers, limited, view);
        let cwnd_limited = limited && self.growth.validation.is_validated();
        let acked_segments = if self.growth.counts_acks { 1.0 } else { acked_segments };
        let ack = Ack { now_ns, acked_segments, rtt_ns: last_rtt_ns, cwnd_limited };
        let window = controller.on_ack(group, r, &ack);
        self.set_window(now_ns, window, &mut group[r]);
        if !cwnd_limited && let Some(window) = self.growth.validation.reduced(now_ns, &group[r]) {
            self.notes.window(WindowReason::Validation);
            self.set_window(now_ns, window, &mut group[r]);
        }
    }

    /// A threshold as the kernel has it: whole segments, rounded down.
    pub fn whole(&self, ssthresh: f64) -> f64 {
        if self.growth.validation.is_linux() && ssthresh >= 1.0 { ssthresh.floor() } else { ssthresh }
    }

    /// Sets the window and keeps its mean over time.
    pub fn set_window(&mut self, now_ns: u64, window: Window, view: &mut View) {
        self.set_cwnd(now_ns, window.cwnd, view);
        view.ssthresh = window.ssthresh;
    }

    /// As [`set_window`](Self::set_window), without the threshold.
    pub fn set_cwnd(&mut self, now_ns: u64, cwnd: f64, view: &mut View) {
        self.sent.extend_cwnd(view.cwnd, now_ns);
        view.cwnd = self.growth.bounded(cwnd);
    }
}
