//! Loss detection by time, and the tail loss probe: RACK-TLP (RFC 8985). What of it needs the list of segments is in
//! the scoreboard.

use super::scoreboard::Delivered;
use crate::time::NEVER;

/// State of a sender (RFC 8985 §5.2).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Rack {
    /// Send time and end of the segment that was sent last among all that were delivered.
    pub latest: (u64, u64),
    /// Its round trip.
    rtt_ns: u64,
    /// When the next segment would count as lost.
    pub timer_ns: u64,
    /// When the tail loss probe goes out.
    pub probe_ns: u64,
    /// How many quarters of the smallest RTT a segment may come late (RACK.reo_wnd_mult).
    multiplier: u8,
    /// Recoveries until it returns to one (RACK.reo_wnd_persist).
    persist: u8,
    /// The network has been seen to reorder.
    reordering: bool,
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
const MAX_ACK_DELAY_NS: u64 = 200_000_000;
/// §7.2: without an RTT sample.
const UNKNOWN_RTT_PTO_NS: u64 = 1_000_000_000;
/// The smoothed RTT bounds the window in any case (§6.2 step 4); this bounds the factor.
const MAX_MULTIPLIER: u8 = 20;
/// §6.2 step 4: the window returns after so many recoveries without a D-SACK.
const PERSIST_RECOVERIES: u8 = 16;

impl Rack {
    pub fn new() -> Self {
        Rack {
            latest: (0, 0),
            rtt_ns: 0,
            reordering: false,
            multiplier: 1,
            persist: 0,
            raised_below: 0,
            timer_ns: NEVER,
            probe_ns: NEVER,
            probe: None,
            sampled: false,
        }
    }

    /// §6.2 steps 2 and 3: an acknowledgment delivered something. Which of its segments say anything of their last copy,
    /// the scoreboard has looked at.
    pub fn delivered(&mut self, delivered: &Delivered, now_ns: u64) {
        self.reordering |= delivered.reordered;
        if delivered.latest > self.latest {
            self.latest = delivered.latest;
            self.rtt_ns = now_ns - self.latest.0;
        }
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
    pub fn rtt_and_reo_wnd_ns(&self, min_rtt_ns: u64, srtt_ns: u64, recovering: bool, sacked: u32) -> u64 {
        let window_ns = if !self.reordering && (recovering || sacked >= 3) {
            0
        } else {
            (u64::from(self.multiplier) * min_rtt_ns / 4).min(srtt_ns)
        };
        self.rtt_ns + window_ns
    }

    /// §7.2: schedules a probe at two smoothed round trips from now, at the latest when the retransmission timer would
    /// expire, in place of it.
    #[inline(always)]
    pub fn arm_probe(&mut self, now_ns: u64, srtt_ns: u64, outstanding: u32, rto_at_ns: u64) {
        // §7.3: probes without an RTT sample between them could hide for good that the round trip has grown.
        if !self.sampled {
            self.probe_ns = NEVER;
            return;
        }
        let pto_ns = if srtt_ns > 0 && outstanding != 1 { 2 * srtt_ns } else { Self::rare_pto_ns(srtt_ns) };
        self.probe_ns = (now_ns + pto_ns).min(rto_at_ns);
    }

    /// §7.2 where a delayed acknowledgment is to be expected, or where no round trip is known.
    #[cold]
    fn rare_pto_ns(srtt_ns: u64) -> u64 {
        if srtt_ns == 0 { UNKNOWN_RTT_PTO_NS } else { 2 * srtt_ns + MAX_ACK_DELAY_NS }
    }

    /// Neither losses by time nor probes until something new happens.
    pub fn disarm(&mut self) {
        self.timer_ns = NEVER;
        self.probe_ns = NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn delivered(sent_ns: u64, end: u64) -> Delivered {
        Delivered { latest: (sent_ns, end), ..Delivered::default() }
    }

    #[test]
    fn patience_is_a_round_trip_and_a_quarter_until_three_are_sacked() {
        let mut rack = Rack::new();
        rack.delivered(&delivered(100 * MS, 1), 140 * MS);
        assert_eq!(rack.rtt_and_reo_wnd_ns(40 * MS, 40 * MS, false, 1), 50 * MS);
        assert_eq!(rack.rtt_and_reo_wnd_ns(40 * MS, 40 * MS, false, 3), 40 * MS);
        assert_eq!(rack.rtt_and_reo_wnd_ns(40 * MS, 40 * MS, true, 0), 40 * MS);
        // Once reordering was seen the window stays open; D-SACKs widen it, once a round trip, up to the smoothed RTT.
        rack.delivered(&Delivered { reordered: true, ..Delivered::default() }, 140 * MS);
        rack.duplicate_reported(1, 100);
        rack.duplicate_reported(50, 150);
        assert_eq!(rack.rtt_and_reo_wnd_ns(40 * MS, 40 * MS, true, 9), 60 * MS);
        for round in 1..30 {
            rack.duplicate_reported(100 * round, 100 * round + 100);
        }
        assert_eq!(rack.rtt_and_reo_wnd_ns(40 * MS, 48 * MS, true, 9), 88 * MS);
        // After sixteen recoveries without one it is a quarter again.
        for _ in 0..16 {
            rack.recovered();
        }
        assert_eq!(rack.rtt_and_reo_wnd_ns(40 * MS, 48 * MS, true, 9), 50 * MS);
    }

    #[test]
    fn the_probe_waits_for_a_delayed_ack_when_one_segment_is_out() {
        let mut rack = Rack { sampled: true, ..Rack::new() };
        rack.arm_probe(0, 50 * MS, 4, 1_000 * MS);
        assert_eq!(rack.probe_ns, 100 * MS);
        rack.arm_probe(0, 50 * MS, 1, 1_000 * MS);
        assert_eq!(rack.probe_ns, 300 * MS);
        rack.arm_probe(0, 50 * MS, 1, 250 * MS);
        assert_eq!(rack.probe_ns, 250 * MS, "in place of the retransmission timer");
    }
}
