//! The part of a packet that the analysis keeps, and a compact encoding. In a capture of ten million packets each takes
//! about ten bytes, because nearly every number continues the previous one.

use wire::{DataNumber, Dss, Flags, MptcpOption};

/// One packet. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub time_ns: u64,
    /// As on the wire, if `has` reports a mapping; likewise `data_ack`.
    pub dsn: u64,
    pub data_ack: u64,
    pub seq: u32,
    pub ack: u32,
    pub ssn: u32,
    pub len: u32,
    pub map_len: u16,
    /// As on the wire, unscaled.
    pub window: u16,
    /// Distinguishes a packet from its repetition: the IPv4 identification, or else the low bits of the timestamp.
    pub stamp: u16,
    pub flags: Flags,
    pub has: Has,
}

/// The DSS fields that a record contains, and its direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Has(u8);

macro_rules! bits {
    ($($name:ident $set:ident $bit:expr;)*) => { impl Has { $(
        pub const fn $name(self) -> bool { self.0 & $bit != 0 }
        pub const fn $set(&mut self) { self.0 |= $bit; }
    )* } };
}
bits! {
    // From the second of the two ends to the first.
    backwards set_backwards 1;
    mapping set_mapping 2;
    long_dsn set_long_dsn 4;
    data_ack set_data_ack 8;
    long_data_ack set_long_data_ack 16;
    data_fin set_data_fin 32;
    // Any MPTCP option.
    mptcp set_mptcp 64;
}

impl Record {
    pub fn dsn(&self) -> DataNumber {
        if self.has.long_dsn() { DataNumber::Long(self.dsn) } else { DataNumber::Short(self.dsn as u32) }
    }

    pub fn data_ack(&self) -> Option<DataNumber> {
        let number = if self.has.long_data_ack() {
            DataNumber::Long(self.data_ack)
        } else {
            DataNumber::Short(self.data_ack as u32)
        };
        self.has.data_ack().then_some(number)
    }

    /// The end that sent the packet: 0 or 1.
    pub fn from(&self) -> usize {
        usize::from(self.has.backwards())
    }

    /// Sequence number of the first payload byte. A SYN takes the number before it.
    pub fn content_seq(&self) -> u32 {
        self.seq.wrapping_add(u32::from(self.flags.syn()))
    }

    /// Copies the fields of a DSS.
    pub fn note_dss(&mut self, dss: &Dss) {
        self.has.set_mptcp();
        if dss.data_fin {
            self.has.set_data_fin();
        }
        let wide = |number| match number {
            DataNumber::Short(number) => (u64::from(number), false),
            DataNumber::Long(number) => (number, true),
        };
        if let Some(number) = dss.data_ack {
            let (number, long) = wide(number);
            self.data_ack = number;
            self.has.set_data_ack();
            if long {
                self.has.set_long_data_ack();
            }
        }
        if let Some(mapping) = dss.mapping {
            let (number, long) = wide(mapping.dsn);
            (self.dsn, self.ssn, self.map_len) = (number, mapping.ssn, mapping.len);
            self.has.set_mapping();
            if long {
                self.has.set_long_dsn();
            }
        }
    }
}

/// An MPTCP option other than DSS, or the window scale of a SYN, with the index of its record.
#[derive(Clone, Debug)]
pub struct Noted {
    pub record: u32,
    pub what: What,
}

/// The content of a [`Noted`].
#[derive(Clone, Debug)]
pub enum What {
    Option(MptcpOption),
    WindowScale(u8),
}

/// Records in the order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Records {
    bytes: Vec<u8>,
    count: u32,
    state: State,
    first_ns: u64,
    unsorted: bool,
    /// Correction added to every time to adjust the clock.
    pub shift_ns: i64,
}

/// State for the prediction of the next record: the time of the previous record, and the previous record of each end.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    time_ns: u64,
    ends: [Record; 2],
}

impl State {
    /// The most likely next record of this end: its numbers continue the previous one's.
    fn expected(&self, from: usize) -> Record {
        let before = self.ends[from];
        let mapped = before.map_len;
        Record {
            seq: before.seq.wrapping_add(before.len),
            dsn: before.dsn.wrapping_add(u64::from(mapped)),
            ssn: before.ssn.wrapping_add(u32::from(mapped)),
            stamp: before.stamp.wrapping_add(1),
            ..before
        }
    }
}

// Bits for the fields of a record that differ from the prediction and are written.
const HAS: u16 = 1;
const FLAGS: u16 = 2;
const SEQ: u16 = 4;
const ACK: u16 = 8;
const LEN: u16 = 16;
const WINDOW: u16 = 32;
const DSN: u16 = 64;
const DATA_ACK: u16 = 128;
const SSN: u16 = 256;
const MAP_LEN: u16 = 512;
const STAMP: u16 = 1024;
const BACKWARDS: u16 = 1 << 15;

