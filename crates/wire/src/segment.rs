//! A TCP segment with typed options. What nearly every segment carries (timestamps, SACK blocks, DSS) is stored inline;
//! the rare options of handshakes and address management are boxed, to keep a segment small.

use std::net::IpAddr;

/// A TCP segment (RFC 9293 §3.1). Data offset and checksum are the codec's business.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Segment<P> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte (or of SYN).
    pub seq: u32,
    /// Acknowledgment number, meaningful when `flags.ack`.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window field of the header, not scaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options.
    pub options: Options,
    /// Content.
    pub payload: P,
}

impl<P> Segment<P> {
    /// The same segment with its payload converted.
    #[must_use]
    pub fn map_payload<Q>(self, map: impl FnOnce(P) -> Q) -> Segment<Q> {
        Segment {
            src_port: self.src_port,
            dst_port: self.dst_port,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            window: self.window,
            urgent: self.urgent,
            options: self.options,
            payload: map(self.payload),
        }
    }
}

/// The control bits of RFC 9293 §3.1, CWR and ECE of RFC 3168.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

macro_rules! flag {
    ($($(#[$doc:meta])* $name:ident $get:ident $bit:expr;)*) => { impl Flags { $(
        $(#[$doc])* pub const $name: Flags = Flags($bit);
        $(#[$doc])* #[must_use] pub const fn $get(self) -> bool { self.0 & $bit != 0 }
    )* } };
}
flag! {
    /// No more data from the sender.
    FIN fin 0x01;
    /// Synchronise sequence numbers.
    SYN syn 0x02;
    /// Reset the connection.
    RST rst 0x04;
    /// Push.
    PSH psh 0x08;
    /// The acknowledgment field is significant.
    ACK ack 0x10;
    /// The urgent pointer is significant.
    URG urg 0x20;
    /// ECN echo.
    ECE ece 0x40;
    /// Congestion window reduced.
    CWR cwr 0x80;
}

impl Flags {
    /// Whether ACK is set, and no other flag but perhaps PSH.
    #[inline]
    #[must_use]
    pub const fn is_plain(self) -> bool {
        self.0 | Flags::PSH.0 == Flags::ACK.0 | Flags::PSH.0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The options of a segment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// Timestamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgments (RFC 2018).
    pub sack: SackBlocks,
    /// Data sequence signal (RFC 8684 §3.3).
    pub dss: Option<Dss>,
    /// All others.
    pub rare: Option<Box<RareOptions>>,
}

/// Options of handshakes and signalling, and unknown ones.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RareOptions {
    /// Maximum segment size (RFC 9293 §3.7.1), bytes.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2).
    pub sack_permitted: bool,
    /// MPTCP options other than DSS, in the order of the header.
    pub mptcp: Vec<MptcpOption>,
    /// Options of unknown kind, byte for byte, in the order of the header.
    pub unknown: Vec<UnknownOption>,
}

/// Timestamps (RFC 7323 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    /// TSval.
    pub value: u32,
    /// TSecr.
    pub echo: u32,
}

/// One SACK block: `[left, right)` in sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: u32,
    /// The sequence number after the last of the block.
    pub right: u32,
}

/// At most four SACK blocks, the most recent first (RFC 2018 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    len: u8,
}

impl SackBlocks {
    /// No block.
    pub const NONE: SackBlocks = SackBlocks { blocks: [SackBlock { left: 0, right: 0 }; 4], len: 0 };

    /// Adds a block; returns false, and adds nothing, if there are four already.
    pub fn push(&mut self, block: SackBlock) -> bool {
        if self.len == 4 {
            return false;
        }
        self.blocks[self.len as usize] = block;
        self.len += 1;
        true
    }

    /// The blocks.
    #[must_use]
    pub const fn as_slice(&self) -> &[SackBlock] {
        self.blocks.split_at(self.len as usize).0
    }

    /// Number of blocks, 0 to 4.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are no blocks.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A data sequence number or DATA_ACK as sent on the wire: 32 or 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataNumber {
    /// The lower 32 bits.
    Short(u32),
    /// All 64 bits.
    Long(u64),
}

/// Data sequence signal (RFC 8684 §3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dss {
    /// The next data sequence number expected.
    pub data_ack: Option<DataNumber>,
    /// Where the segment's bytes belong in the data stream.
    pub mapping: Option<Mapping>,
    /// DATA_FIN: the mapping's last octet is the end of the stream.
    pub data_fin: bool,
}

/// A data sequence mapping (RFC 8684 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Data sequence number of the first byte.
    pub dsn: DataNumber,
    /// Relative subflow sequence number of the first byte; 0 when there is only a DATA_FIN.
    pub ssn: u32,
    /// Data-level length, DATA_FIN counted as one; 0 is the infinite mapping.
    pub len: u16,
    /// The DSS checksum as sent on the wire, if negotiated.
    pub checksum: Option<u16>,
}

