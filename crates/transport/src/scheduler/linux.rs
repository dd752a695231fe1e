//! The scheduler of Linux 5.19 and later ("default" of the upstream kernel; docs/decisions/0006).

use super::linux_choice::{Linger, again, may_carry};
use super::linux_limits::Limits;
use super::linux_memory::{MAX_BUFFER_MIB, MIB, Rates, SendBuffer, memory};
use super::linux_pages::{Edges, Pages};
use super::{Context, Decision, Demand, Next, PacketScheduler, Repair, SubflowSet};
use crate::Kernel;
use crate::algorithm::{About, Algorithm, Capability, Given, Make, Parameter};
use crate::congestion::View;
use crate::plugin::Origin;
use crate::tcp::socket_queue::overhead_bytes;
use crate::time::Instant;

/// The subflow whose data would linger least: the least of the memory it holds, sent and unacknowledged or not sent yet,
/// over its pacing rate. Then up to 64 KiB are bound there, whatever its window, before it is asked again. Backups only
/// when no other works.
///
/// Three limits decide how much is bound. The *socket* takes what the application writes until what the peer has not
/// acknowledged at the data level fills its send buffer, and then nothing until a third of it is free. What it took is
/// bound page by page, as long as the least lingering subflow's *send buffer* has room. How large they are is in `linux_limits.rs`.
#[derive(Debug)]
pub struct Linux {
    linger: Linger,
    limits: Limits,
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
    /// The subflow that is acknowledged or given data, and when.
    current: (Instant, usize),
    /// It sends what it may before another one gets data.
    drains: bool,
}

impl Algorithm for Linux {
    const ABOUT: About = About::new(
        "linux",
        "the subflow with the shortest linger time, in bursts of 64 KiB",
        "Linux 5.19 and later",
    )
    .parameters(&[Parameter::number(
        "send_buffer",
        MAX_BUFFER_MIB,
        [0.0625, 65_536.0],
        "the most that the send buffer of a subflow grows to; of the kernel's own it is the third number of tcp_wmem",
    )
    .unit("MiB")])
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

impl Linux {
    fn with_send_buffer(most_bytes: u64) -> Self {
        Linux {
            linger: Linger::default(),
            limits: Limits::new(most_bytes),
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
            current: (Instant::NEVER, 0),
            drains: false,
        }
    }

    fn look(&mut self, group: &[View], context: &Context) {
        self.buffers.resize(group.len(), SendBuffer::default());
        if let Some(r) = self.limits.look(group, context) {
            let counters = context.counters(r);
            self.in_groups = counters.groups.is_some();
            if counters.next_buffer_bytes.is_some() {
                self.kernel = Kernel::V6_1;
                self.pages.kernel = Kernel::V6_1;
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
        SendBuffer { held_bytes, limit_bytes: self.limits.bytes(r), open: !counters.silent }
    }

    /// The application writes, if it may: at most once, or as long as there is room.
    fn accept(&mut self, context: &Context, all: bool) {
        let written = self.pages.accept(Edges::of(context), self.limits.socket_bytes(self.kernel), all);
        (self.written, self.pushed) = (self.written | written, self.pushed | written);
        if self.pages.full && self.in_groups {
            self.pages.end_write();
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
        let acknowledged = || (0..group.len()).find(|&r| self.limits.is_acknowledged(r, context));
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
        let heard = |r: usize| self.limits.is_heard(r, context);
        if !heard(r) && self.limits.subflows().any(heard) {
            self.delegated = (context.now, context.sent_bytes, self.segments_sent(context));
        }
    }

    fn acknowledged(&self, context: &Context) -> u64 {
        self.limits.subflows().map(|r| context.counters(r).heard).sum()
    }

    fn segments_sent(&self, context: &Context) -> u64 {
        self.limits.subflows().map(|r| context.counters(r).segments_sent).sum()
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
        again(tried, group)
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

    fn when_idle(&mut self, group: &[View], context: &Context) -> Decision {
        self.look(group, context);
        let grown = self.limits.grow(group, context, self.pages.full);
        let mut edges = Edges::of(context);
        let (at, _, segments) = self.delegated;
        if at == context.now && self.limits.grown_at != context.now && segments == self.segments_sent(context) {
            edges.nxt = edges.nxt.min(self.delegated.1);
        }
        let woken = self.pages.wake(edges, self.limits.socket_bytes(self.kernel));
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
