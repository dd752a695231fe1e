//! The receive window grows: with each segment, and with what is read in a round trip.

use super::connection::Connection;
use super::state::tuning::{Seen, Tuning};
use super::state::window::ReceiveWindow;
use crate::memory::{self, Ratio};
use crate::queue::Stream;
use crate::tcp::earned::Earned;
use crate::tcp::subflow::{State, Subflow};
use crate::{Config, Protocol, ReceiveBuffer};

/// The window that a SYN announces: of a fixed buffer all; otherwise, as Linux, whole segments in half of the first buffer, where
/// an answer knows that timestamps take 12 bytes of each.
pub(super) fn first_window(config: &Config, initiator: bool) -> u64 {
    if let ReceiveBuffer::Fixed(bytes) = config.receive_buffer {
        return bytes;
    }
    let half = Ratio::ASSUMED.data(memory::INITIAL_BYTES);
    let segment = u64::from(config.mss) - if !initiator && config.tcp.timestamps { 12 } else { 0 };
    half / segment * segment
}

/// The window of a new connection.
pub(super) fn first_receive_window(config: &Config, initiator: bool) -> ReceiveWindow {
    let tuning = Tuning::new(counted_mss(config), config.protocol == Protocol::Mptcp);
    ReceiveWindow::new(config.receive_buffer, first_window(config, initiator), tuning)
}

/// The largest segment of data that Linux counts with, for the window: timestamps take 12 bytes of it.
pub(super) fn counted_mss(config: &Config) -> u16 {
    config.mss - if config.tcp.timestamps { 12 } else { 0 }
}

/// What the arrivals on a new subflow have earned.
pub(super) fn first_earned(config: &Config, initiator: bool) -> Earned {
    match config.receive_buffer {
        ReceiveBuffer::Auto if config.tcp.quick_acks > 0 => {
            let mut earned = Earned::new(counted_mss(config), first_window(config, initiator));
            if !initiator && config.protocol == Protocol::Mptcp {
                earned.told = 0; // the first acknowledgment of the side that answers has a DSS already
            }
            earned
        }
        _ => Earned::whole(config.mss),
    }
}

impl<P: Stream> Connection<P> {
    /// The buffer has room for a larger window than subflow `r` has earned.
    #[cold]
    pub(super) fn grow_window(&mut self, r: usize, len: usize) {
        let subflow = &mut self.subflows[r];
        if subflow.earned.arrived(len as u64, subflow.reorder.len(), counted_mss(&self.config)) {
            subflow.ack.window_grew();
            self.rx.window.grow(subflow.earned.window.into());
        }
        if let Some(tuning) = self.rx.window.tuning.as_mut().filter(|t| !t.shared) {
            tuning.measured(subflow.earned.ratio);
        }
    }

    /// A round trip of reading is over.
    #[cold]
    pub(super) fn tune_window(&mut self) {
        let (read, unread) = (self.rx.window.bytes_read(), self.rx.unread());
        let Some(tuning) = &mut self.rx.window.tuning else { return };
        // A subflow counts from its SYN on.
        let there = |s: &&Subflow<P>| {
            !matches!(s.state, State::SynReceived | State::TimeWait | State::Closed)
                && (s.state != State::SynSent || s.snd_nxt > 0)
        };
        let (rtt_ns, ratio) = self
            .subflows
            .iter()
            .filter(there)
            .fold((0, Ratio::MOST), |(rtt_ns, ratio), s| (s.receive_rtt_ns.max(rtt_ns), s.earned.ratio.min(ratio)));
        let seen = Seen { rtt_ns, ratio, read, unread: if tuning.shared { 0 } else { unread } };
        if tuning.next_round(self.clock_ns, seen) {
            let room = tuning.room();
            let data = room.ratio.data(room.memory);
            for subflow in &mut self.subflows {
                subflow.earned.follow(room.memory, data);
            }
            if self.config.tcp.quick_acks == 0 {
                self.rx.window.grow(data);
            }
        }
    }
}
