//! New data, reinjections and what waits on subflows: where they go, as the scheduler decides.

use super::Connection;
use super::outgoing::Outgoing;
use super::plan::PlannedSend;
use crate::Kernel;
use crate::congestion::{Phase, View, Window};
use crate::mptcp::state::plan::SendPlan;
use crate::mptcp::state::silence::Silence;
use crate::names::SubflowId;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::scheduler::{
    Carried, Context, Counters, Decision, Demand, Lookup, MinRtt, Next, PacketScheduler, SubflowSet, usable,
};
use crate::tcp::socket_queue::Edges;
use crate::tcp::subflow::Subflow;
use crate::time::Instant;
use crate::trace::{Pause, Sent, TraceEvent};
use crate::waits::Sending;

/// Where a scheduler looks up what subflows have counted.
struct Subflows<'a, P: Sendable> {
    now: Instant,
    subflows: &'a [Subflow<P>],
    plan: Option<&'a SendPlan>,
    silence: Option<&'a Silence>,
    /// Where the data begins that is asked about, and the largest segments of data, where the scheduler is asked buffer by buffer.
    by_buffers: Option<(Offset, &'a [View])>,
}

impl<P: Sendable> Lookup for Subflows<'_, P> {
    fn counters(&self, r: usize) -> Counters {
        let Some(subflow) = self.subflows.get(r) else { return Counters::default() };
        let next_buffer_bytes = self.by_buffers.zip(self.silence).map(|((next, views), silence)| {
            let buffer_bytes = silence.of(r).buffer_bytes(views[r].mss);
            self.plan.and_then(|plan| plan.queue(r)).map_or(buffer_bytes, |queue| queue.next_buffer(next, buffer_bytes))
        });
        let (repeats, timeouts) = subflow.losses().map_or((0, 0), |losses| (losses.repeats, losses.timeouts));
        Counters {
            segments_sent: subflow.sent().data_segments,
            segments_lost: subflow.sent().retransmissions - repeats,
            timeouts,
            acknowledged_bytes: subflow.snd_una().saturating_sub(1), // the SYN is no data
            heard: subflow.heard(),
            unacknowledged_bytes: subflow.snd_nxt() - subflow.snd_una(),
            queued_bytes: self.plan.and_then(|plan| plan.queue(r)).map_or(0, |queue| queue.bytes()),
            queued_buffers: self.plan.and_then(|plan| plan.queue(r)).map_or(0, |queue| queue.ranges() as u64),
            next_buffer_bytes,
            segment_bytes: subflow.mss(),
            steered: subflow.is_steered(),
            paced_bytes: subflow.paced_mss(),
            pace_bytes: subflow.group_rate(),
            silent: self.silence.is_some_and(|silence| silence.of(r).stale),
            groups: subflow.groups(self.now),
        }
    }

    fn carried(&self, place: u64) -> Option<Carried> {
        let mut all = Carried { from: place, to: u64::MAX, on: SubflowSet::default() };
        for (r, subflow) in self.subflows.iter().enumerate() {
            if let Some(sent) =
                subflow.board().iter().find(|s| (s.offset..s.offset + s.len()).contains(&Offset::after(place)))
            {
                all.on.insert(r);
                all.to = all.to.min((sent.offset + sent.len()).octets());
            }
        }
        (all.on.0 != 0).then_some(all)
    }
}

/// Data that the scheduler is asked about.
#[derive(Clone, Copy)]
struct Asked {
    source: Source,
    demand: Demand,
    from: Offset,
    available: u64,
}

/// Where it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Reinjection,
    /// Bound before, to a subflow that failed.
    Returned,
    New,
}

/// What came of a question.
enum Answer {
    Sent(usize),
    /// Something was bound: ask again.
    More,
    Pause(Pause),
}

