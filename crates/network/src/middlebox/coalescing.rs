//! A middlebox that merges two adjacent segments and keeps the options of the first, as traffic normalisers and
//! careless offload engines do (Honda 2011; Raiciu 2012). The second segment's DSS is lost: unless the first one's
//! mapping covers its bytes, they arrive without a mapping and must be retransmitted at the connection level.
//!
//! The first segment is held until the next one of the same connection and direction arrives, or until a timeout.

use algorithm::declare::{MILLISECOND, SECOND, size, time};
use algorithm::{About, Declared, declared};
use std::collections::BTreeMap;

use wire::{Flags, Segment};

use super::{Ends, Malleable, Transit, Way};

declared! {
    /// Settings of the middlebox.
    pub struct Config {
        /// how long the first segment waits for the second
        hold_ns: u64 = time("hold", MILLISECOND, [1, SECOND]),
        /// maximum payload of the merged segment
        max_bytes: u16 = size("size", 9_000, [1, super::MOST_CONTENT]),
    }
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About =
    About::new("coalescing", "merges two adjacent segments, keeping the options of the first", "Raiciu 2012")
        .parameters(Config::PARAMETERS);

/// Merges pairs of segments with payload. The result has the acknowledgment, window, PSH and FIN of the second.
#[derive(Clone, Debug)]
pub struct Coalescing<P> {
    hold_ns: u64,
    max_bytes: usize,
    /// The held segment and its deadline.
    held: BTreeMap<(Ends, Way), (Segment<P>, u64)>,
}

impl<P: Malleable> Coalescing<P> {
    /// Creates a middlebox that holds a segment for `hold_ns` and merges up to `max_bytes` bytes of payload.
    #[must_use]
    pub const fn new(hold_ns: u64, max_bytes: u16) -> Self {
        Self { hold_ns, max_bytes: max_bytes as usize, held: BTreeMap::new() }
    }

    pub(super) fn process(&mut self, now_ns: u64, transit: Transit<P>, out: &mut Vec<Transit<P>>) {
        let Transit { way, ends, segment } = transit;
        let joinable = !segment.payload.is_empty() && segment.flags.0 & (Flags::SYN | Flags::RST | Flags::URG).0 == 0;
        if let Some((first, _)) = self.held.remove(&(ends, way)) {
            if joinable && let Some(joined) = self.joined(&first, &segment) {
                out.push(Transit { way, ends, segment: joined });
                return;
            }
            // The held segment must not be overtaken.
            out.push(Transit { way, ends, segment: first });
        }
        if joinable && !segment.flags.fin() {
            self.held.insert((ends, way), (segment, now_ns.saturating_add(self.hold_ns)));
        } else {
            out.push(Transit { way, ends, segment });
        }
    }

    pub(super) fn next_timeout_ns(&self) -> Option<u64> {
        self.held.values().map(|&(_, until_ns)| until_ns).min()
    }

    pub(super) fn handle_timeout(&mut self, now_ns: u64, out: &mut Vec<Transit<P>>) {
        self.held.retain(|&(ends, way), (segment, until_ns)| {
            let stays = *until_ns > now_ns;
            if !stays {
                out.push(Transit { way, ends, segment: segment.clone() });
            }
            stays
        });
    }

    fn joined(&self, first: &Segment<P>, second: &Segment<P>) -> Option<Segment<P>> {
        let len = first.payload.len();
        let adjacent = first.seq.wrapping_add(len as u32) == second.seq;
        if !adjacent || len + second.payload.len() > self.max_bytes {
            return None;
        }
        let payload = first.payload.join(&second.payload)?;
        let flags = first.flags | second.flags;
        Some(Segment { ack: second.ack, window: second.window, flags, payload, ..first.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, with_dss};
    use super::*;
    use wire::Span;

    fn run(coalescing: &mut Coalescing<Vec<u8>>, now_ns: u64, transit: &Transit<Vec<u8>>) -> Vec<Transit<Vec<u8>>> {
        let mut out = Vec::new();
        coalescing.process(now_ns, transit.clone(), &mut out);
        out
    }

    #[test]
    fn a_pair_becomes_one_with_the_options_of_the_first() {
        let mut coalescing = Coalescing::new(1_000, 10);
        let first = with_dss(data(Way::Up, u32::MAX, b"abc"));
        let mut second = data(Way::Up, 2, b"de");
        (second.segment.ack, second.segment.window) = (77, 78);
        second.segment.flags = Flags::ACK | Flags::PSH | Flags::FIN;
        assert!(run(&mut coalescing, 5, &first).is_empty());
        assert_eq!(coalescing.next_timeout_ns(), Some(1_005));
        let out = run(&mut coalescing, 6, &second);
        let mut expected = first.clone();
        expected.segment.payload = b"abcde".to_vec();
        (expected.segment.ack, expected.segment.window) = (77, 78);
        expected.segment.flags = second.segment.flags;
        assert_eq!(out, [expected]);
        assert_eq!(coalescing.next_timeout_ns(), None);
    }

    #[test]
    fn what_does_not_fit_follows_in_order() {
        let first = data(Way::Up, 10, b"abc");
        let gap = data(Way::Up, 14, b"d");
        let long = data(Way::Up, 13, b"12345678");
        let ack = data(Way::Up, 13, b"");
        let mut reset = data(Way::Up, 13, b"x");
        reset.segment.flags = Flags::RST;
        for (second, held) in [(&gap, true), (&long, true), (&ack, false), (&reset, false), (&first, true)] {
            let mut coalescing = Coalescing::new(1_000, 10);
            run(&mut coalescing, 0, &first);
            let mut out = run(&mut coalescing, 1, second);
            assert_eq!(out.len(), if held { 1 } else { 2 });
            coalescing.handle_timeout(1_001, &mut out);
            assert_eq!(out, [first.clone(), second.clone()]);
        }
    }

    #[test]
    fn each_connection_and_way_is_held_by_itself_and_for_its_time() {
        let mut coalescing = Coalescing::new(100, 10);
        let (up, down) = (data(Way::Up, 1, b"a"), data(Way::Down, 1, b"b"));
        let mut other = up.clone();
        other.ends.client.set_port(9);
        let mut out = Vec::new();
        for (now_ns, transit) in [(0, &up), (10, &down), (20, &other)] {
            assert!(run(&mut coalescing, now_ns, transit).is_empty());
        }
        assert_eq!(coalescing.next_timeout_ns(), Some(100));
        coalescing.handle_timeout(99, &mut out);
        assert!(out.is_empty());
        coalescing.handle_timeout(110, &mut out);
        assert_eq!(out, [up, down]);
        assert_eq!(coalescing.next_timeout_ns(), Some(120));
    }

    #[test]
    fn spans_join_where_they_are_neighbours_in_the_stream() {
        for (offset, joins) in [(103, true), (203, false)] {
            let mut coalescing = Coalescing::new(100, 10);
            let [first, second] = [(10, 100), (13, offset)].map(|(seq, offset)| {
                let Transit { way, ends, segment } = data(Way::Up, seq, b"");
                Transit { way, ends, segment: segment.map_payload(|_| Span { offset, len: 3 }) }
            });
            let mut out = Vec::new();
            coalescing.process(0, first, &mut out);
            coalescing.process(0, second, &mut out);
            let expected = if joins { Span { offset: 100, len: 6 } } else { Span { offset: 100, len: 3 } };
            assert_eq!((out.len(), out[0].segment.payload), (1, expected));
        }
    }
}
