//! What ICMP says of a segment (RFC 9293 §3.9.2.2), as far as it is to be believed: anybody can send such a message.

use wire::{IcmpError, IcmpKind};

use super::{Connection, Event};
use crate::mptcp::state::ending::AbortReason;
use crate::names::SubflowId;
use crate::queue::Sendable;
use crate::tcp::subflow::State;
use crate::time::Instant;

impl<P: Sendable> Connection<P> {
    /// An ICMP error about a segment of `subflow` has come. Panics when there is no such subflow.
    ///
    /// It counts only if the segment is outstanding (RFC 5927 §4.1), which who did not see it can only guess. A hard error
    /// ends an attempt to open a subflow; on one that is open it is as a soft one: the application hears of it, and nothing
    /// else happens (RFC 5927 §5.2). A path MTU that is told is followed at once; RFC 5927 §7.2 would wait until data fail to
    /// arrive, which Linux does not do either.
    pub fn icmp(&mut self, now: Instant, subflow: SubflowId, error: &IcmpError) {
        self.set_clock(now);
        let r = usize::from(subflow.0);
        let state = &self.subflows[r];
        let place = state.our_seq(error.seq);
        if state.state() == State::Closed || !(state.snd_una()..state.snd_nxt()).contains(&place) {
            return;
        }
        let opening = matches!(state.state(), State::SynSent | State::SynReceived);
        match error.kind {
            IcmpKind::TooBig { mtu } if !opening => {
                if self.subflows[r].reduce_path_mtu(mtu, &mut self.views[r]) {
                    self.usual.forget();
                    self.due.attention.insert(r);
                    self.due.data = true;
                }
            }
            IcmpKind::Refused if opening => {
                self.ending.blame(AbortReason::Refused);
                self.fail_subflow(now, r, false);
            }
            kind => self.tell_once(Event::SoftError(subflow, kind)),
        }
        self.observe(now, Some(r));
    }
}