/// The context of a question about what begins at `place`.
macro_rules! context {
    ($self:ident, $now:expr, $place:expr, $available:expr) => {
        Context {
            now: $now,
            place: $place.octets(),
            available_bytes: $available,
            acknowledged_bytes: $self.tx.una().octets(),
            sent_bytes: $self.tx.nxt().octets(),
            unsent_bytes: $self.tx.unsent(),
            free_window_bytes: $self.tx.open(),
            window_bytes: $self.tx.window(),
            window_blocks: $self.tx.blocks(),
            flow_bytes: $self.tx.flow_bytes($self.ending.is_requested()),
            ended: $self.ending.is_requested(),
            subflows: &Subflows {
                now: $now,
                subflows: &$self.subflows,
                plan: $self.plan.as_deref(),
                silence: $self.silence.as_deref(),
                by_buffers: ($self.config.tcp.kernel == Kernel::V6_1 && $self.config.tcp.tso)
                    .then_some(($place, &$self.views)),
            },
        }
    };
}

impl<P: Sendable> Connection<P> {
    /// A reinjection, new data, or what waits on a subflow. The scheduler decides first; what it has bound goes out when it
    /// binds no more.
    pub(super) fn transmit_data(&mut self, now: Instant, out: &mut Outgoing<P>) -> Option<usize> {
        if self.timers.take_probe() {
            return self.zero_window_probe(now, out);
        }
        if self.silence.is_some() {
            self.hear_as_linux(now);
        }
        let (mut passed, mut relieved) = (false, 0);
        loop {
            let pause = match self.ask(now, &mut passed, out) {
                Answer::Sent(r) => return Some(r),
                Answer::More => {
                    // The kernel's application writes again behind what may leave, also if none of that does.
                    relieved = if self.config.tcp.tso { 0 } else { relieved };
                    continue;
                }
                Answer::Pause(pause) => pause,
            };
            if self.has_scheduler() {
                match self.transmit_waiting(now, SubflowSet(u64::MAX), out) {
                    PlannedSend::Sent(r) => return Some(r),
                    PlannedSend::Dropped => continue,
                    PlannedSend::Nothing => {}
                }
                // A reinjection that finds no room is next in any case.
                let due = passed || self.reinjections.len() == 0;
                if due && self.relieve(now, &mut relieved) {
                    continue;
                }
            }
            return self.pause(now, pause, out);
        }
    }

    /// Asks about the next data, and does what the answer is. `passed`: the scheduler leaves reinjections for later.
    fn ask(&mut self, now: Instant, passed: &mut bool, out: &mut Outgoing<P>) -> Answer {
        if self.plan.is_some() {
            if let Some(r) = self.transmit_promised(now, out) {
                return Answer::Sent(r);
            }
            self.review_plan();
        }
        let una = self.tx.una();
        let returned = self.plan.as_mut().and_then(|plan| plan.first_returned(una));
        let again = if *passed { None } else { self.reinjections.first(una) };
        let asked = if let Some(range) = again {
            let demand = Demand::Reinjection { tried: range.tried };
            Asked { source: Source::Reinjection, demand, from: range.from, available: range.to - range.from }
        } else if let Some((from, to)) = returned {
            Asked { source: Source::Returned, demand: Demand::New, from, available: to - from }
        } else {
            let (unsent, open) = (self.tx.unsent(), self.tx.open());
            if unsent == 0 || open == 0 {
                if self.has_scheduler() {
                    let context = context!(self, now, self.tx.nxt(), 0);
                    self.scheduler.when_dry(&self.views, &context);
                    if let Some(next) = self.scheduler.next_if_open() {
                        self.prepare(next);
                    }
                }
                return Answer::Pause(if unsent == 0 { Pause::NoData } else { Pause::ConnectionWindow });
            }
            Asked { source: Source::New, demand: Demand::New, from: self.tx.nxt(), available: unsent.min(open) }
        };
        if !self.is_established() {
            return Answer::Pause(Pause::Waits);
        }
        let decision = self.decide(now, &asked);
        if self.silence.is_some() && asked.demand == Demand::New {
            let binds = matches!(decision, Decision::Bind { .. }) || self.scheduler.holds_data();
            self.note_scheduled(now, binds);
        }
        match decision {
            Decision::Send { on, burst } => {
                // A burst is of new data.
                self.burst = (on, if asked.demand == Demand::New { burst.saturating_sub(1) } else { 0 });
                self.send(now, &asked, on, out)
            }
            Decision::Bind { on, bytes } => {
                let on = self.active_of(on);
                let mut first = on;
                let Some(first) = first.pop().filter(|_| bytes > 0) else { return Answer::Pause(Pause::Waits) };
                let len = bytes.min(asked.available);
                if len < bytes && self.is_cut_short(&asked, len, first) {
                    return Answer::Pause(Pause::ShortSegment);
                }
                self.take(&asked, len);
                self.bind(on, asked.from, asked.from + len, asked.source == Source::Reinjection);
                Answer::More
            }
            Decision::Repeat { on, from, to } if self.repeat(on, Offset::after(from), Offset::after(to)) => {
                Answer::More
            }
            Decision::Pass if asked.source == Source::Reinjection => {
                *passed = true;
                Answer::More
            }
            Decision::Wait { until } => {
                self.control.ask_scheduler_at(until);
                self.wake_by(until);
                Answer::Pause(Pause::Waits)
            }
            Decision::Blocked => Answer::Pause(Pause::Blocked),
            Decision::Repeat { .. } | Decision::Penalise { .. } | Decision::Pass => Answer::Pause(Pause::Waits),
        }
    }

