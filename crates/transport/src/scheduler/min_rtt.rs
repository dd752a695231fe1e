//! Smallest RTT first: the default of Linux's MPTCP until 5.19 (Raiciu 2012; Chauvenne 2017 §2.2.1).

use super::{Context, Decision, Demand, PacketScheduler, SubflowSet, usable};
use crate::algorithm::{About, Algorithm, Capabilities, Capability, Given, Parameter};
use crate::congestion::View;
use crate::time::Duration;

/// Among the subflows with room: active before backup, one that has not carried the data before one that has, then
/// the smallest smoothed RTT; ties to the subflow opened first.
#[derive(Debug, Default)]
pub struct MinRtt;

impl Algorithm for MinRtt {
    const ABOUT: About = About::new(
        "min-rtt",
        "the subflow with the lowest smoothed RTT whose window is not full",
        "Linux mptcp.org “default”; Raiciu 2012",
    )
    .parameters(&[
        Parameter::word(
            "reinjection",
            "none",
            &["none", "orp"],
            "\"orp\": opportunistic retransmission and penalisation when the receive window is full; with `send_buffer`, \
             retransmission also when that is",
        ),
        Parameter::number(
            "send_buffer",
            0.0,
            [0.0, 1024.0],
            "most data of the connection that is written and not acknowledged, as if the application waited for room; 0: no limit",
        )
        .unit("MiB"),
    ])
    .with(Capability::Opportunistic);

    fn capabilities(given: &Given) -> Capabilities {
        let all = Self::ABOUT.capabilities;
        if given.word("reinjection") == "orp" { all } else { all.without(Capability::Opportunistic) }
    }
}

impl MinRtt {
    /// Its choice for data that the subflows `tried` have carried.
    #[inline]
    pub(crate) fn best(group: &[View], tried: SubflowSet) -> Option<usize> {
        if let [view] = group {
            return usable(view).then_some(0);
        }
        // A backup is used when no active subflow works at all, not when they are merely full (RFC 8684 §3.3.8).
        let only_backups = !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
        let mut best = None;
        let mut best_key = (true, Duration::MAX);
        for (r, v) in group.iter().enumerate() {
            let key = (tried.contains(r), v.srtt);
            if key < best_key && usable(v) && (only_backups || !v.backup) {
                (best, best_key) = (Some(r), key);
            }
        }
        best
    }
}

impl PacketScheduler for MinRtt {
    fn name(&self) -> &'static str {
        "min-rtt"
    }

    fn is_smallest_rtt(&self) -> bool {
        true
    }

    fn choose(&mut self, demand: Demand, group: &[View], _context: &Context) -> Decision {
        let tried = match demand {
            Demand::New => SubflowSet::default(),
            Demand::Reinjection { tried } => tried,
        };
        match MinRtt::best(group, tried) {
            Some(r) => Decision::Send { on: SubflowSet::one(r), burst: 1 },
            None => Decision::Blocked,
        }
    }
}

/// The slower subflow that new data would go to because the fastest one of its kind cannot take any now, and that one: for
/// schedulers that may rather wait. None: there is nothing to wait for.
pub(super) fn instead_of_fastest<'a>(
    demand: Demand,
    decision: &Decision,
    group: &'a [View],
) -> Option<(&'a View, &'a View)> {
    let Decision::Send { mut on, .. } = *decision else { return None };
    let slow = &group[on.pop().filter(|_| demand == Demand::New)?];
    let working = |v: &&View| v.active && !v.potentially_failed && v.backup == slow.backup;
    let fast = group.iter().filter(working).min_by_key(|v| v.srtt)?;
    (!usable(fast) && fast.srtt < slow.srtt).then_some((slow, fast))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(srtt_ms: u64, in_flight: u32) -> View {
        View { srtt: Duration::from_millis(srtt_ms), in_flight, active: true, ..View::new(10.0, 1420) }
    }

    fn choose(demand: Demand, group: &[View]) -> Option<usize> {
        let context = Context { unsent_bytes: 1, free_window_bytes: 1, ..Context::default() };
        match MinRtt.choose(demand, group, &context) {
            Decision::Send { mut on, burst: 1 } => on.pop(),
            Decision::Blocked => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn takes_the_smallest_rtt_with_room() {
        assert_eq!(choose(Demand::New, &[view(50, 0), view(20, 9)]), Some(1));
        assert_eq!(choose(Demand::New, &[view(50, 0), view(20, 10)]), Some(0));
        assert_eq!(choose(Demand::New, &[view(50, 10), view(20, 10)]), None);
        assert_eq!(choose(Demand::New, &[view(20, 0), view(20, 0)]), Some(0));
    }

    #[test]
    fn a_reinjection_prefers_a_fresh_subflow() {
        let tried = SubflowSet::one(1);
        assert_eq!(choose(Demand::Reinjection { tried }, &[view(50, 0), view(20, 0)]), Some(0));
        assert_eq!(choose(Demand::Reinjection { tried }, &[view(50, 10), view(20, 0)]), Some(1));
    }

    #[test]
    fn a_backup_waits_until_the_others_fail() {
        let backup = View { backup: true, ..view(5, 0) };
        assert_eq!(choose(Demand::New, &[view(50, 10), backup]), None);
        let failed = View { potentially_failed: true, ..view(50, 0) };
        assert_eq!(choose(Demand::New, &[failed, backup]), Some(1));
    }

    #[test]
    fn a_lone_subflow_sends_while_it_has_room() {
        assert_eq!(choose(Demand::New, &[view(50, 9)]), Some(0));
        assert_eq!(choose(Demand::New, &[view(50, 10)]), None);
    }

    #[test]
    fn there_is_a_faster_subflow_to_wait_for_when_it_is_full_and_of_the_same_kind() {
        let waited_for = |demand, group: &[View]| {
            let decision = MinRtt.choose(demand, group, &Context::default());
            instead_of_fastest(demand, &decision, group).map(|(slow, fast)| (slow.srtt, fast.srtt))
        };
        let (full, slow) = (view(20, 10), view(100, 0));
        assert_eq!(
            waited_for(Demand::New, &[full, slow]),
            Some((Duration::from_millis(100), Duration::from_millis(20)))
        );
        assert_eq!(waited_for(Demand::New, &[view(20, 9), slow]), None, "it has room");
        assert_eq!(waited_for(Demand::New, &[view(100, 10), slow]), None, "it is no faster");
        assert_eq!(waited_for(Demand::New, &[full, view(100, 10)]), None, "nothing can be sent");
        let again = Demand::Reinjection { tried: SubflowSet::default() };
        assert_eq!(waited_for(again, &[full, slow]), None, "what is sent again is urgent");
        for fast in
            [View { active: false, ..full }, View { potentially_failed: true, ..full }, View { backup: true, ..full }]
        {
            assert_eq!(waited_for(Demand::New, &[fast, slow]), None, "{fast:?}");
        }
    }
}
