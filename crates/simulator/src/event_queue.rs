//! The event queue: a 4-ary min-heap ordered by (time, order of insertion), so that events of one moment happen in
//! the order in which they were scheduled and a run is the same every time.
//!
//! An entry is 16 bytes. Taking the earliest entry leaves a hole at the root that the next insertion fills: a link
//! that delivers a packet and schedules its next one costs a single sift-down.

/// Bits of an entry that say who is meant; the sequence number stands above them.
const TARGET_BITS: u32 = 24;
/// The most targets there can be.
pub const TARGET_LIMIT: usize = 1 << TARGET_BITS;
/// Sequence numbers end here; then all entries are numbered anew.
const SEQUENCE_LIMIT: u64 = 1 << (64 - TARGET_BITS);
const ARITY: usize = 4;

/// Time in the upper 64 bits, then the sequence number, then the target: one comparison orders entries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry(u128);

impl Entry {
    fn new(time_ns: u64, sequence: u64, target: u32) -> Entry {
        Entry(u128::from(time_ns) << 64 | u128::from(sequence << TARGET_BITS | u64::from(target)))
    }

    fn time_ns(self) -> u64 {
        (self.0 >> 64) as u64
    }

    fn target(self) -> u32 {
        self.0 as u32 & (TARGET_LIMIT as u32 - 1)
    }
}

/// A queue of `(time_ns, target)`.
#[derive(Default)]
pub struct EventQueue {
    heap: Vec<Entry>,
    /// The root was taken and its place is still free.
    hole: bool,
    sequence: u64,
}

impl EventQueue {
    /// Schedules `target` at `time_ns`, after everything scheduled before for the same time.
    /// `target` must be below [`TARGET_LIMIT`].
    #[inline]
    pub fn push(&mut self, time_ns: u64, target: u32) {
        debug_assert!((target as usize) < TARGET_LIMIT);
        if self.sequence == SEQUENCE_LIMIT {
            self.renumber();
        }
        let entry = Entry::new(time_ns, self.sequence, target);
        self.sequence += 1;
        if self.hole {
            self.hole = false;
            self.sift_down(0, entry);
        } else {
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1, entry);
        }
    }

    /// Takes the earliest entry when its time is before `limit_ns`.
    #[inline]
    pub fn pop_before(&mut self, limit_ns: u64) -> Option<(u64, u32)> {
        self.close_hole();
        let first = *self.heap.first()?;
        if first.time_ns() >= limit_ns {
            return None;
        }
        self.hole = true;
        Some((first.time_ns(), first.target()))
    }

    /// Takes out every entry of `target`. Looks at all entries: for rare occasions.
    pub fn remove(&mut self, target: u32) {
        self.close_hole();
        self.heap.retain(|entry| entry.target() != target);
        // A sorted array is a heap.
        self.heap.sort_unstable();
    }

    #[inline]
    fn close_hole(&mut self) {
        if self.hole {
            self.hole = false;
            if let Some(last) = self.heap.pop()
                && !self.heap.is_empty()
            {
                self.sift_down(0, last);
            }
        }
    }

    /// Puts `entry` at `place` or, while its parent is later, further up.
    #[inline]
    fn sift_up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = entry;
    }

    /// Puts `entry` at `place` or, while a child is earlier, further down.
    #[inline]
    fn sift_down(&mut self, mut place: usize, entry: Entry) {
        loop {
            let first = place * ARITY + 1;
            let end = (first + ARITY).min(self.heap.len());
            if first >= end {
                break;
            }
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if entry <= self.heap[least] {
                break;
            }
            self.heap[place] = self.heap[least];
            place = least;
        }
        self.heap[place] = entry;
    }

    /// Numbers the entries from 0 in their present order, so that insertion can go on.
    #[cold]
    fn renumber(&mut self) {
        if std::mem::take(&mut self.hole) {
            // What stands at the root was taken already.
            self.heap.swap_remove(0);
        }
        // A sorted array is a heap.
        self.heap.sort_unstable();
        for (sequence, entry) in self.heap.iter_mut().enumerate() {
            *entry = Entry::new(entry.time_ns(), sequence as u64, entry.target());
        }
        self.sequence = self.heap.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// Entries at this time and later stay.
    const LIMIT: u64 = 10;

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

        fn pop(&mut self) -> Option<(u64, u32)> {
            if self.heap.peek()?.0.0 >= LIMIT {
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
        Pop,
        PopAndPush(u64, u32),
        Remove(u32),
        ExhaustSequence,
    }

    fn step() -> impl Strategy<Value = Step> {
        // Few times and few targets: ties are what must be right.
        prop_oneof![
            6 => (0..12_u64, 0..40_u32).prop_map(|(time, target)| Step::Push(time, target)),
            4 => Just(Step::Pop),
            6 => (0..12_u64, 0..40_u32).prop_map(|(time, target)| Step::PopAndPush(time, target)),
            1 => (0..40_u32).prop_map(Step::Remove),
            1 => Just(Step::ExhaustSequence),
        ]
    }

    proptest! {
        #[test]
        fn pops_in_the_order_of_time_and_insertion(steps in prop::collection::vec(step(), 0..400)) {
            let (mut queue, mut reference) = (EventQueue::default(), Reference::default());
            for step in steps {
                match step {
                    Step::Push(time, target) => {
                        queue.push(time, target);
                        reference.push(time, target);
                    }
                    Step::Pop => prop_assert_eq!(queue.pop_before(LIMIT), reference.pop()),
                    Step::PopAndPush(time, target) => {
                        prop_assert_eq!(queue.pop_before(LIMIT), reference.pop());
                        queue.push(time, target);
                        reference.push(time, target);
                    }
                    Step::Remove(target) => {
                        queue.remove(target);
                        reference.remove(target);
                    }
                    Step::ExhaustSequence => queue.sequence = SEQUENCE_LIMIT,
                }
            }
            while let Some(expected) = reference.pop() {
                prop_assert_eq!(queue.pop_before(LIMIT), Some(expected));
            }
            prop_assert_eq!(queue.pop_before(LIMIT), None);
            while let Some(Reverse((time_ns, _, target))) = reference.heap.pop() {
                prop_assert_eq!(queue.pop_before(u64::MAX), Some((time_ns, target)));
            }
            prop_assert_eq!(queue.pop_before(u64::MAX), None);
        }
    }

    #[test]
    fn an_entry_is_16_bytes_and_keeps_the_largest_values() {
        assert_eq!(size_of::<Entry>(), 16);
        let entry = Entry::new(u64::MAX, SEQUENCE_LIMIT - 1, TARGET_LIMIT as u32 - 1);
        assert_eq!((entry.time_ns(), entry.target()), (u64::MAX, TARGET_LIMIT as u32 - 1));
    }
}
