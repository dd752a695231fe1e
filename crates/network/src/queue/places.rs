//! Which waiting packet of a link's ring is whose, for disciplines with several queues.
//!
//! The ring holds waiting packets in the order of arrival. Here stands which of them is whose, by place in the ring behind
//! the packet in service, so that a packet served out of turn changes places with the first.

use std::collections::VecDeque;

use super::arrival::Arrival;
use crate::packet::Ecn;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// Its place in the ring, counted from the first packet that ever waited.
    place: u64,
    pub(crate) arrived_ns: u64,
    pub(crate) size: u16,
    pub(crate) ecn: Ecn,
}

/// The packets that wait, each known by a number until it leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    packets: Vec<Waiting>,
    /// Numbers that are free.
    free: Vec<u32>,
    /// Who stands at each place of the ring behind the packet in service, the first of which is `first`.
    ring: VecDeque<u32>,
    first: u64,
}

impl Places {
    /// The arriving packet stands behind all others: its number.
    pub(crate) fn push(&mut self, arrival: Arrival<'_>) -> u32 {
        let Arrival { now_ns: arrived_ns, size, ecn, .. } = arrival;
        let waiting = Waiting { place: self.first + self.ring.len() as u64, arrived_ns, size, ecn };
        let packet = match self.free.pop() {
            Some(packet) => {
                self.packets[packet as usize] = waiting;
                packet
            }
            None => {
                self.packets.push(waiting);
                self.packets.len() as u32 - 1
            }
        };
        self.ring.push_back(packet);
        packet
    }

    /// The packet of this number.
    pub(crate) fn get(&self, packet: u32) -> Waiting {
        self.packets[packet as usize]
    }

    /// The packet leaves its place in the ring to the first one: how many places behind that it stood.
    pub(crate) fn take(&mut self, packet: u32) -> usize {
        let place = self.packets[packet as usize].place;
        let behind = (place - self.first) as usize;
        let Some(first) = self.ring.pop_front() else { return 0 };
        if behind > 0 {
            self.ring[behind - 1] = first;
            self.packets[first as usize].place = place;
        }
        self.first += 1;
        self.free.push(packet);
        behind
    }

    /// All that waits is gone.
    pub(crate) fn clear(&mut self) {
        self.first += self.ring.len() as u64;
        self.packets.clear();
        self.free.clear();
        self.ring.clear();
    }
}
