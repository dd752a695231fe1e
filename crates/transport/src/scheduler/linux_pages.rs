//! What the socket of a Linux connection has taken from the application: pieces of pages, which the scheduler
//! [`Linux`](super::Linux) binds whole, and the memory they take.
//!
//! Linux 6.12, `net/mptcp/protocol.c`: `mptcp_sendmsg`, `mptcp_carve_data_frag`, `mptcp_frag_can_collapse_to`, `mptcp_send_limit`.

use std::collections::VecDeque;

use super::Context;
use crate::Kernel;
use crate::tcp::socket_queue::{UNSENT_BYTES, WRITE_BYTES};

/// A page of the process (`SKB_FRAG_PAGE_ORDER`).
const PAGE_BYTES: u64 = 32_768;
/// What describes a piece stands before it in its page (`struct mptcp_data_frag`), at a multiple of eight bytes.
const HEAD_BYTES: u64 = 40;
/// A piece that has less room for its description and its data begins in another page (`mptcp_page_frag_refill`).
const LEAST_BYTES: u64 = HEAD_BYTES + 32;
/// Places of the stream that a write depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edges {
    /// Acknowledged at the data level.
    pub una: u64,
    /// Bound to subflows.
    pub nxt: u64,
    /// End of what the application has.
    pub end: u64,
}

impl Edges {
    pub fn of(context: &Context) -> Self {
        let nxt = context.sent_bytes;
        Edges { una: context.acknowledged_bytes, nxt, end: nxt + context.unsent_bytes }
    }
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    /// What it takes beside its data.
    overhead_bytes: u64,
}

/// The socket's pieces that are not acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    pieces: VecDeque<Piece>,
    /// What all of them take beside their data.
    overhead_bytes: u64,
    /// The end of what the socket took.
    accepted: u64,
    /// Used of the present page; 0: there is none.
    used: u64,
    /// Left of what the application writes at once.
    rest: u64,
    /// The application waits for room.
    pub full: bool,
    /// Whose socket it is: that of 6.1 looks at its memory when a piece begins, and not at what is unbound (it has no TCP_NOTSENT_LOWAT).
    pub kernel: Kernel,
}

impl Pages {
    /// Whether the application, which waits, is woken (`mptcp_write_space`): a third of the socket's memory is free, and half of what
    /// may be unbound.
    pub fn wake(&mut self, edges: Edges, limit: u64) -> bool {
        self.release(edges.una);
        let wakes =
            self.full && 3 * self.held(edges.una) <= 2 * limit && 2 * self.unbound(edges.nxt) < self.unbound_limit();
        self.full &= !wakes;
        wakes
    }

    /// The application writes until the socket has no room, or, if not `all`, at most once. The send buffer holds `limit` bytes. Answers
    /// whether something was written.
    pub fn accept(&mut self, edges: Edges, limit: u64, all: bool) -> bool {
        let before = self.accepted;
        self.release(edges.una);
        self.accepted = self.accepted.min(edges.end);
        if self.accepted < edges.nxt {
            self.begin(edges.nxt, HEAD_BYTES); // bound without the scheduler
        }
        if edges.una == edges.nxt {
            self.wake(edges, limit); // no acknowledgment comes that would do it
        }
        while !self.full && self.accepted < edges.end {
            if self.rest == 0 {
                self.rest = WRITE_BYTES.min(edges.end - self.accepted);
            }
            let (unbound, most) = (self.accepted - edges.nxt, self.unbound_limit());
            let looks = self.kernel != Kernel::V6_1 || !self.goes_on(edges);
            self.full = looks && (self.held(edges.una) >= limit || unbound >= most);
            if self.full {
                break;
            }
            self.rest -= self.take(edges, self.rest.min(edges.end - self.accepted).min(most - unbound));
            if self.rest == 0 && !all {
                break;
            }
        }
        self.accepted > before
    }

    /// Bytes behind what is bound up to `nxt`.
    pub fn unbound(&self, nxt: u64) -> u64 {
        self.accepted.saturating_sub(nxt)
    }

    /// A write that the socket has no room for ends: what is left of it belongs to the next.
    pub fn end_write(&mut self) {
        self.rest = 0;
    }

    fn unbound_limit(&self) -> u64 {
        if self.kernel == Kernel::V6_1 { u64::MAX } else { UNSENT_BYTES }
    }

    /// Whether what is written next continues the last piece.
    fn goes_on(&self, edges: Edges) -> bool {
        let last_end = self.pieces.back().map(|last| last.end);
        edges.nxt < self.accepted && self.used < PAGE_BYTES && last_end == Some(self.accepted)
    }

    /// The next piece takes at most so many bytes. Answers how many.
    fn take(&mut self, edges: Edges, most: u64) -> u64 {
        let goes_on = self.goes_on(edges);
        match self.pieces.back_mut() {
            Some(last) if goes_on => {
                let taken = most.min(PAGE_BYTES - self.used);
                last.end += taken;
                self.used += taken;
                self.accepted += taken;
                taken
            }
            _ => {
                if self.used == 0 || PAGE_BYTES - self.used < LEAST_BYTES {
                    self.used = 0;
                }
                let begins = self.used.next_multiple_of(8) + HEAD_BYTES;
                let taken = most.min(PAGE_BYTES - begins);
                self.begin(self.accepted + taken, begins - self.used);
                self.used = begins + taken;
                taken
            }
        }
    }

