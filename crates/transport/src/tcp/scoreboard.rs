//! What a subflow has sent and not seen acknowledged: the sender's scoreboard (RFC 6675 §3, §4).

mod split;

use std::collections::VecDeque;
use std::ops::Range;

use wire::SackBlock;

use super::wholes::{Whole, Wholes};
use crate::Sending;
use crate::offset::Offset;
use crate::queue::{Kept, Sendable, push, trim};
use crate::time::{Duration, Instant};

/// A segment between its first transmission and its cumulative acknowledgment. Sequence numbers are 64 bits and
/// count from the SYN, which is 0.
#[derive(Clone, Debug)]
pub struct Sent<P: Sendable> {
    /// First sequence number.
    pub seq: u64,
    /// Place of the first byte in the connection's stream.
    pub offset: Offset,
    /// When it was last sent.
    pub sent_at: Instant,
    /// Content.
    kept: P::Kept,
    /// Whether it carries the FIN.
    pub fin: bool,
    marks: u8,
}

/// Whether the first of two segments, by when it was sent last and where it ends, was sent after the other (RFC 8985 §6.2,
/// RACK_sent_after).
#[inline(always)]
pub fn sent_after((first_at, first_end): (Instant, u64), (at, end): (Instant, u64)) -> bool {
    first_at > at || (first_at == at && first_end > end)
}

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission of it is in the network.
const RETRANSMITTED: u8 = 4;
/// It was retransmitted at some time, so it gives no RTT sample (Karn).
const EVER_RETRANSMITTED: u8 = 8;
/// A retransmission timeout found it missing.
const TIMED_OUT: u8 = 16;
/// Its data had been sent on another subflow before.
const REINJECTED: u8 = 32;
/// It is a part of what was sent as one segment.
const PART: u8 = 64;

impl<P: Sendable> Sent<P> {
    /// Content.
    pub fn payload(&self) -> P {
        self.kept.payload(self.offset.octets())
    }

    /// Whether it is a part of what was first sent as one segment, which [`Scoreboard::whole_of`] tells.
    pub fn is_part(&self) -> bool {
        self.is(PART)
    }

    /// Why it was sent last.
    pub fn sending(&self) -> Sending {
        match (self.is(EVER_RETRANSMITTED), self.is(TIMED_OUT)) {
            (true, true) => Sending::Timeout,
            (true, false) => Sending::Retransmission,
            (false, _) if self.is(REINJECTED) => Sending::Reinjection,
            (false, _) => Sending::First,
        }
    }

    /// Bytes of data.
    pub fn data_len(&self) -> u64 {
        u64::from(self.kept.len())
    }

    /// Sequence numbers it takes.
    pub fn len(&self) -> u64 {
        self.data_len() + u64::from(self.fin)
    }

    /// The sequence number after its last.
    pub fn end(&self) -> u64 {
        self.seq + self.len()
    }

    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// A part was acknowledged, up to `ack` (a middlebox has resegmented, or the receiver had no room for all): what remains is
    /// a shorter segment. Answers how much was cut off.
    #[cold]
    fn cut(&mut self, ack: u64, found: &mut Option<Box<Found<P>>>) -> u64 {
        let wholes = found.get_or_insert_default().wholes.get_or_insert_with(|| Box::new(Wholes::new()));
        wholes.release(self.seq);
        if !self.is_part() {
            wholes.remember(self.seq, self.offset, self.payload());
        }
        let cut = ack - self.seq;
        self.kept.cut(cut as u32);
        self.seq = ack;
        self.offset += cut;
        self.marks |= PART;
        cut
    }
}

