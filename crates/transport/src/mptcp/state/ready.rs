//! What has arrived in order and waits for the application to read it.

use std::collections::VecDeque;

use crate::queue::{Sendable, trim};

/// The pieces of the stream, in order. Mostly there is one, and it is read before the next comes: that one has a place of its
/// own.
#[derive(Debug)]
pub struct Ready<P> {
    /// Empty: there is none, and none behind it.
    first: P,
    rest: VecDeque<P>,
}

impl<P: Sendable> Ready<P> {
    pub fn new() -> Self {
        Ready { first: P::empty(), rest: VecDeque::new() }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The first piece.
    pub fn first(&self) -> Option<&P> {
        Some(&self.first).filter(|first| !first.is_empty())
    }

    /// Pieces held.
    pub fn len(&self) -> usize {
        if self.is_empty() { 0 } else { 1 + self.rest.len() }
    }

    /// Appends a piece. One without content is nothing.
    #[inline]
    pub fn push(&mut self, payload: P) {
        if self.first.is_empty() {
            self.first = payload;
        } else if !payload.is_empty() {
            self.push_rest(payload);
        }
    }

    fn push_rest(&mut self, payload: P) {
        if !self.rest.back_mut().unwrap_or(&mut self.first).join(&payload) {
            self.rest.push_back(payload);
        }
    }

    /// Takes out the first piece.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        if self.first.is_empty() {
            return None;
        }
        let next = if self.rest.is_empty() { P::empty() } else { self.pop_rest() };
        Some(std::mem::replace(&mut self.first, next))
    }

    fn pop_rest(&mut self) -> P {
        let next = self.rest.pop_front().unwrap_or_else(P::empty);
        trim(&mut self.rest);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::Span;

    #[test]
    fn bytes_one_by_one_take_a_place_for_many() {
        let mut ready = Ready::new();
        let all: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        for byte in &all {
            ready.push(vec![*byte]);
        }
        assert!(ready.len() <= all.len() / 1024, "{}", ready.len());
        let read: Vec<u8> = std::iter::from_fn(|| ready.pop()).flatten().collect();
        assert!(read == all);
        // Segments stay as they came.
        (0..10).for_each(|_| ready.push(vec![0; 1460]));
        assert_eq!(ready.len(), 10);
    }

    proptest! {
        /// Against a plain queue.
        #[test]
        fn is_a_queue(steps in prop::collection::vec((any::<bool>(), 0u32..4), 1..200)) {
            let (mut ready, mut queue) = (Ready::new(), VecDeque::new());
            for (n, (push, len)) in steps.into_iter().enumerate() {
                if push {
                    let span = Span { offset: n as u64, len };
                    ready.push(span);
                    queue.extend(Some(span).filter(|_| len > 0));
                } else {
                    prop_assert_eq!(ready.pop(), queue.pop_front());
                }
                prop_assert_eq!((ready.len(), ready.is_empty()), (queue.len(), queue.is_empty()));
            }
        }
    }
}
