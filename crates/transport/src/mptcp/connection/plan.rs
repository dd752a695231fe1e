//! The send plan at work: data is bound to subflows, waits there for their windows, and is given back when they fail.

use super::Connection;
use super::outgoing::Outgoing;
use crate::mptcp::state::plan::{Kind, SendPlan};
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::scheduler::{Repair, SubflowSet, usable};
use crate::time::Instant;
use crate::trace::{ReinjectionReason, Sent};
use crate::waits::Sending;

/// What became of what waits on a subflow with room.
pub(super) enum PlannedSend {
    Sent(usize),
    /// The peer has all of it by now, so there may be room to bind more.
    Dropped,
    Nothing,
}

impl<P: Sendable> Connection<P> {
    /// The plan, with a place for each subflow.
    pub(super) fn plan_mut(&mut self) -> &mut SendPlan {
        let plan = self.plan.get_or_insert_with(Box::default);
        plan.grow(self.subflows.len());
        plan
    }

    /// Those of a set that are established.
    pub(super) fn active_of(&self, mut set: SubflowSet) -> SubflowSet {
        let mut active = SubflowSet::default();
        while let Some(r) = set.pop() {
            if self.views.get(r).is_some_and(|view| view.active) {
                active.insert(r);
            }
        }
        active
    }

    /// Binds a range, which is taken from where it came from, to each subflow of the set.
    pub(super) fn bind(&mut self, on: SubflowSet, from: Offset, to: Offset, again: bool) {
        let several = on.0.count_ones() > 1;
        let kind = match (again, several) {
            (true, _) => Kind::Again,
            (false, true) => Kind::Shared,
            (false, false) => Kind::Own,
        };
        self.plan_mut();
        let Some(plan) = &mut self.plan else { return };
        plan.ahead |= !again;
        if kind == Kind::Shared {
            plan.share(from, to);
        }
        let mut each = on;
        while let Some(r) = each.pop() {
            let buffer_bytes = self.silence.as_ref().map(|silence| silence.of(r).buffer_bytes(self.views[r].mss));
            match (plan.queue_mut(r), buffer_bytes) {
                (Some(queue), Some(buffer_bytes)) => queue.push_in_buffers(from, to, kind, buffer_bytes),
                (Some(queue), None) => queue.push(from, to, kind),
                (None, _) => {}
            }
        }
        let open = self.tx.right().beyond(from);
        let mut each = on;
        while let Some(r) = each.pop() {
            self.raise_window(r, open);
            self.note_queued(r);
        }
    }

    /// Binds what was sent or bound already once more. False: there is nothing of it that does not wait there.
    pub(super) fn repeat(&mut self, on: SubflowSet, from: Offset, to: Offset) -> bool {
        let (from, to) = (from.max(self.tx.una()), to.min(self.tx.nxt()));
        let mut each = self.active_of(on);
        let mut added = false;
        while let Some(r) = each.pop() {
            if from < to {
                self.plan_mut();
                let carried = self.subflows[r].board().iter().map(|sent| (sent.offset, sent.offset + sent.data_len()));
                added |= self.plan.as_mut().is_some_and(|plan| plan.repeat(r, from, to, carried));
            }
            self.note_queued(r);
        }
        added
    }

    /// The same, ahead of what waits there and before the scheduler is asked again.
    pub(super) fn promise(&mut self, on: SubflowSet, from: Offset, to: Offset) {
        let mut each = self.active_of(on);
        while let Some(r) = each.pop() {
            self.plan_mut().promise(r, from, to);
            self.note_queued(r);
        }
    }

    /// What the view of a subflow says of its queue.
    pub(super) fn note_queued(&mut self, r: usize) {
        let bytes = self.plan.as_ref().and_then(|plan| plan.queue(r)).map_or(0, |queue| queue.bytes());
        self.views[r].queued = bytes.div_ceil(u64::from(self.views[r].mss)) as u32;
    }

    /// Before the scheduler is asked: of copies that wait, what the peer has in the meantime need not be sent; and a backup
    /// gives back what waits there as long as another subflow works.
    pub(super) fn review_plan(&mut self) {
        let Some(plan) = &mut self.plan else { return };
        plan.prune(self.tx.una());
        let another = self.views.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
        for r in 0..plan.subflows() {
            if another && self.views[r].backup && self.repair() == Repair::Prompt {
                self.give_back(r, true);
            }
            self.note_queued(r);
        }
    }

