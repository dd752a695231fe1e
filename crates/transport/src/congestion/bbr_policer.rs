//! How version 1 of BBR finds a policer, as Linux has it: a link that drops what exceeds its rate, without a queue.

use super::bbr_model::Event;
use crate::time::Instant;

/// The fewest round trips of an interval, and the most.
const ROUNDS: (u32, u32) = (4, 16);
/// Lost per delivered, of 256: a link that loses a fifth is policed.
const LOSS_RATIO: f64 = 50.0 / 256.0;
/// Rates of two intervals are the same when they differ by no more than this part,
const NEAR: f64 = 1.0 / 8.0;
/// or this much, in bytes per second: 4 kbit/s.
const NEAR_BYTES_PER_S: f64 = 4_000.0 / 8.0;
/// For how many round trips the rate is used.
const USED_ROUNDS: u32 = 48;

/// "Long-term bandwidth": two intervals in a row with high loss and the same rate are the work of a policer. Their rate is
/// that of the model for 48 round trips, with which nothing is probed (T. Flach et al., "An Internet-Wide Analysis of
/// Traffic Policing", SIGCOMM 2016, section 5.2; net/ipv4/tcp_bbr.c).
///
/// A queue that is short beside the data in flight of several senders looks like a policer.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// Bytes per second: of the interval before, or of both.
    rate: f64,
    used: bool,
    sampling: bool,
    rounds: u32,
    began_ms: u64,
    began_delivered: f64,
    began_lost: f64,
    /// When something was delivered last, and how much by then.
    last: (Instant, f64),
}

impl Policer {
    /// Its rate, while it is believed to be there.
    pub(super) fn rate(&self) -> Option<f64> {
        self.used.then_some(self.rate)
    }

    /// An acknowledgment with a sample; `lost_in_all` bytes were found lost up to it, some of them by it if `lost`. `cycles`:
    /// the control is past startup and drain. Whether the policer may have gone, so that the cycle begins anew.
    pub(super) fn heard(
        &mut self,
        event: &Event,
        lost: bool,
        lost_in_all: f64,
        round_start: bool,
        cycles: bool,
    ) -> bool {
        self.last = (event.now, event.delivered);
        self.sample(lost, lost_in_all, round_start, event.app_limited, cycles)
    }

    /// The retransmission timer expired, which ends a round trip with losses. The answer is as above.
    pub(super) fn timed_out(&mut self, lost_in_all: f64, cycles: bool) -> bool {
        self.sample(true, lost_in_all, true, false, cycles)
    }

    /// Nothing is known any more.
    pub(super) fn reset(&mut self, lost_in_all: f64) {
        (self.rate, self.used, self.sampling) = (0.0, false, false);
        self.begin(lost_in_all);
    }

    fn begin(&mut self, lost_in_all: f64) {
        (self.began_ms, self.began_delivered) = (self.last.0.as_millis(), self.last.1);
        (self.began_lost, self.rounds) = (lost_in_all, 0);
    }

