//! When a receiver acknowledges (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

use crate::TcpOptions;

/// No timer runs.
pub const NEVER: u64 = u64::MAX;

/// What a subflow owes its peer.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledging {
    /// An acknowledgment is due now.
    pub now: bool,
    /// When one is due at the latest.
    pub deadline_ns: u64,
    pending: u32,
    quick: u32,
    every: u32,
    delay_ns: u64,
}

impl Acknowledging {
    pub fn new(options: &TcpOptions) -> Self {
        Acknowledging {
            now: false,
            deadline_ns: NEVER,
            pending: 0,
            quick: options.quick_acks,
            every: options.segments_per_ack.max(1),
            delay_ns: options.ack_delay_ns,
        }
    }

    /// Data arrived in order and left no hole.
    pub fn data_in_order(&mut self, now_ns: u64) {
        self.pending += 1;
        if self.pending >= self.every || self.quick > 0 {
            self.now = true;
        } else if self.deadline_ns == NEVER {
            self.deadline_ns = now_ns + self.delay_ns;
        }
    }

    /// Whether data is unacknowledged.
    pub fn is_pending(&self) -> bool {
        self.pending > 0
    }

    /// An acknowledgment went out, alone or on data.
    pub fn sent(&mut self) {
        self.quick = self.quick.saturating_sub(self.pending);
        self.pending = 0;
        self.now = false;
        self.deadline_ns = NEVER;
    }
}
