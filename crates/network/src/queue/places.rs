//! Positions of the waiting packets in a link's ring, for disciplines with several queues.
//!
//! The ring holds waiting packets in the order of arrival. This table maps ring positions behind the packet in service
//! to packets, so that a packet served out of order can be swapped with the first.

use std::collections::VecDeque;

use super::arrival::Arrival;
use crate::packet::Ecn;

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    /// Its position in the ring, counted from the first packet that ever waited.
    place: u64,
    pub(crate) arrived_ns: u64,
    pub(crate) size: u16,
    pub(crate) ecn: Ecn,
}

/// The waiting packets, each identified by a number until it leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    packets: Vec<Queued>,
    /// Free numbers.
    free: Vec<u32>,
    /// The packet at each ring position behind the packet in service; the first position is `first`.
    ring: VecDeque<u32>,
    first: u64,
}

impl Places {
    /// Adds the arriving packet behind all others. Returns its number.
    pub(crate) fn push(&mut self, arrival: Arrival<'_>) -> u32 {
        let Arrival { now_ns: arrived_ns, size, ecn, .. } = arrival;
        let waiting = Queued { place: self.first + self.ring.len() as u64, arrived_ns, size, ecn };
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

    /// The packet with this number.
    pub(crate) fn get(&self, packet: u32) -> Queued {
        self.packets[packet as usize]
    }

    /// Removes a packet; the first one moves to its ring position. Returns its distance behind the first.
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

    /// Removes all packets.
    pub(crate) fn clear(&mut self) {
        self.first += self.ring.len() as u64;
        self.packets.clear();
        self.free.clear();
        self.ring.clear();
    }
}
