//! How large the send buffers are of which the scheduler [`Linux`](super::Linux) looks at the room.

use super::Context;
use crate::Kernel;
use crate::congestion::View;
use crate::tcp::socket_queue::buffer_limit;
use crate::time::{Duration, Instant};

/// For so long after it has sent something the kernel waits for more room in the window, to send it with.
const DEFERRED: Duration = Duration::from_millis(1);
/// `tcp_wmem`: the least send buffer, which the socket has beside those of its subflows.
const LEAST_BYTES: u64 = 4096;

/// The send buffer of a subflow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit {
    /// Its size; 0: the subflow has not been seen yet.
    pub bytes: u64,
    /// What the subflow had heard when its buffer was looked at last, and when that was.
    seen: u64,
    seen_at: Instant,
}

/// A subflow's buffer grows with its window, where the window was not filled while the application waited; the socket's follows
/// from its subflows'.
#[derive(Debug)]
pub(super) struct Limits {
    /// The most that a subflow's grows to.
    most_bytes: u64,
    each: Vec<Limit>,
    /// The largest that any of them was.
    largest_bytes: u64,
    /// When one grew last.
    pub grown_at: Instant,
}

impl Limits {
    pub fn new(most_bytes: u64) -> Self {
        Limits { most_bytes, each: Vec::new(), largest_bytes: 0, grown_at: Instant::NEVER }
    }

    /// Each subflow's buffer gets its first size when it can carry data. Answers the last one that got it now.
    pub fn look(&mut self, group: &[View], context: &Context) -> Option<usize> {
        self.each.resize(group.len(), Limit::default());
        let mut seen = None;
        for (r, limit) in self.each.iter_mut().enumerate() {
            if !group[r].active {
                limit.bytes = 0;
            } else if limit.bytes == 0 {
                let counters = context.counters(r);
                limit.bytes = buffer_limit(counters.steered, group[r].cwnd, counters.segment_bytes, self.most_bytes);
                limit.seen = counters.heard;
                self.largest_bytes = self.largest_bytes.max(limit.bytes);
                seen = Some(r);
            }
        }
        seen
    }

    /// Buffers of subflows that were acknowledged something, and whose windows are not filled, grow with the window
    /// (`tcp_should_expand_sndbuf`), if the socket is `full`. The kernel sends several segments at once, and leaves room in the
    /// window for the next acknowledgment as long as it has sent something in the last millisecond (`tcp_tso_should_defer`), which
    /// here is when acknowledgments come as close together. Answers whether one grew.
    pub fn grow(&mut self, group: &[View], context: &Context, full: bool) -> bool {
        let mut grown = false;
        for (limit, (r, view)) in self.each.iter_mut().zip(group.iter().enumerate()) {
            let counters = context.counters(r);
            if !view.active || limit.seen == counters.heard {
                continue;
            }
            limit.seen = counters.heard;
            let since = context.now - std::mem::replace(&mut limit.seen_at, context.now);
            let had_room = counters.groups.map_or(since < DEFERRED, |(_, had_room)| had_room);
            if full && (had_room || f64::from(view.in_flight) < view.cwnd.floor()) {
                let wanted = buffer_limit(counters.steered, view.cwnd, counters.segment_bytes, self.most_bytes);
                grown |= wanted > limit.bytes;
                limit.bytes = limit.bytes.max(wanted);
                self.largest_bytes = self.largest_bytes.max(limit.bytes);
            }
        }
        if grown {
            self.grown_at = context.now;
        }
        grown
    }

    /// Of a subflow's buffer.
    pub fn bytes(&self, r: usize) -> u64 {
        self.each[r].bytes
    }

    /// Of the socket's own (`mptcp_propagate_sndbuf` of 6.1; `__mptcp_sync_sndbuf`).
    pub fn socket_bytes(&self, kernel: Kernel) -> u64 {
        match kernel {
            Kernel::V6_1 => self.largest_bytes,
            Kernel::V6_12 => LEAST_BYTES + self.each.iter().map(|limit| limit.bytes).sum::<u64>(),
        }
    }

    /// Subflows that have been looked at.
    pub fn subflows(&self) -> std::ops::Range<usize> {
        0..self.each.len()
    }

    /// Something of subflow `r` was acknowledged, and its buffer not looked at since.
    pub fn is_acknowledged(&self, r: usize, context: &Context) -> bool {
        self.each[r].seen != context.counters(r).heard
    }

    /// Something of subflow `r` was acknowledged at this instant, or its buffer has not been looked at since.
    pub fn is_heard(&self, r: usize, context: &Context) -> bool {
        self.each[r].seen_at == context.now || self.is_acknowledged(r, context)
    }
}
