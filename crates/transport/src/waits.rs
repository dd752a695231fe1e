//! What bytes that arrived too early waited for: which subflow brought it, and which decision had put it there.
//!
//! All that a byte waited is put down to the segment that freed it: the one that brought the last of what precedes the byte.
//! The receiver knows that segment's subflow. Why it was sent only its sender knows; a driver that has both ends asks the
//! sender when the segment leaves ([`Connection::decision_on`](crate::Connection::decision_on)) and tells the receiver when it
//! arrives ([`Connection::attribute`](crate::Connection::attribute)). What nobody asked about counts as sent for the first time.

/// Why a segment was sent on the subflow that it arrived by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// Its data was new: the scheduler chose this subflow for it.
    First,
    /// It had been sent on this subflow before, and was taken for lost or sent as a probe.
    Retransmission,
    /// It had been sent on this subflow before, and the retransmission timer expired.
    Timeout,
    /// Its data had been sent on another subflow before.
    Reinjection,
}

impl Sending {
    /// How many there are.
    pub const COUNT: usize = 4;
    /// All of them, in their order.
    pub const ALL: [Sending; Self::COUNT] = [Self::First, Self::Retransmission, Self::Timeout, Self::Reinjection];
}

/// What bytes waited for a subflow, in byte·ns, by [`Sending`].
pub type WaitByteNs = [u128; Sending::COUNT];

/// The account of a connection.
#[derive(Debug, Default)]
pub struct Waits {
    /// By subflow; grows when there is something to put down.
    by_subflow: Vec<WaitByteNs>,
    /// What was freed since somebody asked last, and by which subflow.
    open_byte_ns: u128,
    open_by: u8,
}

impl Waits {
    /// Bytes were freed by subflow `r` that had waited.
    pub fn add(&mut self, r: u8, byte_ns: u128) {
        if self.open_by != r {
            self.close(Sending::First);
            self.open_by = r;
        }
        self.open_byte_ns += byte_ns;
    }

    /// What was freed last is put down to this.
    pub fn close(&mut self, sending: Sending) {
        let (r, byte_ns) = (usize::from(self.open_by), std::mem::take(&mut self.open_byte_ns));
        if byte_ns > 0 {
            if self.by_subflow.len() <= r {
                self.by_subflow.resize(r + 1, WaitByteNs::default());
            }
            self.by_subflow[r][sending as usize] += byte_ns;
        }
    }

    /// What was put down to subflow `r`.
    pub fn of(&self, r: usize) -> WaitByteNs {
        let mut waited = self.by_subflow.get(r).copied().unwrap_or_default();
        if usize::from(self.open_by) == r {
            waited[Sending::First as usize] += self.open_byte_ns;
        }
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_freed_is_put_down_to_its_subflow_and_decision() {
        let mut waits = Waits::default();
        waits.add(1, 30);
        waits.add(1, 12);
        waits.close(Sending::Timeout);
        waits.add(0, 5);
        waits.close(Sending::Reinjection);
        assert_eq!((waits.of(0), waits.of(1), waits.of(2)), ([0, 0, 0, 5], [0, 0, 42, 0], [0; 4]));
    }

    #[test]
    fn what_nobody_asked_about_was_sent_for_the_first_time() {
        let mut waits = Waits::default();
        waits.add(0, 7);
        assert_eq!(waits.of(0), [7, 0, 0, 0]);
        waits.add(1, 9);
        waits.close(Sending::Retransmission);
        assert_eq!((waits.of(0), waits.of(1)), ([7, 0, 0, 0], [0, 9, 0, 0]));
    }
}
