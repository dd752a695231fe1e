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

    /// Writes the part that begins at `offset` and is as long as `out`. Panics when it ends after `len()`.
    fn read_at(&self, offset: usize, out: &mut [u8]) {
        self.slice(offset, offset + out.len()).write_to(out);
    }
}

/// A span of the application's data stream: no bytes, only their offset. `offset` counts from the first byte the
/// application wrote. The byte at an offset is a pure function of it ([`Span::byte_at`]), so a receiver can check every
/// byte that arrives and a DSS checksum is well defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Offset of the first byte in the stream of the sending application.
    pub offset: u64,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The byte at `offset` of every simulated stream. All bits of the offset are mixed, so that nearly every byte of a
    /// misplaced span differs.
    #[must_use]
    pub fn byte_at(offset: u64) -> u8 {
        Self::word_at(offset >> 3)[(offset & 7) as usize]
    }

    /// The eight bytes from `8 * index` on: SplitMix64's finaliser.
    fn word_at(index: u64) -> [u8; 8] {
        let mut z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        z.to_le_bytes()
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
        // Up to the next word boundary, whole words, and the rest.
        let head = ((8 - (self.offset & 7) as usize) & 7).min(out.len());
        let (head, rest) = out.split_at_mut(head);
        for (at, byte) in (self.offset..).zip(head.iter_mut()) {
            *byte = Span::byte_at(at);
        }
        let first = self.offset.div_ceil(8);
        let words = rest.len() as u64 / 8;
        let mut chunks = rest.chunks_exact_mut(8);
        for (index, chunk) in (first..).zip(&mut chunks) {
            chunk.copy_from_slice(&Span::word_at(index));
        }
        let tail = chunks.into_remainder();
        tail.copy_from_slice(&Span::word_at(first + words)[..tail.len()]);
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

    fn read_at(&self, offset: usize, out: &mut [u8]) {
        out.copy_from_slice(&self[offset..offset + out.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_span_writes_the_byte_of_each_place(offset in 0..u64::MAX / 2, len in 0..100_u32, from in 0..100_usize) {
            let span = Span { offset, len };
            let mut bytes = vec![0; span.len()];
            span.write_to(&mut bytes);
            let expected: Vec<u8> = (offset..offset + u64::from(len)).map(Span::byte_at).collect();
            prop_assert_eq!(&bytes, &expected);
            let from = from.min(bytes.len());
            let mut part = vec![0; bytes.len() - from];
            span.read_at(from, &mut part);
            prop_assert_eq!(&part[..], &expected[from..]);
            bytes.read_at(from, &mut part);
            prop_assert_eq!(&part[..], &expected[from..]);
        }
    }

    /// Spans that a faulty implementation is likely to confuse must differ in nearly every byte.
    #[test]
    fn misplaced_spans_are_seen() {
        for shift in [1, 7, 8, 64, 1460, 1 << 16, 1 << 32] {
            let same = (0..4096).filter(|&at| Span::byte_at(at) == Span::byte_at(at + shift)).count();
            assert!(same < 64, "{same} of 4096 bytes are equal {shift} bytes further on"); // 16 expected by chance
        }
    }
}
