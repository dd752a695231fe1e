//! Smallest RTT first with opportunistic retransmission and penalisation (Raiciu 2012 §4.2): what to do when a slow
//! subflow holds the segment that the whole connection waits for.

use super::linux_memory::MIB;
use super::{Context, Decision, Demand, MinRtt, PacketScheduler, SubflowSet, usable};
use crate::algorithm::{Given, Make};
use crate::congestion::{Phase, View};
use crate::plugin::Origin;
use crate::time::{Duration, Instant};

/// [`MinRtt`] with its parameter `reinjection`. With `orp`, when the connection-level window is closed, or too small for a segment, while a fast subflow has room,
/// the oldest segment that is not acknowledged at the data level goes out on it as well, once, and those that hold it up
/// are slowed down, at most once in a round trip of the fast one.
///
/// The Multipath TCP kernel has a second reason to send it again: all that is in the send buffer has been sent, and the
/// application waits for room in it. It then slows only while the buffer is full: not once part of it is free, and the
/// application is yet to be woken (`mptcp_rcv_buf_optimization` with `penal` = 0).
#[derive(Debug, Default)]
pub struct MinRttOrp {
    /// Bytes of the send buffer; 0: no limit.
    send_buffer: u64,
    /// Up to where the application has written, if it is limited.
    written_to: u64,
    /// Whether it is asked for.
    orp: bool,
    /// What lies below was sent again already.
    sent_to: u64,
    next_penalty: Instant,
    /// To be answered after a penalty.
    pending: Option<Decision>,
}

impl Make for MinRttOrp {
    fn make(given: &Given, _: &Origin) -> Self {
        let send_buffer = (given.number("send_buffer") * MIB) as u64;
        MinRttOrp { orp: given.word("reinjection") == "orp", send_buffer, ..MinRttOrp::default() }
    }
}

/// Whether the window keeps the connection from sending, though there is something to send.
fn is_held_by_window(group: &[View], context: &Context) -> bool {
    let (unsent, free) = (context.unsent_bytes, context.free_window_bytes);
    // Sender-side silly window avoidance waits where the window cuts a segment short.
    let short = |r: usize| free < u64::from(group[r].mss) && free < unsent && context.outstanding_bytes() > 0;
    unsent > 0 && (free == 0 || MinRtt::best(group, SubflowSet::default()).is_some_and(short))
}

impl MinRttOrp {
    /// Whether all that fits in the send buffer has been sent, and the application waits: as in the kernel it is woken when
    /// a third of the buffer is free (`sk_stream_write_space`), and fills it.
    fn is_held_by_buffer(&mut self, context: &Context) -> bool {
        let taken = self.written_to.saturating_sub(context.acknowledged_bytes);
        if taken <= self.send_buffer / 3 * 2 {
            self.written_to = context.acknowledged_bytes + self.send_buffer;
        }
        self.send_buffer > 0 && context.unsent_bytes > 0 && context.sent_bytes >= self.written_to
    }

    /// Whether there could be a subflow to slow down, or one slow enough for its data to be sent again, whichever holds the
    /// oldest segment: only then is that one searched for. Otherwise each acknowledgment would have it searched for.
    fn may_help(&self, group: &[View], now: Instant) -> bool {
        let Some(fast) = group.iter().filter(|v| usable(v)).map(|v| v.srtt).min() else { return false };
        let penalty = now >= self.next_penalty;
        group.iter().any(|v| may_repeat(v, fast) || (penalty && may_slow(v, fast)))
    }
}

/// Whether what a subflow holds may be sent again on one with an RTT of `fast`.
fn may_repeat(view: &View, fast: Duration) -> bool {
    view.cwnd <= 4.0 || view.srtt > 4 * fast
}

/// Whether a subflow that holds up one with an RTT of `fast` may be slowed down.
fn may_slow(view: &View, fast: Duration) -> bool {
    view.srtt > fast && view.phase == Phase::Open && view.cwnd > 1.0
}

