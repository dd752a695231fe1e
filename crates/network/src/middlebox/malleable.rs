//! Payload that a middlebox can join and alter.

use wire::{Payload, Span};

/// Set in the offset of a [`Span`] whose bytes were altered. No stream is long enough to reach this offset.
pub const ALTERED: u64 = 1 << 63;

/// Payload that can be joined and altered in addition to being split.
pub trait Malleable: Payload {
    /// Joins this payload and `next`; `None` if that is impossible, for two spans that are not adjacent.
    fn join(&self, next: &Self) -> Option<Self>;

    /// Replaces the byte at `at` by 1 + `growth` other bytes; `growth` is at least −1, which removes the byte. A span
    /// cannot be altered in part: the whole span is altered, and becomes longer or shorter.
    #[must_use]
    fn alter(&self, at: usize, growth: i32) -> Self;
}

impl Malleable for Vec<u8> {
    fn join(&self, next: &Self) -> Option<Self> {
        Some([&self[..], next].concat())
    }

    fn alter(&self, at: usize, growth: i32) -> Self {
        let other = vec![!self[at]; (1 + growth) as usize];
        [&self[..at], &other, &self[at + 1..]].concat()
    }
}

impl Malleable for Span {
    fn join(&self, next: &Self) -> Option<Self> {
        (self.offset + u64::from(self.len) == next.offset).then(|| Span { len: self.len + next.len, ..*self })
    }

    fn alter(&self, _: usize, growth: i32) -> Self {
        let len = self.len.checked_add_signed(growth).expect("a span neither shorter than nothing nor over 4 GiB");
        Span { offset: self.offset | ALTERED, len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_altered_in_their_place() {
        let bytes = b"abc".to_vec();
        assert_eq!(bytes.alter(1, 0), [b'a', !b'b', b'c']);
        assert_eq!(bytes.alter(1, 2), [b'a', !b'b', !b'b', !b'b', b'c']);
        assert_eq!(bytes.alter(2, -1), b"ab");
        assert_eq!(bytes.join(&b"de".to_vec()), Some(b"abcde".to_vec()));
    }

    #[test]
    fn an_altered_span_has_other_bytes_and_another_length() {
        let span = Span { offset: 1_000, len: 100 };
        let altered = span.alter(7, 3);
        assert_eq!(altered, Span { offset: 1_000 | ALTERED, len: 103 });
        let (mut before, mut after) = ([0; 100], [0; 100]);
        span.write_to(&mut before);
        altered.slice(0, 100).write_to(&mut after);
        assert!(before.iter().zip(after).filter(|&(&a, b)| a == b).count() < 5);
        assert_eq!(altered.alter(0, -1), Span { offset: 1_000 | ALTERED, len: 102 });
    }

    #[test]
    fn only_neighbours_join() {
        let [first, next, far] = [(10, 5), (15, 7), (16, 7)].map(|(offset, len)| Span { offset, len });
        assert_eq!(first.join(&next), Some(Span { offset: 10, len: 12 }));
        assert_eq!(first.join(&far), None);
        assert_eq!(next.join(&first), None);
    }
}
