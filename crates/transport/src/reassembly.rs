//! Data that arrived before what precedes it. The same structure serves a subflow (by sequence number) and the
//! connection (by place in the stream).

use std::collections::VecDeque;

use wire::Payload;

use crate::queue::trim;

/// Data out of order.
#[derive(Clone, Debug)]
pub struct Piece<P> {
    /// Number of the first byte in the space that is reassembled.
    pub at: u64,
    /// Content.
    pub payload: P,
    /// Place of the first byte in the connection's stream; [`UNMAPPED`] while no mapping is known.
    pub offset: u64,
    /// When it reached this host.
    pub arrival_ns: u64,
    /// The subflow that brought it.
    pub via: u8,
}

/// No data sequence mapping is known yet.
pub const UNMAPPED: u64 = u64::MAX;

impl<P: Payload> Piece<P> {
    /// The number after its last.
    pub fn end(&self) -> u64 {
        self.at + self.payload.len() as u64
    }

    fn cut(&self, from: u64, to: u64) -> Piece<P> {
        Piece {
            at: from,
            payload: self.payload.slice((from - self.at) as usize, (to - self.at) as usize),
            offset: if self.offset == UNMAPPED { UNMAPPED } else { self.offset + (from - self.at) },
            arrival_ns: self.arrival_ns,
            via: self.via,
        }
    }

    /// Cuts off what lies at `at` and beyond.
    pub fn split_off(&mut self, at: u64) -> Option<Piece<P>> {
        if self.end() <= at {
            return None;
        }
        let rest = self.cut(at, self.end());
        self.payload = self.payload.slice(0, (at - self.at) as usize);
        Some(rest)
    }

    /// Without what lies below `from`; none when nothing remains.
    pub fn above(self, from: u64) -> Option<Piece<P>> {
        if self.at >= from {
            Some(self)
        } else if self.end() <= from {
            None
        } else {
            Some(self.cut(from, self.end()))
        }
    }
}

/// Pieces in order, none overlapping another, and the ranges they make.
#[derive(Debug)]
pub struct Reassembly<P> {
    pieces: VecDeque<Piece<P>>,
    /// Maximal contiguous ranges, in order.
    ranges: Vec<(u64, u64)>,
    /// A number within each of the ranges touched last, the latest first (for SACK blocks).
    recent: [u64; 4],
    bytes: u64,
}

impl<P: Payload> Reassembly<P> {
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
    pub fn insert_to_report(&mut self, piece: Piece<P>) -> u64 {
        let (at, end) = (piece.at, piece.end());
        let new = self.insert(piece);
        if at < end {
            self.touch(at);
        }
        new
    }

    /// Takes what is new of a piece; answers how many bytes were.
    pub fn insert(&mut self, piece: Piece<P>) -> u64 {
        let (from, end) = (piece.at, piece.end());
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
        if self.pieces.get(i).is_none_or(|next| next.at >= end) {
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
                Some(p) if p.at <= at => {
                    at = p.end();
                    i += 1;
                    continue;
                }
                Some(p) => (p.at.min(end), p.end()),
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
        let latest = self.recent[0];
        let same = self.range_of(at).is_some_and(|(from, end)| from <= latest && latest < end);
        if !same {
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
    pub fn pop(&mut self, next: u64) -> Option<Piece<P>> {
        if self.pieces.front()?.at > next { None } else { self.pop_first(next) }
    }

    fn pop_first(&mut self, next: u64) -> Option<Piece<P>> {
        loop {
            if self.pieces.front()?.at > next {
                return None;
            }
            let piece = self.pieces.pop_front()?;
            trim(&mut self.pieces);
            self.bytes -= piece.payload.len() as u64;
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

    /// The ranges to report as SACK blocks: first the one touched last (RFC 2018 §4), then those before it, then
    /// the lowest; each once.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut out = [(0, 0); 4];
        let mut n = 0;
        if let [only] = self.ranges[..] {
            out[0] = only;
            return out.into_iter().take(1);
        }
        let recent = self.recent.iter().filter_map(|&at| self.range_of(at));
        for range in recent.chain(self.ranges.iter().copied().take(4)) {
            if n < 4 && !out[..n].contains(&range) {
                out[n] = range;
                n += 1;
            }
        }
        out.into_iter().take(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::Span;

    fn piece(at: u64, end: u64) -> Piece<Span> {
        Piece { at, payload: Span { offset: at, len: (end - at) as u32 }, offset: at, arrival_ns: 0, via: 0 }
    }

    #[test]
    fn fills_holes_and_reports_ranges_latest_first() {
        let mut r = Reassembly::new();
        assert_eq!(r.insert_to_report(piece(10, 20)), 10);
        assert_eq!(r.insert_to_report(piece(30, 40)), 10);
        assert_eq!(r.insert_to_report(piece(50, 60)), 10);
        assert_eq!(r.insert_to_report(piece(31, 41)), 1);
        assert_eq!(r.blocks().collect::<Vec<_>>(), [(30, 41), (50, 60), (10, 20)]);
        assert_eq!(r.insert_to_report(piece(20, 30)), 10);
        assert_eq!(r.blocks().collect::<Vec<_>>(), [(10, 41), (50, 60)]);
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
                let reported: Vec<_> = r.blocks().collect();
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
