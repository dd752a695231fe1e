//! When a receiver acknowledges (RFC 9293 §3.8.6.3, RFC 5681 §4.2): every second segment, or after a delay; and at once
//! where Linux does: as long as its quick-ACK budget lasts, and what was pushed when the application has read it all.
//!
//! Linux (6.12) renews the budget with each segment that lets it announce a larger window, so it covers most of a
//! connection's slow start. It also refills it after a pause of more than an RTO, which is not modelled.

use crate::TcpOptions;
use crate::time::{Duration, Instant};

/// Acknowledgments of segments behind a hole that wait for others at most (Linux's `tcp_comp_sack_nr`).
const WAITING: u16 = 44;

/// What a subflow owes its peer.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledging {
    /// An acknowledgment is due now.
    pub now: bool,
    /// What came last in order and is not acknowledged came with PSH.
    pub pushed: bool,
    /// When one is due at the latest.
    pub deadline: Instant,
    /// When data came last.
    last_at: Instant,
    pending: u16,
    /// When one was delayed last, in milliseconds.
    delayed_ms: u16,
    quick: u16,
    /// A delay is at most so many milliseconds and counted in the kernel's ticks, where the receiver is as Linux's; 0: it is not.
    most_ms: u16,
    /// At most 255, and half a second: what an idle connection takes counts.
    every: u8,
    delay_ns: u32,
    /// Data goes out in answer to what comes in: acknowledgments wait for it.
    answers: bool,
}

impl Acknowledging {
    pub fn new(options: &TcpOptions) -> Self {
        Acknowledging {
            now: false,
            pushed: false,
            deadline: Instant::NEVER,
            last_at: Instant::ZERO,
            pending: 0,
            delayed_ms: 0,
            quick: options.quick_acks.min(u16::MAX.into()) as u16,
            most_ms: 0,
            every: options.segments_per_ack.clamp(1, 255) as u8,
            delay_ns: options.ack_delay_ns.min(u32::MAX.into()) as u32,
            answers: false,
        }
    }

    #[inline(always)]
    fn delay(&self) -> Duration {
        Duration::from_nanos(self.delay_ns.into())
    }

    /// Data arrived in order and left no hole.
    #[inline(always)]
    pub fn data_in_order(&mut self, now: Instant) {
        self.pending = self.pending.saturating_add(1);
        let last_at = std::mem::replace(&mut self.last_at, now);
        if self.pending >= u16::from(self.every) || (self.quick > 0 && !self.answers) {
            self.now = true;
        } else if self.deadline.is_never() {
            self.deadline = self.delayed_until(now, last_at);
            self.delayed_ms = now.as_millis() as u16;
        }
    }

    /// Delays are Linux's, of an end whose round trip takes so long.
    pub fn delay_as_linux(&mut self, srtt: Duration) {
        let srtt_ms = srtt.as_nanos().div_ceil(1_000_000);
        self.most_ms = srtt_ms.max(u64::from(self.delay_ns) / 1_000_000).min(u16::MAX.into()) as u16;
    }

    /// Until when an acknowledgment may wait for more. Linux's delay (`ato`) is half of the last one and the pause before the segment, where
    /// that is longer than half and shorter than the whole (`tcp_event_data_recv`), and no longer than a round trip
    /// (`tcp_send_delayed_ack`). Its timer counts ticks of a millisecond (`HZ` = 1,000), from the one that has begun to the one after the
    /// last. Of several such pauses in a row only the last counts here.
    #[inline]
    fn delayed_until(&self, now: Instant, last_at: Instant) -> Instant {
        if self.most_ms == 0 {
            return now + self.delay();
        }
        let (now_ms, delay_ms) = (now.as_millis(), u64::from(self.delay_ns) / 1_000_000);
        let pause_ms = now_ms - last_at.as_millis();
        let lengthens = !last_at.is_zero() && pause_ms > delay_ms / 2 && pause_ms < delay_ms;
        let wanted_ms = if lengthens { delay_ms / 2 + pause_ms } else { delay_ms };
        Instant::from_millis(now_ms + wanted_ms.min(self.most_ms.into()) + 1)
    }

    /// Whether each segment is acknowledged at once.
    pub fn has_budget(&self) -> bool {
        self.quick > 0 && !self.answers
    }

    /// Whether one is due as so many segments have come, and the timer of a delayed one is not about to expire
    /// (`tcp_send_delayed_ack`: in a quarter of a delay, which half of the last one and the pause since make up).
    pub fn is_due_by_count(&self, now: Instant) -> bool {
        let about_to_expire = self.deadline <= now + self.delay() * 3 / 10;
        self.pending >= u16::from(self.every) && !about_to_expire
    }

