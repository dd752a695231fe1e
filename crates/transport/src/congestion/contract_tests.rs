//! The built-in controls conform, and controls broken in one way each are caught.

use crate::plugin::Origin;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::algorithm::Family as _;

use super::super::{Choice, Classic, Rule};
use super::*;
use crate::time::{Duration, Instant};

#[test]
fn the_built_in_controls_conform() {
    for choice in Choice::samples() {
        assert_eq!(check(|| Box::new(choice.make(&Origin::alone(1)))), Ok(()), "{choice:?}");
    }
}

#[test]
fn every_column_is_declared_once_and_shown() {
    let mut units = std::collections::BTreeMap::new();
    for row in super::super::Controls::table() {
        for column in row.about.columns {
            let unit = units.entry(column.name).or_insert(column.unit);
            assert_eq!(*unit, column.unit, "{} of {}", column.name, row.about.name);
        }
    }
    for choice in Choice::samples() {
        let mut control = choice.make(&Origin::alone(1));
        let view = View {
            cwnd: 20.0,
            ssthresh: 5.0,
            in_flight: 4,
            min_rtt: Duration::from_millis(80),
            srtt: Duration::from_millis(100),
            active: true,
            ..View::new(10.0, 1420)
        };
        let group = [view, view];
        let shown = |control: &dyn CongestionControl| {
            let mut columns = vec![f64::NAN; choice.columns().len()];
            control.show(&group, 1, Instant::from_secs(2), &mut columns);
            columns
        };
        assert!(shown(&control).iter().all(|value| !value.is_infinite()), "{choice:?}, before anything");
        for r in [0, 1] {
            control.on_join(&group, r, Instant::ZERO);
        }
        for n in 0..400 {
            let (rtt, now) = (Duration::from_millis(80 + n % 40), Instant::from_millis(5 * n));
            let r = (n % 2) as usize;
            if control.wants_samples() {
                control.on_sample(&group, r, &Sample { rtt, now, ..Sample::default() });
            }
            let ack = Ack { now, acked_segments: 1.0, rtt: Some(rtt), cwnd_limited: true };
            control.on_ack(&group, r, &ack);
        }
        assert!(shown(&control).iter().all(|value| value.is_finite()), "{choice:?}: {:?}", shown(&control));
    }
}

/// A rule broken in one way each.
#[derive(Debug)]
struct BrokenRule(u8);

impl Rule for BrokenRule {
    const NAME: &'static str = "broken";
    fn increase(&mut self, group: &[View], r: usize) -> f64 {
        match self.0 {
            0 => 2.0,
            1 => f64::NAN,
            _ => 1.0 / group[r].cwnd,
        }
    }
    fn decrease(&mut self, group: &[View], r: usize) -> f64 {
        match self.0 {
            2 => group[r].cwnd * 2.0,
            3 => f64::INFINITY,
            _ => group[r].cwnd / 2.0,
        }
    }
    fn min_ssthresh(&self, _: &[View]) -> f64 {
        if self.0 == 4 { 0.0 } else { 2.0 }
    }
}

#[test]
fn broken_rules_are_caught() {
    let expected = [
        "a window grows by no more than was acknowledged",
        "windows are finite and at least one segment",
        "a loss does not raise the window",
        "a loss leaves a threshold of at least one segment",
        "a loss leaves a threshold of at least one segment",
    ];
    for (kind, rule) in expected.into_iter().enumerate() {
        let found = check(|| Box::new(Classic::new(BrokenRule(kind as u8)))).map_err(|v| v.rule);
        assert_eq!(found, Err(rule), "kind {kind}");
    }
}

static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// Whole controls broken in one way each; what it counts is the fault of some.
#[derive(Debug)]
struct Broken {
    kind: Fault,
    count: f64,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    GrowsUnused,
    ForgetsTheFloor,
    LosesTheThreshold,
    MarkRaises,
    TimeoutStops,
    RemembersOtherConnections,
    RemembersTheSubflowBefore,
}

impl CongestionControl for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let View { cwnd, ssthresh, .. } = group[r];
        if matches!(self.kind, Fault::RemembersTheSubflowBefore) {
            self.count += 1.0;
        }
        match self.kind {
            Fault::GrowsUnused => return Window { cwnd: cwnd + 0.1 * ack.acked_segments, ssthresh },
            Fault::ForgetsTheFloor => return Window { cwnd: cwnd - 0.1, ssthresh },
            Fault::LosesTheThreshold => return Window { cwnd, ssthresh: 0.0 },
            _ => {}
        }
        if !ack.cwnd_limited {
            return Window { cwnd, ssthresh };
        }
        let by = match self.kind {
            // Alone it does not show it, so that the last rule is not what catches it.
            Fault::RemembersOtherConnections if group.len() == 1 => 1.0 / cwnd,
            _ => 1.0 / (cwnd + self.count),
        };
        Window { cwnd: cwnd + by * ack.acked_segments, ssthresh }
    }

    fn on_loss(&mut self, group: &[View], r: usize, _: Instant) -> f64 {
        (group[r].cwnd / 2.0).max(2.0)
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        if matches!(self.kind, Fault::TimeoutStops) { 0.0 } else { self.on_loss(group, r, now) }
    }

    fn on_ecn(&mut self, group: &[View], r: usize, now: Instant, _: bool) -> f64 {
        if matches!(self.kind, Fault::MarkRaises) { 1.2 * group[r].cwnd + 2.0 } else { self.on_loss(group, r, now) }
    }
}

#[test]
fn broken_controls_are_caught() {
    let expected = [
        (Fault::GrowsUnused, "an unused window does not grow"),
        (Fault::ForgetsTheFloor, "windows are finite and at least one segment"),
        (Fault::LosesTheThreshold, "a threshold is at least one segment"),
        (Fault::MarkRaises, "a loss does not raise the window"),
        (Fault::TimeoutStops, "a loss leaves a threshold of at least one segment"),
        (Fault::RemembersOtherConnections, "the same operations give the same windows"),
        (Fault::RemembersTheSubflowBefore, "a lone subflow that joins again starts afresh"),
    ];
    for (kind, rule) in expected {
        let found = check(|| {
            let earlier = CONNECTIONS.fetch_add(1, Ordering::Relaxed) as f64;
            let count = if matches!(kind, Fault::RemembersOtherConnections) { earlier } else { 0.0 };
            Box::new(Broken { kind, count })
        });
        assert_eq!(found.map_err(|v| v.rule), Err(rule), "{kind:?}");
    }
}
