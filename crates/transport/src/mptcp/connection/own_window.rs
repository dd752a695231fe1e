//! The window of each subflow (RFC 8684 §3.3.5): beside the connection's window, what a subflow's own acknowledgments allow is
//! respected on it, since a middlebox that narrows the window has no room for more.
//!
//! Of a peer without such a box on the way, the connection's window closes first, and nothing here happens.
//!
//! The largest edge told applies, as for the connection: a window is told from the last byte in order of the *stream*, so that data
//! of other subflows move the edge of this one back although nobody took anything back. A box that narrows the window only later
//! is therefore not followed.

use super::Connection;
use crate::queue::Sendable;
use crate::time::Instant;

impl<P: Sendable> Connection<P> {
    /// How much of a segment of `len` bytes the subflow's own window allows to send now. None: nothing. Where nothing is
    /// outstanding a part is sent, else it is better to wait until the window opens (RFC 9293 §3.8.6.2.1).
    #[inline]
    pub(super) fn own_room(&self, r: usize, len: u64) -> Option<u64> {
        let subflow = &self.subflows[r];
        let open = subflow.open();
        if len <= open { Some(len) } else { Some(open).filter(|&open| open > 0 && subflow.board().is_empty()) }
    }

    /// There was no room for what subflow `r` could have carried. What was sent before is sent again all the same (RFC 9293
    /// §3.8.6, MAY-7).
    #[cold]
    pub(super) fn hold(&mut self, now: Instant, r: usize) {
        let fastest = (0..self.views.len())
            .filter(|&other| self.views[other].active && !self.views[other].potentially_failed)
            .min_by_key(|&other| self.views[other].srtt);
        self.tx.note_block(fastest == Some(r));
        self.narrow.insert(r);
        self.views[r].held = true;
        self.usual.forget_of(r);
        self.arm_own_probe(now, r);
    }

    /// Where nothing is under way on it that would bring news, a subflow that is held is probed: what comes on others says
    /// nothing of its window.
    fn arm_own_probe(&mut self, now: Instant, r: usize) {
        let subflow = &mut self.subflows[r];
        if subflow.board().is_empty() && subflow.timer().is_never() {
            let timeout = subflow.rtt().base_rto().doubled(self.contexts[r].window_probes.min(8).into());
            let deadline = now + timeout.min(self.config.tcp.rto_max());
            subflow.set_timer(deadline);
            self.wake_by(deadline);
        }
    }

    /// A segment came on a subflow that is held. While its window stays closed nothing changes, and the probe keeps its time
    /// (RFC 9293 §3.8.6.1: probes go on, whatever else the peer sends).
    #[cold]
    pub(super) fn heard_while_held(&mut self, now: Instant, r: usize) {
        if self.subflows[r].open() > 0 { self.release(r) } else { self.arm_own_probe(now, r) }
    }

    /// The timer of [`hold`](Self::hold): the peer is to answer with its window (RFC 9293 §3.8.6.1).
    pub(super) fn probe_own_window(&mut self, r: usize) {
        if self.narrow.contains(r) {
            let context = &mut self.contexts[r];
            context.window_probes = context.window_probes.saturating_add(1);
            context.signalling.get_or_insert_default().keepalive_due = true;
            self.due.signals.insert(r);
            self.release(r);
        }
    }

    /// The subflow may have got room: what there is to send finds out.
    #[cold]
    pub(super) fn release(&mut self, r: usize) {
        self.narrow.remove(r);
        let subflow = &mut self.subflows[r];
        self.views[r].held = subflow.is_held_by_pacing();
        if subflow.board().is_empty() && subflow.can_send() {
            subflow.set_timer(Instant::NEVER);
        }
        if subflow.open() > 0 {
            self.contexts[r].window_probes = 0;
        }
        self.due.data = true;
    }

    /// TCP from now on: the window of the subflow is that of the stream.
    pub(super) fn lift_own_windows(&mut self) {
        for r in 0..self.subflows.len() {
            self.subflows[r].set_window_edge(u64::MAX);
            if self.narrow.contains(r) {
                self.release(r);
            }
        }
    }
}
