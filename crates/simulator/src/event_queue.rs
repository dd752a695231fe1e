//! The event queue, ordered by (time, order of insertion), so that events of one moment happen in the order in which
//! they were scheduled and a run is the same every time.
//!
//! Nearly all events are heads of links, at most one for each, and lie within the time that a packet takes over a link:
//! they stand in a calendar, where entering and taking cost the same however many links are busy. Timers, and what lies
//! further ahead, stand in a heap.

mod calendar;

use calendar::Calendar;
pub use calendar::Cursor;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of an entry that say who is meant; the sequence number stands above them.
const TARGET_BITS: u32 = 24;
/// The most targets there can be.
pub const TARGET_LIMIT: usize = 1 << TARGET_BITS;
/// From one sequence number to the next. After 2⁴⁰ of them all entries are numbered anew.
const STEP: u64 = 1 << TARGET_BITS;

/// Time in the upper 64 bits, then the sequence number, then the target: one comparison orders entries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry(u128);

impl Entry {
    /// After every other.
    const LAST: Entry = Entry(u128::MAX);

    #[inline]
    fn new(time_ns: u64, sequence: u64, target: u32) -> Entry {
        Entry(u128::from(time_ns) << 64 | u128::from(sequence | u64::from(target)))
    }

    #[inline]
    fn time_ns(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    fn target(self) -> u32 {
        self.0 as u32 & (TARGET_LIMIT as u32 - 1)
    }
}

/// A queue of `(time_ns, target)`.
pub struct EventQueue {
    near: Calendar,
    far: BinaryHeap<Reverse<Entry>>,
    /// The earliest of `far`; [`Entry::LAST`] without one.
    first_far: Entry,
    /// Of the next entry, in steps of [`STEP`].
    sequence: u64,
}

impl EventQueue {
    /// Events whose times differ by less than this are told apart one by one, in a queue made for `span_ns`.
    pub fn day_ns(span_ns: u64) -> u64 {
        Calendar::day_ns(span_ns)
    }

    /// An empty queue. The targets below `links` are links: [`Self::push_link`]. Mostly their events lie less than `span_ns`
    /// ahead; the order does not depend on it.
    pub fn new(links: usize, span_ns: u64) -> EventQueue {
        EventQueue { near: Calendar::new(links, span_ns), far: BinaryHeap::new(), first_far: Entry::LAST, sequence: 0 }
    }

    /// Schedules `target` at `time_ns`, after everything scheduled before for the same time.
    /// `target` must be below [`TARGET_LIMIT`], `time_ns` not before the time of the entry taken last.
    #[inline]
    pub fn push(&mut self, time_ns: u64, target: u32) {
        let entry = self.number(time_ns, target);
        self.push_far(entry);
    }

    /// As [`Self::push`], for a link without an entry. Inlined by force: as a function it costs a third more.
    #[inline(always)]
    pub fn push_link(&mut self, time_ns: u64, link: u32) {
        let entry = self.number(time_ns, link);
        if !self.near.push(entry) {
            self.push_far(entry);
        }
    }

    #[inline]
    fn number(&mut self, time_ns: u64, target: u32) -> Entry {
        debug_assert!((target as usize) < TARGET_LIMIT);
        let sequence = self.sequence;
        let (next, exhausted) = sequence.overflowing_add(STEP);
        if exhausted {
            self.renumber();
            return self.number(time_ns, target);
        }
        self.sequence = next;
        Entry::new(time_ns, sequence, target)
    }

    #[inline(never)]
    fn push_far(&mut self, entry: Entry) {
        self.far.push(Reverse(entry));
        self.first_far = self.first_far.min(entry);
    }

