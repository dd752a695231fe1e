//! Loss detection by time, and the tail loss probe: RACK-TLP (RFC 8985). What of it needs the list of segments is in
//! the scoreboard.

use super::scoreboard::{Delivered, sent_after};
use crate::tcp::wheel;
use crate::time::{Duration, Instant};

/// State of a sender (RFC 8985 §5.2).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Rack {
    /// Send time and end of the segment that was sent last among all that were delivered.
    pub latest: (Instant, u64),
    /// Its round trip.
    rtt: Duration,
    /// When the next segment would count as lost.
    pub timer: Instant,
    /// When the tail loss probe goes out.
    pub probe_at: Instant,
    /// How many quarters of the smallest RTT a segment may come late (RACK.reo_wnd_mult).
    multiplier: u8,
    /// Recoveries until it returns to one (RACK.reo_wnd_persist).
    persist: u8,
    /// The network has been seen to reorder.
    reordering: bool,
    /// How much later than its tick the probe goes out, in milliseconds, where timers are Linux's.
    late_ms: u8,
    /// The same of `timer`.
    timer_late_ms: u8,
    /// There was an RTT sample since the last probe, or since the beginning (§7.3).
    pub sampled: bool,
    /// The probe that is under way.
    pub probe: Option<Probe>,
    /// `multiplier` was raised for the data below this sequence number: once a round trip (RACK.dsack_round).
    raised_below: u64,
}

/// A tail loss probe (RFC 8985 §7.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// snd_nxt when it went out (TLP.end_seq).
    pub end: u64,
    /// It repeated the last segment (TLP.is_retrans); else it carried new data.
    pub repeated: bool,
}

/// RFC 8985 §7.2: the longest a receiver holds an acknowledgment back (TLP.max_ack_delay; Linux takes 200 ms).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
const LEAST_LINUX: Duration = Duration::from_millis(2);
/// §7.2: without an RTT sample.
const UNKNOWN_RTT_PTO: Duration = Duration::from_secs(1);
/// The smoothed RTT bounds the window in any case (§6.2 step 4); this bounds the factor.
const MAX_MULTIPLIER: u8 = 20;
/// §6.2 step 4: the window returns after so many recoveries without a D-SACK.
const PERSIST_RECOVERIES: u8 = 16;

impl Rack {
    pub fn new() -> Self {
        Rack {
            latest: (Instant::ZERO, 0),
            rtt: Duration::ZERO,
            reordering: false,
            late_ms: 0,
            timer_late_ms: 0,
            multiplier: 1,
            persist: 0,
            raised_below: 0,
            timer: Instant::NEVER,
            probe_at: Instant::NEVER,
            probe: None,
            sampled: false,
        }
    }

    /// §6.2 steps 2 and 3: an acknowledgment delivered something. Which of its segments say anything of their last copy,
    /// the scoreboard has looked at.
    pub fn delivered(&mut self, delivered: &Delivered, now: Instant) {
        self.reordering |= delivered.reordered;
        if sent_after(delivered.latest, self.latest) {
            self.latest = delivered.latest;
            self.rtt = now - self.latest.0;
        }
    }

    /// The same in Linux, where the round trip is that of the segment that was looked at last (`tcp_rack_advance`): of those in order, whose
    /// last one was sent at `in_order_at`, or else of those beyond a hole.
    #[cold]
    pub fn delivered_as_linux(&mut self, delivered: &Delivered, in_order_at: Option<Instant>, now: Instant) {
        self.delivered(delivered, now);
        let beyond_at = Some(delivered.latest).filter(|latest| latest.1 > 0).map(|latest| latest.0);
        if let Some(sent_at) = in_order_at.or(beyond_at) {
            self.rtt = now - sent_at;
        }
    }

    /// Whether a segment was delivered behind a later one (RACK.reordering_seen).
    pub fn has_seen_reordering(&self) -> bool {
        self.reordering
    }

