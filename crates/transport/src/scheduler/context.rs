//! What a scheduler can find out about its connection beside the views of the subflows.

use std::fmt;

use super::SubflowSet;
use crate::time::Instant;

/// What a scheduler knows of the connection. Places and sizes are in bytes of the stream.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Now.
    pub now: Instant,
    /// Where the data begins that is asked about.
    pub place: u64,
    /// How many bytes of it there are that may be sent or bound.
    pub available_bytes: u64,
    /// Bytes that the peer has acknowledged at the data level.
    pub acknowledged_bytes: u64,
    /// Bytes sent so far for the first time, or bound to a subflow: where new data begins.
    pub sent_bytes: u64,
    /// Bytes written and neither sent nor bound; of an application that always has more, next to `u64::MAX`.
    pub unsent_bytes: u64,
    /// Bytes that the connection-level window still allows.
    pub free_window_bytes: u64,
    /// The whole connection-level window: what may be under way at once.
    pub window_bytes: u64,
    /// How often so far the connection-level window kept the fastest subflow from sending though it had room.
    pub window_blocks: u64,
    /// What the application will have written in all, where it is known: it [said so](crate::Connection::set_flow_size), or
    /// it has ended the stream.
    pub flow_bytes: Option<u64>,
    /// The application writes no more.
    pub ended: bool,
    /// Where [`counters`](Self::counters) looks.
    pub subflows: &'a dyn Lookup,
}

impl Context<'_> {
    /// Bytes of the flow that are neither sent nor bound, written or not; none where its size is not known.
    pub fn left_bytes(&self) -> Option<u64> {
        self.flow_bytes.map(|bytes| bytes.saturating_sub(self.sent_bytes))
    }

    /// Bytes sent or bound and not acknowledged at the data level.
    pub fn outstanding_bytes(&self) -> u64 {
        self.sent_bytes.saturating_sub(self.acknowledged_bytes)
    }

    /// The oldest data that is not acknowledged at the data level, as far as the same subflows carry it; none where no
    /// subflow does.
    pub fn oldest(&self) -> Option<Carried> {
        if self.acknowledged_bytes >= self.sent_bytes {
            return None;
        }
        self.subflows.carried(self.acknowledged_bytes)
    }

    /// What the subflow with id `r` has counted; zeros for one that does not exist.
    pub fn counters(&self, r: usize) -> Counters {
        self.subflows.counters(r)
    }
}

impl Default for Context<'_> {
    /// A connection that has nothing, without subflows: for tests of schedulers.
    fn default() -> Self {
        Context {
            now: Instant::ZERO,
            place: 0,
            available_bytes: 0,
            acknowledged_bytes: 0,
            sent_bytes: 0,
            unsent_bytes: 0,
            free_window_bytes: 0,
            window_bytes: 0,
            window_blocks: 0,
            flow_bytes: None,
            ended: false,
            subflows: &[],
        }
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("now", &self.now)
            .field("place", &self.place)
            .field("available_bytes", &self.available_bytes)
            .field("acknowledged_bytes", &self.acknowledged_bytes)
            .field("sent_bytes", &self.sent_bytes)
            .field("unsent_bytes", &self.unsent_bytes)
            .field("free_window_bytes", &self.free_window_bytes)
            .field("window_bytes", &self.window_bytes)
            .field("window_blocks", &self.window_blocks)
            .field("flow_bytes", &self.flow_bytes)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

/// What a subflow has counted so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Segments with data sent, retransmissions included.
    pub segments_sent: u64,
    /// Of those, the retransmissions of segments that were held to be lost, rightly or not.
    pub segments_lost: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Bytes acknowledged on the subflow.
    pub acknowledged_bytes: u64,
    /// The same and, where segments leave in groups, how many acknowledgments told of what came behind a hole: what is new means that one
    /// came.
    pub heard: u64,
    /// Bytes sent and not acknowledged on the subflow.
    pub unacknowledged_bytes: u64,
    /// Bytes bound to the subflow and not sent yet.
    pub queued_bytes: u64,
    /// The buffers of data that these are in, none of which a segment goes beyond.
    pub queued_buffers: u64,
    /// How much of the data asked about goes into one of them, the last or the next, where the scheduler is asked again behind each (Linux
    /// 6.1); otherwise none.
    pub next_buffer_bytes: Option<u64>,
    /// Largest segment in bytes, TCP's options included; [`View::mss`](crate::congestion::View::mss) is what data gets of it.
    pub segment_bytes: u32,
    /// The control steers.
    pub steered: bool,
    /// The same less timestamps, which is what the kernel's pacing counts with (`mss_cache`).
    pub paced_bytes: u32,
    /// The rate of the kernel's pacing in bytes/s, where it is not what follows from the window.
    pub pace_bytes: Option<u64>,
    /// Nothing was heard of it for so long that its data went to others; only under [`Repair::Kernel`](super::Repair).
    pub silent: bool,
    /// Where segments leave in groups, as the kernel's ([`TcpOptions::tso`](crate::TcpOptions::tso)): those that are not
    /// acknowledged, and whether the window had room behind one that left at this instant.
    pub groups: Option<(u64, bool)>,
}

/// A piece of the stream that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// Its first byte.
    pub from: u64,
    /// Behind its last.
    pub to: u64,
    /// The subflows that carry it.
    pub on: SubflowSet,
}

/// Where counters are looked up, one subflow at a time and only when a scheduler asks.
pub trait Lookup {
    /// Those of the subflow with id `r`; zeros when there is none.
    fn counters(&self, r: usize) -> Counters;

    /// The segments that carry the byte at this place, as far as they have it in common.
    fn carried(&self, _place: u64) -> Option<Carried> {
        None
    }
}

/// For tests of schedulers.
impl<const N: usize> Lookup for [Counters; N] {
    fn counters(&self, r: usize) -> Counters {
        self.get(r).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_known_with_the_size() {
        let context = Context { acknowledged_bytes: 10, sent_bytes: 30, unsent_bytes: 20, ..Context::default() };
        assert_eq!(context.outstanding_bytes(), 20);
        assert_eq!(context.left_bytes(), None);
        assert_eq!(Context { flow_bytes: Some(100), ..context }.left_bytes(), Some(70));
    }

    #[test]
    fn counters_of_no_subflow_are_zeros() {
        let counters = [Counters { segments_sent: 3, ..Counters::default() }];
        let context = Context { subflows: &counters, ..Context::default() };
        assert_eq!((context.counters(0).segments_sent, context.counters(1).segments_sent), (3, 0));
    }
}
