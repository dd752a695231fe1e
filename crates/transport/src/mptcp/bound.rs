//! Data that is bound to a subflow ahead of its window, as Linux does it (docs/decisions/0006): only under the scheduler
//! `linux`. What is bound has its place on the subflow, and waits there for the window.
//!
//! Three limits of Linux decide how much that is. The *socket* takes what the application writes until what the peer has
//! not acknowledged at the data level fills its send buffer, and then nothing until a third of it is free. What it took is
//! bound page by page, as long as the least lingering subflow's *send buffer* has room. A subflow's buffer grows with its
//! window, and only when the window was not filled while the application waited; the socket's is the sum of its
//! subflows'.

use std::collections::VecDeque;

use wire::Segment;

use super::connection::Connection;
use super::state::fallback::Mode;
use crate::queue::Stream;
use crate::scheduler::{Linger, SendBuffer, SubflowSet, buffer_limit, memory, usable};
use crate::tcp::subflow::Subflow;

/// The data of a page of the socket: it is bound whole.
const PAGE_BYTES: u64 = 32_768;
/// What an application writes at once.
const WRITE_BYTES: u64 = 65_536;
/// An application that has much to send leaves no more than this unbound (TCP_NOTSENT_LOWAT of the programs of the engine
/// `linux`), and comes back at half of it.
const UNBOUND_BYTES: u64 = 128 * 1024;
/// `tcp_wmem`: the least send buffer, which the socket has beside those of its subflows.
const LEAST_BUFFER_BYTES: u64 = 4096;
/// After so many periods of the data level's timer without a word from a subflow it is stale (`stale_loss_cnt`).
const STALE_PERIODS: u32 = 4;

/// What waits on one subflow.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// Ranges of the stream, in the order in which they go out.
    ranges: VecDeque<(u64, u64)>,
    bytes: u64,
    /// Size of the send buffer; 0: the subflow has not been seen yet.
    limit_bytes: u64,
    /// The subflow's `snd_una` when its buffer was looked at last.
    seen_una: u64,
    /// End of the last segment that was not full.
    short_end: u64,
    /// The subflow's `snd_una` at the last period of the data level's timer, and for how many periods it has been that.
    silent: (u64, u32),
    /// It has been that for so long that others carry what it had.
    stale: bool,
}

impl Waiting {
    fn push(&mut self, from: u64, to: u64) {
        self.bytes += to - from;
        match self.ranges.back_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.ranges.push_back((from, to)),
        }
    }
}

/// What is bound.
#[derive(Debug, Default)]
pub struct Bound {
    linger: Linger,
    waiting: Vec<Waiting>,
    /// Bound to a subflow that is gone, and to be bound again.
    returned: VecDeque<(u64, u64)>,
    /// The end of what the socket took from the application.
    accepted: u64,
    /// The application waits for room.
    full: bool,
    buffers: Vec<SendBuffer>,
}

impl Bound {
    /// Ranges that wait.
    pub fn len(&self) -> usize {
        self.waiting.iter().map(|w| w.ranges.len()).sum::<usize>() + self.returned.len()
    }

    /// Bytes that wait on subflow `r`.
    pub fn waiting_bytes(&self, r: usize) -> u64 {
        self.waiting.get(r).map_or(0, |waiting| waiting.bytes)
    }

    /// What was bound to a subflow, or is to be again.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.waiting.iter().flat_map(|w| w.ranges.iter()).chain(&self.returned).copied()
    }

    /// Takes everything out.
    fn drain(&mut self) -> Vec<(u64, u64)> {
        let mut all: Vec<_> = self.ranges().collect();
        for waiting in &mut self.waiting {
            waiting.ranges.clear();
            waiting.bytes = 0;
        }
        self.returned.clear();
        all.sort_unstable();
        all
    }

    /// The application writes, if it may: `write_end` is the end of what it has. Once at most [`WRITE_BYTES`].
    fn accept(&mut self, write_end: u64, snd_una: u64, snd_nxt: u64) {
        let limit = LEAST_BUFFER_BYTES + self.waiting.iter().map(|w| w.limit_bytes).sum::<u64>();
        self.accepted = self.accepted.max(snd_nxt).min(write_end);
        if self.full && 3 * (self.accepted - snd_una) <= 2 * limit && 2 * (self.accepted - snd_nxt) < UNBOUND_BYTES {
            self.full = false;
        }
        let write_ends = write_end.min(self.accepted.saturating_add(WRITE_BYTES));
        while !self.full && self.accepted < write_ends {
            self.full = self.accepted - snd_una >= limit || self.accepted - snd_nxt >= UNBOUND_BYTES;
            if !self.full {
                self.accepted = write_ends.min(page_end(self.accepted));
            }
        }
    }
}

