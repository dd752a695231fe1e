//! What a reset of a subflow says: the option MP_TCPRST (RFC 8684 §3.6).

use wire::MptcpOption;

use crate::numbers::{Dsn, Theirs};

/// Reason codes of MP_TCPRST (RFC 8684 §3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum ResetReason {
    /// No reason is told; the subflow is not available any more.
    #[default]
    Unspecified = 0,
    /// An error in MPTCP's own signalling, such as a wrong HMAC or an unknown token.
    MptcpError = 1,
    /// No room for another subflow.
    Resources = 2,
    /// Policy forbids the subflow.
    Prohibited = 3,
    /// Much data was sent on it that came over other subflows already.
    TooMuchData = 4,
    /// It performed too badly: its retransmissions were in vain.
    Performance = 5,
    /// A middlebox has removed options or changed data.
    Middlebox = 6,
}

/// The flag T: the peer may try the path again (RFC 8684 §3.6).
pub const TRANSIENT: u8 = 0x1;

/// What a reset says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reset {
    pub reason: ResetReason,
    pub transient: bool,
    /// A checksum failed at this data sequence number (RFC 8684 §3.7).
    pub fail_dsn: Option<Dsn<Theirs>>,
    /// The whole connection ends.
    pub fastclose: bool,
}

impl ResetReason {
    /// The option that tells it.
    pub fn option(self, transient: bool) -> MptcpOption {
        MptcpOption::MpTcpRst { flags: if transient { TRANSIENT } else { 0 }, reason: self as u8 }
    }
}
