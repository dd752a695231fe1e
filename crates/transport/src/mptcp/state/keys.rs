//! The keys of both ends and the data sequence numbers that follow from them (RFC 8684 §3.1). Places in the stream count from
//! 0; the first byte of data has the number after the initial one.

use crate::numbers::{Dsn, Ours, Theirs};
use crate::offset::Offset;

/// Keys.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// Ours.
    pub local: u64,
    /// The peer's, once it is known.
    pub remote: Option<u64>,
}

/// The data sequence numbers of the first bytes of the two streams, and what places in them are by these.
#[derive(Clone, Copy, Debug)]
pub struct DataNumbers {
    ours: Dsn<Ours>,
    theirs: Dsn<Theirs>,
}

impl DataNumbers {
    /// Those of our key; the peer's is not known yet.
    pub fn new(local_key: u64) -> Self {
        DataNumbers { ours: Dsn::initial(local_key).plus(1), theirs: Dsn::mapped(1) }
    }

    pub fn learn(&mut self, remote_key: u64) {
        self.theirs = Dsn::initial(remote_key).plus(1);
    }

    /// The data sequence number of a place in our stream.
    #[inline]
    pub fn ours(&self, place: Offset) -> Dsn<Ours> {
        self.ours.at(place)
    }

    /// The data sequence number of a place in the peer's stream.
    #[inline]
    pub fn theirs(&self, place: Offset) -> Dsn<Theirs> {
        self.theirs.at(place)
    }

    /// The place in our stream that has this number. That of a number far below is huge.
    #[inline]
    pub fn our_place(&self, dsn: Dsn<Ours>) -> Offset {
        dsn.place(self.ours)
    }

    /// The place in the peer's stream that has this number; likewise.
    #[inline]
    pub fn their_place(&self, dsn: Dsn<Theirs>) -> Offset {
        dsn.place(self.theirs)
    }
}
