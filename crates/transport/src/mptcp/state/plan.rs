//! The send plan: what is bound to each subflow and waits there for its window, and what had been bound to one that failed.

use std::collections::VecDeque;

use crate::offset::Offset;
use crate::scheduler::SubflowSet;
use crate::tcp::socket_queue::Waiting;

/// What a range that waits on a subflow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Never sent, and bound to nobody else.
    Own,
    /// Others have sent it, or it is bound to them as well.
    Shared,
    /// A reinjection: those that carried it are no more, or do not answer.
    Again,
}

/// A range of the stream that waits on a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assigned {
    pub from: Offset,
    pub to: Offset,
    pub kind: Kind,
    /// A part of it has left.
    begun: bool,
    /// It was filled, and what was bound with it goes on in the next range.
    continued: bool,
    /// It gets no more data.
    closed: bool,
}

impl Assigned {
    fn new(from: Offset, to: Offset, kind: Kind) -> Self {
        Assigned { from, to, kind, begun: false, continued: false, closed: false }
    }

    /// Whether all that was bound in a row ends with it.
    pub fn is_last_in_row(&self) -> bool {
        !self.continued
    }
}

/// What waits on one subflow, in the order in which it goes out.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    ranges: VecDeque<Assigned>,
    bytes: u64,
    /// Subflow sequence number behind the last segment that was not full.
    pub short_end: u64,
}

impl Queue {
    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// What goes out next, and whether something follows it.
    pub fn first(&self) -> Option<(Assigned, bool)> {
        self.ranges.front().map(|&first| (first, self.ranges.len() > 1))
    }

    /// Ranges that wait.
    pub fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// The same, where each is a buffer of the kernel.
    pub fn waiting(&self) -> Option<Waiting> {
        let first = self.ranges.front()?;
        let buffers = self.ranges.len();
        Some(Waiting {
            bytes: self.bytes,
            first: first.to - first.from,
            buffers,
            closed: first.closed && buffers == 1,
            tail_waits: false,
        })
    }

    /// How much of data that begins at `next` goes into the last buffer of at most `buffer_bytes`, or into another one.
    pub fn next_buffer(&self, next: Offset, buffer_bytes: u64) -> u64 {
        let goes_on = self.ranges.back().filter(|last| last.to == next && !last.begun);
        let room = goes_on.map_or(0, |last| buffer_bytes.saturating_sub(last.to - last.from));
        if room > 0 { room } else { buffer_bytes }
    }

    /// The next data, at `next`, was tried here, and the window had no room for it: what it cannot be appended to is closed
    /// (`mptcp_sendmsg_frag` sets `eor` before it looks at the window).
    pub fn close(&mut self, next: Offset) {
        if let Some(last) = self.ranges.back_mut() {
            last.closed |= last.to != next || last.begun;
        }
    }

    pub fn push(&mut self, from: Offset, to: Offset, kind: Kind) {
        self.bytes += to - from;
        match self.ranges.back_mut() {
            Some(last) if last.to == from && last.kind == kind => last.to = to,
            _ => self.ranges.push_back(Assigned::new(from, to, kind)),
        }
    }

    /// The same in buffers of at most `buffer_bytes`, more than 0, each of which is one mapping: what continues the last is
    /// appended to it while none of it has left. A segment does not reach from one into the next.
    pub fn push_in_buffers(&mut self, mut from: Offset, to: Offset, kind: Kind, buffer_bytes: u64) {
        self.bytes += to - from;
        if let Some(last) = self.ranges.back_mut()
            && last.to == from
            && last.kind == kind
            && !last.begun
        {
            last.to = to.min(last.to + buffer_bytes.saturating_sub(last.to - last.from));
            last.continued = last.to < to;
            from = last.to;
        }
        while from < to {
            let end = to.min(from + buffer_bytes);
            self.ranges.push_back(Assigned { continued: end < to, ..Assigned::new(from, end, kind) });
            from = end;
        }
    }

    fn push_front(&mut self, waiting: Assigned) {
        self.bytes += waiting.to - waiting.from;
        self.ranges.push_front(waiting);
    }

