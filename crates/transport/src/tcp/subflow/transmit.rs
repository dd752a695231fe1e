//! Segments with data go out: for the first time, again, and as a probe (RFC 9293 §3.8, RFC 6675 §5, RFC 8985 §7.3).

use super::Subflow;
use crate::Sending;
use crate::congestion::{Phase, View};
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::tcp::recovery::Frto;
use crate::tcp::socket_queue::{Edges, Waiting};
use crate::tcp::tso::Ready;
use crate::time::Instant;

/// What a data segment carries.
pub struct DataSegment<P> {
    /// First sequence number.
    pub seq: u64,
    /// Place in the stream.
    pub offset: Offset,
    /// Content.
    pub payload: P,
    /// Whether the FIN goes with it.
    pub fin: bool,
    /// Whether it was first sent as a part of a longer segment.
    pub part: bool,
    /// Whether it is sent for the first time.
    pub new: bool,
}

impl<P: Sendable> DataSegment<P> {
    /// First sequence number, place in the stream, bytes of data, FIN.
    pub fn extent(&self) -> (u64, Offset, u64, bool) {
        (self.seq, self.offset, self.payload.len() as u64, self.fin)
    }
}

impl<P: Sendable> Subflow<P> {
    /// What was sent last had been sent on another subflow before.
    pub fn note_reinjection(&mut self, now: Instant) {
        self.losses.get_or_insert_default().reinjected(now);
        self.board.note_reinjection();
    }

    /// From now on the next such data is the first.
    pub fn watch_reinjections(&mut self) {
        if let Some(losses) = &mut self.losses {
            losses.first_reinjection_at = Instant::ZERO;
        }
    }

    /// Segments leave in groups.
    #[inline(always)]
    pub fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// New data has left, between these places of the stream: whether its group is complete.
    #[inline(always)]
    pub fn ends_group(&mut self, now: Instant, places: (u64, u64), view: &View) -> bool {
        let ends = self.groups.as_mut().is_some_and(|groups| groups.sent(now, places, view));
        if self.groups.is_some() {
            self.note_group(view);
        }
        ends
    }

    /// Behind a group it is said whether the window was the limit.
    #[cold]
    fn note_group(&mut self, view: &View) {
        let Some(groups) = &mut self.groups else { return };
        if let Some(round_over) = groups.round_is_over(self.snd_una)
            && self.growth.note_group(self.board.outstanding(), view.has_room(), round_over)
        {
            groups.begin_round(self.snd_nxt);
        }
    }

    /// Whether the next segment waits until its group is worth it.
    #[inline(always)]
    pub fn waits_for_group(&mut self, now: Instant, edges: Edges, (open, nagle): (u64, bool), view: &mut View) -> bool {
        if self.groups.is_none() {
            return false;
        }
        self.resume_as_linux(now, 1, view); // each buffer leaves when it is full
        let paced_until = self.paced_until();
        let Some(groups) = &mut self.groups else { return false };
        let first_sent_at = self.board.first_sent_at();
        let ready = Ready { now, edges, open, first_sent_at, paced_until, nagle, segment: view.mss };
        let waits = !groups.may_send(ready, view);
        self.note_put_off(waits, open, view);
        waits
    }

    /// Whether the segment that leaves now may be cut short by the peer's window.
    pub fn may_be_cut(&self, now: Instant) -> bool {
        self.groups.as_ref().is_some_and(|groups| groups.may_be_cut(now))
    }

    /// A group is put off, as the congestion window is too small for it.
    fn note_put_off(&mut self, waits: bool, open: u64, view: &View) {
        let free = (view.cwnd as u64).saturating_sub(view.in_flight.into());
        if waits && free * u64::from(view.mss) < open {
            self.growth.note_group(self.board.outstanding(), false, false);
            if let Some(groups) = &mut self.groups {
                groups.begin_round(self.snd_nxt);
            }
        }
    }

