//! How much room headers and options take, without encoding them. The simulator asks for every segment.
//!
//! `length()` is the value of an option's length byte; `wire_len()` is its size in a header in which every option is
//! aligned on four bytes, as the transport assumes.

use crate::{Dss, MpCapable, MpJoin, MptcpOption, Options, RareOptions, SackBlocks, Segment, UnknownOption, Version0};
use std::net::IpAddr;

/// A TCP header without options, bytes (RFC 9293 §3.1).
pub const TCP_HEADER_LEN: usize = 20;
/// An IPv4 header without options, bytes.
pub const IPV4_HEADER_LEN: usize = 20;
/// An IPv6 header without extension headers, bytes.
pub const IPV6_HEADER_LEN: usize = 40;
/// Most bytes of options in a TCP header: the data offset is at most 15 words, of which 5 are fixed.
pub const MAX_OPTIONS_LEN: usize = 40;
/// Size of the timestamps with two NOPs, bytes. SACK-permitted takes the place of the NOPs, at no cost.
pub const TIMESTAMPS_LEN: usize = 12;
/// Size of the maximum segment size option, bytes.
pub const MSS_LEN: usize = 4;
/// Size of the window scale with one NOP, bytes.
pub const WINDOW_SCALE_LEN: usize = 4;
/// Size of SACK-permitted with two NOPs on a segment without timestamps, bytes.
pub const SACK_PERMITTED_LEN: usize = 4;

/// Rounded up to a multiple of four.
#[inline]
pub(crate) const fn aligned(len: usize) -> usize {
    (len + 3) & !3
}

impl<P> Segment<P> {
    /// The TCP header with its options as encoded, bytes: 20 to 60. See [`Options::len`] for options that do not fit.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> usize {
        TCP_HEADER_LEN + self.options.len()
    }
}

impl Options {
    /// The options as encoded, bytes, a multiple of four. A result above [`MAX_OPTIONS_LEN`] means that they do not
    /// fit; encoding them is then an error.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        let len = self.aligned_len();
        if len <= MAX_OPTIONS_LEN { len } else { self.packed_len() }
    }

    /// Whether there are no options.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// With every option aligned on four bytes.
    #[inline]
    pub(crate) fn aligned_len(&self) -> usize {
        let mut len = self.sack.wire_len();
        if self.timestamps.is_some() {
            len += TIMESTAMPS_LEN;
        }
        if let Some(dss) = &self.dss {
            len += dss.wire_len();
        }
        if let Some(rare) = &self.rare {
            len += rare.aligned_len(self.timestamps.is_some());
        }
        len
    }

    /// With padding at the end only.
    #[cold]
    pub(crate) fn packed_len(&self) -> usize {
        let mut len = self.sack.length() + if self.timestamps.is_some() { 10 } else { 0 };
        len += self.dss.as_ref().map_or(0, Dss::length);
        if let Some(rare) = &self.rare {
            len += if rare.mss.is_some() { 4 } else { 0 };
            len += if rare.window_scale.is_some() { 3 } else { 0 };
            len += if rare.sack_permitted { 2 } else { 0 };
            len += rare.mptcp.iter().map(MptcpOption::length).sum::<usize>();
            len += rare.unknown.iter().map(UnknownOption::length).sum::<usize>();
        }
        aligned(len)
    }
}

impl RareOptions {
    fn aligned_len(&self, timestamps: bool) -> usize {
        let mut len = if self.mss.is_some() { MSS_LEN } else { 0 };
        len += if self.sack_permitted && !timestamps { SACK_PERMITTED_LEN } else { 0 };
        len += if self.window_scale.is_some() { WINDOW_SCALE_LEN } else { 0 };
        len += self.mptcp.iter().map(MptcpOption::wire_len).sum::<usize>();
        len + self.unknown.iter().map(|option| aligned(option.length())).sum::<usize>()
    }
}

impl SackBlocks {
    /// Size in a header, bytes: 0, or 4 (two NOPs, kind and length) and 8 a block.
    #[inline]
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        if self.is_empty() { 0 } else { 4 + 8 * self.len() }
    }

    /// The length byte; 0 without blocks, as there is no option then.
    #[inline]
    #[must_use]
    pub const fn length(&self) -> usize {
        if self.is_empty() { 0 } else { 2 + 8 * self.len() }
    }

    /// How many blocks fit in `room` bytes of option space: 0 to 4.
    #[inline]
    #[must_use]
    pub const fn fitting(room: usize) -> usize {
        let blocks = room.saturating_sub(4) / 8;
        if blocks < 4 { blocks } else { 4 }
    }
}

impl Dss {
    /// Size in a header, bytes: 4 to 28.
    #[inline]
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        aligned(self.length())
    }

    /// The length byte (RFC 8684 §3.3).
    #[inline]
    #[must_use]
    pub const fn length(&self) -> usize {
        let mut len = 4;
        if let Some(data_ack) = self.data_ack {
            len += data_ack.wire_len();
        }
        if let Some(mapping) = self.mapping {
            len += mapping.dsn.wire_len() + 6 + if mapping.checksum.is_some() { 2 } else { 0 };
        }
        len
    }
}

impl MptcpOption {
    /// Size in a header, bytes: the length rounded up to a multiple of four.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        aligned(self.length())
    }

    /// The length byte, when it is at most 255.
    #[must_use]
    pub fn length(&self) -> usize {
        match self {
            MptcpOption::MpCapable(capable) => capable.length(),
            MptcpOption::MpJoin(join) => join.length(),
            MptcpOption::AddAddr(add) => {
                add_addr_length(add.address, add.port) + if add.hmac.is_some() { 8 } else { 0 }
            }
            MptcpOption::RemoveAddr(ids) => 3 + ids.len(),
            MptcpOption::MpPrio { .. } => 3,
            MptcpOption::MpFail { .. } | MptcpOption::MpFastclose { .. } => 12,
            MptcpOption::MpTcpRst { .. } => 4,
            MptcpOption::Unknown(data) => 2 + data.len(),
            MptcpOption::Version0(Version0::MpCapable { receiver_key, .. }) => {
                if receiver_key.is_some() {
                    20
                } else {
                    12
                }
            }
            MptcpOption::Version0(Version0::AddAddr { address, port, .. }) => add_addr_length(*address, *port),
            MptcpOption::Version0(Version0::MpPrio { .. }) => 4,
        }
    }
}

/// ADD_ADDR without its HMAC.
fn add_addr_length(address: IpAddr, port: Option<u16>) -> usize {
    4 + if address.is_ipv4() { 4 } else { 16 } + if port.is_some() { 2 } else { 0 }
}

impl MpCapable {
    /// The length byte (RFC 8684 §3.1): 4, 12, 20, 22 or 24.
    #[must_use]
    pub const fn length(&self) -> usize {
        let mut len = 4;
        if self.sender_key.is_some() {
            len += 8;
        }
        if self.receiver_key.is_some() {
            len += 8;
        }
        match self.data {
            None => len,
            Some((_, None)) => len + 2,
            Some((_, Some(_))) => len + 4,
        }
    }
}

impl MpJoin {
    /// The length byte (RFC 8684 §3.2): 12, 16 or 24.
    #[must_use]
    pub const fn length(&self) -> usize {
        match self {
            MpJoin::Syn { .. } => 12,
            MpJoin::SynAck { .. } => 16,
            MpJoin::Ack { .. } => 24,
        }
    }
}

impl UnknownOption {
    /// The length byte, when it is at most 255.
    #[must_use]
    pub fn length(&self) -> usize {
        2 + self.data.len()
    }
}