    /// The window is closed: what waits on the subflow that would get the next data.
    fn prepare(&mut self, next: Next) {
        if let Some(queue) = self.plan.as_mut().and_then(|plan| plan.queue_mut(next.on)) {
            queue.close(self.tx.nxt());
        }
        if next.pushed {
            self.subflows[next.on].push();
        }
    }

    /// What the scheduler says, or the burst that it has allowed. Under TCP there is one subflow.
    fn decide(&mut self, now: Instant, asked: &Asked) -> Decision {
        if !self.level.is_multipath() {
            let best = MinRtt::best(&self.views, SubflowSet::default());
            return best.map_or(Decision::Blocked, |r| Decision::Send { on: SubflowSet::one(r), burst: 1 });
        }
        let (on, burst) = self.burst;
        let goes_on = burst > 0 && asked.demand == Demand::New && self.all_usable(on);
        let decision = if goes_on {
            Decision::Send { on, burst }
        } else {
            let context = context!(self, now, asked.from, asked.available);
            self.scheduler.choose(asked.demand, &self.views, &context)
        };
        if self.trace.is_some() {
            self.tell_decision(now, (asked.demand, asked.from, asked.available), &decision, goes_on);
        }
        decision
    }

    fn all_usable(&self, mut set: SubflowSet) -> bool {
        let mut usable_all = set.0 != 0;
        while let Some(r) = set.pop() {
            usable_all &= self.views.get(r).is_some_and(usable);
        }
        usable_all
    }

    /// Sender-side silly window avoidance (RFC 9293 §3.8.6.2.1): whether the window cuts a segment short, so that it is better
    /// to wait until it opens while acknowledgments are under way.
    fn is_cut_short(&self, asked: &Asked, len: u64, r: usize) -> bool {
        let mss = u64::from(self.views[r].mss);
        asked.source == Source::New && len < mss && len < self.tx.unsent() && self.tx.nxt() > self.tx.una()
    }

    /// The first `len` bytes of the data are sent or bound.
    fn take(&mut self, asked: &Asked, len: u64) {
        match asked.source {
            Source::New => self.tx.advance(len),
            Source::Reinjection => self.reinjections.sent(len),
            Source::Returned => {
                if let Some(plan) = &mut self.plan {
                    plan.take_returned(len);
                }
            }
        }
    }

