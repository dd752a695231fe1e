//! What a subflow has sent and not seen acknowledged: the sender's scoreboard (RFC 6675 §3, §4).

use std::collections::VecDeque;

use wire::{Payload, SackBlock};

/// A segment between its first transmission and its cumulative acknowledgment. Sequence numbers are 64 bits and
/// count from the SYN, which is 0.
#[derive(Clone, Debug)]
pub struct Sent<P> {
    /// First sequence number.
    pub seq: u64,
    /// Place of the first byte in the connection's stream.
    pub offset: u64,
    /// When it was last sent.
    pub sent_ns: u64,
    /// Content.
    pub payload: P,
    /// Whether it carries the FIN.
    pub fin: bool,
    marks: u8,
}

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission of it is in the network.
const RETRANSMITTED: u8 = 4;
/// It was retransmitted at some time, so it gives no RTT sample (Karn).
const EVER_RETRANSMITTED: u8 = 8;

impl<P: Payload> Sent<P> {
    /// Sequence numbers it takes.
    pub fn len(&self) -> u64 {
        self.payload.len() as u64 + u64::from(self.fin)
    }

    /// The sequence number after its last.
    pub fn end(&self) -> u64 {
        self.seq + self.len()
    }

    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }
}

/// What an acknowledgment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivered {
    /// Segments acknowledged for the first time, cumulatively or selectively.
    pub segments: u32,
    /// Their bytes of data.
    pub bytes: u64,
    /// Age of the oldest of them that was sent only once: the RTT sample.
    pub rtt_ns: Option<u64>,
    /// Age of the youngest of them that was sent only once: free of the receiver's delay of the ACK.
    pub last_rtt_ns: Option<u64>,
    /// Whether the cumulative acknowledgment advanced.
    pub advanced: bool,
}

/// The scoreboard.
#[derive(Debug)]
pub struct Scoreboard<P> {
    sent: VecDeque<Sent<P>>,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// The end of the highest segment that was selectively acknowledged.
    highest_sacked: u64,
    /// Every segment below is sacked or lost already: where the search for losses goes on.
    lost_below: u64,
    /// No lost segment below waits for its retransmission: where the search for one goes on.
    repaired_below: u64,
    previous_blocks: [(u64, u64); 4],
}

impl<P: Payload> Scoreboard<P> {
    pub fn new() -> Self {
        Scoreboard {
            sent: VecDeque::new(),
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            highest_sacked: 0,
            lost_below: 0,
            repaired_below: 0,
            previous_blocks: [(0, 0); 4],
        }
    }

    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Segments sent and not cumulatively acknowledged.
    pub fn outstanding(&self) -> u32 {
        self.sent.len() as u32
    }

    /// Segments believed to be in the network (RFC 6675 §4, SetPipe, in segments).
    pub fn pipe(&self) -> u32 {
        self.outstanding() + self.retransmitted - self.sacked - self.lost
    }

