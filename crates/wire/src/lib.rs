//! Bytes ⇄ segments: TCP and Multipath TCP as they stand on the wire (RFC 9293, RFC 8684). No clock, no I/O.

mod payload;
mod segment;

pub use payload::{Payload, Span};
pub use segment::{
    AddAddr, DataNumber, Dss, Flags, Mapping, MpCapable, MpJoin, MptcpOption, Options, RareOptions, SackBlock,
    SackBlocks, Segment, Timestamps, UnknownOption, Version0,
};
