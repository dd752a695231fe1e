//! The scheduler of Linux 5.19 and later ("default" of the upstream kernel; docs/decisions/0006).

use super::linux_memory::{MAX_BUFFER_MIB, MIB, Rates, SendBuffer, memory, pace};
use super::linux_pages::{Edges, Pages};
use super::{Context, Decision, Demand, Next, PacketScheduler, Repair, SubflowSet, usable};
use crate::Kernel;
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::tcp::socket_queue::{buffer_limit, overhead_bytes};
use crate::time::{Duration, Instant};

/// 64 KiB less the largest headers of TCP (20 and 40 bytes) and IPv6 (40 and 8; `MPTCP_SEND_BURST_SIZE`).
const BURST_BYTES: u64 = 65_428;
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
    /// The largest that any of them was.
    largest_limit: u64,
    buffers: Vec<SendBuffer>,
    /// What the socket took from the application.
    pages: Pages,
    /// What the socket took waits for room on the subflow where it would linger least.
    held: bool,
    /// Where data is bound now, and how many bytes more.
    burst: Option<(usize, u64)>,
    /// When it was chosen or went on.
    burst_at: Instant,
    /// What was bound has left as far as it can: the application goes on.
    flushed: bool,
    /// Segments leave in groups, as the kernel's.
    in_groups: bool,
    /// Whose scheduler it is: that of 6.1 is asked again behind each buffer, and a burst outlives what occasioned it.
    kernel: Kernel,
    /// Something was bound or written since the socket was last found dry.
    pushed: bool,
    /// Of these the application has written.
    written: bool,
    /// When it did so with the window closed.
    written_at: Instant,
    /// When the choice fell on a subflow without room in its buffer, and how many bytes subflows had acknowledged.
    refused: (Instant, u64),
    /// The application was woken behind a choice that was refused, and writes before there is another.
    woken: bool,
    /// Whose turn it was when it was.
    next: Option<Next>,
    /// When an acknowledgment of one subflow had data bound to another last, from where on, and behind how many segments.
    delegated: (Instant, u64, u64),
    /// When a send buffer grew last.
    grown_at: Instant,
    /// The subflow that is acknowledged or given data, and when.
    current: (Instant, usize),
    /// It sends what it may before another one gets data.
    drains: bool,
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
    /// What the subflow had heard when its buffer was looked at last, and when that was.
    seen: u64,
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
    fn choose(&mut self, rates: &Rates, buffers: &[SendBuffer], window_bytes: u64) -> Option<(usize, u64)> {
        let r = self.least(rates, buffers)?;
        let (burst, held) = (BURST_BYTES.min(window_bytes), buffers[r].held_bytes);
        self.paces[r] = rates.mean((self.paces[r], held), (rates.of(r), burst));
        Some((r, burst))
    }

    /// The one where it would linger least, if that has room.
    fn least(&mut self, rates: &Rates, buffers: &[SendBuffer]) -> Option<usize> {
        let group = rates.group;
        self.paces.resize(group.len().max(self.paces.len()), 0.0);
        let mut best: Option<(usize, f64)> = None;
        for r in (0..group.len()).filter(|&r| may_carry(r, group, buffers)) {
            if self.paces[r] == 0.0 {
                self.paces[r] = rates.of(r);
            }
            let linger_s = buffers[r].held_bytes as f64 / self.paces[r];
            if best.is_none_or(|(_, least_s)| linger_s < least_s) {
                best = Some((r, linger_s));
            }
        }
        best.filter(|&(r, _)| buffers[r].held_bytes < buffers[r].limit_bytes).map(|(r, _)| r)
    }
}

