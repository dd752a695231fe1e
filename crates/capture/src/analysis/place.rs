//! Where the bytes of a subflow belong in the data stream: its mappings (RFC 8684 §3.3.1), followed one by one.

use std::collections::BTreeMap;

use super::leg::Record;
use wire::expand32;

/// Half the space: what lies beyond came before the beginning.
const BEFORE: u64 = 1 << 63;

/// One mapping, or several that continue one another; relative subflow sequence numbers have 64 bits.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    end: u64,
    dsn: u64,
}

/// Follows one direction of one leg.
#[derive(Clone, Debug)]
pub struct Places {
    isn: Option<u32>,
    /// Data sequence number of the stream's first byte, once it is known.
    pub base: Option<u64>,
    last_relative: u64,
    last_dsn: u64,
    /// By the relative subflow sequence number of the first byte; that of a subflow has 1.
    mappings: BTreeMap<u64, Mapping>,
    /// From here on the mapping has no end.
    infinite: Option<(u64, u64)>,
    /// Data that no mapping covers continue the last one: TCP, or back to it.
    pub unmapped_continue: bool,
}

/// Content and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Relative subflow sequence number of the first byte.
    pub relative: u64,
    /// Place in the data stream.
    pub offset: Option<u64>,
}

impl Places {
    /// `isn` is the sequence number of the SYN, `base` the data sequence number of the stream's first byte.
    pub fn new(isn: Option<u32>, base: Option<u64>, unmapped_continue: bool) -> Places {
        Places {
            isn,
            base,
            last_relative: 0,
            last_dsn: base.unwrap_or(0),
            mappings: BTreeMap::new(),
            infinite: None,
            unmapped_continue,
        }
    }

    /// Learns what `record` says of mappings and tells where its content belongs; none when it has no content.
    pub fn content(&mut self, record: &Record) -> Option<Content> {
        let relative = self.relative(record);
        if record.has.mapping() {
            self.learn(record, relative);
        }
        if record.len == 0 || relative >= BEFORE {
            return None;
        }
        self.last_relative = self.last_relative.max(relative);
        Some(Content { relative, offset: self.offset(relative) })
    }

    fn relative(&mut self, record: &Record) -> u64 {
        let seq = record.content_seq();
        let isn = *self.isn.get_or_insert_with(|| {
            let ssn = if record.has.mapping() && record.ssn > 0 { record.ssn } else { 1 };
            seq.wrapping_sub(ssn)
        });
        expand32(self.last_relative, seq.wrapping_sub(isn))
    }

    /// The relative subflow sequence number that an ACK of this direction names.
    pub fn acknowledged(&self, ack: u32) -> Option<u64> {
        let relative = expand32(self.last_relative, ack.wrapping_sub(self.isn?));
        (relative < BEFORE).then_some(relative)
    }

    fn learn(&mut self, record: &Record, relative: u64) {
        let dsn = record.dsn().expand(self.last_dsn);
        self.last_dsn = dsn;
        let base = *self.base.get_or_insert(dsn);
        // From before the beginning: the number that the beginning has is the better one.
        if dsn.wrapping_sub(base) >= BEFORE {
            return;
        }
        let len = u64::from(record.map_len);
        let start = expand32(relative, record.ssn);
        if len == 0 {
            self.infinite.get_or_insert((start, dsn));
            return;
        }
        let len = len - u64::from(record.has.data_fin());
        if len == 0 || start >= BEFORE {
            return;
        }
        let end = start + len;
        let free_to = self.mappings.range(start + 1..).next().map_or(u64::MAX, |(&next, _)| next);
        if let Some((&from, known)) = self.mappings.range_mut(..=start).next_back()
            && start <= known.end
            && known.dsn.wrapping_add(start - from) == dsn
        {
            // It says again what is known, or goes on from there.
            if end > known.end && end <= free_to {
                known.end = end;
            }
            return;
        }
        self.mappings.insert(start, Mapping { end, dsn });
    }

    /// Where in the data stream the byte with this relative subflow sequence number belongs.
    pub fn offset(&self, relative: u64) -> Option<u64> {
        let place = |dsn: u64| self.base.map(|base| dsn.wrapping_sub(base)).filter(|&offset| offset < BEFORE);
        let before = self.mappings.range(..=relative).next_back();
        if let Some((from, known)) = before.filter(|(_, known)| relative < known.end) {
            return place(known.dsn.wrapping_add(relative - from));
        }
        if let Some((start, dsn)) = self.infinite.filter(|&(start, _)| relative >= start) {
            return place(dsn.wrapping_add(relative - start));
        }
        if !self.unmapped_continue {
            return None;
        }
        match before {
            Some((from, known)) => place(known.dsn.wrapping_add(relative - from)),
            None => relative.checked_sub(1),
        }
    }

    /// The place in the data stream that a DATA_ACK names.
    pub fn data_acknowledged(&mut self, record: &Record) -> Option<u64> {
        let number = record.data_ack()?.expand(self.last_dsn);
        let offset = number.wrapping_sub(self.base?);
        (offset < BEFORE).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::super::leg::Has;
    use super::*;
    use wire::Flags;

    fn record(seq: u32, len: u32, mapping: Option<(u32, u32, u16)>) -> Record {
        let mut has = Has::default();
        let (dsn, ssn, map_len) = mapping.unwrap_or_default();
        if mapping.is_some() {
            has.set_mapping();
        }
        let dsn = u64::from(dsn);
        Record { time_ns: 0, dsn, data_ack: 0, seq, ack: 0, ssn, len, map_len, window: 0, flags: Flags::ACK, has }
    }

    #[test]
    fn one_mapping_may_cover_several_segments() {
        let mut places = Places::new(Some(u32::MAX), Some(0x1_0000_0000), false);
        let place = |places: &mut Places, record| places.content(&record).and_then(|content| content.offset);
        // The numbers of the subflow wrap with its first byte, those of the data stream stand in 32 bits.
        assert_eq!(place(&mut places, record(0, 100, Some((10, 1, 300)))), Some(10));
        assert_eq!(place(&mut places, record(200, 100, None)), Some(210));
        assert_eq!(place(&mut places, record(100, 100, None)), Some(110));
        assert_eq!(place(&mut places, record(300, 100, None)), None);
        // Another place of the stream, later the same again.
        assert_eq!(place(&mut places, record(400, 50, Some((5000, 401, 50)))), Some(5000));
        assert_eq!(place(&mut places, record(0, 100, None)), Some(10));
        assert_eq!(place(&mut places, record(420, 10, None)), Some(5020));
    }

    #[test]
    fn an_infinite_mapping_goes_on_for_ever() {
        let mut places = Places::new(Some(0), Some(1000), false);
        assert_eq!(places.content(&record(1, 10, Some((1000, 1, 10)))).unwrap().offset, Some(0));
        assert_eq!(places.content(&record(11, 10, Some((1010, 11, 0)))).unwrap().offset, Some(10));
        assert_eq!(places.content(&record(5011, 10, None)).unwrap().offset, Some(5010));
    }

    #[test]
    fn tcp_is_its_own_stream() {
        let mut places = Places::new(Some(7), None, true);
        assert_eq!(places.content(&record(8, 10, None)), Some(Content { relative: 1, offset: Some(0) }));
        assert_eq!(places.acknowledged(18), Some(11));
        assert_eq!(places.content(&record(6, 1, None)).and_then(|content| content.offset), None);
    }
}
