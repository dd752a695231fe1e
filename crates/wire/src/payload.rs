//! What a segment carries: a span of the data stream in simulation, bytes on a real network.

/// The content of a segment. One transport serves both kinds (docs/architecture.md, decision 1).
pub trait Payload: Clone + std::fmt::Debug {
    /// Length in bytes.
    fn len(&self) -> usize;

    /// Whether there is no content.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part `[from, to)`. Panics when `from > to` or `to > len()`.
    #[must_use]
    fn slice(&self, from: usize, to: usize) -> Self;

    /// An empty payload.
    fn empty() -> Self;

    /// Writes the content to `out`, which must be exactly `len()` bytes long.
    fn write_to(&self, out: &mut [u8]);
}

/// A span of the application's data stream: no bytes, only their place. `offset` counts from the first byte the
/// application wrote. The byte at a place is a pure function of it ([`Span::byte_at`]), so a receiver can check
/// every byte that arrives and a DSS checksum is well defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Place of the first byte in the stream of the application that sends it.
    pub offset: u64,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The byte that stands at `offset` of every simulated stream. Mixes all bits of the offset, so that a span
    /// put in a wrong place is seen in nearly every byte of it.
    #[must_use]
    pub fn byte_at(offset: u64) -> u8 {
        // SplitMix64's finaliser on the 8-byte word, then the byte within it.
        let mut z = (offset >> 3).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        z.to_le_bytes()[(offset & 7) as usize]
    }
}

impl Payload for Span {
    fn len(&self) -> usize {
        self.len as usize
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        assert!(from <= to && to <= self.len as usize, "slice {from}..{to} of a span of {} bytes", self.len);
        Span { offset: self.offset + from as u64, len: (to - from) as u32 }
    }

    fn empty() -> Self {
        Span::default()
    }

    fn write_to(&self, out: &mut [u8]) {
        assert_eq!(out.len(), self.len as usize, "the buffer must be as long as the span");
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = Span::byte_at(self.offset + i as u64);
        }
    }
}

impl Payload for Vec<u8> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        self[from..to].to_vec()
    }

    fn empty() -> Self {
        Vec::new()
    }

    fn write_to(&self, out: &mut [u8]) {
        out.copy_from_slice(self);
    }
}
