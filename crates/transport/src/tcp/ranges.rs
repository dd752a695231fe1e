//! Ranges of numbers in order, none touching another: what a subflow holds behind its holes.

use std::collections::BTreeMap;

/// Up to so many ranges stand in a row, where moving some of them aside costs less than a tree. There are more only when a
/// window is very large, or when the peer leaves holes on purpose; then each costs the logarithm of their number.
const ROW: usize = if cfg!(test) { 6 } else { 512 };

/// Maximal contiguous ranges `[from, to)`.
#[derive(Debug)]
pub struct Ranges {
    row: Vec<(u64, u64)>,
    /// All of them by their start, once they were more than [`ROW`]; the row is empty then.
    tree: Option<BTreeMap<u64, u64>>,
}

impl Ranges {
    pub fn new() -> Self {
        Ranges { row: Vec::new(), tree: None }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.row.is_empty() && self.tree.is_none()
    }

    /// The lowest one. Panics when there is none.
    #[inline]
    pub fn first(&self) -> (u64, u64) {
        match &self.tree {
            None => self.row[0],
            Some(tree) => tree.first_key_value().map(|(&from, &to)| (from, to)).expect("a tree has ranges"),
        }
    }

    /// The one range, when there is only one.
    #[inline]
    pub fn only(&self) -> Option<(u64, u64)> {
        if let [only] = self.row[..] { Some(only) } else { None }
    }

    /// The lowest four.
    #[inline]
    pub fn lowest(&self) -> impl Iterator<Item = (u64, u64)> {
        let tree = self.tree.iter().flatten().map(|(&from, &to)| (from, to));
        self.row.iter().copied().take(4).chain(tree.take(4))
    }

    /// The one that a number lies in.
    #[inline(always)]
    pub fn find(&self, at: u64) -> Option<(u64, u64)> {
        // Mostly it is the last one.
        match self.row.last() {
            Some(&last) if last.0 <= at => (at < last.1).then_some(last),
            _ => self.find_below(at),
        }
    }

    /// The same below the last one of the row.
    fn find_below(&self, at: u64) -> Option<(u64, u64)> {
        if let Some(tree) = &self.tree {
            return tree.range(..=at).next_back().map(|(&from, &to)| (from, to)).filter(|&(_, to)| at < to);
        }
        let i = self.row.partition_point(|r| r.1 <= at);
        self.row.get(i).copied().filter(|r| r.0 <= at)
    }

    /// Joins `[from, end)` to them; answers the one that it lies in now.
    #[inline]
    pub fn join(&mut self, from: u64, end: u64) -> (u64, u64) {
        if let Some(last) = self.row.last_mut() {
            if last.0 <= from && from <= last.1 {
                last.1 = last.1.max(end);
                return *last;
            }
            if from < last.0 {
                return self.join_below(from, end);
            }
        }
        self.add(from, end)
    }

    /// Appends a range that lies above all in the row.
    fn add(&mut self, from: u64, end: u64) -> (u64, u64) {
        if self.tree.is_some() {
            return self.join_in_tree(from, end);
        }
        self.row.push((from, end));
        self.plant();
        (from, end)
    }

    fn join_below(&mut self, from: u64, end: u64) -> (u64, u64) {
        let first = self.row.partition_point(|r| r.1 < from);
        let after = first + self.row[first..].iter().take_while(|r| r.0 <= end).count();
        if first == after {
            self.row.insert(first, (from, end));
            self.plant();
            return (from, end);
        }
        let joined = (self.row[first].0.min(from), self.row[after - 1].1.max(end));
        self.row[first] = joined;
        if after - first > 1 {
            self.row.drain(first + 1..after);
        }
        joined
    }

    fn plant(&mut self) {
        if self.row.len() > ROW {
            self.tree = Some(std::mem::take(&mut self.row).into_iter().collect());
        }
    }

    #[cold]
    fn join_in_tree(&mut self, from: u64, end: u64) -> (u64, u64) {
        let Some(tree) = &mut self.tree else { return (from, end) };
        let (mut from, mut end) = (from, end);
        while let Some((&start, &to)) = tree.range(..=end).next_back().filter(|&(_, &to)| to >= from) {
            tree.remove(&start);
            (from, end) = (from.min(start), end.max(to));
        }
        tree.insert(from, end);
        (from, end)
    }

    /// Takes away what lies below `end`.
    #[inline]
    pub fn pass(&mut self, end: u64) {
        if self.tree.is_some() {
            return self.pass_in_tree(end);
        }
        // Mostly it is none, or the first one.
        while self.row.first().is_some_and(|first| first.1 <= end) {
            self.row.remove(0);
        }
        if let Some(first) = self.row.first_mut() {
            first.0 = first.0.max(end);
        }
    }

    #[cold]
    fn pass_in_tree(&mut self, end: u64) {
        let Some(tree) = &mut self.tree else { return };
        while let Some(first) = tree.first_entry() {
            let (from, to) = (*first.key(), *first.get());
            if from >= end {
                break;
            }
            first.remove();
            if to > end {
                tree.insert(end, to);
            }
        }
        if tree.is_empty() {
            self.tree = None;
        }
    }
}

#[cfg(test)]
impl Ranges {
    /// All of them.
    pub fn all(&self) -> Vec<(u64, u64)> {
        let tree = self.tree.iter().flatten().map(|(&from, &to)| (from, to));
        self.row.iter().copied().chain(tree).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against an array of flags, with few ranges and with many.
        #[test]
        fn agree_with_an_array(
            steps in prop::collection::vec((0usize..160, 1usize..6, 0u8..8), 1..120),
        ) {
            let (mut ranges, mut held) = (Ranges::new(), [false; 200]);
            for (at, len, kind) in steps {
                if kind == 0 {
                    held[..at / 8].fill(false);
                    ranges.pass((at / 8) as u64);
                } else {
                    held[at..at + len].fill(true);
                    let (from, to) = ranges.join(at as u64, (at + len) as u64);
                    prop_assert!(held[from as usize..to as usize].iter().all(|&h| h) && !held[to as usize]);
                    prop_assert!(from == 0 || !held[from as usize - 1]);
                }
                let mut expected: Vec<(u64, u64)> = Vec::new();
                for i in (0..200_u64).filter(|&i| held[i as usize]) {
                    match expected.last_mut() {
                        Some((_, end)) if *end == i => *end = i + 1,
                        _ => expected.push((i, i + 1)),
                    }
                }
                prop_assert_eq!(&ranges.all(), &expected);
                prop_assert_eq!(ranges.is_empty(), expected.is_empty());
                if let Some(&first) = expected.first() {
                    prop_assert_eq!(ranges.first(), first);
                }
                prop_assert_eq!(ranges.lowest().collect::<Vec<_>>(), expected.iter().copied().take(4).collect::<Vec<_>>());
                for at in 0..200 {
                    let range = expected.iter().copied().find(|&(from, to)| (from..to).contains(&at));
                    prop_assert_eq!(ranges.find(at), range);
                }
            }
        }
    }
}
