//! Memory for the packets on links, each preceded by its device's header: slots of one size, which are reused.

use crate::offload::HEADER_LEN;

const CHUNK: usize = 512;

/// Number of a slot in the pool.
pub type Slot = u32;

/// The pool. It grows by chunks and never shrinks. The queues of the links bound the number of packets in it.
pub struct Pool {
    size: usize,
    chunks: Vec<Box<[u8]>>,
    lengths: Vec<u16>,
    free: Vec<Slot>,
}

impl Pool {
    /// A pool for packets of up to `size` bytes.
    pub fn new(size: usize) -> Pool {
        let size = HEADER_LEN + size;
        Pool { size, chunks: Vec::new(), lengths: Vec::new(), free: Vec::new() }
    }

    /// Takes a free slot.
    #[inline]
    pub fn take(&mut self) -> Slot {
        if self.free.is_empty() {
            self.grow();
        }
        self.free.pop().unwrap_or_else(|| unreachable!("the pool has grown"))
    }

    /// Frees a slot.
    #[inline]
    pub fn give_back(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// The whole memory of a slot, for a packet and its header.
    #[inline]
    pub fn memory(&mut self, slot: Slot) -> &mut [u8] {
        let begin = slot as usize % CHUNK * self.size;
        &mut self.chunks[slot as usize / CHUNK][begin..begin + self.size]
    }

    /// Sets the length of the packet in a slot.
    #[inline]
    pub fn set_length(&mut self, slot: Slot, length: u16) {
        self.lengths[slot as usize] = length;
    }

    /// The packet in a slot.
    #[inline]
    pub fn packet(&mut self, slot: Slot) -> &mut [u8] {
        let end = HEADER_LEN + usize::from(self.lengths[slot as usize]);
        &mut self.memory(slot)[HEADER_LEN..end]
    }

    /// The packet in a slot with its header.
    #[inline]
    pub fn frame(&mut self, slot: Slot) -> &mut [u8] {
        let end = HEADER_LEN + usize::from(self.lengths[slot as usize]);
        &mut self.memory(slot)[..end]
    }

    /// Number of slots in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }

    #[cold]
    fn grow(&mut self) {
        let first = self.lengths.len();
        // Filled with ones, so that the pages are allocated before packets arrive; zeroed memory would be allocated
        // lazily.
        self.chunks.push(vec![1; CHUNK * self.size].into_boxed_slice());
        self.lengths.resize(first + CHUNK, 0);
        self.free.extend((first..first + CHUNK).rev().map(|slot| slot as Slot));
    }
}