    /// The first `len` bytes of the first range leave.
    pub fn pop(&mut self, len: u64) {
        if let Some(first) = self.ranges.front_mut() {
            self.bytes -= len;
            first.from += len;
            first.begun = true;
            if first.from == first.to {
                self.ranges.pop_front();
            }
        }
    }

    /// Of what is shared, what lies below `acknowledged` leaves.
    fn prune(&mut self, acknowledged: Offset) {
        while let Some(first) = self.ranges.front()
            && first.kind == Kind::Shared
            && first.from < acknowledged
        {
            self.pop(acknowledged.min(first.to) - first.from);
        }
    }

    /// The parts of a range that do not wait here.
    fn gaps(&self, from: Offset, to: Offset) -> Vec<(Offset, Offset)> {
        self.ranges.iter().fold(vec![(from, to)], |gaps, waiting| without(&gaps, waiting.from, waiting.to))
    }
}

/// What is left of ranges without another one.
fn without(ranges: &[(Offset, Offset)], from: Offset, to: Offset) -> Vec<(Offset, Offset)> {
    let sides = ranges.iter().flat_map(|&(a, b)| [(a, b.min(from)), (a.max(to), b)]);
    sides.filter(|&(a, b)| a < b).collect()
}

/// What is planned.
#[derive(Debug, Default)]
pub struct SendPlan {
    queues: Vec<Queue>,
    /// Bound to a subflow that failed, never sent, and to be bound again; in the order of the stream.
    returned: VecDeque<(Offset, Offset)>,
    /// Of what is shared, what no subflow has sent yet; in the order of the stream, without overlap.
    unsent: VecDeque<(Offset, Offset)>,
    /// Subflows that were promised to send what waits there before the scheduler is asked again.
    pub promised: SubflowSet,
    /// New data is bound ahead: nobody but the scheduler takes any.
    pub ahead: bool,
}

impl SendPlan {
    /// Places for so many subflows.
    pub fn grow(&mut self, subflows: usize) {
        self.queues.resize(subflows.max(self.queues.len()), Queue::default());
    }

    pub fn queue(&self, r: usize) -> Option<&Queue> {
        self.queues.get(r)
    }

    pub fn queue_mut(&mut self, r: usize) -> Option<&mut Queue> {
        self.queues.get_mut(r)
    }

    /// Subflows that there are places for.
    pub fn subflows(&self) -> usize {
        self.queues.len()
    }

    /// Whether anything waits on the subflow.
    pub fn waits_on(&self, r: usize) -> bool {
        self.queues.get(r).is_some_and(|queue| !queue.is_empty())
    }

    /// Whether there is nothing to do that was planned.
    pub fn is_idle(&self) -> bool {
        self.promised.0 == 0 && self.returned.is_empty() && self.queues.iter().all(Queue::is_empty)
    }

    /// The first byte that waits on any.
    pub fn first_bound(&self) -> Option<Offset> {
        self.queues.iter().flat_map(|queue| &queue.ranges).map(|waiting| waiting.from).min()
    }

    /// Ranges that wait.
    pub fn len(&self) -> usize {
        self.queues.iter().map(|queue| queue.ranges.len()).sum::<usize>() + self.returned.len() + self.unsent.len()
    }

    /// Data that was never sent is bound to several subflows, whose queues [get](Queue::push) it.
    pub fn share(&mut self, from: Offset, to: Offset) {
        let i = self.unsent.partition_point(|&(at, _)| at < from);
        match i.checked_sub(1).and_then(|before| self.unsent.get_mut(before)) {
            Some(before) if before.1 == from => before.1 = to,
            _ => self.unsent.insert(i, (from, to)),
        }
    }

    /// How many of the `len` bytes of shared data from `from` on are alike, and whether they were never sent.
    pub fn alike(&self, from: Offset, len: u64) -> (u64, bool) {
        let next = self.unsent.iter().find(|&&(_, to)| to > from);
        match next {
            Some(&(at, to)) if at <= from => (len.min(to - from), true),
            Some(&(at, _)) => (len.min(at - from), false),
            None => (len, false),
        }
    }

    /// Shared data was sent for the first time, or needs no sending any more.
    pub fn note_sent(&mut self, from: Offset, to: Offset) {
        if self.unsent.iter().any(|&(a, b)| a < to && from < b) {
            self.unsent = without(self.unsent.make_contiguous(), from, to).into();
        }
    }

