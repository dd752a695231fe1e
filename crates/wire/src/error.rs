//! Errors of decoding and encoding.

use std::net::IpAddr;

/// Why a segment cannot be written. Nothing is written then.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// One address is IPv4 and the other IPv6.
    #[error("source {src} and destination {dst} are not of the same IP version")]
    MixedFamilies {
        /// Source address.
        src: IpAddr,
        /// Destination address.
        dst: IpAddr,
    },
    /// A number too large for its field.
    #[error("{field} is {found}, the field holds at most {max}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// What it should hold.
        found: usize,
        /// The most it can hold.
        max: usize,
    },
    /// The options need more than the 40 bytes a TCP header has for them.
    #[error("the options need {needed} bytes, a TCP header has room for 40: {lengths}")]
    OptionsTooLong {
        /// Bytes needed, padding included.
        needed: usize,
        /// Each option with its length, for instance `timestamps 10, SACK 34`.
        lengths: String,
    },
    /// An option in a form that the standard does not have.
    #[error("{option}: {reason}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// What is wrong with it, and what would do.
        reason: &'static str,
    },
}

/// Why bytes are not a TCP segment. Offsets count from the first byte given to the decoder.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end before the packet does, as in a capture with a snap length.
    #[error(
        "truncated in the {what}: {needed} bytes are needed up to its end, {captured} are there (a capture's snap length?)"
    )]
    Truncated {
        /// What is cut.
        what: &'static str,
        /// Bytes expected, counted from the packet's first.
        needed: usize,
        /// Bytes present.
        captured: usize,
    },
    /// A field of the IP or TCP header that cannot be right.
    #[error("{field} at byte {offset} is {found}, expected {expected}")]
    Header {
        /// Header and field.
        field: &'static str,
        /// Offset of the field.
        offset: usize,
        /// Its value.
        found: u64,
        /// What would do.
        expected: &'static str,
    },
    /// A fragment of a packet: there is no whole TCP segment in it.
    #[error("an IP fragment (offset {fragment_offset} bytes, more fragments: {more}): reassemble before decoding")]
    Fragment {
        /// Where the fragment belongs in the packet, bytes.
        fragment_offset: usize,
        /// Whether more follow.
        more: bool,
    },
    /// Another protocol than TCP.
    #[error("IP protocol {protocol}, expected 6 (TCP)")]
    NotTcp {
        /// The protocol number found.
        protocol: u8,
    },
    /// A wrong checksum.
    #[error("{what} checksum at byte {offset} is {found:#06x}, computed {expected:#06x}")]
    Checksum {
        /// IPv4 header or TCP.
        what: &'static str,
        /// Offset of the checksum.
        offset: usize,
        /// The checksum in the packet.
        found: u16,
        /// The checksum computed.
        expected: u16,
    },
    /// A malformed TCP option.
    #[error(transparent)]
    Option(#[from] OptionError),
}

/// A TCP option that is malformed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("option {option} (kind {kind}): {field} at byte {offset} is {}, expected {expected}", Found(*found))]
pub struct OptionError {
    /// The option's name.
    pub option: &'static str,
    /// Its kind byte.
    pub kind: u8,
    /// The field that is wrong.
    pub field: &'static str,
    /// Offset of the field, from the first byte given to the decoder.
    pub offset: usize,
    /// Its value; `None` if the bytes end before it.
    pub found: Option<u64>,
    /// What would do.
    pub expected: &'static str,
}

struct Found(Option<u64>);

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value}"),
            None => f.write_str("missing"),
        }
    }
}
