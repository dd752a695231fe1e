//! OLIA as the Multipath TCP kernel computes it.

use super::classic::{self, alone};
use super::counting::{CountingRule, slot, srtt_eighths, whole};
use super::olia::{MinSsthresh, between_losses};
use super::{Phase, View};
use crate::algorithm::{Given, Make};
use crate::plugin::Origin;

/// Each acknowledgment adds ⌊2¹⁰·(w_r/rtt_r²/(Σ_p w_p/rtt_p)² + ε_r/w_r)⌋ to a counter, rounded toward zero, ε_r being
/// α_r of [`Olia`](super::Olia); the window moves by one segment when the counter reaches ±(2¹⁰ − 1), and the counter
/// starts at zero again. The window of a path in recovery counts as its ssthresh.
///
/// The first term is computed as w_r/S² with S² = (1 + Σ_p ⌊w_p·2¹⁰·srtt_r/srtt_p⌋)². The least ssthresh is Reno's
/// two segments unless `min_ssthresh` says 1, which the authors' own module had (Khalili 2013 §IV.B).
#[derive(Debug, Default)]
pub struct OliaLinux {
    counts: Vec<i64>,
    /// The paths that take part; kept to save the allocation.
    paths: Vec<Path>,
    min_ssthresh: MinSsthresh,
}

impl Make for OliaLinux {
    fn make(given: &Given, _: &Origin) -> Self {
        OliaLinux { min_ssthresh: MinSsthresh::read(given), ..OliaLinux::default() }
    }
}

/// A path as the kernel sees it.
#[derive(Debug)]
struct Path {
    window: u64,
    between_losses: u128,
    srtt_squared: u128,
}

impl Path {
    fn new(v: &View) -> Self {
        let srtt = u128::from(srtt_eighths(v));
        Path { window: window(v), between_losses: between_losses(v).into(), srtt_squared: srtt * srtt }
    }

    /// Whether its ℓ/srtt² is more; multiplied out, so that equal paths are equal.
    fn better_than(&self, other: &Path) -> bool {
        self.between_losses * other.srtt_squared > other.between_losses * self.srtt_squared
    }
}

const SCALE: u32 = 10;

fn window(v: &View) -> u64 {
    whole(if v.phase == Phase::Recovery { v.ssthresh } else { v.cwnd })
}

impl OliaLinux {
    /// ε_r as (sign, denominator).
    fn epsilon(&mut self, group: &[View], r: usize) -> (i8, u64) {
        self.paths.clear();
        self.paths.extend(group.iter().filter(|v| v.active).map(Path::new));
        let own = Path::new(&group[r]);
        let (mut best, mut largest) = (&own, own.window);
        for p in &self.paths {
            largest = largest.max(p.window);
            if p.better_than(best) {
                best = p;
            }
        }
        let in_b_only = |p: &Path| p.window < largest && !best.better_than(p);
        let (mut m, mut b_only) = (0, 0);
        for p in &self.paths {
            m += u64::from(p.window == largest);
            b_only += u64::from(in_b_only(p));
        }
        let n = self.paths.len() as u64;
        if b_only == 0 {
            (0, 1)
        } else if own.window == largest {
            (-1, n * m)
        } else if in_b_only(&own) {
            (1, n * b_only)
        } else {
            (0, 1)
        }
    }

    /// What an acknowledgment adds to the counter.
    fn increment(&mut self, group: &[View], r: usize, w: u64) -> i64 {
        let srtt = srtt_eighths(&group[r]);
        let sum: u64 = group.iter().filter(|v| v.active).map(|v| (window(v) << SCALE) * srtt / srtt_eighths(v)).sum();
        let rate = u128::from(sum + 1) * u128::from(sum + 1);
        let (sign, denominator) = self.epsilon(group, r);
        let (w, denominator) = (u128::from(w), u128::from(denominator));
        // Over the common denominator: (ε's denominator)·(2¹⁰ w)² against ε's sign times the rate.
        let first = denominator * (w << SCALE) * (w << SCALE);
        let under = denominator * w * rate;
        let scaled = |n: u128| ((n << SCALE) / under) as i64;
        match sign {
            1 => scaled(first + rate),
            0 => scaled(first),
            _ if first >= rate => scaled(first - rate),
            _ => -scaled(rate - first),
        }
    }
}

impl CountingRule for OliaLinux {
    const NAME: &'static str = <super::Olia as classic::Rule>::NAME;

    fn step(&mut self, group: &[View], r: usize, w: u64) -> i8 {
        let increment = self.increment(group, r, w);
        let count = slot(&mut self.counts, r);
        *count += increment;
        let limit = (1 << SCALE) - 1;
        if count.abs() < limit {
            return 0;
        }
        let step = count.signum() as i8;
        *count = 0;
        step
    }

    fn ssthresh(&mut self, _group: &[View], _r: usize, w: u64) -> u64 {
        (w / 2).max(self.min_ssthresh.or(2))
    }

    fn joined(&mut self, r: usize) {
        *slot(&mut self.counts, r) = 0;
    }

