//! Pacing: segments leave at a rate instead of in bursts, as Linux does it.

use crate::congestion::View;
use crate::time::{Duration, Instant};

/// State of a paced subflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacing {
    /// When the next segment may leave.
    next_at: Instant,
    held: bool,
    /// As the control sets it, in bytes per second; 0: by the window.
    rate: f64,
}

impl Pacing {
    /// A packet of `bytes` leaves now: how long the next is held back, at twice the window per smoothed RTT below half
    /// of ssthresh, 1.2 times above. Answers whether it is.
    pub fn sent(&mut self, now: Instant, bytes: u64, view: &View) -> bool {
        if self.rate > 0.0 {
            return self.hold(now, Duration::from_nanos((bytes as f64 * 1e9 / self.rate) as u64));
        }
        let factor = if view.cwnd < view.ssthresh / 2.0 { 2.0 } else { 1.2 };
        let bytes_per_rtt = factor * view.cwnd.max(1.0) * f64::from(view.mss);
        self.hold(now, Duration::from_nanos((bytes as f64 * view.srtt.as_nanos() as f64 / bytes_per_rtt) as u64))
    }

    /// The control sets the rate, in bytes per second.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    fn hold(&mut self, now: Instant, gap: Duration) -> bool {
        // A segment that did not wait for its turn (the first of a recovery) takes none from those after it: else many
        // of them would add up to a standstill.
        self.next_at = if self.held { self.next_at.max(now + gap) } else { self.next_at.max(now) + gap };
        self.held = self.next_at > now;
        self.held
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_worked_by_hand() {
        // cwnd 10 of 1000 bytes, RTT 100 ms: 100 kB/s; at twice that 1000 bytes take 5 ms, at 1.2 times 8.33 ms.
        let view = View { cwnd: 10.0, srtt: Duration::from_millis(100), ..View::new(10.0, 1000) };
        let mut p = Pacing::default();
        assert!(p.sent(Instant::ZERO, 1000, &view));
        assert_eq!(p.deadline(), Instant::from_millis(5));
        assert!(!p.release(Instant::from_nanos(4_999_999)));
        assert!(p.release(Instant::from_millis(5)));
        assert_eq!(p.deadline(), Instant::NEVER);
        let avoidance = View { ssthresh: 10.0, ..view };
        p.sent(Instant::from_millis(5), 1000, &avoidance);
        assert_eq!(p.deadline(), Instant::from_nanos(5_000_000 + 8_333_333));
    }
}
