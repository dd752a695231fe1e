//! Bytes as a payload. They are shared, so that data that is sent, kept for retransmission and cut into segments is
//! stored once.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use transport::{SendQueue, Sendable};
use wire::Payload;

/// A piece of a byte stream. Cloning and slicing do not copy the bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chunk(pub Bytes);

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        Chunk(Bytes::from(bytes))
    }
}

impl Payload for Chunk {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        Chunk(self.0.slice(from..to))
    }

    fn empty() -> Self {
        Chunk(Bytes::new())
    }

    fn write_to(&self, out: &mut [u8]) {
        out.copy_from_slice(&self.0);
    }

    fn read_at(&self, offset: usize, out: &mut [u8]) {
        out.copy_from_slice(&self.0[offset..offset + out.len()]);
    }
}

/// Data written and not acknowledged, in the pieces in which it was written.
#[derive(Debug, Default)]
pub struct ChunkQueue {
    /// Contiguous pieces, each with its stream offset.
    chunks: VecDeque<(u64, Bytes)>,
    end: u64,
}

impl SendQueue<Chunk> for ChunkQueue {
    const KEEPS: bool = true;

    fn push(&mut self, payload: Chunk) -> u64 {
        let len = payload.0.len() as u64;
        if len > 0 {
            self.chunks.push_back((self.end, payload.0));
            self.end += len;
        }
        len
    }

    fn slice(&self, offset: u64, len: u32) -> Chunk {
        let len = len as usize;
        let first = self.chunks.partition_point(|(start, bytes)| start + bytes.len() as u64 <= offset);
        let Some((start, bytes)) = self.chunks.get(first) else { return Chunk::empty() };
        let from = (offset - start) as usize;
        if from + len <= bytes.len() {
            return Chunk(bytes.slice(from..from + len));
        }
        // The slice extends into the next piece: only in this case bytes are copied.
        let mut whole = Vec::with_capacity(len);
        whole.extend_from_slice(&bytes[from..]);
        for (_, next) in self.chunks.range(first + 1..) {
            let missing = len - whole.len();
            if missing == 0 {
                break;
            }
            whole.extend_from_slice(&next[..missing.min(next.len())]);
        }
        Chunk(Bytes::from(whole))
    }

    fn release(&mut self, offset: u64) {
        while self.chunks.front().is_some_and(|(start, bytes)| start + bytes.len() as u64 <= offset) {
            self.chunks.pop_front();
        }
    }
}

impl Sendable for Chunk {
    type Queue = ChunkQueue;
    type Kept = Chunk;

    fn compact(self) -> Self {
        Chunk(Bytes::copy_from_slice(&self.0))
    }

    fn join(&mut self, next: &Self) -> bool {
        if !transport::worth_joining(self.0.len(), next.0.len()) {
            return false;
        }
        // It is usually not shared, and has capacity after the first time.
        let waiting = std::mem::take(&mut self.0);
        let mut joined = waiting.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
        joined.extend_from_slice(&next.0);
        self.0 = joined.freeze();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_pieces_become_one_and_a_part_lets_go_of_the_whole() {
        let mut chunk = Chunk::from(vec![1; 10]);
        assert!(chunk.join(&Chunk::from(vec![2])) && chunk.join(&Chunk::from(vec![3, 4])));
        assert_eq!(chunk.0[8..], [1, 1, 2, 3, 4]);
        let kept = chunk.clone();
        assert!(chunk.join(&Chunk::from(vec![5])), "also of one that is shared");
        assert_eq!((kept.0.len(), chunk.0.len()), (13, 14));
        assert!(!chunk.join(&Chunk::from(vec![0; 600])));
        let whole = Chunk::from(vec![7; 1460]);
        let part = whole.slice(3, 5).compact();
        assert_eq!(part.0[..], [7, 7]);
        assert!(whole.0.try_into_mut().is_ok(), "nobody else holds the segment");
    }

    proptest! {
        /// Compares with a plain vector: any slice of the queue equals what was written there, however it was split
        /// into pieces.
        #[test]
        fn a_queue_gives_back_what_was_written(
            pieces in prop::collection::vec(0_usize..50, 1..12),
            cuts in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 1..20),
        ) {
            let mut queue = ChunkQueue::default();
            let mut all = Vec::new();
            for len in pieces {
                let piece: Vec<u8> = (0..len).map(|i| (all.len() + i) as u8 ^ 0x5a).collect();
                all.extend_from_slice(&piece);
                prop_assert_eq!(queue.push(Chunk::from(piece)), len as u64);
            }
            let mut released = 0;
            for (a, b) in cuts {
                let from = released + ((all.len() - released) as f64 * a) as usize;
                let to = from + ((all.len() - from) as f64 * b) as usize;
                prop_assert_eq!(&queue.slice(from as u64, (to - from) as u32).0[..], &all[from..to]);
                released = released.max(from / 2);
                queue.release(released as u64);
            }
        }
    }
}
