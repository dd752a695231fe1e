//! An application that reads slowly, or not at all for a while: `read_rate` and `read` of a connection.
//!
//! It takes a piece of what has arrived, and the next only after the time that the piece takes at its rate. Time in which
//! nothing had arrived is lost: it does not read faster afterwards.

use std::sync::Arc;

use serde::Deserialize;

/// Time per second, in nanoseconds.
const SECOND_NS: u128 = 1_000_000_000;
/// How much an application takes at once: what it reads in this part of a second.
const PIECES_PER_S: u64 = 100;
/// The least that it takes at once, bytes.
const LEAST_BYTES: u64 = 1500;

/// The rate of reading from a time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// When it begins.
    pub at_ns: u64,
    /// Bits per second; 0 means nothing is read. Everything is read as it comes if absent.
    pub rate_bps: Option<u64>,
}

/// The state of one stream's reader.
#[derive(Clone, Debug)]
pub struct Reader {
    /// In the order of their times; before the first, everything is read as it comes.
    stages: Arc<[Stage]>,
    /// When it has dealt with what it took, and what remained in the division: bits times 10⁹, less than the rate.
    free_ns: u64,
    rest: u128,
    /// The time for which the driver arranged to call.
    arranged_ns: Option<u64>,
    /// Whether the end of the stream has arrived, but data before it is unread.
    pub end_waits: bool,
}

impl Reader {
    /// A reader that has read nothing yet.
    pub fn new(stages: Arc<[Stage]>) -> Reader {
        Reader { stages, free_ns: 0, rest: 0, arranged_ns: None, end_waits: false }
    }

    /// The rate at a time, and when the next stage begins.
    fn stage(&self, at_ns: u64) -> (Option<u64>, u64) {
        let next = self.stages.partition_point(|stage| stage.at_ns <= at_ns);
        let rate_bps = next.checked_sub(1).and_then(|number| self.stages[number].rate_bps);
        (rate_bps, self.stages.get(next).map_or(u64::MAX, |stage| stage.at_ns))
    }

    /// When it reads next if data is there: `now_ns` or later, or `u64::MAX` if never.
    pub fn next_ns(&self, now_ns: u64) -> u64 {
        let mut at_ns = now_ns.max(self.free_ns);
        while at_ns < u64::MAX
            && let (Some(0), next_ns) = self.stage(at_ns)
        {
            at_ns = next_ns;
        }
        at_ns
    }

    /// The time at which the driver is to call, unless it was told before.
    pub fn arrange(&mut self, now_ns: u64) -> Option<u64> {
        let at_ns = self.next_ns(now_ns);
        let is_new = at_ns < u64::MAX && self.arranged_ns != Some(at_ns);
        self.arranged_ns = Some(at_ns);
        is_new.then_some(at_ns)
    }

    /// How many bytes it would take now, if so many are there.
    pub fn takes(&self, now_ns: u64) -> u64 {
        match self.stage(now_ns).0 {
            _ if self.next_ns(now_ns) > now_ns => 0,
            None => u64::MAX,
            Some(rate_bps) => (rate_bps / 8 / PIECES_PER_S).max(LEAST_BYTES),
        }
    }

    /// It has taken this many bytes.
    pub fn took(&mut self, now_ns: u64, bytes: u64) {
        if now_ns > self.free_ns {
            (self.free_ns, self.rest) = (now_ns, 0);
        }
        let mut left = u128::from(8 * bytes) * SECOND_NS + self.rest;
        loop {
            let (rate_bps, next_ns) = self.stage(self.free_ns);
            let Some(rate_bps) = rate_bps else {
                self.rest = 0;
                return;
            };
            let lasts = u128::from(next_ns - self.free_ns) * u128::from(rate_bps);
            if left < lasts {
                self.free_ns += (left / u128::from(rate_bps)) as u64;
                self.rest = left % u128::from(rate_bps);
                return;
            }
            left -= lasts;
            self.free_ns = next_ns;
            if next_ns == u64::MAX {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn reader(stages: &[(u64, Option<u64>)]) -> Reader {
        Reader::new(stages.iter().map(|&(at_ns, rate_bps)| Stage { at_ns, rate_bps }).collect())
    }

    /// 1,250 bytes at 1 Mbit/s take 10 ms.
    #[test]
    fn the_next_piece_waits_for_the_time_of_the_last() {
        let mut slow = reader(&[(0, Some(1_000_000))]);
        assert_eq!((slow.next_ns(5 * MS), slow.takes(5 * MS)), (5 * MS, 1500));
        slow.took(5 * MS, 1250);
        assert_eq!((slow.next_ns(6 * MS), slow.takes(6 * MS)), (15 * MS, 0));
        assert_eq!((slow.arrange(6 * MS), slow.arrange(7 * MS)), (Some(15 * MS), None), "the driver is told once");
        // Nothing came until 40 ms: that time is lost.
        slow.took(40 * MS, 1250);
        assert_eq!(slow.next_ns(40 * MS), 50 * MS);
    }

    /// At 3 bit/s a byte takes 2 2/3 s; three of them take 8 s exactly.
    #[test]
    fn fractions_of_a_nanosecond_add_up() {
        let mut slow = reader(&[(0, Some(3))]);
        let mut at_ns = 0;
        for _ in 0..3 {
            slow.took(at_ns, 1);
            at_ns = slow.next_ns(at_ns);
        }
        assert_eq!(at_ns, 8000 * MS);
    }

    #[test]
    fn stages_follow_each_other() {
        let mut told = reader(&[(10 * MS, Some(0)), (20 * MS, Some(1_000_000)), (30 * MS, None), (40 * MS, Some(0))]);
        assert_eq!((told.next_ns(0), told.takes(0)), (0, u64::MAX), "before the first stage, as it comes");
        told.took(0, 1 << 30);
        assert_eq!((told.next_ns(0), told.next_ns(10 * MS)), (0, 20 * MS));
        // Of 2,500 bytes, half takes until 30 ms; the rest takes no time.
        told.took(20 * MS, 2500);
        assert_eq!((told.next_ns(20 * MS), told.takes(30 * MS)), (30 * MS, u64::MAX));
        assert_eq!((told.next_ns(40 * MS), told.arrange(40 * MS)), (u64::MAX, None), "never again");
    }

    /// What is under way when a pause begins is dealt with after it.
    #[test]
    fn a_pause_interrupts_the_piece_that_was_taken() {
        let mut told = reader(&[(0, Some(1_000_000)), (5 * MS, Some(0)), (105 * MS, Some(2_000_000))]);
        told.took(0, 1250);
        // 5 of its 10 ms before the pause; the other half at twice the rate.
        assert_eq!(told.next_ns(0), 107 * MS + MS / 2);
    }
}
