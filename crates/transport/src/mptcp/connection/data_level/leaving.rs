//! A segment leaves: what it says of the stream.

use crate::mptcp::options::{CAPABLE_A, CAPABLE_C, CAPABLE_H, rare};
use crate::numbers::{Dsn, Theirs};
use wire::compact::{HAS_DATA_ACK, HAS_DSS, HAS_MAPPING};
use wire::{Compact, DataNumber, Dss, Mapping, MpCapable, MptcpOption, RareOptions, Segment};

use crate::mptcp::connection::Connection;
use crate::mptcp::state::data_level::Over;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::tcp::subflow::transmit::DataSegment;

impl<P: Sendable> Connection<P> {
    /// What a segment of subflow `r` says of the stream, whatever it carries.
    #[inline(always)]
    pub(in crate::mptcp) fn dss_of(&mut self, r: usize) -> Option<Dss> {
        match self.level.over() {
            Over::Multipath => {
                let number = self.data_ack().on_wire();
                let data_ack =
                    Some(if self.rx.short_acks { DataNumber::Short(number as u32) } else { DataNumber::Long(number) });
                Some(Dss { data_ack, mapping: None, data_fin: false })
            }
            Over::Single if self.fallback.tells() && r == self.fallback.subflow() => self.fallback.mapping(),
            Over::Single => None,
        }
    }

    /// The same in little room. Answers which parts were written.
    #[inline(always)]
    pub(in crate::mptcp) fn compact_dss(&self, out: &mut Compact<P>) -> u8 {
        if self.level.over() == Over::Single {
            return 0;
        }
        out.data_ack = self.data_ack().on_wire();
        HAS_DSS | HAS_DATA_ACK
    }

    /// Where data at `seq` of its subflow belongs, which is at `offset` of the stream.
    #[inline(always)]
    pub(in crate::mptcp) fn compact_mapping(&self, seq: u64, offset: Offset, out: &mut Compact<P>) {
        if self.level.over() == Over::Multipath {
            out.parts |= HAS_MAPPING;
            out.dsn = self.numbers.ours(offset).on_wire();
            out.ssn = seq as u32;
        }
    }

    /// Whether data up to `end` of the stream goes out on the usual subflow `r` with nothing but its mapping. `MORE`: more is
    /// written.
    #[inline(always)]
    pub(in crate::mptcp) fn is_compact<const MORE: bool>(&self, r: usize, end: Offset) -> bool {
        match self.level.over() {
            Over::Single => !self.subflows[r].has_usual_blocks(),
            Over::Multipath => MORE || !self.ending.is_requested() || end != self.tx.end(),
        }
    }

    /// The options that data on subflow `r` goes with: its mapping, or what TCP has to report.
    pub(in crate::mptcp) fn write_options_of(&mut self, r: usize, data: &DataSegment<P>, segment: &mut Segment<P>) {
        match self.level.over() {
            Over::Multipath if !data.payload.is_empty() => self.write_mapping(r, data, segment),
            Over::Single if self.subflows[r].has_blocks() => {
                // Blocks that fit beside a full segment would not: they go where the segment is short enough.
                let room = u64::from(self.subflows[r].mss()).saturating_sub(data.payload.len() as u64) as usize;
                let room = room.min(wire::MAX_OPTIONS_LEN).saturating_sub(segment.options.len());
                self.subflows[r].sack_blocks(room, &mut segment.options.sack);
            }
            _ => {}
        }
    }

    /// Where the stream has the data of a segment. While the peer may lack our key, the first of it goes with MP_CAPABLE
    /// (RFC 8684 §3.1), which takes less room than a DSS.
    fn write_mapping(&mut self, r: usize, data: &DataSegment<P>, segment: &mut Segment<P>) {
        let &DataSegment { seq, offset, ref payload, part, .. } = data;
        // A part of a segment repeats the mapping that the whole was sent with, and the checksum of all its bytes: a mapping
        // does not change (RFC 8684 §3.3.1), and Linux resets a subflow where another one begins within the first.
        let whole = if part { self.subflows[r].board().whole_of(seq) } else { None };
        let capable = offset == Offset::FIRST && self.owes_keys(r);
        let (seq, offset, content) = whole.as_ref().map_or((seq, offset, payload), |w| (w.seq, w.offset, &w.payload));
        let len = content.len() as u64;
        if capable {
            let checksum = self.checksum_of(Offset::FIRST, 1, len as u16, content);
            segment.options.dss = None;
            segment.options.rare = self.capable(Some((len as u16, checksum)));
        } else if let Some(dss) = &mut segment.options.dss {
            let end = self.ending.is_requested() && offset + len == self.tx.end();
            if end {
                self.usual.forget();
                self.ending.note_data_fin_sent();
            }
            dss.data_fin = end;
            let (ssn, len) = (seq as u32, len as u16 + u16::from(end)); // RFC 8684 §3.3.3: DATA_FIN takes one octet
            let checksum = self.checksum_of(offset, ssn, len, content);
            dss.mapping =
                Some(Mapping { dsn: DataNumber::Long(self.numbers.ours(offset).on_wire()), ssn, len, checksum });
        }
    }

    /// The DATA_ACK: the next data sequence number expected, the DATA_FIN counted (RFC 8684 §3.3.3).
    #[inline]
    pub(in crate::mptcp) fn data_ack(&self) -> Dsn<Theirs> {
        self.numbers.theirs(self.rx.nxt()).plus(u64::from(self.rx.ended()))
    }

    /// The flags of our MP_CAPABLE.
    pub(in crate::mptcp) fn capable_flags(&self) -> u8 {
        let a = if self.config.checksum { CAPABLE_A } else { 0 };
        let c = if self.config.join_first_address { 0 } else { CAPABLE_C };
        CAPABLE_H | a | c
    }

    /// MP_CAPABLE of the third ACK: both keys (RFC 8684 §3.1).
    pub(in crate::mptcp) fn capable(&self, data: Option<(u16, Option<u16>)>) -> Option<Box<RareOptions>> {
        rare(MptcpOption::MpCapable(MpCapable {
            version: 1,
            flags: self.capable_flags(),
            sender_key: Some(self.keys.local),
            receiver_key: self.keys.remote,
            data,
        }))
    }

    /// The checksum for a mapping of ours; none when checksums are not in use.
    pub(in crate::mptcp) fn checksum_of(&self, offset: Offset, ssn: u32, len: u16, payload: &P) -> Option<u16> {
        self.fallback.checksum().then(|| wire::dss_checksum(self.numbers.ours(offset).on_wire(), ssn, len, payload))
    }
}
