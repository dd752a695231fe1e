//! Results of a link's calls, and its counters.

/// Fate of a packet that arrives at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Enqueue {
    /// The packet will arrive at the far end.
    Accepted {
        /// Whether no packet was in flight before; then the caller schedules [`crate::Link::next_arrival_ns`].
        first: bool,
    },
    /// The packet will arrive at the far end of a stage that reorders.
    Disordered {
        /// Whether [`crate::Link::next_arrival_ns`] changed; then the caller reschedules it.
        reschedule: bool,
        /// Whether the packet is duplicated: the caller copies its content and passes it to [`crate::Link::enqueue_copy`].
        twice: bool,
    },
    /// The packet waits for the link's shared medium: the caller calls [`crate::Medium::serve`].
    Waiting,
    /// The packet was dropped; the caller frees its content.
    Dropped(DropReason),
}

/// Why a packet did not enter the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full.
    Full,
    /// Active queue management dropped it.
    Early,
    /// The link is down.
    Dead,
}

/// Totals since the link was created; for an interval, subtract two snapshots.
/// `arrived_packets` = the three kinds of drops + `sent_packets` + packets in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived at the link.
    pub arrived_packets: u64,
    /// Packets dropped because the queue was full.
    pub dropped_full: u64,
    /// Packets dropped by active queue management, at the entrance (RED) or at the head (CoDel).
    pub dropped_early: u64,
    /// Packets that active queue management marked with congestion experienced instead of dropping them. A packet that
    /// arrived marked counts, so that this is the number of signals. A marked packet may still be lost on the wire.
    pub marked: u64,
    /// Packets that arrived while the link was down, or were queued when it went down.
    pub dropped_dead: u64,
    /// Bytes of these packets.
    pub dead_bytes: u64,
    /// Packets that departed and were lost on the wire.
    pub lost_on_wire: u64,
    /// Packets that departed, including those lost on the wire. A packet counts as a whole when its last bit leaves.
    pub sent_packets: u64,
    /// Bytes of these packets.
    pub sent_bytes: u64,
    /// Time integral of the queue length, including the packet being sent: packets × nanoseconds.
    pub queue_packet_ns: u128,
    /// Maximum queue length in packets since [`crate::Link::reset_max`]; not a total.
    pub queue_max_packets: u64,
    /// Maximum queue length in bytes since [`crate::Link::reset_max`]; not a total.
    pub queue_max_bytes: u64,
}

impl Counters {
    /// Combined counters of a link and the stage `before` it. (The two maxima may have occurred at different times.)
    #[must_use]
    pub const fn behind(mut self, before: &Self) -> Self {
        self.arrived_packets = before.arrived_packets;
        self.dropped_full += before.dropped_full;
        self.dropped_early += before.dropped_early;
        self.dropped_dead += before.dropped_dead;
        self.dead_bytes += before.dead_bytes;
        self.marked += before.marked;
        self.queue_packet_ns += before.queue_packet_ns;
        self.queue_max_packets += before.queue_max_packets;
        self.queue_max_bytes += before.queue_max_bytes;
        self
    }

    /// Packets lost in the queue and on the wire.
    #[must_use]
    pub const fn lost_packets(&self) -> u64 {
        self.dropped_full + self.dropped_early + self.dropped_dead + self.lost_on_wire
    }
}