    /// The parts of a range that subflow `r` does not carry, and that do not wait there, go there once more.
    pub fn repeat(
        &mut self,
        r: usize,
        from: Offset,
        to: Offset,
        carried: impl Iterator<Item = (Offset, Offset)>,
    ) -> bool {
        let Some(queue) = self.queues.get_mut(r) else { return false };
        let overlapping = carried.filter(|&(a, b)| a < to && from < b);
        let gaps = overlapping.fold(queue.gaps(from, to), |gaps, (from, to)| without(&gaps, from, to));
        gaps.iter().for_each(|&(from, to)| queue.push(from, to, Kind::Shared));
        !gaps.is_empty()
    }

    /// Subflow `r` is to send next what another one sends now.
    pub fn promise(&mut self, r: usize, from: Offset, to: Offset) {
        if let Some(queue) = self.queues.get_mut(r) {
            queue.push_front(Assigned::new(from, to, Kind::Shared));
            self.promised.insert(r);
        }
    }

    /// Of what is shared, what the peer has acknowledged need not be sent.
    pub fn prune(&mut self, acknowledged: Offset) {
        self.queues.iter_mut().for_each(|queue| queue.prune(acknowledged));
    }

    /// The first range to be bound again, above what the peer has acknowledged.
    pub fn first_returned(&mut self, acknowledged: Offset) -> Option<(Offset, Offset)> {
        loop {
            let first = self.returned.front_mut()?;
            first.0 = first.0.max(acknowledged);
            if first.0 < first.1 {
                return Some(*first);
            }
            self.returned.pop_front();
        }
    }

    /// The first `len` bytes of it were sent or bound.
    pub fn take_returned(&mut self, len: u64) {
        if let Some(first) = self.returned.front_mut() {
            first.0 += len;
            if first.0 >= first.1 {
                self.returned.pop_front();
            }
        }
    }

    /// Subflow `r` fails: its own data is to be bound again, and so is what it shares where nobody has sent it and it waits
    /// on none of the subflows that `work`. Reinjections are the answer: others must carry them. One that `leaves`
    /// keeps nothing; else it goes on with what it shares when it can.
    pub fn give_back(&mut self, r: usize, leaves: bool, work: impl Fn(usize) -> bool) -> Vec<(Offset, Offset)> {
        let Some(queue) = self.queues.get_mut(r) else { return Vec::new() };
        let mut again = Vec::new();
        let mut returned: Vec<_> = self.returned.drain(..).collect();
        queue.bytes = 0;
        for waiting in std::mem::take(&mut queue.ranges) {
            match waiting.kind {
                Kind::Own => returned.push((waiting.from, waiting.to)),
                Kind::Again => again.push((waiting.from, waiting.to)),
                Kind::Shared if !leaves => queue.push(waiting.from, waiting.to, Kind::Shared),
                Kind::Shared => {}
            }
        }
        let others = || self.queues.iter().enumerate().filter(|&(other, _)| other != r && work(other));
        let orphans = others()
            .flat_map(|(_, queue)| &queue.ranges)
            .fold(self.unsent.iter().copied().collect::<Vec<_>>(), |orphans, waiting| {
                without(&orphans, waiting.from, waiting.to)
            });
        orphans.iter().for_each(|&(from, to)| self.note_sent(from, to));
        returned.extend(orphans);
        returned.sort_unstable();
        self.returned.extend(returned);
        self.promised.remove(r);
        again
    }

    /// What was bound and never sent.
    pub fn never_sent(&self) -> impl Iterator<Item = (Offset, Offset)> {
        let own = self.queues.iter().flat_map(|queue| &queue.ranges).filter(|waiting| waiting.kind == Kind::Own);
        own.map(|waiting| (waiting.from, waiting.to))
            .chain(self.returned.iter().copied())
            .chain(self.unsent.iter().copied())
    }

    /// Reinjections that wait on a subflow.
    pub fn again(&self) -> impl Iterator<Item = (Offset, Offset)> {
        let again = self.queues.iter().flat_map(|queue| &queue.ranges).filter(|waiting| waiting.kind == Kind::Again);
        again.map(|waiting| (waiting.from, waiting.to))
    }

