//! Which subflows share a bottleneck, and what follows from it, for any control (Singh 2012 chapter V).

pub use super::correlation::{Action, Method, Sharing};

use super::correlation::Correlation;
use super::little::Little;
use super::rfc8382::{DECIDE_AFTER_INTERVALS, Rfc8382};
use super::{Ack, CongestionControl, Sample, View, Window};
use crate::algorithm::{Capability, Column, Given, Parameter, Row};
use crate::time::{Duration, Instant};

/// The parameters that every coupled control has besides its own.
const PARAMETERS: [Parameter; 9] = [
    Parameter::word(
        "shared",
        "none",
        &["none", "watch", "suppress", "decouple", "both"],
        "treatment of subflows found to share a bottleneck: report only, suppress all but one, decouple the others, or both",
    )
    .fixed_in_kernel(),
    Parameter::word(
        "shared_by",
        "correlation",
        &["correlation", "rfc8382"],
        "detection method: correlation of delays, or RFC 8382",
    )
    .fixed_in_kernel(),
    Parameter::number(
        "shared_threshold",
        0.5,
        [-1.0, 1.0],
        "correlation above which subflows are taken to share; for rfc8382, fraction of the last ten groupings",
    )
    .fixed_in_kernel(),
    Parameter::number(
        "shared_after_s",
        0.0,
        [0.0, 3600.0],
        "measurement time before the first decision; 0: 10 s, or 60 intervals for rfc8382",
    )
    .unit("s")
    .fixed_in_kernel(),
    Parameter::number("shared_window_s", 1.0, [0.1, 3600.0], "averaging time of the correlation").unit("s").fixed_in_kernel(),
    Parameter::number("shared_weight", 0.75, [0.0, 0.9999], "weight of past samples in the smoothed delay")
        .fixed_in_kernel(),
    Parameter::number(
        "shared_full_rate_mbps",
        0.0,
        [0.0, 100_000.0],
        "rate of the faster of two subflows below which the threshold is reduced in proportion; 0: never",
    )
    .unit("Mbit/s")
    .fixed_in_kernel(),
    Parameter::number(
        "suppress_below",
        0.0,
        [0.0, 1.0],
        "share of the connection's data below which a subflow is suppressed for a minute; 0: never",
    )
    .fixed_in_kernel(),
    Parameter::number("shared_interval_s", 0.35, [0.01, 60.0], "interval T of RFC 8382").unit("s").fixed_in_kernel(),
];

/// What is shown of each subflow where sharers are looked for, after the control's own columns.
pub(super) const COLUMNS: [Column; 2] = [
    Column::new(
        "shares_with",
        "",
        "lowest number among the subflows found to share its bottleneck; its own number: none",
    ),
    Column::new("held", "", "1: suppressed"),
];

/// The table with these parameters added to the coupled ones.
pub(super) fn offered<T>(table: &'static [Row<T>]) -> Vec<Row<T>> {
    let extended = |row: &Row<T>| {
        let own = row.about.parameters;
        let about = if row.about.capabilities.has(Capability::Coupled) {
            // Once in a process.
            row.about.parameters(Box::leak([own, &PARAMETERS].concat().into_boxed_slice()))
        } else {
            row.about
        };
        Row { about, capabilities: row.capabilities, check: row.check, make: row.make }
    };
    table.iter().map(extended).collect()
}

/// How often the groups are looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// When Singh 2012's correlation is decided by.
const CORRELATION_AFTER_S: f64 = 10.0;

impl Sharing {
    /// With the thesis's threshold and time; lengths that it does not print are those that separate best.
    #[must_use]
    pub fn new(action: Action) -> Self {
        let (method, decide_after_s) = (Method::Correlation, CORRELATION_AFTER_S);
        Sharing {
            action,
            method,
            threshold: 0.5,
            decide_after_s,
            window_s: 1.0,
            weight: 0.75,
            interval_s: 0.35,
            full_rate_bps: 0.0,
            suppress_below: 0.0,
        }
    }

    /// What the parameters say; None: nothing is to be found out.
    pub(super) fn read(given: &Given) -> Option<Self> {
        let suppress_below = if given.has("shared") { given.number("suppress_below") } else { 0.0 };
        let action = match given.has("shared").then(|| given.word("shared")).as_deref() {
            None => return None,
            Some("none") if suppress_below == 0.0 => return None,
            Some("none" | "watch") => Action { suppress: false, decouple: false },
            Some(word) => Action { suppress: word != "decouple", decouple: word != "suppress" },
        };
        let interval_s = given.number("shared_interval_s");
        let (method, own_after_s) = match given.word("shared_by").as_str() {
            "rfc8382" => (Method::Rfc8382, DECIDE_AFTER_INTERVALS as f64 * interval_s),
            _ => (Method::Correlation, CORRELATION_AFTER_S),
        };
        let after_s = given.number("shared_after_s");
        Some(Sharing {
            action,
            method,
            threshold: given.number("shared_threshold"),
            decide_after_s: if after_s == 0.0 { own_after_s } else { after_s },
            window_s: given.number("shared_window_s"),
            weight: given.number("shared_weight"),
            interval_s,
            full_rate_bps: given.number("shared_full_rate_mbps") * 1e6,
            suppress_below,
        })
    }
}

