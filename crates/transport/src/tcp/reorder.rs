//! What a subflow received behind a hole, and what of it is reported (RFC 2018).

use super::kept_blocks::KeptBlocks;
use super::ranges::Ranges;
use super::waiting_memory::WaitingMemory;
use crate::Kernel;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::reassembly::{Part, Piece};
use crate::slots::Slots;

/// Data out of order on a subflow, by sequence number. Without memory while there is none: mostly there is none.
#[derive(Debug)]
pub struct Reorder<P: Sendable> {
    held: Option<Box<OutOfOrder<P>>>,
    /// What arrived twice and is to be reported (D-SACK, RFC 2883).
    duplicate: Option<Box<(u64, u64)>>,
}

/// What is held; something is.
#[derive(Debug)]
struct OutOfOrder<P: Sendable> {
    pieces: Slots<Piece<P>>,
    /// Maximal contiguous ranges.
    ranges: Ranges,
    /// A number within each of the ranges touched last, the latest first. Of those that are gone nothing is reported.
    recent: [u64; 4],
    /// Of a receiver as Linux's.
    linux: Option<Box<AsLinux>>,
}

/// What a receiver as Linux's knows of what is held.
#[derive(Debug, Default)]
struct AsLinux {
    /// What it reports ([`Reorder::keep`]), which may be nothing.
    kept: KeptBlocks,
    memory: WaitingMemory,
    /// A segment with which the window has not grown yet: its length, and how many waited before it.
    growth: Option<(usize, usize)>,
    /// What the next report is instead; nothing: see [`Reorder::freeze`].
    frozen: ([(u64, u64); 4], u8),
    /// The first number missing, and how often it was told ([`Reorder::tell`]).
    told: (u64, u8),
}

impl<P: Sendable> Reorder<P> {
    pub fn new() -> Self {
        Reorder { held: None, duplicate: None }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held.is_none()
    }

    /// What lies between these numbers arrived twice.
    pub fn note_duplicate(&mut self, from: u64, to: u64) {
        self.duplicate = Some(Box::new((from, to)));
    }

    /// What arrived twice and was not reported.
    pub fn take_duplicate(&mut self) -> Option<(u64, u64)> {
        self.duplicate.take().map(|duplicate| *duplicate)
    }

    /// Whether there is something to report.
    #[inline(always)]
    pub fn has_blocks(&self) -> bool {
        self.duplicate.is_some() || self.held.is_some()
    }

    /// What is held is told while `next` is missing. Answers how often it was told before.
    pub fn tell(&mut self, next: u64) -> u8 {
        let Some(linux) = self.linux() else { return 0 };
        let before = if linux.told.0 == next { linux.told.1 } else { 0 };
        linux.told = (next, before.saturating_add(1));
        before
    }

    fn linux(&mut self) -> Option<&mut AsLinux> {
        self.held.as_mut().map(|held| &mut **held.linux.get_or_insert_default())
    }

    /// Which of the blocks that a receiver as Linux's reports when all before `next` is there, from 0 on, what lies between these
    /// numbers would join; their number if none.
    pub fn block_at(&mut self, next: u64, from: u64, to: u64) -> usize {
        let Some(linux) = self.linux() else { return 0 };
        linux.kept.forget_below(next);
        linux.kept.place_of(from, to)
    }

    /// A receiver as Linux's, which has all before `next`, reports what lies between these numbers, if something is held at all. `new`: the
    /// place in the stream of what is held of that and was not before, and whose memory it takes.
    pub fn keep(&mut self, next: u64, (from, to): (u64, u64), new: Option<(Offset, Kernel)>) {
        if let Some(linux) = self.linux() {
            linux.kept.forget_below(next);
            linux.kept.keep(from, to);
            if let Some((offset, kernel)) = new {
                linux.memory.kernel = kernel;
                linux.memory.keep(from, to, offset);
            }
        }
    }

    /// The window grows with a segment of `len` bytes, which came with so many waiting, when the next one comes.
    pub fn put_off_growth(&mut self, len: usize, behind: usize) {
        if let Some(linux) = self.linux() {
            linux.growth = Some((len, behind));
        }
    }

    /// With which segment the window is still to grow.
    pub fn take_growth(&mut self) -> Option<(usize, usize)> {
        self.held.as_mut()?.linux.as_mut()?.growth.take()
    }

    /// Whether all between these numbers is held.
    pub fn holds(&self, from: u64, to: u64) -> bool {
        let range = self.held.as_ref().and_then(|held| held.ranges.find(from));
        range.is_some_and(|range| range.0 <= from && to <= range.1)
    }

