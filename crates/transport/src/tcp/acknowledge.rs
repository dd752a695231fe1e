//! When a receiver acknowledges (RFC 9293 §3.8.6.3, RFC 5681 §4.2): every second segment, or after a delay; and at once
//! where Linux does: as long as its quick-ACK budget lasts, and what was pushed when the application has read it all.
//!
//! Linux (6.12) renews the budget with each segment that lets it announce a larger window, so it covers most of a
//! connection's slow start. A receiver as Linux's has it from the first data in order on, and refills it after a pause of more than an RTO and
//! after a duplicate.

use crate::TcpOptions;
use crate::tcp::wheel;
use crate::time::{Duration, Instant};

/// Acknowledgments of segments behind a hole that wait for others at most (Linux's `tcp_comp_sack_nr`).
const WAITING: u16 = 44;
/// What Linux's delay returns to, and the longest (`TCP_ATO_MIN`, `TCP_DELACK_MAX`).
const ATO_MIN_MS: u64 = 40;
const ATO_MAX_MS: u64 = 200;
/// The budget after a pause (`TCP_MAX_QUICKACKS`).
const QUICK: u16 = 16;

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
    /// The delay; where the receiver is as Linux's, the one that it has come to (`ato`).
    delay_ns: u32,
    pending: u16,
    /// What came in order and is not acknowledged, where the receiver is as Linux's, at most 65,535 bytes.
    bytes: u16,
    /// The low bits of the millisecond at which the timer of the one that was delayed last expires.
    timer_ms: u16,
    /// The low bits of the milliseconds at which data came last, and at which an acknowledgment became due since then without a look at the
    /// clock, where the receiver is as Linux's.
    came_ms: u16,
    waited_ms: u16,
    /// The retransmission timeout, where the receiver is as Linux's, at most 65,535 ms.
    rto_ms: u16,
    quick: u16,
    /// What `quick` begins with, which a receiver as Linux's has only from the first data in order on.
    budget: u16,
    /// At most 255, and half a second: what an idle connection takes counts.
    every: u8,
    /// A delay of more than Linux's shortest is at most so many milliseconds, where the receiver is as Linux's; 0: it is not.
    most_ms: u8,
    /// How much later than its tick Linux's timer expires, in milliseconds; 0: the deadline is of no such timer.
    late_ms: u8,
    /// Data goes out in answer to what comes in: acknowledgments wait for it.
    answers: bool,
    /// The window has grown with the segment that comes.
    grew: bool,
    /// There was a budget when data came last, where the receiver is as Linux's.
    spends: bool,
}

impl Acknowledging {
    pub fn new(options: &TcpOptions) -> Self {
        Acknowledging {
            now: false,
            pushed: false,
            deadline: Instant::NEVER,
            last_at: Instant::ZERO,
            delay_ns: options.ack_delay_ns.min(u32::MAX.into()) as u32,
            pending: 0,
            bytes: 0,
            timer_ms: 0,
            came_ms: 0,
            waited_ms: u16::MAX,
            rto_ms: 0,
            quick: options.quick_acks.min(u16::MAX.into()) as u16,
            budget: options.quick_acks.min(u16::MAX.into()) as u16,
            every: options.segments_per_ack.clamp(1, 255) as u8,
            most_ms: 0,
            late_ms: 0,
            answers: false,
            grew: false,
            spends: false,
        }
    }

    #[inline(always)]
    fn delay(&self) -> Duration {
        Duration::from_nanos(self.delay_ns.into())
    }

    /// Data arrived in order and left no hole.
    #[inline(always)]
    pub fn data_in_order(&mut self, now: Instant, len: u64, longest: u32) {
        self.pending = self.pending.saturating_add(1);
        if self.most_ms != 0 {
            self.count_bytes(len, longest);
            self.adapt(now);
        }
        self.last_at = now;
        if self.pending >= u16::from(self.every) || (self.quick > 0 && !self.answers) {
            self.now = true;
        } else if self.deadline.is_never() {
            self.put_off(now);
        }
    }

