//! A packet in a link's ring. The record is small, so that a link's packets are close together in memory.

pub use wire::Ecn;

/// A packet in flight. The caller keeps its content and identifies it by `tag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<T> {
    /// When the last bit leaves the sending end of the link, in nanoseconds; set by the link.
    pub departure_ns: u64,
    /// The caller's identifier of the packet.
    pub tag: T,
    /// Size in bytes, including all headers.
    pub size: u16,
    /// Position on the path, for the caller; links do not use it.
    pub hop: u8,
    flags: u8,
}

// Eight records fit three cache lines: a larger record slows down every hop.
const _: () = assert!(size_of::<Packet<u64>>() == 24 && size_of::<Packet<[u32; 3]>>() == 24);

/// All of a packet except its tag. It fits a register, whereas a packet would be passed in memory.
#[derive(Clone, Copy)]
pub(crate) struct Rest {
    pub(crate) size: u16,
    hop: u8,
    flags: u8,
}

/// The flow of a packet, for queues that distinguish flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Identifier of the flow.
    pub number: u64,
    /// Source and destination hosts, for queues that distinguish hosts.
    pub hosts: [u32; 2],
}

impl From<u64> for Flow {
    fn from(number: u64) -> Self {
        Flow { number, hosts: [0; 2] }
    }
}

const ECN_MASK: u8 = 0b11;
const LOST: u8 = 0b100;
const DROPPED: u8 = 0b1000;

impl<T> Packet<T> {
    /// A packet of `size` bytes, headers included, that has not entered a link yet.
    #[must_use]
    pub const fn new(tag: T, size: u16, hop: u8, ecn: Ecn) -> Self {
        Self { departure_ns: 0, tag, size, hop, flags: ecn as u8 }
    }

    /// Whether the packet does not reach the far end of the link that delivers it: lost on the wire, or
    /// [`Self::dropped`].
    #[must_use]
    pub const fn lost(&self) -> bool {
        self.flags & LOST != 0
    }

    /// Whether the link that delivers it dropped it at the head of its queue ([`crate::QueueConfig::CoDel`]). Such a
    /// packet is also [`Self::lost`], so a caller that only frees its content need not call this.
    #[must_use]
    pub const fn dropped(&self) -> bool {
        self.flags & DROPPED != 0
    }

    /// Whether it is marked with congestion experienced.
    #[must_use]
    pub const fn ce(&self) -> bool {
        self.flags & ECN_MASK == Ecn::Ce as u8
    }

    /// The ECN codepoint.
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.flags & ECN_MASK)
    }

    pub(crate) const fn rest(&self) -> Rest {
        Rest { size: self.size, hop: self.hop, flags: self.flags }
    }

    pub(crate) const fn from_rest(tag: T, Rest { size, hop, flags }: Rest) -> Self {
        Self { departure_ns: 0, tag, size, hop, flags }
    }

    /// The packet as it enters a link.
    #[inline(always)]
    pub(crate) fn departing(self, departure_ns: u64, lost: bool) -> Self {
        let flags = (self.flags & !LOST) | if lost { LOST } else { 0 };
        Self { departure_ns, flags, ..self }
    }

    pub(crate) const fn set_dropped(&mut self) {
        self.flags |= LOST | DROPPED;
    }

    pub(crate) const fn set_ce(&mut self) {
        self.flags |= Ecn::Ce as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_independent() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            let mut packet = Packet::new(0_u64, 40, 2, ecn);
            assert!(!packet.lost());
            packet = packet.departing(7, true);
            assert!(packet.lost());
            assert_eq!(packet.ecn(), ecn);
            assert_eq!(packet.ce(), ecn == Ecn::Ce);
            packet = packet.departing(0, false);
            assert_eq!(packet, Packet::new(0, 40, 2, ecn));
            assert_eq!(packet, Packet::from_rest(0, packet.rest()));
            packet.set_dropped();
            assert!(packet.lost() && packet.dropped() && packet.ecn() == ecn);
            packet.set_ce();
            assert!(packet.ce() && packet.ecn() == Ecn::Ce && packet.dropped());
        }
    }
}