    /// Pieces held.
    pub fn len(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.pieces.len())
    }

    /// As [`insert`](Self::insert), of a piece that begins at `next`: it is taken out again at once.
    pub fn insert_first(&mut self, next: u64, piece: Piece<P>) {
        if let Some(linux) = self.held.as_mut().and_then(|held| held.linux.as_mut()) {
            linux.memory.pass(piece.at, piece.end());
        }
        self.insert(next, piece);
    }

    /// The memory of pieces held, of a receiver as Linux's.
    pub fn memory(&self) -> Option<u64> {
        self.held.as_ref()?.linux.as_ref().map(|linux| linux.memory.bytes())
    }

    /// Takes what is new of a piece that begins at `next`, the first number missing, or beyond. The range it lies in is what is
    /// reported first.
    #[inline]
    pub fn insert(&mut self, next: u64, piece: Piece<P>) {
        let (at, end) = (piece.at, piece.end());
        if at < end {
            let held = self.held.get_or_insert_with(OutOfOrder::boxed);
            held.pieces.insert(next, piece);
            let range = held.ranges.join(at, end);
            held.note(at, range);
        }
    }

    /// Whether the bytes from `at` on, where the first hole begins, lie below all that are held, so that they need not be put in
    /// front of them and taken out again. For later reports that is as if it had been done.
    #[inline]
    pub fn passes(&mut self, at: u64, len: u64) -> bool {
        let Some(held) = &mut self.held else { return false };
        let passes = held.pieces.pass(at, len);
        if passes {
            let ((from, to), end) = (held.ranges.first(), at + len);
            held.note(at, (at, if end == from { to } else { end }));
        }
        passes
    }

    /// The first piece, cut to what lies at `next` and beyond, when it continues at `next`.
    #[inline]
    pub fn pop(&mut self, next: u64) -> Option<Piece<P>> {
        let held = self.held.as_mut()?;
        let piece = held.pieces.pop(next)?;
        let end = piece.end();
        if let Some(linux) = &mut held.linux {
            linux.memory.release(piece.at, end);
        }
        // Ranges below the piece were passed over.
        held.ranges.pass(end);
        if held.ranges.is_empty() {
            self.held = None;
        }
        Some(piece)
    }

    /// Calls `report` with the ranges for at most `limit` SACK blocks, when all before `next` is there: first the one touched last (RFC
    /// 2018 §4), then those before it, then the lowest; each once.
    #[inline]
    pub fn report(&mut self, next: u64, limit: usize, report: impl FnMut((u64, u64))) {
        let Some(held) = &mut self.held else { return };
        match &mut held.linux {
            None => held.report(limit, report),
            Some(linux) => linux.report(next, limit, report),
        }
    }

    /// The next report is of what is held by then, whatever comes before it.
    #[cold]
    pub fn freeze(&mut self, next: u64) {
        let (mut blocks, mut count) = ([(0, 0); 4], 0);
        self.report(next, 4, |block| {
            blocks[count] = block;
            count += 1;
        });
        if let Some(linux) = self.linux() {
            linux.frozen = (blocks, count as u8);
        }
    }
}

impl AsLinux {
    #[cold]
    fn report(&mut self, next: u64, limit: usize, report: impl FnMut((u64, u64))) {
        if self.frozen.1 == 0 {
            self.kept.forget_below(next);
            return self.kept.all().iter().take(limit).copied().for_each(report);
        }
        let (blocks, count) = std::mem::take(&mut self.frozen);
        blocks[..count.into()].iter().take(limit).copied().for_each(report);
    }
}

impl<P: Sendable> OutOfOrder<P> {
    #[cold]
    fn boxed() -> Box<Self> {
        Box::new(OutOfOrder { pieces: Slots::new(), ranges: Ranges::new(), recent: [0; 4], linux: None })
    }

    /// `range` was touched at `at`.
    #[inline]
    fn note(&mut self, at: u64, (from, end): (u64, u64)) {
        let latest = self.recent[0];
        if latest < from || end <= latest {
            self.recent.copy_within(0..3, 1);
        }
        self.recent[0] = at;
    }