impl Linux {
    fn with_send_buffer(largest_bytes: u64) -> Self {
        Linux {
            largest_bytes,
            linger: Linger::default(),
            limits: Vec::new(),
            largest_limit: 0,
            buffers: Vec::new(),
            pages: Pages::default(),
            held: false,
            burst: None,
            burst_at: Instant::NEVER,
            flushed: false,
            in_groups: false,
            kernel: Kernel::default(),
            pushed: false,
            written: false,
            written_at: Instant::NEVER,
            refused: (Instant::NEVER, 0),
            woken: false,
            next: None,
            delegated: (Instant::NEVER, 0, 0),
            grown_at: Instant::NEVER,
            current: (Instant::NEVER, 0),
            drains: false,
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
                limit.bytes = buffer_limit(counters.steered, group[r].cwnd, counters.segment_bytes, self.largest_bytes);
                limit.seen = counters.heard;
                self.largest_limit = self.largest_limit.max(limit.bytes);
                self.in_groups = counters.groups.is_some();
                if counters.next_buffer_bytes.is_some() {
                    self.kernel = Kernel::V6_1;
                    self.pages.kernel = Kernel::V6_1;
                }
            }
        }
    }

    fn rates<'a>(&self, group: &'a [View], context: &'a Context) -> Rates<'a> {
        Rates { group, kernel: self.in_groups.then_some(context) }
    }

    fn send_buffer(&self, r: usize, group: &[View], context: &Context) -> SendBuffer {
        if !group[r].active {
            return SendBuffer::default();
        }
        let counters = context.counters(r);
        let (sent, waiting) = (counters.unacknowledged_bytes, (counters.queued_bytes, counters.queued_buffers));
        let held_bytes = match counters.groups {
            Some((groups, _)) => sent + waiting.0 + overhead_bytes(self.kernel) * (groups + waiting.1),
            None => memory(sent, waiting, &group[r]),
        };
        SendBuffer { held_bytes, limit_bytes: self.limits[r].bytes, open: !counters.silent }
    }

    /// The application writes, if it may: at most once, or as long as there is room.
    fn accept(&mut self, context: &Context, all: bool) {
        let written = self.pages.accept(Edges::of(context), self.socket_limit(), all);
        (self.written, self.pushed) = (self.written | written, self.pushed | written);
        if self.pages.full && self.in_groups {
            self.pages.end_write();
        }
    }

    /// The send buffer of the socket.
    fn socket_limit(&self) -> u64 {
        // `mptcp_propagate_sndbuf` of 6.1; `__mptcp_sync_sndbuf`.
        match self.kernel {
            Kernel::V6_1 => self.largest_limit,
            Kernel::V6_12 => LEAST_BUFFER_BYTES + self.limits.iter().map(|limit| limit.bytes).sum::<u64>(),
        }
    }

    /// Whether something that is bound may leave. What the application writes at once does before it writes more
    /// (`mptcp_sendmsg`, `__mptcp_push_pending`), where segments leave as there.
    fn may_leave(&self, group: &[View], context: &Context) -> bool {
        (0..group.len()).any(|r| self.may_leave_on(r, group, context))
    }

    fn may_leave_on(&self, r: usize, group: &[View], context: &Context) -> bool {
        let view = &group[r];
        self.in_groups && view.active && view.has_room() && context.counters(r).queued_bytes > 0
    }

    /// Subflow `r` was chosen. Another one that was acknowledged or given data at this instant sends first what it may
    /// (`mptcp_subflow_delegate`, `mptcp_push_release`). Answers whether it does.
    fn switch(&mut self, r: usize, group: &[View], context: &Context) -> bool {
        if !self.in_groups {
            return false;
        }
        let (at, before) = self.current;
        let acknowledged = || (0..group.len()).find(|&r| self.is_acknowledged(r, context));
        let before = if at == context.now { Some(before) } else { acknowledged() };
        let drains = before.filter(|&before| before != r && self.may_leave_on(before, group, context));
        self.current = (context.now, drains.unwrap_or(r));
        self.drains = drains.is_some();
        self.drains
    }

    /// How much of the data asked about is in its first page.
    fn page_bytes(&self, context: &Context) -> u64 {
        context.available_bytes.min(self.pages.piece_bytes(context.place))
    }

    /// Data goes to subflow `r`. Where another one was acknowledged, that has happened when it is looked at whether the application is
    /// woken, and this comes after (`mptcp_subflow_delegate`). It is looked at again when data leaves
    /// (`tcp_event_new_data_sent`), and when a buffer that has grown is told of (`__mptcp_sync_sndbuf`).
    fn note_delegated(&mut self, r: usize, context: &Context) {
        if !self.in_groups || self.delegated.0 == context.now {
            return;
        }
        let heard = |r: usize| self.limits[r].seen_at == context.now || self.is_acknowledged(r, context);
        if !heard(r) && (0..self.limits.len()).any(heard) {
            self.delegated = (context.now, context.sent_bytes, self.segments_sent(context));
        }
    }

    /// Something of subflow `r` was acknowledged, and its buffer not looked at since.
    fn is_acknowledged(&self, r: usize, context: &Context) -> bool {
        self.limits[r].seen != context.counters(r).heard
    }

    fn acknowledged(&self, context: &Context) -> u64 {
        (0..self.limits.len()).map(|r| context.counters(r).heard).sum()
    }

    fn segments_sent(&self, context: &Context) -> u64 {
        (0..self.limits.len()).map(|r| context.counters(r).segments_sent).sum()
    }

    /// The next page goes where the burst goes, or begins another one. The application writes when all is bound, or nothing can
    /// be.
    fn bind(&mut self, group: &[View], context: &Context) -> Decision {
        self.look(group, context);
        self.held = false;
        if self.drains && self.may_leave_on(self.current.1, group, context) {
            return Decision::Wait { until: Instant::NEVER };
        }
        self.drains = false;
        if self.in_groups && self.refused == (context.now, self.acknowledged(context)) {
            self.held = true;
            return Decision::Wait { until: Instant::NEVER };
        }
        if std::mem::take(&mut self.woken) && self.in_groups {
            self.accept(context, false);
        }
        loop {
            for r in 0..group.len() {
                self.buffers[r] = self.send_buffer(r, group, context);
            }
            let stays = self.kernel == Kernel::V6_1;
            if let Some((r, left)) = if stays { self.burst } else { self.burst.take() } {
                let buffer = self.buffers[r];
                let bytes = self.page_bytes(context).min(context.counters(r).next_buffer_bytes.unwrap_or(u64::MAX));
                let fits = buffer.held_bytes < buffer.limit_bytes && may_carry(r, group, &self.buffers);
                if left > 0 && bytes > 0 && fits {
                    let goes_on = std::mem::replace(&mut self.burst_at, context.now) != context.now;
                    if goes_on && stays && self.switch(r, group, context) {
                        return Decision::Wait { until: Instant::NEVER };
                    }
                    self.current = (context.now, r);
                    self.burst = Some((r, left.saturating_sub(bytes)));
                    self.pushed = true;
                    self.note_delegated(r, context);
                    return Decision::Bind { on: SubflowSet::one(r), bytes };
                }
            }
            if self.page_bytes(context) == 0 {
                if !self.flushed && self.may_leave(group, context) {
                    return Decision::Wait { until: Instant::NEVER };
                }
                self.flushed = false;
                self.accept(context, false);
                if stays && self.page_bytes(context) > 0 {
                    continue; // what is left of a burst comes first, after a write too
                }
            }
            if self.page_bytes(context) == 0 {
                return Decision::Wait { until: Instant::NEVER };
            }
            let returned = context.place < context.sent_bytes;
            let window_bytes = if returned { u64::MAX } else { context.free_window_bytes };
            let chosen = self.linger.choose(&self.rates(group, context), &self.buffers, window_bytes);
            self.burst = chosen.or(self.burst.filter(|_| stays));
            self.burst_at = context.now;
            if let Some((r, _)) = chosen
                && self.switch(r, group, context)
            {
                return Decision::Wait { until: Instant::NEVER };
            }
            if chosen.is_none() {
                self.accept(context, true);
                // What leaves now is no occasion to ask again, unless the application writes.
                self.refused = (if self.written { Instant::NEVER } else { context.now }, self.acknowledged(context));
                self.written = false;
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
        self.burst = self.burst.filter(|_| self.kernel == Kernel::V6_1);
        self.look(group, context);
        self.accept(context, true);
        self.next = None;
        // The kernel chooses before it looks at the window (`__mptcp_subflow_push_pending`).
        // Each write is followed by a try, those after the first come behind what has left.
        let again = self.written_at == context.now;
        if self.written {
            self.written_at = context.now;
        }
        let tried = (std::mem::take(&mut self.pushed) || again) && context.free_window_bytes == 0;
        if tried && self.in_groups && self.pages.unbound(context.sent_bytes) > 0 {
            for r in 0..group.len() {
                self.buffers[r] = self.send_buffer(r, group, context);
            }
            let on = self.linger.least(&self.rates(group, context), &self.buffers);
            self.next = on.map(|on| Next { on, pushed: self.written || again });
        }
        self.written = false;
    }

    fn next_if_open(&mut self) -> Option<Next> {
        self.next.take()
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
            if !view.active || limit.seen == counters.heard {
                continue;
            }
            limit.seen = counters.heard;
            let since = context.now - std::mem::replace(&mut limit.seen_at, context.now);
            let had_room = counters.groups.map_or(since < DEFERRED, |(_, had_room)| had_room);
            if self.pages.full && (had_room || f64::from(view.in_flight) < view.cwnd.floor()) {
                let wanted = buffer_limit(counters.steered, view.cwnd, counters.segment_bytes, self.largest_bytes);
                grown |= wanted > limit.bytes;
                limit.bytes = limit.bytes.max(wanted);
                self.largest_limit = self.largest_limit.max(limit.bytes);
            }
        }
        let mut edges = Edges::of(context);
        if grown {
            self.grown_at = context.now;
        }
        let (at, _, segments) = self.delegated;
        if at == context.now && self.grown_at != context.now && segments == self.segments_sent(context) {
            edges.nxt = edges.nxt.min(self.delegated.1);
        }
        let woken = self.pages.wake(edges, self.socket_limit());
        if woken {
            self.woken = self.refused.0 == context.now;
            self.refused.0 = Instant::NEVER;
        }
        let drained = std::mem::take(&mut self.drains);
        // An application that is woken meanwhile writes when all of that has left.
        let flushed = !std::mem::replace(&mut self.flushed, !drained) && !drained && self.may_leave(group, context);
        if grown || woken || flushed || drained { Decision::Pass } else { Decision::Blocked }
    }

    fn holds_data(&self) -> bool {
        self.held
    }

    fn page_end(&self, place: u64) -> Option<u64> {
        Some(place + self.pages.piece_bytes(place)).filter(|&end| end > place)
    }

    fn repair(&self) -> Repair {
        Repair::Kernel
    }
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
