//! The receive window grows: with each segment, and with what is read in a round trip.

use super::Connection;
use crate::memory::Ratio;
use crate::mptcp::first_windows::{counted_mss, halves_memory};
use crate::mptcp::state::tuning::Seen;
use crate::queue::Sendable;
use crate::tcp::subflow::{State, Subflow};
use crate::time::{Duration, Instant};

impl<P: Sendable> Connection<P> {
    /// The buffer has room for a larger window than subflow `r` announces.
    #[cold]
    pub(super) fn grow_window(&mut self, r: usize, len: usize) {
        let (subflow, mss) = (&mut self.subflows[r], counted_mss(&self.config));
        let grew = subflow.grow_window(len as u64, mss);
        self.window_grew(r, grew);
    }

    /// The same, for a segment behind a hole beside `behind` others (Linux's `tcp_data_queue_ofo`).
    #[cold]
    pub(super) fn grow_window_behind_hole(&mut self, r: usize, len: usize, behind: usize) {
        let mss = counted_mss(&self.config);
        let grew = self.subflows[r].grow_window_behind_hole(len as u64, behind, mss);
        self.window_grew(r, grew);
    }

    fn window_grew(&mut self, r: usize, grew: bool) {
        let subflow = &self.subflows[r];
        if grew {
            self.rx.window.grow(subflow.rcv_ssthresh().bytes.into());
        }
        if let Some(tuning) = self.rx.window.tuning.as_mut().filter(|t| !t.shared) {
            tuning.measured(subflow.rcv_ssthresh().ratio);
        }
    }

    /// A round trip of reading is over. Answers whether the buffer has grown.
    #[cold]
    pub(super) fn tune_window(&mut self, now: Instant) -> bool {
        let (read, unread) = (self.rx.read_by_calls(), self.rx.unread());
        let counts_memory = self.rx.counts_memory();
        let Some(tuning) = &mut self.rx.window.tuning else { return false };
        // A subflow counts from its SYN on.
        let there = |s: &&Subflow<P>| {
            !matches!(s.state(), State::SynReceived | State::TimeWait | State::Closed)
                && (s.state() != State::SynSent || s.snd_nxt() > 0)
        };
        let (rtt, ratio) = self.subflows.iter().filter(there).fold((Duration::ZERO, Ratio::MOST), |(rtt, ratio), s| {
            (s.receive_rtt().max(rtt), s.rcv_ssthresh().ratio.min(ratio))
        });
        let unanswered = |s: &Subflow<P>| s.state() == State::SynSent && s.snd_nxt() > 0;
        let whole = counts_memory && self.subflows.iter().any(unanswered);
        let mss = if whole { self.config.mss } else { counted_mss(&self.config) };
        let halves_memory = halves_memory(&self.config);
        let seen = Seen {
            rtt,
            ratio,
            read,
            unread: if tuning.shared || halves_memory { 0 } else { unread },
            mss,
            halves_memory,
        };
        let grew = tuning.next_round(now, seen);
        if grew {
            let room = tuning.room();
            let data = room.ratio.data(room.memory.into());
            for subflow in &mut self.subflows {
                subflow.follow_buffer(room.memory.into(), data);
            }
            if self.config.tcp.quick_acks == 0 {
                self.rx.window.grow(data);
            }
        }
        grew
    }
}
