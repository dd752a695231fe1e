//! What a subflow counts.

use crate::time::{Duration, Instant};

/// Counters since the subflow began, and its present state. A driver subtracts snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Segments with data sent, retransmissions counted.
    pub data_segments_sent: u64,
    /// Of those, retransmissions on this subflow.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Losses, found or suspected, that turned out to be none.
    pub undone: u64,
    /// Window reductions because of ECN marks.
    pub marks: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Segments that carried data sent before on another subflow.
    pub reinjections: u64,
    /// When the first of them went out since [`crate::Connection::watch_reinjections`]; 0 while none did.
    pub first_reinjection_ns: u64,
    /// Sum of the RTT samples.
    pub rtt_sum_ns: u128,
    /// Number of RTT samples.
    pub rtt_samples: u64,
    /// When the subflow was established; 0 while it is not.
    pub established_ns: u64,
    /// Integral of the congestion window, in segments, over time since then, as far as the next field.
    pub cwnd_integral_segment_ns: f64,
    /// How far the integral goes. [`cwnd_segments`](Self::cwnd_segments) has held since.
    pub cwnd_integral_until_ns: u64,
    /// Congestion window now, in segments.
    pub cwnd_segments: f64,
    /// Smoothed RTT now; 0 before the first sample.
    pub srtt_ns: u64,
    /// Segments in flight now.
    pub in_flight_segments: u32,
    /// Bytes of the stream that arrived first by this subflow.
    pub new_bytes_received: u64,
    /// Segments with data received, duplicates counted.
    pub data_segments_received: u64,
    /// What this subflow made the bytes of other subflows wait at this host, in byte·ns: they had arrived, and were
    /// delivered only when it brought what precedes them.
    pub others_waited_byte_ns: u128,
    /// What the bytes of this subflow waited for others of its own, in byte·ns.
    pub own_waited_byte_ns: u128,
}

/// What of [`Statistics`] a subflow counts wherever it sends. The rest is in [`Losses`](crate::tcp::losses::Losses), or the
/// present state.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct SentCounts {
    pub data_segments: u64,
    pub cwnd_integral_segment_ns: f64,
    pub cwnd_integral_until: Instant,
    pub established_at: Instant,
    pub retransmissions: u64,
}

/// The same wherever it receives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceivedCounts {
    pub data_segments: u64,
    pub new_bytes: u64,
}

/// What bytes waited for those before them, in byte·ns: see [`Statistics`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitedCounts {
    pub for_others_byte_ns: u128,
    pub for_own_byte_ns: u128,
}

impl SentCounts {
    pub fn extend_cwnd(&mut self, cwnd: f64, now: Instant) {
        if !self.established_at.is_zero() || !self.cwnd_integral_until.is_zero() {
            self.cwnd_integral_segment_ns += cwnd * (now - self.cwnd_integral_until).as_nanos() as f64;
        }
        self.cwnd_integral_until = now;
    }
}

/// How long bytes waited at the receiver for those before them: a histogram over bytes with eight buckets an octave,
/// so a quantile is right within 9 %. Empty, and without memory, until something waited.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram {
    total_bytes: u64,
    waited: Option<Box<Buckets>>,
}

/// Of bytes that waited.
#[derive(Clone, Debug, Default)]
struct Buckets {
    sum_byte_ns: u128,
    /// Of buckets from `first` on.
    counts: Vec<u64>,
    first: usize,
}

const BUCKETS_AN_OCTAVE: u32 = 8;

impl DelayHistogram {
    /// `bytes` were delivered `delay` after they had arrived.
    pub fn add(&mut self, delay: Duration, bytes: u64) {
        self.total_bytes += bytes;
        if delay.is_zero() {
            return;
        }
        let waited = self.waited.get_or_insert_default();
        waited.sum_byte_ns += u128::from(delay.as_nanos()) * u128::from(bytes);
        let bucket = Self::bucket(delay.as_nanos());
        let i = bucket.wrapping_sub(waited.first);
        if let Some(count) = waited.counts.get_mut(i) {
            *count += bytes;
        } else {
            *waited.widened(bucket) += bytes;
        }
    }

    /// Bytes delivered, and their delays together, in byte·ns.
    pub fn totals(&self) -> (u64, u128) {
        (self.total_bytes, self.sum_byte_ns())
    }

    /// Takes in what another histogram counted: the delays of both as of one.
    pub fn merge(&mut self, other: &DelayHistogram) {
        self.total_bytes += other.total_bytes;
        if let Some(other) = &other.waited {
            let waited = self.waited.get_or_insert_default();
            waited.sum_byte_ns += other.sum_byte_ns;
            for (bucket, count) in other.buckets().filter(|&(_, count)| count > 0) {
                *waited.widened(bucket) += count;
            }
        }
    }