/// The end of the page that holds `at`.
fn page_end(at: u64) -> u64 {
    (at / PAGE_BYTES + 1).saturating_mul(PAGE_BYTES)
}

impl<P: Stream> Connection<P> {
    /// Binds what can be bound, and answers with a segment of what waits on a subflow with room. The order is the
    /// kernel's: an acknowledgment lets the socket bind first, then the subflow send, then its buffer grow.
    pub(super) fn transmit_bound(&mut self, now_ns: u64, out: &mut Segment<P>) -> Option<usize> {
        let mut bound = self.bound.take()?;
        let sent = loop {
            self.bind(&mut bound);
            match (0..bound.waiting.len()).find(|&r| self.may_send_waiting(&bound.waiting[r], r)) {
                Some(r) if self.send_waiting(now_ns, &mut bound, r, out) => break Some(r),
                Some(_) => {} // nothing that waited there was needed any more
                None if self.grow_buffers(&mut bound) => {}
                None => break None,
            }
        };
        let idle = bound.len() == 0 && self.tx.is_sent();
        self.bound = Some(bound);
        if sent.is_some() {
            return sent;
        }
        if idle {
            return self.transmit_data_fin(now_ns, out);
        }
        if self.tx.nxt() < self.tx.end() && self.tx.nxt() >= self.tx.right() {
            self.arm_probe(now_ns);
        }
        None
    }

    /// What the application has goes to subflows, as far as the send buffers and the peer's window allow.
    fn bind(&mut self, bound: &mut Bound) {
        bound.waiting.resize(self.subflows.len(), Waiting::default());
        bound.buffers.resize(self.subflows.len(), SendBuffer::default());
        for (r, waiting) in bound.waiting.iter_mut().enumerate() {
            waiting.stale &= waiting.silent.0 == self.subflows[r].snd_una;
            if !self.views[r].active {
                waiting.limit_bytes = 0;
            } else if waiting.limit_bytes == 0 {
                waiting.limit_bytes = buffer_limit(self.views[r].cwnd, self.subflows[r].mss);
                waiting.seen_una = self.subflows[r].snd_una;
            }
        }
        loop {
            bound.accept(self.tx.end(), self.tx.una(), self.tx.nxt());
            let open = self.tx.open();
            let fresh = (bound.accepted - self.tx.nxt()).min(open);
            if bound.returned.is_empty() && fresh == 0 {
                return;
            }
            for r in 0..self.subflows.len() {
                bound.buffers[r] = self.send_buffer(&bound.waiting[r], r);
            }
            let window = if bound.returned.is_empty() { open } else { u64::MAX };
            let Some((r, burst)) = bound.linger.choose(&self.views, &bound.buffers, window) else { return };
            let mut left = burst;
            while left > 0 && bound.buffers[r].held_bytes < bound.buffers[r].limit_bytes {
                let Some((from, to)) = self.next_page(bound) else { break };
                bound.waiting[r].push(from, to);
                left = left.saturating_sub(to - from);
                bound.buffers[r] = self.send_buffer(&bound.waiting[r], r);
            }
            self.views[r].queued = bound.waiting[r].bytes.div_ceil(u64::from(self.views[r].mss)) as u32;
        }
    }

    /// The next page to bind: what came back first.
    fn next_page(&mut self, bound: &mut Bound) -> Option<(u64, u64)> {
        while let Some(first) = bound.returned.front_mut() {
            let from = first.0.max(self.tx.una());
            let to = first.1.min(page_end(from));
            first.0 = to.max(from);
            if first.0 >= first.1 {
                bound.returned.pop_front();
            }
            if from < to {
                return Some((from, to));
            }
        }
        let from = self.tx.nxt();
        let to = bound.accepted.min(self.tx.right()).min(page_end(from));
        (from < to).then(|| {
            self.tx.advance(to - from);
            (from, to)
        })
    }

