//! The redundant scheduler: every subflow carries the whole stream, each at its own pace; what the DATA_ACK covers is
//! done for all (mptcp.org's "redundant"; Frömmgen 2016).

use wire::Segment;

use super::connection::Connection;
use crate::queue::Stream;
use crate::scheduler::usable;

impl<P: Stream> Connection<P> {
    /// The next segment on the first subflow with room: where it is behind the others a copy of what they have sent,
    /// else new data.
    pub(super) fn transmit_redundant(&mut self, now_ns: u64, out: &mut Segment<P>) -> Option<usize> {
        for r in 0..self.subflows.len() {
            if !usable(&self.views[r]) {
                continue;
            }
            let from = self.subflows[r].copied_to.max(self.tx.una());
            let sent = self.tx.nxt();
            let end = self.tx.end().min(self.tx.right()).max(sent);
            let len = (end - from).min(u64::from(self.views[r].mss));
            if len == 0 {
                continue;
            }
            // A copy does not run into new data: it would be one segment here and two there.
            let len = if from < sent { len.min(sent - from) } else { len };
            let payload = self.tx.slice(from, len);
            self.subflows[r].copied_to = from + len;
            if from < sent {
                self.subflows[r].statistics.reinjections += 1;
            } else {
                self.tx.advance(len);
            }
            self.arm_data_timer(now_ns);
            self.first_transmission(now_ns, r, from, payload, false, out);
            return Some(r);
        }
        None
    }
}
