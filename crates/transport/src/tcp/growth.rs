//! How a sender's window grows and what bounds it: by what is acknowledged, unless it was not filled (RFC 7661).

use super::validation::Validation;
use crate::congestion::{View, Window};
use crate::time::{Duration, Instant};
use crate::{Growth as By, TcpOptions};

/// What the growth of a window depends on.
#[derive(Debug)]
#[repr(C)]
pub struct Growth {
    /// Data below this sequence number was sent while the window was the limit.
    limited_below: u64,
    pub validation: Validation,
    /// In segments, beyond which the window does not grow.
    max_window: f64,
    /// By acknowledgments, not by what they are for.
    counts_acks: bool,
    /// The control sets the window with each delivery, in recovery too.
    steered: bool,
    /// The most segments that were outstanding since the window was last said to be the limit or not, where segments leave in groups as
    /// Linux's do; 0: they do not.
    most_outstanding: u32,
}

impl Growth {
    pub fn new(options: &TcpOptions) -> Self {
        Growth {
            limited_below: 0,
            validation: Validation::new(options.initial_window),
            max_window: options.max_window.map_or(f64::INFINITY, f64::from),
            counts_acks: options.growth == By::Acks,
            steered: false,
            most_outstanding: 0,
        }
    }

    /// A window of as many segments, unless that is too many.
    #[inline(always)]
    pub fn bounded(&self, cwnd: f64) -> f64 {
        // Not `min`, which would hide a NaN.
        if cwnd > self.max_window { self.max_window } else { cwnd }
    }

    /// The control sets the window with each delivery, in recovery too.
    pub fn steer(&mut self) {
        self.steered = true;
    }

    /// The window kept the transport from sending more than up to `snd_nxt`.
    #[inline(always)]
    pub fn note_limited(&mut self, snd_nxt: u64) {
        self.limited_below = if self.most_outstanding > 0 { u64::MAX } else { snd_nxt };
    }

    /// A group of segments has left, and so many are outstanding: what Linux remembers (`tcp_cwnd_validate`). That the window was the limit
    /// holds until a group that leaves room follows the acknowledgment of all that was under way when it was said. `round_over`: that has
    /// come. Answers whether another round begins.
    pub fn note_group(&mut self, outstanding: u32, has_room: bool, round_over: bool) -> bool {
        let more = self.limited_below < u64::MAX && outstanding > self.most_outstanding;
        let renewed = round_over || !has_room || more;
        if renewed {
            self.limited_below = if has_room { 0 } else { u64::MAX };
            self.most_outstanding = outstanding.max(1);
        }
        renewed
    }

    /// What the window is worth after a pause (RFC 7661 §4.4.3), if that is less.
    pub fn after_pause(&mut self, now: Instant, rto: Duration, view: &View) -> Option<Window> {
        match (self.steered, self.validation.is_linux()) {
            (true, _) => None,
            (false, true) => self.validation.restarted(now, rto, view),
            (false, false) => self.validation.resumed(now, view),
        }
    }

    /// So many segments were acknowledged; `before` that, snd_una and what was in flight; `numbers`: snd_una and snd_nxt now.
    /// Answers whether the window was the limit, and for how many segments it grows.
    #[inline(always)]
    pub fn acknowledged(
        &mut self,
        now: Instant,
        (una_before, pipe_before): (u64, u32),
        acked_segments: f64,
        numbers: (u64, u64),
        view: &View,
    ) -> (bool, f64) {
        let limited = una_before < self.limited_below
            || (view.in_slow_start() && view.cwnd < 2.0 * f64::from(self.outstanding_or(pipe_before)));
        self.validation.acknowledged(now, acked_segments, numbers, limited, view);
        let acked_segments = if self.counts_acks { 1.0 } else { acked_segments };
        (limited && self.validation.is_validated(), acked_segments)
    }

    /// What was outstanding at most, where that is remembered.
    fn outstanding_or(&self, pipe: u32) -> u32 {
        if self.most_outstanding > 0 { self.most_outstanding } else { pipe }
    }

    /// Whether the control sets the window with each delivery.
    pub fn is_steered(&self) -> bool {
        self.steered
    }

    #[cfg(test)]
    pub fn limited_below(&self) -> u64 {
        self.limited_below
    }
}
