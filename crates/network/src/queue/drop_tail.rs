//! Drop-tail: first in, first out; packets that do not fit are dropped.

use algorithm::declare::limit;
use algorithm::{About, Declared, declared};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arrival::{Arrival, Entry};
use super::discipline::{Declare, Discipline};
use super::limit::Limit;
use crate::counters::DropReason;

declared! {
    /// Settings of drop-tail.
    pub struct Config {
        required {
            /// capacity of the queue
            limit: Limit = limit(""),
        }
    }
}

impl Declare for DropTail {
    type Config = Config;
    type Built = DropTail;
    const ABOUT: About =
        About::new("drop-tail", "first in, first out; packets that do not fit are dropped", "RFC 7567 §4")
            .parameters(Config::PARAMETERS);

    fn make(config: Config, _: &mut Xoshiro256PlusPlus) -> DropTail {
        DropTail::new(config.limit)
    }
}

impl Discipline for DropTail {
    fn enqueue(&mut self, arrival: Arrival<'_>, _: &mut Xoshiro256PlusPlus) -> Result<Entry, DropReason> {
        self.admit(arrival).map(|()| Entry::Plain)
    }

    fn copied(&self) -> Box<dyn Discipline> {
        Box::new(*self)
    }
}

/// Both kinds of limit, with the absent one at its maximum, which avoids a branch on the kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DropTail {
    max_packets: u64,
    max_bytes: u64,
}

impl DropTail {
    pub(crate) const fn new(limit: Limit) -> Self {
        match limit {
            Limit::Packets(max_packets) => Self { max_packets, max_bytes: u64::MAX },
            Limit::Bytes(max_bytes) => Self { max_packets: u64::MAX, max_bytes },
        }
    }

    /// Decides about an arriving packet, which counts itself. An empty queue accepts any packet, otherwise a limit
    /// below its size would block the link.
    #[inline]
    pub(crate) fn admit(&self, arrival: Arrival<'_>) -> Result<(), DropReason> {
        let fits = self.admits(arrival.packets, arrival.bytes + u64::from(arrival.size));
        if fits { Ok(()) } else { Err(DropReason::Full) }
    }

    /// Whether a packet may enter that finds `packets` packets and makes the queue `bytes` long.
    #[inline(always)]
    pub(crate) const fn admits(&self, packets: u64, bytes: u64) -> bool {
        packets == 0 || (packets < self.max_packets && bytes <= self.max_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::transmitter::Transmitter;

    fn admits(limit: Limit, packets: u64, bytes: u64, size: u16) -> bool {
        let transmitter = Transmitter::new(1);
        let arrival = Arrival {
            now_ns: 0,
            size,
            ecn: Ecn::NotEct,
            packets,
            bytes,
            flow: 0_u64.into(),
            sending_bytes: 0,
            waits: packets > 0,
            transmitter: &transmitter,
        };
        DropTail::new(limit).admit(arrival).is_ok()
    }

    #[test]
    fn packets_are_counted_with_the_arriving_one() {
        assert!(admits(Limit::Packets(3), 2, 3_000, 1_500));
        assert!(!admits(Limit::Packets(3), 3, 120, 40));
    }

    #[test]
    fn bytes_are_counted_with_the_arriving_one() {
        assert!(admits(Limit::Bytes(4_500), 2, 3_000, 1_500));
        assert!(!admits(Limit::Bytes(4_499), 2, 3_000, 1_500));
        assert!(admits(Limit::Bytes(4_499), 2, 3_000, 1_499));
    }

    #[test]
    fn an_empty_queue_accepts_any_packet() {
        assert!(admits(Limit::Packets(0), 0, 0, 1_500));
        assert!(admits(Limit::Bytes(0), 0, 0, u16::MAX));
        assert!(!admits(Limit::Packets(0), 1, 1, 1));
        assert!(!admits(Limit::Bytes(0), 1, 1, 1));
    }
}
