//! What every congestion control must keep, whatever its law: run it on a new one before anything else.
//!
//! ```
//! use transport::congestion::{Classic, Reno, conformance};
//! conformance::check(|| Box::new(Classic::new(Reno))).unwrap();
//! ```

use super::{Ack, CongestionControl, Phase, View, Window};

/// A rule that a control broke, and where.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("step {step}: {rule} (cwnd {cwnd}, ssthresh {ssthresh})")]
pub struct Violation {
    /// Number of the operation.
    pub step: usize,
    /// What must hold.
    pub rule: &'static str,
    /// The window it answered.
    pub cwnd: f64,
    /// The threshold it answered.
    pub ssthresh: f64,
}

/// A small generator, so that every control sees the same operations (Knuth's MMIX constants).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Runs a model of a connection with one to four subflows through acknowledgments, losses, timeouts, joins and
/// leaves, and checks after each operation that
/// windows are finite and at least one segment; an acknowledgment lowers no loss-based window and no window grows
/// by more than was acknowledged; an unused window does not grow; a loss does not raise the window and leaves a
/// threshold of at least one segment; and the same operations give the same windows.
///
/// # Errors
/// The first rule that was broken.
pub fn check(make: impl Fn() -> Box<dyn CongestionControl>) -> Result<(), Violation> {
    for seed in 0..50 {
        let trace = run(make(), seed)?;
        if run(make(), seed)? != trace {
            return Err(Violation {
                step: 0,
                rule: "the same operations give the same windows",
                cwnd: 0.0,
                ssthresh: 0.0,
            });
        }
    }
    Ok(())
}

fn run(mut control: Box<dyn CongestionControl>, seed: u64) -> Result<Vec<Window>, Violation> {
    let mut draw = Draw(seed);
    let count = 1 + (seed % 4) as usize;
    let mut group: Vec<View> = (0..count).map(|_| View::new(10.0, 1420)).collect();
    let mut now_ns = 0;
    let mut trace = Vec::new();
    for step in 0..2_000 {
        now_ns += 1_000_000 + draw.below(20_000_000);
        let r = draw.below(count as u64) as usize;
        let fail = |rule, w: Window| Err(Violation { step, rule, cwnd: w.cwnd, ssthresh: w.ssthresh });
        let before = Window { cwnd: group[r].cwnd, ssthresh: group[r].ssthresh };
        if !group[r].active {
            let rtt_ns = 1_000_000 + draw.below(300_000_000);
            group[r] = View { srtt_ns: rtt_ns, min_rtt_ns: rtt_ns, active: true, ..View::new(10.0, 1420) };
            control.on_join(&group, r, now_ns);
            continue;
        }
        match draw.below(100) {
            0..=92 => {
                let acked = 1.0 + draw.below(4) as f64;
                let limited = draw.below(8) != 0;
                let rtt_ns = group[r].min_rtt_ns + draw.below(50_000_000);
                group[r].srtt_ns = (7 * group[r].srtt_ns + rtt_ns) / 8;
                group[r].bytes_since_loss += 1420 * acked as u64;
                let ack = Ack { now_ns, acked_segments: acked, rtt_ns: Some(rtt_ns), cwnd_limited: limited };
                let w = control.on_ack(&group, r, &ack);
                if !(w.cwnd.is_finite() && w.cwnd >= 1.0 && !w.ssthresh.is_nan()) {
                    return fail("windows are finite and at least one segment", w);
                }
                if w.cwnd > before.cwnd + acked + 1e-9 {
                    return fail("a window grows by no more than was acknowledged", w);
                }
                if !limited && w.cwnd > before.cwnd {
                    return fail("an unused window does not grow", w);
                }
                (group[r].cwnd, group[r].ssthresh) = (w.cwnd, w.ssthresh);
            }
            93..=96 => {
                let ssthresh = control.on_loss(&group, r, now_ns);
                let w = Window { cwnd: ssthresh, ssthresh };
                if !(ssthresh.is_finite() && ssthresh >= 1.0) {
                    return fail("a loss leaves a threshold of at least one segment", w);
                }
                if ssthresh > before.cwnd.max(2.0) {
                    return fail("a loss does not raise the window", w);
                }
                group[r].bytes_between_losses = std::mem::take(&mut group[r].bytes_since_loss);
                (group[r].cwnd, group[r].ssthresh) = (ssthresh, ssthresh);
            }
            97 | 98 => {
                let ssthresh = control.on_timeout(&group, r, now_ns);
                if !(ssthresh.is_finite() && ssthresh >= 1.0) {
                    return fail("a loss leaves a threshold of at least one segment", Window { cwnd: 1.0, ssthresh });
                }
                (group[r].cwnd, group[r].ssthresh, group[r].phase) = (1.0, ssthresh, Phase::Open);
            }
            _ => {
                group[r].active = false;
                control.on_leave(&group, r, now_ns);
            }
        }
        trace.push(Window { cwnd: group[r].cwnd, ssthresh: group[r].ssthresh });
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::super::{Choice, Classic, Lia, Reno, Rule};
    use super::*;

    #[test]
    fn the_built_in_controls_conform() {
        assert_eq!(check(|| Box::new(Classic::new(Reno))), Ok(()));
        assert_eq!(check(|| Box::new(Classic::new(Lia))), Ok(()));
    }

    /// A rule broken in one way each, to show that the suite can fail.
    #[derive(Debug)]
    struct Broken(u8);

    impl Rule for Broken {
        const NAME: &'static str = "broken";
        fn increase(&mut self, group: &[View], r: usize) -> f64 {
            match self.0 {
                0 => 2.0,
                1 => f64::NAN,
                2 => -group[r].cwnd,
                _ => 1.0 / group[r].cwnd,
            }
        }
        fn decrease(&mut self, group: &[View], r: usize) -> f64 {
            match self.0 {
                3 => group[r].cwnd * 2.0,
                4 => f64::INFINITY,
                _ => group[r].cwnd / 2.0,
            }
        }
    }

    #[test]
    fn broken_controls_are_caught() {
        let expected = [
            "a window grows by no more than was acknowledged",
            "windows are finite and at least one segment",
            "windows are finite and at least one segment",
            "a loss does not raise the window",
            "a loss leaves a threshold of at least one segment",
        ];
        for (kind, rule) in expected.into_iter().enumerate() {
            let found = check(|| Box::new(Classic::new(Broken(kind as u8)))).map_err(|v| v.rule);
            assert_eq!(found, Err(rule));
        }
    }

    /// A control that ignores whether the window was used, and one that remembers across connections.
    #[derive(Debug)]
    struct Careless;

    impl CongestionControl for Careless {
        fn name(&self) -> &'static str {
            "careless"
        }
        fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
            Window { cwnd: group[r].cwnd + 0.1 * ack.acked_segments, ssthresh: group[r].ssthresh }
        }
        fn on_loss(&mut self, group: &[View], r: usize, _: u64) -> f64 {
            (group[r].cwnd / 2.0).max(2.0)
        }
        fn on_timeout(&mut self, group: &[View], r: usize, now_ns: u64) -> f64 {
            self.on_loss(group, r, now_ns)
        }
    }

    #[test]
    fn growth_of_an_unused_window_is_caught() {
        assert_eq!(check(|| Box::new(Careless)).map_err(|v| v.rule), Err("an unused window does not grow"));
        let _ = Choice::Custom(|| Box::new(Careless));
    }
}
