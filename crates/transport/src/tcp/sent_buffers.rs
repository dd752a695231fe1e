//! What Linux has sent and the peer has not acknowledged lies in buffers: what left together, until the peer tells that it has a part of
//! it (SACK). That cuts a buffer, and what the peer has of neighbours becomes one. Each takes memory of its own beside its data.
//!
//! Linux 6.12, `net/ipv4/tcp_input.c`: `tcp_sacktag_write_queue`, `tcp_sacktag_walk`, `tcp_match_skb_to_sack`, `tcp_shift_skb_data`;
//! `net/ipv4/tcp_output.c`: `__tcp_retransmit_skb`, `tcp_send_loss_probe`.

use std::collections::VecDeque;

/// One of them. It begins where the one before ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Buffer {
    end: u64,
    /// Where its mapping of Multipath TCP ends; 0: it has none. Those of two mappings do not become one.
    mapping: u64,
    /// The peer has it (SACK).
    sacked: bool,
}

/// All of a subflow.
#[derive(Clone, Debug, Default)]
pub struct SentBuffers {
    buffers: VecDeque<Buffer>,
    /// Where the first begins.
    from: u64,
    /// What the last acknowledgment told of, in order.
    told: Vec<(u64, u64)>,
}

impl SentBuffers {
    /// Another one, up to `end`, of a mapping that ends there.
    pub fn push(&mut self, end: u64, mapping: u64) {
        self.buffers.push_back(Buffer { end, mapping, sacked: false });
    }

    /// The peer has all up to `una`.
    pub fn acknowledge(&mut self, una: u64) {
        while self.buffers.front().is_some_and(|first| first.end <= una) {
            self.buffers.pop_front();
        }
        self.from = self.from.max(una);
    }

    /// Those that end beyond `una`.
    pub fn beyond(&self, una: u64) -> usize {
        self.buffers.len() - self.buffers.partition_point(|buffer| buffer.end <= una)
    }

    /// The peer tells of these blocks beyond `una`, with segments of `mss` bytes. What the last acknowledgment told of is not looked at
    /// again (`recv_sack_cache`).
    pub fn tell(&mut self, una: u64, blocks: impl Iterator<Item = (u64, u64)>, mss: u64) {
        self.acknowledge(una);
        let mut blocks: Vec<_> = blocks.filter(|&(left, right)| left < right && right > una).collect();
        blocks.sort_unstable();
        let told = std::mem::replace(&mut self.told, blocks);
        for place in 0..self.told.len() {
            let (left, right) = self.told[place];
            let mut from = left;
            for &(known, end) in &told {
                if from < end && known < right {
                    self.walk(from, (left, known), mss);
                    from = end;
                }
            }
            self.walk(from, (left, right), mss);
        }
    }

    /// The segment that begins at `seq` goes out again, in a buffer of at most so many (`__tcp_retransmit_skb`).
    pub fn send_again(&mut self, seq: u64, segments: u64, mss: u64) {
        let (place, end) = (self.place(seq), seq + segments.max(1) * mss);
        if self.buffers.get(place).is_some_and(|buffer| end < buffer.end) && self.start(place) == seq {
            self.cut(end);
        }
    }

    /// Whether a buffer ends at `at`.
    pub fn ends_at(&self, at: u64) -> bool {
        self.buffers.binary_search_by_key(&at, |buffer| buffer.end).is_ok()
    }

    /// A buffer ends at `at` that did not.
    pub fn cut(&mut self, at: u64) {
        let place = self.place(at);
        if let Some(&whole) = self.buffers.get(place)
            && self.start(place) < at
        {
            self.buffers.insert(place, Buffer { end: at, ..whole });
        }
    }

    /// The first that ends beyond `seq`.
    fn place(&self, seq: u64) -> usize {
        self.buffers.partition_point(|buffer| buffer.end <= seq)
    }

    fn start(&self, place: usize) -> u64 {
        place.checked_sub(1).map_or(self.from, |before| self.buffers[before].end)
    }

    /// Its bytes, and what a segment of it holds (`tcp_skb_seglen`).
    fn sizes(&self, place: usize, mss: u64) -> (u64, u64) {
        let len = self.buffers[place].end - self.start(place);
        (len, len.min(mss))
    }

    /// The peer has all from `left` to `right`: what is news begins at `from`.
    fn walk(&mut self, from: u64, (left, right): (u64, u64), mss: u64) {
        let mut place = self.place(from);
        while place < self.buffers.len() && self.start(place) < right && from < right {
            match self.join(place, (left, right), mss) {
                Joined::Some => {}
                Joined::Waits => place += 1,
                Joined::Apart => {
                    let Some(covered) = self.split(place, (left, right), mss) else { return };
                    self.buffers[place].sacked |= covered;
                    place += 1;
                }
            }
        }
    }

