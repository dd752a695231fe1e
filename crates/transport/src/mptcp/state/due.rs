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
    /// The same, when that acknowledgment has left.
    second: Option<u8>,
    /// F-RTO may wait for new data on a subflow: see `release_retransmissions`.
    pub frto_waits: bool,
}

/// When an acknowledgment leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Before what came is read.
    Before,
    /// When it was read.
    Behind,
    /// Then, and behind another one.
    Second,
}

impl Due {
    /// Whether nothing is.
    #[inline]
    pub fn is_nothing(&self) -> bool {
        !self.is_before_data() && self.acks.0 == 0 && !self.data
    }

    /// The next subflow that owes an acknowledgment, and its turn.
    #[inline(always)]
    pub fn pop_ack(&mut self) -> Option<(usize, Turn)> {
        if self.is_read { self.pop_ack_around_reading() } else { self.acks.pop().map(|r| (r, Turn::Before)) }
    }

    #[cold]
    fn pop_ack_around_reading(&mut self) -> Option<(usize, Turn)> {
        let before = SubflowSet(self.acks.0 & !self.pushed.0).pop();
        let r = before.or_else(|| SubflowSet(self.acks.0).pop())?;
        self.acks.remove(r);
        self.pushed.remove(r);
        let turn = match before {
            Some(_) => Turn::Before,
            None if self.second.take_if(|second| usize::from(*second) == r).is_some() => Turn::Second,
            None => Turn::Behind,
        };
        if let Some(twice) = self.twice.take_if(|twice| usize::from(*twice) == r)
            && turn == Turn::Before
        {
            self.second = Some(twice);
            self.acks.insert(r);
            self.pushed.insert(r);
        }
        self.is_read = self.pushed.0 != 0 || self.twice.is_some();
        Some((r, turn))
    }

    /// Whether something goes before all data.
    #[inline]
    pub fn is_before_data(&self) -> bool {
        self.attention.0 | self.signals.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::Turn::{Before, Behind, Second};
    use super::*;

    #[test]
    fn acknowledgments_that_follow_the_reading_are_the_last() {
        let mut due = Due { acks: SubflowSet(0b111), pushed: SubflowSet(0b001), is_read: true, ..Due::default() };
        let order: Vec<(usize, Turn)> = std::iter::from_fn(|| due.pop_ack()).collect();
        assert_eq!(
            (order, due.pushed, due.is_read),
            (vec![(1, Before), (2, Before), (0, Behind)], SubflowSet(0), false)
        );
    }

    #[test]
    fn what_opens_behind_an_acknowledgment_is_another() {
        let mut due = Due { acks: SubflowSet(0b011), twice: Some(0), is_read: true, ..Due::default() };
        let order: Vec<(usize, Turn)> = std::iter::from_fn(|| due.pop_ack()).collect();
        assert_eq!((order, due.is_nothing(), due.is_read), (vec![(0, Before), (1, Before), (0, Second)], true, false));
    }

    /// What came with PSH meanwhile is acknowledged when it was read, and that is all.
    #[test]
    fn one_that_waits_for_the_reading_is_not_followed_by_another() {
        let (one, twice) = (SubflowSet(0b001), Some(0));
        let mut due = Due { acks: one, pushed: one, twice, is_read: true, ..Due::default() };
        assert_eq!((due.pop_ack(), due.pop_ack(), due.is_read), (Some((0, Behind)), None, false));
    }
}
