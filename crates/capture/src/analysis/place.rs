//! Maps the bytes of a subflow to the data stream (RFC 8684 §3.3.1). All mappings are learned before any payload is
//! looked up, because a mapping may arrive after the data it covers.

use super::leg::Leg;
use super::record::Record;
use std::rc::Rc;
use wire::expand32;

/// Half the sequence space: offsets at or above it lie before the beginning.
const BEFORE: u64 = 1 << 63;

/// One mapping, or several consecutive ones. Relative subflow sequence numbers have 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    dsn: u64,
}

/// The mappings of one direction of one leg.
#[derive(Clone, Debug, Default)]
pub struct Places {
    isn: Option<u32>,
    /// Data sequence number of the stream's first byte, once known.
    pub base: Option<u64>,
    last_relative: u64,
    last_acknowledged: u64,
    last_dsn: u64,
    /// Sorted by first byte; the first byte of a subflow has number 1.
    mappings: Rc<Vec<Mapping>>,
    /// Index of the last mapping used; the next one is near it.
    near: usize,
    /// Start of an infinite mapping: relative subflow sequence number and data sequence number.
    infinite: Option<(u64, u64)>,
    /// Whether data without a mapping continues the previous data: plain TCP, or after a fallback.
    pub unmapped_continue: bool,
}

/// Payload and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Relative subflow sequence number of the first byte.
    pub relative: u64,
    /// Offset in the data stream.
    pub offset: Option<u64>,
}

impl Places {
    /// Learns the mappings of the data that the end `from` sent. `near_dsn` is a data sequence number of the stream.
    pub fn learn(leg: &Leg, from: usize, near_dsn: Option<u64>) -> Places {
        let sent = || leg.records.iter().filter(move |record| record.from() == from);
        let isn = leg.ends[from].isn.or_else(|| first_seen(sent())).or_else(|| {
            // Nothing that it sent was captured: its numbers begin with the first acknowledgment.
            let answer = leg.records.iter().find(|record| record.from() != from && record.flags.ack());
            answer.map(|record| record.ack.wrapping_sub(1))
        });
        let mut places = Places { isn, last_dsn: near_dsn.unwrap_or(0), ..Places::default() };
        let mut mappings = Vec::new();
        for record in sent() {
            let relative = places.relative(&record);
            if record.has.mapping() {
                places.learn_mapping(&record, relative, &mut mappings);
            }
            if record.len > 0 && relative < BEFORE {
                places.last_relative = places.last_relative.max(relative);
            }
        }
        mappings.shrink_to_fit();
        places.mappings = Rc::new(mappings);
        places.last_relative = 0;
        places
    }

    /// The smallest mapped data sequence number, relative to `near`.
    pub fn least_dsn(&self, near: u64) -> Option<u64> {
        let all = self.mappings.iter().map(|mapping| mapping.dsn).chain(self.infinite.map(|(_, dsn)| dsn));
        all.min_by_key(|dsn| dsn.wrapping_sub(near) as i64)
    }

    /// Where the payload of a record belongs; `None` if it has no payload.
    pub fn content(&mut self, record: &Record) -> Option<Content> {
        if record.len == 0 {
            return None;
        }
        let relative = self.relative(record);
        if relative >= BEFORE {
            return None;
        }
        self.last_relative = self.last_relative.max(relative);
        Some(Content { relative, offset: self.offset(relative) })
    }

    fn relative(&self, record: &Record) -> u64 {
        expand32(self.last_relative, record.content_seq().wrapping_sub(self.isn.unwrap_or(0)))
    }

    /// The relative subflow sequence number that an ACK of this direction acknowledges.
    pub fn acknowledged(&mut self, ack: u32) -> Option<u64> {
        let near = self.last_relative.max(self.last_acknowledged);
        let relative = expand32(near, ack.wrapping_sub(self.isn?));
        if relative >= BEFORE {
            return None;
        }
        self.last_acknowledged = self.last_acknowledged.max(relative);
        Some(relative)
    }

