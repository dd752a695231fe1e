//! Data that is in order on its subflow and waits at the connection for what precedes it in the stream.
//!
//! Nearly all of it comes in segments of one size, one behind the other and each once. So the stream from the first gap on
//! is a row of slots of that size: a segment finds its place by a division, not by a search, and nothing has to move when it
//! is taken in between others. What does not fit into the row goes into a [`Reassembly`], which takes anything, and with it
//! all else until nothing waits any more.

use std::collections::VecDeque;

use wire::Payload;

use crate::reassembly::{Part, Reassembly};

/// Slots in a block: the unit in which memory is taken and given back.
const BLOCK: usize = 32;
/// A slot stands for as many bytes of the stream at least: the row, which is no longer than the receive window, then takes a
/// small part of what the window allows.
const LEAST_STRIDE: u64 = 512;

/// A piece of the stream that came before what precedes it.
#[derive(Clone, Debug)]
pub struct Early<P> {
    /// Place of its first byte.
    pub at: u64,
    /// Content.
    pub payload: P,
    /// When it reached this host.
    pub arrival_ns: u64,
    /// The subflow that brought it.
    pub via: u8,
}

impl<P: Payload> Part for Early<P> {
    fn at(&self) -> u64 {
        self.at
    }

    fn len(&self) -> u64 {
        self.payload.len() as u64
    }

    fn cut(&self, from: u64, to: u64) -> Self {
        let payload = self.payload.slice((from - self.at) as usize, (to - self.at) as usize);
        Early { at: from, payload, ..*self }
    }
}

#[derive(Debug)]
struct Slot<P> {
    /// Empty: what belongs here has not arrived. Otherwise it begins where the slot begins.
    payload: P,
    arrival_ns: u64,
    via: u8,
}

/// Data of the stream behind a gap.
#[derive(Debug)]
pub struct Waiting<P> {
    /// The row of slots.
    blocks: VecDeque<Box<[Slot<P>; BLOCK]>>,
    /// So many slots of the first block are done with.
    passed: usize,
    /// Place in the stream of the first slot after those; never below the first byte that is missing while a slot is taken.
    base: u64,
    /// Bytes of the stream that a slot stands for.
    stride: u64,
    /// Slots taken.
    taken: usize,
    /// All that waits, while not all of it fits into slots.
    irregular: Option<Box<Reassembly<Early<P>>>>,
}

impl<P: Payload> Waiting<P> {
    pub fn new() -> Self {
        Waiting { blocks: VecDeque::new(), passed: 0, base: 0, stride: LEAST_STRIDE, taken: 0, irregular: None }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.taken == 0 && self.irregular.is_none()
    }

    /// Pieces held.
    pub fn len(&self) -> usize {
        self.taken + self.irregular.as_ref().map_or(0, |any| any.len())
    }

    /// Takes what is new of a piece, which begins at `next`, the first byte that is missing, or beyond.
    /// Answers how many bytes were.
    #[inline]
    pub fn insert(&mut self, next: u64, piece: Early<P>) -> u64 {
        let len = piece.payload.len() as u64;
        debug_assert!(piece.at >= next);
        if self.taken == 0 {
            if self.irregular.is_some() {
                return self.insert_irregular(piece);
            }
            self.stride = self.stride.max(len);
            self.base = piece.at - (piece.at - next) / self.stride * self.stride;
        }
        let ahead = piece.at.wrapping_sub(self.base);
        if piece.at < self.base || len == 0 || len > self.stride || !ahead.is_multiple_of(self.stride) {
            return self.insert_irregular(piece);
        }
        let i = self.passed + (ahead / self.stride) as usize;
        while i / BLOCK >= self.blocks.len() {
            self.blocks.push_back(block());
        }
        let slot = &mut self.blocks[i / BLOCK][i % BLOCK];
        if !slot.payload.is_empty() {
            return if len > slot.payload.len() as u64 { self.insert_irregular(piece) } else { 0 };
        }
        *slot = Slot { payload: piece.payload, arrival_ns: piece.arrival_ns, via: piece.via };
        self.taken += 1;
        len
    }

