//! The keys of both ends and the data sequence numbers that follow from them (RFC 8684 §3.1). Places in the stream count from
//! 0; the first byte of data has the number after the initial one.

/// Keys.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Ours.
    pub local: u64,
    /// The peer's, once it is known.
    pub remote: Option<u64>,
}

/// Initial data sequence numbers, and what places in the two streams are by them.
#[derive(Clone, Copy, Debug)]
pub struct DataNumbers {
    local_idsn: u64,
    remote_idsn: u64,
}

impl DataNumbers {
    /// Those of our key; the peer's is not known yet.
    pub fn new(local_key: u64) -> Self {
        DataNumbers { local_idsn: wire::keys::idsn(local_key), remote_idsn: 0 }
    }

    pub fn learn(&mut self, remote_key: u64) {
        self.remote_idsn = wire::keys::idsn(remote_key);
    }

    /// The data sequence number of a place in our stream.
    #[inline]
    pub fn ours(&self, place: u64) -> u64 {
        self.local_idsn.wrapping_add(1).wrapping_add(place)
    }

    /// The data sequence number of a place in the peer's stream.
    #[inline]
    pub fn theirs(&self, place: u64) -> u64 {
        self.remote_idsn.wrapping_add(1).wrapping_add(place)
    }

    /// The place in our stream that has this number. That of a number far below is huge.
    #[inline]
    pub fn our_place(&self, dsn: u64) -> u64 {
        dsn.wrapping_sub(self.ours(0))
    }

    /// The place in the peer's stream that has this number; likewise.
    #[inline]
    pub fn their_place(&self, dsn: u64) -> u64 {
        dsn.wrapping_sub(self.theirs(0))
    }
}
