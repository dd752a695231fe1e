//! Pacing: segments leave at a rate instead of in bursts, as Linux does it (6.12, `net/ipv4/tcp_output.c`,
//! `tcp_update_skb_after_send`). They leave in groups ([`super::tso`]), the first ten of a connection at once, and who comes late
//! catches up.

use super::tso::most_segments;
use crate::congestion::View;
use crate::time::{Duration, Instant};

/// So many segments are not paced, nor are those before them (the initial quantum of fq).
const FIRST_SEGMENTS: u32 = 9;

/// State of a paced subflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacing {
    /// When the next group may leave.
    next_at: Instant,
    held: bool,
    /// When the present group began, and when it might have at the earliest; how many of its segments have not left, and what those
    /// hold that have.
    began_at: Instant,
    from: Instant,
    left: u32,
    bytes: u64,
    /// Of the first segments.
    sent: u32,
    /// As the control sets it, in bytes per second; None: by the window.
    rate: Option<f64>,
}

impl Pacing {
    /// A packet of `bytes` leaves now: how long the next group is held back, at the control's rate, or at [`factor`] times the
    /// window per smoothed RTT. `ends`: whether its group ends with it, if the sender knows groups. Answers whether the next waits.
    pub fn sent(&mut self, now: Instant, bytes: u64, view: &View, ends: Option<bool>) -> bool {
        let rate = match self.rate {
            Some(rate) => rate,
            None => factor(view) * view.cwnd.max(1.0) * f64::from(view.mss) * 1e9 / view.srtt.as_nanos().max(1) as f64,
        };
        if self.left == 0 || now != self.began_at {
            (self.began_at, self.from) = (now, self.next_at);
            self.left = group(rate, view, self.rate.is_some());
            self.bytes = 0;
        }
        self.left = ends.map_or(self.left - 1, |ends| u32::from(!ends));
        self.bytes += bytes;
        if self.sent < FIRST_SEGMENTS {
            self.sent += 1;
            self.next_at = self.next_at.max(now);
            return false;
        }
        let gap = Duration::from_nanos(self.bytes.saturating_mul(1_000_000_000) / (rate as u64).max(1));
        // What leaves later than pacing allowed it to takes so much off the gap behind it, half of it at most.
        let gap = gap - now.saturating_since(self.from).min(gap / 2);
        // A group that did not wait for its turn (the first of a recovery) takes none from those after it: else many
        // of them would add up to a standstill.
        self.next_at = if self.held { self.from.max(now + gap) } else { self.from.max(now) + gap };
        self.held = self.next_at > now && (self.held || self.left == 0);
        self.held
    }

    /// An acknowledgment comes: a group that is not whole has ended. Answers whether the next is held back.
    pub fn acknowledged(&mut self, now: Instant) -> bool {
        self.held |= self.next_at > now;
        self.held
    }

    /// The control sets the rate, in bytes per second; less than one says nothing.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = (rate >= 1.0).then_some(rate);
    }

    /// When it lets go.
    pub fn deadline(&self) -> Instant {
        if self.held { self.next_at } else { Instant::NEVER }
    }

    /// When the next packet may leave.
    pub fn departs_at(&self, now: Instant) -> Instant {
        self.next_at.max(now)
    }

    /// Whether the next packet waits.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Whether the time has come; it then lets go.
    pub fn release(&mut self, now: Instant) -> bool {
        let due = self.held && self.next_at <= now;
        self.held &= !due;
        due
    }
}

/// By how much the rate exceeds the window per smoothed RTT: twice in slow start, below half of ssthresh, and 1.2 times above.
pub fn factor(view: &View) -> f64 {
    if view.cwnd < view.ssthresh / 2.0 { 2.0 } else { 1.2 }
}

