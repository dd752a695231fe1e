//! What has arrived in order and waits for the application to read it.

use std::collections::VecDeque;

use wire::Payload;

use crate::queue::trim;

/// The pieces of the stream, in order. Mostly there is one, and it is read before the next comes: that one has a place of its
/// own.
#[derive(Debug)]
pub struct Ready<P> {
    /// Empty: there is none, and none behind it.
    first: P,
    rest: VecDeque<P>,
}

impl<P: Payload> Ready<P> {
    pub fn new() -> Self {
        Ready { first: P::empty(), rest: VecDeque::new() }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// Pieces held.
    pub fn len(&self) -> usize {
        usize::from(!self.is_empty()) + self.rest.len()
    }

    /// Appends a piece. One without content is nothing.
    #[inline]
    pub fn push(&mut self, payload: P) {
        if self.first.is_empty() {
            self.first = payload;
        } else if !payload.is_empty() {
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