    /// The same of what was bound here by a scheduler.
    pub fn bound_waits_for_group(&mut self, now: Instant, waiting: Waiting, view: &mut View) -> bool {
        self.resume_as_linux(now, waiting.buffers, view);
        let (segment, paced_until) = (self.paced_mss(), self.paced_until());
        let (una, nxt, right) = (self.snd_una, self.snd_nxt, self.right);
        let Some(groups) = &mut self.groups else { return false };
        let edges = Edges { una, nxt, end: nxt + waiting.bytes, window: right.saturating_sub(una) };
        let (open, first_sent_at) = (right.saturating_sub(nxt), self.board.first_sent_at());
        let ready = Ready { now, edges, open, first_sent_at, paced_until, nagle: true, segment };
        let waits = !groups.may_send_bound(ready, waiting, view);
        self.note_put_off(waits, open, view);
        waits
    }

    /// What waits is looked at again, though nothing was heard or added (`mptcp_push_release`).
    pub fn push(&mut self) {
        if let Some(groups) = &mut self.groups {
            groups.push();
        }
    }

    /// Data that was bound here has left: whether its group is complete.
    pub fn ends_bound_group(&mut self, now: Instant, view: &View) -> bool {
        let numbers = (self.snd_una, self.snd_nxt);
        let ends = self.groups.as_mut().is_some_and(|groups| groups.sent_bound(now, numbers, view));
        if self.groups.is_some() {
            self.note_group(view);
        }
        ends
    }

    /// Groups that were sent and are not wholly acknowledged, and whether the window had room behind one at this instant; None where
    /// segments leave by themselves.
    pub fn groups(&self, now: Instant) -> Option<(u64, bool)> {
        self.groups.as_ref().map(|groups| (groups.unacknowledged(self.snd_una), groups.had_room(now)))
    }

    #[cold]
    fn send_group_again(&mut self, now: Instant, seq: u64, view: &View) {
        let segment = self.paced_mss();
        if let Some(groups) = &mut self.groups {
            groups.send_again(now, seq, view, segment);
        }
    }

    /// Grows with each acknowledgment that says something.
    pub fn heard(&self) -> u64 {
        self.snd_una.saturating_sub(1) + self.times_told()
    }

    /// How often the peer told of what came behind a hole, where segments leave in groups.
    pub fn times_told(&self) -> u64 {
        self.groups.as_ref().map_or(0, |groups| groups.times_told())
    }

    /// For a control that asks for rates: new data, the last of the sequence numbers so far, is on its way. Answers whether it
    /// follows a pause that the application made.
    pub fn measure_sent(&mut self, now: Instant, len: usize, view: &View) -> bool {
        let Some(rate) = &mut self.rate else { return false };
        let mss = u64::from(view.mss);
        let in_flight = u64::from(view.in_flight) * mss;
        let restarts = in_flight <= mss && rate.is_limited();
        rate.sent(now, self.snd_nxt, (len as u32, mss), in_flight);
        restarts
    }

    /// Segments are paced at this rate of data, of which each holds `mss` bytes, if they are paced. The kernel does not leave out the
    /// options of Multipath TCP (`bbr_rate_bytes_per_sec`).
    pub fn pace_at(&mut self, rate: f64, mss: u32) {
        let rate = if self.groups.is_some() { rate * f64::from(self.paced_mss()) / f64::from(mss) } else { rate };
        if let Some(pacing) = &mut self.pacing {
            pacing.set_rate(rate);
            if let Some(groups) = &mut self.groups {
                groups.set_rate(rate);
            }
        }
    }

    /// Until when pacing holds or held back what follows the last group.
    fn paced_until(&self) -> Instant {
        self.pacing.as_ref().map_or(Instant::ZERO, |pacing| pacing.departs_at(Instant::ZERO))
    }

    /// Pacing keeps the next segment from going out.
    pub fn is_held_by_pacing(&self) -> bool {
        self.pacing.as_ref().is_some_and(|pacing| pacing.is_held())
    }

    /// Whether pacing lets the next segment go from now on.
    pub fn release_pacing(&mut self, now: Instant) -> bool {
        self.pacing.as_mut().is_some_and(|pacing| pacing.release(now))
    }

    /// The probe of the tail is due: whether there is a tail.
    pub fn begin_probe(&mut self) -> bool {
        self.probe_due = false;
        let outstanding = !self.board.is_empty();
        if outstanding {
            self.losses.get_or_insert_default().probes += 1;
        }
        outstanding
    }

