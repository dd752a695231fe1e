//! The event queue, ordered by (time, time of scheduling, target). Simultaneous events happen in the order in which
//! they were scheduled, as far as virtual time distinguishes it, and every run is the same.
//!
//! Nearly all events are heads of links, at most one per link, and lie within the time that a packet takes over a link.
//! They are in a calendar queue, where insertion and removal cost the same however many links are busy. Timers and more
//! distant events are in a heap.

mod calendar;
mod stamp;

pub use calendar::Cursor;
use calendar::{Calendar, NOTHING};
use stamp::Stamp;
pub use stamp::TARGET_LIMIT;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue of `(time_ns, target)`.
pub struct EventQueue {
    near: Calendar,
    /// An event in `near` before this stamp is the next event. It is the smaller of `first_far` and the limit.
    horizon: Stamp,
    limit_ns: u64,
    /// The earliest entry of `far`, or [`Stamp::LAST`].
    first_far: Stamp,
    far: BinaryHeap<Reverse<Stamp>>,
    /// Whether the top of `far` was taken but not removed. Usually a new entry follows and replaces it.
    taken: bool,
}

impl EventQueue {
    /// Event times that differ by less than this share a day and are compared one by one, in a queue for `span_ns`.
    pub fn day_ns(span_ns: u64) -> u64 {
        Calendar::day_ns(span_ns)
    }

    /// An empty queue. Targets below `links` are links (see [`Self::push_link`]), whose events mostly lie less than
    /// `span_ns` ahead. The order of events does not depend on it.
    pub fn new(links: usize, span_ns: u64) -> EventQueue {
        EventQueue {
            near: Calendar::new(links, span_ns),
            horizon: Stamp::before(0),
            limit_ns: 0,
            first_far: Stamp::LAST,
            far: BinaryHeap::new(),
            taken: false,
        }
    }

    /// Schedules `target` at `time_ns`. `since_ns` is the current time, which must not be before the entry taken last. Of two entries for
    /// the same time, the one scheduled earlier comes first; if both were scheduled at the same time, the one with the lower target.
    /// With `time_ns` as `since_ns` an entry comes after those of its time that were scheduled before it. `target` must be below
    /// [`TARGET_LIMIT`].
    #[inline]
    pub fn push(&mut self, since_ns: u64, time_ns: u64, target: u32) {
        self.push_far(since_ns, time_ns, target);
    }

    /// As [`Self::push`], for a link without an entry. `note` is for prefetching. Inlined by force: as a function call
    /// it costs a third more.
    #[inline(always)]
    pub fn push_link(&mut self, since_ns: u64, time_ns: u64, link: u32, note: u32) {
        if !self.near.push(since_ns, time_ns, link, note) {
            self.push_far(since_ns, time_ns, link);
        }
    }

    // Takes numbers and not a stamp, which would be built in memory for every link.
    #[inline(never)]
    fn push_far(&mut self, since_ns: u64, time_ns: u64, target: u32) {
        debug_assert!((target as usize) < TARGET_LIMIT);
        let stamp = Stamp::new(since_ns, time_ns, target);
        if self.taken
            && let Some(mut top) = self.far.peek_mut()
        {
            *top = Reverse(stamp);
        } else {
            self.far.push(Reverse(stamp));
        }
        self.taken = false;
        self.first_far = self.first_far.min(stamp);
        self.horizon = self.horizon.min(stamp);
    }

    /// Makes [`Self::pop`] return only events before `limit_ns`.
    pub fn set_limit(&mut self, limit_ns: u64) {
        self.limit_ns = limit_ns;
        self.find_first_far();
    }

