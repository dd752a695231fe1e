//! The scheduler of Linux 5.19 and later ("default" of the upstream kernel; docs/decisions/0006).

use super::linux_memory::{MAX_BUFFER_MIB, MIB, SendBuffer, memory, pace};
use super::linux_pages::{Edges, Pages};
use super::{Context, Decision, Demand, PacketScheduler, Repair, SubflowSet, usable};
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::tcp::socket_queue::{OVERHEAD_BYTES as EXACT_OVERHEAD_BYTES, buffer_limit};
use crate::time::{Duration, Instant};

/// 64 KiB less the largest headers.
const BURST_BYTES: u64 = 65_423;
/// For so long after it has sent something the kernel waits for more room in the window, to send it with.
const DEFERRED: Duration = Duration::from_millis(1);
/// `tcp_wmem`: the least send buffer, which the socket has beside those of its subflows.
const LEAST_BUFFER_BYTES: u64 = 4096;

/// The subflow whose data would linger least: the least of the memory it holds, sent and unacknowledged or not sent yet,
/// over its pacing rate. Then up to 64 KiB are bound there, whatever its window, before it is asked again. Backups only
/// when no other works.
///
/// Three limits decide how much is bound. The *socket* takes what the application writes until what the peer has not
/// acknowledged at the data level fills its send buffer, and then nothing until a third of it is free. What it took is
/// bound page by page, as long as the least lingering subflow's *send buffer* has room. A subflow's buffer grows with its
/// window, where the window was not filled while the application waited; the socket's is the sum of its subflows'. For data
/// that another subflow carried only those with room are asked.
#[derive(Debug)]
pub struct Linux {
    /// The largest send buffer of a subflow.
    largest_bytes: u64,
    linger: Linger,
    limits: Vec<Limit>,
    buffers: Vec<SendBuffer>,
    /// What the socket took from the application.
    pages: Pages,
    /// What the socket took waits for room on the subflow where it would linger least.
    held: bool,
    /// Where data is bound now, and how many bytes more.
    burst: Option<(usize, u64)>,
    /// What was bound has left as far as it can: the application goes on.
    flushed: bool,
}

impl Algorithm for Linux {
    const ABOUT: About =
        About::new("linux", "the subflow with the shortest linger time, in bursts of 64 KiB", "Linux 5.19 and later")
            .parameters(&[Parameter::number(
                "send_buffer",
                MAX_BUFFER_MIB,
                [0.0625, 65_536.0],
                "the largest send buffer of a subflow, the third number of tcp_wmem",
            )
            .unit("MiB")
            .fixed_in_kernel()])
            .with(Capability::BindsAhead)
            .with(Capability::InKernel);
}

impl Make for Linux {
    fn make(given: &Given, _: &Origin) -> Self {
        Linux::with_send_buffer((given.number("send_buffer") * MIB) as u64)
    }
}

impl Default for Linux {
    fn default() -> Self {
        Linux::with_send_buffer((MAX_BUFFER_MIB * MIB) as u64)
    }
}

/// The send buffer of a subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Limit {
    /// Its size; 0: the subflow has not been seen yet.
    bytes: u64,
    /// What the subflow had acknowledged when its buffer was looked at last, and when that was.
    seen_bytes: u64,
    seen_at: Instant,
}

/// The choice for new data (`mptcp_subflow_get_send`).
#[derive(Clone, Debug, Default)]
struct Linger {
    /// Mean pacing rate of each subflow in bytes/s, over what was bound to it; 0: nothing yet.
    paces: Vec<f64>,
}

/// Whether subflow `r` works, and is no backup unless no other works.
fn may_carry(r: usize, group: &[View], buffers: &[SendBuffer]) -> bool {
    let works = |r: usize| group[r].active && buffers[r].open;
    works(r) && (!group[r].backup || !(0..group.len()).any(|other| works(other) && !group[other].backup))
}

impl Linger {
    /// Where the next data goes, and how many bytes; `window_bytes` is what the peer allows, more than 0. None: the one
    /// where it would linger least has its buffer full, and no other is asked.
    fn choose(&mut self, group: &[View], buffers: &[SendBuffer], window_bytes: u64) -> Option<(usize, u64)> {
        self.paces.resize(group.len().max(self.paces.len()), 0.0);
        let mut best: Option<(usize, f64)> = None;
        for r in (0..group.len()).filter(|&r| may_carry(r, group, buffers)) {
            let v = &group[r];
            if self.paces[r] == 0.0 {
                self.paces[r] = pace(v);
            }
            let linger_s = buffers[r].held_bytes as f64 / self.paces[r];
            if best.is_none_or(|(_, least_s)| linger_s < least_s) {
                best = Some((r, linger_s));
            }
        }
        let (r, _) = best.filter(|&(r, _)| buffers[r].held_bytes < buffers[r].limit_bytes)?;
        let (burst, held) = (BURST_BYTES.min(window_bytes), buffers[r].held_bytes);
        self.paces[r] = (self.paces[r] * held as f64 + pace(&group[r]) * burst as f64) / (held + burst) as f64;
        Some((r, burst))
    }
}

