//! Several middleboxes in series.

use std::collections::VecDeque;

use super::{Malleable, Middlebox, Transit, Way};

/// The boxes of a path, the one nearest to the client first. Upstream segments pass them in this order, downstream
/// segments in reverse, including segments that a box generates.
#[derive(Clone, Debug)]
pub struct Chain<P> {
    boxes: Vec<Middlebox<P>>,
}

impl<P: Malleable> Chain<P> {
    /// Creates a chain of these boxes.
    #[must_use]
    pub const fn new(boxes: Vec<Middlebox<P>>) -> Self {
        Self { boxes }
    }

    /// The boxes, the one nearest to the client first.
    #[must_use]
    pub fn boxes(&self) -> &[Middlebox<P>] {
        &self.boxes
    }

    /// Passes a segment through the chain; segments that leave it, at either end, are appended to `out`.
    pub fn process(&mut self, now_ns: u64, transit: Transit<P>, out: &mut Vec<Transit<P>>) {
        let enters = match transit.way {
            Way::Up => Some(0),
            Way::Down => self.boxes.len().checked_sub(1),
        };
        self.run(now_ns, VecDeque::from([(enters, transit)]), out);
    }

    /// See [`Middlebox::next_timeout_ns`].
    #[must_use]
    pub fn next_timeout_ns(&self) -> Option<u64> {
        self.boxes.iter().filter_map(Middlebox::next_timeout_ns).min()
    }

    /// See [`Middlebox::handle_timeout`].
    pub fn handle_timeout(&mut self, now_ns: u64, out: &mut Vec<Transit<P>>) {
        for at in 0..self.boxes.len() {
            let mut released = Vec::new();
            self.boxes[at].handle_timeout(now_ns, &mut released);
            let waiting = released.into_iter().map(|transit| (next(at, transit.way), transit)).collect();
            self.run(now_ns, waiting, out);
        }
    }

    /// Passes each segment to the next middlebox until all have left the chain (`None`: on the client's side).
    fn run(&mut self, now_ns: u64, mut waiting: VecDeque<(Option<usize>, Transit<P>)>, out: &mut Vec<Transit<P>>) {
        let mut passed = Vec::new();
        while let Some((at, transit)) = waiting.pop_front() {
            let Some((at, middlebox)) = at.and_then(|at| self.boxes.get_mut(at).map(|found| (at, found))) else {
                out.push(transit);
                continue;
            };
            middlebox.process(now_ns, transit, &mut passed);
            waiting.extend(passed.drain(..).map(|transit| (next(at, transit.way), transit)));
        }
    }
}

/// The index of the next middlebox after `at` in this direction.
const fn next(at: usize, way: Way) -> Option<usize> {
    match way {
        Way::Up => Some(at + 1),
        Way::Down => at.checked_sub(1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, syn, syn_ack};
    use super::super::{Coalescing, Nat, ProactiveAcks, ResetInjection, Splitting};
    use super::*;

    const OUTSIDE: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 1));

    fn run(chain: &mut Chain<Vec<u8>>, now_ns: u64, transit: Transit<Vec<u8>>) -> Vec<Transit<Vec<u8>>> {
        let mut out = Vec::new();
        chain.process(now_ns, transit, &mut out);
        out
    }

    #[test]
    fn an_empty_chain_lets_pass() {
        for transit in [syn(Way::Up, 1), syn_ack(5, 2)] {
            assert_eq!(run(&mut Chain::new(Vec::new()), 0, transit.clone()), [transit]);
        }
    }

    /// The NAT is nearer to the client, so the proxy after it sees the outside address, and the proxy's answers return
    /// through the NAT.
    #[test]
    fn what_a_box_sends_back_passes_those_before_it() {
        let proxy = Middlebox::ProactiveAcks(ProactiveAcks::new());
        let mut chain = Chain::new(vec![Middlebox::Nat(Nat::new(OUTSIDE, 5_000)), proxy]);
        let outside = run(&mut chain, 0, syn(Way::Up, 100)).remove(0).ends;
        let mut answer = syn_ack(500, 101);
        (answer.ends, answer.segment.dst_port) = (outside, 5_000);
        assert_eq!(run(&mut chain, 0, answer), [syn_ack(500, 101)]);
        let out = run(&mut chain, 0, data(Way::Up, 101, b"abc"));
        let told: Vec<_> = out.iter().map(|t| (t.way, t.ends.client.port(), t.segment.ack)).collect();
        assert_eq!(told, [(Way::Up, 5_000, 0), (Way::Down, 4_000, 104)]);
        assert_eq!(out[1].segment.dst_port, 4_000);
    }

    #[test]
    fn ways_and_timeouts_meet_the_boxes_in_their_order() {
        // Up: held first, then split. Down: split before it is held.
        let coalescing = Middlebox::Coalescing(Coalescing::new(100, 10));
        let mut chain = Chain::new(vec![coalescing, Middlebox::Splitting(Splitting::new(4))]);
        assert!(run(&mut chain, 0, data(Way::Up, 1, b"abc")).is_empty());
        let out = run(&mut chain, 1, data(Way::Up, 4, b"def"));
        let parts: Vec<_> = out.iter().map(|t| &t.segment.payload[..]).collect();
        assert_eq!(parts, [&b"abcd"[..], b"ef"]);
        let out = run(&mut chain, 2, data(Way::Down, 1, b"abcdef"));
        assert_eq!(out, [data(Way::Down, 1, b"abcdef")]);
        assert!(run(&mut chain, 3, data(Way::Up, 7, b"ghijk")).is_empty());
        assert_eq!(chain.next_timeout_ns(), Some(103));
        let mut out = Vec::new();
        chain.handle_timeout(103, &mut out);
        let parts: Vec<_> = out.iter().map(|t| &t.segment.payload[..]).collect();
        assert_eq!(parts, [&b"ghij"[..], b"k"]);
        assert_eq!((chain.next_timeout_ns(), chain.boxes().len()), (None, 2));
    }

    #[test]
    fn two_boxes_that_reset_end() {
        let reset = || Middlebox::ResetInjection(ResetInjection::new(0));
        let out = run(&mut Chain::new(vec![reset(), reset()]), 0, data(Way::Up, 1, b"a"));
        assert_eq!(out.len(), 2);
    }
}
