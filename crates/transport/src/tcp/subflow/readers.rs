//! What others may know of a subflow. It changes by what its rooms do.

use super::{Join, State, Subflow};
use crate::queue::Sendable;
use crate::statistics::{ReceivedCounts, SentCounts, WaitedCounts};
use crate::tcp::acknowledge::Acknowledging;
use crate::tcp::losses::Losses;
use crate::tcp::opening::Scales;
use crate::tcp::rcv_ssthresh::RcvSsthresh;
use crate::tcp::rtt::RttEstimator;
use crate::tcp::scoreboard::Scoreboard;
use crate::time::Instant;

/// Readers of single fields: each is described where the field is.
macro_rules! readers {
    ($($name:ident: $type:ty = $field:ident;)*) => {
        $(#[inline(always)]
        pub fn $name(&self) -> $type {
            self.$field
        })*
    };
}

/// The same of parts.
macro_rules! parts {
    ($($name:ident: $type:ty = $field:ident;)*) => {
        $(#[inline(always)]
        pub fn $name(&self) -> &$type {
            &self.$field
        })*
    };
}

impl<P: Sendable> Subflow<P> {
    readers! {
        rcv_nxt: u64 = rcv_nxt;
        snd_una: u64 = snd_una;
        snd_nxt: u64 = snd_nxt;
        right: u64 = right;
        has_timestamps: bool = timestamps;
        has_sack: bool = sack;
        scales: Scales = scales;
        state: State = state;
        mss: u32 = mss;
        timer: Instant = timer;
        retries: u32 = retries;
        join: Option<Join> = join;
        local_id: u8 = local_id;
        remote_id: u8 = remote_id;
        is_active_open: bool = active_open;
        is_backup: bool = backup;
        is_probe_due: bool = probe_due;
        sent: SentCounts = sent;
        received: ReceivedCounts = received;
    }

    parts! {
        acknowledging: Acknowledging = ack;
        rcv_ssthresh: RcvSsthresh = rcv_ssthresh;
        board: Scoreboard<P> = board;
        rtt: RttEstimator = rtt;
    }

    /// What is kept of losses, once there were some.
    pub fn losses(&self) -> Option<&Losses> {
        self.losses.as_deref()
    }

    /// What waited for what it brought, and for what.
    pub fn waited(&self) -> WaitedCounts {
        self.waited.as_deref().copied().unwrap_or_default()
    }

    /// How many segments it keeps, in either direction.
    pub fn items_held(&self) -> usize {
        self.board.outstanding() as usize + self.reorder.len()
    }

    /// It has the place of another, whose counters go on: whoever takes differences sees none below zero.
    pub fn go_on_counting(&mut self, old: &mut Self) {
        (self.sent, self.received, self.waited) = (old.sent, old.received, old.waited.take());
        self.losses = old.losses.as_deref().map(|losses| Box::new(losses.counts()));
    }
}
