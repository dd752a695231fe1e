//! What every scheduler must keep, whatever its order: run it on a new one before anything else.
//!
//! ```
//! use transport::scheduler::{MinRtt, contract};
//! contract::check(|| Box::new(MinRtt)).unwrap();
//! ```

use super::{Context, Counters, Decision, Demand, PacketScheduler, Repair, SubflowSet, usable};
use crate::congestion::View;
use crate::draw::Draw;
use crate::time::{Duration, Instant};

/// A rule that a scheduler broke, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("step {step}: {rule} (answered {decision:?})")]
pub struct Violation {
    /// Number of the question.
    pub step: usize,
    /// What must hold.
    pub rule: &'static str,
    /// Its answer.
    pub decision: Decision,
}

/// Asks for segment after segment of connections with one to five subflows, whose windows fill and empty, which fail,
/// are held back by pacing, become backups, come and go, and checks of each answer that
///
/// - it sends on, or binds to, at least one subflow, one segment or more, and none that does not exist;
/// - each that is to send can take a segment: established, not suspected dead, with room in its window;
/// - data is bound only to what is established, whatever its window, to one at least that is not suspected dead (but
///   [as in Linux](super::Repair::Kernel)), and binding comes to an end;
/// - what is sent again was sent, and the peer has not acknowledged it;
/// - a backup carries data only where no other subflow works (RFC 8684 §3.3.8), but repeats [as in Linux](super::Repair::Kernel)
///   what each of the others has carried in vain;
/// - a reinjection goes to a subflow that has not carried the data, where one can take it that is as good otherwise;
/// - new data is not passed over: there is nothing behind it;
/// - with nothing under way or bound it sends, binds, or names a time: nobody would ask again;
/// - a wait ends later than now;
/// - the same questions have the same answers: nothing outside the connection is read, nothing left from another.
///
/// # Errors
/// The first rule that was broken.
pub fn check(make: impl Fn() -> Box<dyn PacketScheduler>) -> Result<(), Violation> {
    for seed in 0..100 {
        let answers = run(make(), seed)?;
        let again = run(make(), seed)?;
        if let Some(step) = answers.iter().zip(&again).position(|(a, b)| a != b) {
            return Err(Violation { step, rule: "the same questions have the same answers", decision: again[step] });
        }
    }
    Ok(())
}

/// So many answers to one question are too many: the window is of at most 300 kB.
const MOST_ANSWERS: usize = 1_000;

/// The connection that is played.
struct Play {
    group: Vec<View>,
    acknowledged: [u64; 5],
    now: Instant,
    sent_bytes: u64,
    unsent_bytes: u64,
    free_window_bytes: u64,
    size_known: bool,
    ended: bool,
    steps: u64,
}

impl Play {
    /// What the subflows have under way or bound.
    fn outstanding_bytes(&self) -> u64 {
        self.group.iter().map(|v| u64::from(v.in_flight + v.queued) * u64::from(v.mss)).sum()
    }

    fn counters(&self) -> [Counters; 5] {
        std::array::from_fn(|r| {
            let Some(view) = self.group.get(r) else { return Counters::default() };
            let bytes = |segments: u32| u64::from(segments) * u64::from(view.mss);
            Counters {
                segments_sent: 10 * self.steps,
                segments_lost: self.steps / 10,
                acknowledged_bytes: self.acknowledged[r],
                heard: self.acknowledged[r],
                unacknowledged_bytes: bytes(view.in_flight),
                queued_bytes: bytes(view.queued),
                queued_buffers: u64::from(view.queued.div_ceil(45)),
                segment_bytes: view.mss + 40,
                steered: false,
                ..Counters::default()
            }
        })
    }

