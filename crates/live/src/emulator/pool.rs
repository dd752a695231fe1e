//! Memory for the packets that are on links, each with the header of its device before it: places of one size, used again.

use crate::offload::HEADER_LEN;

const CHUNK: usize = 512;

/// A place in the pool.
pub type Slot = u32;

/// The pool. It grows by chunks and never shrinks; links bound how much is in it.
pub struct Pool {
    size: usize,
    chunks: Vec<Box<[u8]>>,
    lengths: Vec<u16>,
    free: Vec<Slot>,
}

impl Pool {
    /// Of packets of up to `size` bytes.
    pub fn new(size: usize) -> Pool {
        let size = HEADER_LEN + size;
        Pool { size, chunks: Vec::new(), lengths: Vec::new(), free: Vec::new() }
    }

    /// A free place.
    #[inline]
    pub fn take(&mut self) -> Slot {
        if self.free.is_empty() {
            self.grow();
        }
        self.free.pop().unwrap_or_else(|| unreachable!("the pool has grown"))
    }

    /// The place is free again.
    #[inline]
    pub fn give_back(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// The whole memory of a place, for a packet and its header.
    #[inline]
    pub fn memory(&mut self, slot: Slot) -> &mut [u8] {
        let begin = slot as usize % CHUNK * self.size;
        &mut self.chunks[slot as usize / CHUNK][begin..begin + self.size]
    }

    /// Notes how long the packet in a place is.
    #[inline]
    pub fn set_length(&mut self, slot: Slot, length: u16) {
        self.lengths[slot as usize] = length;
    }

    /// The packet in a place.
    #[inline]
    pub fn packet(&mut self, slot: Slot) -> &mut [u8] {
        let end = HEADER_LEN + usize::from(self.lengths[slot as usize]);
        &mut self.memory(slot)[HEADER_LEN..end]
    }

    /// The packet in a place with its header.
    #[inline]
    pub fn frame(&mut self, slot: Slot) -> &mut [u8] {
        let end = HEADER_LEN + usize::from(self.lengths[slot as usize]);
        &mut self.memory(slot)[..end]
    }

    /// Places in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }

    #[cold]
    fn grow(&mut self) {
        let first = self.lengths.len();
        // Not zeroed lazily: the pages are to be there before packets are.
        self.chunks.push(vec![1; CHUNK * self.size].into_boxed_slice());
        self.lengths.resize(first + CHUNK, 0);
        self.free.extend((first..first + CHUNK).rev().map(|slot| slot as Slot));
    }
}
