//! What Linux's receiver does while a hole is open, where a scenario asks for it: segments behind the hole enlarge the window
//! too, and once three acknowledgments have told of them the next may wait a millisecond for others.
//!
//! Linux 6.12, `net/ipv4/tcp_input.c`: `tcp_data_queue_ofo` (the window), `__tcp_ack_snd_check` and `tcp_sack_new_ofo_skb`
//! (which acknowledgments wait).

use super::Connection;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::reassembly::{Part, Piece};
use crate::tcp::subflow::Subflow;
use crate::time::{Duration, Instant};

/// Acknowledgments of the same number that leave at once (`TCP_FASTRETRANS_THRESH`).
const PROMPT: u8 = 3;
/// The longest wait (`tcp_comp_sack_delay_ns`), and a twentieth of the round trip otherwise.
const DELAY: Duration = Duration::from_millis(1);
const RTT_SHARE: u64 = 20;
/// The timer may come later by so much, and does where nothing else wakes the host (`tcp_comp_sack_slack_ns`).
const SLACK: Duration = Duration::from_micros(100);
/// Blocks that an acknowledgment is sure to report: before one changes that is not among them, what waits is sent
/// (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;

/// Data that came while a hole was open.
pub(super) struct AtHole {
    /// The numbers it takes.
    numbers: (u64, u64),
    offset: Offset,
    len: usize,
    /// Pieces that waited before.
    behind: usize,
    /// It begins where the hole does.
    fills: bool,
    /// It changes a block that an acknowledgment may not report.
    unexpected: bool,
    /// All of it waits already.
    again: bool,
}

impl<P: Sendable> Connection<P> {
    /// Data comes behind a hole, or fills one, and is not kept yet. Answers what
    /// [`acknowledge_at_hole`](Self::acknowledge_at_hole) is to know of it.
    #[cold]
    pub(super) fn meet_hole(&mut self, r: usize, piece: &Piece<P>) -> AtHole {
        if let Some((len, behind)) = self.subflows[r].take_growth() {
            self.grow_window_behind_hole(r, len, behind);
        }
        let (subflow, len) = (&mut self.subflows[r], piece.len() as usize);
        let (behind, fills) = (subflow.pieces(), piece.at == subflow.rcv_nxt());
        subflow.forget_duplicate();
        let again = !fills && subflow.holds(piece.at, piece.end());
        let unexpected = !fills
            && subflow.acknowledging().is_pending()
            && subflow.block_at(piece.at, piece.end()) >= EXPECTED_BLOCKS;
        if fills {
            self.grow_window(r, len);
        } else if unexpected {
            subflow.freeze_blocks();
        }
        AtHole { numbers: (piece.at, piece.end()), offset: piece.offset, len, behind, fills, unexpected, again }
    }

    /// It has its place.
    #[cold]
    pub(super) fn acknowledge_at_hole(&mut self, now: Instant, r: usize, met: &AtHole) {
        let new = !met.fills && self.subflows[r].pieces() > met.behind;
        if new && met.unexpected {
            // What is sent before the block changes knows nothing of that (`tcp_sack_compress_send_ack`, `tcp_grow_window`).
            self.subflows[r].put_off_growth(met.len, met.behind);
        } else if new {
            self.grow_window_behind_hole(r, met.len, met.behind);
        }
        let subflow = &mut self.subflows[r];
        if met.fills {
            subflow.note_hole_filled(now);
        } else {
            subflow.keep_block(met.numbers, new.then_some(met.offset));
            if met.again {
                subflow.note_duplicate(met.numbers);
            }
        }
        // More than one segment is in order now: that goes at once, and does not count as telling of the next hole, unless the window
        // has become smaller and the application has something to read (`subflow_data_ready`).
        let advanced = subflow.rcv_nxt().saturating_sub(met.numbers.0);
        let several = met.fills && advanced > subflow.rcv_ssthresh().longest.into();
        let unreadable = self.rx.counts_memory() && self.rx.unread() == 0;
        let at_once =
            met.unexpected || several && (self.rx.second_at_once || unreadable || self.rx.tells_no_less(now, subflow));
        let wait = if at_once { Duration::ZERO } else { subflow.wait_at_hole() };
        let owed = subflow.owe_at_hole(now, wait);
        self.owe_by(r, owed);
    }
}