    fn learn_mapping(&mut self, record: &Record, relative: u64, mappings: &mut Vec<Mapping>) {
        if record.map_len == 0 && self.infinite.is_some() {
            return;
        }
        if mappings.is_empty() && self.last_dsn == 0 {
            self.last_dsn = record.dsn;
        }
        let dsn = record.dsn().expand(self.last_dsn);
        self.last_dsn = dsn;
        let start = expand32(relative, record.ssn);
        if record.map_len == 0 {
            self.infinite = Some((start, dsn));
            return;
        }
        let len = u64::from(record.map_len) - u64::from(record.has.data_fin());
        if len == 0 || start >= BEFORE {
            return;
        }
        let new = Mapping { start, end: start + len, dsn };
        let after = match mappings.last() {
            Some(last) if last.start <= start => mappings.len(),
            _ => mappings.partition_point(|known| known.start <= start),
        };
        let free_to = mappings.get(after).map_or(u64::MAX, |next| next.start);
        if let Some(known) = after.checked_sub(1).map(|before| &mut mappings[before])
            && start <= known.end
            && known.dsn.wrapping_add(start - known.start) == dsn
        {
            // It repeats a known mapping, or continues it.
            if new.end > known.end && new.end <= free_to {
                known.end = new.end;
            }
            if new.end <= known.end {
                return;
            }
        }
        mappings.insert(after, new);
    }

    /// The last mapping that begins at or before this byte.
    fn before(&mut self, relative: u64) -> Option<Mapping> {
        let begins = |at: usize| self.mappings.get(at).is_some_and(|mapping| mapping.start <= relative);
        let fits = |at: usize| begins(at) && !begins(at + 1);
        if !fits(self.near) {
            let next = self.near + 1;
            self.near = if fits(next) {
                next
            } else {
                self.mappings.partition_point(|mapping| mapping.start <= relative).saturating_sub(1)
            };
        }
        self.mappings.get(self.near).copied().filter(|mapping| mapping.start <= relative)
    }

    /// Stream offset of the byte with this relative subflow sequence number.
    pub fn offset(&mut self, relative: u64) -> Option<u64> {
        let base = self.base;
        let place = |dsn: u64| base.map(|base| dsn.wrapping_sub(base)).filter(|&offset| offset < BEFORE);
        let before = self.before(relative);
        if let Some(known) = before.filter(|known| relative < known.end) {
            return place(known.dsn.wrapping_add(relative - known.start));
        }
        if let Some((start, dsn)) = self.infinite.filter(|&(start, _)| relative >= start) {
            return place(dsn.wrapping_add(relative - start));
        }
        if !self.unmapped_continue {
            return None;
        }
        match before {
            Some(known) => place(known.dsn.wrapping_add(relative - known.start)),
            None => relative.checked_sub(1),
        }
    }

    /// Stream offset that a DATA_ACK acknowledges.
    pub fn data_acknowledged(&mut self, record: &Record) -> Option<u64> {
        let base = self.base?;
        let number = record.data_ack()?.expand(self.last_dsn);
        let offset = number.wrapping_sub(base);
        if offset >= BEFORE {
            return None;
        }
        self.last_dsn = number;
        Some(offset)
    }

    /// Makes the acknowledgments of the stream start at its first byte.
    pub fn begin_at(&mut self, base: Option<u64>) {
        self.base = base;
        self.last_dsn = base.unwrap_or(0);
    }
}

