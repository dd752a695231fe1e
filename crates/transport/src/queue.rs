//! What the application has written and the peer has not acknowledged at the data level.

use std::collections::VecDeque;

use wire::{Payload, Span};

/// Up to so many places a queue grows and stays as it likes.
const KEPT_PLACES: usize = 32;

/// Appends. A queue that is full grows by a quarter: half of what had doubled would stay empty.
#[inline(always)]
pub fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == queue.capacity() {
        grow(queue);
    }
    queue.push_back(item);
}

/// An end that answers in one segment keeps two places; most ends of a large network send no more at a time.
#[cold]
fn grow<T>(queue: &mut VecDeque<T>) {
    queue.reserve_exact(if queue.capacity() == 0 { 2 } else { (queue.capacity() / 4).max(8) });
}

/// Gives memory back that a queue has not needed for long: it grew in a slow start, or behind a hole. By quarters, and with
/// less than half in use, so that the cost is a constant for each entry.
#[inline]
pub fn trim<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > KEPT_PLACES && queue.len() < queue.capacity() / 2 {
        shrink(queue);
    }
}

#[cold]
fn shrink<T>(queue: &mut VecDeque<T>) {
    queue.shrink_to(queue.capacity() / 4 * 3);
}

/// Whether two pieces of so many bytes are better one: so small that the places they stand in would count, and not so large
/// that copying would. Of two neighbours that stay apart one has at least [`SMALL`] bytes.
#[must_use]
pub fn worth_joining(waiting: usize, next: usize) -> bool {
    next < SMALL && waiting + next <= 4 * SMALL
}

/// A piece below this is small beside what is kept about it.
const SMALL: usize = 512;

/// A payload that a connection can send: it has a queue.
pub trait Sendable: Payload {
    /// The queue of what was written.
    type Queue: SendQueue<Self>;
    /// What a sender keeps of a segment's content until it is acknowledged.
    type Kept: Kept<Self>;

    /// The same content without the memory of what it is a part of.
    #[must_use]
    fn compact(self) -> Self {
        self
    }

    /// Appends `next`, which follows in the stream, where many small pieces would take more memory than they hold. Answers
    /// whether it did; else the two stay apart.
    fn join(&mut self, next: &Self) -> bool {
        let _ = next;
        false
    }
}

/// The content of a segment whose place in the stream is known beside it.
pub trait Kept<P>: Clone + std::fmt::Debug {
    /// Of `payload`.
    fn keep(payload: P) -> Self;
    /// Length in bytes.
    fn len(&self) -> u32;
    /// Whether there is no content.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The content, which begins at `offset` of the stream.
    fn payload(&self, offset: u64) -> P;
    /// Drops the first `n` bytes.
    fn cut(&mut self, n: u32);
    /// The content, which begins at `offset` of the stream and is kept no longer.
    fn into_payload(self, offset: u64) -> P;
    /// Where `payload` begins by its own account; `otherwise` if it gives none.
    fn place(payload: &P, otherwise: u64) -> u64;
}

/// A send queue. Places count from the first byte ever written.
pub trait SendQueue<P>: Default + std::fmt::Debug {
    /// Whether it has bytes, which [`release`](Self::release) gives up.
    const KEEPS: bool;
    /// Appends; answers how many bytes that was.
    fn push(&mut self, payload: P) -> u64;
    /// The bytes `[offset, offset + len)`; they were written and not released.
    fn slice(&self, offset: u64, len: u32) -> P;
    /// What lies below `offset` will not be asked for again.
    fn release(&mut self, offset: u64);
}

/// The queue of a simulated stream: nothing to keep.
#[derive(Debug, Default)]
pub struct SpanQueue;

impl SendQueue<Span> for SpanQueue {
    const KEEPS: bool = false;

    fn push(&mut self, payload: Span) -> u64 {
        u64::from(payload.len)
    }

    fn slice(&self, offset: u64, len: u32) -> Span {
        Span { offset, len }
    }

    fn release(&mut self, _offset: u64) {}
}

/// Bytes are kept themselves.
impl<P: Payload> Kept<P> for P {
    fn keep(payload: P) -> Self {
        payload
    }

    fn len(&self) -> u32 {
        Payload::len(self) as u32
    }

    fn payload(&self, _offset: u64) -> P {
        self.clone()
    }

    fn cut(&mut self, n: u32) {
        *self = self.slice(n as usize, Payload::len(self));
    }

    fn into_payload(self, _offset: u64) -> P {
        self
    }

    fn place(_payload: &P, otherwise: u64) -> u64 {
        otherwise
    }
}

impl Sendable for Span {
    type Queue = SpanQueue;
    type Kept = SpanLen;
}

/// Of a span the place is known, which is that in the stream.
#[derive(Clone, Debug)]
pub struct SpanLen(u32);

impl Kept<Span> for SpanLen {
    #[inline]
    fn keep(payload: Span) -> Self {
        SpanLen(payload.len)
    }

    #[inline]
    fn len(&self) -> u32 {
        self.0
    }

    #[inline]
    fn payload(&self, offset: u64) -> Span {
        Span { offset, len: self.0 }
    }

    fn cut(&mut self, n: u32) {
        self.0 -= n;
    }

    #[inline]
    fn into_payload(self, offset: u64) -> Span {
        Span { offset, len: self.0 }
    }

    #[inline]
    fn place(payload: &Span, _otherwise: u64) -> u64 {
        payload.offset
    }
}

/// A queue of bytes.
#[derive(Debug, Default)]
pub struct ByteQueue {
    bytes: VecDeque<u8>,
    start: u64,
}

impl SendQueue<Vec<u8>> for ByteQueue {
    const KEEPS: bool = true;

    fn push(&mut self, payload: Vec<u8>) -> u64 {
        let len = payload.len() as u64;
        self.bytes.extend(payload);
        len
    }

    fn slice(&self, offset: u64, len: u32) -> Vec<u8> {
        let from = (offset - self.start) as usize;
        self.bytes.range(from..from + len as usize).copied().collect()
    }

    fn release(&mut self, offset: u64) {
        let n = offset.saturating_sub(self.start).min(self.bytes.len() as u64);
        self.bytes.drain(..n as usize);
        self.start += n;
    }
}

impl Sendable for Vec<u8> {
    type Queue = ByteQueue;
    type Kept = Vec<u8>;

    fn join(&mut self, next: &Self) -> bool {
        let joins = worth_joining(self.len(), next.len());
        if joins {
            self.extend_from_slice(next);
        }
        joins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_takes_little_more_memory_than_it_needs() {
        let mut queue = VecDeque::new();
        let mut moved = 0;
        for n in 0..10_000 {
            let before = queue.capacity();
            push(&mut queue, n);
            moved += if queue.capacity() > before { n } else { 0 };
            assert!(queue.capacity() <= (queue.len() + 8).max(queue.len() * 5 / 4 + 1), "{n}: {}", queue.capacity());
        }
        while let Some(n) = queue.pop_front() {
            let before = queue.capacity();
            trim(&mut queue);
            moved += if queue.capacity() < before { queue.len() } else { 0 };
            assert!(queue.capacity() <= (2 * queue.len() + 1).max(KEPT_PLACES), "{n}: {}", queue.capacity());
        }
        assert!(moved < 8 * 10_000, "each entry was moved {moved}/10000 times");
    }
}
