//! The records of several legs in the order of their times.

use super::leg::{Leg, Record};

/// Which of several legs a record is of, and the record.
pub struct Merged<'a> {
    legs: Vec<&'a [Record]>,
    next: Vec<usize>,
}

impl<'a> Merged<'a> {
    pub fn new(legs: impl Iterator<Item = &'a Leg>) -> Merged<'a> {
        let legs: Vec<&[Record]> = legs.map(|leg| leg.records.as_slice()).collect();
        Merged { next: vec![0; legs.len()], legs }
    }
}

impl<'a> Iterator for Merged<'a> {
    type Item = (usize, &'a Record);

    fn next(&mut self) -> Option<(usize, &'a Record)> {
        // Few legs: looking at each is as quick as a heap. Of equal times the first leg's comes first.
        let mut earliest: Option<(usize, &Record)> = None;
        for (leg, records) in self.legs.iter().enumerate() {
            if let Some(record) = records.get(self.next[leg])
                && earliest.is_none_or(|(_, known)| record.time_ns < known.time_ns)
            {
                earliest = Some((leg, record));
            }
        }
        let (leg, record) = earliest?;
        self.next[leg] += 1;
        Some((leg, record))
    }
}