/// The sequence number of a SYN that was not captured. A mapping gives the distance of its first byte from it. A
/// mapping may be repeated on several segments, the first of which is at its beginning, so the smallest result is
/// right.
fn first_seen(sent: impl Iterator<Item = Record>) -> Option<u32> {
    let mut by_mapping: Option<u32> = None;
    let mut by_number: Option<u32> = None;
    let least = |known: Option<u32>, new: u32| match known {
        Some(known) if (new.wrapping_sub(known) as i32) >= 0 => Some(known),
        _ => Some(new),
    };
    for record in sent {
        if record.has.mapping() && record.ssn > 0 {
            by_mapping = least(by_mapping, record.content_seq().wrapping_sub(record.ssn));
        } else if record.len > 0 {
            by_number = least(by_number, record.content_seq().wrapping_sub(1));
        }
    }
    by_mapping.or(by_number)
}

#[cfg(test)]
mod tests {
    use super::super::record::Has;
    use super::*;
    use wire::Flags;

    fn record(seq: u32, len: u32, mapping: Option<(u32, u32, u16)>) -> Record {
        let mut has = Has::default();
        let (dsn, ssn, map_len) = mapping.unwrap_or_default();
        if mapping.is_some() {
            has.set_mapping();
        }
        let dsn = u64::from(dsn);
        Record { dsn, seq, ssn, len, map_len, flags: Flags::ACK, has, ..Record::default() }
    }

    fn places(isn: Option<u32>, base: u64, records: &[Record]) -> Places {
        let ends = ["10.0.0.1:1", "10.0.0.2:2"].map(|end| end.parse().unwrap());
        let mut leg = Leg::new(0, 0, ends);
        leg.ends[0].isn = isn;
        records.iter().for_each(|record| leg.records.push(record));
        let mut places = Places::learn(&leg, 0, Some(base));
        places.begin_at(Some(base));
        places
    }

    fn offsets(places: &mut Places, records: &[Record]) -> Vec<Option<u64>> {
        records.iter().map(|record| places.content(record).and_then(|content| content.offset)).collect()
    }

    #[test]
    fn one_mapping_may_cover_several_segments() {
        // The subflow's sequence numbers wrap at its first byte; the data sequence numbers have 32 bits.
        let records = [
            record(0, 100, Some((10, 1, 300))),
            record(200, 100, None),
            record(100, 100, None),
            record(300, 100, None),
            // Another part of the stream, then a repetition.
            record(400, 50, Some((5000, 401, 50))),
            record(0, 100, None),
            record(420, 10, None),
        ];
        let mut places = places(Some(u32::MAX), 0x1_0000_0000, &records);
        let expected = [Some(10), Some(210), Some(110), None, Some(5000), Some(10), Some(5020)];
        assert_eq!(offsets(&mut places, &records), expected);
    }

    #[test]
    fn a_mapping_may_come_after_its_data() {
        let records = [record(101, 100, None), record(1, 100, Some((1000, 1, 200)))];
        assert_eq!(offsets(&mut places(Some(0), 1000, &records), &records), [Some(100), Some(0)]);
        // Without the SYN, in whichever order the segments of a mapping come.
        let records = [record(9101, 100, Some((1000, 51, 200))), record(9001, 100, Some((1000, 51, 200)))];
        assert_eq!(offsets(&mut places(None, 1000, &records), &records), [Some(100), Some(0)]);
    }

    #[test]
    fn an_infinite_mapping_goes_on_for_ever() {
        let records = [record(1, 10, Some((1000, 1, 10))), record(11, 10, Some((1010, 11, 0))), record(5011, 10, None)];
        assert_eq!(offsets(&mut places(Some(0), 1000, &records), &records), [Some(0), Some(10), Some(5010)]);
    }

    #[test]
    fn tcp_is_its_own_stream() {
        let records = [record(8, 10, None), record(6, 1, None)];
        let mut places = places(Some(7), 0, &records);
        places.unmapped_continue = true;
        assert_eq!(places.content(&records[0]), Some(Content { relative: 1, offset: Some(0) }));
        assert_eq!(places.acknowledged(18), Some(11));
        assert_eq!(places.content(&records[1]).and_then(|content| content.offset), None);
    }
}
