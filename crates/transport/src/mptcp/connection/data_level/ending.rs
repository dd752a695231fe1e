//! The stream and its subflows end.

use crate::mptcp::connection::{Connection, Event};
use crate::mptcp::state::data_level::Over;
use crate::queue::Sendable;
use crate::tcp::subflow::State;

impl<P: Sendable> Connection<P> {
    /// Whether it is time for FINs.
    #[inline(always)]
    pub(in crate::mptcp) fn is_fin_due(&self) -> bool {
        match self.level.over() {
            Over::Single => self.ending.is_requested() && self.tx.is_sent(),
            // Subflows end when the data level has ended in both directions (RFC 8684 §3.3.3).
            Over::Multipath => self.ending.is_end_acknowledged() && self.rx.ended(),
        }
    }

    /// Whether the application has written all that it will and a DATA_FIN is to say so, for the first time or again.
    pub(in crate::mptcp) fn is_data_fin_due(&self) -> bool {
        self.level.is_multipath() && self.ending.owes_data_fin()
    }

    /// The peer's FIN came on a subflow, and everything before it.
    pub(in crate::mptcp) fn note_fin_of_peer(&mut self) {
        if self.level.ends_with_fin() && !self.rx.ended() {
            self.rx.note_ended();
            self.report(Event::EndOfStream);
        }
    }

    /// Whether subflow `r` ends because the peer has done with it, once what is in flight on it has arrived. But a peer whose
    /// stream has ended may end its subflows while ours goes on: DATA_FIN, as FIN, is for one direction (RFC 8684 §3.3.3).
    /// Then the subflow stays half-closed until our own end is acknowledged.
    pub(in crate::mptcp) fn ends_with_peer(&self, r: usize) -> bool {
        self.level.is_multipath() && self.subflows[r].state() == State::CloseWait && !self.rx.is_ending()
    }

    /// Our FIN was acknowledged on a subflow.
    pub(in crate::mptcp) fn note_fin_acknowledged(&mut self) {
        if self.level.ends_with_fin() {
            self.ending.note_end_acknowledged();
            self.check_flushed();
        }
    }

    /// Everything before the end of the stream has arrived.
    #[inline(always)]
    pub(in crate::mptcp) fn is_stream_complete(&self) -> bool {
        self.level.is_multipath() && self.rx.is_complete()
    }

    #[inline(always)]
    pub(in crate::mptcp) fn check_flushed(&mut self) {
        if self.ending.is_end_acknowledged() {
            self.note_flushed();
        }
    }

    #[cold]
    fn note_flushed(&mut self) {
        if !self.ending.is_flushed() && self.tx.una() >= self.tx.end() {
            self.ending.set_flushed();
            self.report(Event::Flushed);
            self.timers.stop_retransmission();
        }
    }
}
