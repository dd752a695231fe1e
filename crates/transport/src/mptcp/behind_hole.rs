//! Data on a subflow that has a hole, or that makes one: where nothing else is out of the ordinary, of what `receive.rs` looks
//! at most has nothing to find, as in the plain case (`plain.rs`). What is done here is what would be done there; whatever
//! is in doubt goes there. Tests compare the two ([`TcpOptions::shortcuts`](crate::TcpOptions::shortcuts)).

use wire::Compact;

use super::connection::Connection;
use super::state::fallback::Mode;
use crate::numbers::SeqNumber;
use crate::queue::Stream;
use crate::reassembly::UNMAPPED;

impl<P: Stream> Connection<P> {
    /// Takes in the segment if it carries data within the window, acknowledges nothing new, and nothing is outstanding on its
    /// subflow, of which nothing but a hole is to be said. False: nothing was done.
    pub(super) fn receive_behind_hole(&mut self, now_ns: u64, r: usize, segment: &mut Compact<P>) -> bool {
        if self.short.is_settled(r) {
            debug_assert!(self.is_settled(r));
        } else if segment.payload.is_empty() || !self.is_settled(r) {
            return false;
        }
        let open = self.open_on_subflow();
        let subflow = &mut self.subflows[r];
        let seq = subflow.their_seq(segment.seq);
        let len = segment.payload.len() as u64;
        if !segment.flags.is_plain()
            || len == 0
            || seq < subflow.rcv_nxt
            || (seq == subflow.rcv_nxt && subflow.reorder.is_empty())
            || seq.saturating_add(len) > subflow.rcv_nxt + open
            || SeqNumber::acknowledged(segment.ack) != subflow.our_number(subflow.snd_una)
            || !subflow.board.is_empty()
        {
            return false;
        }
        // At the data level: where the segment belongs, and up to where the peer acknowledges.
        let (offset, data_ack) = match self.mode {
            Mode::Tcp => (UNMAPPED, None),
            Mode::Mptcp => {
                let Some((offset, to)) = self.plain_mapping(segment, seq) else { return false };
                (offset, Some(to))
            }
        };
        let subflow = &mut self.subflows[r];
        if !subflow.check_timestamps(seq, segment.timestamps()) {
            return false;
        }
        // From here on everything is as in `receive_synchronised`.
        let window = u64::from(segment.window) << subflow.snd_wscale;
        let una = subflow.snd_una;
        if self.mode == Mode::Mptcp {
            subflow.hear_window(una, window);
        }
        self.short.note_hole(r);
        self.short.note_room(r);
        let to = data_ack.unwrap_or_else(|| self.acknowledged_by_subflow(r, una));
        let fresh = seq >= self.subflows[r].snd_wl1;
        if fresh {
            self.subflows[r].snd_wl1 = seq;
        }
        let takes = fresh || self.mode == Mode::Mptcp;
        self.acknowledged_on_subflow(now_ns, to, window, takes);
        self.subflows[r].take_echo(segment.timestamps(), now_ns);
        let payload = std::mem::replace(&mut segment.payload, P::empty());
        self.data_at_hole(now_ns, r, seq, offset, payload);
        debug_assert!(self.next_timeout_ns <= self.subflows[r].deadline_ns());
        true
    }
}