    /// The next segment goes out on each subflow of the set.
    fn send(&mut self, now: Instant, asked: &Asked, on: SubflowSet, out: &mut Outgoing<P>) -> Answer {
        let mut others = on;
        let Some(r) = others.pop() else { return Answer::Pause(Pause::Waits) };
        let mss = u64::from(self.views[r].mss);
        let len = asked.available.min(mss);
        if self.is_cut_short(asked, len, r) && (self.level.is_multipath() || !self.subflows[r].may_be_cut(now)) {
            return Answer::Pause(Pause::ShortSegment);
        }
        if self.config.tcp.nagle
            && asked.source == Source::New
            && len < mss
            && len == self.tx.unsent()
            && self.tx.nxt() > self.tx.una()
            && !self.ending.is_requested()
        {
            // Nagle (RFC 9293 §3.7.4): a short segment waits for the acknowledgment of what is out.
            return Answer::Pause(Pause::Waits);
        }
        let Some(len) = self.own_room(r, len) else {
            // A scheduler that insists on a subflow without room is not asked for ever.
            let insists = self.views[r].held;
            self.hold(now, r);
            return if insists { Answer::Pause(Pause::Blocked) } else { Answer::More };
        };
        if self.waits_for_group(now, r) {
            self.subflows[r].note_limited();
            return Answer::Pause(Pause::Waits);
        }
        let (from, again) = (asked.from, asked.source == Source::Reinjection);
        self.take(asked, len);
        if others.0 != 0 {
            self.promise(others, from, from + len);
        }
        let payload = self.tx.slice(from, len);
        if again && from == self.tx.una() {
            self.timers.try_hole(r);
        }
        self.arm_data_timer(now);
        // Under TCP the last data carries the FIN.
        let fin = self.level.ends_with_fin() && self.ending.is_requested() && self.tx.is_sent();
        if fin {
            self.note_fin(r);
        }
        self.first_transmission(now, r, from, payload, fin, out);
        self.tell_sent(now, r, (from, len, fin), if again { Sent::Reinjection } else { Sent::New });
        let places = (from.octets(), (from + len).octets());
        if !self.level.is_multipath() && self.subflows[r].ends_group(now, places, &self.views[r]) {
            out.push();
        }
        if again {
            self.subflows[r].note_reinjection(now);
            out.sending = Sending::Reinjection;
        }
        Answer::Sent(r)
    }

    /// Where segments leave in groups: whether the next on subflow `r` waits until its group is worth it.
    #[inline]
    fn waits_for_group(&mut self, now: Instant, r: usize) -> bool {
        if !self.subflows[r].has_groups() || self.level.is_multipath() {
            return false;
        }
        let edges = Edges {
            una: self.tx.una().octets(),
            nxt: self.tx.nxt().octets(),
            end: self.tx.end().octets(),
            window: self.tx.window(),
        };
        self.subflows[r].waits_for_group(now, edges, (self.tx.open(), self.config.tcp.nagle), &mut self.views[r])
    }

    /// Nothing can be sent: what the scheduler does about it. Answers whether there is something to do now.
    fn relieve(&mut self, now: Instant, relieved: &mut u8) -> bool {
        // A penalty may come before what is sent again.
        for _ in 0..2 {
            let context = context!(self, now, self.tx.nxt(), 0);
            match self.scheduler.when_idle(&self.views, &context) {
                Decision::Penalise { subflows } => self.penalise(now, subflows),
                Decision::Repeat { on, from, to } => return self.repeat(on, Offset::after(from), Offset::after(to)),
                // Once: what it waited for does not come from asking. (The kernel's also waits for one subflow to send first what it
                // may, which may be nothing.)
                Decision::Pass => {
                    *relieved += 1;
                    return *relieved <= 1 + u8::from(self.config.tcp.tso);
                }
                _ => return false,
            }
        }
        false
    }

    /// Halves windows without a loss (Raiciu 2012 §4.2).
    fn penalise(&mut self, now: Instant, subflows: SubflowSet) {
        let mut each = subflows;
        while let Some(r) = each.pop() {
            let Some(&v) = self.views.get(r) else { return };
            let ssthresh = if v.cwnd >= v.ssthresh { (v.ssthresh / 2.0).max(2.0) } else { v.ssthresh };
            let window = Window { cwnd: (v.cwnd / 2.0).max(1.0), ssthresh };
            if v.phase == Phase::Open {
                self.subflows[r].penalise(now, window, &mut self.views[r]);
                let ssthresh_segments = ssthresh.is_finite().then_some(ssthresh);
                let (subflow, cwnd_segments) = (SubflowId(r as u8), window.cwnd);
                self.tell(now, |_| TraceEvent::Penalised { subflow, cwnd_segments, ssthresh_segments });
                self.observe(now, Some(r));
            }
        }
    }

