//! Data that waits for what precedes it: on its subflow, or at the connection.
//!
//! Nearly all of it comes in segments of one size, one behind the other and each once. So the space from the first gap on is
//! an array of slots of that size: a segment finds its place by a division, not by a search, and nothing has to move when it
//! is taken in between others. What does not fit into the slots goes into a [`Reassembly`], which takes anything, and with it
//! all else until nothing waits any more.

use std::collections::VecDeque;

use crate::reassembly::{Part, Reassembly};

/// Slots in a block: the unit in which memory is taken and given back.
const BLOCK: usize = 16;
/// A slot stands for as many bytes at least: the slots, which span no more than the receive window, then take a small part of
/// what the window allows.
const LEAST_STRIDE: u64 = 512;

/// Data behind a gap, by its numbers: of sequence, or places in the stream.
#[derive(Debug)]
#[repr(C)]
pub struct Slots<T: Part> {
    blocks: VecDeque<Box<[T::Slot; BLOCK]>>,
    /// So many slots of the first block are done with.
    passed: usize,
    /// Where the first slot after those begins; never below the first byte that is missing while a slot is taken.
    base: u64,
    /// Bytes that a slot stands for. What is in a slot begins where the slot begins.
    stride: u64,
    // Whether anything waits is asked of every segment, so these stand together, and at the end.
    /// Slots taken.
    taken: usize,
    /// All that waits, while not all of it fits into slots.
    irregular: Option<Box<Reassembly<T>>>,
}

impl<T: Part> Slots<T> {
    pub fn new() -> Self {
        Slots { blocks: VecDeque::new(), passed: 0, base: 0, stride: LEAST_STRIDE, taken: 0, irregular: None }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.taken == 0 && self.irregular.is_none()
    }

    /// Pieces held.
    pub fn len(&self) -> usize {
        self.taken + self.irregular.as_ref().map_or(0, |any| any.len())
    }

    /// Takes what is new of a piece, which begins at `next`, the first byte that is missing, or beyond. Answers how many bytes
    /// were.
    #[inline]
    pub fn insert(&mut self, next: u64, piece: T) -> u64 {
        let (at, len) = (piece.at(), piece.len());
        debug_assert!(at >= next);
        if self.taken == 0 {
            if self.irregular.is_some() {
                return self.insert_irregular(piece);
            }
            self.stride = self.stride.max(len);
            self.base = at - (at - next) / self.stride * self.stride;
        }
        let ahead = at.wrapping_sub(self.base);
        let (n, within) = (ahead / self.stride, ahead % self.stride);
        if at < self.base || within != 0 || len == 0 || len > self.stride || !piece.fits_slot() {
            return self.insert_irregular(piece);
        }
        let i = self.passed + n as usize;
        while i / BLOCK >= self.blocks.len() {
            self.add_block();
        }
        let slot = &mut self.blocks[i / BLOCK][i % BLOCK];
        let there = T::slot_len(slot);
        if there > 0 {
            return if len > there { self.insert_irregular(piece) } else { 0 };
        }
        *slot = piece.into_slot();
        self.taken += 1;
        len
    }

    #[cold]
    fn add_block(&mut self) {
        self.blocks.push_back(Box::new(std::array::from_fn(|_| T::free_slot())));
    }

    /// Whether `len` bytes that begin at the first gap and were not in the slots fill its first slot: they are then done with.
    #[inline]
    pub fn pass(&mut self, at: u64, len: u64) -> bool {
        let fits =
            self.taken > 0 && at == self.base && len <= self.stride && T::slot_len(&self.blocks[0][self.passed]) == 0;
        if fits {
            self.advance();
        }
        fits
    }

    /// The first piece, cut to what lies at `next` and beyond, when it continues at `next`.
    #[inline(always)]
    pub fn pop(&mut self, next: u64) -> Option<T> {
        if self.taken == 0 || self.base != next {
            return if self.is_empty() || (self.taken > 0 && self.base > next) {
                None
            } else {
                self.pop_irregular(next)
            };
        }
        let slot = &mut self.blocks[0][self.passed];
        if T::slot_len(slot) == 0 {
            return None;
        }
        self.taken -= 1;
        let piece = T::from_slot(std::mem::replace(slot, T::free_slot()), next);
        self.advance();
        Some(piece)
    }

    #[inline]
    fn advance(&mut self) {
        self.base += self.stride;
        self.passed += 1;
        if self.taken == 0 {
            // The last piece was the last slot that was ever taken.
            self.passed = 0;
        } else if self.passed == BLOCK {
            self.blocks.pop_front();
            self.passed = 0;
        }
    }

    /// From now on all is in the [`Reassembly`].
    #[cold]
    fn leave_slots(&mut self) -> Box<Reassembly<T>> {
        let mut any = self.irregular.take().unwrap_or_else(|| Box::new(Reassembly::new()));
        while self.taken > 0 {
            match self.pop(self.base) {
                Some(piece) => _ = any.insert(piece),
                None => self.advance(),
            }
        }
        any
    }

    #[cold]
    fn insert_irregular(&mut self, piece: T) -> u64 {
        let mut any = self.leave_slots();
        let new = any.insert(piece);
        self.irregular = Some(any).filter(|any| !any.is_empty());
        new
    }

