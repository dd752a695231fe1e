//! Impairments of a path, for tests on a real network: loss, delay, reordering, and stripped options.

use std::collections::BTreeMap;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use wire::{Checksums, Segment};

/// Impairments of a device's packets, in both directions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Impair {
    /// Probability that a packet is lost, in [0, 1].
    pub loss: f64,
    /// Delay of every packet.
    pub delay_ns: u64,
    /// Probability that a packet is delayed by `reorder_ns` more, so that later packets overtake it.
    pub reorder: f64,
    /// Additional delay of such a packet.
    pub reorder_ns: u64,
    /// Whether MPTCP options are stripped from SYNs.
    pub strip_syn: bool,
    /// Whether MPTCP options are stripped from SYN/ACKs.
    pub strip_syn_ack: bool,
    /// MPTCP options are stripped from all other segments, once this many have passed in either direction.
    pub strip_after: Option<u64>,
    /// Number of an outgoing data packet in which one payload bit is flipped (with the TCP checksum adjusted). The
    /// first one is number 1.
    pub alter_outward: Option<u64>,
    /// The same for incoming data packets.
    pub alter_inward: Option<u64>,
    /// Seed of the random draws.
    pub seed: u64,
}

/// Fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It continues.
    Pass,
    /// It is dropped, or held back.
    Gone,
}

/// Packets by the time at which they continue, then by their order.
type Held = BTreeMap<(u64, u64), Vec<u8>>;

/// The state of an impairment.
#[derive(Debug)]
pub struct Impairment {
    of: Impair,
    idle: bool,
    rng: Xoshiro256PlusPlus,
    inward: Held,
    outward: Held,
    number: u64,
    others: u64,
    data: [u64; 2],
    lost: u64,
    reordered: u64,
    stripped: u64,
}

impl Default for Impairment {
    fn default() -> Self {
        Impairment::new(Impair::default())
    }
}

const INWARD: usize = 0;
const OUTWARD: usize = 1;

impl Impairment {
    /// An impairment as described.
    #[must_use]
    pub fn new(of: Impair) -> Self {
        Impairment {
            idle: of == Impair { seed: of.seed, ..Impair::default() },
            rng: Xoshiro256PlusPlus::seed_from_u64(of.seed),
            of,
            inward: Held::new(),
            outward: Held::new(),
            number: 0,
            others: 0,
            data: [0; 2],
            lost: 0,
            reordered: 0,
            stripped: 0,
        }
    }

    /// Whether it has no effect.
    pub(super) fn is_idle(&self) -> bool {
        self.idle
    }

    /// Numbers of packets dropped, reordered and stripped.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        (self.lost, self.reordered, self.stripped)
    }

    /// Handles a packet from the device.
    pub(super) fn inward(&mut self, now_ns: u64, packet: &[u8]) -> Fate {
        if self.idle { Fate::Pass } else { self.meet(now_ns, packet, INWARD) }
    }

    /// Handles a packet to the device.
    pub(super) fn outward(&mut self, now_ns: u64, packet: &[u8]) -> Fate {
        if self.idle { Fate::Pass } else { self.meet(now_ns, packet, OUTWARD) }
    }

    /// The next packet from the device that is due.
    pub(super) fn take_inward(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        take(&mut self.inward, now_ns)
    }

    /// The next packet to the device that is due.
    pub(super) fn take_outward(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        take(&mut self.outward, now_ns)
    }

    /// When the next packet is due, or `u64::MAX`.
    pub(super) fn next_ns(&self) -> u64 {
        let first = |held: &Held| held.first_key_value().map_or(u64::MAX, |((at_ns, _), _)| *at_ns);
        first(&self.inward).min(first(&self.outward))
    }

    fn meet(&mut self, now_ns: u64, packet: &[u8], way: usize) -> Fate {
        if self.draw() < self.of.loss {
            self.lost += 1;
            return Fate::Gone;
        }
        let changed = self.change(packet, way);
        let late = self.draw() < self.of.reorder;
        self.reordered += u64::from(late);
        let at_ns = now_ns + self.of.delay_ns + if late { self.of.reorder_ns } else { 0 };
        if at_ns == now_ns && changed.is_none() {
            return Fate::Pass;
        }
        self.number += 1;
        let held = if way == INWARD { &mut self.inward } else { &mut self.outward };
        held.insert((at_ns, self.number), changed.unwrap_or_else(|| packet.to_vec()));
        Fate::Gone
    }

    /// Draws uniformly from [0, 1).
    fn draw(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The packet as changed by a middlebox; `None` if unchanged.
    fn change(&mut self, packet: &[u8], way: usize) -> Option<Vec<u8>> {
        let of = &self.of;
        let alters = [of.alter_inward, of.alter_outward];
        if !of.strip_syn && !of.strip_syn_ack && of.strip_after.is_none() && alters == [None; 2] {
            return None;
        }
        let (ip, mut segment) = wire::decode_with(packet, Checksums::Verify).ok()?;
        let strips = match (segment.flags.syn(), segment.flags.ack()) {
            (true, false) => of.strip_syn,
            (true, true) => of.strip_syn_ack,
            (false, _) => {
                self.others += 1;
                of.strip_after.is_some_and(|after| self.others > after)
            }
        };
        let mut changed = strips && strip(&mut segment);
        self.stripped += u64::from(changed);
        if !segment.payload.is_empty() {
            self.data[way] += 1;
            if alters[way] == Some(self.data[way]) {
                segment.payload[0] ^= 1;
                changed = true;
            }
        }
        let mut out = Vec::new();
        (changed && wire::encode(&ip, &segment, &mut out).is_ok()).then_some(out)
    }
}

fn take(held: &mut Held, now_ns: u64) -> Option<Vec<u8>> {
    let first = held.first_entry().filter(|first| first.key().0 <= now_ns)?;
    Some(first.remove())
}

/// Strips the MPTCP options. Returns whether there were any.
fn strip(segment: &mut Segment<Vec<u8>>) -> bool {
    let mut found = segment.options.dss.take().is_some();
    if let Some(rare) = segment.options.rare.as_deref_mut() {
        found |= !rare.mptcp.is_empty();
        rare.mptcp.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loses_its_share_and_keeps_the_rest_in_time() {
        let mut path =
            Impairment::new(Impair { loss: 0.1, delay_ns: 1_000, reorder: 0.2, reorder_ns: 500, ..Impair::default() });
        for number in 0..10_000_u64 {
            assert_eq!(path.outward(number, &number.to_be_bytes()), Fate::Gone);
        }
        let mut seen = Vec::new();
        for now_ns in 0..12_000 {
            while let Some(packet) = path.take_outward(now_ns) {
                let number = u64::from_be_bytes(packet.try_into().unwrap());
                let late_ns = now_ns - number;
                assert!(late_ns == 1_000 || late_ns == 1_500, "{late_ns}");
                seen.push(late_ns);
            }
        }
        assert_eq!(path.next_ns(), u64::MAX);
        // Binomial: 1000 ± 5 · 30 dropped, 1800 ± 5 · 38 delayed.
        assert!((8_850..9_150).contains(&seen.len()), "{}", seen.len());
        let late = seen.iter().filter(|&&ns| ns == 1_500).count();
        assert!((1_610..1_990).contains(&late), "{late}");
    }
}
