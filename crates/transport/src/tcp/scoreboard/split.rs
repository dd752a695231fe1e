//! What is too long for the path (RFC 1191 §6.4): segments of which only parts can arrive.

use super::{LOST, PART, RETRANSMITTED, SACKED, Scoreboard, Sent};
use crate::queue::{Kept, Sendable};
use crate::tcp::wholes::Wholes;

impl<P: Sendable> Scoreboard<P> {
    /// Segments with more than `most` bytes of data have not arrived, unless they were selectively acknowledged: they are lost, and
    /// are parts of at most so many bytes from now on. Answers the parts, first and next sequence number of each, in order.
    #[cold]
    pub fn split(&mut self, most: u32) -> Vec<(u64, u64)> {
        let too_long = |sent: &Sent<P>| sent.data_len() > u64::from(most) && !sent.is(SACKED);
        if !self.sent.iter().any(too_long) {
            return Vec::new();
        }
        let found = self.found.get_or_insert_default();
        let wholes = found.wholes.get_or_insert_with(|| Box::new(Wholes::new()));
        let (old, mut parts, mut numbers) =
            (std::mem::take(&mut self.sent), Vec::new(), Vec::with_capacity(self.sent.len()));
        for sent in old {
            numbers.push(self.first + self.sent.len() as u64);
            if !too_long(&sent) {
                self.sent.push_back(sent);
                continue;
            }
            if !sent.is_part() {
                wholes.remember(sent.seq, sent.offset, sent.payload());
            }
            let (payload, len) = (sent.payload(), sent.data_len() as usize);
            for from in (0..len).step_by(most as usize) {
                let to = (from + most as usize).min(len);
                let part = Sent {
                    seq: sent.seq + from as u64,
                    offset: sent.offset + from as u64,
                    sent_at: sent.sent_at,
                    kept: P::Kept::keep(payload.slice(from, to)),
                    fin: sent.fin && to == len,
                    marks: (sent.marks | LOST | PART) & !RETRANSMITTED,
                };
                parts.push((part.seq, part.end()));
                self.sent.push_back(part);
            }
        }
        // Later segments have other numbers now.
        for (_, number) in &mut found.resent {
            let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
            if let Some(&now) = place.and_then(|place| numbers.get(place)) {
                *number = now;
            }
        }
        let count = |mark: u8| self.sent.iter().filter(|sent| sent.is(mark)).count() as u32;
        (self.lost, self.retransmitted) = (count(LOST), count(RETRANSMITTED));
        (found.lost_below, found.repaired_below, found.edge) = (0, 0, (0, 0));
        parts
    }
}

#[cfg(test)]
mod tests {
    use wire::{SackBlock, Span};

    use super::*;
    use crate::offset::Offset;
    use crate::tcp::scoreboard::Delivered;
    use crate::time::{Duration, Instant};

    /// Segments of these lengths, sent at 1 ns, 2 ns, ….
    fn board(lengths: &[u32]) -> Scoreboard<Span> {
        let (mut board, mut at) = (Scoreboard::new(), 0);
        for (n, &len) in lengths.iter().enumerate() {
            let (last, span) = (n + 1 == lengths.len(), Span { offset: at, len });
            board.push(1 + at, Offset::after(at), span, last, Instant::from_nanos(1 + n as u64));
            at += u64::from(len);
        }
        board
    }

    /// Of segments of 1000, 400, 900 and 700 bytes with a FIN, the third has arrived. A path of 400: the first becomes three
    /// (400, 400, 200), the last two (400, 300 and the FIN).
    #[test]
    fn what_is_too_long_becomes_parts() {
        let mut b = board(&[1000, 400, 900, 700]);
        let block = SackBlock { left: 1401, right: 2301 };
        b.selectively_acknowledge(&[block], u64::from, Instant::from_nanos(10), &mut Delivered::default());
        assert_eq!(b.split(400), [(1, 401), (401, 801), (801, 1001), (2301, 2701), (2701, 3002)]);
        assert_eq!((b.outstanding(), b.pipe()), (7, 1), "the second segment is under way, the third was delivered");
        let again: Vec<_> =
            std::iter::from_fn(|| b.retransmit(Instant::from_nanos(20)).map(|s| (s.seq, s.end(), s.fin))).collect();
        assert_eq!(
            again,
            [(1, 401, false), (401, 801, false), (801, 1001, false), (2301, 2701, false), (2701, 3002, true)]
        );
        let whole = b.whole_of(850).map(|w| (w.seq, w.offset, w.payload));
        assert_eq!(whole, Some((1, Offset::FIRST, Span { offset: 0, len: 1000 })));
        // Shorter still: a part of a part is a part of the whole.
        assert_eq!(b.split(350).len(), 8, "four of 400 bytes, each in two");
        assert_eq!(b.whole_of(360).map(|w| (w.seq, w.payload.len)), Some((1, 1000)));
        assert_eq!(b.split(400), [], "nothing is longer");
        b.acknowledge(3002, Instant::from_nanos(30), &mut Delivered::default());
        assert_eq!((b.outstanding(), b.pipe(), b.whole_of(2400).is_none()), (0, 0, true));
    }

    /// Retransmissions that are short enough stay in the network, and are found there by their new numbers.
    #[test]
    fn retransmissions_keep_their_place() {
        let mut b = board(&[1000, 300, 300]);
        b.mark_lost_on_timeout(Instant::from_nanos(100), None);
        (0..3).for_each(|_| _ = b.retransmit(Instant::from_nanos(200)));
        assert_eq!(b.pipe(), 3);
        assert_eq!(b.split(500), [(1, 501), (501, 1001)]);
        assert_eq!(b.pipe(), 2);
        // The last one is delivered: the one before it, sent at the same time, is lost by time.
        let block = SackBlock { left: 1301, right: 1602 };
        b.selectively_acknowledge(&[block], u64::from, Instant::from_nanos(300), &mut Delivered::default());
        assert_eq!(
            b.find_losses_by_time(
                (Instant::from_nanos(200), 1602),
                || Duration::from_nanos(50),
                Instant::from_nanos(300)
            ),
            (true, Instant::NEVER)
        );
        let again: Vec<_> = std::iter::from_fn(|| b.retransmit(Instant::from_nanos(400)).map(|s| s.seq)).collect();
        assert_eq!(again, [1, 501, 1001]);
    }
}