impl<P: Sendable> Subflow<P> {
    /// How long the acknowledgment of a segment behind a hole may wait.
    fn wait_at_hole(&mut self) -> Duration {
        if !self.has_sack() || self.acknowledging().has_budget() || self.tell_hole() < PROMPT {
            return Duration::ZERO;
        }
        let known = [self.rtt().srtt, self.receive_rtt()].into_iter().filter(|rtt| !rtt.is_zero());
        DELAY.min(known.min().unwrap_or(Duration::ZERO) / RTT_SHARE) + SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{arrives, data, established};
    use super::*;
    use crate::tcp::subflow::State;
    use crate::{Protocol, Receiver};
    use std::sync::Arc;
    use wire::Span;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// A receiver as Linux's that has spent its budget, with a hole in front of what comes.
    fn receiver() -> Connection<Span> {
        let mut c = established(Protocol::Tcp, 1);
        Arc::make_mut(&mut c.config).tcp.receiver = Receiver::Linux;
        c.subflows[0].spend_budget();
        c.subflows[0].pretend_srtt(Duration::from_millis(100));
        c
    }

    /// Segment `n` of 300 bytes comes. Answers the blocks of the acknowledgment that leaves at once.
    fn comes(c: &mut Connection<Span>, now: Instant, n: u64) -> Option<usize> {
        let segment = data(c, 1 + 300 * n as u32, 300 * n, 300, 0);
        arrives(c, now, 0, segment);
        c.transmit(now).map(|(_, ack)| ack.options.sack.as_slice().len())
    }

    #[test]
    fn three_tell_at_once_and_those_that_follow_wait_for_each_other() {
        let mut c = receiver();
        let at_once = (1..=7).map(|n| comes(&mut c, us(n * 400), n).is_some()).collect::<Vec<_>>();
        assert_eq!(at_once, [true, true, true, false, false, false, false]);
        // The fourth came at 1.6 ms, and 1.1 ms is a twentieth of the round trip at most.
        assert_eq!(c.next_timeout(), us(2_700));
        c.handle_timeout(us(2_700));
        let (_, ack) = c.transmit(us(2_700)).expect("one for all of them");
        assert_eq!((ack.ack, ack.options.sack.as_slice()[0].right), (5_001, 5_001 + 2_400));
        // The next waits for as long; what fills the hole is told at once.
        assert_eq!((comes(&mut c, us(3_000), 8), c.next_timeout()), (None, us(4_100)));
        assert_eq!((comes(&mut c, us(3_200), 0), c.subflows[0].rcv_nxt()), (Some(0), 2_701));
        c.handle_timeout(us(4_100));
        assert!(c.transmit(us(4_100)).is_none(), "nothing is left to tell");
    }

    /// What fills the first of two holes tells of the second, where the window is smaller than it was. On subflows of Linux 6.1 it does not
    /// count: three more tell at once.
    #[test]
    fn several_segments_in_order_are_told_for_themselves_by_linux_6_1() {
        let at_once = |second_at_once| {
            let mut c = receiver();
            c.rx.second_at_once = second_at_once;
            for n in [1, 2, 3, 4, 6] {
                comes(&mut c, us(n), n);
            }
            [0, 7, 8, 9].map(|n| comes(&mut c, us(20) + Duration::from_nanos(n), n).is_some())
        };
        assert_eq!((at_once(true), at_once(false)), ([true; 4], [true, true, true, false]));
    }

    /// The last of five behind a hole ends the stream.
    #[test]
    fn the_end_behind_a_hole_waits_like_any() {
        for (receiver_is, at_once) in [(Receiver::Linux, false), (Receiver::Usual, true)] {
            let mut c = receiver();
            Arc::make_mut(&mut c.config).tcp.receiver = receiver_is;
            for n in 1..=4 {
                comes(&mut c, us(n * 400), n);
            }
            let mut last = data(&c, 1 + 300 * 5, 300 * 5, 300, 0);
            last.flags = last.flags | wire::Flags::FIN;
            arrives(&mut c, us(2_000), 0, last);
            assert_eq!(c.transmit(us(2_000)).is_some(), at_once);
            comes(&mut c, us(3_000), 0);
            assert_eq!((c.subflows[0].rcv_nxt(), c.subflows[0].state()), (1_802, State::CloseWait), "with the FIN");
        }
    }

    #[test]
    fn a_near_peer_waits_for_a_twentieth_of_the_round_trip() {
        let mut c = receiver();
        c.subflows[0].pretend_srtt(Duration::from_millis(4));
        for n in 1..=4 {
            comes(&mut c, us(10 * n), n);
        }
        assert_eq!(c.next_timeout(), us(340));
    }

    #[test]
    fn no_more_than_44_wait_and_another_hole_begins_anew() {
        let mut c = receiver();
        let at_once: Vec<u64> = (1..=50).filter(|&n| comes(&mut c, us(n), n).is_some()).collect();
        assert_eq!(at_once, [1, 2, 3, 48]);
        // It fills the first hole, and the second opens: three again.
        let mut c = receiver();
        for n in [1, 2, 3, 4, 6] {
            comes(&mut c, us(n), n);
        }
        let at_once = [0, 7, 8, 9].map(|n| comes(&mut c, us(20) + Duration::from_nanos(n), n).is_some());
        assert_eq!(at_once, [true, true, true, false], "the one that fills the hole tells of what is behind the next");
    }

    /// RFC 2883 §4: what came twice is reported first, beyond a hole too (`tcp_data_queue_ofo`).
    #[test]
    fn what_came_twice_behind_a_hole_is_reported_first() {
        let mut c = receiver();
        let blocks = |c: &mut Connection<Span>, n: u64| {
            let segment = data(c, 1 + 300 * n as u32, 300 * n, 300, 0);
            arrives(c, us(n), 0, segment);
            let (_, ack) = c.transmit(us(n)).expect("one of the first three");
            ack.options
                .sack
                .as_slice()
                .iter()
                .map(|block| (block.left - 5_001, block.right - 5_001))
                .collect::<Vec<_>>()
        };
        assert_eq!(blocks(&mut c, 1), [(300, 600)]);
        assert_eq!(blocks(&mut c, 2), [(300, 900)]);
        assert_eq!(blocks(&mut c, 1), [(300, 600), (300, 900)]);
        // One whose acknowledgment waits is forgotten with the next segment.
        assert_eq!([1, 5, 1, 6].map(|n| comes(&mut c, us(5), n).is_some()), [false; 4]);
        c.handle_timeout(us(2_000));
        let (_, ack) = c.transmit(us(2_000)).expect("one for all");
        assert_eq!(ack.options.sack.as_slice()[0].left, 5_001 + 1_500);
    }

    #[test]
    fn what_waits_is_sent_before_a_third_block_changes() {
        let mut c = receiver();
        let at_once = [1, 3, 5, 6, 7].map(|n| comes(&mut c, us(n), n).is_some());
        assert_eq!(at_once, [true, true, true, false, false]);
        assert_eq!(comes(&mut c, us(8), 2), None, "it joins the second block with the third");
        assert_eq!(comes(&mut c, us(9), 9), Some(2), "a new block beside two, which is told later");
        assert_eq!(comes(&mut c, us(10), 10), None);
        c.handle_timeout(us(2_000));
        let (_, ack) = c.transmit(us(2_000)).expect("one for the rest");
        assert_eq!(ack.options.sack.as_slice()[0].left, 5_001 + 2_700);
    }
}