    /// Takes everything out; the answer is what was never sent, in the order of the stream.
    pub fn drain(&mut self) -> Vec<(Offset, Offset)> {
        let mut all: Vec<_> = self.never_sent().collect();
        all.sort_unstable();
        for queue in &mut self.queues {
            queue.ranges.clear();
            queue.bytes = 0;
        }
        self.returned.clear();
        self.unsent.clear();
        self.promised = SubflowSet::default();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(octets: u64) -> Offset {
        Offset::after(octets)
    }

    fn octets(ranges: impl IntoIterator<Item = (Offset, Offset)>) -> Vec<(u64, u64)> {
        ranges.into_iter().map(|(from, to)| (from.octets(), to.octets())).collect()
    }

    fn first_returned(plan: &mut SendPlan, acknowledged: u64) -> Option<(u64, u64)> {
        plan.first_returned(at(acknowledged)).map(|(from, to)| (from.octets(), to.octets()))
    }

    fn plan(subflows: usize) -> SendPlan {
        let mut plan = SendPlan::default();
        plan.grow(subflows);
        plan
    }

    fn waiting(plan: &SendPlan, r: usize) -> Vec<(u64, u64)> {
        octets(plan.queues[r].ranges.iter().map(|waiting| (waiting.from, waiting.to)))
    }

    fn bind(plan: &mut SendPlan, on: &[usize], from: u64, to: u64) {
        let kind = if on.len() > 1 { Kind::Shared } else { Kind::Own };
        on.iter().for_each(|&r| plan.queue_mut(r).unwrap().push(at(from), at(to), kind));
        if on.len() > 1 {
            plan.share(at(from), at(to));
        }
    }

    /// Of buffers of 300 bytes the last has 200, of which none has left.
    #[test]
    fn what_goes_on_fills_the_last_buffer() {
        let mut queue = Queue::default();
        queue.push_in_buffers(Offset::after(0), Offset::after(500), Kind::Own, 300);
        assert_eq!(queue.next_buffer(Offset::after(500), 300), 100);
        assert_eq!(queue.next_buffer(Offset::after(600), 300), 300, "another part of the stream");
        queue.pop(300);
        queue.pop(50);
        assert_eq!(queue.next_buffer(Offset::after(500), 300), 300, "a part has left");
        assert_eq!(Queue::default().next_buffer(Offset::after(0), 300), 300);
    }

    #[test]
    fn what_a_subflow_alone_had_comes_back_in_order() {
        let mut plan = plan(2);
        bind(&mut plan, &[0], 0, 100);
        bind(&mut plan, &[1], 100, 200);
        bind(&mut plan, &[0], 200, 300);
        plan.queue_mut(0).unwrap().pop(40);
        assert_eq!((waiting(&plan, 0), plan.queues[0].bytes()), (vec![(40, 100), (200, 300)], 160));
        assert_eq!(plan.give_back(0, true, |_| true), []);
        assert_eq!((waiting(&plan, 0), plan.queues[0].bytes()), (vec![], 0));
        assert_eq!(first_returned(&mut plan, 50), Some((50, 100)));
        plan.take_returned(50);
        assert_eq!(first_returned(&mut plan, 50), Some((200, 300)));
        assert_eq!(first_returned(&mut plan, 300), None);
    }

    /// Data was tried where it does not continue what waits.
    #[test]
    fn only_the_last_buffer_is_closed_and_not_where_the_next_data_continues_it() {
        let mut plan = plan(1);
        let queue = plan.queue_mut(0).unwrap();
        queue.push_in_buffers(at(0), at(4_368), Kind::Own, 31_328);
        let closed = |queue: &Queue| queue.waiting().map(|waiting| waiting.closed);
        queue.close(at(4_368));
        assert_eq!(closed(queue), Some(false));
        queue.close(at(9_000));
        queue.pop(2_848);
        assert_eq!(closed(queue), Some(true));
        queue.push_in_buffers(at(9_000), at(9_100), Kind::Own, 31_328);
        assert_eq!(closed(queue), Some(false), "another follows, and it goes in any case");
    }

    #[test]
    fn a_buffer_that_has_begun_to_leave_is_closed() {
        let mut plan = plan(1);
        let queue = plan.queue_mut(0).unwrap();
        // 22 segments of 1424 bytes are one buffer: 64,384 bytes are two and 1,728 bytes of a third.
        queue.push_in_buffers(at(25_633), at(90_017), Kind::Own, 31_328);
        // Nothing of the third has left: 22,592 bytes more go into it.
        queue.push_in_buffers(at(90_017), at(112_609), Kind::Own, 31_328);
        let all = [(25_633, 56_961), (56_961, 88_289), (88_289, 112_609)];
        assert_eq!((waiting(&plan, 0), plan.queues[0].bytes()), (all.to_vec(), 86_976));
        let row: Vec<_> = plan.queues[0].ranges.iter().map(Assigned::is_last_in_row).collect();
        assert_eq!(row, [false, false, true]);
        let queue = plan.queue_mut(0).unwrap();
        [31_328, 31_328, 1_424].into_iter().for_each(|len| queue.pop(len));
        // It has begun: what continues it begins another.
        queue.push_in_buffers(at(112_609), at(114_033), Kind::Own, 31_328);
        queue.push_in_buffers(at(114_033), at(115_457), Kind::Own, 31_328);
        assert_eq!(waiting(&plan, 0), [(89_713, 112_609), (112_609, 115_457)]);
        assert!(plan.queues[0].ranges[0].is_last_in_row(), "it was the end of what was bound then");
        // Another kind, or data that does not continue it, neither.
        let queue = plan.queue_mut(0).unwrap();
        queue.push_in_buffers(at(115_457), at(115_557), Kind::Again, 31_328);
        queue.push_in_buffers(at(200_000), at(200_100), Kind::Again, 31_328);
        assert_eq!((queue.ranges(), queue.bytes()), (4, 22_896 + 2_848 + 200));
    }

    #[test]
    fn what_is_shared_comes_back_when_nobody_else_has_it() {
        let mut plan = plan(3);
        bind(&mut plan, &[0, 1], 0, 300);
        assert_eq!(plan.alike(at(0), 100), (100, true));
        plan.note_sent(at(0), at(100));
        assert_eq!((plan.alike(at(50), 100), plan.alike(at(100), 100)), ((50, false), (100, true)));
        // Subflow 1 has it too.
        assert_eq!(plan.give_back(0, true, |_| true), []);
        assert_eq!(first_returned(&mut plan, 0), None);
        // Now nobody has; the first 100 bytes are under way. It goes on with them when it can.
        assert_eq!(plan.give_back(1, false, |r| r == 2), []);
        assert_eq!((first_returned(&mut plan, 0), waiting(&plan, 1)), (Some((100, 300)), vec![(0, 300)]));
        assert_eq!(plan.alike(at(100), 100), (100, false));
    }

    #[test]
    fn nothing_waits_twice_on_a_subflow() {
        let mut plan = plan(1);
        bind(&mut plan, &[0], 100, 200);
        assert!(plan.repeat(0, at(0), at(300), [(at(20), at(30))].into_iter()));
        assert_eq!(waiting(&plan, 0), [(100, 200), (0, 20), (30, 100), (200, 300)]);
        assert!(!plan.repeat(0, at(50), at(250), std::iter::empty()));
        assert!(!plan.repeat(7, at(0), at(10), std::iter::empty()), "there is no such subflow");
    }

    #[test]
    fn reinjections_go_back_to_where_they_came_from() {
        let mut plan = plan(2);
        plan.queue_mut(0).unwrap().push(at(10), at(20), Kind::Again);
        assert_eq!(octets(plan.again()), [(10, 20)]);
        assert_eq!(octets(plan.give_back(0, true, |_| true)), [(10, 20)]);
        assert_eq!(plan.len(), 0);
    }

    #[test]
    fn acknowledged_copies_are_dropped_and_own_data_keeps_its_place() {
        let mut plan = plan(2);
        bind(&mut plan, &[0, 1], 0, 100);
        bind(&mut plan, &[0], 100, 200);
        plan.prune(at(150));
        assert_eq!((waiting(&plan, 0), waiting(&plan, 1)), (vec![(100, 200)], vec![]));
    }
}
