//! What every scheduler must keep, whatever its order: run it on a new one before anything else.
//!
//! ```
//! use transport::scheduler::{MinRtt, conformance};
//! conformance::check(|| Box::new(MinRtt)).unwrap();
//! ```

use super::{Context, Counters, Decision, Demand, PacketScheduler, SubflowSet, usable};
use crate::congestion::View;
use crate::draw::Draw;

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
/// - it sends on at least one subflow, one segment or more, and on none that does not exist;
/// - each can take a segment: established, not suspected dead, with room in its window;
/// - a backup carries data only where no other subflow works (RFC 8684 §3.3.8);
/// - a reinjection goes to a subflow that has not carried the data, where one can take it that is as good otherwise;
/// - with nothing under way it sends, or names a time: nobody would ask again;
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

fn run(mut scheduler: Box<dyn PacketScheduler>, seed: u64) -> Result<Vec<Decision>, Violation> {
    let mut draw = Draw(seed);
    let mut group = vec![View::new(10.0, 1420); 1 + (seed % 5) as usize];
    let mut now_ns = 1;
    let mut answers = Vec::new();
    for step in 0..1_000 {
        now_ns += draw.below(5_000_000);
        change(&mut draw, &mut group);
        let demand = if draw.below(4) == 0 {
            Demand::Reinjection { tried: SubflowSet(draw.below(1 << group.len())) }
        } else {
            Demand::New
        };
        let unsent_bytes = 1 + draw.below(1_000_000);
        let free_window_bytes = 1_420 + draw.below(300_000);
        // Of every third connection the size is known, of every sixth because the application has ended the stream.
        let sent_bytes = 1_000_000 * (1 + step as u64);
        let flow_bytes = seed.is_multiple_of(3).then_some(sent_bytes + unsent_bytes);
        let counters = [Counters { segments_sent: sent_bytes, segments_lost: 900 * seed, ..Counters::default() }; 5];
        let context = Context {
            now_ns,
            sent_bytes,
            unsent_bytes,
            free_window_bytes,
            window_bytes: 400_000,
            window_blocks: step as u64 / 50,
            flow_bytes,
            ended: seed.is_multiple_of(6),
            subflows: &counters,
        };
        let decision = scheduler.choose(demand, &group, &context);
        if let Some(rule) = broken(demand, &group, now_ns, decision) {
            return Err(Violation { step, rule, decision });
        }
        if let Decision::Send { mut on, burst } = decision {
            while let Some(r) = on.pop() {
                let room = (group[r].cwnd as u32).saturating_sub(group[r].in_flight);
                group[r].in_flight += burst.min(room.max(1));
            }
        }
        answers.push(decision);
    }
    Ok(answers)
}

/// Something happens to a subflow.
fn change(draw: &mut Draw, group: &mut [View]) {
    let r = draw.below(group.len() as u64) as usize;
    let view = &mut group[r];
    match draw.below(24) {
        0..=9 => view.in_flight = draw.below(u64::from(view.in_flight) + 1) as u32,
        10..=12 => view.cwnd = 1.0 + draw.below(400) as f64 / 10.0,
        13 => view.srtt_ns = 1_000_000 * (1 + draw.below(300)),
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
            view.srtt_ns = view.srtt_ns.max(1_000_000);
            view.min_rtt_ns = view.srtt_ns;
        }
    }
}

/// The rule that the answer breaks.
fn broken(demand: Demand, group: &[View], now_ns: u64, decision: Decision) -> Option<&'static str> {
    let works = |v: &View| v.active && !v.potentially_failed;
    let only_backups = !group.iter().any(|v| works(v) && !v.backup);
    let allowed = |v: &View| usable(v) && (only_backups || !v.backup);
    let idle = group.iter().all(|v| v.in_flight == 0 && !v.held);
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
                if view.backup && !only_backups {
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
        Decision::Wait { until_ns } if until_ns <= now_ns => Some("a wait ends later than now"),
        Decision::Wait { until_ns: u64::MAX } | Decision::Blocked if idle && group.iter().any(allowed) => {
            Some("with nothing under way it sends, or names a time")
        }
        Decision::Wait { .. } | Decision::Blocked => None,
    }
}

#[cfg(test)]
#[path = "conformance_tests.rs"]
mod tests;