    fn send_buffer(&self, waiting: &Waiting, r: usize) -> SendBuffer {
        let (subflow, view) = (&self.subflows[r], &self.views[r]);
        if !view.active {
            return SendBuffer::default();
        }
        let held_bytes = memory(subflow.snd_nxt - subflow.snd_una, waiting.bytes, view);
        SendBuffer { held_bytes, limit_bytes: waiting.limit_bytes, open: !waiting.stale }
    }

    /// Whether the subflow has something that waits, and may send it now. A last segment that is not full waits while an
    /// earlier one is unacknowledged (Nagle's rule as Minshall changed it, which is Linux's).
    fn may_send_waiting(&self, waiting: &Waiting, r: usize) -> bool {
        let Some(&(from, to)) = waiting.ranges.front() else { return false };
        let short = waiting.ranges.len() == 1 && to - from < u64::from(self.views[r].mss);
        let held = self.config.tcp.nagle && short && waiting.short_end > self.subflows[r].snd_una;
        usable(&self.views[r]) && !held
    }

    /// The next segment of what waits on the subflow. False: nothing of it is needed any more.
    fn send_waiting(&mut self, now_ns: u64, bound: &mut Bound, r: usize, out: &mut Segment<P>) -> bool {
        let (waiting, view) = (&mut bound.waiting[r], &mut self.views[r]);
        let mss = u64::from(view.mss);
        while let Some(first) = waiting.ranges.front_mut() {
            // What another subflow has brought in the meantime needs no bytes.
            let from = first.0.max(self.tx.una().min(first.1));
            let len = mss.min(first.1 - from);
            waiting.bytes -= from + len - first.0;
            first.0 = from + len;
            if first.0 == first.1 {
                waiting.ranges.pop_front();
            }
            if len == 0 {
                continue;
            }
            view.queued = waiting.bytes.div_ceil(mss) as u32;
            if len < mss {
                waiting.short_end = self.subflows[r].snd_nxt + len;
            }
            let payload = self.tx.slice(from, len);
            self.arm_data_timer(now_ns);
            self.first_transmission(now_ns, r, from, payload, false, out);
            return true;
        }
        view.queued = 0;
        false
    }

    /// The tail loss probe's segment of new data: what waits on the subflow, whatever its window.
    pub(super) fn probe_with_waiting(&mut self, now_ns: u64, r: usize, out: &mut Segment<P>) -> bool {
        let Some(mut bound) = self.bound.take() else { return false };
        let sent = r < bound.waiting.len() && self.send_waiting(now_ns, &mut bound, r, out);
        self.bound = Some(bound);
        sent
    }

    /// Buffers of subflows that were acknowledged something, whose windows stay open for want of data, grow with the
    /// window (`tcp_should_expand_sndbuf`). Answers whether one did.
    fn grow_buffers(&self, bound: &mut Bound) -> bool {
        let mut grown = false;
        for (r, waiting) in bound.waiting.iter_mut().enumerate() {
            let (subflow, view) = (&self.subflows[r], &self.views[r]);
            if !view.active || waiting.seen_una == subflow.snd_una {
                continue;
            }
            waiting.seen_una = subflow.snd_una;
            if bound.full && f64::from(view.in_flight) < view.cwnd.floor() {
                let wanted = buffer_limit(view.cwnd, subflow.mss);
                grown |= wanted > waiting.limit_bytes;
                waiting.limit_bytes = waiting.limit_bytes.max(wanted);
            }
        }
        grown
    }

    /// Subflow `r` takes no more: what waits on it is bound again.
    pub(super) fn return_waiting(&mut self, r: usize) {
        let Some(bound) = &mut self.bound else { return };
        let Some(waiting) = bound.waiting.get_mut(r) else { return };
        waiting.bytes = 0;
        let mut all: Vec<_> = bound.returned.drain(..).chain(waiting.ranges.drain(..)).collect();
        all.sort_unstable();
        bound.returned.extend(all);
        self.views[r].queued = 0;
        self.due.data = true;
    }

