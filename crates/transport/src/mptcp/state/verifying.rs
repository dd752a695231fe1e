//! A mapping whose checksum is not known to be right yet (RFC 8684 §3.3.1).

use wire::DssChecksum;

use crate::offset::Offset;
use crate::reassembly::Piece;

/// Subflow sequence numbers `[from, to)` are the stream from `offset` on (RFC 8684 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapRange {
    pub from: u64,
    pub to: u64,
    pub offset: Offset,
    /// The DSS checksum as it came.
    pub checksum: Option<u16>,
    /// The stream ends with this mapping; the DATA_FIN takes one octet of its length.
    pub data_fin: bool,
}

/// A mapping on its way to be verified: its data so far, which is not acknowledged at the data level.
#[derive(Debug)]
pub struct Verifying<P> {
    pub map: MapRange,
    pub sum: DssChecksum,
    pub pieces: Vec<Piece<P>>,
}
