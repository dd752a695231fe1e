//! What streams consist of: the byte at each place is known, so that a byte in a wrong place is seen.

use wire::{Payload, Span};

/// The bytes of a stream from a place on.
pub fn bytes(offset: u64, len: usize) -> Vec<u8> {
    let span = Span { offset, len: len as u32 };
    let mut out = vec![0; len];
    span.write_to(&mut out);
    out
}
