//! A buffered window on a stream, in which the next bytes are contiguous.

use std::io::{self, Read};

/// Number of bytes read at a time.
const CHUNK: usize = 1 << 18;

/// Bytes from a reader, in order.
pub struct Source<R> {
    inner: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `start` in the stream.
    offset: u64,
    ended: bool,
}

impl<R: Read> Source<R> {
    pub fn new(inner: R) -> Source<R> {
        Source { inner, buffer: vec![0; 2 * CHUNK], start: 0, end: 0, offset: 0, ended: false }
    }

    /// The underlying reader.
    pub fn inner(&self) -> &R {
        &self.inner
    }

    /// Number of bytes of the stream taken so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next `wanted` bytes, or fewer at the end of the stream. They stay until [`Source::take`].
    pub fn peek(&mut self, wanted: usize) -> io::Result<&[u8]> {
        while self.end - self.start < wanted && !self.ended {
            if self.start > 0 && self.start + wanted.max(CHUNK) > self.buffer.len() {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.buffer.len() < self.start + wanted {
                self.buffer.resize(self.start + wanted, 0);
            }
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + wanted)])
    }

    /// Takes the next `length` bytes, which must have been peeked at.
    pub fn take(&mut self, length: usize) -> &[u8] {
        let from = self.start;
        self.start = (self.start + length).min(self.end);
        self.offset += (self.start - from) as u64;
        &self.buffer[from..self.start]
    }
}