    /// Linux counts bytes: what is pending is as many segments as full ones would be (`__tcp_ack_snd_check`).
    #[cold]
    fn count_bytes(&mut self, len: u64, longest: u32) {
        let bytes = u64::from(self.bytes) + len;
        self.bytes = bytes.min(u16::MAX.into()) as u16;
        self.pending = bytes.div_ceil(u64::from(longest.max(1))).min(u16::MAX.into()) as u16;
    }

    /// Delays are Linux's, of an end whose round trip and retransmission timeout take so long.
    pub fn delay_as_linux(&mut self, srtt: Duration, rto: Duration) {
        if self.last_at.is_zero() {
            self.quick = 0;
        }
        self.rto_ms = rto.as_nanos().div_ceil(1_000_000).min(u16::MAX.into()) as u16;
        self.most_ms = srtt.as_nanos().div_ceil(1_000_000).clamp(ATO_MIN_MS, ATO_MAX_MS) as u8;
    }

    fn delay_ms(&self) -> u64 {
        u64::from(self.delay_ns) / 1_000_000
    }

    fn set_delay_ms(&mut self, ms: u64) {
        self.delay_ns = (ms.min(ATO_MAX_MS) * 1_000_000) as u32;
    }

    /// Data fills a hole, for Linux.
    #[cold]
    pub fn hole_filled(&mut self, now: Instant) {
        if self.most_ms != 0 {
            self.adapt(now);
            self.last_at = now;
        }
    }

    /// A segment comes in order after a pause (`tcp_event_data_recv`): one that is shorter than the delay lengthens it, others let it go
    /// back, and after a long one the sender is in slow start. The RTO, which bounds the delay too, is no less than [`ATO_MAX_MS`] there.
    #[cold]
    fn adapt(&mut self, now: Instant) {
        self.note_arrival(now);
        // With the last of the budget the delay goes back to the least (`tcp_dec_quickack_mode`).
        if self.spends && self.quick == 0 {
            self.set_delay_ms(ATO_MIN_MS);
        }
        self.follow_pause(now);
        self.spends = self.quick > 0;
    }

    fn follow_pause(&mut self, now: Instant) {
        // What the window's growth with this segment adds (`window_grew`) comes on top.
        let grown = u16::from(std::mem::take(&mut self.grew));
        if self.last_at.is_zero() {
            self.quick = self.quick.max(self.budget | grown);
            return;
        }
        let (pause_ms, delay_ms) = (now.as_millis() - self.last_at.as_millis(), self.delay_ms());
        if pause_ms <= ATO_MIN_MS / 2 {
            self.set_delay_ms(delay_ms / 2 + ATO_MIN_MS / 2);
        } else if pause_ms < delay_ms {
            self.set_delay_ms(delay_ms / 2 + pause_ms);
        } else if pause_ms > self.rto_ms.into() {
            self.quick = self.quick.max(QUICK | grown);
        }
    }

    /// All of a segment was there already: for Linux its sender needs acknowledgments soon (`tcp_enter_quickack_mode`). The one of this
    /// counts where something waits or the segment is the `last` that came; of an earlier one it leaves unplanned (`tcp_send_dupack`).
    #[cold]
    pub fn duplicate_came(&mut self, last: bool) {
        if self.most_ms != 0 {
            self.quick = self.quick.max(QUICK) - u16::from(last && self.pending == 0);
            self.answers = false;
            self.set_delay_ms(ATO_MIN_MS);
        }
    }

    /// An acknowledgment waits for more. Linux has it wait no longer than a round trip where the delay is long (`tcp_send_delayed_ack`),
    /// and its timer counts ticks.
    #[inline]
    fn put_off(&mut self, now: Instant) {
        if self.most_ms == 0 {
            self.deadline = now + self.delay();
            return;
        }
        let delay_ms = self.delay_ms();
        let wanted_ms = if delay_ms > ATO_MIN_MS { delay_ms.min(self.most_ms.into()) } else { delay_ms };
        let (at, tick) = wheel::expiry(now, Duration::from_millis(wanted_ms));
        self.deadline = at;
        self.timer_ms = at.as_millis() as u16;
        self.late_ms = (at.as_millis() - tick.as_millis()) as u8;
    }