    /// Whether `len` bytes that begin at the first gap and were not in the row fill its first slot: they are then done with.
    #[inline]
    pub fn pass(&mut self, at: u64, len: u64) -> bool {
        let fits =
            self.taken > 0 && at == self.base && len <= self.stride && self.blocks[0][self.passed].payload.is_empty();
        if fits {
            self.advance();
        }
        fits
    }

    /// The first piece, when it continues the stream at `next`.
    #[inline]
    pub fn pop(&mut self, next: u64) -> Option<Early<P>> {
        if self.taken == 0 {
            return if self.irregular.is_some() { self.pop_irregular(next) } else { None };
        }
        let slot = &mut self.blocks[0][self.passed];
        if self.base > next || slot.payload.is_empty() {
            return None;
        }
        let payload = std::mem::replace(&mut slot.payload, P::empty());
        let (arrival_ns, via, at) = (slot.arrival_ns, slot.via, self.base);
        self.taken -= 1;
        self.advance();
        Some(Early { at, payload, arrival_ns, via })
    }

    #[inline]
    fn advance(&mut self) {
        self.base += self.stride;
        self.passed += 1;
        if self.taken == 0 {
            // The last piece of the row was the last slot of it that was ever taken.
            self.passed = 0;
        } else if self.passed == BLOCK {
            self.blocks.pop_front();
            self.passed = 0;
        }
    }

    #[cold]
    fn insert_irregular(&mut self, piece: Early<P>) -> u64 {
        let mut any = self.irregular.take().unwrap_or_else(|| Box::new(Reassembly::new()));
        while self.taken > 0 {
            match self.pop(u64::MAX) {
                Some(piece) => _ = any.insert(piece),
                None => self.advance(),
            }
        }
        let new = any.insert(piece);
        self.irregular = Some(any).filter(|any| !any.is_empty());
        new
    }

    #[cold]
    fn pop_irregular(&mut self, next: u64) -> Option<Early<P>> {
        let any = self.irregular.as_mut()?;
        let piece = any.pop(next);
        if any.is_empty() {
            self.irregular = None;
        }
        piece
    }
}

