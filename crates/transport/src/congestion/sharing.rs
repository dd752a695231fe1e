//! Which subflows share a bottleneck, and what follows from it, for any control (Singh 2012 chapter V).

pub use super::correlation::{Action, Sharing};

use super::correlation::Correlation;
use super::{Ack, CongestionControl, Sample, View, Window};
use crate::algorithm::{Capability, Given, Parameter, Row};

/// The parameters that every coupled control has besides its own.
const PARAMETERS: [Parameter; 5] = [
    Parameter::word(
        "shared",
        "none",
        &["none", "suppress", "decouple", "both"],
        "subflows that share a bottleneck: all but one suppressed, the others decoupled, or both",
    )
    .fixed_in_kernel(),
    Parameter::number("shared_threshold", 0.5, [-1.0, 1.0], "correlation of delays above which subflows share")
        .fixed_in_kernel(),
    Parameter::number("shared_after_s", 10.0, [0.1, 3600.0], "measuring before the first decision")
        .unit("s")
        .fixed_in_kernel(),
    Parameter::number("shared_window_s", 1.0, [0.1, 3600.0], "memory of one correlation").unit("s").fixed_in_kernel(),
    Parameter::number("shared_weight", 0.75, [0.0, 0.9999], "weight of the past in the smoothed delay")
        .fixed_in_kernel(),
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

impl Sharing {
    /// With the thesis's threshold and time; lengths that it does not print are those that separate best.
    #[must_use]
    pub fn new(action: Action) -> Self {
        Sharing { action, threshold: 0.5, decide_after_s: 10.0, window_s: 1.0, weight: 0.75 }
    }

    /// What the parameters say; None: nothing is to be found out.
    pub(super) fn read(given: &Given) -> Option<Self> {
        let action = match given.has("shared").then(|| given.word("shared")).as_deref() {
            None | Some("none") => return None,
            Some(word) => Action { suppress: word != "decouple", decouple: word != "suppress" },
        };
        Some(Sharing {
            action,
            threshold: given.number("shared_threshold"),
            decide_after_s: given.number("shared_after_s"),
            window_s: given.number("shared_window_s"),
            weight: given.number("shared_weight"),
        })
    }
}

/// A control that sees those subflows only with which one shares a bottleneck, or of which some are suppressed.
///
/// All subflows begin coupled. Groups are decided pair by pair; what shares with a sharer shares.
#[derive(Debug)]
pub struct Shared<C> {
    control: C,
    action: Action,
    detector: Correlation,
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
            detector: Correlation::new(sharing),
            group: Vec::new(),
            sharers: Vec::new(),
            held: Vec::new(),
            apart: false,
            seen: Vec::new(),
        }
    }

    /// The least number of those that each subflow was found to share a bottleneck with.
    #[must_use]
    pub fn sharers(&self) -> &[usize] {
        &self.sharers
    }

    /// The subflows that are held at one segment.
    #[must_use]
    pub fn held(&self) -> &[bool] {
        &self.held
    }

    fn regroup(&mut self, group: &[View]) {
        let detector = &self.detector;
        // A pair that is not decided yet stays coupled, but none of it is held.
        connect(&mut self.group, group, |a, b| detector.share(a, b) || detector.open(a, b));
        connect(&mut self.sharers, group, |a, b| detector.share(a, b));
        self.held.clear();
        for r in 0..group.len() {
            let rate = |i: usize| group[i].cwnd / group[i].srtt_ns as f64;
            let better = (0..group.len()).any(|i| {
                i != r
                    && group[i].active
                    && self.sharers[i] == self.sharers[r]
                    && (rate(i) > rate(r) || (rate(i) == rate(r) && i < r))
            });
            self.held.push(self.action.suppress && group[r].active && better);
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

/// Puts each subflow into the group of all that it is connected with, by whatever way.
fn connect(groups: &mut Vec<usize>, of: &[View], connected: impl Fn(usize, usize) -> bool) {
    groups.clear();
    groups.extend(0..of.len());
    for b in 0..of.len() {
        for a in (0..b).filter(|&a| of[a].active && of[b].active && connected(a, b)) {
            let (from, to) = (groups[a].max(groups[b]), groups[a].min(groups[b]));
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }
}

impl<C: CongestionControl> CongestionControl for Shared<C> {
    fn name(&self) -> &'static str {
        self.control.name()
    }

    fn on_ack(&mut self, group: &[View], r: usize, ack: &Ack) -> Window {
        let window = self.ask(group, r, |control, seen| control.on_ack(seen, r, ack));
        if self.is_held(r) { Window { cwnd: 1.0, ssthresh: 2.0 } } else { window }
    }

    fn wants_samples(&self) -> bool {
        true
    }

    fn on_sample(&mut self, group: &[View], r: usize, sample: &Sample) {
        if self.detector.sample(r, sample.now_ns, sample.rtt_ns) {
            self.regroup(group);
        }
        if self.control.wants_samples() {
            self.ask(group, r, |control, seen| control.on_sample(seen, r, sample));
        }
    }

    fn on_loss(&mut self, group: &[View], r: usize, now_ns: u64) -> f64 {
        let ssthresh = self.ask(group, r, |control, seen| control.on_loss(seen, r, now_ns));
        if self.is_held(r) { 1.0 } else { ssthresh }
    }

    fn on_timeout(&mut self, group: &[View], r: usize, now_ns: u64) -> f64 {
        let ssthresh = self.ask(group, r, |control, seen| control.on_timeout(seen, r, now_ns));
        if self.is_held(r) { 1.0 } else { ssthresh }
    }

    fn on_ecn(&mut self, group: &[View], r: usize, now_ns: u64, abe: bool) -> f64 {
        let ssthresh = self.ask(group, r, |control, seen| control.on_ecn(seen, r, now_ns, abe));
        if self.is_held(r) { 1.0 } else { ssthresh }
    }

    fn on_undo(&mut self, group: &[View], r: usize, now_ns: u64) {
        self.ask(group, r, |control, seen| control.on_undo(seen, r, now_ns));
    }

    fn show(&self, group: &[View], r: usize, now_ns: u64, columns: &mut [f64]) {
        self.control.show(group, r, now_ns, columns);
    }

    fn on_join(&mut self, group: &[View], r: usize, now_ns: u64) {
        self.detector.forget(r);
        self.regroup(group);
        self.ask(group, r, |control, seen| control.on_join(seen, r, now_ns));
    }

    fn on_leave(&mut self, group: &[View], r: usize, now_ns: u64) {
        self.ask(group, r, |control, seen| control.on_leave(seen, r, now_ns));
        self.detector.forget(r);
        self.regroup(group);
    }
}

#[cfg(test)]
#[path = "sharing_tests.rs"]
mod tests;
