//! Data that another subflow is to carry again because the one that carried it failed (RFC 8684 §3.3.6).

use std::collections::VecDeque;

use crate::offset::Offset;
use crate::scheduler::SubflowSet;

/// A range of the stream to send again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    pub from: Offset,
    pub to: Offset,
    /// The subflows that carried it.
    pub tried: SubflowSet,
}

/// What waits to be sent again, in the order of the stream, without overlap.
#[derive(Debug, Default)]
pub struct Reinjections {
    ranges: VecDeque<Range>,
}

impl Reinjections {
    /// Ranges that wait.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Adds a range that `subflow` carried. What is waiting already is not added twice.
    pub fn add(&mut self, from: Offset, to: Offset, subflow: usize) {
        self.add_tried(from, to, SubflowSet::one(subflow));
    }

    /// Adds a range that any subflow may carry.
    pub fn add_untried(&mut self, from: Offset, to: Offset) {
        self.add_tried(from, to, SubflowSet::default());
    }

    fn add_tried(&mut self, from: Offset, to: Offset, tried: SubflowSet) {
        let mut at = from;
        let mut i = self.ranges.partition_point(|r| r.to <= from);
        while at < to {
            match self.ranges.get_mut(i) {
                Some(r) if r.from <= at => {
                    r.tried.0 |= tried.0;
                    at = r.to;
                    i += 1;
                }
                next => {
                    let end = next.map_or(to, |r| r.from.min(to));
                    // Runs of segments become one range.
                    match i.checked_sub(1).and_then(|before| self.ranges.get_mut(before)) {
                        Some(before) if before.to == at && before.tried == tried => before.to = end,
                        _ => {
                            self.ranges.insert(i, Range { from: at, to: end, tried });
                            i += 1;
                        }
                    }
                    at = end;
                }
            }
        }
    }

    /// The first range above `acknowledged`; what lies below needs no reinjection any more.
    pub fn first(&mut self, acknowledged: Offset) -> Option<Range> {
        loop {
            let first = self.ranges.front_mut()?;
            if first.to <= acknowledged {
                self.ranges.pop_front();
                continue;
            }
            first.from = first.from.max(acknowledged);
            return Some(*first);
        }
    }

    /// The first `len` bytes of the first range were sent.
    pub fn sent(&mut self, len: u64) {
        if let Some(first) = self.ranges.front_mut() {
            first.from += len;
            if first.from >= first.to {
                self.ranges.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(octets: u64) -> Offset {
        Offset::after(octets)
    }

    fn first(r: &mut Reinjections, acknowledged: u64) -> Option<(u64, u64)> {
        r.first(at(acknowledged)).map(|range| (range.from.octets(), range.to.octets()))
    }

    fn all(r: &Reinjections) -> Vec<(u64, u64, u64)> {
        r.ranges.iter().map(|r| (r.from.octets(), r.to.octets(), r.tried.0)).collect()
    }

    #[test]
    fn runs_join_and_nothing_waits_twice() {
        let mut r = Reinjections::default();
        r.add(at(100), at(200), 0);
        r.add(at(200), at(300), 0);
        r.add(at(400), at(500), 0);
        assert_eq!(all(&r), [(100, 300, 1), (400, 500, 1)]);
        r.add(at(250), at(450), 1);
        assert_eq!(all(&r), [(100, 300, 3), (300, 400, 2), (400, 500, 3)]);
        assert_eq!(first(&mut r, 150), Some((150, 300)));
        r.sent(150);
        assert_eq!(first(&mut r, 150), Some((300, 400)));
        assert_eq!(first(&mut r, 450), Some((450, 500)));
        assert!(r.first(at(500)).is_none());
    }
}