/// The segments of a group: a millisecond's, at least two, or one below 1.2 Mbit/s where a control sets the rate; at most half of
/// the window.
fn group(rate: f64, view: &View, is_set: bool) -> u32 {
    most_segments(rate as u64, is_set, view).min((view.cwnd as u64 / 2).max(1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cwnd 10 of 1000 bytes, RTT 100 ms: 100 kB/s; at twice that 1000 bytes take 5 ms, at 1.2 times 8.33 ms.
    fn view() -> View {
        View { cwnd: 10.0, srtt: 100 * MS, min_rtt: 100 * MS, ..View::new(10.0, 1000) }
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn gaps_worked_by_hand() {
        let mut p = Pacing::default();
        let began = Instant::from_nanos(1);
        for _ in 0..9 {
            assert!(!p.sent(began, 1000, &view(), None), "the first ten leave at once");
        }
        assert!(p.sent(began, 1000, &view(), None), "the tenth ends a group of two, which counts whole");
        let next = began + 10 * MS;
        assert_eq!(p.deadline(), next);
        assert!(!p.release(Instant::from_millis(10)));
        assert!(p.release(next));
        assert_eq!(p.deadline(), Instant::NEVER);
        let avoidance = View { ssthresh: 10.0, ..view() };
        assert_eq!((p.sent(next, 1000, &avoidance, None), p.sent(next, 1000, &avoidance, None)), (false, true));
        assert_eq!(p.deadline(), next + 2 * Duration::from_nanos(8_333_333));
    }

    fn waiting() -> Pacing {
        Pacing { sent: FIRST_SEGMENTS, next_at: Instant::from_millis(40), ..Pacing::default() }
    }

    /// A millisecond late takes a millisecond off the gap of 10 ms, seven take half of it.
    #[test]
    fn who_comes_late_catches_up() {
        for (late, expected) in [(0, 10), (1, 9), (4, 6), (7, 5)] {
            let now = Instant::from_millis(40 + late);
            let mut p = waiting();
            p.sent(now, 1000, &view(), None);
            p.sent(now, 1000, &view(), None);
            assert_eq!(p.deadline() - now, expected * MS);
        }
    }

    /// A window of three lets one segment go at a time; 100 kB/s of a control, too. 15 MB/s are 14 segments in 2^-10 s, up to
    /// half of the window.
    #[test]
    fn groups_are_what_leaves_in_a_millisecond() {
        assert_eq!(group(2e5, &View { cwnd: 3.0, ..view() }, false), 1);
        assert_eq!([group(1e5, &view(), true), group(1e5, &view(), false)], [1, 2]);
        let wide = |cwnd: f64| View { cwnd, ..view() };
        assert_eq!([group(15e6, &wide(100.0), true), group(15e6, &wide(12.0), true)], [14, 6]);
    }

    /// At 336,436 bytes/s two segments of 1,448 bytes take 8,607,877.9 ns; the gap behind a group is rounded once. Three leave together
    /// where the sender says so, though it would be two here.
    #[test]
    fn a_group_of_the_sender_counts_whole() {
        let mut p = Pacing { sent: FIRST_SEGMENTS, next_at: Instant::from_millis(40), ..Pacing::default() };
        p.set_rate(336_436.0);
        let now = Instant::from_millis(40);
        assert_eq!([false, true].map(|ends| p.sent(now, 1_448, &view(), Some(ends))), [false, true]);
        let next = now + Duration::from_nanos(8_607_877);
        assert_eq!(p.deadline(), next);
        assert!(p.release(next));
        assert_eq!([false, false, true].map(|ends| p.sent(next, 1_448, &view(), Some(ends))), [false, false, true]);
        assert_eq!(p.deadline(), next + Duration::from_nanos(12_911_816)); // 4,344 · 10⁹ / 336,436
    }

    /// A control that knows no rate yet leaves it to the window.
    #[test]
    fn no_rate_is_that_of_the_window() {
        let gap = |rate: Option<f64>| {
            let mut p = waiting();
            rate.into_iter().for_each(|rate| p.set_rate(rate));
            let now = Instant::from_millis(40);
            (p.sent(now, 1_000, &view(), None), p.sent(now, 1_000, &view(), None), p.deadline())
        };
        assert_eq!([0.0, f64::NAN, -1.0].map(|rate| gap(Some(rate))), [gap(None); 3]);
    }

    /// The window ended a group: when an acknowledgment makes room, the rest of its gap has passed, or holds back.
    #[test]
    fn a_group_that_is_not_whole_is_waited_for() {
        let mut p = waiting();
        assert!(!p.sent(Instant::from_millis(40), 1000, &view(), None));
        let (mut early, mut late) = (p, p);
        let end = Instant::from_millis(45);
        assert_eq!((early.acknowledged(Instant::from_millis(44)), early.deadline()), (true, end));
        assert_eq!((late.acknowledged(end), late.deadline()), (false, Instant::NEVER));
    }
}
