//! Bytes ⇄ segments: the wire format of TCP and Multipath TCP (RFC 9293, RFC 8684). No clock, no I/O.
//!
//! [`encode`] writes an IP packet from a [`Segment`], [`decode`] reads one. [`Segment::header_len`] is the size of a
//! header, without writing it. [`keys`], [`DssChecksum`] and [`expand32`] are the arithmetic of RFC 8684.
//!
//! # What the codec promises
//!
//! **Decoding** takes any bytes and never panics. It returns all that it accepts, except for parts that a transport
//! does not use: NOPs and padding, the order of options of different kinds, IPv4 options and IPv6 extension headers,
//! reserved bits (RFC 9293 §3.1 and RFC 8684 ask a receiver to ignore them), and bytes after the end of the packet.
//! Whatever decodes can be encoded, and decodes again to the same header and segment.
//!
//! **Encoding** writes only what decodes to the same segment: an option in a form that no standard has, or options that
//! need more than 40 bytes, are an [`EncodeError`], and nothing is written.
//!
//! # What is refused
//!
//! - A packet cut short ([`DecodeError::Truncated`]), unless only content is missing and [`decode_headers`] is used.
//! - A wrong checksum of IPv4 or TCP, unless [`Checksums::Ignore`] is given.
//! - Fragments, other protocols than TCP, lengths that contradict each other.
//! - A malformed option of a known kind: a length byte below 2, beyond the header, or not one the option can have. The
//!   error names option, field and byte offset.
//! - A second MSS, window scale, SACK-permitted, SACK, timestamps or DSS in one segment. Which of the two holds would be
//!   a guess. Other MPTCP options may repeat, as several ADD_ADDR do; all are kept, in order, and the transport judges.
//!
//! # What is kept as it stands
//!
//! - Options of unknown kind and unknown MPTCP subtypes, byte for byte and in order.
//! - Values without a sense, such as a window scale above 14 or a SACK block that ends before it begins: not the
//!   codec's to judge. So too an option on a segment where it does not belong (an MP_JOIN of 24 bytes on a SYN): the
//!   form of an MPTCP option is told by its length and its own flags, not by the segment's SYN and ACK.
//!
//! An *end of option list* ends the options; what follows it in the header is padding and is not read.
//!
//! # Versions of Multipath TCP
//!
//! Version 1 is written and read. Of version 0 (RFC 6824) only what differs has forms of its own ([`Version0`]): a
//! MP_CAPABLE whose version nibble is 0, an ADD_ADDR without HMAC whose nibble is an IP version, an MP_PRIO of 4 bytes.
//! They are read for old captures; they can be written too, for tests, and the transport never does. A MP_CAPABLE of
//! a higher version keeps its version, so that a host can answer with its own.

mod big_endian;
mod checksum;
pub mod compact;
mod error;
mod icmp;
mod ip;
pub mod keys;
mod length;
mod mptcp_options;
mod payload;
mod raw_option;
mod segment;
mod sequence;
mod tcp;
mod tcp_options;

pub use checksum::{DssChecksum, dss_checksum};
pub use compact::Compact;
pub use error::{DecodeError, EncodeError, OptionError};
pub use icmp::{IcmpError, IcmpKind, decode_icmp};
pub use ip::{
    Captured, ChecksumState, Checksums, Ecn, IpHeader, decode, decode_frame, decode_headers, decode_with, encode,
    ip_payload,
};
pub use length::{
    IPV4_HEADER_LEN, IPV6_HEADER_LEN, MAX_OPTIONS_LEN, MSS_LEN, SACK_PERMITTED_LEN, TCP_HEADER_LEN, TIMESTAMPS_LEN,
    WINDOW_SCALE_LEN,
};
pub use payload::{Payload, Span};
pub use segment::{
    AddAddr, DataNumber, Dss, Flags, Mapping, MpCapable, MpJoin, MptcpOption, Options, RareOptions, SackBlock,
    SackBlocks, Segment, Timestamps, UnknownOption, Version0,
};
pub use sequence::expand32;