    /// Whether F-RTO waited for new data, which it now does no more: there was none.
    pub fn release_frto(&mut self) -> bool {
        let Some(losses) = &mut self.losses else { return false };
        let waited = losses.frto == Frto::NewDataOnly(self.snd_nxt);
        if waited {
            losses.frto = Frto::Off;
        }
        waited
    }

    /// Something is to go out before new data: repairs, a FIN, a probe.
    pub fn has_urgent(&self) -> bool {
        self.board.has_unrepaired() || self.fins.is_requested() || self.probe_due
    }

    /// New data at `offset` of the stream, a FIN, or both go out for the first time. The answer is their first sequence number.
    #[inline(always)]
    pub fn send_new(&mut self, now: Instant, (offset, payload, fin): (Offset, &P, bool), view: &mut View) -> u64 {
        let (seq, len) = (self.snd_nxt, payload.len() as u64);
        debug_assert!(len == 0 || seq + len <= self.right, "beyond the window of this subflow");
        if self.board.is_empty() {
            self.resume(now, view);
        }
        self.ack.data_sent(now);
        self.snd_nxt = seq + len + u64::from(fin);
        self.board.push(seq, offset, payload.clone(), fin, now);
        self.sent.data_segments += u64::from(len > 0);
        if self.timer.is_never() {
            self.restart_timer(now);
        }
        seq
    }

    /// The sender's account of a segment that has just gone out for the first time. Answers whether it is clean, and whether the
    /// congestion window has room for more.
    #[inline(always)]
    pub fn first_sent(&mut self, now: Instant, view: &mut View) -> (bool, bool) {
        let clean = self.is_known_clean();
        if clean {
            debug_assert!(self.is_clean(view));
            view.in_flight = self.board.outstanding();
        } else {
            self.note_transmission();
            view.in_flight = self.pipe();
        }
        let has_room = view.has_room();
        if !has_room {
            self.note_limited(); // whatever the other subflows do: this window was used up (RFC 7661)
        }
        if self.rtt.ticks {
            self.arm_probe_in_ticks(now, view, self.timeout_of_first());
        } else if clean {
            self.rack.arm_probe(now, view.srtt, view.in_flight, self.timer);
        } else {
            self.arm_probe(now, view);
        }
        (clean, has_room)
    }

    /// A segment goes out, which counts in a recovery.
    #[inline(always)]
    pub fn note_transmission(&mut self) {
        if let Some(losses) = &mut self.losses {
            losses.recovery.sent += 1;
        }
    }

    /// Whether what is lost may go out: it needs room in the window; the first of a recovery, or of a timeout (RFC 6298 §5.4),
    /// goes out in any case.
    fn may_retransmit(&self, view: &View) -> bool {
        view.has_room()
            || (view.phase != Phase::Open && self.losses.as_ref().is_none_or(|losses| losses.recovery.sent == 0))
            || view.in_flight == 0
    }

    /// Whether a lost segment may go out again now.
    pub fn has_retransmission(&self, view: &View) -> bool {
        self.board.has_unrepaired() && self.may_retransmit(view)
    }

    /// The first segment that is lost goes out again, and why.
    pub fn retransmit(&mut self, now: Instant, view: &mut View) -> Option<(DataSegment<P>, Sending)> {
        let sent = self.board.retransmit(now)?;
        let (seq, offset, payload, fin) = (sent.seq, sent.offset, sent.payload(), sent.fin);
        let (part, sending) = (sent.is_part(), sent.sending());
        if self.groups.is_some() {
            self.send_group_again(now, seq, view);
        }
        self.note_transmission();
        let end = seq + payload.len() as u64 + u64::from(fin);
        self.note_retransmission(now, end);
        if !payload.is_empty() {
            self.sent.data_segments += 1;
            self.sent.retransmissions += 1;
        }
        // What all waits for has only now been sent again: the timeout counts from here, as in Linux (RFC 6675 §6 leaves the
        // choice), or a loss found late would be followed by a timeout before the answer can be there.
        let waits = self.losses.as_ref().is_some_and(|losses| losses.recovery.waits);
        if self.timer.is_never() || (seq <= self.snd_una && !waits) {
            self.restart_timer(now);
        }
        view.in_flight = self.pipe();
        self.note_rate_again(now, end, view, true);
        Some((DataSegment { seq, offset, payload, fin, part, new: false }, sending))
    }

