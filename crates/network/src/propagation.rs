//! Propagation: a packet takes the delay in force when it departs, and never overtakes another.

use std::collections::VecDeque;

#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Propagation {
    /// Delay of the packets numbered below `until`.
    delay_ns: u64,
    /// Arrival time of the packet before the oldest one; 0 if no packet could arrive earlier.
    last_arrival_ns: u64,
    until: u64,
    /// Later delays, each with the number of the first packet it applies to: one entry per change while a packet is in
    /// flight.
    #[expect(clippy::box_collection, reason = "it is rare, and a link's first lines of the cache are dear")]
    later: Option<Box<VecDeque<(u64, u64)>>>,
}

impl Propagation {
    pub(crate) const fn new(delay_ns: u64) -> Self {
        Self { delay_ns, until: u64::MAX, later: None, last_arrival_ns: 0 }
    }

    /// Arrival time of the oldest packet, numbered `number`. Numbers must not decrease from call to call.
    #[inline]
    pub(crate) fn arrival_ns(&mut self, number: u64, departure_ns: u64) -> u64 {
        if number >= self.until {
            self.advance(number);
        }
        departure_ns.saturating_add(self.delay_ns).max(self.last_arrival_ns)
    }

    /// Whether all packets from the oldest one on have the same delay, so that none could overtake its predecessor.
    pub(crate) fn is_steady(&self) -> bool {
        self.until == u64::MAX && self.last_arrival_ns == 0
    }

    /// Like [`Self::arrival_ns`] in the steady case, in which [`Self::arrived`] need not be called.
    #[inline]
    pub(crate) const fn steady_arrival_ns(&self, departure_ns: u64) -> u64 {
        departure_ns.saturating_add(self.delay_ns)
    }

    /// Records that the oldest packet reached the far end.
    #[inline]
    pub(crate) const fn arrived(&mut self, at_ns: u64) {
        self.last_arrival_ns = at_ns;
    }

    /// Updates whether it is steady. `departure_ns` is the departure time of the oldest packet; `None` if there is
    /// none, because a later packet departs after all arrivals so far.
    pub(crate) fn settle(&mut self, departure_ns: Option<u64>) {
        if self.until == u64::MAX
            && departure_ns.is_none_or(|departure_ns| self.steady_arrival_ns(departure_ns) >= self.last_arrival_ns)
        {
            self.last_arrival_ns = 0;
        }
    }

    /// Packets numbered `first` and above take `delay_ns`; `first` must not decrease from call to call.
    pub(crate) fn change(&mut self, first: u64, delay_ns: u64) {
        let later = self.later.get_or_insert_default();
        if later.back().is_some_and(|&(number, _)| number == first) {
            later.pop_back();
        }
        later.push_back((first, delay_ns));
        self.until = later[0].0;
    }

    #[cold]
    fn advance(&mut self, number: u64) {
        let Some(later) = &mut self.later else { return };
        while let Some(&(first, delay_ns)) = later.front()
            && first <= number
        {
            self.delay_ns = delay_ns;
            later.pop_front();
        }
        self.until = later.front().map_or(u64::MAX, |&(first, _)| first);
        if later.is_empty() {
            self.later = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_takes_the_delay_of_its_number() {
        let mut wire = Propagation::new(10);
        wire.change(2, 20);
        wire.change(2, 30);
        wire.change(3, 40);
        assert_eq!(wire.later.as_ref().map(|later| later.len()), Some(2), "a delay that no packet takes is not kept");
        let mut arrivals = Vec::new();
        for (number, departure_ns) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)] {
            let at_ns = wire.arrival_ns(number, departure_ns);
            wire.arrived(at_ns);
            arrivals.push(at_ns);
        }
        assert_eq!(arrivals, [11, 12, 33, 44, 45]);
        assert_eq!((wire.until, wire.later), (u64::MAX, None));
    }

    #[test]
    fn a_shorter_delay_overtakes_nothing() {
        let mut wire = Propagation::new(100);
        wire.change(1, 5);
        let first = wire.arrival_ns(0, 10);
        wire.arrived(first);
        assert_eq!((first, wire.arrival_ns(1, 20)), (110, 110));
        assert_eq!(wire.arrival_ns(2, 107), 112);
    }

    #[test]
    fn is_steady_again_when_no_packet_can_overtake_another() {
        let mut wire = Propagation::new(100);
        assert!(wire.is_steady());
        wire.change(1, 5);
        assert!(!wire.is_steady());
        let first = wire.arrival_ns(0, 10);
        wire.arrived(first);
        // The next packet departed at 20 and would arrive at 25, but waits for the first until 110; the third is not
        // delayed.
        assert_eq!(wire.arrival_ns(1, 20), 110);
        wire.settle(Some(20));
        assert!(!wire.is_steady());
        wire.arrived(110);
        wire.settle(Some(107));
        assert!(wire.is_steady());
        assert_eq!((wire.arrival_ns(2, 107), wire.steady_arrival_ns(107)), (112, 112));
        // If no packet is left, the next departs after all arrivals.
        wire.arrived(112);
        wire.settle(None);
        assert!(wire.is_steady());
    }
}