    /// Whether each segment is acknowledged at once.
    pub fn has_budget(&self) -> bool {
        self.quick > 0 && !self.answers
    }

    /// Whether one is due as so many segments have come, and the timer of a delayed one is not about to expire
    /// (`tcp_send_delayed_ack`: in a quarter of the delay). Of a receiver as Linux's.
    pub fn is_due_by_count(&self, now: Instant) -> bool {
        let late_ms = u64::from(self.late_ms);
        let soon_ms = now.as_millis() + self.delay_ms() / 4 + late_ms;
        // What waited at a hole goes as soon as that is filled (`ICSK_ACK_NOW`).
        let about_to_expire = !self.deadline.is_never() && (late_ms == 0 || self.deadline.as_millis() <= soon_ms);
        self.pending >= u16::from(self.every) && !about_to_expire
    }

    /// Data came behind a hole, or filled one: its acknowledgment may wait for so long, with at most [`WAITING`] others.
    #[cold]
    pub fn data_at_hole(&mut self, now: Instant, wait: Duration) {
        if wait.is_zero() || self.pending >= WAITING {
            self.now = true;
        } else if self.deadline.is_never() {
            self.late_ms = 0;
            self.deadline = (now + wait).min(self.stale_timer(now));
        }
        self.grew = false;
        self.pending = self.pending.saturating_add(1);
        self.spends |= self.quick > 0;
        self.note_arrival(now);
    }

    fn note_arrival(&mut self, now: Instant) {
        self.came_ms = now.as_millis() as u16;
        self.waited_ms = self.came_ms.wrapping_sub(1);
    }

    /// By how many milliseconds the timestamp of an acknowledgment is older than that, for Linux: neither the timer of one that waited for
    /// others (`tcp_compressed_ack_kick`) nor the application that reads (`tcp_cleanup_rbuf`) looks at the clock, which was read when data came.
    #[cold]
    pub fn stamp_age_ms(&self, now: Instant) -> u32 {
        let now_ms = now.as_millis() as u16;
        if self.waited_ms == now_ms { now_ms.wrapping_sub(self.came_ms).into() } else { 0 }
    }

    /// One is due as the application has read.
    #[cold]
    pub fn due_by_reading(&mut self, now: Instant) {
        self.now = true;
        self.waited_ms = now.as_millis() as u16;
    }

    /// When the timer of the last delayed acknowledgment expires, which another one has overtaken: the kernel lets it run, and sends
    /// what waits then (`tcp_delack_timer_handler`).
    fn stale_timer(&self, now: Instant) -> Instant {
        let rest_ms = self.timer_ms.wrapping_sub(now.as_millis() as u16);
        let most_ms = ATO_MAX_MS + 8;
        let is_recent = !self.last_at.is_zero() && now <= self.last_at + Duration::from_millis(most_ms);
        if is_recent && (1..=most_ms).contains(&rest_ms.into()) {
            Instant::from_millis(now.as_millis() + u64::from(rest_ms))
        } else {
            Instant::NEVER
        }
    }

    /// A segment has enlarged the window: one more is acknowledged at once if the budget is spent or even (`tcp_grow_window`). To
    /// be called before [`Self::data_in_order`].
    #[cold]
    pub fn window_grew(&mut self) {
        self.grew = true;
        self.quick |= 1;
    }

    /// More than half of the buffer is taken: no more quick acknowledgments.
    #[cold]
    pub fn spend_budget(&mut self) {
        self.quick = 0;
    }

    /// The application has read everything. Answers whether an acknowledgment is due now: of what was pushed.
    #[cold]
    pub fn read_all(&mut self, now: Instant) -> bool {
        if self.pushed && self.pending > 0 && !self.answers && !self.now {
            self.due_by_reading(now);
        }
        self.now
    }