/// What an acknowledgment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivered {
    /// Segments acknowledged for the first time, cumulatively or selectively.
    pub segments: u32,
    /// Their bytes of data.
    pub bytes: u64,
    /// Bytes of data that were acknowledged cumulatively, whether they had been selectively before or not.
    pub cumulative_bytes: u64,
    /// When the oldest and the youngest went out of those that were sent only once.
    pub once: Once,
    /// Whether the cumulative acknowledgment advanced.
    pub advanced: bool,
    /// Send time and end of the segment that was sent last among them (RFC 8985 §6.2 step 2); 0 when there is none.
    pub latest: (Instant, u64),
    /// One of them had never been sent again and lies below one delivered before: the network reorders.
    pub reordered: bool,
    /// The highest end that earlier acknowledgments had told of. What this one tells of has no order among itself: an
    /// acknowledgment that follows lost ones may name a high block before a low one (RFC 2018 §4).
    pub highest_before: u64,
    /// The highest end of those that were sent only once.
    pub original_end: u64,
    /// How many segments left the network by what is known now: without SACK each duplicate ACK tells of one, and the
    /// cumulative acknowledgment that follows of the rest (RFC 6937 §2, DeliveredData).
    pub announced: u32,
    /// When the last copy of one that was sent more than once went out, of which a timestamp says that it was answered.
    pub answered_copy_at: Option<Instant>,
    /// Of another the last copy was not the one that was answered: the acknowledgment is an old one, said again.
    pub says_again: bool,
    /// What tells copies of a segment apart.
    pub copies: Copies,
}

/// When the oldest and the youngest of some segments were sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Once {
    /// Never when there is none.
    pub oldest_at: Instant,
    youngest_at: Instant,
}

impl Default for Once {
    fn default() -> Self {
        Once { oldest_at: Instant::NEVER, youngest_at: Instant::ZERO }
    }
}

impl Once {
    /// Age of the oldest: the RTT sample.
    #[inline(always)]
    pub fn rtt(self, now: Instant) -> Option<Duration> {
        (!self.oldest_at.is_never()).then(|| now - self.oldest_at)
    }

    /// Age of the youngest: free of the receiver's delay of the ACK.
    #[inline(always)]
    pub fn last_rtt(self, now: Instant) -> Option<Duration> {
        (!self.oldest_at.is_never()).then(|| now - self.youngest_at)
    }
}

/// What tells whether an acknowledgment is of the last copy of a segment that was sent more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Copies {
    /// The timestamp that the acknowledgment echoes, in milliseconds.
    pub echo_ms: Option<u32>,
    /// No copy can have been answered sooner.
    pub min_rtt: Duration,
}

impl Copies {
    /// Whether the copy sent at `sent_at` may be the one that arrived (RFC 8985 §6.2 step 2).
    fn may_be_last(self, sent_at: Instant, now: Instant) -> bool {
        self.echoes(sent_at).unwrap_or(true) && now - sent_at >= self.min_rtt
    }

    /// Whether the timestamp is of the copy sent at `sent_at` or of something later, where there is one.
    fn echoes(self, sent_at: Instant) -> Option<bool> {
        let sent_ms = sent_at.as_millis() as u32;
        self.echo_ms.map(|echo_ms| echo_ms.wrapping_sub(sent_ms) as i32 >= 0)
    }
}

/// The scoreboard.
///
/// Segments are numbered without gaps in the order of their first transmission, so that a number leads to its segment
/// without a search.
#[derive(Debug)]
#[repr(C)]
pub struct Scoreboard<P: Sendable> {
    sent: VecDeque<Sent<P>>,
    /// Number of the first of them.
    first: u64,
    /// The end of the highest segment that was delivered.
    highest_delivered: u64,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// None as long as every acknowledgment was of all there was to acknowledge.
    found: Option<Box<Found<P>>>,
}

/// What there is to remember of segments that are missing, or came before others that were.
#[derive(Debug)]
#[repr(C)]
struct Found<P: Sendable> {
    /// The end of the highest segment that was selectively acknowledged.
    highest_sacked: u64,
    /// Every segment below this number is sacked or lost already: where the search for losses goes on.
    lost_below: u64,
    /// No lost segment below this number waits for its retransmission: where the search for one goes on.
    repaired_below: u64,
    /// Nothing from this sequence number on was ever sent again.
    resent_below: u64,
    /// How often a segment was found lost.
    losses: u64,
    /// The blocks of the last acknowledgment that had some; empty ones for those that made no sense.
    previous_blocks: [SackBlock; 4],
    /// Where the block that was marked last ends, and the number of the first segment that ends beyond it; 0 when not known.
    edge: (u64, u64),
    /// Retransmissions in the network by time: (sent_at, number). Entries may be stale.
    resent: VecDeque<(Instant, u64)>,
    /// None as long as every segment is outstanding as it was sent.
    wholes: Option<Box<Wholes<P>>>,
}

