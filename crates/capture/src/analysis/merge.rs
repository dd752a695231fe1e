//! The records of several legs in the order of their times.

use super::leg::Leg;
use super::record::{Iter, Record};

/// Which of several legs a record is of, and the record.
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
        // Few legs: looking at each is as quick as a heap. Of equal times the first leg's comes first.
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