    /// Takes the earliest entry if its time is before the limit.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        let mut popped = self.near.pop_before(&self.horizon);
        if popped.1 == NOTHING.1 {
            popped = self.pop_far();
        }
        (popped.1 != NOTHING.1).then_some(popped)
    }

    #[inline(never)]
    fn pop_far(&mut self) -> (u64, u32) {
        if self.first_far.time_ns >= self.limit_ns {
            return NOTHING;
        }
        self.remove_taken();
        let Some(&Reverse(stamp)) = self.far.peek() else { return NOTHING };
        let (time_ns, target) = (stamp.time_ns, stamp.target());
        self.taken = true;
        self.near.advance(time_ns);
        self.find_first_far();
        (time_ns, target)
    }

    fn remove_taken(&mut self) {
        if std::mem::take(&mut self.taken) {
            self.far.pop();
        }
    }

    #[inline]
    fn find_first_far(&mut self) {
        // In a binary heap, the next two candidates are right below the top.
        let heap = self.far.as_slice();
        let first = if self.taken { heap.get(1).max(heap.get(2)) } else { heap.first() };
        self.first_far = first.map_or(Stamp::LAST, |far| far.0);
        self.horizon = self.first_far.min(Stamp::before(self.limit_ns));
    }

    /// How many days ahead the events of links mostly lie.
    pub fn days_ahead(&self) -> u64 {
        self.near.days_ahead()
    }

    /// The link that probably has the next event after the one at `cursor`, at most `days` after `now_ns`, and its
    /// note.
    #[inline]
    pub fn following(&self, cursor: &mut Cursor, now_ns: u64, days: u64) -> Option<(u32, u32)> {
        self.near.following(cursor, now_ns, days)
    }

    /// Removes all entries of `target`. Examines every entry, so it is for rare use.
    pub fn remove(&mut self, target: u32) {
        self.near.remove(target);
        self.remove_taken();
        self.far.retain(|far| far.0.target() != target);
        self.find_first_far();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The reference order, by the standard library's heap: (time, time of scheduling, target).
    #[derive(Default)]
    struct Reference {
        heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    }

    impl Reference {
        fn push(&mut self, since_ns: u64, time_ns: u64, target: u32) {
            self.heap.push(Reverse((time_ns, since_ns, target)));
        }

        fn pop(&mut self, limit_ns: u64) -> Option<(u64, u32)> {
            if self.heap.peek()?.0.0 >= limit_ns {
                return None;
            }
            self.heap.pop().map(|Reverse((time_ns, _, target))| (time_ns, target))
        }

        fn remove(&mut self, target: u32) {
            self.heap.retain(|Reverse(entry)| entry.2 != target);
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(u64, u32),
        PushLast(u64, u32),
        PushLink(u64, u32),
        Pop,
        Remove(u32),
    }

    /// Targets below this are links.
    const LINKS: u32 = 20;

    fn step() -> impl Strategy<Value = Step> {
        // Few times and few targets, to test ties. Times count from the last one popped.
        prop_oneof![
            6 => (0..12_u64, LINKS..40_u32).prop_map(|(time, target)| Step::Push(time, target)),
            1 => (0..12_u64, LINKS..40_u32).prop_map(|(time, target)| Step::PushLast(time, target)),
            9 => (prop_oneof![0..12_u64, 4080..4110_u64, 0..20_000_u64], 0..LINKS).prop_map(|(time, link)| Step::PushLink(time, link)),
            9 => Just(Step::Pop),
            1 => (0..40_u32).prop_map(Step::Remove),
        ]
    }

    proptest! {
        #[test]
        fn pops_in_the_order_of_time_and_of_scheduling(
            steps in prop::collection::vec(step(), 0..400), span_ns in prop_oneof![Just(0_u64), Just(100_000), Just(u64::MAX)],
        ) {
            let (mut queue, mut reference) = (EventQueue::new(LINKS as usize, span_ns), Reference::default());
            let (mut now_ns, mut limit_ns) = (0, 0);
            for step in steps {
                match step {
                    Step::Push(after, target) => {
                        queue.push(now_ns, now_ns + after, target);
                        reference.push(now_ns, now_ns + after, target);
                    }
                    Step::PushLast(after, target) => {
                        queue.push(now_ns + after, now_ns + after, target);
                        reference.push(now_ns + after, now_ns + after, target);
                    }
                    Step::PushLink(after, link) => {
                        // A link has at most one entry.
                        queue.remove(link);
                        reference.remove(link);
                        queue.push_link(now_ns, now_ns + after, link, 0);
                        reference.push(now_ns, now_ns + after, link);
                    }
                    Step::Pop => {
                        queue.set_limit(limit_ns);
                        let popped = queue.pop();
                        prop_assert_eq!(popped, reference.pop(limit_ns));
                        // The limit, like the end of a run, may cut off events; it then moves on.
                        match popped {
                            Some((at_ns, _)) => now_ns = at_ns,
                            None => limit_ns += 7,
                        }
                    }
                    Step::Remove(target) => {
                        queue.remove(target);
                        reference.remove(target);
                    }
                }
            }
            queue.set_limit(u64::MAX);
            while let Some(expected) = reference.pop(u64::MAX) {
                prop_assert_eq!(queue.pop(), Some(expected));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn looking_ahead_goes_by_days_as_far_as_asked_and_moves_nothing() {
        // Days of 8 ns: 100 and 101 share a day, in which the latest comes first; 1,000 lies too far ahead.
        let mut queue = EventQueue::new(4, 8 * 3968);
        assert_eq!(queue.days_ahead(), 3968);
        let entered = [(100, 0), (20, 1), (101, 2), (1_000, 3)];
        entered.iter().for_each(|&(time_ns, link)| queue.push_link(0, time_ns, link, 10 + link));
        let mut cursor = Cursor::default();
        let ahead: Vec<(u32, u32)> = std::iter::from_fn(|| queue.following(&mut cursor, 0, 20)).collect();
        assert_eq!(ahead, [(1, 11), (2, 12), (0, 10)]);
        queue.set_limit(u64::MAX);
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(popped, [(20, 1), (100, 0), (101, 2), (1_000, 3)]);
        assert_eq!(queue.following(&mut cursor, 0, 20), None);
    }
}