    /// Takes the earliest entry when its time is before `limit_ns`.
    #[inline]
    pub fn pop_before(&mut self, limit_ns: u64) -> Option<(u64, u32)> {
        let limit = Entry::new(limit_ns, 0, 0);
        let entry = match self.near.pop_before(limit.min(self.first_far)) {
            Some(entry) => entry,
            None if self.first_far < limit => self.pop_far(),
            None => return None,
        };
        self.near.advance(entry.time_ns());
        Some((entry.time_ns(), entry.target()))
    }

    /// How many days ahead the events of links mostly lie.
    pub fn days_ahead(&self) -> u64 {
        self.near.days_ahead()
    }

    /// The link whose event will probably come after the one at `cursor`, no more than `days` ahead.
    #[inline]
    pub fn following(&self, cursor: &mut Cursor, days: u64) -> Option<u32> {
        self.near.following(cursor, days)
    }

    fn pop_far(&mut self) -> Entry {
        let first = self.first_far;
        self.far.pop();
        self.first_far = self.far.peek().map_or(Entry::LAST, |&Reverse(entry)| entry);
        first
    }

    /// Takes out every entry of `target`. Looks at all entries: for rare occasions.
    pub fn remove(&mut self, target: u32) {
        self.near.remove(target);
        self.far.retain(|Reverse(entry)| entry.target() != target);
        self.first_far = self.far.peek().map_or(Entry::LAST, |&Reverse(entry)| entry);
    }

    /// Numbers the entries from 0 in their present order, so that insertion can go on.
    #[cold]
    fn renumber(&mut self) {
        let near = self.near.drain();
        let nearer = near.len();
        let mut entries: Vec<(Entry, bool)> = near
            .into_iter()
            .chain(self.far.drain().map(|Reverse(e)| e))
            .enumerate()
            .map(|(n, entry)| (entry, n < nearer))
            .collect();
        entries.sort_unstable();
        self.sequence = 0;
        self.first_far = Entry::LAST;
        for (entry, near) in entries {
            let entry = self.number(entry.time_ns(), entry.target());
            if !near || !self.near.push(entry) {
                self.push_far(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        ExhaustSequence,
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
            1 => Just(Step::ExhaustSequence),
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
                        queue.push_link(now_ns + after, link);
                        reference.push(now_ns + after, link);
                    }
                    Step::Pop => {
                        let popped = queue.pop_before(limit_ns);
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
                    Step::ExhaustSequence => queue.sequence = 0_u64.wrapping_sub(STEP),
                }
            }
            while let Some(expected) = reference.pop(u64::MAX) {
                prop_assert_eq!(queue.pop_before(u64::MAX), Some(expected));
            }
            prop_assert_eq!(queue.pop_before(u64::MAX), None);
        }
    }

    #[test]
    fn looking_ahead_goes_by_days_as_far_as_asked_and_moves_nothing() {
        // Days of 8 ns: 100 and 101 are of one day, where the latest comes first; 1,000 lies too far ahead.
        let mut queue = EventQueue::new(4, 8 * 4095);
        assert_eq!(queue.days_ahead(), 4095);
        let entered = [(100, 0), (20, 1), (101, 2), (1_000, 3)];
        entered.iter().for_each(|&(time_ns, link)| queue.push_link(time_ns, link));
        let mut cursor = Cursor::default();
        let ahead: Vec<u32> = std::iter::from_fn(|| queue.following(&mut cursor, 20)).collect();
        assert_eq!(ahead, [1, 2, 0]);
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop_before(u64::MAX)).collect();
        assert_eq!(popped, [(20, 1), (100, 0), (101, 2), (1_000, 3)]);
        assert_eq!(queue.following(&mut cursor, 20), None);
    }

    #[test]
    fn an_entry_is_16_bytes_and_keeps_the_largest_values() {
        assert_eq!(size_of::<Entry>(), 16);
        let entry = Entry::new(u64::MAX, 0_u64.wrapping_sub(STEP), TARGET_LIMIT as u32 - 1);
        assert_eq!((entry.time_ns(), entry.target()), (u64::MAX, TARGET_LIMIT as u32 - 1));
    }
}