    /// Nothing is sent now, but for the end of the stream.
    fn pause(&mut self, now: Instant, pause: Pause, out: &mut Outgoing<P>) -> Option<usize> {
        self.tell_pause(now, pause);
        match pause {
            Pause::NoData if self.plan.as_ref().is_some_and(|plan| plan.never_sent().next().is_some()) => {}
            Pause::NoData => return self.transmit_data_fin(now, out),
            Pause::ConnectionWindow => {
                self.note_window_blocked();
                self.arm_probe(now);
            }
            Pause::ShortSegment => self.note_window_blocked(),
            Pause::Blocked => self.note_blocked(SubflowSet(u64::MAX)),
            Pause::Waits => {}
        }
        None
    }

    /// Data waits for congestion windows to open: those of the subflows `among`, at least, of which it is not known yet. One
    /// that the peer's window holds back has not used up its congestion window.
    pub(super) fn note_blocked(&mut self, among: SubflowSet) {
        let mut among = SubflowSet(among.0 & (u64::MAX >> (64 - self.views.len())));
        while let Some(r) = among.pop() {
            let view = &self.views[r];
            if view.active && !view.has_room() && !self.narrow.contains(r) {
                self.subflows[r].note_limited();
            }
        }
    }

    /// The connection-level window has no room for a segment. It matters when the fastest subflow could have carried it.
    fn note_window_blocked(&mut self) {
        let fastest = self.views.iter().filter(|v| v.active && !v.potentially_failed).min_by_key(|v| v.srtt);
        let blocked = fastest.is_some_and(usable);
        self.tx.note_block(blocked);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{arrives, established, segment, sent};
    use super::*;
    use crate::Protocol;
    use crate::mptcp::state::usual::Usual;
    use crate::time::Duration;
    use wire::Segment;

    /// RFC 9293 §3.8.6.2.1: a window that has room for a part of a segment only waits to open, unless nothing is under way.
    #[test]
    fn a_segment_is_not_cut_short_while_an_acknowledgment_is_under_way() {
        let mut c = established(Protocol::Mptcp, 1);
        c.tx.begin(1_500);
        c.offer(10_000);
        assert_eq!(sent(&mut c, Instant::from_millis(1)), [(0, 0, 1_000)]);
        let mut c = established(Protocol::Mptcp, 1);
        c.tx.begin(500);
        c.offer(10_000);
        assert_eq!(sent(&mut c, Instant::from_millis(1)), [(0, 0, 500)]);
    }

    /// Nagle (RFC 9293 §3.7.4): the last short segment waits for the acknowledgment, or for the end of the stream.
    #[test]
    fn a_short_segment_waits_while_data_is_outstanding() {
        let mut c = established(Protocol::Tcp, 1);
        c.offer(1_500);
        assert_eq!(sent(&mut c, Instant::from_millis(1)), [(0, 0, 1_000)]);
        let mut acknowledged = established(Protocol::Tcp, 1);
        acknowledged.offer(1_500);
        sent(&mut acknowledged, Instant::from_millis(1));
        arrives(&mut acknowledged, Instant::from_millis(11), 0, segment(1, 1_001, 0));
        assert_eq!(sent(&mut acknowledged, Instant::from_millis(11)), [(0, 1_000, 500)]);
        c.close(Instant::from_millis(2));
        assert_eq!(sent(&mut c, Instant::from_millis(2)), [(0, 1_000, 500)], "nothing will be added to it");
    }

    /// As Linux sends them, at a rate of 2 MB/s in pairs (`tcp_tso_autosize`): the second of each is pushed.
    #[test]
    fn segments_leave_in_groups_that_end_with_psh() {
        let mut c = established(Protocol::Tcp, 1);
        c.subflows[0].form_groups();
        c.usual = Usual::new(true, false);
        c.views[0].min_rtt = Duration::from_millis(10);
        c.offer(100_000);
        let pushed: Vec<bool> = std::iter::from_fn(|| c.transmit(Instant::from_millis(1)))
            .map(|(_, segment)| segment.flags.psh())
            .collect();
        assert_eq!(pushed, [false, true, false, true, false, true, false, true, false, true]);
    }

    /// New data goes over the shortest round trip, and over the next one when that window is full.
    #[test]
    fn the_shortest_round_trip_is_filled_first() {
        let mut c = established(Protocol::Mptcp, 2);
        (c.views[0].cwnd, c.views[1].cwnd) = (2.0, 1.0);
        c.offer(10_000);
        assert_eq!(sent(&mut c, Instant::from_millis(1)), [(0, 0, 1_000), (0, 1_000, 1_000), (1, 2_000, 1_000)]);
    }

    /// RFC 8684 §3.3.6: what another subflow carried in vain goes before new data, over one that has not tried it.
    #[test]
    fn a_reinjection_goes_first() {
        let mut c = established(Protocol::Mptcp, 2);
        c.offer(10_000);
        c.views[0].cwnd = 2.0;
        c.views[1].cwnd = 0.0;
        assert_eq!(sent(&mut c, Instant::from_millis(1)), [(0, 0, 1_000), (0, 1_000, 1_000)]);
        c.reinjections.add(Offset::FIRST, Offset::after(1_000), 0);
        c.views[1].cwnd = 2.0;
        c.usual.forget(); // it has got room
        c.due.data = true;
        let (r, again) = c.transmit(Instant::from_millis(2)).unwrap();
        assert_eq!((r, again.payload.offset, again.payload.len), (SubflowId(1), 0, 1_000));
        assert_eq!(c.timers.hole_tried(), SubflowSet::one(1));
        assert_eq!(sent(&mut c, Instant::from_millis(2)), [(1, 2_000, 1_000)]);
    }

    /// Raiciu 2012 §4.2: the window is halved, and the threshold only where the window has outgrown it.
    #[test]
    fn a_penalty_halves_the_window() {
        let penalised = |cwnd, ssthresh, phase| {
            let mut c = established(Protocol::Mptcp, 2);
            (c.views[0].cwnd, c.views[0].ssthresh, c.views[0].phase) = (cwnd, ssthresh, phase);
            c.penalise(Instant::from_millis(1), SubflowSet::one(0));
            (c.views[0].cwnd, c.views[0].ssthresh)
        };
        assert_eq!(penalised(10.0, 8.0, Phase::Open), (5.0, 4.0));
        assert_eq!(penalised(10.0, 20.0, Phase::Open), (5.0, 20.0), "in slow start");
        assert_eq!(penalised(1.5, 1.0, Phase::Open), (1.0, 2.0), "not below one segment, and a threshold of two");
        assert_eq!(penalised(10.0, 8.0, Phase::Recovery), (10.0, 8.0), "a recovery sets its own");
    }

    /// RFC 8684 §3.3.5: the window of the connection bounds what all subflows send.
    #[test]
    fn the_window_of_the_connection_is_one_for_all_subflows() {
        let mut c = established(Protocol::Mptcp, 2);
        (c.views[0].cwnd, c.views[1].cwnd) = (2.0, 10.0);
        c.tx.begin(3_000);
        c.offer(10_000);
        assert_eq!(sent(&mut c, Instant::from_millis(1)), [(0, 0, 1_000), (0, 1_000, 1_000), (1, 2_000, 1_000)]);
        let mut opened = Segment { window: 4_000, ..super::super::fixture::signal(&c, 1, 1_001, 0) };
        opened.payload = wire::Span { offset: 0, len: 0 };
        arrives(&mut c, Instant::from_millis(11), 0, opened);
        assert_eq!(sent(&mut c, Instant::from_millis(11)), [(0, 3_000, 1_000)]);
    }
}
