//! An arena with a free list: a value keeps its slot until it is removed. The slot freed last is reused first, while it
//! is still in the cache.

/// Upper bound of the number of slots: the highest bit of a slot's number is available for a flag.
const SLOT_LIMIT: usize = 1 << 31;

/// An arena of `T`.
pub struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores `value` and returns its slot.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(value);
            return slot;
        }
        assert!(self.slots.len() < SLOT_LIMIT, "more than {SLOT_LIMIT} segments in flight");
        self.slots.push(Some(value));
        self.slots.len() as u32 - 1
    }

    /// Removes the value in `slot`. Panics if it is empty, because the simulator has then lost or duplicated a packet.
    #[inline]
    pub fn take(&mut self, slot: u32) -> T {
        // This comes last, so that the value goes directly to the caller: each additional copy of a segment costs time.
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a packet's segment stands in its slot")
    }

    /// The value in `slot`.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&T> {
        self.slots[slot as usize].as_ref()
    }

    /// Number of values.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_is_put_in_and_uses_freed_slots_again() {
        let mut slab = Slab::default();
        let slots: Vec<u32> = (0..4).map(|i| slab.insert(i * 10)).collect();
        assert_eq!(slots, [0, 1, 2, 3]);
        assert_eq!(slab.take(1), 10);
        assert_eq!(slab.take(3), 30);
        assert_eq!(slab.len(), 2);
        assert_eq!(slab.insert(77), 3, "the slot freed last comes first");
        assert_eq!(slab.insert(88), 1);
        assert_eq!(slab.insert(99), 4);
        assert_eq!([slab.take(0), slab.take(1), slab.take(2), slab.take(3), slab.take(4)], [0, 88, 20, 77, 99]);
        assert_eq!(slab.len(), 0);
    }

    #[test]
    #[should_panic(expected = "stands in its slot")]
    fn an_empty_slot_cannot_be_taken() {
        let mut slab = Slab::default();
        let slot = slab.insert(());
        slab.take(slot);
        slab.take(slot);
    }
}
