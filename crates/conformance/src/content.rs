//! The content of streams: the byte at each offset is known, so that a misplaced byte is detected.

use wire::{Payload, Span};

/// The bytes of a stream from an offset on.
pub fn bytes(offset: u64, len: usize) -> Vec<u8> {
    let span = Span { offset, len: len as u32 };
    let mut out = vec![0; len];
    span.write_to(&mut out);
    out
}
