//! A mapping whose checksum is not known to be right yet (RFC 8684 §3.3.1).

use wire::DssChecksum;

use super::context::MapRange;
use crate::reassembly::Piece;

/// A mapping on its way to be verified: its data so far, which is not acknowledged at the data level.
#[derive(Debug)]
pub struct Verifying<P> {
    pub map: MapRange,
    pub sum: DssChecksum,
    pub pieces: Vec<Piece<P>>,
}
