//! Data that arrived before what precedes it, in any pieces whatever. The same structure serves a subflow, by sequence number,
//! and the connection, by place in the stream, where the slots of `slots.rs` will not do.

use std::collections::BTreeMap;

use crate::offset::Offset;
use crate::queue::{Kept, Sendable};
use crate::time::Instant;

/// A piece of what is to be put in order.
pub trait Part: Clone {
    /// What stands for it in a slot of a [`Slots`](crate::slots::Slots), where its beginning is known.
    type Slot: std::fmt::Debug;

    /// Number of the first byte in the space that is put in order.
    fn at(&self) -> u64;
    /// Bytes.
    fn len(&self) -> u64;
    /// The bytes `from` to `to` of it, numbered as the piece is.
    fn cut(&self, from: u64, to: u64) -> Self;
    /// The same without the memory of what it was cut from.
    fn compact(self) -> Self;

    /// A slot that nothing stands in.
    fn free_slot() -> Self::Slot;
    /// Whether a slot can hold all that is to be known of it.
    fn fits_slot(&self) -> bool;
    /// The slot that holds it.
    fn into_slot(self) -> Self::Slot;
    /// Bytes of the piece in `slot`; 0 for a slot that nothing stands in.
    fn slot_len(slot: &Self::Slot) -> u64;
    /// The piece in `slot`, which begins at `at`.
    fn from_slot(slot: Self::Slot, at: u64) -> Self;

    /// The number after its last.
    #[inline]
    fn end(&self) -> u64 {
        self.at() + self.len()
    }

    /// Without what lies below `from`; none when nothing remains.
    #[inline]
    fn above(self, from: u64) -> Option<Self> {
        if self.at() >= from {
            Some(self)
        } else if self.end() <= from {
            None
        } else {
            Some(self.cut(from, self.end()))
        }
    }
}

/// Data out of order on its subflow.
#[derive(Clone, Debug)]
pub struct Piece<P> {
    /// Sequence number of the first byte.
    pub at: u64,
    /// Content.
    pub payload: P,
    /// Place of the first byte in the connection's stream; [`UNMAPPED`] while no mapping is known.
    pub offset: Offset,
    /// When it reached this host.
    pub arrived_at: Instant,
}

/// No data sequence mapping is known yet.
pub const UNMAPPED: Offset = Offset::LAST;

/// A [`Piece`] in a slot.
#[derive(Debug)]
pub struct PieceSlot<K> {
    kept: K,
    /// Its place in the stream: by its mapping and by its own account, or by the latter alone.
    place: Offset,
    unmapped: bool,
    arrived_at: Instant,
}

impl<P: Sendable> Part for Piece<P> {
    type Slot = PieceSlot<P::Kept>;

    #[inline]
    fn at(&self) -> u64 {
        self.at
    }

    #[inline]
    fn len(&self) -> u64 {
        self.payload.len() as u64
    }

    fn cut(&self, from: u64, to: u64) -> Self {
        Piece {
            at: from,
            payload: self.payload.slice((from - self.at) as usize, (to - self.at) as usize),
            offset: if self.offset == UNMAPPED { UNMAPPED } else { self.offset + (from - self.at) },
            arrived_at: self.arrived_at,
        }
    }

    fn compact(self) -> Self {
        Piece { payload: self.payload.compact(), ..self }
    }

    fn free_slot() -> Self::Slot {
        PieceSlot { kept: P::Kept::keep(P::empty()), place: Offset::FIRST, unmapped: false, arrived_at: Instant::ZERO }
    }

    #[inline]
    fn fits_slot(&self) -> bool {
        self.offset == UNMAPPED || self.offset.octets() == P::Kept::place(&self.payload, self.offset.octets())
    }

    #[inline]
    fn into_slot(self) -> Self::Slot {
        let place = Offset::after(P::Kept::place(&self.payload, self.offset.octets()));
        let unmapped = self.offset == UNMAPPED;
        PieceSlot { kept: P::Kept::keep(self.payload), place, unmapped, arrived_at: self.arrived_at }
    }

    #[inline]
    fn slot_len(slot: &Self::Slot) -> u64 {
        u64::from(slot.kept.len())
    }

    #[inline]
    fn from_slot(slot: Self::Slot, at: u64) -> Self {
        let PieceSlot { kept, place, unmapped, arrived_at } = slot;
        let offset = if unmapped { UNMAPPED } else { place };
        Piece { at, payload: kept.into_payload(place.octets()), offset, arrived_at }
    }
}

