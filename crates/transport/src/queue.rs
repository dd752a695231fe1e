//! What the application has written and the peer has not acknowledged at the data level.

use std::collections::VecDeque;

use wire::{Payload, Span};

/// Below so many places a queue is left as it is.
const KEPT_PLACES: usize = 32;

/// Gives memory back that a queue has not needed for long: it grew in a slow start, or behind a hole. By halves, and with a
/// quarter in use, so that the cost is a constant for each entry.
#[inline]
pub fn trim<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > KEPT_PLACES && queue.len() < queue.capacity() / 4 {
        shrink(queue);
    }
}

#[cold]
fn shrink<T>(queue: &mut VecDeque<T>) {
    queue.shrink_to(queue.capacity() / 2);
}

/// A payload that a connection can send: it has a queue.
pub trait Stream: Payload {
    /// The queue of what was written.
    type Queue: SendQueue<Self>;
}

/// A send queue. Places count from the first byte ever written.
pub trait SendQueue<P>: Default + std::fmt::Debug {
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
    fn push(&mut self, payload: Span) -> u64 {
        u64::from(payload.len)
    }

    fn slice(&self, offset: u64, len: u32) -> Span {
        Span { offset, len }
    }

    fn release(&mut self, _offset: u64) {}
}

impl Stream for Span {
    type Queue = SpanQueue;
}

/// A queue of bytes.
#[derive(Debug, Default)]
pub struct ByteQueue {
    bytes: VecDeque<u8>,
    start: u64,
}

impl SendQueue<Vec<u8>> for ByteQueue {
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

impl Stream for Vec<u8> {
    type Queue = ByteQueue;
}