impl<P: Sendable> Default for Found<P> {
    fn default() -> Self {
        Found {
            highest_sacked: 0,
            lost_below: 0,
            repaired_below: 0,
            resent_below: 0,
            losses: 0,
            previous_blocks: [SackBlock::default(); 4],
            edge: (0, 0),
            resent: VecDeque::new(),
            wholes: None,
        }
    }
}

impl<P: Sendable> Scoreboard<P> {
    pub fn new() -> Self {
        Scoreboard {
            sent: VecDeque::new(),
            first: 0,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            highest_delivered: 0,
            found: None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// When the first outstanding segment was last sent.
    pub fn first_sent_at(&self) -> Option<Instant> {
        self.sent.front().map(|s| s.sent_at)
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

    /// How many segments begin below `seq`.
    #[inline]
    fn position(&self, seq: u64) -> usize {
        let Some(first) = self.sent.front() else { return 0 };
        if seq <= first.seq {
            return 0;
        }
        // Mostly all are of one size.
        let guess = ((seq - first.seq) / first.len().max(1)).clamp(1, self.sent.len() as u64) as usize;
        if self.sent.get(guess).is_none_or(|s| s.seq >= seq) && self.sent[guess - 1].seq < seq {
            return guess;
        }
        self.sent.partition_point(|s| s.seq < seq)
    }

    /// Where in the list the segment with this number stands, or the first above it.
    #[inline]
    fn place(&self, number: u64) -> usize {
        (number.saturating_sub(self.first) as usize).min(self.sent.len())
    }

    /// A segment was sent for the first time.
    #[inline]
    pub fn push(&mut self, seq: u64, offset: Offset, payload: P, fin: bool, now: Instant) {
        debug_assert!(self.sent.back().is_none_or(|last| last.end() == seq));
        push(&mut self.sent, Sent { seq, offset, sent_at: now, kept: P::Kept::keep(payload), fin, marks: 0 });
    }

    /// Of an acknowledgment that nothing is known of yet.
    pub fn nothing_delivered(&self, copies: Copies) -> Delivered {
        Delivered { copies, highest_before: self.highest_delivered, ..Delivered::default() }
    }

    /// The cumulative acknowledgment is `ack`, beyond all before it.
    pub fn acknowledge(&mut self, ack: u64, now: Instant, delivered: &mut Delivered) {
        let mut ambiguous = false;
        while let Some(first) = self.sent.front_mut() {
            if first.end() > ack {
                if first.seq < ack {
                    let cut = first.cut(ack, &mut self.found);
                    delivered.bytes += cut;
                    delivered.cumulative_bytes += cut;
                    delivered.advanced = true;
                    if first.is(EVER_RETRANSMITTED) {
                        Self::hear_of_copy(first, now, delivered);
                    }
                }
                break;
            }
            delivered.advanced = true;
            delivered.cumulative_bytes += first.data_len();
            if first.is(SACKED) {
                self.sacked -= 1;
            } else {
                Self::count(first, now, delivered);
                self.highest_delivered = self.highest_delivered.max(first.end());
            }
            ambiguous |= first.is(EVER_RETRANSMITTED);
            if first.is(LOST | RETRANSMITTED) {
                self.lost -= u32::from(first.is(LOST));
                self.retransmitted -= u32::from(first.is(RETRANSMITTED));
            }
            self.sent.pop_front();
            self.first += 1;
        }
        trim(&mut self.sent);
        if let Some(wholes) = self.found.as_mut().and_then(|found| found.wholes.as_mut()) {
            wholes.release(ack);
        }
        if ambiguous {
            // What stood behind a hole arrived long before the hole was filled: its age is no round trip.
            delivered.once = Once::default();
        }
    }

    /// When the last copy was sent of the last segment that an acknowledgment up to `ack` is of and that was not acknowledged selectively
    /// before; of one that was sent again only where that may be answered.
    #[cold]
    pub fn last_up_to(&self, ack: u64, now: Instant, copies: Copies) -> Option<Instant> {
        let there = self.sent.iter().take_while(|segment| segment.end() <= ack);
        let known = |s: &&Sent<P>| !s.is(EVER_RETRANSMITTED) || copies.may_be_last(s.sent_at, now);
        there.filter(|segment| !segment.is(SACKED)).filter(known).last().map(|segment| segment.sent_at)
    }

    /// Whether there is no mark to look after: nothing is selectively acknowledged or lost, nothing outstanding was ever sent
    /// again, and none of it lies below what was delivered.
    pub fn is_unmarked(&self) -> bool {
        let resent_below = self.found.as_ref().map_or(0, |found| found.resent_below);
        let above = self.highest_delivered.max(resent_below);
        self.sacked | self.lost | self.retransmitted == 0 && self.sent.front().is_none_or(|first| first.seq >= above)
    }

    /// Whether an acknowledgment up to `ack` covers a whole segment at least.
    #[inline]
    pub fn covers_first(&self, ack: u64) -> bool {
        self.sent.front().is_some_and(|first| first.end() <= ack)
    }

    /// As [`acknowledge`](Self::acknowledge), where [`is_unmarked`](Self::is_unmarked) and
    /// [`covers_first`](Self::covers_first) hold: everything was sent once, in the order in which it stands here.
    #[inline(always)]
    pub fn acknowledge_in_order(&mut self, ack: u64) -> Delivered {
        let mut delivered = Delivered { advanced: true, ..Delivered::default() };
        let (mut oldest_at, mut latest) = (Instant::NEVER, (Instant::ZERO, 0));
        while let Some(first) = self.sent.front() {
            let (sent_at, end) = (first.sent_at, first.end());
            if end > ack {
                break;
            }
            debug_assert!(!first.is(SACKED | LOST | EVER_RETRANSMITTED));
            delivered.segments += 1;
            delivered.bytes += first.data_len();
            oldest_at = oldest_at.min(sent_at);
            latest = (sent_at, end);
            self.sent.pop_front();
        }
        self.highest_delivered = latest.1;
        if let Some(first) = self.sent.front_mut()
            && first.seq < ack
        {
            delivered.bytes += first.cut(ack, &mut self.found);
        }
        self.first += u64::from(delivered.segments);
        trim(&mut self.sent);
        delivered.latest = latest;
        delivered.once = Once { oldest_at, youngest_at: latest.0 };
        delivered
    }

    /// The segment in which the byte with this sequence number was first sent, where only a part of that is outstanding.
    pub fn whole_of(&self, seq: u64) -> Option<Whole<P>> {
        self.found.as_ref()?.wholes.as_ref()?.of(seq)
    }

    #[inline]
    fn count(segment: &Sent<P>, now: Instant, delivered: &mut Delivered) {
        delivered.segments += 1;
        delivered.bytes += segment.data_len();
        let once = !segment.is(EVER_RETRANSMITTED);
        if once || Self::hear_of_copy(segment, now, delivered) {
            let copy = (segment.sent_at, segment.end());
            if sent_after(copy, delivered.latest) {
                delivered.latest = copy;
            }
        }
        if once {
            delivered.once.oldest_at = delivered.once.oldest_at.min(segment.sent_at);
            delivered.once.youngest_at = delivered.once.youngest_at.max(segment.sent_at);
            delivered.reordered |= segment.end() < delivered.highest_before;
            delivered.original_end = delivered.original_end.max(segment.end());
        }
    }

    /// All or part of a segment that was sent more than once was acknowledged: notes which copy was answered. True: perhaps the
    /// last one.
    ///
    /// Where there is a timestamp, it alone decides which copy a round trip is measured from: the least round trip so far may
    /// be one of a longer path, or of a SYN that waited for an outage, and would refuse each sample of a path that got
    /// shorter for as long as all that is sent is sent again.
    fn hear_of_copy(segment: &Sent<P>, now: Instant, delivered: &mut Delivered) -> bool {
        match delivered.copies.echoes(segment.sent_at) {
            Some(true) => delivered.answered_copy_at = delivered.answered_copy_at.max(Some(segment.sent_at)),
            Some(false) => delivered.says_again = true,
            None => {}
        }
        delivered.copies.may_be_last(segment.sent_at, now)
    }

    /// Selective acknowledgments. `expand` gives the 64-bit number of one on the wire. Blocks that name what was
    /// never sent, or nothing, are ignored; those below the cumulative acknowledgment (D-SACK) too.
    pub fn selectively_acknowledge(
        &mut self,
        blocks: &[SackBlock],
        expand: impl Fn(u32) -> u64,
        now: Instant,
        delivered: &mut Delivered,
    ) {
        let (Some(first), Some(last)) = (self.sent.front(), self.sent.back()) else { return };
        let (una, nxt) = (first.seq, last.end());
        let previous = self.found.get_or_insert_default().previous_blocks;
        if let &[block, ref others @ ..] = blocks
            && block.left == previous[0].left
            && block.right != previous[0].right
            && previous[0].left != previous[0].right
            && others == &previous[1..blocks.len()]
        {
            // Mostly the first block has grown, and the others are those of the last acknowledgment.
            let (left, known, right) = (expand(block.left), expand(previous[0].right), expand(block.right));
            let grown = left.max(una) < known && known < right && right <= nxt;
            if grown {
                self.mark_sacked(left, known, right, now, delivered);
                let seen = &mut self.found.get_or_insert_default().previous_blocks;
                seen[0] = block;
                // Not `fill`, which would be a call for three of them.
                (1..seen.len()).filter(|&i| i >= blocks.len()).for_each(|i| seen[i] = SackBlock::default());
                return;
            }
        }
        let mut seen = [SackBlock::default(); 4];
        for (&block, slot) in blocks.iter().zip(&mut seen) {
            // Mostly all but the first were in the last acknowledgment too, word for word.
            if previous.contains(&block) && block.left != block.right {
                *slot = block;
                continue;
            }
            let (left, right) = (expand(block.left), expand(block.right));
            if left >= right || right > nxt || right <= una {
                continue;
            }
            *slot = block;
            // A block mostly extends one of the last acknowledgment: only what is new in it is walked through.
            let mut from = left.max(una);
            for known in previous.iter().filter(|known| known.left != known.right) {
                let (l, r) = (expand(known.left), expand(known.right));
                if l <= from && from < r {
                    from = r.min(right);
                }
            }
            if from < right {
                self.mark_sacked(left, from, right, now, delivered);
            }
        }
        self.found.get_or_insert_default().previous_blocks = seen;
    }

    /// The block `[left, to)`, of which what lies below `from` was told before. A segment counts when all of it has
    /// arrived, in however many parts (RFC 2018 §3: a block is of octets), so the one that `from` lies in is looked at too.
    fn mark_sacked(&mut self, left: u64, from: u64, to: u64, now: Instant, delivered: &mut Delivered) {
        let place = self.first_beyond(from);
        let one = self.sent.get(place).filter(|s| s.end() == to && s.seq >= left && !s.is(SACKED)).is_some();
        let (places, highest) = if one {
            // Mostly the block has grown by one segment.
            self.sack(place, now, delivered);
            (place..place + 1, to)
        } else {
            self.mark_each(place, left, to, now, delivered)
        };
        self.highest_delivered = self.highest_delivered.max(highest);
        let found = self.found.get_or_insert_default();
        found.highest_sacked = found.highest_sacked.max(highest);
        let (start, end) = (self.first + places.start as u64, self.first + places.end as u64);
        found.edge = (to, end);
        if start <= found.lost_below && found.lost_below < end {
            found.lost_below = end;
        }
    }

    /// Marks the segments from this place on that begin at `left` or beyond and end at `to` or below. Answers where they stand, and
    /// the end of the last.
    #[inline(never)]
    fn mark_each(
        &mut self,
        place: usize,
        left: u64,
        to: u64,
        now: Instant,
        delivered: &mut Delivered,
    ) -> (Range<usize>, u64) {
        let (mut places, mut highest) = (place..place, 0);
        while let Some(segment) = self.sent.get(places.end).filter(|segment| segment.end() <= to) {
            let (part, marked, end) = (segment.seq < left, segment.is(SACKED), segment.end());
            if part {
                places.start += 1; // a part of the first one is missing
            } else if !marked {
                self.sack(places.end, now, delivered);
            }
            places.end += 1;
            highest = if part { 0 } else { end };
        }
        (places, highest)
    }

    /// The segment that stands there was selectively acknowledged.
    #[inline(always)]
    fn sack(&mut self, place: usize, now: Instant, delivered: &mut Delivered) {
        let segment = &mut self.sent[place];
        self.sacked += 1;
        if segment.is(LOST | RETRANSMITTED) {
            self.lost -= u32::from(segment.is(LOST));
            self.retransmitted -= u32::from(segment.is(RETRANSMITTED));
        }
        segment.marks = (segment.marks | SACKED) & !(LOST | RETRANSMITTED);
        Self::count(segment, now, delivered);
    }

    /// Where the first segment stands that ends beyond `from`, which was not acknowledged cumulatively.
    #[inline]
    fn first_beyond(&self, from: u64) -> usize {
        let place = match &self.found {
            // Mostly a block goes on where the last one ended.
            Some(found) if found.edge.0 == from => self.place(found.edge.1),
            _ => {
                let place = self.position(from);
                place - usize::from(place > 0 && self.sent[place - 1].end() > from)
            }
        };
        debug_assert!(place == 0 || self.sent[place - 1].end() <= from);
        debug_assert!(self.sent.get(place).is_none_or(|segment| segment.end() > from));
        place
    }

    /// Marks as lost every segment above which `threshold` segments were selectively acknowledged (RFC 6675 §4,
    /// IsLost). Answers whether one was found.
    pub fn find_losses(&mut self, threshold: u32) -> bool {
        if self.sacked < threshold {
            return false;
        }
        // The threshold-th sacked segment from above: what lies below it is lost unless sacked.
        let (highest_sacked, lost_below) = self.found.as_ref().map_or((0, 0), |f| (f.highest_sacked, f.lost_below));
        let mut i = self.position(highest_sacked);
        let mut above = 0;
        while above < threshold {
            i -= 1;
            above += u32::from(self.sent[i].is(SACKED));
        }
        let start = self.place(lost_below).min(i);
        let known = self.found.get_or_insert_default();
        let mut found = false;
        for (number, segment) in (self.first + start as u64..).zip(self.sent.range_mut(start..i)) {
            if !segment.is(SACKED | LOST) {
                segment.marks |= LOST;
                self.lost += 1;
                known.losses += 1;
                known.repaired_below = known.repaired_below.min(number);
                found = true;
            }
        }
        known.lost_below = known.lost_below.max(self.first + i as u64);
        found
    }

    /// Loss detection by time (RFC 8985 §6.2 step 5): a segment is lost when one that was sent after it, at
    /// `latest` = (send time, end), was delivered, and the `patience` is over since it was sent itself: a round trip and the
    /// reordering window. Answers whether one was found, and when the next would be if nothing else arrives, or never.
    #[inline(always)]
    pub fn find_losses_by_time(
        &mut self,
        latest: (Instant, u64),
        patience: impl Fn() -> Duration,
        now: Instant,
    ) -> (bool, Instant) {
        let first = self.sent.front();
        let waits = first.is_some_and(|first| sent_after(latest, (first.sent_at, first.end())));
        if self.sacked + self.retransmitted == 0 && !waits {
            return (false, Instant::NEVER); // nothing that was delivered was sent after what is outstanding
        }
        if let Some(found) = &self.found
            && found.resent.front().is_none_or(|resent| resent.0 > latest.0)
            && let Some(first) = self.sent.get(self.place(found.lost_below))
            && !first.is(SACKED | LOST)
            && !sent_after(latest, (first.sent_at, first.end()))
        {
            return (false, Instant::NEVER); // mostly all that is not marked was sent later
        }
        self.walk_by_time(latest, patience(), now)
    }

    /// [`find_losses_by_time`](Self::find_losses_by_time), segment by segment.
    #[inline(never)]
    fn walk_by_time(&mut self, latest: (Instant, u64), rtt_and_reo_wnd: Duration, now: Instant) -> (bool, Instant) {
        let (mut found, mut next) = (false, Instant::NEVER);
        let known = self.found.get_or_insert_default();
        // What was sent again after the latest that was delivered may have been given up since: it keeps its place until then.
        while let Some(&(sent_at, number)) = known.resent.front().filter(|resent| resent.0 <= latest.0) {
            let place = number.checked_sub(self.first);
            let current = place.and_then(|place| self.sent.get_mut(place as usize));
            if let Some(segment) = current.filter(|s| s.sent_at == sent_at && s.is(RETRANSMITTED)) {
                if !sent_after(latest, (sent_at, segment.end())) {
                    break;
                }
                next = sent_at + rtt_and_reo_wnd;
                if next > now {
                    break;
                }
                next = Instant::NEVER;
                segment.marks &= !RETRANSMITTED;
                self.retransmitted -= 1;
                known.losses += 1;
                known.repaired_below = known.repaired_below.min(number);
                found = true;
            }
            known.resent.pop_front();
            trim(&mut known.resent);
        }
        // Segments sent only once stand in the order of time.
        let mut place = (known.lost_below.saturating_sub(self.first) as usize).min(self.sent.len());
        while let Some(segment) = self.sent.get_mut(place) {
            if !segment.is(SACKED | LOST) {
                if !sent_after(latest, (segment.sent_at, segment.end())) {
                    break;
                }
                let lost_at = segment.sent_at + rtt_and_reo_wnd;
                if lost_at > now {
                    next = next.min(lost_at);
                    break;
                }
                segment.marks |= LOST;
                self.lost += 1;
                known.losses += 1;
                known.repaired_below = known.repaired_below.min(self.first + place as u64);
                found = true;
            }
            place += 1;
        }
        known.lost_below = self.first + place as u64;
        (found, next)
    }

    /// The loss was none: nothing is lost, retransmissions stay in the network.
    pub fn forget_losses(&mut self) {
        for segment in &mut self.sent {
            if segment.is(LOST) {
                // One that was sent again is in the network twice; the pipe counts it once.
                segment.marks &= !(LOST | RETRANSMITTED);
            }
        }
        self.lost = 0;
        self.retransmitted = 0;
        if let Some(found) = &mut self.found {
            found.resent.clear();
            found.lost_below = 0;
        }
    }

    /// The data of the last segment had been sent on another subflow before.
    pub fn note_reinjection(&mut self) {
        if let Some(last) = self.sent.back_mut() {
            last.marks |= REINJECTED;
        }
    }

    /// Why the segment with this sequence number was sent last; as if new where it is not known.
    pub fn sending_of(&self, seq: u64) -> Sending {
        let place = self.position(seq + 1).wrapping_sub(1);
        self.sent.get(place).map_or(Sending::First, Sent::sending)
    }

    /// The last segment once more, as a probe (RFC 8985 §7.3); it is not counted as lost.
    pub fn last(&mut self, now: Instant) -> Option<&Sent<P>> {
        let last = self.sent.back_mut()?;
        last.marks |= EVER_RETRANSMITTED;
        last.sent_at = now;
        let found = self.found.get_or_insert_default();
        found.resent_below = found.resent_below.max(last.end());
        Some(last)
    }

    /// Marks the oldest segment as lost (NewReno, RFC 6582, where the peer has no SACK).
    pub fn mark_first_lost(&mut self) {
        if let Some(first) = self.sent.front_mut() {
            if first.is(SACKED | LOST) {
                return;
            }
            first.marks |= LOST;
            self.lost += 1;
            let found = self.found.get_or_insert_default();
            found.losses += 1;
            found.repaired_below = found.repaired_below.min(self.first);
        }
    }

    /// After a retransmission timeout: all that is not sacked is lost, nothing is in the network (RFC 6675 §5.1). With
    /// `rtt_and_reo_wnd` only the first, and what was sent longer ago than that (RFC 8985 §6.3).
    ///
    /// The first is sent again although it was selectively acknowledged (RFC 2018 §8: "MUST"): the receiver has thrown it
    /// away then, and may have the others.
    pub fn mark_lost_on_timeout(&mut self, now: Instant, rtt_and_reo_wnd: Option<Duration>) {
        let found = self.found.get_or_insert_default();
        if self.sent.front().is_some_and(|first| first.is(SACKED)) {
            self.sent.iter_mut().for_each(|segment| segment.marks &= !SACKED);
            self.sacked = 0;
            found.previous_blocks = [SackBlock::default(); 4];
        }
        (self.retransmitted, self.lost) = (0, 0);
        found.losses += 1;
        let mut young = None;
        for (number, segment) in (self.first..).zip(&mut self.sent) {
            if segment.is(SACKED) {
                continue;
            }
            let lost = number == self.first || rtt_and_reo_wnd.is_none_or(|ns| segment.sent_at + ns <= now);
            if lost {
                segment.marks = (segment.marks | LOST | TIMED_OUT) & !RETRANSMITTED;
            } else if !segment.is(LOST) {
                young.get_or_insert(number);
            }
            self.lost += u32::from(segment.is(LOST));
            self.retransmitted += u32::from(segment.is(RETRANSMITTED));
        }
        found.repaired_below = 0;
        found.lost_below = young.unwrap_or(self.first + self.sent.len() as u64);
    }

    /// A number that grows whenever segments are found lost.
    pub fn losses(&self) -> u64 {
        self.found.as_ref().map_or(0, |found| found.losses)
    }

    /// The ends of the lost segments that were not sent again.
    pub fn lost_ends(&self) -> impl Iterator<Item = u64> {
        self.sent.iter().filter(|s| s.is(LOST) && !s.is(RETRANSMITTED)).map(Sent::end)
    }

    /// The lost segments that were not sent again.
    pub fn lost(&self) -> impl Iterator<Item = &Sent<P>> {
        let waiting = if self.has_unrepaired() { self.sent.len() } else { 0 };
        self.sent.iter().take(waiting).filter(|s| s.is(LOST) && !s.is(RETRANSMITTED))
    }

    /// Whether a lost segment waits for its retransmission.
    pub fn has_unrepaired(&self) -> bool {
        self.lost > self.retransmitted
    }

    /// Segments that were lost and sent again, and are not acknowledged.
    pub fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Whether something is lost and not acknowledged yet, sent again or not.
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Whether the segment that begins at `seq` is lost and was not sent again.
    pub fn is_lost_from(&self, seq: u64) -> bool {
        let found = self.sent.partition_point(|sent| sent.seq < seq);
        self.sent.get(found).is_some_and(|sent| sent.seq == seq && sent.is(LOST) && !sent.is(RETRANSMITTED))
    }

    /// The next lost segment to retransmit, marked as sent again now.
    pub fn retransmit(&mut self, now: Instant) -> Option<&Sent<P>> {
        if !self.has_unrepaired() {
            return None;
        }
        let start = self.place(self.found.as_ref().map_or(0, |found| found.repaired_below));
        let i = start + self.sent.range(start..).position(|s| s.is(LOST) && !s.is(RETRANSMITTED))?;
        let segment = &mut self.sent[i];
        segment.marks |= RETRANSMITTED | EVER_RETRANSMITTED;
        segment.sent_at = now;
        let end = segment.end();
        self.retransmitted += 1;
        let number = self.first + i as u64;
        let found = self.found.get_or_insert_default();
        found.repaired_below = number + 1;
        found.resent_below = found.resent_below.max(end);
        push(&mut found.resent, (now, number));
        Some(&self.sent[i])
    }
}

#[cfg(test)]
mod tests;
