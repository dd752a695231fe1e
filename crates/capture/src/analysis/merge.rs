//! Merges the records of several legs in time order.

use super::leg::Leg;
use super::record::{Iter, Record};

/// Iterates over the records of several legs, each with the index of its leg.
pub struct Merged<'a> {
    legs: Vec<(Option<Record>, Iter<'a>)>,
}

impl<'a> Merged<'a> {
    pub fn new(legs: impl Iterator<Item = &'a Leg>) -> Merged<'a> {
        let begun = legs.map(|leg| {
            let mut records = leg.records.iter();
            (records.next(), records)
        });
        Merged { legs: begun.collect() }
    }
}

impl Iterator for Merged<'_> {
    type Item = (usize, Record);

    fn next(&mut self) -> Option<(usize, Record)> {
        // With few legs, a linear search is as fast as a heap. At equal times the first leg comes first.
        let mut earliest: Option<(usize, u64)> = None;
        for (leg, (next, _)) in self.legs.iter().enumerate() {
            if let Some(record) = next
                && earliest.is_none_or(|(_, known_ns)| record.time_ns < known_ns)
            {
                earliest = Some((leg, record.time_ns));
            }
        }
        let (leg, _) = earliest?;
        let (next, following) = &mut self.legs[leg];
        let record = std::mem::replace(next, following.next())?;
        Some((leg, record))
    }
}