    /// The last segment goes out once more, as a probe (RFC 8985 §7.3).
    pub fn probe_with_last(&mut self, now: Instant, view: &View) -> Option<(DataSegment<P>, Sending)> {
        let sent = self.board.last(now)?;
        let (seq, offset, payload, fin) = (sent.seq, sent.offset, sent.payload(), sent.fin);
        let (part, sending) = (sent.is_part(), sent.sending());
        if let Some(groups) = &mut self.groups {
            groups.probe(now, seq);
        }
        if !payload.is_empty() {
            self.sent.data_segments += 1;
            self.sent.retransmissions += 1;
            self.losses.get_or_insert_default().repeats += 1;
        }
        self.note_rate_again(now, seq + payload.len() as u64 + u64::from(fin), view, false);
        self.probe_sent(now, true);
        Some((DataSegment { seq, offset, payload, fin, part, new: false }, sending))
    }

    /// For a control that asks for rates: what ends at `end` is sent again.
    fn note_rate_again(&mut self, now: Instant, end: u64, view: &View, lost: bool) {
        if let Some(rate) = &mut self.rate {
            rate.sent_again(now, end, u64::from(view.in_flight) * u64::from(view.mss), lost);
        }
    }

    /// A packet left: pacing may hold back the next.
    pub fn pace(&mut self, now: Instant, len: usize, view: &mut View) {
        if let Some(pacing) = &mut self.pacing {
            let ends = self.groups.as_ref().and_then(|groups| groups.ends());
            view.held = pacing.sent(now, len as u64, view, ends);
        }
    }

