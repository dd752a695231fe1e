//! Where the octets that a subflow sends stand in the stream.

use crate::offset::Offset;

/// What was sent last without a break: from here to the subflow's `snd_nxt`, one octet of sequence space is one of
/// the stream. This is what "contiguous" means for an infinite mapping (RFC 8684 §3.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    pub seq: u64,
    pub offset: Offset,
}

impl Run {
    /// Of a subflow that has sent nothing but its SYN.
    pub fn new() -> Self {
        Run { seq: 1, offset: Offset::FIRST }
    }

    /// Data at `offset` of the stream goes out at `seq` for the first time.
    #[inline(always)]
    pub fn sent(&mut self, seq: u64, offset: Offset) {
        if offset.octets().wrapping_sub(self.offset.octets()) != seq - self.seq {
            *self = Run { seq, offset };
        }
    }
}