    /// A D-SACK: something was sent again in vain, so segments may come later than thought (§6.2 step 4).
    pub fn duplicate_reported(&mut self, snd_una: u64, snd_nxt: u64) {
        if snd_una >= self.raised_below {
            self.multiplier = (self.multiplier + 1).min(MAX_MULTIPLIER);
            self.raised_below = snd_nxt;
        }
        self.persist = PERSIST_RECOVERIES;
    }

    /// A recovery is over.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// How long after its transmission a segment may be outstanding when a later one was delivered: the round trip
    /// and the reordering window (§6.2 step 4).
    pub fn rtt_and_reo_wnd(&self, min_rtt: Duration, srtt: Duration, recovering: bool, sacked: u32) -> Duration {
        let window = if !self.reordering && (recovering || sacked >= 3) {
            Duration::ZERO
        } else {
            (u64::from(self.multiplier) * min_rtt / 4).min(srtt)
        };
        self.rtt + window
    }

    /// §7.2: schedules a probe at two smoothed round trips from now, at the latest when the retransmission timer would
    /// expire, in place of it.
    #[inline(always)]
    pub fn arm_probe(&mut self, now: Instant, srtt: Duration, outstanding: u32, rto_at: Instant) {
        // §7.3: probes without an RTT sample between them could hide for good that the round trip has grown.
        self.probe_at = if self.sampled { (now + Self::pto(srtt, outstanding)).min(rto_at) } else { Instant::NEVER };
    }

    /// The same with timers as Linux's, which waits two ticks longer for several segments (`TCP_TIMEOUT_MIN_US`).
    #[cold]
    pub fn arm_probe_in_ticks(&mut self, now: Instant, srtt: Duration, outstanding: u32, rto_at: Instant) {
        if !self.sampled {
            self.probe_at = Instant::NEVER;
            return;
        }
        let pto = Self::pto(srtt, outstanding);
        let wait = if outstanding == 1 { pto } else { pto + LEAST_LINUX };
        let left = if rto_at > now { rto_at - now } else { wait };
        let (at, tick) = wheel::expiry(now, wait.min(left));
        self.probe_at = at;
        self.late_ms = (at.as_millis() - tick.as_millis()).min(255) as u8;
    }

    #[inline(always)]
    fn pto(srtt: Duration, outstanding: u32) -> Duration {
        if !srtt.is_zero() && outstanding != 1 { 2 * srtt } else { Self::rare_pto(srtt) }
    }

    /// When Linux looks for losses again that there will be `at`: two ticks later (`tcp_rack_mark_lost`).
    #[cold]
    pub fn wait_in_ticks(&mut self, now: Instant, at: Instant) {
        let never = (Instant::NEVER, Instant::NEVER);
        let (at, tick) = if at.is_never() { never } else { wheel::expiry(now, at.saturating_since(now) + LEAST_LINUX) };
        self.timer = at;
        self.timer_late_ms = at.saturating_since(tick).as_nanos().div_euclid(1_000_000).min(255) as u8;
    }

    /// The tick for which `timer` was set.
    pub fn timer_tick(&self) -> Instant {
        self.timer.saturating_sub(Duration::from_millis(self.timer_late_ms.into()))
    }

    /// The tick for which the probe was set.
    pub fn probe_tick(&self) -> Instant {
        self.probe_at.saturating_sub(Duration::from_millis(self.late_ms.into()))
    }

    /// §7.2 where a delayed acknowledgment is to be expected, or where no round trip is known.
    #[cold]
    fn rare_pto(srtt: Duration) -> Duration {
        if srtt.is_zero() { UNKNOWN_RTT_PTO } else { 2 * srtt + MAX_ACK_DELAY }
    }

