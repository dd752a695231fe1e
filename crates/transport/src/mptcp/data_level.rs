//! The data level: the stream over one TCP connection (RFC 9293), or over several subflows (RFC 8684). What the two do
//! differently with a segment that arrives is in [`arriving`], with one that leaves in [`leaving`], and at the end in
//! [`ending`]; no other file asks which of the two it is.

mod arriving;
mod ending;
mod leaving;

use super::connection::Connection;
use super::state::data_level::Over;
use crate::Protocol;
use crate::queue::Sendable;
use crate::tcp::subflow::Subflow;

/// DSS on a data segment: 64-bit DATA_ACK and DSN (RFC 8684 figure 9): 26 bytes, aligned.
const DATA_DSS_LEN: u32 = 28;

impl<P: Sendable> Connection<P> {
    /// Octets of data in a full segment: options take from the MSS (RFC 9293 §3.7.1).
    pub(super) fn segment_octets(&self, subflow: &Subflow<P>) -> u32 {
        let dss = if self.level.is_multipath() || self.fallback.tells() { DATA_DSS_LEN } else { 0 };
        let timestamps = if subflow.timestamps { wire::TIMESTAMPS_LEN as u32 } else { 0 };
        subflow.mss.saturating_sub(dss + timestamps).max(1)
    }

    /// Whether the stream is what subflow `r` carries.
    #[inline(always)]
    pub(super) fn is_stream(&self, r: usize) -> bool {
        self.level.over() == Over::Single && r == self.fallback.subflow()
    }

    /// Whether subflows may join: the peer has shown that it has our key.
    pub(super) fn may_join(&self) -> bool {
        self.level.is_multipath() && self.is_fully_established()
    }

    /// The peer's key, while it is of use.
    pub(super) fn peer_key(&self) -> Option<u64> {
        self.keys.remote.filter(|_| self.level.is_multipath())
    }

    /// Whether subflow `r` shows the peer both keys: it may lack ours (RFC 8684 §3.1).
    pub(super) fn owes_keys(&self, r: usize) -> bool {
        r == 0 && self.level.is_multipath() && self.is_initiator() && !self.is_fully_established()
    }

    /// Whether a scheduler is asked: that it has nothing to decide, and what to do while nothing can be sent.
    pub(super) fn has_scheduler(&self) -> bool {
        self.level.is_multipath() && self.is_established()
    }

    /// Whether fallback, checksums and the end of the stream have no say on subflow `r`.
    #[inline(always)]
    pub(super) fn is_level_usual(&self, r: usize) -> bool {
        match self.level.over() {
            Over::Single => self.fallback.receives_single() && r == self.fallback.subflow() && !self.fallback.tells(),
            Over::Multipath => {
                self.is_fully_established()
                    && !self.fallback.receives_single()
                    && !self.ending.data_fin_sent
                    && !self.fallback.checksum()
            }
        }
    }

    /// The token that names this connection to peers that join; none for TCP.
    pub(crate) fn local_token(&self) -> Option<u32> {
        self.level.is_multipath().then(|| wire::keys::token(self.keys.local))
    }

    /// Whether MPTCP was asked for and TCP is spoken.
    #[must_use]
    pub fn is_fallback(&self) -> bool {
        self.config.protocol == Protocol::Mptcp && !self.level.is_multipath()
    }

    /// Whether the peer has shown that it has our key.
    pub(super) fn is_fully_established(&self) -> bool {
        self.level.is_fully_established()
    }

    pub(super) fn set_fully_established(&mut self) {
        self.level.set_fully_established();
    }

    /// Options changed that data goes with. While the infinite mapping is told, segments leave it as much room as a DSS takes.
    pub(super) fn update_segment_octets(&mut self, r: usize) {
        self.views[r].mss = self.segment_octets(&self.subflows[r]);
    }
}