    /// What the block has of a buffer joins the one before, if the peer has that (`tcp_shift_skb_data`).
    fn join(&mut self, place: usize, (left, right): (u64, u64), mss: u64) -> Joined {
        let (start, buffer) = (self.start(place), self.buffers[place]);
        let Some(before) = place.checked_sub(1).filter(|&before| self.joins(before, buffer.mapping)) else {
            return Joined::Apart;
        };
        let ((len, segment), (_, segment_before)) = (self.sizes(place, mss), self.sizes(before, mss));
        let moved = if left <= start && buffer.end <= right {
            len
        } else if len <= mss {
            return Joined::Waits;
        } else if left > start {
            return Joined::Apart;
        } else {
            (right - start) / mss * mss
        };
        if segment != segment_before {
            return Joined::Apart;
        }
        if moved == 0 {
            return Joined::Waits;
        }
        self.buffers[before].end += moved;
        if moved == len {
            self.buffers.remove(place);
            // The hole between two is filled.
            if place < self.buffers.len() && self.joins(place, buffer.mapping) && self.sizes(place, mss).1 == segment {
                self.buffers[before].end = self.buffers[place].end;
                self.buffers.remove(place);
            }
        }
        Joined::Some
    }

    /// Whether the peer has the buffer that stands there, and it is of this mapping.
    fn joins(&self, place: usize, mapping: u64) -> bool {
        self.buffers[place].sacked && self.buffers[place].mapping == mapping
    }

    /// Cuts a buffer of which the block has a part, between segments (`tcp_match_skb_to_sack`). Answers whether the block has all of what
    /// stands there then; None: it has less than a segment, and nothing behind is looked at.
    fn split(&mut self, place: usize, (left, right): (u64, u64), mss: u64) -> Option<bool> {
        let (start, end) = (self.start(place), self.buffers[place].end);
        if left <= start && end <= right {
            return Some(true);
        }
        if end - start <= mss || end <= left {
            return Some(false);
        }
        let covered = left <= start;
        if covered && right - start < mss {
            return None;
        }
        let segments = if covered { (right - start) / mss } else { (left - start).div_ceil(mss) };
        self.cut((start + segments * mss).min(end));
        Some(covered)
    }
}

/// What became of the part of a buffer that a block has.
enum Joined {
    /// It is in the buffer before.
    Some,
    /// It is too little.
    Waits,
    /// It stays where it is.
    Apart,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 100;

    /// Three buffers of a mapping of six segments, and one of two of the next; the first byte is 1.
    fn sent() -> SentBuffers {
        let mut sent = SentBuffers { from: 1, ..SentBuffers::default() };
        for (end, mapping) in [(201, 601), (401, 601), (601, 601), (801, 801)] {
            sent.push(end, mapping);
        }
        sent
    }

    fn ends(sent: &SentBuffers) -> Vec<(u64, bool)> {
        sent.buffers.iter().map(|buffer| (buffer.end, buffer.sacked)).collect()
    }

    fn tell(sent: &mut SentBuffers, una: u64, blocks: &[(u64, u64)]) {
        sent.tell(una, blocks.iter().copied(), MSS);
    }

    #[test]
    fn a_block_cuts_a_buffer_and_what_follows_joins_what_the_peer_has() {
        let mut sent = sent();
        // The first segment is lost, the others arrive one by one.
        tell(&mut sent, 1, &[(101, 201)]);
        assert_eq!(ends(&sent), [(101, false), (201, true), (401, false), (601, false), (801, false)]);
        assert_eq!(sent.beyond(1), 5);
        tell(&mut sent, 1, &[(101, 301)]);
        assert_eq!(ends(&sent), [(101, false), (301, true), (401, false), (601, false), (801, false)]);
        tell(&mut sent, 1, &[(101, 501)]);
        assert_eq!(ends(&sent), [(101, false), (501, true), (601, false), (801, false)]);
        tell(&mut sent, 1, &[(101, 801)]);
        assert_eq!(ends(&sent), [(101, false), (601, true), (801, true)], "another mapping stays apart");
        tell(&mut sent, 601, &[]);
        assert_eq!((ends(&sent), sent.beyond(801)), (vec![(801, true)], 0));
    }

    #[test]
    fn a_hole_that_is_filled_joins_both_sides() {
        let mut sent = sent();
        tell(&mut sent, 1, &[(301, 401), (101, 201)]);
        assert_eq!(ends(&sent), [(101, false), (201, true), (301, false), (401, true), (601, false), (801, false)]);
        tell(&mut sent, 1, &[(101, 401)]);
        assert_eq!(ends(&sent), [(101, false), (401, true), (601, false), (801, false)]);
    }

    #[test]
    fn less_than_a_segment_is_not_cut_off() {
        let mut sent = sent();
        tell(&mut sent, 1, &[(201, 250)]);
        assert_eq!(sent.beyond(1), 4);
        tell(&mut sent, 1, &[(201, 350)]);
        assert_eq!(ends(&sent)[..3], [(201, false), (301, true), (401, false)]);
    }

    #[test]
    fn what_goes_again_is_cut_where_the_window_ends() {
        let mut sent = sent();
        sent.send_again(1, 1, MSS);
        assert_eq!(ends(&sent)[..2], [(101, false), (201, false)]);
        sent.send_again(201, 2, MSS);
        sent.send_again(301, 1, MSS);
        assert_eq!(sent.beyond(1), 5, "the second segment left with the first");
        sent.acknowledge(501);
        sent.send_again(501, 2, MSS);
        assert_eq!(ends(&sent), [(601, false), (801, false)], "not the next buffer");
        sent.cut(701);
        assert_eq!(sent.beyond(501), 3);
    }
}