    /// Segments selectively acknowledged.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// The segments, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Sent<P>> {
        self.sent.iter()
    }

    /// A segment was sent for the first time.
    pub fn push(&mut self, seq: u64, offset: u64, payload: P, fin: bool, now_ns: u64) {
        debug_assert!(self.sent.back().is_none_or(|last| last.end() == seq));
        self.sent.push_back(Sent { seq, offset, sent_ns: now_ns, payload, fin, marks: 0 });
    }

    /// The cumulative acknowledgment is `ack`.
    pub fn acknowledge(&mut self, ack: u64, now_ns: u64, delivered: &mut Delivered) {
        let mut ambiguous = false;
        while let Some(first) = self.sent.front_mut() {
            if first.end() > ack {
                if first.seq < ack {
                    // Part of a segment: what remains is a shorter one (a middlebox has resegmented).
                    let cut = (ack - first.seq) as usize;
                    first.payload = first.payload.slice(cut, first.payload.len());
                    first.seq = ack;
                    first.offset += cut as u64;
                    delivered.bytes += cut as u64;
                    delivered.advanced = true;
                }
                break;
            }
            delivered.advanced = true;
            if first.is(SACKED) {
                self.sacked -= 1;
            } else {
                Self::count(first, now_ns, delivered);
            }
            ambiguous |= first.is(EVER_RETRANSMITTED);
            self.lost -= u32::from(first.is(LOST));
            self.retransmitted -= u32::from(first.is(RETRANSMITTED));
            self.sent.pop_front();
        }
        if ambiguous {
            // What stood behind a hole arrived long before the hole was filled: its age is no round trip.
            delivered.rtt_ns = None;
            delivered.last_rtt_ns = None;
        }
    }

    fn count(segment: &Sent<P>, now_ns: u64, delivered: &mut Delivered) {
        delivered.segments += 1;
        delivered.bytes += segment.payload.len() as u64;
        if !segment.is(EVER_RETRANSMITTED) {
            let age_ns = now_ns - segment.sent_ns;
            delivered.rtt_ns = Some(delivered.rtt_ns.map_or(age_ns, |other| other.max(age_ns)));
            delivered.last_rtt_ns = Some(delivered.last_rtt_ns.map_or(age_ns, |other| other.min(age_ns)));
        }
    }

    /// Selective acknowledgments. `expand` gives the 64-bit number of one on the wire. Blocks that name what was
    /// never sent, or nothing, are ignored; those below the cumulative acknowledgment (D-SACK) too.
    pub fn selectively_acknowledge(
        &mut self,
        blocks: &[SackBlock],
        expand: impl Fn(u32) -> u64,
        now_ns: u64,
        delivered: &mut Delivered,
    ) {
        let (Some(first), Some(last)) = (self.sent.front(), self.sent.back()) else { return };
        let (una, nxt) = (first.seq, last.end());
        let mut seen = [(0, 0); 4];
        for (block, slot) in blocks.iter().zip(&mut seen) {
            let (left, right) = (expand(block.left), expand(block.right));
            if left >= right || right > nxt || right <= una {
                continue;
            }
            *slot = (left, right);
            // A block mostly extends one of the last acknowledgment: only what is new in it is walked through.
            let mut from = left.max(una);
            for &(l, r) in &self.previous_blocks {
                if l <= from && from < r {
                    from = r.min(right);
                }
            }
            self.mark_sacked(from, right, now_ns, delivered);
        }
        self.previous_blocks = seen;
    }

    fn mark_sacked(&mut self, from: u64, to: u64, now_ns: u64, delivered: &mut Delivered) {
        let mut i = self.sent.partition_point(|s| s.seq < from);
        while let Some(segment) = self.sent.get_mut(i) {
            if segment.end() > to {
                break;
            }
            if !segment.is(SACKED) {
                segment.marks |= SACKED;
                self.sacked += 1;
                self.lost -= u32::from(segment.is(LOST));
                self.retransmitted -= u32::from(segment.is(RETRANSMITTED));
                segment.marks &= !(LOST | RETRANSMITTED);
                self.highest_sacked = self.highest_sacked.max(segment.end());
                Self::count(segment, now_ns, delivered);
            }
            i += 1;
        }
    }

    /// Marks as lost every segment above which `threshold` segments were selectively acknowledged (RFC 6675 §4,
    /// IsLost). Answers whether one was found.
    pub fn find_losses(&mut self, threshold: u32) -> bool {
        if self.sacked < threshold {
            return false;
        }
        // The threshold-th sacked segment from above: what lies below it is lost unless sacked.
        let mut i = self.sent.partition_point(|s| s.seq < self.highest_sacked);
        let mut above = 0;
        while above < threshold {
            i -= 1;
            above += u32::from(self.sent[i].is(SACKED));
        }
        let start = self.sent.partition_point(|s| s.seq < self.lost_below);
        let mut found = false;
        for segment in self.sent.range_mut(start.min(i)..i) {
            if !segment.is(SACKED | LOST) {
                segment.marks |= LOST;
                self.lost += 1;
                self.repaired_below = self.repaired_below.min(segment.seq);
                found = true;
            }
        }
        self.lost_below = self.lost_below.max(self.sent[i].seq);
        found
    }

    /// Marks the oldest segment as lost (NewReno, RFC 6582, where the peer has no SACK).
    pub fn mark_first_lost(&mut self) {
        if let Some(first) = self.sent.front_mut() {
            if first.is(SACKED | LOST) {
                return;
            }
            first.marks |= LOST;
            self.lost += 1;
            self.repaired_below = self.repaired_below.min(first.seq);
        }
    }

    /// After a retransmission timeout: all that is not sacked is lost, nothing is in the network (RFC 6675 §5.1).
    pub fn mark_all_lost(&mut self) {
        self.retransmitted = 0;
        self.lost = 0;
        for segment in &mut self.sent {
            segment.marks &= !RETRANSMITTED;
            if !segment.is(SACKED) {
                segment.marks |= LOST;
                self.lost += 1;
            }
        }
        self.repaired_below = 0;
        self.lost_below = self.sent.back().map_or(0, Sent::end);
    }

    /// Whether a lost segment waits for its retransmission.
    pub fn has_unrepaired(&self) -> bool {
        self.lost > self.retransmitted
    }

    /// The next lost segment to retransmit, marked as sent again now.
    pub fn retransmit(&mut self, now_ns: u64) -> Option<&Sent<P>> {
        if !self.has_unrepaired() {
            return None;
        }
        let start = self.sent.partition_point(|s| s.seq < self.repaired_below);
        let i = start + self.sent.range(start..).position(|s| s.is(LOST) && !s.is(RETRANSMITTED))?;
        let segment = &mut self.sent[i];
        segment.marks |= RETRANSMITTED | EVER_RETRANSMITTED;
        segment.sent_ns = now_ns;
        self.retransmitted += 1;
        self.repaired_below = segment.end();
        Some(&self.sent[i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Span;

    /// Ten segments of 100 bytes from sequence number 1, sent at 1…10 ns.
    fn board() -> Scoreboard<Span> {
        let mut b = Scoreboard::new();
        for i in 0..10 {
            b.push(1 + 100 * i, 100 * i, Span { offset: 100 * i, len: 100 }, false, 1 + i);
        }
        b
    }

    fn sack(b: &mut Scoreboard<Span>, blocks: &[(u32, u32)]) -> Delivered {
        let blocks: Vec<_> = blocks.iter().map(|&(left, right)| SackBlock { left, right }).collect();
        let mut delivered = Delivered::default();
        b.selectively_acknowledge(&blocks, u64::from, 100, &mut delivered);
        delivered
    }

    #[test]
    fn pipe_counts_what_is_in_the_network() {
        let mut b = board();
        assert_eq!(b.pipe(), 10);
        assert_eq!(sack(&mut b, &[(201, 301)]).segments, 1);
        assert!(!b.find_losses(3));
        assert_eq!(b.pipe(), 9);
        assert_eq!(sack(&mut b, &[(201, 501)]).segments, 2);
        // Three sacked (segments 2, 3, 4) above segments 0 and 1: both are lost.
        assert!(b.find_losses(3));
        assert_eq!(b.pipe(), 5);
        assert_eq!(b.retransmit(200).map(|s| s.seq), Some(1));
        assert_eq!(b.retransmit(200).map(|s| s.seq), Some(101));
        assert!(b.retransmit(200).is_none());
        assert_eq!(b.pipe(), 7);
        let mut delivered = Delivered::default();
        b.acknowledge(501, 300, &mut delivered);
        assert_eq!(delivered, Delivered { segments: 2, bytes: 200, rtt_ns: None, last_rtt_ns: None, advanced: true });
        assert_eq!((b.pipe(), b.outstanding()), (5, 5));
    }

    #[test]
    fn the_sample_is_the_age_of_the_oldest_sent_once() {
        let mut b = board();
        let mut delivered = Delivered::default();
        b.acknowledge(201, 50, &mut delivered);
        assert_eq!((delivered.rtt_ns, delivered.last_rtt_ns), (Some(49), Some(48)));
    }

    #[test]
    fn what_waited_behind_a_retransmission_gives_no_sample() {
        let mut b = board();
        b.mark_first_lost();
        assert_eq!(b.retransmit(1_000).map(|s| s.seq), Some(1));
        let mut delivered = Delivered::default();
        b.acknowledge(501, 1_010, &mut delivered);
        assert_eq!((delivered.segments, delivered.rtt_ns), (5, None));
    }

    #[test]
    fn nonsense_blocks_are_ignored() {
        let mut b = board();
        for block in [(301, 201), (301, 301), (901, 1101), (0, 1)] {
            assert_eq!(sack(&mut b, &[block]).segments, 0, "{block:?}");
        }
        // Not a whole segment: nothing is marked.
        assert_eq!(sack(&mut b, &[(250, 350)]).segments, 0);
    }

    #[test]
    fn a_timeout_marks_all_but_the_sacked() {
        let mut b = board();
        sack(&mut b, &[(901, 1001)]);
        b.mark_all_lost();
        assert_eq!(b.pipe(), 0);
        let again: Vec<_> = std::iter::from_fn(|| b.retransmit(5).map(|s| s.seq)).collect();
        assert_eq!(again, (0..9).map(|i| 1 + 100 * i).collect::<Vec<_>>());
        assert_eq!(b.pipe(), 9);
        // A second timeout finds the retransmissions lost as well.
        b.mark_all_lost();
        assert_eq!((b.pipe(), b.has_unrepaired()), (0, true));
    }

    #[test]
    fn a_partial_acknowledgment_cuts_a_segment() {
        let mut b = board();
        let mut delivered = Delivered::default();
        b.acknowledge(151, 50, &mut delivered);
        let first = b.iter().next().unwrap();
        assert_eq!((first.seq, first.offset, first.payload.offset, first.len()), (151, 150, 150, 50));
        assert_eq!((delivered.segments, delivered.bytes), (1, 150));
    }
}
