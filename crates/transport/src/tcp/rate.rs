//! How fast the network delivers: a rate sample for each acknowledgment, and what is found lost, for controls that ask for
//! it ([`Feedback`](crate::congestion::Feedback)). "BBR Congestion Control", draft-ietf-ccwg-bbr, section 4.1.

use std::collections::VecDeque;

use super::scoreboard::{Delivered, Scoreboard};
use crate::congestion::{LostPacket, RateSample};
use crate::queue::Sendable;
use crate::time::{Duration, Instant};

/// What was known when a segment was sent last.
#[derive(Clone, Copy, Debug)]
struct Record {
    end: u64,
    bytes: u32,
    sent_at: Instant,
    first_sent_at: Instant,
    delivered_at: Instant,
    delivered: u64,
    delivered_segments: u64,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
    /// It is counted as lost, and was not sent again since.
    is_lost: bool,
}

/// The state of a subflow; all amounts are bytes of data.
#[derive(Debug, Default)]
pub struct RateSampler {
    /// Delivered so far.
    pub delivered: u64,
    /// The same in segments.
    pub delivered_segments: u64,
    /// Found lost so far; what is lost twice counts twice.
    pub lost: u64,
    /// When something was delivered last, or the first thing was sent after a pause.
    delivered_at: Instant,
    /// When the segment that was delivered last, of those sent last, was sent.
    first_sent_at: Instant,
    /// Samples say less than the path can do until so much is delivered; 0: they do not.
    app_limited: u64,
    /// What the application does is not heard of: Linux marks samples where data is written to a TCP socket, which its
    /// Multipath TCP never does.
    ignores_pauses: bool,
    records: VecDeque<Record>,
    /// [`Scoreboard::losses`] when it was last looked through.
    losses: u64,
    found: Vec<LostPacket>,
}

impl RateSampler {
    /// One that is not told of pauses of the application, if `ignores_pauses`.
    pub fn new(ignores_pauses: bool) -> Self {
        let mut sampler = RateSampler { ignores_pauses, ..RateSampler::default() };
        // Until the application writes there is nothing to send (section 4.1.2.4; `tcp_init_sock`).
        sampler.limited(0);
        sampler
    }

