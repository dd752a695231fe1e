//! Data sequence mappings that cover more than one segment.
//!
//! A bundle sent to a device has one TCP header, so that all segments split from it carry the same mapping, which
//! covers all of them (RFC 8684 §3.3.1 allows this, and the kernel does the same). From then on each of these segments
//! keeps this mapping, including in retransmissions: a receiver may treat another mapping for the same bytes as an
//! error.

use std::collections::VecDeque;

use transport::Sendable;
use wire::{DataNumber, Mapping, Segment};

/// Unacknowledged mappings of one subflow that cover more than one segment. Numbers are relative subflow sequence
/// numbers as in [`Mapping`], which wrap.
#[derive(Debug, Default)]
pub struct Mappings {
    /// In order of their sequence numbers.
    common: VecDeque<Mapping>,
    /// The number after all data sent.
    end: Option<u32>,
    /// Sequence number that corresponds to the relative number 0.
    base: u32,
}

/// State of a segment's mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its bytes are sent for the first time: it may be joined with the mappings that follow.
    New,
    /// It must not change.
    Fixed,
}

impl Mappings {
    /// Prepares a segment with a mapping for sending: replaces the mapping by the common one of its bytes, if there is
    /// one.
    pub fn apply<P: Sendable>(&mut self, segment: &mut Segment<P>) -> Standing {
        let Some(dss) = &mut segment.options.dss else { return Standing::Fixed };
        let Some(mapping) = &mut dss.mapping else { return Standing::Fixed };
        let len = segment.payload.len() as u32;
        if len == 0 || mapping.len == 0 {
            return Standing::Fixed; // a DATA_FIN without data, or the infinite mapping
        }
        let ssn = mapping.ssn;
        self.base = segment.seq.wrapping_sub(ssn);
        if self.end.is_none_or(|end| !is_before(ssn, end)) {
            self.end = Some(ssn.wrapping_add(len));
            let joins = mapping.checksum.is_none() && !dss.data_fin && matches!(mapping.dsn, DataNumber::Long(_));
            return if joins { Standing::New } else { Standing::Fixed };
        }
        if let Some(common) = self.common.iter().find(|common| ssn.wrapping_sub(common.ssn) < u32::from(common.len)) {
            // A DATA_FIN added by the retransmission takes one more sequence number (RFC 8684 §3.3.3).
            *mapping = Mapping { len: common.len.saturating_add(u16::from(dss.data_fin)), ..*common };
        }
        Standing::Fixed
    }

    /// Records that the bytes of this mapping were sent under it.
    pub fn keep(&mut self, mapping: Mapping) {
        self.common.push_back(mapping);
    }

    /// The peer has acknowledged everything below this sequence number.
    pub fn acknowledged(&mut self, ack: u32) {
        let Some(end) = self.end else { return };
        let ack = ack.wrapping_sub(self.base);
        if is_before(end, ack) {
            return; // never sent; or the FIN, after which nothing is retransmitted
        }
        while self.common.front().is_some_and(|first| !is_before(ack, first.ssn.wrapping_add(first.len.into()))) {
            self.common.pop_front();
        }
    }
}

/// Whether `one` precedes `other` (RFC 9293 §3.4).
fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}