    /// Neither losses by time nor probes until something new happens.
    pub fn disarm(&mut self) {
        self.timer = Instant::NEVER;
        self.probe_at = Instant::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn delivered(sent_at: Instant, end: u64) -> Delivered {
        Delivered { latest: (sent_at, end), ..Delivered::default() }
    }

    /// An acknowledgment of a segment that was sent at 100 ms, which tells of one beyond a hole too, sent at 110: the patience counts from
    /// the later one. Linux takes the round trip of the other.
    #[test]
    fn linux_takes_the_round_trip_of_what_was_looked_at_last() {
        let ms = Instant::from_millis;
        let told = delivered(ms(110), 300);
        let mut rack = Rack::new();
        rack.delivered(&told, ms(150));
        assert_eq!((rack.latest, rack.rtt), ((ms(110), 300), 40 * MS));
        rack.delivered_as_linux(&told, Some(ms(100)), ms(150));
        assert_eq!((rack.latest, rack.rtt), ((ms(110), 300), 50 * MS));
        rack.delivered_as_linux(&told, None, ms(151));
        assert_eq!(rack.rtt, 41 * MS);
    }

    #[test]
    fn patience_is_a_round_trip_and_a_quarter_until_three_are_sacked() {
        let mut rack = Rack::new();
        rack.delivered(&delivered(Instant::from_millis(100), 1), Instant::from_millis(140));
        assert_eq!(rack.rtt_and_reo_wnd(40 * MS, 40 * MS, false, 1), 50 * MS);
        assert_eq!(rack.rtt_and_reo_wnd(40 * MS, 40 * MS, false, 3), 40 * MS);
        assert_eq!(rack.rtt_and_reo_wnd(40 * MS, 40 * MS, true, 0), 40 * MS);
        // Once reordering was seen the window stays open; D-SACKs widen it, once a round trip, up to the smoothed RTT.
        rack.delivered(&Delivered { reordered: true, ..Delivered::default() }, Instant::from_millis(140));
        rack.duplicate_reported(1, 100);
        rack.duplicate_reported(50, 150);
        assert_eq!(rack.rtt_and_reo_wnd(40 * MS, 40 * MS, true, 9), 60 * MS);
        for round in 1..30 {
            rack.duplicate_reported(100 * round, 100 * round + 100);
        }
        assert_eq!(rack.rtt_and_reo_wnd(40 * MS, 48 * MS, true, 9), 88 * MS);
        // After sixteen recoveries without one it is a quarter again.
        for _ in 0..16 {
            rack.recovered();
        }
        assert_eq!(rack.rtt_and_reo_wnd(40 * MS, 48 * MS, true, 9), 50 * MS);
    }

    #[test]
    fn the_probe_waits_for_a_delayed_ack_when_one_segment_is_out() {
        let mut rack = Rack { sampled: true, ..Rack::new() };
        rack.arm_probe(Instant::ZERO, 50 * MS, 4, Instant::from_millis(1_000));
        assert_eq!(rack.probe_at, Instant::from_millis(100));
        rack.arm_probe(Instant::ZERO, 50 * MS, 1, Instant::from_millis(1_000));
        assert_eq!(rack.probe_at, Instant::from_millis(300));
        rack.arm_probe(Instant::ZERO, 50 * MS, 1, Instant::from_millis(250));
        assert_eq!(rack.probe_at, Instant::from_millis(250), "in place of the retransmission timer");
        // Linux: 102 ms are in steps of eight, and 300 that wait for the acknowledgment too.
        rack.arm_probe_in_ticks(Instant::ZERO, 50 * MS, 4, Instant::from_millis(1_000));
        assert_eq!((rack.probe_at, rack.probe_tick()), (Instant::from_millis(108), Instant::from_millis(102)));
        rack.arm_probe_in_ticks(Instant::ZERO, 50 * MS, 1, Instant::from_millis(1_000));
        assert_eq!((rack.probe_at, rack.probe_tick()), (Instant::from_millis(308), Instant::from_millis(300)));
        rack.arm_probe_in_ticks(Instant::ZERO, 50 * MS, 4, Instant::from_millis(90));
        assert_eq!((rack.probe_at, rack.probe_tick()), (Instant::from_millis(92), Instant::from_millis(90)));
        let mut looks_at = |us: u64| {
            rack.wait_in_ticks(Instant::from_millis(7), Instant::from_nanos(us * 1_000));
            (rack.timer, rack.timer_tick())
        };
        assert_eq!(looks_at(9_500), (Instant::from_millis(13), Instant::from_millis(12)));
        assert_eq!(looks_at(7_000), (Instant::from_millis(10), Instant::from_millis(9)));
    }
}