impl<P: Sendable> Piece<P> {
    /// Cuts off what lies at `at` and beyond.
    pub fn split_off(&mut self, at: u64) -> Option<Piece<P>> {
        if self.end() <= at {
            return None;
        }
        let rest = self.cut(at, self.end());
        self.payload = self.payload.slice(0, (at - self.at) as usize);
        Some(rest)
    }
}

/// Pieces in order, none overlapping another. Taking one in costs the logarithm of their number, wherever it belongs: a
/// peer may send one byte at a time, from the end to the beginning.
#[derive(Debug)]
pub struct Reassembly<T> {
    /// By their beginning.
    pieces: BTreeMap<u64, T>,
}

impl<T: Part> Reassembly<T> {
    pub fn new() -> Self {
        Reassembly { pieces: BTreeMap::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Pieces held.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Takes what is new of a piece; returns how many bytes that was.
    pub fn insert(&mut self, piece: T) -> u64 {
        let (mut at, end, mut new) = (piece.at(), piece.end(), 0);
        if let Some((_, before)) = self.pieces.range(..=at).next_back() {
            at = at.max(before.end());
        }
        // Between the pieces that are there, from left to right, go the parts that are missing.
        while at < end {
            let (gap_end, next) = match self.pieces.range(at..end).next() {
                Some((&from, next)) => (from, next.end()),
                None => (end, end),
            };
            if at < gap_end {
                new += gap_end - at;
                if gap_end - at == piece.len() {
                    self.pieces.insert(at, piece);
                    return new; // all of it was new
                }
                let part = piece.cut(at, gap_end);
                // A few bytes must not keep a whole segment in memory.
                let part = if part.len() < piece.len() / 2 { part.compact() } else { part };
                self.pieces.insert(at, part);
            }
            at = next;
        }
        new
    }

    /// The first piece, cut to what lies at `next` and beyond, when it continues at `next`.
    pub fn pop(&mut self, next: u64) -> Option<T> {
        loop {
            let first = self.pieces.first_entry()?;
            if *first.key() > next {
                return None;
            }
            if let Some(rest) = first.remove().above(next) {
                return Some(rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::Span;

    fn piece(at: u64, end: u64) -> Piece<Span> {
        Piece {
            at,
            payload: Span { offset: at, len: (end - at) as u32 },
            offset: Offset::after(at),
            arrived_at: Instant::ZERO,
        }
    }

    proptest! {
        /// Against a plain array of bytes: what was inserted comes out once, in order, with its place unchanged.
        #[test]
        fn agrees_with_an_array(spans in prop::collection::vec((0u64..200, 1u64..40), 1..60)) {
            let mut r = Reassembly::new();
            let mut held = [false; 256];
            for (at, len) in spans {
                let new = (at..at + len).filter(|&i| !held[i as usize]).count() as u64;
                prop_assert_eq!(r.insert(piece(at, at + len)), new);
                held[at as usize..(at + len) as usize].fill(true);
            }
            let mut next = 0;
            while let Some(at) = (next..256).find(|&i| held[i as usize]) {
                next = at;
                while let Some(p) = r.pop(next) {
                    prop_assert_eq!((p.at, p.payload.offset, p.offset.octets()), (next, next, next));
                    next = p.end();
                }
                prop_assert!(next > at && !held.get(next as usize).copied().unwrap_or(false));
            }
            prop_assert!(r.is_empty());
        }

        /// What a slot holds is all of the piece.
        #[test]
        fn a_slot_gives_back_what_it_took(at in 0u64..9, offset in 0u64..9, place in 0u64..9, len in 1u32..9, mapped: bool) {
            let offset = if mapped { Offset::after(offset) } else { UNMAPPED };
            let piece = Piece { at, payload: Span { offset: place, len }, offset, arrived_at: Instant::from_nanos(7) };
            prop_assert_eq!(piece.fits_slot(), !mapped || offset == Offset::after(place));
            if piece.fits_slot() {
                let slot = piece.clone().into_slot();
                prop_assert_eq!(Piece::<Span>::slot_len(&slot), u64::from(len));
                let back = Piece::<Span>::from_slot(slot, at);
                let all = |p: &Piece<Span>| (p.at, p.payload, p.offset, p.arrived_at);
                prop_assert_eq!(all(&back), all(&piece));
            }
            let bytes = Piece { at, payload: vec![3; len as usize], offset, arrived_at: Instant::from_nanos(7) };
            let back = Piece::<Vec<u8>>::from_slot(bytes.clone().into_slot(), at);
            prop_assert!(bytes.fits_slot() && (back.payload, back.offset) == (bytes.payload, bytes.offset));
        }
    }
}