impl Linux {
    fn with_send_buffer(largest_bytes: u64) -> Self {
        Linux {
            largest_bytes,
            linger: Linger::default(),
            limits: Vec::new(),
            buffers: Vec::new(),
            pages: Pages::default(),
            held: false,
            burst: None,
            flushed: false,
        }
    }

    /// Each subflow's buffer gets its first size when it can carry data.
    fn look(&mut self, group: &[View], context: &Context) {
        self.limits.resize(group.len(), Limit::default());
        self.buffers.resize(group.len(), SendBuffer::default());
        for (r, limit) in self.limits.iter_mut().enumerate() {
            if !group[r].active {
                limit.bytes = 0;
            } else if limit.bytes == 0 {
                let counters = context.counters(r);
                limit.bytes = buffer_limit(group[r].cwnd, counters.segment_bytes, self.largest_bytes);
                limit.seen_bytes = counters.acknowledged_bytes;
            }
        }
    }

    fn send_buffer(&self, r: usize, group: &[View], context: &Context) -> SendBuffer {
        if !group[r].active {
            return SendBuffer::default();
        }
        let counters = context.counters(r);
        let (sent, waiting) = (counters.unacknowledged_bytes, (counters.queued_bytes, counters.queued_buffers));
        let held_bytes = match counters.groups {
            Some((groups, _)) => sent + waiting.0 + EXACT_OVERHEAD_BYTES * (groups + waiting.1),
            None => memory(sent, waiting, &group[r]),
        };
        SendBuffer { held_bytes, limit_bytes: self.limits[r].bytes, open: !counters.silent }
    }

    /// The application writes, if it may: at most once, or as long as there is room.
    fn accept(&mut self, context: &Context, all: bool) {
        self.pages.accept(Edges::of(context), self.socket_limit(), all);
        if self.pages.full && context.counters(0).groups.is_some() {
            self.pages.end_write();
        }
    }

    /// The send buffer of the socket.
    fn socket_limit(&self) -> u64 {
        LEAST_BUFFER_BYTES + self.limits.iter().map(|limit| limit.bytes).sum::<u64>()
    }

    /// Whether something that is bound may leave. What the application writes at once does before it writes more
    /// (`mptcp_sendmsg`, `__mptcp_push_pending`), where segments leave as there.
    fn may_leave(&self, group: &[View], context: &Context) -> bool {
        let leaves = |(r, view): (usize, &View)| {
            let counters = context.counters(r);
            counters.groups.is_some() && counters.queued_bytes > 0 && view.active && view.has_room()
        };
        group.iter().enumerate().any(leaves)
    }

    /// How much of the data asked about is in its first page.
    fn page_bytes(&self, context: &Context) -> u64 {
        context.available_bytes.min(self.pages.piece_bytes(context.place))
    }

    /// The next page goes where the burst goes, or begins another one. The application writes when all is bound, or nothing can
    /// be.
    fn bind(&mut self, group: &[View], context: &Context) -> Decision {
        self.look(group, context);
        self.held = false;
        loop {
            for r in 0..group.len() {
                self.buffers[r] = self.send_buffer(r, group, context);
            }
            if let Some((r, left)) = self.burst.take() {
                let (buffer, bytes) = (self.buffers[r], self.page_bytes(context));
                let fits = buffer.held_bytes < buffer.limit_bytes && may_carry(r, group, &self.buffers);
                if left > 0 && bytes > 0 && fits {
                    self.burst = Some((r, left.saturating_sub(bytes)));
                    return Decision::Bind { on: SubflowSet::one(r), bytes };
                }
            }
            if self.page_bytes(context) == 0 {
                if !self.flushed && self.may_leave(group, context) {
                    return Decision::Wait { until: Instant::NEVER };
                }
                self.flushed = false;
                self.accept(context, false);
            }
            if self.page_bytes(context) == 0 {
                return Decision::Wait { until: Instant::NEVER };
            }
            let returned = context.place < context.sent_bytes;
            let window_bytes = if returned { u64::MAX } else { context.free_window_bytes };
            self.burst = self.linger.choose(group, &self.buffers, window_bytes);
            if self.burst.is_none() {
                self.accept(context, true);
                self.held = true;
                return Decision::Wait { until: Instant::NEVER };
            }
        }
    }
}

impl PacketScheduler for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn choose(&mut self, demand: Demand, group: &[View], context: &Context) -> Decision {
        let Demand::Reinjection { tried } = demand else { return self.bind(group, context) };
        // Data that is held for one subflow, which then is the only one not tried, has no other choice.
        let other = |(r, v): (usize, &View)| v.active && !v.potentially_failed && !v.backup && !tried.contains(r);
        let only_backups = !group.iter().enumerate().any(other);
        let candidates = (0..group.len()).filter(|&r| usable(&group[r]) && (only_backups || !group[r].backup));
        let linger_s = |v: &View| f64::from(v.in_flight + v.queued) * f64::from(v.mss) / pace(v);
        let key = |r: usize| (tried.contains(r), linger_s(&group[r]));
        let best = candidates.min_by(|&a, &b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        best.map_or(Decision::Blocked, |r| Decision::Send {
            on: SubflowSet::one(r),
            burst: (BURST_BYTES as u32 / group[r].mss.max(1)).max(1),
        })
    }