    /// Before a fallback: what waits was not sent, so that the end of what was moves back.
    pub(super) fn unbind(&mut self) {
        let Some(bound) = self.bound.as_mut().filter(|_| self.mode == Mode::Mptcp) else { return };
        let mut all = bound.drain();
        while let Some((from, _)) = all.pop_if(|&mut (_, to)| to == self.tx.nxt()) {
            self.tx.retreat(from);
        }
        for (from, to) in all {
            self.reinjections.add_untried(from, to);
        }
        self.views.iter_mut().for_each(|v| v.queued = 0);
    }

    /// The data level's timer of Linux: what its socket's oldest page holds goes out again on a subflow where nothing is
    /// under way. A subflow from which nothing was heard for four periods is stale, and what it has goes to others.
    pub(super) fn retransmit_oldest_page(&mut self) {
        let Some(mut bound) = self.bound.take() else { return };
        let mut idle = None;
        for (r, subflow) in self.subflows.iter().enumerate().filter(|&(r, _)| self.views[r].active) {
            let Some(waiting) = bound.waiting.get_mut(r) else { continue };
            if subflow.board.is_empty() && waiting.ranges.is_empty() {
                waiting.silent = (subflow.snd_una, 0);
                if idle.is_none_or(|i: usize| self.views[i].backup && !self.views[r].backup) {
                    idle = Some(r);
                }
            } else {
                let periods = if waiting.silent.0 == subflow.snd_una { waiting.silent.1 + 1 } else { 1 };
                waiting.silent = (subflow.snd_una, periods);
            }
        }
        let works = |r: &usize| self.views[*r].active;
        let periods = |r: usize| bound.waiting.get(r).map_or(0, |w| w.silent.1);
        let better = (0..self.views.len()).filter(works).any(|r| periods(r) + 1 < STALE_PERIODS);
        let late = |r: &usize| periods(*r) > STALE_PERIODS && !bound.waiting[*r].stale;
        let stale: Vec<_> = (0..self.views.len()).filter(works).filter(|r| better && late(r)).collect();
        stale.iter().for_each(|&r| bound.waiting[r].stale = true);
        self.bound = Some(bound);
        if let Some(r) = idle {
            let mut others = SubflowSet(u64::MAX);
            others.0 &= !(1 << r);
            let to = self.tx.nxt().min(page_end(self.tx.una()));
            self.reinjections.add_held(self.tx.una(), to, others);
        }
        for r in stale {
            self.return_waiting(r);
            self.reinject_all(r);
        }
    }

    /// Whether what is under way on the subflow can still be hoped for.
    pub(super) fn is_stale(&self, r: usize) -> bool {
        self.bound.as_ref().is_some_and(|b| b.waiting.get(r).is_some_and(|w| w.stale))
    }

    /// Whether what was bound is with a subflow that stands, and so a matter of its own timer.
    pub(super) fn is_bound_and_carried(&self, at: u64) -> bool {
        let Some(bound) = &self.bound else { return false };
        let on = |s: &Subflow<P>| {
            s.is_synchronised() && s.board.iter().any(|sent| (sent.offset..sent.offset + sent.len()).contains(&at))
        };
        bound.ranges().any(|(from, to)| (from..to).contains(&at)) || self.subflows.iter().any(on)
    }

    /// Until the next period of that timer: the longest that a subflow still waits for an acknowledgment.
    pub(super) fn page_timeout_ns(&self, now_ns: u64) -> u64 {
        let silent = |r: usize| self.bound.as_ref().and_then(|b| b.waiting.get(r)).is_some_and(|w| w.silent.1 > 0);
        let heard = self.subflows.iter().enumerate().filter(|&(r, _)| !silent(r));
        let waits = heard.map(|(_, s)| s.timer_ns.min(s.rack.probe_ns)).filter(|&at_ns| at_ns < u64::MAX);
        let longest_ns = waits.map(|at_ns| at_ns.saturating_sub(now_ns)).max().unwrap_or(0);
        if longest_ns == 0 { self.config.tcp.rto_min_ns } else { longest_ns }
    }
}
