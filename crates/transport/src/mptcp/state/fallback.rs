//! What remains of MPTCP after a fallback (RFC 8684 §3.7).

use wire::{DataNumber, Dss, Mapping};

use crate::numbers::{Dsn, Ours};

/// The infinite mapping is told on so many segments unless the peer is known to know.
const TELL: u8 = 16;

/// The infinite mapping as we tell it: from `dsn`, which stands at `ssn`, the subflow is the stream.
#[derive(Clone, Copy, Debug)]
struct Infinite {
    dsn: Dsn<Ours>,
    ssn: u32,
    /// Data sent from here on carries it: its acknowledgment shows that the peer knows.
    until_seq: u64,
    /// Segments that will carry it at most.
    left: u8,
}

/// Checksums, whose failure leads back to TCP, and how far each direction has come there.
#[derive(Debug)]
pub struct Fallback {
    /// What we say of the subflow that is the stream, until the peer knows.
    infinite: Option<Box<Infinite>>,
    /// The subflow that is the stream.
    subflow: u8,
    /// The peer has said that the subflow is the stream, or never spoke MPTCP.
    single: bool,
    /// DSS checksums are in use.
    checksum: bool,
}

impl Fallback {
    pub fn new(single: bool, checksum: bool) -> Self {
        Fallback { infinite: None, subflow: 0, single, checksum }
    }

    /// DSS checksums are in use.
    #[inline]
    pub fn checksum(&self) -> bool {
        self.checksum
    }

    /// The peer requires checksums: "checksums MUST be used if either host requires them" (RFC 8684 §3.1).
    pub fn require_checksum(&mut self) {
        self.checksum = true;
    }

    /// Whether what arrives is to be verified.
    #[inline]
    pub fn verifies(&self) -> bool {
        self.checksum && !self.single
    }

    /// The subflow that is the stream, once there is but one.
    #[inline]
    pub fn subflow(&self) -> usize {
        usize::from(self.subflow)
    }

    pub fn set_subflow(&mut self, r: usize) {
        self.subflow = r as u8;
    }

    /// Whether what arrives is the stream itself: the peer has said so, or never spoke MPTCP.
    #[inline]
    pub fn receives_single(&self) -> bool {
        self.single
    }

    pub fn receive_single(&mut self) {
        self.single = true;
    }

    /// Whether the peer is still told.
    #[inline]
    pub fn tells(&self) -> bool {
        self.infinite.is_some()
    }

    /// The peer is to be told that from `dsn` on, at `ssn`, the subflow is the stream. An acknowledgment of what is sent
    /// from `until_seq` on shows that it knows.
    pub fn tell(&mut self, dsn: Dsn<Ours>, ssn: u32, until_seq: u64) {
        self.infinite = Some(Box::new(Infinite { dsn, ssn, until_seq, left: TELL }));
    }

    /// What was told has been lost: it is told as often again. Answers whether there is something to tell.
    pub fn tell_anew(&mut self) -> bool {
        self.infinite.as_mut().map(|infinite| infinite.left = TELL).is_some()
    }

    /// The peer may not have seen it yet.
    pub fn tell_again(&mut self) {
        if let Some(infinite) = &mut self.infinite {
            infinite.left = infinite.left.max(2);
        }
    }

    /// An acknowledgment of the subflow that is the stream. Answers whether the peer knows since then.
    #[inline]
    pub fn acknowledged(&mut self, ack: u64) -> bool {
        let known = self.infinite.as_ref().is_some_and(|i| ack > i.until_seq);
        if known {
            self.infinite = None;
        }
        known
    }

    /// The DSS of a segment after fallback: the infinite mapping until the peer knows, then none. "A Data Sequence
    /// Mapping, with the Data-Level Length value of 0"; its checksum field, if there is one, is 0 (RFC 8684 §3.3.1).
    pub fn mapping(&mut self) -> Option<Dss> {
        let infinite = self.infinite.as_mut().filter(|i| i.left > 0)?;
        infinite.left -= 1;
        let mapping = Mapping {
            dsn: DataNumber::Long(infinite.dsn.on_wire()),
            ssn: infinite.ssn,
            len: 0,
            checksum: self.checksum.then_some(0),
        };
        Some(Dss { data_ack: None, mapping: Some(mapping), data_fin: false })
    }
}