    fn context<'a>(&self, subflows: &'a [Counters; 5]) -> Context<'a> {
        Context {
            now: self.now,
            place: self.sent_bytes,
            available_bytes: self.unsent_bytes.min(self.free_window_bytes),
            acknowledged_bytes: self.sent_bytes - self.outstanding_bytes(),
            sent_bytes: self.sent_bytes,
            unsent_bytes: self.unsent_bytes,
            free_window_bytes: self.free_window_bytes,
            window_bytes: self.free_window_bytes + self.outstanding_bytes(),
            window_blocks: self.steps / 50,
            flow_bytes: self.size_known.then_some(self.sent_bytes + self.unsent_bytes),
            ended: self.ended,
            subflows,
        }
    }

    /// Does what the answer to a question about `demand` says. Whether the scheduler is asked again.
    fn act(&mut self, demand: Demand, decision: Decision) -> bool {
        match decision {
            Decision::Send { mut on, burst } => {
                let mut most = 0;
                while let Some(r) = on.pop() {
                    let segments = burst.min(self.group[r].free_segments().max(1));
                    self.group[r].in_flight += segments;
                    most = most.max(segments);
                }
                self.sent_bytes += u64::from(most) * 1_420;
                false
            }
            Decision::Bind { mut on, bytes } => {
                let bytes = bytes.min(self.unsent_bytes.min(self.free_window_bytes));
                while let Some(r) = on.pop() {
                    self.group[r].queued += bytes.div_ceil(u64::from(self.group[r].mss)) as u32;
                    self.sent_bytes += 1_420; // rounded up on each
                }
                self.sent_bytes += bytes;
                if demand == Demand::New {
                    self.unsent_bytes -= bytes;
                    self.free_window_bytes -= bytes;
                }
                demand == Demand::New && self.unsent_bytes.min(self.free_window_bytes) > 0
            }
            Decision::Repeat { mut on, from, to } => {
                while let Some(r) = on.pop() {
                    let segments = (to - from).div_ceil(u64::from(self.group[r].mss)) as u32;
                    self.group[r].queued += segments;
                    self.sent_bytes += u64::from(segments) * 1_420;
                }
                true
            }
            Decision::Pass | Decision::Penalise { .. } => true,
            Decision::Wait { .. } | Decision::Blocked => false,
        }
    }

    /// What is bound goes out as windows allow.
    fn send_bound(&mut self) {
        for view in self.group.iter_mut().filter(|v| usable(v)) {
            let segments = view.queued.min(view.free_segments());
            view.queued -= segments;
            view.in_flight += segments;
        }
    }
}

fn run(mut scheduler: Box<dyn PacketScheduler>, seed: u64) -> Result<Vec<Decision>, Violation> {
    let mut draw = Draw(seed);
    let mut play = Play {
        group: vec![View::new(10.0, 1420); 1 + (seed % 5) as usize],
        acknowledged: [0; 5],
        now: Instant::from_nanos(1),
        sent_bytes: 100_000_000,
        unsent_bytes: 0,
        free_window_bytes: 0,
        // Of every third connection the size is known, of every sixth because the application has ended the stream.
        size_known: seed.is_multiple_of(3),
        ended: seed.is_multiple_of(6),
        steps: 0,
    };
    let mut answers = Vec::new();
    for step in 0..1_000 {
        play.steps = step as u64;
        play.now += Duration::from_nanos(draw.below(5_000_000));
        change(&mut draw, &mut play);
        let mut demand = if draw.below(4) == 0 {
            Demand::Reinjection { tried: SubflowSet(draw.below(1 << play.group.len())) }
        } else {
            Demand::New
        };
        play.unsent_bytes = 1 + draw.below(1_000_000);
        play.free_window_bytes = 1_420 + draw.below(300_000);
        for number in 0.. {
            let counters = play.counters();
            let context = play.context(&counters);
            let decision = scheduler.choose(demand, &play.group, &context);
            let endless = (number == MOST_ANSWERS).then_some("binding comes to an end");
            let dead = bound_to_the_dead(&play.group, decision, scheduler.repair());
            if let Some(rule) = broken(demand, &play.group, &context, decision, scheduler.repair()).or(endless).or(dead)
            {
                return Err(Violation { step, rule, decision });
            }
            answers.push(decision);
            if !play.act(demand, decision) {
                break;
            }
            if decision == Decision::Pass {
                demand = Demand::New;
            }
        }
        play.send_bound();
        for number in 0.. {
            let counters = play.counters();
            let context = play.context(&counters);
            let decision = scheduler.when_idle(&play.group, &context);
            let endless = (number == MOST_ANSWERS).then_some("binding comes to an end");
            if let Some(rule) = broken_when_idle(&play.group, &context, decision).or(endless) {
                return Err(Violation { step, rule, decision });
            }
            answers.push(decision);
            let done = matches!(decision, Decision::Repeat { .. } | Decision::Penalise { .. });
            if !done || !play.act(Demand::New, decision) {
                break;
            }
        }
    }
    Ok(answers)
}

/// Something happens to a subflow.
fn change(draw: &mut Draw, play: &mut Play) {
    let group = &mut play.group;
    let r = draw.below(group.len() as u64) as usize;
    let view = &mut group[r];
    match draw.below(24) {
        0..=9 => {
            let left = draw.below(u64::from(view.in_flight) + 1) as u32;
            play.acknowledged[r] += u64::from(view.in_flight - left) * u64::from(view.mss);
            view.in_flight = left;
        }
        10..=12 => view.cwnd = 1.0 + draw.below(400) as f64 / 10.0,
        13 => view.srtt = Duration::from_nanos(1_000_000 * (1 + draw.below(300))),
        14 => view.potentially_failed = draw.below(3) == 0,
        15 => view.backup = draw.below(2) == 0,
        16 => view.held = draw.below(2) == 0,
        17 => {
            view.active = draw.below(4) != 0;
            view.in_flight = 0;
        }
        18 => view.ssthresh = 2.0 + draw.below(40) as f64,
        19 => group.iter_mut().for_each(|v| v.in_flight = 0),
        _ => {
            view.active = true;
            view.srtt = view.srtt.max(Duration::from_millis(1));
            view.min_rtt = view.srtt;
        }
    }
    // What is bound to a subflow that fails comes back.
    for view in group.iter_mut().filter(|v| !v.active || v.potentially_failed) {
        view.queued = 0;
    }
}