    /// What waits on the first subflow that may send it.
    pub(super) fn transmit_waiting(&mut self, now: Instant, among: SubflowSet, out: &mut Outgoing<P>) -> PlannedSend {
        let subflows = self.plan.as_ref().map_or(0, |plan| plan.subflows());
        while let Some(r) = (0..subflows).find(|&r| among.contains(r) && self.may_send_waiting(now, r)) {
            if !self.has_room_for_waiting(r) {
                self.hold(now, r);
            } else if self.send_waiting(now, r, out) {
                return PlannedSend::Sent(r);
            } else {
                return PlannedSend::Dropped;
            }
        }
        PlannedSend::Nothing
    }

    /// What a decision to send promised: before the scheduler is asked again.
    pub(super) fn transmit_promised(&mut self, now: Instant, out: &mut Outgoing<P>) -> Option<usize> {
        loop {
            let promised = self.plan.as_ref()?.promised;
            if promised.0 == 0 {
                return None;
            }
            let waited = self.transmit_waiting(now, promised, out);
            let plan = self.plan.as_mut()?;
            match waited {
                PlannedSend::Sent(r) => {
                    plan.promised.remove(r);
                    return Some(r);
                }
                PlannedSend::Dropped => {}
                // The others have no room after all: what waits there goes when they have.
                PlannedSend::Nothing => plan.promised = SubflowSet::default(),
            }
        }
    }

    /// Whether the subflow's own window has room for the next segment of what waits there.
    fn has_room_for_waiting(&self, r: usize) -> bool {
        let first = self.plan.as_ref().and_then(|plan| plan.queue(r)).and_then(|queue| queue.first());
        let waiting = first.map_or(0, |(first, _)| first.to - first.from);
        self.own_room(r, waiting.min(u64::from(self.views[r].mss))).is_some()
    }

    /// Whether the subflow has something that waits, and may send it now, but for its own window. A last segment that is not full waits while
    /// an earlier one is unacknowledged (Nagle's rule as Minshall changed it, which is Linux's).
    fn may_send_waiting(&mut self, now: Instant, r: usize) -> bool {
        let Some(queue) = self.plan.as_ref().and_then(|plan| plan.queue(r)) else { return false };
        let Some((first, more)) = queue.first() else { return false };
        // In Linux what is sent again has no exception.
        let holds = first.kind != Kind::Again || self.repair() == Repair::Kernel;
        let short = !more && holds && first.to - first.from < u64::from(self.views[r].mss);
        let short_is_out = self.config.tcp.nagle && queue.short_end > self.subflows[r].snd_una();
        let held = short && short_is_out;
        let mut waiting = if self.subflows[r].has_groups() { queue.waiting() } else { None };
        if let Some(waiting) = &mut waiting {
            waiting.tail_waits = short_is_out && !more;
        }
        usable(&self.views[r])
            && !held
            && waiting.is_none_or(|waiting| {
                !self.has_room_for_waiting(r)
                    || !self.subflows[r].bound_waits_for_group(now, waiting, &mut self.views[r])
            })
    }

