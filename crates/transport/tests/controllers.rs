//! One operation model for all congestion controls: whatever happens to a connection, in whatever order, every control
//! keeps its windows, and the boxed variant for controls from outside answers as the built-in one does.

use proptest::prelude::*;
use transport::Duration;
use transport::Instant;
use transport::congestion::{Ack, Choice, Controller, Phase, View, Window};
use transport::plugin::Origin;

const SUBFLOWS: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Operation {
    /// So many eighths of a segment are acknowledged; the window was the limit, or the application.
    Acknowledge {
        eighths: u32,
        sampled: bool,
        limited: bool,
    },
    Lose,
    /// The recovery under way is over.
    Repair,
    /// Also during a recovery, and several in a row.
    TimeOut,
    Mark {
        abe: bool,
    },
    Undo,
    /// Nothing happens for so long.
    Idle {
        ms: u64,
    },
    /// The path's round trip changes.
    Reroute {
        rtt_ms: u64,
    },
    Join {
        rtt_ms: u64,
        mss: u32,
    },
    Leave,
}

fn operation() -> impl Strategy<Value = (usize, Operation)> {
    let operation = prop_oneof![
        40 => (1u32..40, any::<bool>(), 0u32..8)
            .prop_map(|(eighths, sampled, l)| Operation::Acknowledge { eighths, sampled, limited: l > 0 }),
        4 => Just(Operation::Lose),
        6 => Just(Operation::Repair),
        2 => Just(Operation::TimeOut),
        1 => any::<bool>().prop_map(|abe| Operation::Mark { abe }),
        2 => Just(Operation::Undo),
        1 => (1u64..1_000_000).prop_map(|ms| Operation::Idle { ms }),
        2 => (1u64..2_000).prop_map(|rtt_ms| Operation::Reroute { rtt_ms }),
        2 => (1u64..2_000, 1u32..9_000).prop_map(|(rtt_ms, mss)| Operation::Join { rtt_ms, mss }),
        1 => Just(Operation::Leave),
    ];
    (0..SUBFLOWS, operation)
}

/// A connection under one control, and under the same one in its box.
struct Connection {
    built_in: Controller,
    boxed: Box<dyn transport::congestion::CongestionControl>,
    group: Vec<View>,
    before: Vec<Option<Window>>,
    now: Instant,
    /// No window has a reason to be larger: what it began with and all that was acknowledged since.
    most: Vec<f64>,
}

impl Connection {
    fn new(choice: &Choice) -> Self {
        Connection {
            built_in: choice.make(&Origin::alone(1)),
            boxed: Box::new(choice.make(&Origin::alone(1))),
            group: vec![View::new(10.0, 1420); SUBFLOWS],
            before: vec![None; SUBFLOWS],
            now: Instant::from_nanos(1),
            most: vec![10.0; SUBFLOWS],
        }
    }

    fn reduced(&mut self, r: usize, [ssthresh, boxed]: [f64; 2], from: f64) -> Result<(), TestCaseError> {
        prop_assert_eq!(ssthresh.to_bits(), boxed.to_bits(), "the boxed control answers otherwise");
        prop_assert!(ssthresh.is_finite() && ssthresh >= 1.0, "a threshold of {ssthresh}");
        prop_assert!(ssthresh <= from.max(2.0), "from {from} to {ssthresh}: not less");
        self.group[r].ssthresh = ssthresh;
        Ok(())
    }