impl Records {
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Times of the first and the last record.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        (self.count > 0).then(|| (self.shifted(self.first_ns), self.shifted(self.state.time_ns)))
    }

    fn shifted(&self, time_ns: u64) -> u64 {
        time_ns.saturating_add_signed(self.shift_ns)
    }

    pub fn push(&mut self, record: &Record) {
        let from = record.from();
        let expected = self.state.expected(from);
        let mut differs = if from == 1 { BACKWARDS } else { 0 };
        for (bit, same) in [
            (HAS, record.has == expected.has),
            (FLAGS, record.flags == expected.flags),
            (SEQ, record.seq == expected.seq),
            (ACK, record.ack == expected.ack),
            (LEN, record.len == expected.len),
            (WINDOW, record.window == expected.window),
            (DSN, record.dsn == expected.dsn),
            (DATA_ACK, record.data_ack == expected.data_ack),
            (SSN, record.ssn == expected.ssn),
            (MAP_LEN, record.map_len == expected.map_len),
            (STAMP, record.stamp == expected.stamp),
        ] {
            if !same {
                differs |= bit;
            }
        }
        if self.count == 0 {
            self.first_ns = record.time_ns;
        }
        self.unsorted |= self.count > 0 && record.time_ns < self.state.time_ns;
        self.bytes.extend(differs.to_le_bytes());
        let mut put = |number: u64| varint(&mut self.bytes, number);
        put(zigzag(record.time_ns.wrapping_sub(self.state.time_ns)));
        let narrow = |new: u32, old: u32| zigzag(i64::from(new.wrapping_sub(old) as i32) as u64);
        for (bit, number) in [
            (HAS, u64::from(record.has.0)),
            (FLAGS, u64::from(record.flags.0)),
            (SEQ, narrow(record.seq, expected.seq)),
            (ACK, narrow(record.ack, expected.ack)),
            (LEN, u64::from(record.len)),
            (WINDOW, u64::from(record.window)),
            (DSN, zigzag(record.dsn.wrapping_sub(expected.dsn))),
            (DATA_ACK, zigzag(record.data_ack.wrapping_sub(expected.data_ack))),
            (SSN, narrow(record.ssn, expected.ssn)),
            (MAP_LEN, u64::from(record.map_len)),
            (STAMP, u64::from(record.stamp)),
        ] {
            if differs & bit != 0 {
                put(number);
            }
        }
        self.state.time_ns = record.time_ns;
        self.state.ends[from] = *record;
        self.count += 1;
    }

    pub fn iter(&self) -> Iter<'_> {
        Iter { records: self, at: 0, state: State::default() }
    }

    pub fn is_sorted(&self) -> bool {
        !self.unsorted
    }
}

/// Decodes records one by one.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    records: &'a Records,
    at: usize,
    state: State,
}

impl Iterator for Iter<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let bytes = &self.records.bytes;
        let differs = u16::from_le_bytes(*bytes.get(self.at..)?.first_chunk::<2>()?);
        self.at += 2;
        let from = usize::from(differs & BACKWARDS != 0);
        let mut record = self.state.expected(from);
        let mut get = || take(bytes, &mut self.at);
        record.time_ns = self.state.time_ns.wrapping_add(unzigzag(get()));
        let narrow = |old: u32, change: u64| old.wrapping_add(unzigzag(change) as u32);
        if differs & HAS != 0 {
            record.has = Has(get() as u8);
        }
        if differs & FLAGS != 0 {
            record.flags = Flags(get() as u8);
        }
        if differs & SEQ != 0 {
            record.seq = narrow(record.seq, get());
        }
        if differs & ACK != 0 {
            record.ack = narrow(record.ack, get());
        }
        if differs & LEN != 0 {
            record.len = get() as u32;
        }
        if differs & WINDOW != 0 {
            record.window = get() as u16;
        }
        if differs & DSN != 0 {
            record.dsn = record.dsn.wrapping_add(unzigzag(get()));
        }
        if differs & DATA_ACK != 0 {
            record.data_ack = record.data_ack.wrapping_add(unzigzag(get()));
        }
        if differs & SSN != 0 {
            record.ssn = narrow(record.ssn, get());
        }
        if differs & MAP_LEN != 0 {
            record.map_len = get() as u16;
        }
        if differs & STAMP != 0 {
            record.stamp = get() as u16;
        }
        self.state.time_ns = record.time_ns;
        self.state.ends[from] = record;
        record.time_ns = self.records.shifted(record.time_ns);
        Some(record)
    }
}

/// Moves the sign to the lowest bit, so that small numbers of either sign are short.
const fn zigzag(number: u64) -> u64 {
    (number << 1) ^ ((number as i64 >> 63) as u64)
}

const fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Seven bits per byte, lowest first; the eighth bit marks that more follow.
fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes.get(*at).copied().unwrap_or(0);
        *at += 1;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 || shift >= 63 {
            return number;
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn any_record()(time_ns: u64, dsn: u64, data_ack: u64, seq: u32, ack: u32, ssn: u32, len: u32, map_len: u16, window: u16, stamp: u16, flags: u8, has: u8) -> Record {
            Record { time_ns, dsn, data_ack, seq, ack, ssn, len, map_len, window, stamp, flags: Flags(flags), has: Has(has) }
        }
    }

    proptest! {
        #[test]
        fn records_come_back(given in proptest::collection::vec(any_record(), 0..40)) {
            let mut records = Records::default();
            given.iter().for_each(|record| records.push(record));
            prop_assert_eq!(records.iter().collect::<Vec<_>>(), given);
        }
    }

    #[test]
    fn what_continues_takes_few_bytes() {
        let mut records = Records::default();
        for number in 0..1000_u32 {
            let mut has = Has::default();
            has.set_mapping();
            let seq = number.wrapping_mul(1400);
            let dsn = u64::from(number) * 1400;
            let time_ns = u64::from(number) * 10_000;
            records.push(&Record { time_ns, seq, ssn: seq, dsn, len: 1400, map_len: 1400, has, ..Record::default() });
        }
        assert!(records.bytes.len() < 8500, "{} bytes", records.bytes.len());
    }
}
