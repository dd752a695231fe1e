//! A token bucket: tokens arrive at `rate_bps` until the bucket holds `burst`. A packet leaves when there are as many
//! tokens as it has bytes, and consumes them. In any t seconds at most rate · t + burst leaves, plus one packet.

use super::work::WORK_PER_BYTE;

/// A token bucket before a link. Tokens arrive at the rate, in bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketConfig {
    /// Maximum burst in bytes.
    pub burst_bytes: u64,
    /// Whether packets without enough tokens are dropped rather than queued.
    pub polices: bool,
}

/// Times are kept as the work that the rate does until then, in units of 10⁻⁹ bit, so that rounding errors do not
/// accumulate.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate_bps: u128,
    burst: u128,
    /// When the bucket is full again if no more tokens are used.
    full: u128,
    polices: bool,
}

impl Bucket {
    pub(super) const fn new(rate_bps: u64, burst_bytes: u64, polices: bool) -> Self {
        let burst = burst_bytes as u128 * WORK_PER_BYTE as u128;
        Self { rate_bps: rate_bps as u128, burst, full: 0, polices }
    }

    /// When enough tokens are available for a packet that arrives at `now_ns`; for a packet larger than the bucket,
    /// when the bucket is full.
    pub(super) fn departure_ns(&self, now_ns: u64, size: u16) -> u64 {
        let spare = self.burst.saturating_sub(work(size));
        let at_ns = self.full.saturating_sub(spare).div_ceil(self.rate_bps);
        u64::try_from(at_ns).unwrap_or(u64::MAX).max(now_ns)
    }

    pub(super) fn send(&mut self, now_ns: u64, size: u16) -> u64 {
        let departure_ns = self.departure_ns(now_ns, size);
        self.full = self.full.max(u128::from(departure_ns) * self.rate_bps) + work(size);
        departure_ns
    }

    /// Changes the rate of the tokens from `now_ns` on. The tokens used by packets of `taken_bytes` in total that have
    /// not departed are returned, because these packets must be sent again.
    pub(super) fn change_rate(&mut self, now_ns: u64, rate_bps: u64, taken_bytes: u64) {
        let taken = u128::from(taken_bytes) * u128::from(WORK_PER_BYTE);
        let missing = self.full.saturating_sub(taken).saturating_sub(u128::from(now_ns) * self.rate_bps);
        self.rate_bps = u128::from(rate_bps);
        self.full = u128::from(now_ns) * self.rate_bps + missing;
    }

    /// Whether packets that would have to wait are dropped.
    pub(super) const fn polices(&self) -> bool {
        self.polices
    }
}

fn work(size: u16) -> u128 {
    u128::from(size) * u128::from(WORK_PER_BYTE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 8 Mbit/s are 1 byte per microsecond. A bucket of 3,000 bytes sends two packets of 1,500 bytes at once, then one
    /// every 1.5 ms. After 4 ms without packets it has 3,000 tokens again, not 4,000.
    #[test]
    fn tokens_by_hand() {
        let mut bucket = Bucket::new(8_000_000, 3_000, false);
        let times: Vec<u64> = (0..4).map(|_| bucket.send(1_000, 1_500)).collect();
        assert_eq!(times, [1_000, 1_000, 1_501_000, 3_001_000]);
        let later: Vec<u64> = (0..3).map(|_| bucket.send(9_000_000, 1_500)).collect();
        assert_eq!(later, [9_000_000, 9_000_000, 10_500_000]);
        // Of 1,000 tokens at 11.5 ms, a packet of 600 bytes leaves 400; 1,100 are available 0.7 ms later.
        assert_eq!((bucket.send(11_500_000, 600), bucket.send(11_500_000, 1_100)), (11_500_000, 12_200_000));
    }

    /// At 8 Mbit/s with a bucket of 3,000 bytes, the third packet of 1,500 bytes would leave at 1.5 ms. At 0.5 ms there
    /// are 500 tokens; at 4 Mbit/s, half a byte per microsecond, the other 1,000 take 2 ms more. A full bucket stays
    /// full.
    #[test]
    fn tokens_stay_when_the_rate_changes() {
        let mut bucket = Bucket::new(8_000_000, 3_000, false);
        let times: Vec<u64> = (0..3).map(|_| bucket.send(0, 1_500)).collect();
        assert_eq!(times, [0, 0, 1_500_000]);
        bucket.change_rate(500_000, 4_000_000, 1_500);
        assert_eq!(bucket.send(500_000, 1_500), 2_500_000);
        bucket.change_rate(20_000_000, 1_000, 0);
        assert_eq!((bucket.send(20_000_000, 1_500), bucket.send(20_000_000, 1_500)), (20_000_000, 20_000_000));
        assert_eq!(bucket.send(20_000_000, 1), 28_000_000);
    }

    proptest! {
        /// The law: at most rate · time + burst in every interval, plus a packet if it is larger than the bucket.
        #[test]
        fn no_interval_has_more_than_its_tokens(
            rate_bps in 1_000..1_000_000_000_u64,
            burst_bytes in 0..20_000_u64,
            packets in proptest::collection::vec((0..3_000_000_u64, 40..1_500_u16), 1..100),
        ) {
            let mut bucket = Bucket::new(rate_bps, burst_bytes, false);
            let mut now_ns = 0;
            let sent: Vec<(u64, u64)> = packets.iter().map(|&(gap_ns, size)| {
                now_ns += gap_ns;
                (bucket.send(now_ns, size), u64::from(size))
            }).collect();
            prop_assert!(sent.is_sorted_by_key(|&(at_ns, _)| at_ns));
            for from in 0..sent.len() {
                let mut bytes = 0;
                for &(at_ns, size) in &sent[from..] {
                    bytes += size;
                    let allowed = u128::from(at_ns - sent[from].0) * u128::from(rate_bps) / 8_000_000_000;
                    prop_assert!(u128::from(bytes) <= allowed + u128::from(burst_bytes.max(1_500)) + 1);
                }
            }
        }
    }
}
