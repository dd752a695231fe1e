//! The event queue, ordered by (time, order of insertion), so that events of one moment happen in the order in which
//! they were scheduled and a run is the same every time.
//!
//! Nearly all events are heads of links, at most one for each, and lie within the time that a packet takes over a link:
//! they stand in a calendar, where entering and taking cost the same however many links are busy. Timers, and what lies
//! further ahead, stand in a heap.

mod calendar;
mod stamp;

pub use calendar::Cursor;
use calendar::{Calendar, NOTHING};
use stamp::Stamp;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The most targets there can be.
pub const TARGET_LIMIT: usize = 1 << 24;

/// An entry of the heap; that of the earliest event is the greatest.
#[derive(Clone, Copy, Debug)]
struct Far {
    stamp: Stamp,
    target: u32,
}

impl Ord for Far {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.stamp.cmp(&self.stamp)
    }
}

impl PartialOrd for Far {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Far {
    fn eq(&self, other: &Self) -> bool {
        self.stamp == other.stamp
    }
}

impl Eq for Far {}

/// A queue of `(time_ns, target)`.
pub struct EventQueue {
    near: Calendar,
    /// What comes before this and stands in `near` is the next event: the earlier of `first_far` and the limit.
    horizon: Stamp,
    /// Of the next event.
    sequence: u64,
    limit_ns: u64,
    /// The earliest of `far`; [`Stamp::LAST`] without one.
    first_far: Stamp,
    far: BinaryHeap<Far>,
    /// The top of `far` was taken and still stands there: mostly a new entry follows, and takes its place.
    taken: bool,
}

impl EventQueue {
    /// Events whose times differ by less than this are told apart one by one, in a queue made for `span_ns`.
    pub fn day_ns(span_ns: u64) -> u64 {
        Calendar::day_ns(span_ns)
    }

    /// An empty queue. The targets below `links` are links: [`Self::push_link`]. Mostly their events lie less than `span_ns`
    /// ahead; the order does not depend on it.
    pub fn new(links: usize, span_ns: u64) -> EventQueue {
        EventQueue {
            near: Calendar::new(links, span_ns),
            horizon: Stamp { time_ns: 0, sequence: 0 },
            sequence: 0,
            limit_ns: 0,
            first_far: Stamp::LAST,
            far: BinaryHeap::new(),
            taken: false,
        }
    }

    /// Schedules `target` at `time_ns`, after everything scheduled before for the same time.
    /// `target` must be below [`TARGET_LIMIT`], `time_ns` not before the time of the entry taken last.
    #[inline]
    pub fn push(&mut self, time_ns: u64, target: u32) {
        let stamp = self.stamp(time_ns);
        self.push_far(stamp, target);
    }

    /// As [`Self::push`], for a link without an entry; `note` is for who looks ahead. Inlined by force: as a function it
    /// costs a third more.
    #[inline(always)]
    pub fn push_link(&mut self, time_ns: u64, link: u32, note: u32) {
        let stamp = self.stamp(time_ns);
        if !self.near.push(stamp, link, note) {
            self.push_far(stamp, link);
        }
    }

    #[inline(always)]
    fn stamp(&mut self, time_ns: u64) -> Stamp {
        let sequence = self.sequence;
        self.sequence += 1;
        Stamp { time_ns, sequence }
    }

    #[inline(never)]
    fn push_far(&mut self, stamp: Stamp, target: u32) {
        debug_assert!((target as usize) < TARGET_LIMIT);
        let entry = Far { stamp, target };
        if self.taken
            && let Some(mut top) = self.far.peek_mut()
        {
            *top = entry;
        } else {
            self.far.push(entry);
        }
        self.taken = false;
        self.first_far = self.first_far.min(stamp);
        self.horizon = self.horizon.min(stamp);
    }

    /// From now on [`Self::pop`] gives events before `limit_ns`.
    pub fn set_limit(&mut self, limit_ns: u64) {
        self.limit_ns = limit_ns;
        self.find_first_far();
    }

    /// Takes the earliest entry when its time is before the limit.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        let mut popped = self.near.pop_before(self.horizon);
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
        self.let_go_of_taken();
        let Some(&Far { stamp: Stamp { time_ns, .. }, target }) = self.far.peek() else { return NOTHING };
        self.taken = true;
        self.near.advance(time_ns);
        self.find_first_far();
        (time_ns, target)
    }

