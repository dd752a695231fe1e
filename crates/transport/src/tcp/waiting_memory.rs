//! The memory that a receiver as Linux's gives to segments of a subflow behind a hole. A short one is copied into the rest of the buffer
//! before it (`tcp_ooo_try_coalesce`, `skb_try_coalesce`), and takes none.

use crate::Kernel;
use crate::memory;
use crate::offset::Offset;

/// Of all that wait.
#[derive(Clone, Debug, Default)]
pub struct WaitingMemory {
    bytes: u64,
    /// Whose they are.
    pub kernel: Kernel,
    /// The end of what came last, on the subflow and in the stream, and what is left behind it in its buffer.
    end: (u64, Offset),
    tail: u64,
    /// Where segments begin that are in the buffer before them.
    joined: Vec<u64>,
}

impl WaitingMemory {
    /// What lies between these numbers waits, from this place of the stream on. Under Multipath TCP only what goes on in the stream can be
    /// of one mapping (`mptcp_skb_can_collapse`).
    pub fn keep(&mut self, at: u64, end: u64, offset: Offset) {
        let len = end - at;
        if (at, offset) == self.end && len <= self.tail {
            self.tail -= len;
            self.joined.push(at);
        } else {
            self.bytes += memory::of_packet(self.kernel, len);
            self.tail = memory::tail_of_packet(self.kernel, len);
        }
        self.end = (end, offset.saturating_add(len));
    }

    /// What lies between these numbers fills a hole, and is released at once.
    pub fn pass(&mut self, at: u64, end: u64) {
        self.bytes += memory::of_packet(self.kernel, end - at);
    }

    /// It waits no more.
    pub fn release(&mut self, at: u64, end: u64) {
        if let Some(place) = self.joined.iter().position(|&joined| joined == at) {
            self.joined.swap_remove(place);
        } else {
            self.bytes = self.bytes.saturating_sub(memory::of_packet(self.kernel, end - at));
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.12: full segments take 2,304 bytes; 160 find place behind one, which leaves 164 free.
    #[test]
    fn short_segments_find_place_in_the_buffer_before() {
        let mut waiting = WaitingMemory::default();
        let mut keep = |at, end, offset| {
            waiting.keep(at, end, Offset::after(offset));
            waiting.bytes()
        };
        assert_eq!(keep(1, 1_425, 0), 2_304);
        assert_eq!(keep(1_425, 1_585, 1_424), 2_304);
        assert_eq!(keep(1_585, 1_590, 1_584), 2_304 + 960, "4 bytes are left");
        assert_eq!(keep(1_590, 1_600, 5_000), 2_304 + 2 * 960, "another part of the stream");
        assert_eq!(keep(3_000, 3_064, 5_010), 2_304 + 3 * 960, "behind another hole");
        waiting.release(1_425, 1_585);
        waiting.release(1, 1_425);
        assert_eq!(waiting.bytes(), 3 * 960);
    }
}