/// What finds out.
#[derive(Debug)]
enum Detector {
    Correlation(Correlation),
    Rfc8382(Rfc8382),
}

impl Detector {
    fn new(sharing: &Sharing) -> Self {
        match sharing.method {
            Method::Correlation => Detector::Correlation(Correlation::new(sharing)),
            Method::Rfc8382 => Detector::Rfc8382(Rfc8382::new(sharing)),
        }
    }

    fn sample(&mut self, r: usize, sample: &Sample) {
        match self {
            Detector::Correlation(it) => it.sample(r, sample.now, sample.rtt),
            Detector::Rfc8382(it) => it.sample(r, sample),
        }
    }

    /// How alike two are; none: there is no decision on them yet.
    fn likeness(&self, a: usize, b: usize) -> Option<f64> {
        match self {
            Detector::Correlation(it) => it.likeness(a, b),
            Detector::Rfc8382(it) => it.likeness(a, b),
        }
    }

    fn forget(&mut self, r: usize) {
        match self {
            Detector::Correlation(it) => it.forget(r),
            Detector::Rfc8382(it) => it.forget(r),
        }
    }
}

/// A control that sees those subflows only with which one shares a bottleneck, or of which some are suppressed.
///
/// All subflows begin coupled. Groups grow as long as two of them are alike, as a mean over their pairs, beyond the
/// threshold (average linkage): one pair that is so by chance does not join what else differs.
#[derive(Debug)]
pub struct Shared<C> {
    control: C,
    action: Action,
    threshold: f64,
    full_rate_bps: f64,
    detector: Detector,
    little: Little,
    /// When the groups were last looked at.
    looked_at: Instant,
    /// By subflow, the least number of those that it is coupled with, and of those it was found to share with.
    group: Vec<usize>,
    sharers: Vec<usize>,
    /// By subflow, whether it is held at one segment.
    held: Vec<bool>,
    /// Whether the control sees anything else than there is.
    apart: bool,
    seen: Vec<View>,
}

impl<C: CongestionControl> Shared<C> {
    /// Around a control.
    pub fn new(control: C, sharing: &Sharing) -> Self {
        Shared {
            control,
            action: sharing.action,
            threshold: sharing.threshold,
            full_rate_bps: sharing.full_rate_bps,
            little: Little::new(sharing.suppress_below),
            looked_at: Instant::ZERO,
            detector: Detector::new(sharing),
            group: Vec::new(),
            sharers: Vec::new(),
            held: Vec::new(),
            apart: false,
            seen: Vec::new(),
        }
    }

    /// The least number of those that each subflow was found to share a bottleneck with.
    pub fn sharers(&self) -> &[usize] {
        &self.sharers
    }

    /// The subflows that are held at one segment.
    pub fn held(&self) -> &[bool] {
        &self.held
    }

    /// Groups by what is known now; true when they are others than before.
    fn find_groups(&mut self, group: &[View]) -> bool {
        let before = (std::mem::take(&mut self.group), std::mem::take(&mut self.sharers));
        // Where less bandwidth is available correlation is lower (p. 32). A lower threshold for a pair is a higher likeness.
        let rate_bps = |i: usize| {
            group[i].cwnd * 8e9 * f64::from(group[i].mss) / group[i].srtt.max(Duration::NANOSECOND).as_nanos() as f64
        };
        let raised = |a, b| (self.full_rate_bps / rate_bps(a).max(rate_bps(b))).max(1.0);
        let likeness = |a, b, open| self.detector.likeness(a, b).map_or(open, |likeness| likeness * raised(a, b));
        // A pair that is not decided yet stays coupled, but none of it is held.
        link(&mut self.group, group, self.threshold, |a, b| likeness(a, b, f64::INFINITY));
        link(&mut self.sharers, group, self.threshold, |a, b| likeness(a, b, f64::NEG_INFINITY));
        before.0 != self.group || before.1 != self.sharers
    }

    fn regroup(&mut self, group: &[View]) {
        self.find_groups(group);
        self.act(group);
    }

    /// What follows from the groups.
    fn act(&mut self, group: &[View]) {
        self.held.clear();
        // A subflow that has not joined yet is in no group, and shares with nobody.
        let shares_with = |r: usize| self.sharers.get(r).copied().unwrap_or(r);
        for r in 0..group.len() {
            let rate = |i: usize| group[i].cwnd / group[i].srtt.as_nanos() as f64;
            let better = (0..group.len()).any(|i| {
                i != r
                    && group[i].active
                    && shares_with(i) == shares_with(r)
                    && (rate(i) > rate(r) || (rate(i) == rate(r) && i < r))
            });
            let suppressed = (self.action.suppress && better) || self.little.is_suppressed(r);
            self.held.push(group[r].active && suppressed);
        }
        self.apart = self.held.iter().any(|held| *held)
            || (self.action.decouple && self.group.iter().any(|g| *g != self.group[0]));
    }