    fn let_go_of_taken(&mut self) {
        if std::mem::take(&mut self.taken) {
            self.far.pop();
        }
    }

    #[inline]
    fn find_first_far(&mut self) {
        // Below the top of a heap of two branches stand the next two.
        let heap = self.far.as_slice();
        let first = if self.taken { heap.get(1).max(heap.get(2)) } else { heap.first() };
        self.first_far = first.map_or(Stamp::LAST, |far| far.stamp);
        self.horizon = self.first_far.min(Stamp { time_ns: self.limit_ns, sequence: 0 });
    }

    /// How many days ahead the events of links mostly lie.
    pub fn days_ahead(&self) -> u64 {
        self.near.days_ahead()
    }

    /// The link whose event will probably come after the one at `cursor`, no more than `days` after `now_ns`, and its note.
    #[inline]
    pub fn following(&self, cursor: &mut Cursor, now_ns: u64, days: u64) -> Option<(u32, u32)> {
        self.near.following(cursor, now_ns, days)
    }

    /// Takes out every entry of `target`. Looks at all entries: for rare occasions.
    pub fn remove(&mut self, target: u32) {
        self.near.remove(target);
        self.let_go_of_taken();
        self.far.retain(|far| far.target != target);
        self.find_first_far();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;

    /// The same order from the standard library: (time, sequence, target).
    #[derive(Default)]
    struct Reference {
        heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
        sequence: u64,
    }

    impl Reference {
        fn push(&mut self, time_ns: u64, target: u32) {
            self.heap.push(Reverse((time_ns, self.sequence, target)));
            self.sequence += 1;
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
        PushLink(u64, u32),
        Pop,
        Remove(u32),
    }

    /// Targets below are links.
    const LINKS: u32 = 20;

    fn step() -> impl Strategy<Value = Step> {
        // Few times and few targets: ties are what must be right. Times count from the one popped last.
        prop_oneof![
            6 => (0..12_u64, LINKS..40_u32).prop_map(|(time, target)| Step::Push(time, target)),
            9 => (prop_oneof![0..12_u64, 4080..4110_u64, 0..20_000_u64], 0..LINKS).prop_map(|(time, link)| Step::PushLink(time, link)),
            9 => Just(Step::Pop),
            1 => (0..40_u32).prop_map(Step::Remove),
        ]
    }

    proptest! {
        #[test]
        fn pops_in_the_order_of_time_and_insertion(
            steps in prop::collection::vec(step(), 0..400), span_ns in prop_oneof![Just(0_u64), Just(100_000), Just(u64::MAX)],
        ) {
            let (mut queue, mut reference) = (EventQueue::new(LINKS as usize, span_ns), Reference::default());
            let (mut now_ns, mut limit_ns) = (0, 0);
            for step in steps {
                match step {
                    Step::Push(after, target) => {
                        queue.push(now_ns + after, target);
                        reference.push(now_ns + after, target);
                    }
                    Step::PushLink(after, link) => {
                        // A link has one entry at most.
                        queue.remove(link);
                        reference.remove(link);
                        queue.push_link(now_ns + after, link, 0);
                        reference.push(now_ns + after, link);
                    }
                    Step::Pop => {
                        queue.set_limit(limit_ns);
                        let popped = queue.pop();
                        prop_assert_eq!(popped, reference.pop(limit_ns));
                        // The limit, like the end of a run, may cut off, and then moves on.
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
        // Days of 8 ns: 100 and 101 are of one day, where the latest comes first; 1,000 lies too far ahead.
        let mut queue = EventQueue::new(4, 8 * 3968);
        assert_eq!(queue.days_ahead(), 3968);
        let entered = [(100, 0), (20, 1), (101, 2), (1_000, 3)];
        entered.iter().for_each(|&(time_ns, link)| queue.push_link(time_ns, link, 10 + link));
        let mut cursor = Cursor::default();
        let ahead: Vec<(u32, u32)> = std::iter::from_fn(|| queue.following(&mut cursor, 0, 20)).collect();
        assert_eq!(ahead, [(1, 11), (2, 12), (0, 10)]);
        queue.set_limit(u64::MAX);
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(popped, [(20, 1), (100, 0), (101, 2), (1_000, 3)]);
        assert_eq!(queue.following(&mut cursor, 0, 20), None);
    }
}
