//! Linux's round-trip time and retransmission timeout: RFC 6298 in whole numbers, but for the deviation, of which the largest in a round trip
//! counts, and is given up by a quarter a round trip.
//!
//! Linux 6.12, `net/ipv4/tcp_input.c`: `tcp_rtt_estimator`, `tcp_set_rto`.

use crate::time::{Duration, Instant};

/// What is known of one subflow; times in microseconds, and parts of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinuxRtt {
    /// The smoothed RTT, in eighths; 0 before the first sample.
    srtt: i64,
    /// The mean deviation, in quarters.
    deviation: i64,
    /// The largest since the round trip began.
    largest: i64,
    /// The deviation that the timeout counts with.
    counted: i64,
    /// The round trip ends when all that was sent at its beginning is acknowledged.
    round_end: u64,
    least: i64,
}

/// When a sample was taken, and what is acknowledged and sent then.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub now: Instant,
    pub una: u64,
    pub nxt: u64,
}

impl LinuxRtt {
    /// `rto_min` bounds the deviation from below.
    pub fn new(rto_min: Duration) -> Self {
        LinuxRtt { least: (rto_min.as_nanos() / 1000).cast_signed(), ..LinuxRtt::default() }
    }

    /// Takes a sample.
    pub fn sample(&mut self, rtt: Duration, at: At) {
        let sent_at = at.now.saturating_sub(rtt);
        let sample = at.now.as_micros().saturating_sub(sent_at.as_micros()).max(1).cast_signed();
        if self.srtt == 0 {
            self.srtt = 8 * sample;
            self.deviation = 2 * sample;
            self.counted = self.deviation.max(self.least);
            self.largest = self.counted;
            self.round_end = at.nxt;
            return;
        }
        let error = sample - self.srtt / 8;
        self.srtt = (self.srtt + error).max(1);
        let more = error.abs() - self.deviation / 4;
        // A round trip that is shorter, but by much, hardly counts.
        self.deviation += if error < 0 && more > 0 { more / 8 } else { more };
        if self.deviation > self.largest {
            self.largest = self.deviation;
            self.counted = self.counted.max(self.largest);
        }
        if at.una > self.round_end {
            self.counted -= (self.counted - self.largest).max(0) / 4;
            self.round_end = at.nxt;
            self.largest = self.least;
        }
    }

    /// The smoothed RTT.
    pub fn srtt(&self) -> Duration {
        Duration::from_nanos(125 * self.srtt.unsigned_abs())
    }

    /// A quarter of what the timeout adds to the smoothed RTT.
    pub fn deviation(&self) -> Duration {
        Duration::from_nanos(250 * self.counted.unsigned_abs())
    }

    /// The timeout before its backoff.
    pub fn rto(&self) -> Duration {
        Duration::from_micros((self.srtt / 8 + self.counted).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(estimator: &mut LinuxRtt, rtt_us: u64, una: u64, nxt: u64) {
        let now = Instant::from_nanos(10_000_000_999);
        estimator.sample(Duration::from_micros(rtt_us), At { now, una, nxt });
    }

    /// 100 ms: the deviation is a quarter of 200 ms. 180 ms: 80 - 50 ms more in quarters, and 110 ms.
    #[test]
    fn estimates_worked_by_hand() {
        let mut e = LinuxRtt::new(Duration::from_millis(1));
        sample(&mut e, 100_000, 1, 1_000);
        assert_eq!((e.srtt(), e.rto()), (Duration::from_millis(100), Duration::from_millis(300)));
        sample(&mut e, 180_000, 900, 2_000);
        assert_eq!((e.srtt(), e.rto()), (Duration::from_millis(110), Duration::from_millis(110 + 230)));
        // Shorter by 88 ms, 30.5 more than the deviation of 57.5: an eighth of that.
        sample(&mut e, 22_000, 1_000, 2_000);
        assert_eq!((e.srtt(), e.rto()), (Duration::from_millis(99), Duration::from_micros(99_000 + 233_812)));
        // The round trip is over: from the next on the largest since then counts, and a quarter of what is more goes.
        sample(&mut e, 99_000, 1_001, 3_000);
        assert_eq!(e.counted, 233_812);
        sample(&mut e, 99_000, 3_001, 4_000);
        // The deviation has lost a quarter of itself twice: 233,812 - 58,453 - 43,839 = 131,520.
        assert_eq!((e.deviation, e.counted), (131_520, 233_812 - (233_812 - 131_520) / 4));
    }

    /// The difference is one of whole microseconds on the clock, and the smoothed RTT grows by what is lost in eighths.
    #[test]
    fn whole_microseconds() {
        let mut e = LinuxRtt::new(Duration::from_millis(200));
        let at = |ns| At { now: Instant::from_nanos(ns), una: 1, nxt: 1 };
        e.sample(Duration::from_nanos(1_999), at(10_000_998)); // from 9,998.999 to 10,000.998 µs
        assert_eq!(e.srtt(), Duration::from_micros(2));
        for _ in 0..100 {
            e.sample(Duration::from_nanos(1_001), at(10_001_001));
        }
        assert_eq!(e.srtt, 15, "1.875 µs: less than two are one");
        assert_eq!(e.rto(), Duration::from_micros(200_001));
    }
}
