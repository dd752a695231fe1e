//! What is to be sent, as far as it is known: `transmit` looks there first.

use crate::scheduler::SubflowSet;

/// Subflows to look at, and whether to look for data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Due {
    /// Subflows that may have a SYN, a reset, a retransmission or a FIN to send.
    pub attention: SubflowSet,
    /// Subflows with control options to send.
    pub signals: SubflowSet,
    /// Subflows that owe an acknowledgment.
    pub acks: SubflowSet,
    /// Subflows whose data came with PSH: they owe an acknowledgment as soon as everything is read.
    pub pushed: SubflowSet,
    /// New data or reinjections may find a subflow with room.
    pub data: bool,
    /// What came with PSH was read: of Linux what others owe has left before.
    pub is_read: bool,
    /// The subflow that owes another one behind its acknowledgment, as the reading has opened its window.
    pub twice: Option<u8>,
    /// F-RTO may wait for new data on a subflow: see `release_retransmissions`.
    pub frto_waits: bool,
}

impl Due {
    /// Whether nothing is.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        !self.is_before_data() && self.acks.0 == 0 && !self.data
    }

    /// The next subflow that owes an acknowledgment, and whether what came was read before.
    #[inline(always)]
    pub fn pop_ack(&mut self) -> Option<(usize, bool)> {
        if self.is_read { self.pop_ack_around_reading() } else { self.acks.pop().map(|r| (r, false)) }
    }

    #[cold]
    fn pop_ack_around_reading(&mut self) -> Option<(usize, bool)> {
        let before = SubflowSet(self.acks.0 & !self.pushed.0).pop();
        let next = before.or_else(|| SubflowSet(self.acks.0).pop());
        if let Some(r) = next {
            self.acks.remove(r);
            if before.is_none() {
                self.pushed.remove(r);
            } else if self.twice == Some(r as u8) {
                self.twice = None;
                self.acks.insert(r);
                self.pushed.insert(r);
            }
        }
        self.is_read = self.pushed.0 != 0 || self.twice.is_some();
        next.map(|r| (r, before.is_none()))
    }

    /// Whether something goes before all data.
    #[inline]
    pub fn is_before_data(&self) -> bool {
        self.attention.0 | self.signals.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgments_that_follow_the_reading_are_the_last() {
        let mut due = Due { acks: SubflowSet(0b111), pushed: SubflowSet(0b001), is_read: true, ..Due::default() };
        let order: Vec<(usize, bool)> = std::iter::from_fn(|| due.pop_ack()).collect();
        assert_eq!((order, due.pushed, due.is_read), (vec![(1, false), (2, false), (0, true)], SubflowSet(0), false));
    }

    #[test]
    fn what_opens_behind_an_acknowledgment_is_another() {
        let mut due = Due { acks: SubflowSet(0b011), twice: Some(0), is_read: true, ..Due::default() };
        let order: Vec<(usize, bool)> = std::iter::from_fn(|| due.pop_ack()).collect();
        assert_eq!((order, due.is_nothing(), due.is_read), (vec![(0, false), (1, false), (0, true)], true, false));
    }
}