    /// Data goes out: an answer, if it follows data from the peer within the delay of an acknowledgment.
    #[inline]
    pub fn data_sent(&mut self, now: Instant) {
        if !self.last_at.is_zero() && now < self.last_at + self.delay() {
            self.answers = true;
        }
    }

    /// The delay is over, and no answer has come. Linux then waits twice as long, or begins anew where it waited for an answer
    /// (`tcp_delack_timer_handler`).
    pub fn expire(&mut self, now: Instant) {
        if self.most_ms != 0 {
            if std::mem::take(&mut self.late_ms) > 0 {
                self.set_delay_ms(if self.answers { ATO_MIN_MS } else { 2 * self.delay_ms() });
            } else {
                self.waited_ms = now.as_millis() as u16;
            }
        }
        self.deadline = Instant::NEVER;
        self.now = true;
        self.answers = false;
    }

    /// Whether data is unacknowledged.
    pub fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// Bytes in order that are unacknowledged, where the receiver is as Linux's, at most 65,535.
    pub fn pending_bytes(&self) -> u64 {
        self.bytes.into()
    }

    /// An acknowledgment went out, alone or on data. Most data that a sender sends acknowledges nothing.
    #[inline(always)]
    pub fn sent(&mut self) {
        (self.now, self.pushed) = (false, false);
        if self.pending > 0 {
            self.quick = self.quick.saturating_sub(1);
            (self.pending, self.bytes) = (0, 0);
            self.deadline = Instant::NEVER;
        }
        debug_assert_eq!(self.deadline, Instant::NEVER, "only what is pending has a deadline");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// Without a budget, of an end with such a round trip.
    fn as_linux(srtt_us: u64) -> Acknowledging {
        let mut ack = Acknowledging::new(&TcpOptions { quick_acks: 0, ..TcpOptions::default() });
        let srtt = Duration::from_micros(srtt_us);
        ack.delay_as_linux(srtt, srtt + Duration::from_millis(200));
        ack
    }

    /// Segments after which an acknowledgment went out, of `count` that come a millisecond apart; the first `growing` enlarge
    /// the window.
    fn acknowledged(ack: &mut Acknowledging, count: u64, growing: u64) -> Vec<u64> {
        let mut after = Vec::new();
        for n in 1..=count {
            if n <= growing {
                ack.window_grew();
            }
            ack.data_in_order(Instant::from_millis(n), 1_448, 1_448);
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
            let mut ack = as_linux(20_000);
            ack.data_in_order(Instant::from_millis(100), 1_448, 1_448);
            assert!(!ack.is_due_by_count(Instant::from_millis(100)), "one segment");
            ack.data_in_order(Instant::from_millis(100 + pause_ms), 1_448, 1_448);
            ack.is_due_by_count(Instant::from_millis(100 + pause_ms))
        };
        assert_eq!([1, 20, 27, 28, 39].map(by_count), [true, true, true, false, false]);
        let mut ack = as_linux(100_000);
        ack.data_at_hole(Instant::from_millis(100), Duration::from_millis(1));
        ack.data_in_order(Instant::from_millis(100), 2_896, 1_448);
        assert!(!ack.is_due_by_count(Instant::from_millis(100)), "the hole is filled");
    }

    /// `tcp_event_data_recv` hands the budget out, which data behind a hole does not come to. The window may grow with that.
    #[test]
    fn linux_has_a_budget_from_the_first_data_in_order_on() {
        let mut ack = Acknowledging::new(&TcpOptions::default());
        ack.delay_as_linux(Duration::from_millis(50), Duration::from_millis(250));
        assert!(!ack.has_budget());
        ack.window_grew();
        assert!(ack.has_budget());
        ack.data_at_hole(us(1_000), Duration::ZERO);
        ack.sent();
        assert!(!ack.has_budget());
        ack.hole_filled(us(2_000));
        assert_eq!((0..20).take_while(|n| acknowledged_at_once(&mut ack, 3 + n)).count(), 16);
    }

    /// `tcp_event_data_recv` before `tcp_grow_window`: 16 after a pause beyond the RTO, and one more where the window grows with that segment.
    #[test]
    fn growth_comes_on_top_of_the_budget_of_a_pause_in_linux() {
        let after = |grew: bool| {
            let mut ack = Acknowledging::new(&TcpOptions::default());
            ack.delay_as_linux(Duration::from_millis(50), Duration::from_millis(250));
            ack.hole_filled(us(2_000));
            ack.spend_budget();
            if grew {
                ack.window_grew();
            }
            ack.hole_filled(us(600_000));
            ack.quick
        };
        assert_eq!((after(false), after(true)), (16, 17));
    }

    /// Of 65 ms, to which pauses of 30 and 40 have lengthened the delay, 40 are left when the budget of a pause beyond the RTO is spent.
    #[test]
    fn a_budget_that_is_spent_shortens_linuxs_delay() {
        let mut ack = as_linux(100_000);
        for at_ms in [100, 130, 170, 600] {
            ack.data_in_order(Instant::from_millis(at_ms), 1_448, 1_448);
            assert!(at_ms < 170 || ack.delay_ms() == 65);
            if at_ms < 600 {
                ack.sent();
            }
        }
        for n in 0..16 {
            assert!(ack.now, "{n}");
            ack.sent();
            ack.data_in_order(Instant::from_millis(632 + 32 * n), 1_448, 1_448);
        }
        assert_eq!((ack.now, ack.delay_ms()), (false, 40 / 2 + 32));
    }

    #[test]
    fn after_a_duplicate_linux_acknowledges_sixteen_at_once() {
        let at_once = |mut ack: Acknowledging, last| {
            ack.spend_budget();
            ack.data_in_order(us(1_000), 1_448, 1_448);
            ack.sent();
            ack.duplicate_came(last);
            ack.sent();
            (0..20).take_while(|n| acknowledged_at_once(&mut ack, 2 + n)).count()
        };
        assert_eq!([false, true].map(|last| at_once(as_linux(100_000), last)), [16, 15]);
        assert_eq!(at_once(Acknowledging::new(&TcpOptions::default()), true), 0);
    }

    /// The RTO is 300 ms, and the last segment in order came at 100 ms.
    #[test]
    fn after_a_pause_of_more_than_an_rto_segments_are_acknowledged_at_once() {
        let at_once = |filled_ms| {
            let mut ack = as_linux(100_000);
            ack.data_in_order(Instant::from_millis(100), 1_448, 1_448);
            ack.sent();
            ack.hole_filled(Instant::from_millis(filled_ms));
            (0..20).take_while(|n| acknowledged_at_once(&mut ack, filled_ms + n)).count()
        };
        assert_eq!([at_once(400), at_once(401)], [0, 16]);
    }

    fn acknowledged_at_once(ack: &mut Acknowledging, at_ms: u64) -> bool {
        ack.data_in_order(Instant::from_millis(at_ms), 1_448, 1_448);
        let now = ack.now;
        ack.sent();
        now
    }

    /// Segments come behind a hole at 763.1 and 763.9 ms: what waited for others since the first leaves at 764.2, with the timestamp of
    /// 763. One that leaves as it comes has its own.
    #[test]
    fn an_acknowledgment_that_waited_for_others_has_the_timestamp_of_the_last() {
        let mut ack = as_linux(93_000);
        ack.data_at_hole(us(763_100), Duration::from_micros(1_100));
        ack.data_at_hole(us(763_900), Duration::from_micros(1_100));
        assert_eq!((ack.deadline, ack.stamp_age_ms(us(763_900))), (us(764_200), 0));
        ack.expire(us(764_200));
        assert_eq!(ack.stamp_age_ms(us(764_200)), 1);
        ack.sent();
        ack.data_at_hole(us(764_800), Duration::ZERO);
        assert_eq!(ack.stamp_age_ms(us(764_800)), 0);
        ack.sent();
        // One that leaves as the application reads what another subflow has brought; and one of a delay that is over.
        ack.due_by_reading(us(781_200));
        assert_eq!(ack.stamp_age_ms(us(781_200)), 17);
        ack.sent();
        ack.data_in_order(us(790_000), 1_448, 1_448);
        let deadline = ack.deadline;
        ack.expire(deadline);
        assert_eq!(ack.stamp_age_ms(deadline), 0);
    }

    /// Linux 6.12 over 30 Mbit/s and 133 ms: an acknowledgment was delayed at 801 ms, and what waited behind a hole left at 842.
    #[test]
    fn the_timer_of_an_acknowledgment_that_was_overtaken_sends_what_waits() {
        let mut ack = as_linux(133_000);
        ack.data_in_order(us(801_300), 1_448, 1_448);
        assert_eq!(ack.deadline, us(842_000));
        ack.data_in_order(us(801_700), 1_448, 1_448);
        assert!(ack.now);
        ack.sent();
        let mut waits_until = |now_us: u64| {
            ack.data_at_hole(us(now_us), Duration::from_micros(1_100));
            let deadline = ack.deadline;
            ack.expire(deadline);
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
        let until = |srtt_us: u64, before_us: u64, at_us: u64| {
            let mut ack = as_linux(srtt_us);
            ack.data_in_order(us(before_us), 1_448, 1_448);
            ack.sent();
            ack.data_in_order(us(at_us), 1_448, 1_448);
            ack.deadline
        };
        assert_eq!(until(40_364, 524_470, 562_078), us(604_000));
        assert_eq!(until(20_100, 522_300, 544_279), us(585_000));
        assert_eq!(until(45_662, 485_893, 523_467), us(570_000));
        assert_eq!(until(200_000, 485_893, 487_467), us(528_000), "after a short pause 40 ms");
    }

    /// `tcp_event_data_recv` and `tcp_delack_timer_handler`, worked by hand: 40 ms, after a pause of 30 ms 20 + 30, after one of 40
    /// 25 + 40, after one of 5 32 + 20; when its timer has expired 104, then 200 at most; and no more than the round trip. From 63 ms
    /// on timers expire each eighth tick: of 65 ms at 1,140, and those of 104, 150, 120 and 80 ms likewise.
    #[test]
    fn a_kernels_delay_grows_where_it_was_too_short_and_goes_back() {
        let mut ack = as_linux(150_000);
        let mut waits_ms = |at_ms: u64, expires: bool| {
            ack.data_in_order(Instant::from_millis(at_ms), 1_448, 1_448);
            let waits_ms = ack.deadline.as_millis() - at_ms;
            if expires {
                ack.expire(ack.deadline);
            }
            ack.sent();
            waits_ms
        };
        assert_eq!([(1_000, false), (1_030, false), (1_070, false)].map(|(at, e)| waits_ms(at, e)), [41, 51, 70]);
        assert_eq!([(1_075, true), (1_300, true), (1_600, false)].map(|(at, e)| waits_ms(at, e)), [53, 112, 156]);
        // 200 were left, which 150 ms at most had been asked of: 100 + 20, 60 + 20, 40 + 20.
        assert_eq!([1_601, 1_602, 1_603].map(|at| waits_ms(at, false)), [123, 82, 61]);
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
            ack.data_in_order(now, 1_448, 1_448);
            ack.pushed = true;
            ack.read_all(now)
        };
        let mut ack = Acknowledging::new(&TcpOptions { quick_acks: 1, ..TcpOptions::default() });
        acknowledged(&mut ack, 2, 0);
        assert!(ack.is_pending() && !ack.read_all(Instant::from_millis(2)), "the second waits: it was not pushed");
        ack.sent();
        assert!(pushed(&mut ack, Instant::from_millis(3)));
        ack.sent();
        ack.data_sent(Instant::from_millis(4)); // within 40 ms
        assert!(!pushed(&mut ack, Instant::from_millis(100)), "it goes with the answer");
        ack.expire(ack.deadline);
        assert!(ack.now, "which has not come");
        ack.sent();
        assert!(pushed(&mut ack, Instant::from_millis(200)));
        ack.sent();
        ack.data_sent(Instant::from_millis(300)); // not an answer: 100 ms after the last data
        assert!(pushed(&mut ack, Instant::from_millis(400)));
    }
}
