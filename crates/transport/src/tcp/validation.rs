//! Congestion window validation (RFC 7661): what a window says that was not filled.
//!
//! - §4.2: *pipeACK* is the volume acknowledged in a round trip, the largest of the last max(3·RTT, 1 s); undefined
//!   until the first round trip is over.
//! - §4.3: a window is *validated* while pipeACK is undefined or at least half of it.
//! - §4.4: in the non-validated phase the window is kept, and does not grow.
//! - §4.4.1: at a loss in that phase the sender "MUST calculate a safe cwnd", (max(pipeACK, LossFlightSize))/2, and when
//!   the loss is repaired less what was sent again, (max(pipeACK, LossFlightSize) − R)/2. The half is the control's own
//!   decrease here.
//! - §4.4.3: after five minutes in it, ssthresh = max(ssthresh, 3·cwnd/4) and cwnd = max(cwnd/2, IW); then the five
//!   minutes begin anew.
//!
//! A round trip lasts until all is acknowledged that was under way when it began; after a pause it begins with the
//! first acknowledgment, which counts. Its volume is held against the window that it began with: in slow start the
//! window doubles meanwhile.
//!
//! Linux does otherwise (RFC 2861 in part), and so do subflows under the scheduler `linux`: a window that was not filled does
//! not grow, but a loss takes its part of the whole of it, and a pause longer than the retransmission timeout halves it for
//! each, down to the initial window (`tcp_cwnd_restart`).

use crate::congestion::{View, Window};
use crate::tcp::wheel;
use crate::time::{Duration, Instant};

/// The Non-Validated Period, §4.4.3: "five minutes".
const PERIOD: Duration = Duration::from_secs(300);
/// The pipeACK Sampling Period, §4.2: "max(3*RTT, 1 second)".
const SAMPLING_ROUNDS: u64 = 3;
const SAMPLING: Duration = Duration::from_secs(1);

/// One subflow's.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Validation {
    /// None before the first acknowledgment of data, and of Linux's kind.
    rounds: Option<Box<Rounds>>,
    /// Of Linux's kind: when something was acknowledged last.
    linux_heard_at: Option<Instant>,
    initial_window: u32,
}

/// What the standard's kind knows of a subflow that has sent data.
#[derive(Clone, Debug, Default)]
#[repr(C)]
struct Rounds {
    /// The present round trip is over when this sequence number is acknowledged; 0: it begins with the next
    /// acknowledgment.
    round_end: u64,
    /// The window that it began with, in segments.
    round_cwnd: f64,
    /// What was acknowledged in it so far, in segments.
    acked: f64,
    /// Since when the window is not validated, or was last reduced for it.
    since: Option<Instant>,
    /// During a recovery that began in the non-validated phase: max(pipeACK, LossFlightSize), and the retransmissions
    /// before it.
    safe: Option<(f64, u64)>,
    /// Volumes of past round trips in falling order, and when each was over: the first is pipeACK until it is too old.
    samples: [(Instant, f64); 3],
    defined: bool,
}

impl Validation {
    pub fn new(initial_window: u32) -> Self {
        Validation { rounds: None, linux_heard_at: None, initial_window }
    }

    /// From now on as Linux does it.
    pub fn become_linux(&mut self) {
        self.linux_heard_at = Some(Instant::ZERO);
    }

    pub fn is_linux(&self) -> bool {
        self.linux_heard_at.is_some()
    }

    /// Linux's window after a pause. The last segment went out a round trip before it was acknowledged.
    #[cold]
    pub fn restarted(&self, now: Instant, rto: Duration, view: &View) -> Option<Window> {
        let heard_at = self.linux_heard_at.filter(|&at| !at.is_zero())?;
        let idle = now - heard_at + view.srtt;
        let least = f64::from(self.initial_window).min(view.cwnd);
        let halvings = (idle / rto.max(Duration::NANOSECOND)).min(64) as i32;
        let cwnd = (view.cwnd * 0.5_f64.powi(halvings)).max(least);
        (halvings > 0).then(|| Window { cwnd, ssthresh: view.ssthresh.max(0.75 * view.cwnd) })
    }