    /// The buckets of bytes that waited.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        self.waited.iter().flat_map(|waited| waited.buckets())
    }

    fn bucket(delay_ns: u64) -> usize {
        let octave = delay_ns.ilog2();
        // The leading bit at the top: below it stand the bits of the fraction.
        let eighths = ((delay_ns << (63 - octave)) >> 60) as u32;
        (octave * BUCKETS_AN_OCTAVE + eighths - BUCKETS_AN_OCTAVE) as usize
    }

    fn upper_ns(bucket: usize) -> f64 {
        let (octave, fraction) = (bucket as u32 / BUCKETS_AN_OCTAVE, bucket as u32 % BUCKETS_AN_OCTAVE);
        2f64.powi(octave as i32) * f64::from(BUCKETS_AN_OCTAVE + fraction + 1) / f64::from(BUCKETS_AN_OCTAVE)
    }

    /// Sum over all bytes of the time they waited, in byte·ns.
    pub fn sum_byte_ns(&self) -> u128 {
        self.waited.as_ref().map_or(0, |waited| waited.sum_byte_ns)
    }

    /// Mean delay in seconds; none when nothing was delivered.
    pub fn mean_s(&self) -> Option<f64> {
        (self.total_bytes > 0).then(|| self.sum_byte_ns() as f64 / self.total_bytes as f64 * 1e-9)
    }

    /// The delay in seconds that a share `q` of the bytes did not exceed, rounded up to its bucket.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        if self.total_bytes == 0 {
            return None;
        }
        let waited: u64 = self.buckets().map(|(_, count)| count).sum();
        let mut below = (self.total_bytes - waited) as f64;
        let wanted = q * self.total_bytes as f64;
        if below >= wanted {
            return Some(0.0);
        }
        for (bucket, count) in self.buckets() {
            below += count as f64;
            if below >= wanted {
                return Some(Self::upper_ns(bucket) * 1e-9);
            }
        }
        None
    }
}

impl Buckets {
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        (self.first..).zip(self.counts.iter().copied())
    }

    /// The count of a bucket for which there is no place yet.
    #[cold]
    fn widened(&mut self, bucket: usize) -> &mut u64 {
        if self.counts.is_empty() {
            self.first = bucket;
        } else if bucket < self.first {
            let more = self.first - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let i = bucket - self.first;
        if self.counts.len() <= i {
            let octaves = (i + 1).next_multiple_of(BUCKETS_AN_OCTAVE as usize);
            self.counts.reserve_exact(octaves - self.counts.len());
            self.counts.resize(i + 1, 0);
        }
        &mut self.counts[i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_within_a_bucket() {
        let mut h = DelayHistogram::default();
        assert_eq!((h.mean_s(), h.quantile_s(0.95)), (None, None));
        h.add(Duration::ZERO, 900);
        h.add(Duration::from_millis(10), 60);
        h.add(Duration::from_millis(100), 40);
        assert!((h.mean_s().unwrap() - 0.0046).abs() < 1e-12);
        assert_eq!(h.quantile_s(0.9), Some(0.0));
        let p95 = h.quantile_s(0.95).unwrap();
        assert!((0.010..0.0113).contains(&p95), "{p95}");
        let p99 = h.quantile_s(0.99).unwrap();
        assert!((0.100..0.113).contains(&p99), "{p99}");
    }

    #[test]
    fn merged_histograms_are_those_of_all_bytes() {
        let delays = [(0, 500), (3_000_000, 70), (9_000_000, 20), (400_000_000, 10), (0, 400), (1, 5)];
        let (mut all, mut parts) = (DelayHistogram::default(), [DelayHistogram::default(), DelayHistogram::default()]);
        for (n, (delay_ns, bytes)) in delays.into_iter().enumerate() {
            all.add(Duration::from_nanos(delay_ns), bytes);
            parts[n % 2].add(Duration::from_nanos(delay_ns), bytes);
        }
        let mut merged = DelayHistogram::default();
        parts.iter().for_each(|part| merged.merge(part));
        assert_eq!(merged.sum_byte_ns(), 70 * 3_000_000 + 20 * 9_000_000 + 10 * 400_000_000 + 5);
        assert_eq!(merged.mean_s(), all.mean_s());
        for q in [0.5, 0.9, 0.95, 0.99, 1.0] {
            assert_eq!(merged.quantile_s(q), all.quantile_s(q), "{q}");
        }
        // 905 of 1005 bytes did not wait to speak of: nine tenths of all, but not 95 of a hundred.
        assert!((0.003..0.0034).contains(&merged.quantile_s(0.95).unwrap()));
    }
}
