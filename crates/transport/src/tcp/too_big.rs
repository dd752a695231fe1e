//! What is outstanding on a subflow whose path takes less than was sent.

use super::recovery::Frto;
use super::subflow::Subflow;
use crate::congestion::{Phase, View};
use crate::queue::Stream;

impl<P: Stream> Subflow<P> {
    /// Outstanding segments that are longer than the view's MSS go out again in parts.
    ///
    /// They were lost for their length, not for congestion: the congestion window "should not change" (RFC 1191 §6.5), so
    /// that this is no recovery, and no undoing of one. Of the slow start which the RFC asks for too there is as much as in
    /// Linux (`tcp_simple_retransmit`): the window stays as many segments, which are shorter now.
    #[cold]
    pub fn split_outstanding(&mut self, view: &mut View) {
        let parts = self.board.split(view.mss);
        if parts.is_empty() {
            return;
        }
        self.clean = false;
        if let Some(rate) = &mut self.rate {
            rate.split(&parts);
        }
        if view.phase == Phase::Open {
            view.phase = Phase::Loss;
            let recovery = &mut self.losses.get_or_insert_default().recovery;
            (recovery.point, recovery.sent) = (self.snd_nxt, 0);
        }
        if let Some(losses) = &mut self.losses {
            losses.undo = None;
            losses.frto = Frto::Off;
        }
        self.duplicate_acks = 0;
        self.probe_due = false;
        self.rack.disarm();
        self.rack.probe = None;
        view.in_flight = self.pipe();
    }
}
