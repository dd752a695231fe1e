//! Bytes as a payload: shared, so that what is sent, kept for retransmission and cut into segments is stored once.

use std::collections::VecDeque;

use bytes::Bytes;
use transport::{SendQueue, Stream};
use wire::Payload;

/// A piece of a stream of bytes. Cloning and slicing copy nothing.
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

/// What was written and is not acknowledged, in the pieces in which it was written.
#[derive(Debug, Default)]
pub struct ChunkQueue {
    /// Each with its place in the stream, one after another without a gap.
    chunks: VecDeque<(u64, Bytes)>,
    end: u64,
}

impl SendQueue<Chunk> for ChunkQueue {
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
        // It reaches into the next piece: only here something is copied.
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

impl Stream for Chunk {
    type Queue = ChunkQueue;
    type Kept = Chunk;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain vector: any slice of what is kept is what was written there, whatever the pieces.
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
