//! The packets of a link in order, in one block of memory. It doubles when it is full, and halves on request when at
//! most a quarter is used.

use crate::packet::{Ecn, Packet};
use crate::prefetch;

/// A ring with consecutively numbered positions: `head` is the number of the oldest packet, `tail` that of the next
/// one.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// A power of two of slots, or none before the first packet.
    slots: Box<[Packet<T>]>,
    head: u64,
    tail: u64,
}

const FIRST_SLOTS: usize = 8;

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Box::new([]), head: 0, tail: 0 }
    }

    #[inline]
    pub(crate) const fn head(&self) -> u64 {
        self.head
    }

    #[inline]
    pub(crate) const fn tail(&self) -> u64 {
        self.tail
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    pub(crate) fn push(&mut self, packet: Packet<T>) {
        if self.tail - self.head == self.slots.len() as u64 {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.slots[slot] = packet;
        self.tail += 1;
    }

    /// Removes and returns the oldest packet.
    #[inline]
    pub(crate) fn pop(&mut self) -> Packet<T> {
        let packet = *self.at(self.head);
        self.head += 1;
        packet
    }

    /// Drops the packets from number `tail` on.
    pub(crate) fn truncate(&mut self, tail: u64) {
        debug_assert!(self.head <= tail && tail <= self.tail);
        self.tail = tail;
    }

    /// The oldest packet.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Packet<T>> {
        if self.is_empty() { None } else { self.slots.get(self.slot(self.head)) }
    }

    /// The packet `behind` positions after the oldest.
    #[inline]
    pub(crate) fn behind_first(&self, behind: u64) -> Option<&Packet<T>> {
        let number = self.head + behind;
        if number < self.tail { self.slots.get(self.slot(number)) } else { None }
    }

    #[inline]
    pub(crate) fn at(&self, number: u64) -> &Packet<T> {
        debug_assert!(self.head <= number && number < self.tail);
        &self.slots[self.slot(number)]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, number: u64) -> &mut Packet<T> {
        debug_assert!(self.head <= number && number < self.tail);
        let slot = self.slot(number);
        &mut self.slots[slot]
    }

    /// Swaps two packets.
    pub(crate) fn swap(&mut self, one: u64, other: u64) {
        debug_assert!(self.head <= one.min(other) && one.max(other) < self.tail);
        let (one, other) = (self.slot(one), self.slot(other));
        self.slots.swap(one, other);
    }

    /// Prefetches the memory of position `number`, whether or not there is a packet.
    #[inline]
    pub(crate) fn prefetch(&self, number: u64) {
        if let Some(slot) = self.slots.get(self.slot(number)) {
            prefetch::lines::<_, 1>(slot);
        }
    }

    #[inline]
    fn slot(&self, number: u64) -> usize {
        // Without slots this wraps to all ones, and the indexing that follows panics.
        number as usize & self.slots.len().wrapping_sub(1)
    }

    /// Halves the slots if a quarter of them is enough.
    pub(crate) fn release(&mut self) {
        if self.slots.len() > FIRST_SLOTS && self.tail - self.head < self.slots.len() as u64 / 4 {
            self.resize(self.slots.len() / 2);
        }
    }

    /// Doubles the slots.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        // The packet to be inserted is not passed to this function, because it would then have to be in memory.
        self.resize((self.slots.len() * 2).max(FIRST_SLOTS));
    }

    /// Moves the packets to `count` slots, a power of two that holds them.
    fn resize(&mut self, count: usize) {
        let mut slots = vec![Packet::new(T::default(), 0, 0, Ecn::NotEct); count];
        let mask = slots.len() - 1;
        for number in self.head..self.tail {
            slots[number as usize & mask] = *self.at(number);
        }
        self.slots = slots.into_boxed_slice();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_across_growth_at_every_phase() {
        for phase in 0..40 {
            let mut ring = Ring::new();
            let packet = |tag: u64| Packet::new(tag, 1, 0, Ecn::NotEct);
            for tag in 0..phase {
                ring.push(packet(tag));
                assert_eq!(ring.pop().tag, tag);
            }
            for tag in 0..100 {
                ring.push(packet(tag));
            }
            ring.truncate(phase + 90);
            for tag in 0..90 {
                assert_eq!(ring.at(phase + tag).tag, tag);
                assert_eq!(ring.pop().tag, tag);
            }
            assert!(ring.is_empty());
        }
    }

    #[test]
    fn gives_back_what_a_long_queue_took_step_by_step() {
        let mut ring = Ring::new();
        (0..100).for_each(|tag| ring.push(Packet::new(tag, 1, 0, Ecn::NotEct)));
        let mut slots = Vec::new();
        while !ring.is_empty() {
            assert_eq!(ring.pop().tag, ring.head() - 1);
            ring.release();
            slots.push(ring.slots.len());
        }
        assert_eq!(slots[..68], [128; 68], "32 of 128 are still in use");
        assert_eq!((slots[68], slots[84], slots[92], slots[99]), (64, 32, 16, FIRST_SLOTS));
    }

    #[test]
    fn does_not_grow_while_packets_leave_as_they_come() {
        let mut ring = Ring::new();
        for tag in 0..10_000_u64 {
            ring.push(Packet::new(tag, 1, 0, Ecn::NotEct));
            if tag >= 7 {
                assert_eq!(ring.pop().tag, tag - 7);
            }
        }
        assert_eq!(ring.slots.len(), FIRST_SLOTS);
    }
}
