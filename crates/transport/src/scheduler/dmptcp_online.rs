//! DMPTCP for flows whose size is not known in advance, which Dong et al. 2018 §7 leave for the future.

use super::dmptcp::Dmptcp;
use super::{Context, Decision, Demand, PacketScheduler};
use crate::algorithm::{About, Algorithm, Given, Make};
use crate::congestion::View;
use crate::plugin::Origin;

/// [`Dmptcp`] with what was sent so far in place of what is left: path i joins when Σ_{j<i} C_j(rtt_i/rtt_j)·mss < sent.
/// So a flow begins on the shortest path, and the others join as it turns out to be long.
///
/// A flow that has sent s is supposed to have as much again to send: of sizes whose tail falls as 1/x half do, and whatever
/// the size, the rest is not overestimated by more than what was sent. A size that is known is not used.
#[derive(Debug, Default)]
pub struct DmptcpOnline(Dmptcp);

impl Algorithm for DmptcpOnline {
    const ABOUT: About = About::new(
        "dmptcp-online",
        "starts on the shortest path; slower ones join as the flow turns out to be long, its size unknown",
        "after Dong 2018 §4 and §7",
    );
}

impl Make for DmptcpOnline {
    fn make(_: &Given, _: &Origin) -> Self {
        DmptcpOnline::default()
    }
}

impl PacketScheduler for DmptcpOnline {
    fn name(&self) -> &'static str {
        "dmptcp-online"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        self.0.choose_for(Some(context.sent_bytes), demand, group, context)
    }
}

#[cfg(test)]
mod tests {
    use super::super::SubflowSet;
    use super::*;
    use crate::time::{Duration, Instant};

    fn view(srtt_ms: u64, cwnd: f64, in_flight: u32) -> View {
        View { srtt: Duration::from_millis(srtt_ms), in_flight, active: true, ..View::new(cwnd, 1400) }
    }

    /// Of a flow whose fast path is full.
    fn after(sent_bytes: u64, flow_bytes: Option<u64>) -> Decision {
        let context = Context { sent_bytes, unsent_bytes: 1 << 40, flow_bytes, ..Context::default() };
        DmptcpOnline::default().choose(Demand::New, &[view(20, 8.0, 8), view(80, 1.0, 0)], &context)
    }

    #[test]
    fn figure_8_s_slow_path_joins_when_as_much_was_sent_as_the_fast_one_carries_in_four_rounds() {
        // 8 + 16 + 32 + 64 segments of 1400 bytes: 168 000.
        let slow = Decision::Send { on: SubflowSet::one(1), burst: 1 };
        for size in [None, Some(168_010), Some(1 << 40)] {
            for sent in [0, 1400, 168_000] {
                assert!(matches!(after(sent, size), Decision::Wait { .. }), "{sent}");
            }
            assert_eq!(after(168_001, size), slow);
        }
    }

    #[test]
    fn a_flow_begins_on_the_shortest_path() {
        let context = Context { unsent_bytes: 1 << 40, ..Context::default() };
        let now = DmptcpOnline::default().choose(Demand::New, &[view(80, 10.0, 0), view(20, 10.0, 0)], &context);
        assert!(matches!(now, Decision::Send { on, .. } if on == SubflowSet::one(1)));
    }

    #[test]
    fn it_asks_again_after_a_round_trip_of_the_shortest() {
        let group = [view(20, 8.0, 8), view(80, 1.0, 0)];
        let context = |now, sent_bytes| Context { now, sent_bytes, unsent_bytes: 1, ..Context::default() };
        let mut online = DmptcpOnline::default();
        assert_eq!(
            online.choose(Demand::New, &group, &context(Instant::from_nanos(5), 0)),
            Decision::Wait { until: Instant::from_nanos(20_000_005) }
        );
        let later = online.choose(Demand::New, &group, &context(Instant::from_nanos(20_000_005), 200_000));
        assert_eq!(later, Decision::Send { on: SubflowSet::one(1), burst: 1 });
    }
}
