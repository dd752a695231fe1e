//! Segments as they were first sent, of which only parts are outstanding: a mapping, once declared, does not change (RFC 8684
//! §3.3.1), and its checksum is of all its bytes, those that were acknowledged meanwhile too.

use std::collections::BTreeMap;

use crate::offset::Offset;
use crate::queue::{Kept, Sendable};

/// A segment as it was first sent.
#[derive(Clone, Debug)]
pub struct Whole<P> {
    /// First sequence number.
    pub seq: u64,
    /// Place of the first byte in the connection's stream.
    pub offset: Offset,
    /// Content.
    pub payload: P,
}

/// Those of which a part is outstanding, by their first sequence numbers.
#[derive(Debug)]
pub struct Wholes<P: Sendable> {
    kept: BTreeMap<u64, (Offset, P::Kept)>,
}

impl<P: Sendable> Wholes<P> {
    pub fn new() -> Self {
        Wholes { kept: BTreeMap::new() }
    }

    /// Only parts of the segment that begins at `seq` will be outstanding from now on.
    pub fn remember(&mut self, seq: u64, offset: Offset, payload: P) {
        self.kept.insert(seq, (offset, P::Kept::keep(payload)));
    }

    /// What lies below `ack` will not be asked for again.
    pub fn release(&mut self, ack: u64) {
        while let Some(first) = self.kept.first_entry() {
            if first.key() + u64::from(first.get().1.len()) > ack {
                break;
            }
            first.remove();
        }
    }

    /// The segment that the byte with this sequence number was first sent in, if it is one of these.
    pub fn of(&self, seq: u64) -> Option<Whole<P>> {
        let (&first, (offset, kept)) = self.kept.range(..=seq).next_back()?;
        let payload = kept.payload(offset.octets());
        (seq < first + u64::from(kept.len())).then_some(Whole { seq: first, offset: *offset, payload })
    }
}