    /// Data came behind a hole, or filled one: its acknowledgment may wait for so long, with at most [`WAITING`] others.
    #[cold]
    pub fn data_at_hole(&mut self, now: Instant, wait: Duration) {
        if wait.is_zero() || self.pending >= WAITING {
            self.now = true;
        } else if self.deadline.is_never() {
            self.deadline = (now + wait).min(self.stale_timer(now));
        }
        self.pending = self.pending.saturating_add(1);
    }

    /// When the timer of the last delayed acknowledgment expires, which another one has overtaken: the kernel lets it run, and sends
    /// what waits then (`tcp_delack_timer_handler`). It counts ticks of a millisecond (`HZ` = 1,000), from the one that has begun to
    /// the one after the last.
    fn stale_timer(&self, now: Instant) -> Instant {
        let (now_ms, delay_ms) = (now.as_millis(), u64::from(self.delay_ns) / 1_000_000);
        let age_ms = u64::from((now_ms as u16).wrapping_sub(self.delayed_ms));
        let is_recent = !self.last_at.is_zero() && now <= self.last_at + Duration::from_millis(delay_ms + 1);
        if is_recent && age_ms <= delay_ms {
            Instant::from_millis(now_ms + delay_ms + 1 - age_ms)
        } else {
            Instant::NEVER
        }
    }

    /// A segment has enlarged the window: one more is acknowledged at once if the budget is spent or even (`tcp_grow_window`). To
    /// be called before [`Self::data_in_order`].
    #[cold]
    pub fn window_grew(&mut self) {
        self.quick |= 1;
    }

    /// More than half of the buffer is taken: no more quick acknowledgments.
    #[cold]
    pub fn spend_budget(&mut self) {
        self.quick = 0;
    }

    /// The application has read everything. Answers whether an acknowledgment is due now: of what was pushed.
    #[cold]
    pub fn read_all(&mut self) -> bool {
        self.now |= self.pushed && self.pending > 0 && !self.answers;
        self.now
    }

    /// Data goes out: an answer, if it follows data from the peer within the delay of an acknowledgment.
    #[inline]
    pub fn data_sent(&mut self, now: Instant) {
        if !self.last_at.is_zero() && now < self.last_at + self.delay() {
            self.answers = true;
        }
    }

    /// The delay is over, and no answer has come.
    pub fn expire(&mut self) {
        self.deadline = Instant::NEVER;
        self.now = true;
        self.answers = false;
    }

