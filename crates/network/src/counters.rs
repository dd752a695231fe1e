//! What a link returns and what it counts.

/// What became of a packet at the entrance of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Enqueue {
    /// It will come out at the far end.
    Accepted {
        /// Nothing was under way before it: the caller schedules [`crate::Link::next_arrival_ns`].
        first: bool,
    },
    /// It will come out at the far end of a stage with disorder.
    Disordered {
        /// [`crate::Link::next_arrival_ns`] is another than before: the caller schedules it anew.
        reschedule: bool,
        /// It comes twice: the caller makes a copy of what it stands for and hands it to [`crate::Link::enqueue_copy`].
        twice: bool,
    },
    /// It waits for the medium that the link shares: the caller lets the medium serve ([`crate::Medium::serve`]).
    Waiting,
    /// It is gone; the caller frees what it stands for.
    Dropped(DropReason),
}

/// Why a packet did not enter the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue holds no more.
    Full,
    /// Active queue management chose it.
    Early,
    /// The link is dead.
    Dead,
}

/// Totals since the link was made, so that a caller subtracts two snapshots for an interval.
/// `arrived_packets` = the three kinds of drops + `sent_packets` + packets in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came to the entrance.
    pub arrived_packets: u64,
    /// Packets dropped because the queue was full.
    pub dropped_full: u64,
    /// Packets dropped by active queue management, at the entrance (RED) or at the head (CoDel).
    pub dropped_early: u64,
    /// Packets that active queue management let pass with congestion experienced where it would have dropped them. One
    /// that came with it counts, so that this is the number of signals. A marked packet may still be lost on the wire.
    pub marked: u64,
    /// Packets that came to a dead link, or were in its queue when it died.
    pub dropped_dead: u64,
    /// Their bytes.
    pub dead_bytes: u64,
    /// Departed packets that do not reach the far end.
    pub lost_on_wire: u64,
    /// Packets that departed, those lost on the wire too. A packet counts as a whole when its last bit leaves.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Integral of the packets in the queue, the one being sent counted, over time: packets × nanoseconds.
    pub queue_packet_ns: u128,
    /// The most packets in the queue at once since [`crate::Link::reset_max`]: no total.
    pub queue_max_packets: u64,
    /// The most bytes in the queue at once since [`crate::Link::reset_max`]: no total.
    pub queue_max_bytes: u64,
}

impl Counters {
    /// Those of a link with a stage `before` it, as if both were one. (The maxima need not have been at one moment.)
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