    #[cold]
    fn pop_irregular(&mut self, next: u64) -> Option<T> {
        let mut any = self.leave_slots();
        let piece = any.pop(next);
        self.irregular = Some(any).filter(|any| !any.is_empty());
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mptcp::Early;
    use crate::offset::Offset;
    use crate::time::Instant;
    use proptest::prelude::*;
    use wire::Span;

    fn piece(at: u64, len: u64, via: u8) -> Early<Span> {
        Early {
            at: Offset::after(at),
            payload: Span { offset: at, len: len as u32 },
            arrived_at: Instant::from_nanos(u64::from(via)),
            via,
        }
    }

    /// What comes out from `next` on, as place, length and subflow.
    fn drain(slots: &mut Slots<Early<Span>>, next: &mut u64) -> Vec<(u64, u64, u8)> {
        let mut out = Vec::new();
        while let Some(p) = slots.pop(*next) {
            assert_eq!((p.payload.offset, p.at(), p.arrived_at), (*next, *next, Instant::from_nanos(p.via.into())));
            out.push((p.at(), p.len(), p.via));
            *next = p.end();
        }
        out
    }

    #[test]
    fn segments_of_one_size_wait_in_slots() {
        let mut slots = Slots::new();
        assert_eq!(slots.insert(1000, piece(1000 + 40 * 1400, 1400, 1)), 1400);
        assert_eq!(slots.insert(1000, piece(1000 + 2 * 1400, 1400, 2)), 1400);
        assert_eq!(slots.insert(1000, piece(1000 + 1400, 1400, 3)), 1400);
        assert_eq!(slots.insert(1000, piece(1000 + 1400, 1400, 2)), 0, "again");
        assert_eq!(slots.insert(1000, piece(1000 + 1400, 400, 2)), 0, "a part of it");
        assert!(slots.irregular.is_none());
        assert_eq!((slots.len(), slots.blocks.len()), (3, 3));
        assert!(slots.pop(1000).is_none());
        assert!(slots.pass(1000, 1400));
        let mut next = 2400;
        assert_eq!(drain(&mut slots, &mut next), [(2400, 1400, 3), (3800, 1400, 2)]);
        for i in 3..40 {
            assert!(slots.pass(next, 1400), "{i}");
            next += 1400;
        }
        assert_eq!(slots.blocks.len(), 1);
        assert_eq!(drain(&mut slots, &mut next), [(57_000, 1400, 1)]);
        assert!(slots.is_empty() && !slots.pass(next, 1400));
    }

    #[test]
    fn the_end_of_the_stream_is_shorter() {
        let mut slots = Slots::new();
        assert_eq!(slots.insert(0, piece(1400, 1400, 0)), 1400);
        assert_eq!(slots.insert(0, piece(4200, 100, 1)), 100);
        assert_eq!(slots.insert(0, piece(2800, 1400, 0)), 1400);
        assert!(slots.irregular.is_none() && slots.pass(0, 1400));
        assert_eq!(drain(&mut slots, &mut 1400), [(1400, 1400, 0), (2800, 1400, 0), (4200, 100, 1)]);
    }

    #[test]
    fn what_does_not_fit_takes_all_along_until_nothing_waits() {
        let mut slots = Slots::new();
        assert_eq!(slots.insert(0, piece(1400, 1400, 0)), 1400);
        assert_eq!(slots.insert(0, piece(7000, 1400, 0)), 1400);
        assert_eq!(slots.insert(0, piece(2000, 1400, 1)), 600, "behind the beginning of a slot");
        assert!(slots.irregular.is_some() && !slots.pass(0, 1400));
        assert_eq!(slots.insert(0, piece(0, 1400, 2)), 1400);
        assert_eq!(slots.len(), 4);
        let mut next = 0;
        assert_eq!(drain(&mut slots, &mut next), [(0, 1400, 2), (1400, 1400, 0), (2800, 600, 1)]);
        assert_eq!(slots.insert(next, piece(3400, 3600, 3)), 3600);
        assert_eq!(drain(&mut slots, &mut next), [(3400, 3600, 3), (7000, 1400, 0)]);
        assert!(slots.is_empty());
        assert_eq!(slots.insert(next, piece(next + 1400, 1400, 0)), 1400);
        assert_eq!(slots.taken, 1, "slots again");
    }

    proptest! {
        /// Against [`Reassembly`], which is tested against an array of bytes: the same counts, the same pieces.
        #[test]
        fn agrees_with_reassembly(
            pieces in prop::collection::vec((0u64..80, 0u64..30, 0u64..20), 1..200),
            reach in 1u64..60,
        ) {
            let (mut slots, mut plain) = (Slots::new(), Reassembly::new());
            let (mut next, mut plain_next) = (0, 0);
            for (n, (slot, shift, len)) in pieces.into_iter().enumerate() {
                // One in 30 begins inside a slot, one in 20 is short, one in 20 is long.
                let at = next + slot % reach * 1000 + if shift == 0 { 300 } else { 0 };
                let len = match len { 0 => 400, 1 => 1700, _ => 1000 };
                let piece = piece(at, len, n as u8);
                if at == next && slots.pass(at, len) {
                    prop_assert_eq!(plain.insert(piece), len);
                    prop_assert_eq!(plain.pop(next).map(|p| p.end()), Some(at + len));
                    (next, plain_next) = (at + len, at + len);
                } else {
                    prop_assert_eq!(slots.insert(next, piece.clone()), plain.insert(piece));
                }
                let came = drain(&mut slots, &mut next);
                let mut expected = Vec::new();
                while let Some(p) = plain.pop(plain_next) {
                    expected.push((p.at(), p.len(), p.via));
                    plain_next = p.end();
                }
                prop_assert_eq!(came, expected);
                prop_assert_eq!((slots.len(), slots.is_empty()), (plain.len(), plain.is_empty()));
            }
        }
    }
}