    /// The same where it is known when data left last, in whole milliseconds: the fraction of a segment stays.
    pub fn halved(&self, idle_ms: u64, rto: Duration, view: &View) -> Option<Window> {
        let rto_ms = (wheel::ticks(rto).as_nanos() / 1_000_000).max(1);
        let halvings = idle_ms.saturating_sub(1) / rto_ms;
        let (whole, least) = (view.cwnd as u64, u64::from(self.initial_window).min(view.cwnd as u64));
        let cwnd = (whole >> halvings.min(63)).max(least);
        let ssthresh = view.ssthresh.max((whole / 2 + whole / 4) as f64);
        (halvings > 0).then(|| Window { cwnd: cwnd as f64 + view.cwnd.fract(), ssthresh })
    }

    /// Whether the window may grow.
    #[inline]
    pub fn is_validated(&self) -> bool {
        self.rounds.as_ref().is_none_or(|rounds| rounds.since.is_none())
    }

    /// `segments` were acknowledged outside of recovery, all below `una`; `nxt` is what is sent next. `filled`: they
    /// were sent when the window was full, and so say of themselves that it was used; the round trip that they belong to may
    /// have begun in a recovery and have less to show.
    #[inline(always)]
    pub fn acknowledged(&mut self, now: Instant, segments: f64, (una, nxt): (u64, u64), filled: bool, view: &View) {
        if let Some(heard_at) = &mut self.linux_heard_at {
            *heard_at = now;
            return;
        }
        let rounds = self.rounds.get_or_insert_default();
        rounds.acked += segments;
        if filled {
            rounds.since = None;
        }
        if rounds.round_end == 0 {
            (rounds.round_end, rounds.round_cwnd) = (nxt, view.cwnd);
        }
        if una >= rounds.round_end {
            rounds.end_round(now, (una, nxt), filled, view);
        }
    }

    /// Data goes out after nothing was under way: was the pause so long that the window says less? Answers the window
    /// to begin with.
    #[cold]
    pub fn resumed(&mut self, now: Instant, view: &View) -> Option<Window> {
        let rounds = self.rounds.as_mut()?;
        let newest_at = rounds.samples.iter().map(|s| s.0).max().unwrap_or_default();
        let idle = rounds.defined && now - newest_at > SAMPLING.max(SAMPLING_ROUNDS * view.srtt);
        if idle {
            // Nothing was acknowledged in the sampling period: pipeACK is 0 since then.
            rounds.since = rounds.since.or(Some(newest_at));
            rounds.samples = [(Instant::ZERO, 0.0); 3];
        }
        (rounds.round_end, rounds.acked) = (0, 0.0);
        self.reduced(now, view)
    }

    /// §4.4.3, once for each five minutes that have passed in the non-validated phase.
    pub fn reduced(&mut self, now: Instant, view: &View) -> Option<Window> {
        let since = self.rounds.as_mut()?.since.as_mut()?;
        let periods = now.saturating_since(*since) / PERIOD;
        if periods == 0 {
            return None;
        }
        *since += periods * PERIOD;
        let View { mut cwnd, mut ssthresh, .. } = *view;
        for _ in 0..periods.min(32) {
            ssthresh = ssthresh.max(0.75 * cwnd);
            cwnd = cwnd.min((cwnd / 2.0).max(f64::from(self.initial_window)));
        }
        Some(Window { cwnd, ssthresh })
    }

    /// A loss is found with `outstanding` segments under way: the window that its response starts from, where that is
    /// less than `cwnd`.
    pub fn lost(&mut self, outstanding: u32, cwnd: f64, retransmissions: u64) -> Option<f64> {
        let rounds = self.rounds.as_mut()?;
        rounds.safe = None;
        // "The sender leaves the non-validated phase" with its window reduced: the next round trip tells.
        rounds.since.take()?;
        let safe = rounds.samples[0].1.max(f64::from(outstanding)).max(1.0);
        rounds.safe = Some((safe, retransmissions));
        (safe < cwnd).then_some(safe)
    }

    /// The loss is repaired: the window that remains, where the sender was not validated. `ssthresh` is what the
    /// response made of max(pipeACK, LossFlightSize).
    pub fn repaired(&mut self, ssthresh: f64, retransmissions: u64) -> Option<f64> {
        let rounds = self.rounds.as_mut()?;
        (rounds.round_end, rounds.acked) = (0, 0.0);
        let (safe, before) = rounds.safe.take()?;
        let again = (retransmissions - before) as f64;
        Some((ssthresh * (safe - again) / safe).max(1.0))
    }
}

