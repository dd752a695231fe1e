//! Round-trip time and retransmission timeout (RFC 6298).

use crate::TcpOptions;
use crate::Timers;
use crate::tcp::rtt_linux::{At, LinuxRtt};
use crate::tcp::wheel;
use crate::time::{Duration, Instant};

/// Estimator of one subflow.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct RttEstimator {
    /// Sum of all samples.
    pub sum_ns: u128,
    /// SRTT; 0 before the first sample.
    pub srtt: Duration,
    /// RTTVAR.
    pub rttvar: Duration,
    /// Smallest sample; 0 before the first.
    pub min_rtt: Duration,
    /// Number of samples.
    pub samples: u64,
    /// Consecutive timeouts without progress.
    pub backoff: u32,
    backs_off: bool,
    /// The congestion control wants to be told of each sample.
    pub told: bool,
    /// Timers are Linux's.
    pub ticks: bool,
    /// How much later than its tick the timer that was set last expires, in milliseconds, at most 255.
    late_ms: u8,
    rto_min: Duration,
    rto_max: Duration,
    /// Before the first sample.
    rto_initial: Duration,
    /// The next sample is the first, or timers are Linux's.
    rare: bool,
    linux: Option<Box<LinuxRtt>>,
}

/// RFC 6298 §5.7: the timeout before the first sample when data goes out after a SYN that was lost.
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

impl RttEstimator {
    /// No sample yet.
    pub fn new(options: &TcpOptions) -> Self {
        RttEstimator {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min_rtt: Duration::ZERO,
            sum_ns: 0,
            samples: 0,
            backoff: 0,
            rto_min: options.rto_min(),
            rto_max: options.rto_max(),
            backs_off: options.rto_backoff,
            rto_initial: Duration::from_nanos(options.rto_initial_ns),
            told: false,
            ticks: options.timers == Timers::Linux,
            late_ms: 0,
            rare: true,
            linux: (options.timers == Timers::Linux).then(|| Box::new(LinuxRtt::new(options.rto_min()))),
        }
    }

    /// Whether the next sample is the first, or timers are Linux's.
    #[inline(always)]
    pub fn is_rare(&self) -> bool {
        self.rare
    }

    /// Takes a sample, which must not come from a retransmitted segment (Karn; RFC 6298 §3), and not be [rare](Self::is_rare).
    #[inline(always)]
    pub fn sample(&mut self, rtt: Duration) {
        // RFC 6298 §2.3, α = 1/8, β = 1/4; the deviation first.
        self.rttvar = (3 * self.rttvar + self.srtt.abs_diff(rtt)) / 4;
        self.srtt = (7 * self.srtt + rtt) / 8;
        self.min_rtt = self.min_rtt.min(rtt);
        self.count(rtt);
    }

    /// The same of one that is.
    pub fn sample_rarely(&mut self, rtt: Duration, at: At) {
        if let Some(linux) = &mut self.linux {
            linux.sample(rtt, at);
            (self.srtt, self.rttvar) = (linux.srtt(), linux.deviation());
            self.min_rtt = if self.samples == 0 { rtt } else { self.min_rtt.min(rtt) };
        } else {
            // RFC 6298 §2.2.
            (self.srtt, self.rttvar, self.min_rtt) = (rtt, rtt / 2, rtt);
            self.rare = false;
        }
        self.count(rtt);
    }

    fn count(&mut self, rtt: Duration) {
        self.sum_ns += u128::from(rtt.as_nanos());
        self.samples += 1;
    }

    /// The SYN was sent again: "the RTO MUST be re-initialized to 3 seconds when data transmission begins" (§5.7).
    pub fn syn_lost(&mut self) {
        self.rto_initial = self.rto_initial.max(AFTER_LOST_SYN);
    }

    /// The timeout before backoff: SRTT + 4·RTTVAR, within its bounds.
    pub fn base_rto(&self) -> Duration {
        if self.samples == 0 {
            return self.rto_initial.clamp(self.rto_min, self.rto_max);
        }
        if let Some(linux) = &self.linux {
            return linux.rto().min(self.rto_max);
        }
        // As Linux does it, the lower bound holds for the term of the deviation: a timeout is never closer to the
        // smoothed RTT than rto_min, so a delayed ACK (40 ms) on a steady path is not a timeout.
        (self.srtt + (4 * self.rttvar).max(self.rto_min)).min(self.rto_max)
    }

    /// The timeout with its exponential backoff (RFC 6298 §5.5).
    pub fn rto(&self) -> Duration {
        let base = self.base_rto();
        if self.backoff == 0 || !self.backs_off {
            return base;
        }
        let base = if self.ticks { wheel::ticks(base) } else { base };
        base.saturating_mul(1 << self.backoff.min(16)).min(self.rto_max)
    }
}

impl RttEstimator {
    /// When a timer that is set now expires, after the timeout.
    #[inline(always)]
    pub fn expiry(&mut self, now: Instant) -> Instant {
        if self.ticks { self.expiry_in_ticks(now) } else { now + self.rto() }
    }

    #[cold]
    fn expiry_in_ticks(&mut self, now: Instant) -> Instant {
        let (at, tick) = wheel::expiry(now, self.rto());
        self.late_ms = (at.as_millis() - tick.as_millis()).min(255) as u8;
        at
    }

    /// The tick for which a timer was set that expires at `at`.
    pub fn tick_of(&self, at: Instant) -> Instant {
        at.saturating_sub(Duration::from_millis(self.late_ms.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const AT: At = At { now: Instant::ZERO, una: 0, nxt: 0 };

    #[test]
    fn the_first_timeout_can_be_given_and_a_lost_syn_makes_it_three_seconds_at_least() {
        for (initial, after) in [(1000, 3000), (3000, 3000), (5000, 5000)] {
            let mut e =
                RttEstimator::new(&TcpOptions { rto_initial_ns: (initial * MS).as_nanos(), ..TcpOptions::default() });
            assert_eq!(e.rto(), Duration::from_millis(initial));
            e.syn_lost();
            assert_eq!(e.rto(), Duration::from_millis(after));
        }
    }

    #[test]
    fn estimates_worked_by_hand() {
        let mut e = RttEstimator::new(&TcpOptions { rto_min_ns: 0, ..TcpOptions::default() });
        assert_eq!(e.rto(), Duration::from_millis(1000));
        e.sample_rarely(Duration::from_millis(100), AT);
        assert_eq!((e.srtt, e.rttvar, e.rto()), (100 * MS, 50 * MS, 300 * MS));
        e.sample(Duration::from_millis(180));
        // RTTVAR = (3·50 + 80)/4 = 57.5, SRTT = (7·100 + 180)/8 = 110, RTO = 110 + 230.
        assert_eq!((e.srtt, e.rttvar, e.rto()), (110 * MS, 57_500 * Duration::from_micros(1), 340 * MS));
        assert_eq!(e.min_rtt, Duration::from_millis(100));
    }

    #[test]
    fn bounds_and_backoff() {
        let mut e = RttEstimator::new(&TcpOptions::default());
        e.sample_rarely(Duration::from_millis(20), AT);
        for _ in 0..100 {
            e.sample(Duration::from_millis(20));
        }
        assert_eq!(e.rto(), Duration::from_millis(220));
        e.backoff = 3;
        assert_eq!(e.rto(), Duration::from_nanos((8 * 220 * MS).as_nanos()));
        e.backoff = 40;
        assert_eq!(e.rto(), Duration::from_millis(120_000));
    }
}