    #[inline]
    fn report(&self, limit: usize, mut report: impl FnMut((u64, u64))) {
        if limit == 0 {
            return;
        }
        if let Some(only) = self.ranges.only() {
            return report(only);
        }
        if limit == 1 {
            let latest = self.recent.iter().find_map(|&at| self.ranges.find(at));
            return report(latest.unwrap_or_else(|| self.ranges.first()));
        }
        let (mut out, limit) = ([(0, 0); 4], limit.min(4));
        let mut n = 0;
        let recent = self.recent.iter().filter_map(|&at| self.ranges.find(at));
        for range in recent.chain(self.ranges.lowest()) {
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
    use crate::Kernel;
    use crate::offset::Offset;
    use crate::time::Instant;
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

    fn blocks(r: &mut Reorder<Span>, limit: usize) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        r.report(0, limit, |range| out.push(range));
        out
    }

    #[test]
    fn fills_holes_and_reports_ranges_latest_first() {
        let mut r = Reorder::new();
        for (at, end) in [(10, 20), (30, 40), (50, 60), (31, 41)] {
            r.insert(5, piece(at, end));
        }
        assert_eq!(blocks(&mut r, 4), [(30, 41), (50, 60), (10, 20)]);
        assert_eq!(blocks(&mut r, 2), [(30, 41), (50, 60)]);
        r.insert(5, piece(20, 30));
        assert_eq!(blocks(&mut r, 4), [(10, 41), (50, 60)]);
        assert!(r.pop(5).is_none());
        assert_eq!(r.pop(12).map(|p| (p.at, p.end())), Some((12, 20)));
        assert_eq!(blocks(&mut r, 4), [(20, 41), (50, 60)]);
    }

    /// `tcp_sack_remove`: when all four are below what is there, the fifth is not told of again until something joins it.
    #[test]
    fn a_receiver_as_linuxs_may_hold_what_it_does_not_report() {
        let mut r = Reorder::new();
        for at in [90, 10, 30, 50, 70] {
            r.insert(5, piece(at, at + 10));
            r.keep(5, (at, at + 10), Some((Offset::after(at), Kernel::V6_12)));
        }
        let mut told = Vec::new();
        r.report(85, 4, |range| told.push(range));
        assert_eq!((told, r.len()), (Vec::new(), 5));
        r.insert(85, piece(100, 110));
        r.keep(85, (100, 110), Some((Offset::after(100), Kernel::V6_12)));
        assert_eq!(blocks(&mut r, 4), [(100, 110)]);
    }

    proptest! {
        /// Against a plain array of bytes, with small pieces anywhere or segments of one size: the ranges, and what comes out.
        /// What fills the first hole is passed by where that is possible; another, where it is always put in, reports the same.
        #[test]
        fn agrees_with_an_array(
            spans in prop::collection::vec((0u64..200, 1u64..40), 1..60),
            steps in prop::collection::vec((0u64..12, 0u64..30), 1..60),
            even: bool,
        ) {
            let (mut r, mut other) = (Reorder::new(), Reorder::new());
            let mut held = vec![false; 600_000];
            let mut next = 5;
            let spans: Vec<_> =
                if even { steps.iter().map(|&(n, odd)| (n * 600, if odd == 0 { 300 } else { 600 })).collect() } else { spans };
            for (ahead, len) in spans {
                let at = if even { next + ahead } else { next.max(5 + ahead) };
                held[at as usize..(at + len) as usize].fill(true);
                other.insert(next, piece(at, at + len));
                if at == next && r.passes(at, len) {
                    next += len;
                    prop_assert_eq!(other.pop(at).map(|p| p.end()), Some(next));
                } else {
                    r.insert(next, piece(at, at + len));
                }
                prop_assert_eq!(blocks(&mut r, 4), blocks(&mut other, 4));
                let reported = blocks(&mut r, 4);
                prop_assert!(reported.is_empty() || at < next || reported[0].0 <= at && at + len <= reported[0].1);
                while let Some(p) = r.pop(next) {
                    prop_assert_eq!(other.pop(next).map(|q| (q.at, q.end())), Some((p.at, p.end())));
                    prop_assert_eq!((p.at, p.payload.offset, p.offset.octets()), (next, next, next));
                    next = p.end();
                }
                prop_assert!(!held[next as usize]);
                let mut ranges: Vec<(u64, u64)> = Vec::new();
                for i in (next..next + 20_000).filter(|&i| held[i as usize]) {
                    match ranges.last_mut() {
                        Some((_, end)) if *end == i => *end = i + 1,
                        _ => ranges.push((i, i + 1)),
                    }
                }
                prop_assert_eq!(&r.held.as_ref().map_or(Vec::new(), |held| held.ranges.all()), &ranges);
                prop_assert_eq!((r.is_empty(), r.len().min(1)), (ranges.is_empty(), ranges.len().min(1)));
                let reported = blocks(&mut r, 4);
                prop_assert_eq!(reported.len(), ranges.len().min(4));
                for limit in 0..4 {
                    prop_assert_eq!(blocks(&mut r, limit), &reported[..reported.len().min(limit)]);
                }
            }
        }
    }
}