    fn sample(&mut self, lost: bool, lost_in_all: f64, round_start: bool, app_limited: bool, cycles: bool) -> bool {
        if self.used {
            if cycles && round_start {
                self.rounds += 1;
                if self.rounds >= USED_ROUNDS {
                    self.reset(lost_in_all);
                    return true;
                }
            }
            return false;
        }
        // Only from the first loss on: a policer's tokens let a burst pass that says nothing of its rate.
        if !self.sampling {
            if !lost {
                return false;
            }
            self.begin(lost_in_all);
            self.sampling = true;
        }
        if app_limited {
            self.reset(lost_in_all);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds > ROUNDS.1 {
            self.reset(lost_in_all);
        } else if self.rounds >= ROUNDS.0 && lost {
            self.end(lost_in_all);
        }
        false
    }

    /// An interval ends with a loss, when the tokens are used up, if it lost enough; otherwise it goes on.
    fn end(&mut self, lost_in_all: f64) {
        let delivered = self.last.1 - self.began_delivered;
        let lasted_ms = self.last.0.as_millis().saturating_sub(self.began_ms);
        if delivered <= 0.0 || lost_in_all - self.began_lost < LOSS_RATIO * delivered || lasted_ms == 0 {
            return;
        }
        let rate = delivered * 1e3 / lasted_ms as f64;
        let difference = (rate - self.rate).abs();
        if self.rate > 0.0 && (difference <= NEAR * self.rate || difference <= NEAR_BYTES_PER_S) {
            (self.rate, self.used, self.rounds) = (f64::midpoint(rate, self.rate), true, 0);
        } else {
            self.rate = rate;
            self.begin(lost_in_all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    const RTT: Duration = Duration::from_millis(40);

    /// Round trips of 40 ms, of which each delivers 10,000 bytes and loses so many at its end; when the rate is used.
    fn rounds(policer: &mut Policer, from: u64, lost: &[f64]) -> Option<u64> {
        let mut in_all = 0.0;
        for (round, &bytes) in (from..).zip(lost) {
            in_all += bytes;
            let event = Event::at(Instant::ZERO + round * RTT, 10_000.0 * round as f64);
            policer.heard(&event, bytes > 0.0, in_all, true, true);
            if policer.used {
                return Some(round);
            }
        }
        None
    }

    /// The loss of round 1 begins an interval, and it counts as its first round. In round 4 it ends, 120 ms with 30,000 bytes
    /// delivered: 250 kB/s. The next begins there, and ends after four rounds, in round 8. Of 30,000 bytes 5,860 or more
    /// must be lost, 50 in 256.
    #[test]
    fn two_intervals_with_the_same_rate_and_a_fifth_lost() {
        let mut policer = Policer::default();
        assert_eq!(rounds(&mut policer, 1, &[2_000.0; 20]), Some(8));
        assert_eq!(policer.rate(), Some(250_000.0));
        // Three rounds of the first interval lose 5,859: it goes on, and ends in the round after.
        for (third, expected) in [(1_953.0, Some(9)), (1_953.2, Some(8))] {
            let losses = [[third; 4].as_slice(), &[2_500.0; 16]].concat();
            assert_eq!(rounds(&mut Policer::default(), 1, &losses), expected, "{third}");
        }
    }

    /// A loss in each fifth round: intervals end with losses alone.
    #[test]
    fn intervals_end_with_a_loss() {
        let mut policer = Policer::default();
        let losses: Vec<f64> = (0..20).map(|i| if i % 5 == 0 { 12_000.0 } else { 0.0 }).collect();
        assert_eq!(rounds(&mut policer, 1, &losses), Some(11), "losses of rounds 1, 6 and 11");
        // Enough is lost after four rounds, but the next loss is that of the fifth.
        let losses = [1e3, 1e4, 0.0, 0.0, 1e3, 12e3, 0.0, 0.0, 0.0, 1e3];
        assert_eq!(rounds(&mut Policer::default(), 1, &losses), Some(10), "losses of rounds 5 and 10");
    }

    /// After 16 rounds without enough losses it is given up, and begins again with the next loss.
    #[test]
    fn an_interval_of_more_than_sixteen_rounds_is_given_up() {
        let mut policer = Policer::default();
        rounds(&mut policer, 1, &[100.0; 16]);
        assert!(policer.sampling && policer.rounds == 16);
        rounds(&mut policer, 17, &[100.0]);
        assert!(!policer.sampling && policer.rounds == 0);
    }

    /// 250 kB/s, then 282 kB/s, more than an eighth apart; 317 kB/s is within an eighth of that.
    #[test]
    fn other_rates_are_no_policer() {
        let mut policer = Policer::default();
        let mut delivered = 0.0;
        let mut interval = |policer: &mut Policer, at_ms: u64, bytes: f64| {
            delivered += bytes;
            policer.last = (Instant::from_millis(at_ms), delivered);
            policer.rounds = 4;
            policer.end(1e9 * at_ms as f64);
            (policer.used, policer.rate)
        };
        policer.sampling = true;
        assert_eq!(interval(&mut policer, 100, 25_000.0), (false, 250_000.0));
        assert_eq!(interval(&mut policer, 200, 28_200.0), (false, 282_000.0));
        assert_eq!(interval(&mut policer, 300, 31_700.0), (true, 299_500.0));
        // Slow rates are the same when they differ by 500 bytes per second.
        let mut slow =
            Policer { sampling: true, rate: 1_000.0, last: (Instant::from_millis(100), 150.0), ..Policer::default() };
        slow.end(1e9);
        assert_eq!((slow.used, slow.rate), (true, 1_250.0));
        // Within a millisecond there is no rate.
        let mut short = Policer { sampling: true, last: (Instant::from_nanos(999_999), 150.0), ..Policer::default() };
        short.end(1e9);
        assert_eq!(short.rate, 0.0);
    }

    /// 48 round trips of the cycle, which do not count before it has begun.
    #[test]
    fn the_rate_is_used_for_48_round_trips_of_the_cycle() {
        let mut policer = Policer { used: true, rate: 5.0, ..Policer::default() };
        let event = Event::at(Instant::ZERO + RTT, 1.0);
        assert!(!policer.heard(&event, true, 0.0, true, false));
        for _ in 0..47 {
            assert!(!policer.heard(&event, true, 0.0, true, true));
            assert!(!policer.heard(&event, true, 0.0, false, true));
        }
        assert_eq!(policer.rate(), Some(5.0));
        assert!(policer.heard(&event, true, 0.0, true, true));
        assert_eq!(policer.rate(), None);
    }

    /// What the application limited, a timeout, which is a round with losses, and what was taken back.
    #[test]
    fn application_and_timeouts() {
        let mut policer = Policer::default();
        rounds(&mut policer, 1, &[2_000.0; 3]);
        assert_eq!((policer.sampling, policer.rounds), (true, 3));
        let mut limited = policer.clone();
        limited.heard(
            &Event { app_limited: true, ..Event::at(Instant::ZERO + 4 * RTT, 40_000.0) },
            true,
            8_000.0,
            true,
            true,
        );
        assert!(!limited.sampling && limited.rounds == 0);
        // 20,000 bytes were delivered between rounds 1 and 3: the timeout does not lengthen their time.
        policer.timed_out(20_000.0, true);
        assert_eq!((policer.rate, policer.rounds), (250_000.0, 0));
        policer.reset(0.0);
        assert!(!policer.sampling && policer.rate == 0.0);
    }
}
