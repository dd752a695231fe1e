//! Which FINs were asked for, sent and received.

/// The FINs of both directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fins {
    /// Ours is to be sent.
    requested: bool,
    sent: bool,
    /// Sequence number of the peer's, until it was taken.
    theirs: Option<u64>,
}

impl Fins {
    /// Ours is to be sent.
    pub fn request(&mut self) {
        self.requested = true;
    }

    /// Whether ours is to be sent, or was.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.requested
    }

    /// Sequence number of the peer's, as long as something before it is missing.
    #[inline]
    pub fn theirs(&self) -> Option<u64> {
        self.theirs
    }

    /// Ours goes out.
    pub fn note_sent(&mut self) {
        (self.requested, self.sent) = (true, true);
    }

    #[inline]
    pub fn is_sent(&self) -> bool {
        self.sent
    }

    /// Ours is not to be sent any more.
    pub fn cancel(&mut self) {
        self.requested = false;
    }

    /// The peer's has this sequence number.
    pub fn note_theirs(&mut self, seq: u64) {
        self.theirs = Some(seq);
    }

    /// Whether everything before the peer's has come, which is then taken.
    pub fn take_theirs(&mut self, rcv_nxt: u64) -> bool {
        self.theirs.take_if(|seq| *seq == rcv_nxt).is_some()
    }
}
