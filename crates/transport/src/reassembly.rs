//! Data that arrived before what precedes it. The same structure serves a subflow, by sequence number, and the connection, by
//! place in the stream, where the slots of `mptcp/waiting.rs` will not do.

use std::collections::VecDeque;

use wire::Payload;

use crate::queue::trim;

/// A piece of what is to be put in order.
pub trait Part: Clone {
    /// Number of the first byte in the space that is reassembled.
    fn at(&self) -> u64;
    /// Bytes.
    fn len(&self) -> u64;
    /// The bytes `from` to `to` of it, numbered as the piece is.
    fn cut(&self, from: u64, to: u64) -> Self;

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
    pub offset: u64,
    /// When it reached this host.
    pub arrival_ns: u64,
}

/// No data sequence mapping is known yet.
pub const UNMAPPED: u64 = u64::MAX;

impl<P: Payload> Part for Piece<P> {
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
            arrival_ns: self.arrival_ns,
        }
    }
}

impl<P: Payload> Piece<P> {
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

/// Pieces in order, none overlapping another, and the ranges they make.
#[derive(Debug)]
pub struct Reassembly<T> {
    pieces: VecDeque<T>,
    /// Maximal contiguous ranges, in order.
    ranges: Vec<(u64, u64)>,
    /// A number within each of the ranges touched last, the latest first (for SACK blocks).
    recent: [u64; 4],
    bytes: u64,
}

impl<T: Part> Reassembly<T> {
    pub fn new() -> Self {
        Reassembly { pieces: VecDeque::new(), ranges: Vec::new(), recent: [0; 4], bytes: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Pieces held.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Bytes held.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes what is new of a piece; answers how many bytes were. The range it lies in is what is reported first.
    pub fn insert_to_report(&mut self, piece: T) -> u64 {
        let (at, end) = (piece.at(), piece.end());
        let new = self.insert(piece);
        if at < end {
            self.touch(at);
        }
        new
    }

    /// Whether the bytes from `at` to `end` lie below all that are held, so that they need not be put in front of them and taken
    /// out again. For later reports that is as if it had been done.
    #[inline]
    pub fn passes(&mut self, at: u64, end: u64) -> bool {
        let Some(&(from, to)) = self.ranges.first() else { return false };
        if end > from {
            return false;
        }
        self.note(at, (at, if end == from { to } else { end }));
        true
    }

    /// Takes what is new of a piece; answers how many bytes were.
    pub fn insert(&mut self, piece: T) -> u64 {
        let (from, end) = (piece.at(), piece.end());
        if from == end {
            return 0;
        }
        if self.pieces.back().is_none_or(|last| last.end() <= from) {
            // Most data that came too early lie beyond all that are there.
            self.pieces.push_back(piece);
            self.bytes += end - from;
            self.join_ranges(from, end);
            return end - from;
        }
        let mut i = self.pieces.partition_point(|p| p.end() <= from);
        let before = self.bytes;
        if self.pieces.get(i).is_none_or(|next| next.at() >= end) {
            // All of it is new.
            self.pieces.insert(i, piece);
            self.bytes += end - from;
            self.join_ranges(from, end);
            return end - from;
        }
        let mut at = from;
        // Between the pieces that are there, from left to right, go the parts that are missing.
        while at < end {
            let (gap_end, next) = match self.pieces.get(i) {
                Some(p) if p.at() <= at => {
                    at = p.end();
                    i += 1;
                    continue;
                }
                Some(p) => (p.at().min(end), p.end()),
                None => (end, end),
            };
            self.pieces.insert(i, if (at, gap_end) == (from, end) { piece.clone() } else { piece.cut(at, gap_end) });
            self.bytes += gap_end - at;
            at = next.max(gap_end);
            i += 2;
        }
        if self.bytes > before {
            self.join_ranges(from, end);
        }
        self.bytes - before
    }

    fn join_ranges(&mut self, from: u64, end: u64) {
        match self.ranges.last_mut() {
            Some(last) if last.1 >= from => {
                if last.0 <= from {
                    last.1 = last.1.max(end);
                    return;
                }
            }
            _ => {
                self.ranges.push((from, end));
                return;
            }
        }
        let first = self.ranges.partition_point(|r| r.1 < from);
        let after = first + self.ranges[first..].iter().take_while(|r| r.0 <= end).count();
        if first == after {
            self.ranges.insert(first, (from, end));
        } else {
            let joined = (self.ranges[first].0.min(from), self.ranges[after - 1].1.max(end));
            self.ranges[first] = joined;
            if after - first > 1 {
                self.ranges.drain(first + 1..after);
            }
        }
    }

    fn touch(&mut self, at: u64) {
        if let Some(range) = self.range_of(at) {
            self.note(at, range);
        }
    }

    /// `range` was touched at `at`.
    fn note(&mut self, at: u64, (from, end): (u64, u64)) {
        let latest = self.recent[0];
        if latest < from || end <= latest {
            self.recent.copy_within(0..3, 1);
        }
        self.recent[0] = at;
    }

    fn range_of(&self, at: u64) -> Option<(u64, u64)> {
        // Mostly it is the last one.
        if let Some(&last) = self.ranges.last().filter(|last| last.0 <= at) {
            return (at < last.1).then_some(last);
        }
        let i = self.ranges.partition_point(|r| r.1 <= at);
        self.ranges.get(i).copied().filter(|r| r.0 <= at)
    }

    /// The first piece, cut to what lies at `next` and beyond, when it continues at `next`.
    #[inline]
    pub fn pop(&mut self, next: u64) -> Option<T> {
        if self.pieces.front()?.at() > next { None } else { self.pop_first(next) }
    }

    fn pop_first(&mut self, next: u64) -> Option<T> {
        loop {
            if self.pieces.front()?.at() > next {
                return None;
            }
            let piece = self.pieces.pop_front()?;
            trim(&mut self.pieces);
            self.bytes -= piece.len();
            let first = &mut self.ranges[0];
            first.0 = piece.end();
            if first.0 >= first.1 {
                self.ranges.remove(0);
            }
            if let Some(rest) = piece.above(next) {
                return Some(rest);
            }
        }
    }

    /// Calls `report` with the ranges for at most `limit` SACK blocks: first the one touched last (RFC 2018 §4), then those
    /// before it, then the lowest; each once.
    pub fn report(&self, limit: usize, mut report: impl FnMut((u64, u64))) {
        let mut out = [(0, 0); 4];
        let limit = limit.min(4);
        if limit == 0 {
            return;
        }
        if let [only] = self.ranges[..] {
            return report(only);
        }
        let mut n = 0;
        let recent = self.recent.iter().filter_map(|&at| self.range_of(at));
        for range in recent.chain(self.ranges.iter().copied().take(4)) {
            if !out[..n].contains(&range) {
                report(range);
                out[n] = range;
                n += 1;
                if n == limit {
                    return;
                }
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
        Piece { at, payload: Span { offset: at, len: (end - at) as u32 }, offset: at, arrival_ns: 0 }
    }

    fn blocks(r: &Reassembly<Piece<Span>>, limit: usize) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        r.report(limit, |range| out.push(range));
        out
    }

    #[test]
    fn fills_holes_and_reports_ranges_latest_first() {
        let mut r = Reassembly::new();
        assert_eq!(r.insert_to_report(piece(10, 20)), 10);
        assert_eq!(r.insert_to_report(piece(30, 40)), 10);
        assert_eq!(r.insert_to_report(piece(50, 60)), 10);
        assert_eq!(r.insert_to_report(piece(31, 41)), 1);
        assert_eq!(blocks(&r, 4), [(30, 41), (50, 60), (10, 20)]);
        assert_eq!(blocks(&r, 2), [(30, 41), (50, 60)]);
        assert_eq!(r.insert_to_report(piece(20, 30)), 10);
        assert_eq!(blocks(&r, 4), [(10, 41), (50, 60)]);
        assert!(r.pop(5).is_none());
        assert_eq!(r.pop(12).map(|p| (p.at, p.end())), Some((12, 20)));
        assert_eq!(r.bytes(), 31);
    }

    proptest! {
        /// Against a plain array of bytes: what was inserted comes out once, in order, with its place unchanged.
        #[test]
        fn agrees_with_an_array(spans in prop::collection::vec((0u64..200, 1u64..40), 1..60)) {
            let mut r = Reassembly::new();
            let mut held = [false; 256];
            for (at, len) in spans {
                let new = (at..at + len).filter(|&i| !held[i as usize]).count() as u64;
                prop_assert_eq!(r.insert_to_report(piece(at, at + len)), new);
                held[at as usize..(at + len) as usize].fill(true);
                let mut ranges = Vec::new();
                for i in 0..256u64 {
                    match ranges.last_mut() {
                        Some((_, end)) if held[i as usize] && *end == i => *end = i + 1,
                        _ if held[i as usize] => ranges.push((i, i + 1)),
                        _ => {}
                    }
                }
                prop_assert_eq!(&r.ranges, &ranges);
                prop_assert_eq!(r.bytes(), held.iter().filter(|&&h| h).count() as u64);
                let reported = blocks(&r, 4);
                prop_assert_eq!(reported.len(), ranges.len().min(4));
                prop_assert!(reported[0].0 <= at && at + len <= reported[0].1);
            }
            let mut next = 0;
            while let Some(at) = (next..256).find(|&i| held[i as usize]) {
                next = at;
                while let Some(p) = r.pop(next) {
                    prop_assert_eq!(p.at, next);
                    prop_assert_eq!(p.payload.offset, next);
                    prop_assert_eq!(p.offset, next);
                    next = p.end();
                }
                prop_assert!(next > at && !held.get(next as usize).copied().unwrap_or(false));
            }
            prop_assert!(r.is_empty() && r.bytes() == 0 && r.ranges.is_empty());
        }
    }
}
