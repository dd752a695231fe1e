//! The scheduler of Linux 5.19 and later ("default" of the upstream kernel).

use super::{Context, Decision, Demand, PacketScheduler, SubflowSet, usable};
use crate::congestion::View;

/// The subflow whose data would linger least: the least of what it holds unacknowledged over its pacing rate. Then up
/// to 64 KiB go there before it is asked again. Backups only when no other works.
///
/// The kernel may put data on a subflow whose window is full, where it waits; here data is bound to a subflow when it
/// is sent, so only those with room are asked. Its pacing rate is twice (in slow start) or 1.2 times the window over
/// the smoothed RTT.
#[derive(Debug, Default)]
pub struct Linux;

const BURST_BYTES: u32 = 65_536;

fn linger_s(v: &View) -> f64 {
    let factor = if v.cwnd < v.ssthresh / 2.0 { 2.0 } else { 1.2 };
    let pacing_segments_per_s = factor * v.cwnd / v.srtt_s();
    f64::from(v.in_flight + v.queued) / pacing_segments_per_s
}

impl PacketScheduler for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn choose(&mut self, demand: Demand, group: &[View], _context: &Context) -> Decision {
        let tried = match demand {
            Demand::New => SubflowSet::default(),
            Demand::Reinjection { tried } => tried,
        };
        let only_backups = !group.iter().any(|v| v.active && !v.potentially_failed && !v.backup);
        let candidates = (0..group.len()).filter(|&r| usable(&group[r]) && (only_backups || !group[r].backup));
        let key = |r: usize| (tried.contains(r), linger_s(&group[r]));
        let best = candidates.min_by(|&a, &b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        best.map_or(Decision::Blocked, |r| Decision::Send {
            on: SubflowSet::one(r),
            burst: (BURST_BYTES / group[r].mss.max(1)).max(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(cwnd: f64, srtt_ms: u64, in_flight: u32) -> View {
        View { cwnd, ssthresh: 1.0, srtt_ns: srtt_ms * 1_000_000, in_flight, active: true, ..View::new(10.0, 1420) }
    }

    fn choose(group: &[View]) -> Option<(usize, u32)> {
        match Linux.choose(Demand::New, group, &Context::default()) {
            Decision::Send { mut on, burst } => on.pop().map(|r| (r, burst)),
            _ => None,
        }
    }

    #[test]
    fn the_least_lingering_subflow_gets_a_burst() {
        // linger = in flight · srtt / (1.2 · cwnd): 5·20/(1.2·10) = 8.3 ms against 1·100/(1.2·20) = 4.2 ms.
        assert_eq!(choose(&[view(10.0, 20, 5), view(20.0, 100, 1)]), Some((1, 46)));
        // 2·20/12 = 3.3 ms wins over the 4.2 ms.
        assert_eq!(choose(&[view(10.0, 20, 2), view(20.0, 100, 1)]), Some((0, 46)));
    }

    #[test]
    fn full_and_failed_subflows_are_not_asked() {
        let failed = View { potentially_failed: true, ..view(10.0, 20, 0) };
        assert_eq!(choose(&[view(10.0, 20, 10), failed]), None);
        assert_eq!(choose(&[failed, view(10.0, 500, 9)]), Some((1, 46)));
    }
}