impl Rounds {
    /// A round trip is over: one more sample of what it delivered.
    #[cold]
    fn end_round(&mut self, now: Instant, (una, nxt): (u64, u64), filled: bool, view: &View) {
        self.take(now, self.acked, view.srtt);
        let validated = filled || 2.0 * self.samples[0].1 >= self.round_cwnd.min(view.cwnd);
        self.since = if validated { None } else { self.since.or(Some(now)) };
        (self.round_end, self.round_cwnd, self.acked) = (if nxt > una { nxt } else { 0 }, view.cwnd, 0.0);
    }

    /// A sample: one that is larger makes smaller and older ones needless.
    fn take(&mut self, now: Instant, volume: f64, srtt: Duration) {
        self.defined = true;
        let oldest_at = now.saturating_sub(SAMPLING.max(SAMPLING_ROUNDS * srtt));
        let mut kept = self.samples.into_iter().filter(|&(at, v)| at >= oldest_at && v > volume);
        let mut samples = [(now, volume); 3];
        // With all places taken the smallest gives way: pipeACK falls a little early, never late.
        let (first, second) = (kept.next(), kept.next());
        if let Some(first) = first {
            samples[0] = first;
            samples[1] = second.unwrap_or((now, volume));
        }
        self.samples = samples;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe_ack(v: &Validation) -> f64 {
        v.rounds.as_ref().unwrap().samples[0].1
    }

    fn view(cwnd: f64) -> View {
        View { cwnd, ssthresh: 20.0, srtt: Duration::from_millis(100), active: true, ..View::new(10.0, 1000) }
    }

    #[test]
    fn linux_halves_a_window_for_each_timeout_of_a_pause() {
        let mut v = Validation::new(10);
        v.become_linux();
        rounds(&mut v, 1, &[8, 8, 8], 40.0);
        assert!(v.is_validated());
        assert_eq!(v.lost(8, 40.0, 0), None, "a loss takes half of 40, not of 8");
        // Heard of at 300 ms, sent 100 ms before; the timeout is 300 ms.
        let after = |now_ms: u64| {
            v.restarted(Instant::from_millis(now_ms), Duration::from_millis(300), &view(40.0))
                .map(|w| (w.cwnd, w.ssthresh))
        };
        assert_eq!(after(499), None);
        assert_eq!(after(500), Some((20.0, 30.0)));
        assert_eq!(after(800), Some((10.0, 30.0)));
        assert_eq!(after(9_000), Some((10.0, 30.0)), "not below the initial window");
    }

    /// `tcp_cwnd_restart` with 40 segments and half of one: 301 ms are more than a timeout of 300, 600 are not more than two.
    #[test]
    fn linux_counts_a_pause_in_milliseconds_where_it_is_known() {
        let v = Validation::new(10);
        let after = |idle_ms| v.halved(idle_ms, Duration::from_millis(300), &view(40.5)).map(|w| (w.cwnd, w.ssthresh));
        assert_eq!(after(300), None);
        assert_eq!(after(301), Some((20.5, 30.0)));
        assert_eq!((after(600), after(601)), (Some((20.5, 30.0)), Some((10.5, 30.0))));
        assert_eq!(after(9_000), Some((10.5, 30.0)), "not below the initial window");
    }

    /// Round trips of 100 ms in which so many segments are sent and acknowledged, from `from` on.
    fn rounds(v: &mut Validation, from: usize, volumes: &[u64], cwnd: f64) -> Instant {
        let mut sent = 1 + 1000 * from as u64;
        for (n, &volume) in volumes.iter().enumerate() {
            sent += volume;
            v.acknowledged(
                Instant::from_millis((from + n) as u64 * 100),
                volume as f64,
                (sent, sent),
                false,
                &view(cwnd),
            );
        }
        Instant::from_millis((from + volumes.len()) as u64 * 100)
    }

    #[test]
    fn half_the_window_in_a_round_trip_validates_it() {
        let mut v = Validation::new(10);
        assert!(v.is_validated(), "pipeACK is undefined");
        rounds(&mut v, 1, &[20, 20, 20, 20], 40.0);
        assert!(v.is_validated());
        // 19 of 40 is less than half: but 20 was acknowledged within the last second.
        rounds(&mut v, 100, &[20, 20, 19], 40.0);
        assert!(v.is_validated());
        rounds(&mut v, 200, &[19, 19, 19], 40.0);
        assert!(!v.is_validated());
        assert_eq!(pipe_ack(&v), 19.0);
        rounds(&mut v, 300, &[20, 20, 20], 40.0);
        assert!(v.is_validated(), "it was used again");
    }

    #[test]
    fn a_sample_counts_for_a_second_or_three_round_trips() {
        let mut v = Validation::new(10);
        rounds(&mut v, 1, &[30, 30, 4, 4, 4, 4, 4, 4, 4, 4, 4], 40.0);
        assert!(v.is_validated(), "30 of 40 within the last second");
        rounds(&mut v, 12, &[4, 4, 4], 40.0);
        assert!(!v.is_validated());
        assert_eq!(pipe_ack(&v), 4.0);
    }

    #[test]
    fn slow_start_validates_itself() {
        let mut v = Validation::new(10);
        let (mut una, mut nxt, mut cwnd) = (0, 10, 10.0);
        for n in 0..2_000_u64 {
            // Each ACK of one segment lets two go.
            (una, cwnd) = (una + 1, cwnd + 1.0);
            v.acknowledged(Instant::from_millis(n), 1.0, (una, nxt), false, &view(cwnd));
            nxt += 2;
            assert!(v.is_validated(), "ACK {n}");
        }
    }

    /// A burst after a pause: its first ACK is of it too.
    #[test]
    fn requests_are_counted_whole() {
        let mut v = Validation::new(10);
        for n in 0..20 {
            let now = Instant::from_secs(n * 5);
            assert_eq!(v.resumed(now, &view(16.0)), None);
            for k in 1..=4 {
                v.acknowledged(now + Duration::from_millis(k), 2.0, (8 * n + 2 * k, 8 * n + 8), false, &view(16.0));
            }
            assert_eq!(pipe_ack(&v), 8.0);
            assert!(v.is_validated(), "half of 16");
        }
    }

    #[test]
    fn a_loss_in_the_non_validated_phase_leaves_half_of_what_was_used() {
        let mut v = Validation::new(10);
        rounds(&mut v, 1, &[8, 8, 8], 40.0);
        assert!(!v.is_validated());
        // pipeACK 8, LossFlightSize 6: the response is to 8, which Reno makes 4.
        assert_eq!(v.lost(6, 40.0, 5), Some(8.0));
        // Two segments were sent again: (8 − 2)/2.
        assert_eq!(v.repaired(4.0, 7), Some(3.0));
        // LossFlightSize 12 is more.
        rounds(&mut v, 100, &[8, 8, 8], 40.0);
        assert_eq!(v.lost(12, 40.0, 7), Some(12.0));
        assert_eq!(v.repaired(6.0, 7 + 12), Some(1.0), "all of it: one segment remains");
        // In the validated phase the standard's response holds.
        rounds(&mut v, 200, &[30, 30, 30], 40.0);
        assert_eq!((v.lost(12, 40.0, 20), v.repaired(20.0, 21)), (None, None));
    }

    #[test]
    fn five_minutes_halve_the_window_down_to_the_initial_one() {
        let mut v = Validation::new(10);
        let now = rounds(&mut v, 1, &[8, 8, 8], 64.0);
        let since = v.rounds.as_ref().and_then(|rounds| rounds.since).unwrap();
        assert_eq!(v.reduced(since + Duration::from_secs(300) - Duration::NANOSECOND, &view(64.0)), None);
        // ssthresh = max(20, 3·64/4), cwnd = max(32, 10).
        let w = Window { cwnd: 32.0, ssthresh: 48.0 };
        assert_eq!(v.reduced(since + Duration::from_secs(300), &view(64.0)), Some(w));
        assert_eq!(v.reduced(since + Duration::from_secs(301), &view(32.0)), None, "the five minutes begin anew");
        // Half an hour later: 16, 10, 10, …
        let later = v.resumed(now + Duration::from_secs(2000), &View { ssthresh: 48.0, ..view(32.0) });
        assert_eq!(later, Some(Window { cwnd: 10.0, ssthresh: 48.0 }));
        // A window below the initial one is not raised.
        assert_eq!(v.reduced(now + Duration::from_secs(9000), &view(4.0)).map(|w| w.cwnd), Some(4.0));
    }

    #[test]
    fn a_pause_keeps_the_window_for_five_minutes() {
        let mut v = Validation::new(10);
        let end = rounds(&mut v, 1, &[30, 30, 30], 40.0);
        assert_eq!(v.resumed(end + Duration::from_millis(500), &view(40.0)), None);
        assert!(v.is_validated(), "a short pause");
        assert_eq!(v.resumed(end + Duration::from_secs(200), &view(40.0)), None);
        assert!(!v.is_validated());
        let w = Window { cwnd: 20.0, ssthresh: 30.0 };
        assert_eq!(v.resumed(end + Duration::from_secs(320), &view(40.0)), Some(w));
    }
}