    /// The next segment of what waits on the subflow, as far as its own window allows. False: nothing of it is needed any more.
    pub(super) fn send_waiting(&mut self, now: Instant, r: usize, out: &mut Outgoing<P>) -> bool {
        let mss = u64::from(self.views[r].mss).min(self.subflows[r].open());
        let (una, keeps) = (self.tx.una(), self.repair() == Repair::Kernel);
        let Some(plan) = &mut self.plan else { return false };
        while let Some((first, _)) = plan.queue(r).and_then(|queue| queue.first()) {
            // What another subflow has brought in the meantime needs no bytes. In Linux it is in a socket that knows nothing of that.
            let from = if keeps { first.from } else { first.from.max(una.min(first.to)) };
            let len = mss.min(first.to - from);
            // A copy does not run into new data: it would be one segment here and two there.
            let (len, new) = match first.kind {
                Kind::Own => (len, true),
                Kind::Shared => plan.alike(from, len),
                Kind::Again => (len, false),
            };
            let Some(queue) = plan.queue_mut(r) else { return false };
            queue.pop(from + len - first.from);
            if (keeps || first.kind != Kind::Again) && 0 < len && len < mss {
                queue.short_end = self.subflows[r].snd_nxt() + len;
            }
            if first.kind == Kind::Shared {
                plan.note_sent(first.from, from + len);
            }
            if len == 0 {
                continue;
            }
            if !new && from == una {
                self.timers.try_hole(r);
            }
            self.note_queued(r);
            let payload = self.tx.slice(from, len);
            self.arm_data_timer(now);
            self.first_transmission(now, r, from, payload, false, out);
            self.tell_sent(now, r, (from, len, false), if new { Sent::New } else { Sent::Reinjection });
            let ends_group = self.subflows[r].ends_bound_group(now, &self.views[r]);
            if ends_group || (new && from + len == first.to && first.is_last_in_row()) {
                // All that was bound in a row has left: PSH, as Linux has it at the end of what it hands to a subflow.
                out.push();
            }
            if !new {
                self.subflows[r].note_reinjection(now);
                out.sending = Sending::Reinjection;
            }
            return true;
        }
        self.note_queued(r);
        false
    }

    /// Up to where the peer has acknowledged data that is not to be sent, where it has all up to `una`.
    pub(super) fn bound_from(&self, una: Offset) -> Offset {
        let keeps = self.plan.as_ref().filter(|_| self.repair() == Repair::Kernel);
        keeps.and_then(|plan| plan.first_bound()).map_or(una, |bound| bound.min(una))
    }

