//! What one observation point saw between two address and port pairs, packet by packet: one TCP connection, or several
//! that used the same ports one after another.

use super::leg::Leg;
use super::record::{Noted, Record, Records, What};
use std::net::SocketAddr;
use wire::{Captured, MpCapable, MptcpOption};

/// The packets between two ends at one observation point.
#[derive(Debug)]
pub struct Log {
    /// Index of the observation point.
    pub point: u32,
    /// In the order of the addresses.
    pub tuple: [SocketAddr; 2],
    pub records: Records,
    pub noted: Vec<Noted>,
    /// For each end, the identification of its last IPv4 packet, and whether the identification varies.
    pub identifications: [(u16, bool); 2],
    /// For each end, the smallest and the largest hop limit of its packets.
    pub hop_limits: [(u8, u8); 2],
}

impl Log {
    pub fn new(point: u32, tuple: [SocketAddr; 2]) -> Log {
        Log {
            point,
            tuple,
            records: Records::default(),
            noted: Vec::new(),
            identifications: [(0, false); 2],
            hop_limits: [(u8::MAX, 0); 2],
        }
    }

    /// Adds a packet sent by the end `from`.
    pub fn add(&mut self, time_ns: u64, from: usize, packet: Captured) {
        let (last, changes) = &mut self.identifications[from];
        *changes |= *last != 0 && *last != packet.ip.identification;
        *last = packet.ip.identification;
        let (least, most) = &mut self.hop_limits[from];
        (*least, *most) = ((*least).min(packet.ip.hop_limit), (*most).max(packet.ip.hop_limit));
        let segment = packet.segment;
        let mut record = Record {
            time_ns,
            seq: segment.seq,
            ack: segment.ack,
            len: packet.payload_len as u32,
            window: segment.window,
            stamp: match segment.options.timestamps {
                Some(stamps) if packet.ip.identification == 0 => stamps.value as u16,
                _ => packet.ip.identification,
            },
            flags: segment.flags,
            ..Record::default()
        };
        if from == 1 {
            record.has.set_backwards();
        }
        if let Some(dss) = &segment.options.dss {
            record.note_dss(dss);
        }
        if let Some(rare) = segment.options.rare {
            let number = self.records.len() as u32;
            if let (Some(scale), true) = (rare.window_scale, segment.flags.syn()) {
                self.noted.push(Noted { record: number, what: What::WindowScale(scale) });
            }
            for option in rare.mptcp {
                record.has.set_mptcp();
                // The MP_CAPABLE of the third ACK may map the first data of a connection (RFC 8684 §3.1).
                if let MptcpOption::MpCapable(MpCapable { sender_key: Some(key), data: Some((len, _)), .. }) = option {
                    (record.dsn, record.ssn, record.map_len) = (wire::keys::idsn(key).wrapping_add(1), 1, len);
                    record.has.set_mapping();
                    record.has.set_long_dsn();
                }
                self.noted.push(Noted { record: number, what: What::Option(option) });
            }
        }
        self.records.push(&record);
    }

    /// Adds the log of the same two ends from another point. Both are parts of one observation.
    pub fn join(&mut self, other: Log) {
        let before = self.records.len() as u32;
        other.records.iter().for_each(|record| self.records.push(&record));
        self.noted.extend(other.noted.into_iter().map(|noted| Noted { record: noted.record + before, ..noted }));
    }

    /// Sorts the records by time if the capture is not in time order.
    pub fn sort(&mut self) {
        if self.records.is_sorted() {
            return;
        }
        let mut numbered: Vec<(Record, u32)> = self.records.iter().zip(0..).collect();
        numbered.sort_by_key(|(record, number)| (record.time_ns, *number));
        let mut place = vec![0; numbered.len()];
        let mut sorted = Records::default();
        for (new, (record, old)) in (0..).zip(&numbered) {
            place[*old as usize] = new;
            sorted.push(record);
        }
        self.records = sorted;
        self.noted.iter_mut().for_each(|noted| noted.record = place[noted.record as usize]);
        self.noted.sort_by_key(|noted| noted.record);
    }

    /// Splits the log into connections: a SYN with another sequence number begins the next one.
    pub fn legs(mut self) -> Vec<Leg> {
        self.sort();
        let mut beginnings: Vec<u32> = Vec::new();
        let mut isns: [Option<u32>; 2] = [None; 2];
        for (number, record) in (0..).zip(self.records.iter()) {
            if !record.flags.syn() {
                continue;
            }
            let from = record.from();
            if number > 0 && !record.flags.ack() && isns[from] != Some(record.seq) {
                beginnings.push(number);
                isns = [None; 2];
            }
            isns[from] = isns[from].or(Some(record.seq));
        }
        let mut noted = self.noted.into_iter().peekable();
        if beginnings.is_empty() {
            let mut leg = Leg::new(self.point, 0, self.tuple);
            leg.fill(&self.records, 0, &mut noted);
            leg.records = self.records;
            return vec![leg];
        }
        let mut ends = beginnings.into_iter().chain([u32::MAX]).peekable();
        let mut legs: Vec<Leg> = Vec::new();
        let mut first = 0;
        let mut part = Records::default();
        let shift_ns = std::mem::take(&mut self.records.shift_ns);
        let mut close = |part: &mut Records, first: u32, legs: &mut Vec<Leg>| {
            let mut leg = Leg::new(self.point, legs.len() as u32, self.tuple);
            part.shift_ns = shift_ns;
            leg.fill(part, first, &mut noted);
            leg.records = std::mem::take(part);
            legs.push(leg);
        };
        for (number, record) in (0..).zip(self.records.iter()) {
            if ends.next_if(|&end| end == number).is_some() {
                close(&mut part, first, &mut legs);
                first = number;
            }
            part.push(&record);
        }
        close(&mut part, first, &mut legs);
        legs
    }
}
