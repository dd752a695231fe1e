//! The data level: the stream over one TCP connection (RFC 9293), or over several subflows (RFC 8684). What the two do
//! differently with a segment that arrives is in [`arriving`], with one that leaves in [`leaving`], and at the end in
//! [`ending`]; no other file asks which of the two it is.

mod arriving;
mod ending;
mod leaving;

use super::Connection;
use crate::Protocol;
use crate::mptcp::state::data_level::Over;
use crate::queue::Sendable;
use crate::tcp::subflow::Subflow;

/// DSS on a data segment: 64-bit DATA_ACK and DSN (RFC 8684 figure 9): 26 bytes, aligned.
const DATA_DSS_LEN: u32 = 28;
/// The same with a DATA_ACK of 32 bits: 22 bytes, aligned.
const SHORT_DSS_LEN: u32 = 24;

impl<P: Sendable> Connection<P> {
    /// Octets of data in a full segment: options take from the MSS (RFC 9293 §3.7.1).
    pub(super) fn segment_octets(&self, subflow: &Subflow<P>) -> u32 {
        let long = if self.rx.short_acks { SHORT_DSS_LEN } else { DATA_DSS_LEN };
        let dss = if self.level.is_multipath() || self.fallback.tells() { long } else { 0 };
        let timestamps = if subflow.has_timestamps() { wire::TIMESTAMPS_LEN as u32 } else { 0 };
        subflow.mss().saturating_sub(dss + timestamps).max(1)
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
                    && !self.ending.is_data_fin_sent()
                    && !self.fallback.checksum()
                    && !self.rx.short_acks
            }
        }
    }

    /// The token that names this connection to peers that join; none for TCP.
    pub(crate) fn local_token(&self) -> Option<u32> {
        self.level.is_multipath().then(|| wire::keys::token(self.keys.local))
    }

    /// Whether MPTCP was asked for and TCP is spoken.
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

    /// Data of the peer has come with a DSN of 64 bits: from now on DATA_ACKs have 8 bytes instead of 4, as the kernel's
    /// (`mptcp_established_options_dss`, `use_64bit_ack`). Each may have "either 4 or 8 octets" (RFC 8684 §3.3). Other than there,
    /// not before what was cut for the short ones is acknowledged: with a longer option it would be larger than the MSS.
    #[cold]
    pub(super) fn acknowledge_long(&mut self) {
        if self.subflows.iter().any(|subflow| !subflow.board().is_empty()) {
            return;
        }
        self.rx.short_acks = false;
        (0..self.subflows.len()).for_each(|r| self.update_segment_octets(r));
    }

    /// Options changed that data goes with. While the infinite mapping is told, segments leave it as much room as a DSS takes.
    pub(super) fn update_segment_octets(&mut self, r: usize) {
        self.views[r].mss = self.segment_octets(&self.subflows[r]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{arrives, data, established};
    use crate::Protocol;
    use crate::time::Instant;
    use wire::DataNumber;

    /// Linux 6.12, `use_64bit_ack`: a DSS with a mapping takes 24 bytes before, and 28 after. No timestamps here.
    #[test]
    fn a_kernels_data_ack_is_short_until_data_has_come() {
        let short = || {
            let mut c = established(Protocol::Mptcp, 1);
            c.rx.short_acks = true;
            c.usual.forget();
            c.update_segment_octets(0);
            c
        };
        let mut c = short();
        c.offer(1 << 20);
        let told = |segment: wire::Segment<wire::Span>| {
            (segment.options.dss.and_then(|dss| dss.data_ack), segment.header_len(), segment.payload.len)
        };
        let long = c.data_ack().on_wire();
        let (_, before) = c.transmit(Instant::from_millis(1)).unwrap();
        assert_eq!(told(before), (Some(DataNumber::Short(long as u32)), 20 + 24, 1_460 - 24));
        let segment = data(&c, 1, 0, 1_000, 1_000);
        arrives(&mut c, Instant::from_millis(2), 0, segment);
        let (_, under_way) = c.transmit(Instant::from_millis(2)).unwrap();
        assert_eq!(told(under_way).1, 20 + 24, "what was cut for a short one is not acknowledged");

        let mut c = short();
        let segment = data(&c, 1, 0, 1_000, 1_000);
        arrives(&mut c, Instant::from_millis(2), 0, segment);
        c.offer(1 << 20);
        let (_, after) = c.transmit(Instant::from_millis(2)).unwrap();
        let long = c.data_ack().on_wire();
        assert_eq!(told(after), (Some(DataNumber::Long(long)), 20 + 28, 1_460 - 28));
    }
}