    /// What the control sees for `group[r]`.
    fn look(&mut self, group: &[View], r: usize) {
        self.seen.clear();
        self.seen.extend_from_slice(group);
        for i in 0..group.len().min(self.group.len()) {
            let stranger = self.action.decouple && self.group[i] != self.group[r];
            if i != r && (stranger || self.held[i]) {
                self.seen[i].active = false;
            }
        }
    }

    fn ask<T>(&mut self, group: &[View], r: usize, call: impl FnOnce(&mut C, &[View]) -> T) -> T {
        if self.apart && r < self.group.len() {
            self.look(group, r);
            call(&mut self.control, &self.seen)
        } else {
            call(&mut self.control, group)
        }
    }

    fn is_held(&self, r: usize) -> bool {
        self.held.get(r).is_some_and(|held| *held)
    }
}

/// Average linkage: each subflow into the group of those it is alike, numbered by the least of them.
fn link(groups: &mut Vec<usize>, of: &[View], threshold: f64, likeness: impl Fn(usize, usize) -> f64) {
    groups.clear();
    groups.extend(0..of.len());
    loop {
        let mut most = (threshold, 0, 0);
        for high in 0..of.len() {
            for low in 0..high {
                let mean = mean_likeness(groups, of, [low, high], &likeness);
                if mean > most.0 {
                    most = (mean, low, high);
                }
            }
        }
        let (_, low, high) = most;
        if low == high {
            return;
        }
        groups.iter_mut().filter(|group| **group == high).for_each(|group| *group = low);
    }
}

/// Over all pairs of active subflows of two groups; not a number if one of them is empty.
fn mean_likeness(groups: &[usize], of: &[View], [a, b]: [usize; 2], likeness: impl Fn(usize, usize) -> f64) -> f64 {
    let members = |group| (0..of.len()).filter(move |&r| of[r].active && groups[r] == group);
    let (mut sum, mut pairs) = (0.0, 0.0);
    for r in members(a) {
        for other in members(b) {
            sum += likeness(r, other);
            pairs += 1.0;
        }
    }
    sum / pairs
}

impl<C: CongestionControl> CongestionControl for Shared<C> {
    fn name(&self) -> &'static str {
        self.control.name()
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        if self.little.acknowledged(group, r, ack.now, ack.acked_segments) {
            self.act(group);
        }
        let window = self.ask(group, r, |control, seen| control.on_ack(seen, r, ack));
        if self.is_held(r) { Window { cwnd: 1.0, ssthresh: 2.0 } } else { window }
    }

    fn wants_samples(&self) -> bool {
        true
    }

    fn on_sample(&mut self, group: &[View], r: usize, sample: &Sample) {
        self.detector.sample(r, sample);
        if sample.now >= self.looked_at + LOOK_EVERY {
            self.looked_at = sample.now;
            if self.find_groups(group) {
                self.act(group);
            }
        }
        if self.control.wants_samples() {
            self.ask(group, r, |control, seen| control.on_sample(seen, r, sample));
        }
    }

    fn on_loss(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        let ssthresh = self.ask(group, r, |control, seen| control.on_loss(seen, r, now));
        if self.is_held(r) { 1.0 } else { ssthresh }
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now: Instant) -> f64 {
        let ssthresh = self.ask(group, r, |control, seen| control.on_timeout(seen, r, now));
        if self.is_held(r) { 1.0 } else { ssthresh }
    }

    fn on_ecn(&mut self, group: &[View], r: usize, now: Instant, abe: bool) -> f64 {
        let ssthresh = self.ask(group, r, |control, seen| control.on_ecn(seen, r, now, abe));
        if self.is_held(r) { 1.0 } else { ssthresh }
    }

    fn on_undo(&mut self, group: &[View], r: usize, now: Instant) {
        self.ask(group, r, |control, seen| control.on_undo(seen, r, now));
    }

    fn show(&self, group: &[View], r: usize, now: Instant, columns: &mut [f64]) {
        let own = columns.len() - COLUMNS.len();
        self.control.show(group, r, now, &mut columns[..own]);
        let shares_with = self.sharers.get(r).copied().unwrap_or(r);
        columns[own..].copy_from_slice(&[shares_with as f64, f64::from(u8::from(self.is_held(r)))]);
    }

    fn on_join(&mut self, group: &[View], r: usize, now: Instant) -> Option<f64> {
        self.detector.forget(r);
        self.little.forget(r);
        self.regroup(group);
        self.ask(group, r, |control, seen| control.on_join(seen, r, now))
    }

    fn on_leave(&mut self, group: &[View], r: usize, now: Instant) {
        self.ask(group, r, |control, seen| control.on_leave(seen, r, now));
        self.detector.forget(r);
        self.little.forget(r);
        self.regroup(group);
    }
}

#[cfg(test)]
#[path = "sharing_tests.rs"]
mod tests;
