//! The opportunities of a trace that each packet uses. See [`crate::Trace`] for what an opportunity is.

use std::sync::Arc;

use crate::trace::Trace;

/// The opportunities used so far. Their times do not decrease.
#[derive(Clone, Debug)]
pub(super) struct Opportunities {
    trace: Arc<Trace>,
    /// Beginning of the period of the next opportunity; `u64::MAX` if it is beyond the maximum time.
    period_began_ns: u64,
    /// Index of the next opportunity.
    next: usize,
    /// Time of the last opportunity used.
    last_ns: u64,
    /// Bytes left of that opportunity.
    left: u32,
}

impl Opportunities {
    pub(super) const fn new(trace: Arc<Trace>) -> Self {
        Self { trace, period_began_ns: 0, next: 0, last_ns: 0, left: 0 }
    }

    /// Departure time of a packet of `size` bytes that arrived at `arrived_ns`, after its predecessors were sent.
    pub(super) fn send(&mut self, arrived_ns: u64, size: u16) -> u64 {
        if arrived_ns >= self.last_ns {
            self.left = 0;
            if self.next_ns() <= arrived_ns {
                self.seek(arrived_ns);
            }
        }
        let mut missing = u32::from(size) + Trace::FRAME_BYTES;
        while missing > self.left {
            missing -= self.left;
            self.take();
        }
        self.left -= missing;
        self.last_ns
    }

    /// Returns the opportunities used after `now_ns`.
    pub(super) fn stop(&mut self, now_ns: u64) {
        if now_ns < self.last_ns {
            (self.last_ns, self.left) = (now_ns, 0);
            self.seek(now_ns);
        }
    }

    fn next_ns(&self) -> u64 {
        self.period_began_ns.saturating_add(self.trace.times_ns()[self.next])
    }

    fn take(&mut self) {
        (self.last_ns, self.left) = (self.next_ns(), Trace::OPPORTUNITY_BYTES);
        self.next += 1;
        if self.next == self.trace.opportunities() {
            self.next = 0;
            self.period_began_ns = self.last_ns;
        }
    }

    /// Makes the first opportunity after `now_ns` the next one.
    fn seek(&mut self, now_ns: u64) {
        let into_ns = now_ns % self.trace.period_ns();
        self.period_began_ns = now_ns - into_ns;
        // The last opportunity of a period is at its end, so there is always one.
        self.next = self.trace.times_ns().partition_point(|&time_ns| time_ns <= into_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Opportunities {
        Opportunities::new(Arc::new(Trace::parse(text).unwrap()))
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn one_full_packet_an_opportunity() {
        let mut link = of("1\n1\n4\n6\n");
        let departures: Vec<u64> = (0..6).map(|_| link.send(0, 1_500) / MS).collect();
        assert_eq!(departures, [1, 1, 4, 6, 7, 7]);
    }

    #[test]
    fn the_first_opportunity_of_a_period_is_together_with_the_last_of_the_one_before() {
        let mut link = of("0\n5\n");
        // The opportunity at time 0 is over when a packet arrives at 0.
        let departures: Vec<u64> = (0..5).map(|_| link.send(0, 1_500) / MS).collect();
        assert_eq!(departures, [5, 5, 10, 10, 15]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let mut link = of("10\n");
        // 4 × 376 = 1,504. Then 104 bytes of the second are left; a full packet uses all of these and 1,400 of the
        // third.
        let sizes = [372, 372, 372, 372, 1_396, 1_500, 99, 2_900, 101];
        let departures: Vec<u64> = sizes.map(|size| link.send(0, size) / MS).to_vec();
        // 99 + 4 of the 104 bytes left, so 1 remains; 2,904 is that, 1,504 and 1,399, which leaves 105 for the last
        // packet.
        assert_eq!(departures, [10, 10, 10, 10, 20, 30, 30, 50, 50]);
        assert_eq!(link.send(0, 0), 60 * MS);
    }

    #[test]
    fn an_unused_opportunity_or_part_of_one_is_lost() {
        let mut link = of("10\n20\n20\n30\n");
        assert_eq!(link.send(5 * MS, 100), 10 * MS);
        assert_eq!(link.send(10 * MS - 1, 100), 10 * MS, "in time for the rest of it");
        assert_eq!(link.send(10 * MS, 100), 20 * MS, "too late");
        assert_eq!(link.send(20 * MS, 100), 30 * MS, "neither of the two");
        assert_eq!(link.send(1_000_000 * 30 * MS + 15 * MS, 100), 1_000_000 * 30 * MS + 20 * MS);
    }

    #[test]
    fn what_is_given_back_is_there_again() {
        let mut link = of("10\n20\n20\n30\n");
        for _ in 0..50 {
            link.send(0, 1_500);
        }
        link.stop(15 * MS);
        assert_eq!(link.send(15 * MS, 1_500), 20 * MS);
        assert_eq!(link.send(16 * MS, 1_500), 20 * MS);
        assert_eq!(link.send(16 * MS, 1_500), 30 * MS);
    }

    #[test]
    fn time_saturates() {
        let mut link = of("18446744073709\n");
        assert_eq!(link.send(0, 1_500), 18_446_744_073_709 * MS);
        assert_eq!(link.send(0, 1_500), u64::MAX);
        assert_eq!(link.send(u64::MAX, 1_500), u64::MAX);
        assert_eq!(link.send(u64::MAX, u16::MAX), u64::MAX);
    }
}
