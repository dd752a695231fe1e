//! Data sequence mappings that cover more than one segment.
//!
//! What goes to a device in one piece has one TCP header, so that all segments that are cut from it carry the same mapping,
//! and that covers all of them (RFC 8684 §3.3.1 allows it; the kernel does the same). From then on each of these segments
//! has this mapping, also when it is sent again: a receiver may take another one for the same bytes for a fault.

use std::collections::VecDeque;

use transport::Stream;
use wire::{DataNumber, Mapping, Segment};

/// What one subflow has sent under common mappings and is not acknowledged yet. Numbers as in [`Mapping`]: the
/// subflow's relative sequence numbers, which wrap.
#[derive(Debug, Default)]
pub struct Mappings {
    /// In the order of their numbers.
    common: VecDeque<Mapping>,
    /// The number behind all data that has been sent.
    end: Option<u32>,
    /// Sequence number of the relative number 0.
    base: u32,
}

/// State of a segment's mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its bytes go out for the first time: it may be joined with what follows.
    New,
    /// It stays as it is.
    Fixed,
}

impl Mappings {
    /// A segment with a mapping is to go out: gives it the common one of its bytes, if there is one.
    pub fn apply<P: Stream>(&mut self, segment: &mut Segment<P>) -> Standing {
        let Some(dss) = &mut segment.options.dss else { return Standing::Fixed };
        let Some(mapping) = &mut dss.mapping else { return Standing::Fixed };
        let len = segment.payload.len() as u32;
        if len == 0 || mapping.len == 0 {
            return Standing::Fixed; // a DATA_FIN by itself, or the infinite mapping
        }
        let ssn = mapping.ssn;
        self.base = segment.seq.wrapping_sub(ssn);
        if self.end.is_none_or(|end| !is_before(ssn, end)) {
            self.end = Some(ssn.wrapping_add(len));
            let joins = mapping.checksum.is_none() && !dss.data_fin && matches!(mapping.dsn, DataNumber::Long(_));
            return if joins { Standing::New } else { Standing::Fixed };
        }
        if let Some(common) = self.common.iter().find(|common| ssn.wrapping_sub(common.ssn) < u32::from(common.len)) {
            // A DATA_FIN that the retransmission brings along takes one more octet (RFC 8684 §3.3.3).
            *mapping = Mapping { len: common.len.saturating_add(u16::from(dss.data_fin)), ..*common };
        }
        Standing::Fixed
    }

    /// The bytes of this mapping went out under it.
    pub fn keep(&mut self, mapping: Mapping) {
        self.common.push_back(mapping);
    }

    /// The peer has everything below this sequence number.
    pub fn acknowledged(&mut self, ack: u32) {
        let Some(end) = self.end else { return };
        let ack = ack.wrapping_sub(self.base);
        if is_before(end, ack) {
            return; // nothing of the sort was sent; or the FIN, behind which nothing is sent again
        }
        while self.common.front().is_some_and(|first| !is_before(ack, first.ssn.wrapping_add(first.len.into()))) {
            self.common.pop_front();
        }
    }
}

/// Whether one number comes before another (RFC 9293 §3.4).
fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}