    /// Whether new data is bound ahead: then nobody but the scheduler takes any.
    pub(super) fn is_bound_ahead(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.ahead)
    }

    /// Subflow `r` fails: what waits on it is bound again. One that `leaves` keeps nothing.
    pub(super) fn give_back(&mut self, r: usize, leaves: bool) {
        let Some(plan) = &mut self.plan else { return };
        let works = |other: usize| self.views.get(other).is_some_and(|v| v.active && !v.potentially_failed);
        let again = plan.give_back(r, leaves, works);
        for (from, to) in again {
            self.reinjections.add(from.max(self.tx.una()), to, r);
            self.tell_queued(self.clock(), Some(r), (from.max(self.tx.una()), to), ReinjectionReason::GivenBack);
        }
        self.note_queued(r);
        self.due.data = true;
    }

    /// Before a fallback: what waits was not sent, so that the end of what was moves back.
    pub(super) fn unbind(&mut self) {
        let Some(plan) = &mut self.plan else { return };
        let mut all = plan.drain();
        while let Some((from, _)) = all.pop_if(|&mut (_, to)| to == self.tx.nxt()) {
            self.tx.retreat(from);
        }
        for (from, to) in all {
            self.reinjections.add_untried(from, to);
        }
        self.views.iter_mut().for_each(|v| v.queued = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::established;
    use super::*;
    use crate::Protocol;
    use crate::mptcp::state::silence::Silence;
    use wire::Span;

    /// Octets `from` to `to` are bound to subflow `r`, as a scheduler does it that looks ahead.
    fn bind(c: &mut Connection<Span>, r: usize, from: u64, to: u64) {
        c.tx.advance(to - c.tx.nxt().octets());
        c.bind(SubflowSet::one(r), Offset::after(from), Offset::after(to), false);
    }

    /// What goes out of what waits: subflow, place and length.
    fn waiting(c: &mut Connection<Span>) -> Option<(usize, u64, u64)> {
        match c.transmit_waiting(Instant::from_millis(1), SubflowSet(u64::MAX), &mut Outgoing::default()) {
            PlannedSend::Sent(r) => {
                c.subflows[r].board().iter().last().map(|sent| (r, sent.offset.octets(), sent.data_len()))
            }
            PlannedSend::Dropped | PlannedSend::Nothing => None,
        }
    }

    #[test]
    fn what_the_peer_has_meanwhile_is_not_sent() {
        let mut c = established(Protocol::Mptcp, 2);
        c.offer(10_000);
        bind(&mut c, 1, 0, 3_000);
        assert_eq!(c.views[1].queued, 3);
        c.tx.acknowledge(Offset::after(1_500), Offset::after(1_500));
        assert_eq!(waiting(&mut c), Some((1, 1_500, 1_000)));
        assert_eq!((c.views[1].queued, waiting(&mut c), c.views[1].queued), (1, Some((1, 2_500, 500)), 0));
    }

    /// In Linux what is bound is with its subflow, whatever others have brought; a queue keeps it until it has left.
    #[test]
    fn what_linux_has_bound_is_sent() {
        let mut c = established(Protocol::Mptcp, 2);
        c.silence = Some(Box::new(Silence::new(true)));
        if let Some(silence) = &mut c.silence {
            silence.hear(&c.subflows);
        }
        c.offer(10_000);
        bind(&mut c, 1, 0, 3_000);
        assert_eq!(c.bound_from(Offset::after(1_500)), Offset::FIRST);
        c.tx.acknowledge(Offset::after(1_500), Offset::FIRST);
        assert_eq!((waiting(&mut c), waiting(&mut c)), (Some((1, 0, 1_000)), Some((1, 1_000, 1_000))));
        assert_eq!(c.bound_from(Offset::after(2_500)), Offset::after(2_000));
        waiting(&mut c);
        assert_eq!(c.bound_from(Offset::after(2_500)), Offset::after(2_500));
    }

    /// Minshall's form of Nagle's rule: a short segment waits for an earlier short one, not for full ones.
    #[test]
    fn one_short_segment_is_under_way_at_a_time() {
        let mut c = established(Protocol::Mptcp, 1);
        c.offer(10_000);
        bind(&mut c, 0, 0, 1_500);
        assert_eq!(waiting(&mut c), Some((0, 0, 1_000)));
        assert_eq!(waiting(&mut c), Some((0, 1_000, 500)), "behind a full one");
        bind(&mut c, 0, 1_500, 1_600);
        assert_eq!(waiting(&mut c), None, "behind a short one");
        c.subflows[0].pretend_acknowledged(1_501);
        assert_eq!(waiting(&mut c), Some((0, 1_500, 100)));
    }

    /// Linux knows no exception for what is sent again, neither for what waits nor for what it waits for.
    #[test]
    fn what_is_sent_again_waits_in_linux_too() {
        let sent = |linux: bool| {
            let mut c = established(Protocol::Mptcp, 1);
            c.silence = linux.then(|| Box::new(Silence::new(true)));
            if let Some(silence) = &mut c.silence {
                silence.hear(&c.subflows);
            }
            c.offer(10_000);
            c.tx.advance(3_000);
            c.bind(SubflowSet::one(0), Offset::after(0), Offset::after(500), true);
            let first = waiting(&mut c);
            c.bind(SubflowSet::one(0), Offset::after(2_000), Offset::after(2_100), true);
            (first, waiting(&mut c))
        };
        assert_eq!(sent(true), (Some((0, 0, 500)), None));
        assert_eq!(sent(false), (Some((0, 0, 500)), Some((0, 2_000, 100))));
    }

    #[test]
    fn what_waited_on_a_subflow_that_fails_is_bound_again() {
        let mut c = established(Protocol::Mptcp, 2);
        c.offer(10_000);
        bind(&mut c, 0, 0, 2_000);
        bind(&mut c, 1, 2_000, 3_000);
        assert_eq!(waiting(&mut c), Some((0, 0, 1_000)));
        c.give_back(0, true);
        assert_eq!((c.views[0].queued, c.views[1].queued, c.due.data), (0, 1, true));
        let returned = c.plan_mut().first_returned(Offset::FIRST);
        assert_eq!(returned, Some((Offset::after(1_000), Offset::after(2_000))), "the first 1,000 octets have left");
    }

    /// RFC 8684 §3.7: after a fallback the subflow is the stream, which goes on where it was sent up to.
    #[test]
    fn before_a_fallback_what_waits_is_unsent_again() {
        let mut c = established(Protocol::Mptcp, 1);
        c.offer(10_000);
        bind(&mut c, 0, 0, 3_000);
        waiting(&mut c);
        c.unbind();
        assert_eq!((c.tx.nxt().octets(), c.views[0].queued, c.reinjections.len()), (1_000, 0, 0));
    }
}
