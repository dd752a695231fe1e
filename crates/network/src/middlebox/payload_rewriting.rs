//! A middlebox that changes payload, like the application-level gateway for FTP in a NAT, which replaces the address in
//! a PORT command (Raiciu 2012; RFC 8684 §3.7). The new payload may be longer or shorter; the middlebox then adjusts
//! all later sequence and acknowledgment numbers. A DSS mapping no longer matches its bytes, which its checksum and its
//! length reveal.

use algorithm::declare::{size, word};
use algorithm::{About, Declared, declared};
use std::collections::BTreeMap;

use super::sequence_rewriting::shifted;
use super::{Ends, Malleable, Transit, Way, after};

declared! {
    /// Settings of the middlebox.
    pub struct Config {
        /// direction of the payload
        way: Way = word("direction", "down", Way::WORDS),
        /// position of the byte, counted from 0
        at_byte: u32 = size("at", 1_000, [0, u32::MAX as i64]),
        /// number of bytes inserted, or removed if negative
        growth_bytes: i32 = size("growth", 0, [-1, 1_000]),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About = About::new(
    "payload-rewriting",
    "replaces one byte of each connection's payload and adjusts the sequence numbers",
    "Raiciu 2012; RFC 8684 §3.7",
)
.parameters(Config::PARAMETERS);

/// Replaces one byte of each connection's stream, at a given offset and in one direction, by others.
#[derive(Clone, Debug)]
pub struct PayloadRewriting {
    way: Way,
    at: u32,
    growth: i32,
    connections: BTreeMap<Ends, Place>,
}

/// Position of the byte.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its sequence number as seen by the sender.
    seq: u32,
    /// Whether all new data is after the byte, so far that sequence numbers may wrap around to it.
    passed: bool,
    /// Whether the byte has passed. Before that, an acknowledgment up to it does not cover it.
    seen: bool,
}

/// Distance after the byte from which nothing before it is retransmitted: twice the largest window.
const PASSED: u32 = 1 << 30;

impl PayloadRewriting {
    /// Replaces byte `at` in the direction `way` (the first byte has number 0) by 1 + `growth` bytes.
    ///
    /// # Panics
    /// When `growth` is below −1.
    #[must_use]
    pub const fn new(way: Way, at: u32, growth: i32) -> Self {
        assert!(growth >= -1, "one byte is replaced: no more than that can be gone");
        Self { way, at, growth, connections: BTreeMap::new() }
    }

    pub(super) fn process<P: Malleable>(&mut self, mut transit: Transit<P>) -> Transit<P> {
        let segment = &mut transit.segment;
        if transit.way == self.way && segment.flags.syn() {
            let seq = segment.seq.wrapping_add(1).wrapping_add(self.at);
            self.connections.insert(transit.ends, Place { seq, passed: false, seen: false });
            return transit;
        }
        let Some(place) = self.connections.get_mut(&transit.ends) else { return transit };
        if transit.way == self.way {
            let before = place.seq.wrapping_sub(segment.seq);
            if place.is_before(segment.seq) {
                place.seen = true;
                place.passed |= segment.seq.wrapping_sub(place.seq) > PASSED;
                segment.seq = segment.seq.wrapping_add_signed(self.growth);
            } else if (before as usize) < segment.payload.len() {
                place.seen = true;
                segment.payload = segment.payload.alter(before as usize, self.growth);
            }
        } else {
            let (place, growth) = (*place, self.growth);
            let original = |number| place.original(number, growth);
            if segment.flags.ack() {
                segment.ack = original(segment.ack);
            }
            segment.options.sack = shifted(&segment.options.sack, original);
        }
        transit
    }
}

impl Place {
    const fn is_before(&self, seq: u32) -> bool {
        self.passed || after(seq, self.seq)
    }

    /// The sender's number for one of the receiver's. Within the new bytes it is the byte's own number, because that
    /// byte is not received completely yet.
    const fn original(&self, number: u32, growth: i32) -> u32 {
        if !self.seen && !self.passed {
            return number;
        }
        let end = self.seq.wrapping_add_signed(growth).wrapping_add(1);
        if self.passed || !after(end, number) {
            number.wrapping_sub(growth as u32)
        } else if after(number, self.seq) {
            self.seq
        } else {
            number
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, sacked, syn, with_dss};
    use super::*;

    /// The replaced byte has sequence number 104: byte 3 after a SYN of 100.
    fn rewriting(growth: i32) -> PayloadRewriting {
        let mut rewriting = PayloadRewriting::new(Way::Up, 3, growth);
        assert_eq!(rewriting.process(syn(Way::Up, 100)), syn(Way::Up, 100));
        rewriting
    }

    fn ack(rewriting: &mut PayloadRewriting, number: u32) -> u32 {
        rewriting.process(sacked(Way::Down, 1, number, &[])).segment.ack
    }

    #[test]
    fn the_byte_is_replaced_and_what_follows_is_moved() {
        for (growth, expected) in [(0, &[b'a', !b'b', b'c'][..]), (2, &[b'a', !b'b', !b'b', !b'b', b'c']), (-1, b"ac")]
        {
            let mut rewriting = rewriting(growth);
            let first = rewriting.process(data(Way::Up, 101, b"xy"));
            assert_eq!(first, data(Way::Up, 101, b"xy"));
            // A retransmission is changed in the same way, and the mapping is not changed.
            for _ in 0..2 {
                let segment = with_dss(data(Way::Up, 103, b"abc"));
                let out = rewriting.process(segment.clone()).segment;
                assert_eq!((&out.payload[..], out.seq), (expected, 103));
                assert_eq!(out.options, segment.segment.options);
            }
            let after = rewriting.process(data(Way::Up, 106, b"z")).segment;
            assert_eq!((after.seq, after.payload), (106_u32.wrapping_add_signed(growth), b"z".to_vec()));
        }
    }

    #[test]
    fn acknowledgments_and_sack_blocks_are_moved_back() {
        // One byte is replaced by three: 104 to 106 are new, and 107 is the sender's 105.
        let mut longer = rewriting(2);
        longer.process(data(Way::Up, 104, b"a"));
        let acks = [101, 104, 105, 106, 107, 108].map(|number| ack(&mut longer, number));
        assert_eq!(acks, [101, 104, 104, 104, 105, 106]);
        let out = longer.process(sacked(Way::Down, 1, 104, &[(107, 110), (90, 95)])).segment;
        let blocks: Vec<_> = out.options.sack.as_slice().iter().map(|block| (block.left, block.right)).collect();
        assert_eq!(blocks, [(105, 108), (90, 95)]);
        // If the byte is removed, a receiver that has everything before it also has the byte.
        let mut shorter = rewriting(-1);
        // Before the byte is sent, a receiver that has everything before it does not have it yet.
        assert_eq!(ack(&mut shorter, 104), 104);
        shorter.process(data(Way::Up, 103, b"ab"));
        assert_eq!([103, 104, 105].map(|number| ack(&mut shorter, number)), [103, 105, 106]);
        let mut same = rewriting(0);
        assert_eq!([104, 105].map(|number| ack(&mut same, number)), [104, 105]);
    }

    #[test]
    fn the_other_way_and_unknown_connections_keep_their_content() {
        let mut rewriting = rewriting(1);
        let down = data(Way::Down, 104, b"abc");
        assert_eq!(rewriting.process(down.clone()).segment.payload, down.segment.payload);
        let mut other = data(Way::Up, 103, b"abc");
        other.ends.client.set_port(9);
        assert_eq!(rewriting.process(other.clone()), other);
    }

    #[test]
    fn numbers_that_come_round_are_still_behind_the_place() {
        let mut rewriting = rewriting(1);
        // 6 GiB in steps of 2²⁸: the sequence numbers pass the byte again after 4 GiB.
        for step in 1..24_u32 {
            let seq = 104_u32.wrapping_add(step.wrapping_mul(1 << 28)).wrapping_sub(1);
            let out = rewriting.process(data(Way::Up, seq, b"abc")).segment;
            assert_eq!((out.seq, &out.payload[..]), (seq.wrapping_add(1), &b"abc"[..]), "step {step}");
            assert_eq!(ack(&mut rewriting, out.seq.wrapping_add(3)), seq.wrapping_add(3), "step {step}");
        }
    }

    /// A receiver that reassembles the segments gets the stream with the replacement, however it was split.
    #[test]
    fn any_cut_gives_the_same_stream() {
        let stream: Vec<u8> = (0..10).collect();
        for growth in [-1, 0, 3] {
            let mut expected = stream[..3].to_vec();
            expected.extend(vec![!3_u8; (1 + growth) as usize]);
            expected.extend(&stream[4..]);
            for cut in 1..10 {
                let mut rewriting = rewriting(growth);
                let mut received = vec![None; expected.len()];
                for (from, part) in [(cut, &stream[cut..]), (0, &stream[..cut])] {
                    let out = rewriting.process(data(Way::Up, 101 + from as u32, part)).segment;
                    for (at, byte) in (out.seq - 101..).zip(out.payload) {
                        received[at as usize] = Some(byte);
                    }
                }
                let received: Vec<u8> = received.into_iter().map(Option::unwrap).collect();
                assert_eq!(received, expected, "growth {growth}, cut {cut}");
            }
        }
    }
}