/// The MPTCP options other than DSS.
#[derive(Clone, PartialEq, Debug)]
pub enum MptcpOption {
    /// MP_CAPABLE (§3.1).
    MpCapable(MpCapable),
    /// MP_JOIN (§3.2).
    MpJoin(MpJoin),
    /// ADD_ADDR (§3.4.1).
    AddAddr(AddAddr),
    /// REMOVE_ADDR (§3.4.2): the address ids withdrawn.
    RemoveAddr(Vec<u8>),
    /// MP_PRIO (§3.3.8).
    MpPrio {
        /// Use this subflow only when no other works.
        backup: bool,
    },
    /// MP_FAIL (§3.7): the data sequence number at which the checksum failed.
    MpFail {
        /// 64-bit data sequence number.
        dsn: u64,
    },
    /// MP_FASTCLOSE (§3.5): the receiver's key.
    MpFastclose {
        /// The key of the host that receives this option.
        receiver_key: u64,
    },
    /// MP_TCPRST (§3.6).
    MpTcpRst {
        /// The four flag bits U, V, W, T; T (0x1) says that the condition is transient.
        flags: u8,
        /// Reason code.
        reason: u8,
    },
    /// An unknown subtype (0x9 to 0xf): the bytes after kind and length, unchanged. Also an MP_CAPABLE of version 2 or
    /// later with a length that version 1 does not have.
    Unknown(Vec<u8>),
    /// An option of MPTCP version 0 (RFC 6824) whose form differs from version 1's: decoded, never sent by the
    /// transport.
    Version0(Version0),
}

/// Forms that only RFC 6824 has.
#[derive(Clone, PartialEq, Debug)]
pub enum Version0 {
    /// MP_CAPABLE of version 0: the sender's key is in the SYN already.
    MpCapable {
        /// The eight flag bits A to H.
        flags: u8,
        /// Key of the sender of the option.
        sender_key: u64,
        /// Key of its receiver (third ACK only).
        receiver_key: Option<u64>,
    },
    /// ADD_ADDR of version 0: no echo flag, no HMAC.
    AddAddr {
        /// Address id.
        id: u8,
        /// Address.
        address: IpAddr,
        /// Port, when given.
        port: Option<u16>,
    },
    /// MP_PRIO of version 0 with an address id (4 bytes long).
    MpPrio {
        /// Use only as a backup.
        backup: bool,
        /// The address id it refers to.
        address_id: u8,
    },
}

/// MP_CAPABLE of version 1 (§3.1). The length determines the form: SYN 4, SYN/ACK 12, ACK 20, with data 22 or 24.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpCapable {
    /// Version field: 1, or a higher one that the peer proposes (§3.1: the answer is the highest version supported).
    pub version: u8,
    /// The eight flag bits A to H: A (0x80) checksum required, B (0x40) must be 0, C (0x20) no join to the source
    /// address, H (0x01) HMAC-SHA256.
    pub flags: u8,
    /// Key of the sender of the option.
    pub sender_key: Option<u64>,
    /// Key of its receiver.
    pub receiver_key: Option<u64>,
    /// Data-level length of the segment's content, and its checksum when negotiated.
    pub data: Option<(u16, Option<u16>)>,
}

/// MP_JOIN (§3.2), in its three forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MpJoin {
    /// On the SYN.
    Syn {
        /// Backup flag.
        backup: bool,
        /// The sender's address id.
        address_id: u8,
        /// The token of the connection, derived from the receiver's key.
        token: u32,
        /// The sender's random number.
        nonce: u32,
    },
    /// On the SYN/ACK.
    SynAck {
        /// Backup flag.
        backup: bool,
        /// The sender's address id.
        address_id: u8,
        /// The leftmost 64 bits of the sender's HMAC.
        hmac: u64,
        /// The sender's random number.
        nonce: u32,
    },
    /// On the third ACK: the leftmost 160 bits of the sender's HMAC.
    Ack {
        /// HMAC.
        hmac: [u8; 20],
    },
}

/// ADD_ADDR (§3.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddAddr {
    /// Whether this is the echo of an announcement.
    pub echo: bool,
    /// Address id.
    pub id: u8,
    /// Address.
    pub address: IpAddr,
    /// Port, when it is not the connection's.
    pub port: Option<u16>,
    /// The rightmost 64 bits of the HMAC; none on an echo.
    pub hmac: Option<u64>,
}

/// An option of a kind this crate does not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownOption {
    /// Kind.
    pub kind: u8,
    /// What follows kind and length.
    pub data: Vec<u8>,
}
