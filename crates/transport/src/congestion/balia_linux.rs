//! BALIA as the Multipath TCP kernel computes it.

use super::counting::{CountingRule, slot, srtt_eighths, whole};
use super::{View, classic};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;

/// One segment for every ai + 1 acknowledgments, ai = 10·w_r·(Σ x)² / ((x_r + x_max)·(4 x_r + x_max)) in integers, which is
/// the reciprocal of [`Balia`](super::Balia)'s increase; the rates x are in bytes a second. A loss takes
/// md = ⌊w/2⌋·min(β_r, 3/2), but β_r = ⌊x_max/x_r⌋ is an integer, so that a half or three quarters are lost and nothing
/// between. Both are taken when the window moves and after a loss, so md is that of the last such moment.
///
/// Above 2²⁵ byte/s (268 Mbit/s) all rates lose their low ten bits, and again until the greatest fits.
#[derive(Debug, Default)]
pub struct BaliaLinux {
    subflows: Vec<Terms>,
}

impl Make for BaliaLinux {
    fn make(_: &Given, _: &Origin) -> Self {
        BaliaLinux::default()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Terms {
    /// Acknowledgments for a step, and what a loss takes; None: to be computed.
    terms: Option<(u64, u64)>,
    /// Acknowledgments since the last step.
    count: u64,
}

/// The greatest rate the kernel computes with, and by how many bits it scales down.
const RATE_LIMIT: u64 = 1 << 25;
const RATE_SHIFT: u32 = 10;

impl BaliaLinux {
    /// ai and md of `group[r]` when its window is `w`.
    fn terms(group: &[View], r: usize, w: u64) -> (u64, u64) {
        let mss = u64::from(group[r].mss);
        let rate = |i: usize| {
            let w = if i == r { w } else { whole(group[i].cwnd) };
            mss * w * 8_000_000 / srtt_eighths(&group[i])
        };
        let paths = || (0..group.len()).filter(|&i| group[i].active);
        let (own, mut best) = (rate(r), paths().map(rate).max().unwrap_or(0));
        if own == 0 {
            return (w, w / 2);
        }
        let beta = best / own;
        let mut shift = 0;
        while best > RATE_LIMIT {
            best >>= RATE_SHIFT;
            shift += RATE_SHIFT;
        }
        let own = own >> shift;
        let sum: u64 = paths().map(|i| rate(i) >> shift).sum();
        let ai = u128::from(sum) * u128::from(sum) * 10 / u128::from(own + best);
        let ai = (ai * u128::from(w) / u128::from(4 * own + best)) as u64;
        let halves = if beta >= 2 { 3 } else { 2 };
        (if ai == 0 { w } else { ai }, (w / 2) * halves / 2)
    }
}

impl CountingRule for BaliaLinux {
    const NAME: &'static str = <super::Balia as classic::Rule>::NAME;

    fn step(&mut self, group: &[View], r: usize, w: u64) -> i8 {
        let subflow = slot(&mut self.subflows, r);
        let (ai, _) = *subflow.terms.get_or_insert_with(|| Self::terms(group, r, w));
        if subflow.count >= ai {
            subflow.count = 0;
            return 1;
        }
        subflow.count += 1;
        0
    }

    fn moved(&mut self, group: &[View], r: usize, w: u64) {
        slot(&mut self.subflows, r).terms = Some(Self::terms(group, r, w));
    }

    fn ssthresh(&mut self, group: &[View], r: usize, w: u64) -> u64 {
        let subflow = slot(&mut self.subflows, r);
        let (_, md) = subflow.terms.take().unwrap_or_else(|| Self::terms(group, r, w));
        w.saturating_sub(md).max(1)
    }

    fn lost(&mut self, r: usize) {
        slot(&mut self.subflows, r).count = 0;
    }

    fn joined(&mut self, r: usize) {
        *slot(&mut self.subflows, r) = Terms::default();
    }
}

#[cfg(test)]
mod tests {
    use super::super::CongestionControl;
    use super::super::counting::Counting;
    use super::*;
    use crate::time::{Duration, Instant};

    fn view(cwnd: f64, rtt_ms: u64) -> View {
        View { cwnd, ssthresh: 1.0, srtt: Duration::from_millis(rtt_ms), active: true, ..View::new(10.0, 1000) }
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (20, 20), rtt = (10, 40) ms, 1000-byte segments: x = 2 000 000 and 500 000 byte/s, Σ = 2.5e6.
        // Path 0: 10·20·6.25e12/(4e6·10e6) = 31.25: 31 (the paper's form: 1/0.032); md = 10.
        // Path 1: 10·20·6.25e12/(2.5e6·4e6) = 125 (1/0.008); β = 4, md = 15.
        let group = [view(20.0, 10), view(20.0, 40)];
        assert_eq!(BaliaLinux::terms(&group, 0, 20), (31, 10));
        assert_eq!(BaliaLinux::terms(&group, 1, 20), (125, 15));
    }

    #[test]
    fn a_step_is_made_by_the_acknowledgment_after_ai() {
        // ai = 31, as above: the 32nd. A loss after ten begins to count anew.
        let group = [view(20.0, 10), view(20.0, 40)];
        let mut balia = BaliaLinux::default();
        let first = |balia: &mut BaliaLinux| (1..100).find(|_| balia.step(&group, 0, 20) != 0);
        assert_eq!((first(&mut balia), first(&mut balia)), (Some(32), Some(32)));
        for _ in 0..10 {
            assert_eq!(balia.step(&group, 0, 20), 0);
        }
        balia.lost(0);
        assert_eq!(first(&mut balia), Some(32));
    }

    #[test]
    fn beta_is_a_whole_number() {
        // x = (30, 16): β₁ = 1.875, of which the paper makes min(β, 1.5)·8 = 12; here ⌊1.875⌋ = 1 takes 8.
        let group = [view(30.0, 50), view(16.0, 50)];
        assert_eq!(BaliaLinux::terms(&group, 1, 16).1, 8);
        assert_eq!(BaliaLinux::terms(&[view(32.0, 50), view(16.0, 50)], 1, 16).1, 12);
    }

    #[test]
    fn fast_paths_lose_low_bits() {
        // 100 segments of 1000 bytes in 1 ms: 1e8 byte/s, above 2²⁵, so 97 656 after ten bits; path 1 in 1 s: 100 000, 97.
        // ai₁ = (97 753² · 10/(97 + 97 656)) · 100/(388 + 97 656) = 977 530·100/98 044 = 997.
        let group = [view(100.0, 1), view(100.0, 1000)];
        assert_eq!(BaliaLinux::terms(&group, 1, 100).0, 997);
    }

    #[test]
    fn below_a_byte_a_second_it_is_reno() {
        // 20 000 bytes in 21 000 s are no whole byte a second: an increase each window, and half of it lost.
        let group = [view(20.0, 21_000_000), view(20.0, 40)];
        assert_eq!(BaliaLinux::terms(&group, 0, 20), (20, 10));
    }

    #[test]
    fn a_loss_takes_what_the_last_moment_said() {
        let mut group = [view(20.0, 10), view(20.0, 40)];
        let mut control = Counting::new(BaliaLinux::default());
        let ack = super::super::Ack { now: Instant::ZERO, acked_segments: 1.0, rtt: None, cwnd_limited: true };
        control.on_ack(&group, 1, &ack);
        group[0].cwnd = 5.0; // β₁ would now be 1
        assert_eq!(control.on_loss(&group, 1, Instant::ZERO), 5.0, "20 − 15");
        group[1].cwnd = 5.0; // β₁ = 4 again
        assert_eq!(control.on_loss(&group, 1, Instant::ZERO), 2.0, "5 − ⌊⌊5/2⌋·3/2⌋, computed anew");
    }
}