    /// A segment of `bytes` up to sequence number `end` goes out for the first time; `in_flight` with it, which may be counted in
    /// segments of `mss` bytes.
    pub fn sent(&mut self, now: Instant, end: u64, (bytes, mss): (u32, u64), in_flight: u64) {
        if in_flight <= mss.max(bytes.into()) {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let record = self.record(now, end, bytes, in_flight);
        self.records.push_back(record);
    }

    /// It goes out once more; `lost`: because it was held to be lost.
    pub fn sent_again(&mut self, now: Instant, end: u64, in_flight: u64, lost: bool) {
        let i = self.records.partition_point(|record| record.end < end);
        let Some(&old) = self.records.get(i) else { return };
        if lost && !old.is_lost {
            self.count_lost(i);
        }
        if in_flight <= u64::from(old.bytes) {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        self.records[i] = self.record(now, old.end, old.bytes, in_flight);
    }

    fn record(&self, now: Instant, end: u64, bytes: u32, in_flight: u64) -> Record {
        Record {
            end,
            bytes,
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            delivered_segments: self.delivered_segments,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited > 0,
            is_lost: false,
        }
    }

    /// There was room to send, and nothing was.
    pub fn paused(&mut self, in_flight: u64) {
        if !self.ignores_pauses {
            self.limited(in_flight);
        }
    }

    /// What is in flight says less than the path can do.
    pub fn limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Whether samples say less than the path can do.
    pub fn is_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// An acknowledgment up to `una` brought this; `min_rtt` is the least round trip ever seen.
    pub fn acknowledged(
        &mut self,
        now: Instant,
        delivered: &Delivered,
        una: u64,
        min_rtt: Duration,
    ) -> Option<RateSample> {
        if delivered.bytes > 0 {
            self.delivered += delivered.bytes;
            self.delivered_segments += u64::from(delivered.segments);
            self.delivered_at = now;
        }
        let end = delivered.latest.1;
        let i = self.records.partition_point(|record| record.end < end);
        let newest = self.records.get(i).copied().filter(|record| record.end == end);
        while self.records.front().is_some_and(|record| record.end <= una) {
            self.records.pop_front();
        }
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let record = newest?;
        self.first_sent_at = self.first_sent_at.max(record.sent_at);
        let sent_within = record.sent_at.saturating_since(record.first_sent_at);
        let acked_within = now.saturating_since(record.delivered_at);
        let interval = sent_within.max(acked_within);
        let bytes = self.delivered - record.delivered;
        // A shorter interval than any round trip: a copy that was not lost was taken for a retransmission's delivery.
        let rate =
            (interval >= min_rtt.max(Duration::NANOSECOND)).then(|| bytes as f64 * 1e9 / interval.as_nanos() as f64);
        Some(RateSample {
            bytes,
            rate,
            app_limited: record.app_limited,
            prior_delivered: record.delivered,
            prior_segments: record.delivered_segments,
            in_flight: record.in_flight,
            lost: self.lost - record.lost,
        })
    }

    /// Looks for segments that were found lost since the last time.
    pub fn find_lost<P: Sendable>(&mut self, board: &Scoreboard<P>) {
        if board.losses() == self.losses {
            return;
        }
        self.losses = board.losses();
        let mut i = 0;
        for end in board.lost_ends() {
            while self.records.get(i).is_some_and(|record| record.end < end) {
                i += 1;
            }
            if self.records.get(i).is_some_and(|record| record.end == end && !record.is_lost) {
                self.count_lost(i);
            }
        }
    }

    /// Segments are outstanding in parts from now on, first and next sequence number of each: too long for the path, not lost
    /// for congestion.
    pub fn split(&mut self, parts: &[(u64, u64)]) {
        for &(seq, end) in parts {
            let i = self.records.partition_point(|record| record.end < end);
            let Some(record) = self.records.get_mut(i) else { return };
            record.is_lost = true;
            let part = Record { end, bytes: (end - seq) as u32, ..*record };
            if record.end == end {
                record.bytes = part.bytes;
            } else {
                self.records.insert(i, part);
            }
        }
    }

    fn count_lost(&mut self, i: usize) {
        let begins_range = i == 0 || !self.records[i - 1].is_lost;
        let record = &mut self.records[i];
        record.is_lost = true;
        self.lost += u64::from(record.bytes);
        self.found.push(LostPacket {
            bytes: u64::from(record.bytes),
            in_flight: record.in_flight,
            lost: self.lost - record.lost,
            app_limited: record.app_limited,
            begins_range,
        });
    }

    /// What was found lost since the last call.
    pub fn take_lost(&mut self) -> Vec<LostPacket> {
        std::mem::take(&mut self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(bytes: u64, latest: (Instant, u64)) -> Delivered {
        Delivered { bytes, latest, advanced: true, ..Delivered::default() }
    }

    /// Two segments of 1,000 bytes at 0 and 1 ms, acknowledged at 50 and 52 ms: the first gives 1,000 bytes in 50 ms, the
    /// second 2,000 in 52 ms. The third, sent at 50 ms after the first was delivered, acknowledged at 100 ms: 2,000 in 50.
    #[test]
    fn rates_worked_by_hand() {
        let mut sampler = RateSampler::default();
        sampler.sent(Instant::ZERO, 1001, (1000, 1_000), 1000);
        sampler.sent(Instant::from_millis(1), 2001, (1000, 1_000), 2000);
        let first = sampler
            .acknowledged(
                Instant::from_millis(50),
                &delivered(1000, (Instant::ZERO, 1001)),
                1001,
                Duration::from_millis(50),
            )
            .unwrap();
        assert_eq!((first.bytes, first.rate), (1000, Some(20_000.0)));
        sampler.sent(Instant::from_millis(50), 3001, (1000, 1_000), 2000);
        let second = sampler
            .acknowledged(
                Instant::from_millis(52),
                &delivered(1000, (Instant::from_millis(1), 2001)),
                2001,
                Duration::from_millis(50),
            )
            .unwrap();
        assert_eq!((second.bytes, second.prior_delivered), (2000, 0));
        assert!((second.rate.unwrap() - 2000.0 / 0.052).abs() < 1e-6);
        let third = sampler
            .acknowledged(
                Instant::from_millis(100),
                &delivered(1000, (Instant::from_millis(50), 3001)),
                3001,
                Duration::from_millis(50),
            )
            .unwrap();
        assert_eq!((third.bytes, third.prior_delivered, third.rate), (2000, 1000, Some(40_000.0)));
        assert_eq!(third.in_flight, 2000);
    }

    /// Acknowledgments that come at once do not make the rate higher than what was sent: the longer interval counts.
    #[test]
    fn the_longer_of_both_intervals_counts() {
        let mut sampler = RateSampler::default();
        for i in 0..10 {
            sampler.sent(Instant::from_millis(10 * i), 1000 * (i + 1), (1000, 1000), 1000 * (i + 1));
        }
        let sample = sampler
            .acknowledged(
                Instant::from_millis(100),
                &delivered(10_000, (Instant::from_millis(90), 10_000)),
                10_000,
                Duration::from_millis(1),
            )
            .unwrap();
        assert_eq!(sample.rate, Some(100_000.0));
        assert!(
            sampler
                .acknowledged(Instant::from_millis(101), &Delivered::default(), 10_000, Duration::from_millis(1))
                .is_none()
        );
    }

    #[test]
    fn what_an_application_limited_is_marked_until_it_is_delivered() {
        let mut sampler = RateSampler::default();
        sampler.sent(Instant::ZERO, 1001, (1000, 1_000), 1000);
        sampler.limited(1000);
        sampler.sent(Instant::from_millis(5), 2001, (1000, 1_000), 2000);
        let sample = sampler
            .acknowledged(
                Instant::from_millis(50),
                &delivered(1000, (Instant::ZERO, 1001)),
                1001,
                Duration::from_millis(1),
            )
            .unwrap();
        assert!(!sample.app_limited && sampler.is_limited());
        let sample = sampler
            .acknowledged(
                Instant::from_millis(55),
                &delivered(1000, (Instant::from_millis(5), 2001)),
                2001,
                Duration::from_millis(1),
            )
            .unwrap();
        assert!(sample.app_limited && !sampler.is_limited());
        let mut ignores_pauses = RateSampler { ignores_pauses: true, ..RateSampler::default() };
        ignores_pauses.paused(1000);
        assert!(!ignores_pauses.is_limited());
        ignores_pauses.limited(1000);
        assert!(ignores_pauses.is_limited(), "by the control's own measuring");
    }

    #[test]
    fn a_retransmission_counts_its_loss_once() {
        let mut sampler = RateSampler::default();
        sampler.sent(Instant::ZERO, 1001, (1000, 1_000), 1000);
        sampler.sent(Instant::ZERO, 2001, (1000, 1_000), 2000);
        sampler.sent_again(Instant::from_millis(60), 1001, 2000, true);
        let lost = sampler.take_lost();
        assert_eq!((lost.len(), lost[0].in_flight, lost[0].lost, sampler.lost), (1, 1000, 1000, 1000));
        // A probe repeats what nobody holds to be lost.
        sampler.sent_again(Instant::from_millis(70), 2001, 2000, false);
        assert!(sampler.take_lost().is_empty());
    }

    /// 64 bytes leave after a pause of 900 ms, alone on the way, and are answered after 100: the pause does not count.
    #[test]
    fn a_short_segment_ends_a_pause() {
        let mut sampler = RateSampler::default();
        for (sent_ms, answered_ms, end, bytes) in [(0, 100, 1_001, 1_000), (1_000, 1_100, 1_065, 64)] {
            let sent_at = Instant::from_millis(sent_ms);
            sampler.sent(sent_at, end, (bytes, 1_000), 1_000);
            let delivered = delivered(bytes.into(), (sent_at, end));
            let sample = sampler.acknowledged(Instant::from_millis(answered_ms), &delivered, end, Duration::ZERO);
            assert_eq!(sample.unwrap().rate, Some(f64::from(bytes) * 10.0));
        }
    }

    /// What leaves before the first acknowledgment does so after a pause of the application: it had written nothing yet.
    #[test]
    fn a_connection_begins_with_a_pause() {
        let limited = |ignores_pauses| {
            let mut sampler = RateSampler::new(ignores_pauses);
            [(0, 1_001), (50, 2_001)].map(|(ms, end)| {
                let sent_at = Instant::from_millis(ms);
                sampler.sent(sent_at, end, (1_000, 1_000), 1_000);
                let delivered = delivered(1_000, (sent_at, end));
                let sample = sampler.acknowledged(sent_at + Duration::from_millis(50), &delivered, end, Duration::ZERO);
                sample.unwrap().app_limited
            })
        };
        assert_eq!((limited(false), limited(true)), ([true, false], [true, false]));
    }
}