impl PacketScheduler for MinRttOrp {
    fn name(&self) -> &'static str {
        "min-rtt"
    }

    fn is_smallest_rtt(&self) -> bool {
        self.send_buffer == 0 // while the window is open, in either form: `when_idle` has something to say only when it is not
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        // What was sent before and given back is within the buffer.
        if demand == Demand::New && context.place >= context.sent_bytes && self.is_held_by_buffer(context) {
            return Decision::Wait { until: Instant::NEVER };
        }
        MinRtt.choose(demand, group, context)
    }

    fn when_idle(&mut self, group: &[View], context: &Context) -> Decision {
        if !self.orp {
            return Decision::Blocked;
        }
        if let Some(pending) = self.pending.take() {
            return pending;
        }
        let by_window = is_held_by_window(group, context);
        if context.acknowledged_bytes < self.sent_to || !(by_window || self.is_held_by_buffer(context)) {
            return Decision::Blocked;
        }
        if !self.may_help(group, context.now) {
            return Decision::Blocked;
        }
        let Some(oldest) = context.oldest() else { return Decision::Blocked };
        let held = |&r: &usize| oldest.on.contains(r);
        let Some(fast) = MinRtt::best(group, oldest.on).filter(|r| !held(r)) else { return Decision::Blocked };
        let fast_srtt = group[fast].srtt;
        let holders = || (0..group.len()).filter(held);
        if holders().any(|s| may_repeat(&group[s], fast_srtt)) {
            self.sent_to = oldest.to;
            self.pending = Some(Decision::Repeat { on: SubflowSet::one(fast), from: oldest.from, to: oldest.to });
        }
        // Nothing was acknowledged since the application filled the buffer.
        let full = self.send_buffer > 0 && self.written_to >= context.acknowledged_bytes + self.send_buffer;
        if (by_window || full) && context.now >= self.next_penalty {
            let mut subflows = SubflowSet::default();
            holders().filter(|&s| may_slow(&group[s], fast_srtt)).for_each(|s| subflows.insert(s));
            if subflows.0 != 0 {
                self.next_penalty = context.now + fast_srtt;
                // Asked again at once, it answers with what it has decided now.
                self.pending.get_or_insert(Decision::Blocked);
                return Decision::Penalise { subflows };
            }
        }
        self.pending.take().unwrap_or(Decision::Blocked)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Carried, Counters, Lookup};
    use super::*;

    /// The oldest segment is on the slow subflow.
    struct OnTheSlow;

    impl Lookup for OnTheSlow {
        fn counters(&self, _: usize) -> Counters {
            Counters::default()
        }

        fn carried(&self, place: u64) -> Option<Carried> {
            Some(Carried { from: place, to: place + 1000, on: SubflowSet::one(1) })
        }
    }

    fn view(srtt_ms: u64, in_flight: u32) -> View {
        View { srtt: Duration::from_millis(srtt_ms), in_flight, active: true, ..View::new(10.0, 1000) }
    }

    fn closed(now: Instant) -> Context<'static> {
        let unsent_bytes = 9_000;
        Context {
            now,
            acknowledged_bytes: 4_000,
            sent_bytes: 8_000,
            unsent_bytes,
            subflows: &OnTheSlow,
            ..Context::default()
        }
    }

    #[test]
    fn a_closed_window_has_the_oldest_segment_sent_again_once_and_its_holder_slowed() {
        let mut orp = MinRttOrp { orp: true, ..MinRttOrp::default() };
        let group = [view(20, 3), view(100, 10)];
        assert_eq!(
            orp.when_idle(&group, &closed(Instant::from_nanos(5))),
            Decision::Penalise { subflows: SubflowSet::one(1) }
        );
        let again = Decision::Repeat { on: SubflowSet::one(0), from: 4_000, to: 5_000 };
        assert_eq!(orp.when_idle(&group, &closed(Instant::from_nanos(5))), again);
        assert_eq!(orp.when_idle(&group, &closed(Instant::from_nanos(5))), Decision::Blocked);
        // The next one: before a round trip of 20 ms is over without a penalty.
        let later = Context { acknowledged_bytes: 5_000, ..closed(Instant::from_nanos(20_000_004)) };
        assert_eq!(orp.when_idle(&group, &later), Decision::Repeat { on: SubflowSet::one(0), from: 5_000, to: 6_000 });
        let later = Context { acknowledged_bytes: 6_000, ..closed(Instant::from_nanos(20_000_005)) };
        assert_eq!(orp.when_idle(&group, &later), Decision::Penalise { subflows: SubflowSet::one(1) });
    }

    /// A buffer of 3,000 bytes is full and sent: what the window lets go waits until 1,000 bytes are free.
    #[test]
    fn a_full_send_buffer_has_the_oldest_segment_sent_again_and_its_holder_slowed() {
        let mut orp = MinRttOrp { orp: true, send_buffer: 3_000, ..MinRttOrp::default() };
        let group = [view(20, 3), view(100, 10)];
        let at = |acknowledged_bytes, sent_bytes| Context {
            acknowledged_bytes,
            sent_bytes,
            place: sent_bytes,
            free_window_bytes: 100_000,
            ..closed(Instant::from_nanos(5))
        };
        let go = Decision::Send { on: SubflowSet::one(0), burst: 1 };
        assert_eq!(orp.choose(Demand::New, &group, &at(0, 2_000)), go);
        assert_eq!(orp.choose(Demand::New, &group, &at(0, 3_000)), Decision::Wait { until: Instant::NEVER });
        let again = Decision::Repeat { on: SubflowSet::one(0), from: 0, to: 1_000 };
        assert_eq!(orp.when_idle(&group, &at(0, 3_000)), Decision::Penalise { subflows: SubflowSet::one(1) });
        assert_eq!(orp.when_idle(&group, &at(0, 3_000)), again);
        assert_eq!(orp.when_idle(&group, &at(0, 3_000)), Decision::Blocked, "once");
        assert_eq!(orp.choose(Demand::New, &group, &at(999, 3_000)), Decision::Wait { until: Instant::NEVER });
        assert_eq!(orp.choose(Demand::New, &group, &at(1_000, 3_000)), go);
        assert_eq!(orp.choose(Demand::New, &group, &at(1_000, 4_000)), Decision::Wait { until: Instant::NEVER });
        // What a failed subflow gives back was in the buffer already.
        assert_eq!(orp.choose(Demand::New, &group, &Context { place: 3_500, ..at(1_000, 4_000) }), go);
        assert!(!orp.is_smallest_rtt() && MinRttOrp::default().is_smallest_rtt());
    }

    /// Of 6,000 bytes 1,000 are free, which is less than the third that wakes the application.
    #[test]
    fn a_send_buffer_with_some_room_has_nobody_slowed() {
        let mut orp = MinRttOrp { orp: true, send_buffer: 6_000, ..MinRttOrp::default() };
        let group = [view(20, 3), view(100, 10)];
        let at = |acknowledged_bytes| Context {
            acknowledged_bytes,
            sent_bytes: 6_000,
            place: 6_000,
            free_window_bytes: 100_000,
            ..closed(Instant::from_nanos(5))
        };
        assert_eq!(orp.choose(Demand::New, &group, &at(0)), Decision::Wait { until: Instant::NEVER });
        let again = Decision::Repeat { on: SubflowSet::one(0), from: 1_000, to: 2_000 };
        assert_eq!(orp.when_idle(&group, &at(1_000)), again);
        assert_eq!(orp.when_idle(&group, &at(1_000)), Decision::Blocked);
    }

    #[test]
    fn nothing_is_sent_again_without_need() {
        let idle = |group: [View; 2], context: Context| {
            MinRttOrp { orp: true, ..MinRttOrp::default() }.when_idle(&group, &context)
        };
        let open = Context { free_window_bytes: 1_000, ..closed(Instant::from_nanos(5)) };
        assert_eq!(idle([view(20, 3), view(100, 10)], open), Decision::Blocked);
        assert_eq!(idle([view(20, 10), view(100, 10)], closed(Instant::from_nanos(5))), Decision::Blocked, "no room");
        let nothing = Context { unsent_bytes: 0, ..closed(Instant::from_nanos(5)) };
        assert_eq!(idle([view(20, 3), view(100, 10)], nothing), Decision::Blocked);
        // Four times slower or with a small window: else a penalty is all.
        let mut orp = MinRttOrp { orp: true, next_penalty: Instant::from_nanos(6), ..MinRttOrp::default() };
        assert_eq!(orp.when_idle(&[view(20, 3), view(80, 10)], &closed(Instant::from_nanos(5))), Decision::Blocked);
    }
}
