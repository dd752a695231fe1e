//! What the SYNs said, as far as it is asked for later.

use crate::time::Instant;

/// Shift counts of window fields, as the SYNs agreed (RFC 7323 §2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Scales {
    theirs: u8,
    ours: u8,
}

impl Scales {
    /// Both ends have offered to scale: the peer's shift count, and ours (RFC 7323 §2.3).
    pub fn agreed(theirs: u8, ours: u8) -> Self {
        Scales { theirs: theirs.min(14), ours }
    }

    /// What a window field of the peer says, bytes.
    #[inline(always)]
    pub fn window(self, field: u16) -> u64 {
        u64::from(field) << self.theirs
    }

    /// The shift count of the fields that we send.
    #[inline(always)]
    pub fn ours(self) -> u8 {
        self.ours
    }
}

/// What is known of the SYNs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// When ours went out last.
    sent_at: Instant,
    /// The peer offered window scaling.
    peer_scales: bool,
}

impl Opening {
    /// Ours goes out.
    pub fn note_sent(&mut self, now: Instant) {
        self.sent_at = now;
    }

    /// When ours went out last.
    pub fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// The peer offered window scaling.
    pub fn note_scaling(&mut self) {
        self.peer_scales = true;
    }

    pub fn peer_scales(&self) -> bool {
        self.peer_scales
    }
}
