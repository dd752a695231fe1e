//! DSS checksums: over whole mappings, whatever segments bring them, and what follows when one fails
//! (RFC 8684 §3.3.1, §3.7).

use wire::DssChecksum;

use super::Connection;
use crate::mptcp::state::context::FailedChecksum;
use crate::mptcp::state::reset::ResetReason;
use crate::mptcp::state::verifying::MapRange;
use crate::mptcp::state::verifying::Verifying;
use crate::offset::Offset;
use crate::queue::Sendable;
use crate::reassembly::{Part, Piece};
use crate::time::Instant;

/// A subflow was reset.
pub(super) struct Broken;

impl<P: Sendable> Connection<P> {
    /// A DATA_FIN by itself: the checksum covers the pseudo-header with subflow sequence number 0 and length 1.
    pub(super) fn lone_data_fin_is_intact(&self, offset: Offset, checksum: Option<u16>) -> bool {
        match (self.fallback.checksum(), checksum) {
            (false, _) => true,
            (true, None) => false,
            (true, Some(c)) => DssChecksum::new(self.numbers.theirs(offset).on_wire(), 0, 1).matches(c),
        }
    }

    /// Bytes in order on a subflow that uses checksums. When they complete a mapping it is verified and delivered.
    /// Answers what lies beyond the mapping.
    pub(super) fn verify(&mut self, now: Instant, r: usize, mut piece: Piece<P>) -> Result<Option<Piece<P>>, Broken> {
        let mut verifying = match self.contexts[r].verifying.take() {
            Some(verifying) => verifying,
            None => {
                let Some(map) = self.kept_mapping(r, piece.at) else {
                    self.unmapped(now, r)?;
                    piece.offset = self.subflows[r].next_offset();
                    self.subflows[r].advance(piece.at, piece.offset, piece.len());
                    self.deliver(now, r, piece);
                    return Ok(None);
                };
                // "If a checksum is not present when its use has been negotiated, the receiver MUST close the subflow
                // with a RST, as it is considered broken" (RFC 8684 §3.3.1). A mapping of which the first bytes
                // came under another one cannot be verified.
                if map.checksum.is_none() || map.from != piece.at {
                    self.reset_subflow(now, r, ResetReason::MptcpError, false);
                    return Err(Broken);
                }
                let len = (map.to - map.from) as u16 + u16::from(map.data_fin);
                let sum = DssChecksum::new(self.numbers.theirs(map.offset).on_wire(), map.from as u32, len);
                Box::new(Verifying { map, sum, pieces: Vec::new() })
            }
        };
        let map = verifying.map;
        let rest = piece.split_off(map.to);
        piece.offset = map.offset + (piece.at - map.from);
        let end = piece.end();
        self.subflows[r].receive_to(end);
        verifying.sum.add(&piece.payload);
        verifying.pieces.push(piece);
        if end < map.to {
            self.contexts[r].verifying = Some(verifying);
            return Ok(None);
        }
        if map.checksum.is_some_and(|c| verifying.sum.matches(c)) {
            if map.data_fin {
                self.rx.note_end(map.offset + (map.to - map.from));
            }
            for piece in verifying.pieces {
                self.subflows[r].continue_at(piece.offset + piece.len());
                self.deliver(now, r, piece);
            }
        } else {
            self.checksum_failed(now, r, map, verifying.pieces)?;
        }
        Ok(rest)
    }

    /// "When multiple subflows are in use … the affected subflow must be immediately closed with a RST that includes
    /// an MP_FAIL option"; "if a receiver identifies a checksum failure when there is only one path, it will send back
    /// an MP_FAIL option on the subflow-level ACK"; "in the rare case that the data is not contiguous … the receiver
    /// MUST close the subflow with a RST with MP_FAIL" (RFC 8684 §3.7).
    fn checksum_failed(&mut self, now: Instant, r: usize, map: MapRange, pieces: Vec<Piece<P>>) -> Result<(), Broken> {
        if self.live_subflows() > 1 || self.rx.has_hole() {
            self.contexts[r].reset.get_or_insert_default().fail_dsn = Some(self.numbers.theirs(map.offset));
            self.reset_for_middlebox(now, r);
            return Err(Broken);
        }
        let held = FailedChecksum { pieces, failed_at: map.offset, retries: 0, timer: Instant::NEVER };
        self.contexts[r].held = Some(Box::new(held));
        self.send_fail(now, r);
        Ok(())
    }
}