    fn when_dry(&mut self, group: &[View], context: &Context) {
        self.burst = None;
        self.look(group, context);
        self.accept(context, true);
    }

    /// Buffers of subflows that were acknowledged something, and whose windows are not filled, grow with the window
    /// (`tcp_should_expand_sndbuf`). The kernel sends several segments at once, and leaves room in the window for the next
    /// acknowledgment as long as it has sent something in the last millisecond (`tcp_tso_should_defer`), which here is when
    /// acknowledgments come as close together.
    fn when_idle(&mut self, group: &[View], context: &Context) -> Decision {
        self.look(group, context);
        let mut grown = false;
        for (limit, (r, view)) in self.limits.iter_mut().zip(group.iter().enumerate()) {
            let counters = context.counters(r);
            if !view.active || limit.seen_bytes == counters.acknowledged_bytes {
                continue;
            }
            limit.seen_bytes = counters.acknowledged_bytes;
            let since = context.now - std::mem::replace(&mut limit.seen_at, context.now);
            let had_room = counters.groups.map_or(since < DEFERRED, |(_, had_room)| had_room);
            if self.pages.full && (had_room || f64::from(view.in_flight) < view.cwnd.floor()) {
                let wanted = buffer_limit(view.cwnd, counters.segment_bytes, self.largest_bytes);
                grown |= wanted > limit.bytes;
                limit.bytes = limit.bytes.max(wanted);
            }
        }
        let woken = self.pages.wake(Edges::of(context), self.socket_limit());
        let flushed = !std::mem::replace(&mut self.flushed, true) && self.may_leave(group, context);
        if grown || woken || flushed { Decision::Pass } else { Decision::Blocked }
    }

    fn holds_data(&self) -> bool {
        self.held
    }

    fn repair(&self) -> Repair {
        Repair::Kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(cwnd: f64, srtt_ms: u64, in_flight: u32) -> View {
        View {
            cwnd,
            ssthresh: 1.0,
            srtt: Duration::from_millis(srtt_ms),
            in_flight,
            active: true,
            ..View::new(10.0, 1420)
        }
    }

    fn choose(group: &[View]) -> Option<(usize, u32)> {
        let again = Demand::Reinjection { tried: SubflowSet::default() };
        match Linux::default().choose(again, group, &Context::default()) {
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

    fn buffer(held_bytes: u64) -> SendBuffer {
        SendBuffer { held_bytes, limit_bytes: 87_040, open: true }
    }

    #[test]
    fn new_data_goes_where_it_lingers_least_whatever_the_window() {
        // 1.2·10·1420 B/20 ms = 852 kB/s and 170.4 kB/s: 60 kB linger 70.4 ms there, 20 kB 117.4 ms here.
        let group = [view(10.0, 20, 10), view(10.0, 100, 1)];
        let choose = |held: [u64; 2]| Linger::default().choose(&group, &held.map(buffer), 1 << 20);
        assert_eq!(choose([60_000, 20_000]), Some((0, 65_423)));
        // 11.9 kB linger 70 ms.
        assert_eq!(choose([60_000, 11_900]), Some((1, 65_423)));
        // The least lingering one is full: the other is not asked.
        assert_eq!(choose([87_040, 30_000]), None);
        assert_eq!(choose([87_041, 17_000]), Some((1, 65_423)));
        // Equal: the first. The peer's window bounds a burst.
        assert_eq!(Linger::default().choose(&group, &[buffer(0); 2], 3_000), Some((0, 3_000)));
    }

    #[test]
    fn rates_are_means_over_what_was_bound() {
        let mut l = Linger::default();
        let mut group = [view(10.0, 20, 10), view(10.0, 100, 10)];
        assert_eq!(l.choose(&group, &[buffer(34_577), buffer(80_000)], 1 << 20), Some((0, 65_423)));
        // Half the window is half the rate: (852·34,577 + 426·65,423)/100,000 = 573.3 kB/s from the next burst on.
        group[0].cwnd = 5.0;
        group[0].in_flight = 5;
        assert_eq!(l.choose(&group, &[buffer(34_577), buffer(80_000)], 1 << 20), Some((0, 65_423)));
        assert!((l.paces[0] - 573_298.0).abs() < 1.0, "{}", l.paces[0]);
    }

    #[test]
    fn backups_and_silent_subflows_wait() {
        let backup = View { backup: true, ..view(10.0, 20, 0) };
        let group = [backup, view(10.0, 500, 10)];
        assert_eq!(Linger::default().choose(&group, &[buffer(0), buffer(60_000)], 1 << 20), Some((1, 65_423)));
        let silent = SendBuffer { open: false, ..buffer(60_000) };
        assert_eq!(Linger::default().choose(&group, &[buffer(0), silent], 1 << 20), Some((0, 65_423)));
    }
}