    /// Whether data is unacknowledged.
    pub fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// An acknowledgment went out, alone or on data. Most data that a sender sends acknowledges nothing.
    #[inline(always)]
    pub fn sent(&mut self) {
        (self.now, self.pushed) = (false, false);
        if self.pending > 0 {
            self.quick = self.quick.saturating_sub(1);
            self.pending = 0;
            self.deadline = Instant::NEVER;
        }
        debug_assert_eq!(self.deadline, Instant::NEVER, "only what is pending has a deadline");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments after which an acknowledgment went out, of `count` that come a millisecond apart; the first `growing` enlarge
    /// the window.
    fn acknowledged(ack: &mut Acknowledging, count: u64, growing: u64) -> Vec<u64> {
        let mut after = Vec::new();
        for n in 1..=count {
            if n <= growing {
                ack.window_grew();
            }
            ack.data_in_order(Instant::from_millis(n));
            if ack.now {
                ack.sent();
                after.push(n);
            }
        }
        after
    }

    /// Linux 6.12: of an acknowledgment that was delayed for 40 ms, after 28 ms without data 12 are left, which is a quarter of 20 + 28.
    #[test]
    fn one_that_is_due_by_count_leaves_at_once_where_its_timer_is_about_to_expire() {
        let by_count = |pause_ms: u64| {
            let mut ack = Acknowledging::new(&TcpOptions { quick_acks: 0, ..TcpOptions::default() });
            ack.data_in_order(Instant::from_millis(100));
            assert!(!ack.is_due_by_count(Instant::from_millis(100)), "one segment");
            ack.data_in_order(Instant::from_millis(100 + pause_ms));
            ack.is_due_by_count(Instant::from_millis(100 + pause_ms))
        };
        assert_eq!([1, 20, 27, 28, 39].map(by_count), [true, true, true, false, false]);
    }

    /// Linux 6.12 over 30 Mbit/s and 133 ms: an acknowledgment was delayed at 801 ms, and what waited behind a hole left at 842.
    #[test]
    fn the_timer_of_an_acknowledgment_that_was_overtaken_sends_what_waits() {
        let mut ack = Acknowledging::new(&TcpOptions { quick_acks: 0, ..TcpOptions::default() });
        let us = |us: u64| Instant::from_nanos(us * 1_000);
        ack.data_in_order(us(801_300));
        assert_eq!(ack.deadline, us(841_300));
        ack.data_in_order(us(801_700));
        assert!(ack.now);
        ack.sent();
        let mut waits_until = |now_us: u64| {
            ack.data_at_hole(us(now_us), Duration::from_micros(1_100));
            let deadline = ack.deadline;
            ack.expire();
            ack.sent();
            deadline
        };
        assert_eq!(waits_until(840_000), us(841_100));
        assert_eq!(waits_until(841_637), us(842_000));
        assert_eq!(waits_until(842_100), us(843_200), "it has expired");
    }

    /// Linux 6.12, each with a segment that came alone: over 40.4 ms after a pause of 38 at 562.078 ms, acknowledged at 604; over 20 ms after one
    /// of 22 at 544.279, at 585; over 45.7 ms after one of 38 at 523.467, not before 568.6, when something else sent it.
    #[test]
    fn a_kernels_delay_follows_the_pause_and_the_round_trip() {
        let us = |us: u64| Instant::from_nanos(us * 1_000);
        let until = |srtt_us: u64, before_us: u64, at_us: u64| {
            let mut ack = Acknowledging::new(&TcpOptions { quick_acks: 0, ..TcpOptions::default() });
            ack.delay_as_linux(Duration::from_micros(srtt_us));
            ack.data_in_order(us(before_us));
            ack.sent();
            ack.data_in_order(us(at_us));
            ack.deadline
        };
        assert_eq!(until(40_364, 524_470, 562_078), us(604_000));
        assert_eq!(until(20_100, 522_300, 544_279), us(585_000));
        assert_eq!(until(45_662, 485_893, 523_467), us(570_000));
        assert_eq!(until(200_000, 485_893, 487_467), us(528_000), "after a short pause 40 ms");
    }

    #[test]
    fn sixteen_segments_and_those_that_enlarge_the_window_are_acknowledged_at_once() {
        // Six segments enlarge the first window (`rcv_ssthresh.rs`), and 16 more follow, as a kernel of 6.12 has it.
        let mut ack = Acknowledging::new(&TcpOptions::default());
        let after = acknowledged(&mut ack, 28, 6);
        assert_eq!(after, (1..=22).chain([24, 26, 28]).collect::<Vec<_>>());
        // Room that comes later is worth one acknowledgment a step: all budget is spent.
        assert_eq!(acknowledged(&mut ack, 6, 2), [1, 2, 4, 6]);
        acknowledged(&mut ack, 1, 0);
        ack.window_grew();
        ack.spend_budget();
        assert_eq!(acknowledged(&mut ack, 3, 0), [1, 3], "the second of two, then every second");
    }

    #[test]
    fn without_quick_acks_every_second_segment_is_acknowledged() {
        let mut ack = Acknowledging::new(&TcpOptions { quick_acks: 0, ..TcpOptions::default() });
        assert_eq!(acknowledged(&mut ack, 6, 0), [2, 4, 6]);
    }

    #[test]
    fn what_is_read_at_the_end_of_a_push_does_not_wait_unless_an_answer_may_come() {
        let pushed = |ack: &mut Acknowledging, now| {
            ack.data_in_order(now);
            ack.pushed = true;
            ack.read_all()
        };
        let mut ack = Acknowledging::new(&TcpOptions { quick_acks: 1, ..TcpOptions::default() });
        acknowledged(&mut ack, 2, 0);
        assert!(ack.is_pending() && !ack.read_all(), "the second waits: it was not pushed");
        ack.sent();
        assert!(pushed(&mut ack, Instant::from_millis(3)));
        ack.sent();
        ack.data_sent(Instant::from_millis(4)); // within 40 ms
        assert!(!pushed(&mut ack, Instant::from_millis(100)), "it goes with the answer");
        ack.expire();
        assert!(ack.now, "which has not come");
        ack.sent();
        assert!(pushed(&mut ack, Instant::from_millis(200)));
        ack.sent();
        ack.data_sent(Instant::from_millis(300)); // not an answer: 100 ms after the last data
        assert!(pushed(&mut ack, Instant::from_millis(400)));
    }
}