/// Backups carry data only where no other subflow works.
fn only_backups(group: &[View]) -> bool {
    !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup)
}

/// The rule that binding to these subflows breaks.
fn broken_by_binding(group: &[View], mut on: SubflowSet, bytes: u64) -> Option<&'static str> {
    if on == SubflowSet::default() || bytes == 0 {
        return Some("it sends on at least one subflow, one segment or more");
    }
    while let Some(r) = on.pop() {
        let Some(view) = group.get(r) else { return Some("the subflow exists") };
        if !view.active {
            return Some("data is bound to what is established");
        }
        if view.backup && !only_backups(group) {
            return Some("a backup carries data only where no other subflow works");
        }
    }
    None
}

/// The rule that binding only to subflows that do not answer breaks.
fn bound_to_the_dead(group: &[View], decision: Decision, repair: Repair) -> Option<&'static str> {
    let Decision::Bind { on, .. } = decision else { return None };
    let dead = group.iter().enumerate().all(|(r, v)| !on.contains(r) || v.potentially_failed);
    (dead && repair == Repair::Prompt).then_some("data is bound to one at least that is not suspected dead")
}

/// The rule that sending data again breaks.
fn broken_by_repeating(
    group: &[View],
    context: &Context,
    on: SubflowSet,
    (from, to): (u64, u64),
) -> Option<&'static str> {
    if from < context.acknowledged_bytes || to > context.sent_bytes || from >= to {
        return Some("what is sent again was sent and is not acknowledged");
    }
    broken_by_binding(group, on, to - from)
}

/// The rule that the answer breaks, when nothing can be sent.
fn broken_when_idle(group: &[View], context: &Context, decision: Decision) -> Option<&'static str> {
    match decision {
        Decision::Repeat { on, from, to } => broken_by_repeating(group, context, on, (from, to)),
        Decision::Penalise { subflows } => {
            (subflows.0 == 0 || subflows.0 >> group.len() != 0).then_some("the subflow exists")
        }
        _ => None,
    }
}

/// The rule that the answer breaks.
fn broken(
    demand: Demand,
    group: &[View],
    context: &Context,
    decision: Decision,
    repair: Repair,
) -> Option<&'static str> {
    let only_backups = only_backups(group);
    let in_vain = |tried: SubflowSet| {
        repair == Repair::Kernel
            && group.iter().enumerate().all(|(r, v)| v.backup || !v.active || v.potentially_failed || tried.contains(r))
    };
    let repeated = matches!(demand, Demand::Reinjection { tried } if in_vain(tried));
    let allowed = |v: &View| usable(v) && (only_backups || !v.backup);
    let idle = group.iter().all(|v| v.in_flight == 0 && v.queued == 0 && !v.held);
    match decision {
        Decision::Send { on, burst } => {
            if on == SubflowSet::default() || burst == 0 {
                return Some("it sends on at least one subflow, one segment or more");
            }
            let mut each = on;
            while let Some(r) = each.pop() {
                let Some(view) = group.get(r) else { return Some("the subflow exists") };
                if !usable(view) {
                    return Some("the subflow can take a segment");
                }
                if view.backup && !only_backups && !repeated {
                    return Some("a backup carries data only where no other subflow works");
                }
                if let Demand::Reinjection { tried } = demand
                    && tried.contains(r)
                    && (0..group.len()).any(|other| allowed(&group[other]) && !tried.contains(other))
                {
                    return Some("a reinjection goes to a subflow that has not carried the data");
                }
            }
            None
        }
        Decision::Bind { on, bytes } => broken_by_binding(group, on, bytes),
        Decision::Repeat { on, from, to } => broken_by_repeating(group, context, on, (from, to)),
        Decision::Penalise { .. } => Some("windows are halved only when nothing can be sent"),
        Decision::Pass if demand == Demand::New => Some("new data is not passed over"),
        Decision::Wait { until } if until <= context.now => Some("a wait ends later than now"),
        Decision::Wait { until: Instant::NEVER } | Decision::Blocked if idle && group.iter().any(allowed) => {
            Some("with nothing under way it sends, or names a time")
        }
        Decision::Wait { .. } | Decision::Blocked | Decision::Pass => None,
    }
}

#[cfg(test)]
#[path = "contract_tests.rs"]
mod tests;