    fn show(&self, group: &[View], r: usize, columns: &mut [f64]) {
        let (sign, denominator) = if alone(group, r) { (0, 1) } else { OliaLinux::default().epsilon(group, r) };
        columns[0] = f64::from(sign) / denominator as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::super::counting::Counting;
    use super::super::{Choice, CongestionControl};
    use super::*;
    use crate::algorithm::Value;
    use crate::plugin::Origin;
    use crate::time::{Duration, Instant};

    fn view(cwnd: f64, rtt_ms: u64, kilobytes: u64) -> View {
        View {
            cwnd,
            ssthresh: 1.0,
            srtt: Duration::from_millis(rtt_ms),
            bytes_since_loss: kilobytes * 1000,
            active: true,
            ..View::new(10.0, 1420)
        }
    }

    #[test]
    fn numbers_worked_by_hand() {
        // w = (10, 20), rtt = (10, 40) ms, ℓ = (100, 800) kB: ε = (+1/2, −1/2) as in the paper's form.
        // Path 0: S = 10 240 + 5 120 + 1; 2¹⁰·(10·2²⁰/S² + 1/(2·10)) = 1024·(0.044439 + 0.05) = 96.7: 96.
        // Path 1: S = 40 960 + 20 480 + 1; 1024·(20·2²⁰/S² − 1/40) = 1024·(0.0055554 − 0.025) = −19.9: −19.
        let group = [view(10.0, 10, 100), view(20.0, 40, 800)];
        assert_eq!(OliaLinux::default().epsilon(&group, 0), (1, 2));
        assert_eq!(OliaLinux::default().epsilon(&group, 1), (-1, 2));
        assert_eq!(OliaLinux::default().increment(&group, 0, 10), 96);
        assert_eq!(OliaLinux::default().increment(&group, 1, 20), -19);
    }

    /// w = (20, 10), rtt = (10, 100) ms, ℓ/rtt² = (1, 2): the largest window has ε = −1/2 and still grows, as it carries nearly
    /// all: S = 20 480 + 1 024 + 1; 1024·(20·2²⁰/S² − 1/40) = 1024·(0.045347 − 0.025) = 20.8: 20.
    #[test]
    fn the_largest_window_grows_more_slowly() {
        let group = [view(20.0, 10, 100), view(10.0, 100, 20_000)];
        assert_eq!(OliaLinux::default().epsilon(&group, 0), (-1, 2));
        assert_eq!(OliaLinux::default().increment(&group, 0, 20), 20);
    }

    #[test]
    fn a_step_is_made_when_the_counter_is_full() {
        // 10·96 = 960 < 1023 ≤ 11·96; 53·19 = 1007 < 1023 ≤ 54·19.
        let group = [view(10.0, 10, 100), view(20.0, 40, 800)];
        let mut olia = OliaLinux::default();
        let first =
            |olia: &mut OliaLinux, r, w| (1..200).find_map(|n| Some((n, olia.step(&group, r, w))).filter(|s| s.1 != 0));
        assert_eq!(first(&mut olia, 0, 10), Some((11, 1)));
        assert_eq!(first(&mut olia, 1, 20), Some((54, -1)));
    }

    #[test]
    fn the_counter_is_full_at_1023() {
        let group = [view(10.0, 10, 100), view(20.0, 40, 800)];
        for (count, step, left) in [(926, 0, 1022), (927, 1, 0)] {
            let mut olia = OliaLinux { counts: vec![count], ..OliaLinux::default() };
            assert_eq!((olia.step(&group, 0, 10), olia.counts[0]), (step, left));
        }
    }

    #[test]
    fn the_least_threshold_is_renos_or_the_authors() {
        let group = [view(3.9, 10, 100), view(20.0, 40, 800)];
        let least = |segments: u64| {
            let given: [(&str, Value); 2] = [("variant", "linux".into()), ("min_ssthresh", segments.into())];
            let mut control = Choice::with("olia", given).unwrap().make(&Origin::alone(1));
            [
                control.on_loss(&group, 0, Instant::ZERO),
                control.on_loss(&group[..1], 0, Instant::ZERO),
                control.on_loss(&group, 1, Instant::ZERO),
            ]
        };
        // ⌊3.9⌋/2 = 1; alone two; ⌊20/2⌋.
        assert_eq!([0, 1, 2].map(least), [[2.0, 2.0, 10.0], [1.0, 2.0, 10.0], [2.0, 2.0, 10.0]]);
    }

    #[test]
    fn alpha_is_shown() {
        let group = [view(10.0, 10, 100), view(20.0, 40, 800)];
        let mut columns = [f64::NAN];
        Counting::new(OliaLinux::default()).show(&group, 1, Instant::ZERO, &mut columns);
        assert_eq!(columns, [-0.5]);
    }

    #[test]
    fn in_recovery_a_window_counts_as_its_threshold() {
        let mut group = [view(3.0, 10, 100), view(20.0, 10, 50)];
        group[0].phase = Phase::Recovery;
        group[0].ssthresh = 30.0;
        assert_eq!(OliaLinux::default().epsilon(&group, 1), (0, 1), "path 0 is best and the largest");
        // S = 1024·(30 + 20) + 1: 1024·20·2²⁰/S² = 8.19.
        assert_eq!(OliaLinux::default().increment(&group, 1, 20), 8);
    }
}