fn block<P: Payload>() -> Box<[Slot<P>; BLOCK]> {
    Box::new(std::array::from_fn(|_| Slot { payload: P::empty(), arrival_ns: 0, via: 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::Span;

    fn piece(at: u64, len: u64, via: u8) -> Early<Span> {
        Early { at, payload: Span { offset: at, len: len as u32 }, arrival_ns: u64::from(via), via }
    }

    /// What comes out from `next` on, as place, length and subflow.
    fn drain(waiting: &mut Waiting<Span>, next: &mut u64) -> Vec<(u64, u64, u8)> {
        let mut out = Vec::new();
        while let Some(p) = waiting.pop(*next) {
            assert_eq!((p.payload.offset, p.at, p.arrival_ns), (*next, *next, u64::from(p.via)));
            out.push((p.at, p.end() - p.at, p.via));
            *next = p.end();
        }
        out
    }

    #[test]
    fn segments_of_one_size_wait_in_slots() {
        let mut waiting = Waiting::new();
        assert_eq!(waiting.insert(1000, piece(1000 + 40 * 1400, 1400, 1)), 1400);
        assert_eq!(waiting.insert(1000, piece(1000 + 2 * 1400, 1400, 2)), 1400);
        assert_eq!(waiting.insert(1000, piece(1000 + 1400, 1400, 3)), 1400);
        assert_eq!(waiting.insert(1000, piece(1000 + 1400, 1400, 2)), 0, "again");
        assert_eq!(waiting.insert(1000, piece(1000 + 1400, 400, 2)), 0, "a part of it");
        assert!(waiting.irregular.is_none());
        assert_eq!((waiting.len(), waiting.blocks.len()), (3, 2));
        assert!(waiting.pop(1000).is_none());
        assert!(waiting.pass(1000, 1400));
        let mut next = 2400;
        assert_eq!(drain(&mut waiting, &mut next), [(2400, 1400, 3), (3800, 1400, 2)]);
        for i in 3..40 {
            assert!(waiting.pass(next, 1400), "{i}");
            next += 1400;
        }
        assert_eq!(waiting.blocks.len(), 1);
        assert_eq!(drain(&mut waiting, &mut next), [(57_000, 1400, 1)]);
        assert!(waiting.is_empty() && !waiting.pass(next, 1400));
    }

    #[test]
    fn the_end_of_the_stream_is_shorter() {
        let mut waiting = Waiting::new();
        assert_eq!(waiting.insert(0, piece(1400, 1400, 0)), 1400);
        assert_eq!(waiting.insert(0, piece(4200, 100, 1)), 100);
        assert_eq!(waiting.insert(0, piece(2800, 1400, 0)), 1400);
        assert!(waiting.irregular.is_none() && waiting.pass(0, 1400));
        assert_eq!(drain(&mut waiting, &mut 1400), [(1400, 1400, 0), (2800, 1400, 0), (4200, 100, 1)]);
    }

    #[test]
    fn what_does_not_fit_takes_all_along_until_nothing_waits() {
        let mut waiting = Waiting::new();
        assert_eq!(waiting.insert(0, piece(1400, 1400, 0)), 1400);
        assert_eq!(waiting.insert(0, piece(7000, 1400, 0)), 1400);
        assert_eq!(waiting.insert(0, piece(2000, 1400, 1)), 600, "behind the beginning of a slot");
        assert!(waiting.irregular.is_some() && !waiting.pass(0, 1400));
        assert_eq!(waiting.insert(0, piece(0, 1400, 2)), 1400);
        assert_eq!(waiting.len(), 4);
        let mut next = 0;
        assert_eq!(drain(&mut waiting, &mut next), [(0, 1400, 2), (1400, 1400, 0), (2800, 600, 1)]);
        assert_eq!(waiting.insert(next, piece(3400, 3600, 3)), 3600);
        assert_eq!(drain(&mut waiting, &mut next), [(3400, 3600, 3), (7000, 1400, 0)]);
        assert!(waiting.is_empty());
        assert_eq!(waiting.insert(next, piece(next + 1400, 1400, 0)), 1400);
        assert_eq!(waiting.taken, 1, "slots again");
    }

    proptest! {
        /// Against [`Reassembly`], which is tested against an array of bytes: the same counts, the same pieces.
        #[test]
        fn agrees_with_reassembly(
            pieces in prop::collection::vec((0u64..80, 0u64..30, 0u64..20), 1..200),
            reach in 1u64..60,
        ) {
            let (mut waiting, mut plain) = (Waiting::new(), Reassembly::new());
            let (mut next, mut plain_next) = (0, 0);
            for (n, (slot, shift, len)) in pieces.into_iter().enumerate() {
                // One in 30 begins inside a slot, one in 20 is short, one in 20 is long.
                let at = next + slot % reach * 1000 + if shift == 0 { 300 } else { 0 };
                let len = match len { 0 => 400, 1 => 1700, _ => 1000 };
                let piece = piece(at, len, n as u8);
                if at == next && waiting.pass(at, len) {
                    prop_assert_eq!(plain.insert(piece), len);
                    prop_assert_eq!(plain.pop(next).map(|p| p.end()), Some(at + len));
                    (next, plain_next) = (at + len, at + len);
                } else {
                    prop_assert_eq!(waiting.insert(next, piece.clone()), plain.insert(piece));
                }
                let came = drain(&mut waiting, &mut next);
                let mut expected = Vec::new();
                while let Some(p) = plain.pop(plain_next) {
                    expected.push((p.at, p.end() - p.at, p.via));
                    plain_next = p.end();
                }
                prop_assert_eq!(came, expected);
                prop_assert_eq!((waiting.len(), waiting.is_empty()), (plain.len(), plain.is_empty()));
            }
        }
    }
}
