//! When a timer of Linux expires. The kernel counts ticks, here of a millisecond (`HZ` = 1,000), and keeps its timers in a wheel whose
//! steps are the coarser the longer a timer waits, so that a retransmission timeout comes up to 8 ms late, from half a second on up
//! to 64, and when it has doubled beyond four seconds up to 512.
//!
//! Linux 6.12, `kernel/time/timer.c`: `calc_wheel_index`, `LVL_START`. `tcp.timers` chooses it.

use crate::time::{Duration, Instant};

/// The tick of the kernel at time 0 of a scenario. It depends on when a machine was started; this is that of a guest of the engine
/// `linux-virtual`, as the timeouts of a connection show whose link is dead.
const PHASE_MS: u64 = 68;
/// Waits below these are in levels 0, 1, 2, …, whose steps are eight times as long from one to the next.
const LEVELS_MS: [u64; 4] = [63, 504, 4_032, 32_256];

/// A wait in whole ticks.
#[must_use]
pub const fn ticks(wait: Duration) -> Duration {
    Duration::from_millis(wait.as_nanos().div_ceil(1_000_000))
}

/// When a timer that is set at `now` for so long expires; and the tick for which it was set.
#[must_use]
pub fn expiry(now: Instant, wait: Duration) -> (Instant, Instant) {
    let wait_ms = ticks(wait).as_nanos() / 1_000_000;
    let asked_ms = now.as_millis() + wait_ms;
    let shift = 3 * LEVELS_MS.iter().filter(|&&most| wait_ms >= most).count();
    let at_ms = (((asked_ms + PHASE_MS) >> shift) + 1) << shift;
    (Instant::from_millis(at_ms - PHASE_MS), Instant::from_millis(asked_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.12 over 5 Mbit/s and 10 ms, whose link was dead from 1 s on: the last acknowledgment came at 1,004.6 ms, and the timeout
    /// was 441 ms. It sent again at 1,452 ms and so on; an exact timer has 1,445.6, and each of the others 882, 1,764, … later.
    #[test]
    fn timeouts_of_a_kernel_come_in_steps() {
        let mut now = Instant::from_nanos(1_004_600_000);
        let mut wait = Duration::from_micros(440_028);
        for at_ms in [1_452, 2_364, 4_156, 7_740, 15_292, 29_628, 58_300] {
            now = expiry(now, wait).0;
            assert_eq!(now, Instant::from_millis(at_ms));
            wait = 2 * ticks(wait);
        }
    }

    #[test]
    fn it_is_never_early_and_late_by_a_step_at_most() {
        for (wait_ms, step_ms) in
            [(0, 1), (62, 1), (63, 8), (503, 8), (504, 64), (4_031, 64), (4_032, 512), (40_000, 4_096)]
        {
            for at_us in (0..9_000_000).step_by(777_777) {
                let now = Instant::from_nanos(at_us * 1_000);
                let (at, asked) = expiry(now, Duration::from_millis(wait_ms));
                assert!(at > now + Duration::from_millis(wait_ms) && at <= asked + Duration::from_millis(step_ms));
            }
        }
    }
}