    fn apply(&mut self, r: usize, operation: Operation) -> Result<(), TestCaseError> {
        self.now += Duration::from_millis(1);
        let now = self.now;
        if let Operation::Idle { ms } = operation {
            self.now += Duration::from_millis(ms);
            return Ok(());
        }
        let View { active, phase, cwnd, ssthresh, .. } = self.group[r];
        match operation {
            Operation::Join { rtt_ms, mss } if !active => {
                let rtt = Duration::from_millis(rtt_ms);
                self.group[r] = View { srtt: rtt, min_rtt: rtt, active: true, ..View::new(10.0, mss) };
                (self.before[r], self.most[r]) = (None, 10.0);
                self.built_in.on_join(&self.group, r, now);
                self.boxed.on_join(&self.group, r, now);
            }
            _ if !active => {}
            Operation::Leave => {
                self.group[r].active = false;
                self.built_in.on_leave(&self.group, r, now);
                self.boxed.on_leave(&self.group, r, now);
            }
            Operation::Reroute { rtt_ms } => {
                self.group[r].srtt = Duration::from_millis(rtt_ms);
                self.group[r].min_rtt = self.group[r].min_rtt.min(Duration::from_millis(rtt_ms));
            }
            Operation::Acknowledge { eighths, sampled, limited } if phase != Phase::Recovery => {
                let acked_segments = f64::from(eighths) / 8.0;
                let view = &mut self.group[r];
                view.in_flight = cwnd as u32;
                view.bytes_since_loss += (acked_segments * f64::from(view.mss)) as u64;
                let rtt = sampled.then_some(view.srtt);
                let ack = Ack { now, acked_segments, rtt, cwnd_limited: limited };
                let w = self.built_in.on_ack(&self.group, r, &ack);
                let boxed = self.boxed.on_ack(&self.group, r, &ack);
                prop_assert_eq!(w.cwnd.to_bits(), boxed.cwnd.to_bits(), "the boxed control answers otherwise");
                prop_assert!(w.cwnd.is_finite() && w.cwnd >= 1.0, "a window of {}", w.cwnd);
                prop_assert!(!w.ssthresh.is_nan() && w.ssthresh >= 1.0, "a threshold of {}", w.ssthresh);
                let growth = if limited { acked_segments.max(1.0) } else { 0.0 };
                prop_assert!(w.cwnd <= cwnd + growth + 1e-9, "{cwnd} to {} for {acked_segments}", w.cwnd);
                self.most[r] += growth;
                prop_assert!(w.cwnd <= self.most[r] + 1e-6, "{} of {} at most", w.cwnd, self.most[r]);
                (self.group[r].cwnd, self.group[r].ssthresh) = (w.cwnd, w.ssthresh);
                if phase == Phase::Loss && w.cwnd >= w.ssthresh {
                    self.group[r].phase = Phase::Open;
                }
            }
            Operation::Lose if phase == Phase::Open => {
                self.before[r] = Some(Window { cwnd, ssthresh });
                let answers = [self.built_in.on_loss(&self.group, r, now), self.boxed.on_loss(&self.group, r, now)];
                self.reduced(r, answers, cwnd)?;
                let view = &mut self.group[r];
                view.bytes_between_losses = std::mem::take(&mut view.bytes_since_loss);
                (view.phase, view.cwnd) = (Phase::Recovery, (view.ssthresh * 0.7).max(1.0));
            }
            Operation::Repair if phase == Phase::Recovery => {
                (self.group[r].phase, self.group[r].cwnd) = (Phase::Open, ssthresh);
            }
            Operation::TimeOut => {
                if phase == Phase::Open {
                    self.before[r] = Some(Window { cwnd, ssthresh });
                }
                let answers =
                    [self.built_in.on_timeout(&self.group, r, now), self.boxed.on_timeout(&self.group, r, now)];
                self.reduced(r, answers, cwnd)?;
                (self.group[r].phase, self.group[r].cwnd) = (Phase::Loss, 1.0);
            }
            Operation::Mark { abe } if phase == Phase::Open => {
                let answers =
                    [self.built_in.on_ecn(&self.group, r, now, abe), self.boxed.on_ecn(&self.group, r, now, abe)];
                self.reduced(r, answers, cwnd)?;
                self.group[r].cwnd = self.group[r].ssthresh.min(cwnd);
            }
            Operation::Undo if phase != Phase::Open => {
                let Some(before) = self.before[r].take() else { return Ok(()) };
                let view = &mut self.group[r];
                (view.cwnd, view.ssthresh) = (view.cwnd.max(before.cwnd), view.ssthresh.max(before.ssthresh));
                view.phase = Phase::Open;
                self.built_in.on_undo(&self.group, r, now);
                self.boxed.on_undo(&self.group, r, now);
            }
            _ => {}
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn every_control_keeps_its_windows_whatever_happens(operations in prop::collection::vec(operation(), 1..600)) {
        for choice in Choice::samples() {
            let mut connection = Connection::new(&choice);
            for (step, &(r, operation)) in operations.iter().enumerate() {
                let done = connection.apply(r, operation);
                prop_assert!(done.is_ok(), "{choice:?}, step {step}, {operation:?}: {}", done.unwrap_err());
            }
        }
    }
}