    /// The same of one that was sent again, from `seq` on; groups count data from `origin`.
    pub fn pace_again(&mut self, now: Instant, (seq, len): (u64, u64), origin: u64, view: &mut View) {
        let segment = self.paced_mss();
        if let Some(pacing) = &mut self.pacing {
            let lost_follows = self.board.is_lost_from(seq + len) && view.has_room();
            let numbers = (seq - origin, seq + len - origin);
            let ends = self.groups.as_mut().map(|groups| groups.ends_again(numbers, lost_follows, view, segment));
            view.held = pacing.sent(now, len, view, ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::established;
    use super::*;
    use crate::TcpOptions;
    use crate::congestion::Feedback;
    use crate::tcp::tso::pacing_rate;
    use crate::time::Duration;
    use wire::Span;

    /// Three segments of 100 octets under way, and a window of four.
    fn sender() -> (Subflow<Span>, View) {
        let mut end = established(&TcpOptions::default());
        let mut view = View { cwnd: 4.0, ..View::new(4.0, 100) };
        for n in 0..3 {
            let payload = Span { offset: 100 * n, len: 100 };
            let seq = end.send_new(Instant::from_millis(1 + n), (Offset::after(100 * n), &payload, false), &mut view);
            assert_eq!(seq, 1 + 100 * n);
            assert_eq!(end.first_sent(Instant::from_millis(1 + n), &mut view), (false, true));
        }
        (end, view)
    }

    #[test]
    fn new_data_counts_and_starts_the_timer_once() {
        let (mut end, mut view) = sender();
        assert_eq!((end.snd_nxt, view.in_flight, end.sent.data_segments), (301, 3, 3));
        assert_eq!(end.timer, Instant::from_millis(1) + end.rtt.rto(), "from the first on");
        let payload = Span { offset: 300, len: 100 };
        end.send_new(Instant::from_millis(9), (Offset::after(300), &payload, true), &mut view);
        assert_eq!(end.snd_nxt, 402, "a FIN takes an octet");
        assert_eq!(end.first_sent(Instant::from_millis(9), &mut view), (false, false));
        assert_eq!(end.growth.limited_below(), 402, "the window is full");
    }

    /// One of Linux's, of which something left last at 1 ms.
    fn paused(feedback: Feedback) -> Subflow<Span> {
        let mut end = established(&TcpOptions { tso: true, ..TcpOptions::default() });
        end.serve(feedback, true, false);
        end.groups.as_mut().unwrap().probe(Instant::from_millis(1), 1);
        end
    }

    /// Data is written after a pause in so many buffers: each halves the window (`tcp_skb_entail`), once a pause, and the rate that decides how
    /// large groups are stays.
    #[test]
    fn each_buffer_after_a_pause_halves_the_window_in_linux() {
        let after = |buffers| {
            let mut end = paused(Feedback::Acks);
            let mut view = View { cwnd: 203.5, srtt: Duration::from_millis(100), ..View::new(10.0, 100) };
            let rate = pacing_rate(&view, 0, end.paced_mss());
            let (rto, waiting) =
                (end.rtt.rto(), Waiting { bytes: 900, first: 300, buffers, closed: false, tail_waits: false });
            let later = Instant::from_millis(2) + rto;
            assert!(!end.bound_waits_for_group(later, waiting, &mut view));
            assert!(!end.bound_waits_for_group(later, waiting, &mut view));
            assert_eq!(end.group_rate(), Some(rate));
            view.cwnd
        };
        assert_eq!((after(1), after(2), after(9)), (101.5, 50.5, 10.5));
        // BBR sets the window itself.
        let (mut end, mut view) = (paused(Feedback::Steering), View::new(203.5, 100));
        end.resume_as_linux(Instant::from_secs(9), 1, &mut view);
        assert_eq!(view.cwnd, 203.5);
    }

    #[test]
    fn a_lost_segment_goes_out_again_where_the_window_has_room() {
        let (mut end, mut view) = sender();
        assert!(!end.has_retransmission(&view));
        end.board.mark_first_lost();
        view.cwnd = 1.0;
        assert!(!end.has_retransmission(&view));
        view.phase = Phase::Recovery;
        assert!(end.has_retransmission(&view), "the first of a recovery goes in any case");
        let (data, before) = end.retransmit(Instant::from_millis(20), &mut view).unwrap();
        assert_eq!((data.extent(), data.new, before), ((1, Offset::FIRST, 100, false), false, Sending::Retransmission));
        assert_eq!((end.sent.data_segments, end.sent.retransmissions), (4, 1));
        assert_eq!(end.timer, Instant::from_millis(20) + end.rtt.rto());
        assert!(end.retransmit(Instant::from_millis(20), &mut view).is_none());
    }

    #[test]
    fn a_probe_repeats_the_last_segment() {
        let (mut end, view) = sender();
        let (data, _) = end.probe_with_last(Instant::from_millis(20), &view).unwrap();
        assert_eq!(data.extent(), (201, Offset::after(200), 100, false));
        assert_eq!((end.sent.retransmissions, end.losses.as_ref().unwrap().repeats), (1, 1));
        assert_eq!(end.rack.probe.map(|probe| (probe.end, probe.repeated)), Some((301, true)));
    }

    #[test]
    fn a_probe_of_the_tail_needs_a_tail() {
        let (mut end, _) = sender();
        let mut idle = established(&TcpOptions::default());
        (end.probe_due, idle.probe_due) = (true, true);
        assert!(end.has_urgent() && end.begin_probe() && !end.has_urgent());
        assert_eq!(end.losses().map(|losses| losses.probes), Some(1));
        assert!(!idle.begin_probe() && !idle.probe_due && idle.losses().is_none());
    }

    /// RFC 5682 §3.1 step 2b: without new data to send, retransmissions go on.
    #[test]
    fn f_rto_waits_for_new_data_until_there_is_none() {
        let (mut end, _) = sender();
        assert!(!end.release_frto());
        end.losses.get_or_insert_default().frto = Frto::NewDataOnly(301);
        assert!(end.release_frto() && end.frto() == Frto::Off);
        end.losses.get_or_insert_default().frto = Frto::NewDataOnly(201);
        assert!(!end.release_frto(), "new data has gone out");
    }
}
