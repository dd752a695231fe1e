//! A middlebox that changes the initial sequence numbers of each connection in both directions, as firewalls do that
//! distrust the hosts' choice (Honda 2011: 10 % of the paths, 18 % on port 80). This is why the DSS option uses
//! relative subflow sequence numbers (RFC 8684 §3.3.1). If the middlebox does not rewrite SACK blocks, they become
//! meaningless: the acknowledgment number and the blocks are then in different number spaces.

use algorithm::declare::flag;
use algorithm::{About, Declared, declared};
use std::collections::BTreeMap;

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use wire::{SackBlock, SackBlocks};

use super::{Ends, Transit};

declared! {
    /// Settings of the middlebox.
    pub struct Config {
        /// whether SACK blocks are translated too
        sack: bool = flag("sack", true),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About =
    About::new("sequence-rewriting", "changes each connection's initial sequence numbers", "Honda 2011")
        .parameters(Config::PARAMETERS);

/// Adds a random offset, drawn at the SYN, to the sequence numbers in one direction, and subtracts it from the
/// acknowledgments.
#[derive(Clone, Debug)]
pub struct SequenceRewriting {
    /// Whether SACK blocks are rewritten too, as they should be.
    sack: bool,
    rng: Xoshiro256PlusPlus,
    /// For each direction, the initial sequence number and the offset.
    connections: BTreeMap<Ends, [Option<(u32, u32)>; 2]>,
}

impl SequenceRewriting {
    /// `rng` is the middlebox's own random number stream, from which one number is drawn for each SYN that is not
    /// retransmitted.
    #[must_use]
    pub const fn new(sack: bool, rng: Xoshiro256PlusPlus) -> Self {
        Self { sack, rng, connections: BTreeMap::new() }
    }

    pub(super) fn process<P>(&mut self, mut transit: Transit<P>) -> Transit<P> {
        let segment = &mut transit.segment;
        if segment.flags.syn() {
            let added = self.connections.entry(transit.ends).or_default();
            if !segment.flags.ack() && added[transit.way.index()].is_none_or(|(isn, _)| isn != segment.seq) {
                *added = [None; 2];
            }
            if added[transit.way.index()].is_none_or(|(isn, _)| isn != segment.seq) {
                added[transit.way.index()] = Some((segment.seq, self.rng.next_u32()));
            }
        }
        let Some(added) = self.connections.get(&transit.ends) else { return transit };
        if let Some((_, added)) = added[transit.way.index()] {
            segment.seq = segment.seq.wrapping_add(added);
        }
        if let Some((_, added)) = added[transit.way.back().index()] {
            if segment.flags.ack() {
                segment.ack = segment.ack.wrapping_sub(added);
            }
            if self.sack {
                segment.options.sack = shifted(&segment.options.sack, |number| number.wrapping_sub(added));
            }
        }
        transit
    }
}

/// The SACK blocks with both edges changed.
pub(super) fn shifted(blocks: &SackBlocks, change: impl Fn(u32) -> u32) -> SackBlocks {
    let mut out = SackBlocks::default();
    for block in blocks.as_slice() {
        out.push(SackBlock { left: change(block.left), right: change(block.right) });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Way;
    use super::super::tests::{data, sacked, syn, syn_ack, with_dss};
    use super::*;
    use rand_core::SeedableRng;

    fn rewriting(sack: bool) -> (SequenceRewriting, [u32; 2]) {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(3);
        let added = [draws.next_u32(), draws.next_u32()];
        (SequenceRewriting::new(sack, Xoshiro256PlusPlus::seed_from_u64(3)), added)
    }

    #[test]
    fn both_ways_are_shifted_and_the_shift_is_taken_back() {
        let (mut rewriting, [up, down]) = rewriting(true);
        for _ in 0..2 {
            // A retransmitted SYN gets the same number.
            assert_eq!(rewriting.process(syn(Way::Up, 100)).segment.seq, up.wrapping_add(100));
        }
        // The server acknowledges the number it saw, with its own 500; the client sees its own 101.
        let answer = rewriting.process(syn_ack(500, up.wrapping_add(101))).segment;
        assert_eq!((answer.seq, answer.ack), (down.wrapping_add(500), 101));
        let mut segment = with_dss(data(Way::Up, 101, b"abc"));
        segment.segment.ack = answer.seq.wrapping_add(1);
        let out = rewriting.process(segment.clone()).segment;
        assert_eq!((out.seq, out.ack), (up.wrapping_add(101), 501));
        assert_eq!((out.options.dss, out.payload), (segment.segment.options.dss, segment.segment.payload));
    }

    #[test]
    fn sack_blocks_follow_or_do_not() {
        for sack in [true, false] {
            let (mut rewriting, [up, _]) = rewriting(sack);
            rewriting.process(syn(Way::Up, 100));
            rewriting.process(syn_ack(500, up.wrapping_add(101)));
            let blocks = [(up.wrapping_add(201), up.wrapping_add(301)), (up.wrapping_add(401), up.wrapping_add(501))];
            let out = rewriting.process(sacked(Way::Down, 501, up.wrapping_add(101), &blocks)).segment;
            assert_eq!(out.ack, 101);
            let expected = if sack { [(201, 301), (401, 501)] } else { blocks };
            let found: Vec<_> = out.options.sack.as_slice().iter().map(|block| (block.left, block.right)).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_new_connection_of_the_same_ends_begins_anew_and_an_unknown_one_passes() {
        let (mut rewriting, _) = rewriting(true);
        let stranger = data(Way::Up, 7, b"x");
        assert_eq!(rewriting.process(stranger.clone()), stranger);
        let first = rewriting.process(syn(Way::Up, 100)).segment.seq;
        rewriting.process(syn_ack(500, first.wrapping_add(1)));
        let second = rewriting.process(syn(Way::Up, 200)).segment.seq;
        assert_ne!(second.wrapping_sub(200), first.wrapping_sub(100));
        // The other direction is still unknown.
        let early = data(Way::Down, 9, b"x");
        assert_eq!(rewriting.process(early).segment.seq, 9);
    }
}