    /// A piece that ends at `end`.
    fn begin(&mut self, end: u64, overhead_bytes: u64) {
        self.pieces.push_back(Piece { end, overhead_bytes });
        self.overhead_bytes += overhead_bytes;
        self.accepted = end;
    }

    /// The peer has everything up to `una`.
    fn release(&mut self, una: u64) {
        while let Some(&first) = self.pieces.front().filter(|piece| piece.end <= una) {
            self.overhead_bytes -= first.overhead_bytes;
            self.pieces.pop_front();
        }
    }

    /// The memory of what is not acknowledged.
    fn held(&self, una: u64) -> u64 {
        self.accepted.saturating_sub(una) + self.overhead_bytes
    }

    /// What of the piece that holds the byte at `place` begins there.
    pub fn piece_bytes(&self, place: u64) -> u64 {
        let at = self.pieces.partition_point(|piece| piece.end <= place);
        self.pieces.get(at).map_or(0, |piece| piece.end - place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(pages: &Pages) -> Vec<u64> {
        pages.pieces.iter().map(|piece| piece.end).collect()
    }

    /// 32,768 less the description are 32,728 bytes; of 65,536, 80 are left for a third page, where the next write goes on.
    #[test]
    fn writes_fill_pages() {
        let mut pages = Pages::default();
        let edges = Edges { una: 0, nxt: 0, end: 1 << 20 };
        pages.accept(edges, 87_040 + 4_096, false);
        assert_eq!((ends(&pages), pages.full), (vec![32_728, 65_456, 65_536], false));
        pages.accept(edges, 87_040 + 4_096, false);
        // 91,136 are reached in the third page, which was taken whole: 98,184 and three descriptions.
        assert_eq!((ends(&pages), pages.full), (vec![32_728, 65_456, 98_184], true));
        assert_eq!((pages.held(0), pages.held(50_000)), (98_304, 48_304));
        assert_eq!(pages.piece_bytes(40_000), 25_456, "what is left of the second");
        assert_eq!((pages.piece_bytes(0), pages.piece_bytes(32_728), pages.piece_bytes(98_184)), (32_728, 32_728, 0));
        pages.release(50_000);
        assert_eq!(pages.held(50_000), 48_264, "the first is gone with its description");
    }

    #[test]
    fn who_has_bound_everything_begins_a_piece_in_the_same_page() {
        let mut pages = Pages::default();
        pages.accept(Edges { una: 0, nxt: 0, end: 1_001 }, 87_040, true);
        assert_eq!((ends(&pages), pages.used), (vec![1_001], 1_041));
        pages.accept(Edges { una: 0, nxt: 1_001, end: 3_001 }, 87_040, true);
        // From 1,041 on, 1,048 is a multiple of eight: the description, and the data at 1,088.
        assert_eq!((ends(&pages), pages.used, pages.held(0)), (vec![1_001, 3_001], 3_088, 3_001 + 40 + 47));
        pages.accept(Edges { una: 0, nxt: 2_001, end: 4_001 }, 87_040, true);
        assert_eq!(ends(&pages), [1_001, 4_001], "unbound data goes on");
    }

    /// Linux 6.1 asks for room when a piece begins: two with their descriptions take 65,536 bytes, so that a third is begun below 65,600, and
    /// filled. What is unbound is no limit: nine of them take 294,912 bytes, and a tenth is begun below 300,000.
    #[test]
    fn the_socket_of_linux_6_1_counts_memory_only() {
        let mut pages = Pages { kernel: Kernel::V6_1, ..Pages::default() };
        let edges = Edges { una: 0, nxt: 0, end: 1 << 30 };
        pages.accept(edges, 65_600, true);
        assert_eq!((ends(&pages), pages.full), (vec![32_728, 65_456, 98_184], true));
        let mut pages = Pages { kernel: Kernel::V6_1, ..Pages::default() };
        pages.accept(edges, 300_000, true);
        assert_eq!((pages.accepted, pages.full), (10 * 32_728, true));
        assert!(pages.wake(Edges { una: 140_000, ..edges }, 300_000), "whatever is unbound");
    }

    #[test]
    fn no_more_than_128_kib_are_unbound_and_half_brings_the_application_back() {
        let mut pages = Pages::default();
        let edges = |nxt| Edges { una: 0, nxt, end: 1 << 30 };
        pages.accept(edges(0), 1 << 30, true);
        assert_eq!((pages.accepted, pages.full), (131_072, true));
        assert!(!pages.wake(edges(65_536), 1 << 30), "half is not less than half");
        assert!(!pages.wake(edges(65_537), 190_000), "more than two thirds are taken");
        assert!(pages.wake(edges(65_537), 1 << 30));
        pages.accept(edges(65_537), 1 << 30, true);
        assert_eq!((pages.accepted, pages.full), (65_537 + 131_072, true));
    }
}
