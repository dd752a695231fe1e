//! Round-trip time and retransmission timeout (RFC 6298).

use crate::TcpOptions;

/// Estimator of one subflow.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RttEstimator {
    /// Sum of all samples.
    pub sum_ns: u128,
    /// SRTT; 0 before the first sample.
    pub srtt_ns: u64,
    /// RTTVAR.
    pub rttvar_ns: u64,
    /// Smallest sample; 0 before the first.
    pub min_rtt_ns: u64,
    /// Number of samples.
    pub samples: u64,
    /// Consecutive timeouts without progress.
    pub backoff: u32,
    backs_off: bool,
    /// The congestion control wants to be told of each sample.
    pub told: bool,
    min_ns: u64,
    max_ns: u64,
    /// Before the first sample.
    initial_ns: u64,
}

/// RFC 6298 §5.7: the timeout before the first sample when data goes out after a SYN that was lost.
const AFTER_LOST_SYN_NS: u64 = 3_000_000_000;

impl RttEstimator {
    /// No sample yet.
    pub fn new(options: &TcpOptions) -> Self {
        RttEstimator {
            srtt_ns: 0,
            rttvar_ns: 0,
            min_rtt_ns: 0,
            sum_ns: 0,
            samples: 0,
            backoff: 0,
            min_ns: options.rto_min_ns,
            max_ns: options.rto_max_ns,
            backs_off: options.rto_backoff,
            initial_ns: options.rto_initial_ns,
            told: false,
        }
    }

    /// Takes a sample, which must not come from a retransmitted segment (Karn; RFC 6298 §3).
    pub fn sample(&mut self, rtt_ns: u64) {
        let rtt_ns = rtt_ns.max(1); // 0 stands for "none"
        if self.samples == 0 {
            // RFC 6298 §2.2.
            self.srtt_ns = rtt_ns;
            self.rttvar_ns = rtt_ns / 2;
            self.min_rtt_ns = rtt_ns;
        } else {
            // RFC 6298 §2.3, α = 1/8, β = 1/4; the deviation first.
            self.rttvar_ns = (3 * self.rttvar_ns + self.srtt_ns.abs_diff(rtt_ns)) / 4;
            self.srtt_ns = (7 * self.srtt_ns + rtt_ns) / 8;
            self.min_rtt_ns = self.min_rtt_ns.min(rtt_ns);
        }
        self.sum_ns += u128::from(rtt_ns);
        self.samples += 1;
    }

    /// The SYN was sent again: "the RTO MUST be re-initialized to 3 seconds when data transmission begins" (§5.7).
    pub fn syn_lost(&mut self) {
        self.initial_ns = self.initial_ns.max(AFTER_LOST_SYN_NS);
    }

    /// The timeout before backoff: SRTT + 4·RTTVAR, within its bounds.
    pub fn base_rto_ns(&self) -> u64 {
        if self.samples == 0 {
            return self.initial_ns.clamp(self.min_ns, self.max_ns);
        }
        // As Linux does it, the lower bound holds for the term of the deviation: a timeout is never closer to the
        // smoothed RTT than rto_min, so a delayed ACK (40 ms) on a steady path is not a timeout.
        (self.srtt_ns + (4 * self.rttvar_ns).max(self.min_ns)).min(self.max_ns)
    }

    /// The timeout with its exponential backoff (RFC 6298 §5.5).
    pub fn rto_ns(&self) -> u64 {
        let base = self.base_rto_ns();
        if self.backoff == 0 || !self.backs_off {
            return base;
        }
        base.saturating_mul(1 << self.backoff.min(16)).min(self.max_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_first_timeout_can_be_given_and_a_lost_syn_makes_it_three_seconds_at_least() {
        for (initial, after) in [(1000, 3000), (3000, 3000), (5000, 5000)] {
            let mut e = RttEstimator::new(&TcpOptions { rto_initial_ns: initial * MS, ..TcpOptions::default() });
            assert_eq!(e.rto_ns(), initial * MS);
            e.syn_lost();
            assert_eq!(e.rto_ns(), after * MS);
        }
    }

    #[test]
    fn estimates_worked_by_hand() {
        let mut e = RttEstimator::new(&TcpOptions { rto_min_ns: 0, ..TcpOptions::default() });
        assert_eq!(e.rto_ns(), 1000 * MS);
        e.sample(100 * MS);
        assert_eq!((e.srtt_ns, e.rttvar_ns, e.rto_ns()), (100 * MS, 50 * MS, 300 * MS));
        e.sample(180 * MS);
        // RTTVAR = (3·50 + 80)/4 = 57.5, SRTT = (7·100 + 180)/8 = 110, RTO = 110 + 230.
        assert_eq!((e.srtt_ns, e.rttvar_ns, e.rto_ns()), (110 * MS, 57_500_000, 340 * MS));
        assert_eq!(e.min_rtt_ns, 100 * MS);
    }

    #[test]
    fn bounds_and_backoff() {
        let mut e = RttEstimator::new(&TcpOptions::default());
        for _ in 0..100 {
            e.sample(20 * MS);
        }
        assert_eq!(e.rto_ns(), 220 * MS);
        e.backoff = 3;
        assert_eq!(e.rto_ns(), 8 * 220 * MS);
        e.backoff = 40;
        assert_eq!(e.rto_ns(), 120_000 * MS);
    }
}
