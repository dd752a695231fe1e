//! What a connection keeps of each subflow beside TCP's own state: mappings, control options to send, resets.

use std::collections::{BTreeMap, VecDeque};

use wire::MptcpOption;

use super::reset::Reset;
use super::verifying::{MapRange, Verifying};
use crate::offset::Offset;
use crate::reassembly::Piece;
use crate::time::Instant;

/// State of one subflow at the level of MPTCP.
#[derive(Debug)]
#[repr(C)]
pub struct SubflowContext<P> {
    /// After a checksum failure on the only subflow.
    pub held: Option<Box<FailedChecksum<P>>>,
    /// Data sequence mappings that reach beyond the segment they came with, or are to be verified, by their start.
    pub mappings: BTreeMap<u64, MapRange>,
    /// A mapping whose data is not complete and whose checksum is not verified yet.
    pub verifying: Option<Box<Verifying<P>>>,
    /// None while there is nothing to send or to wait for.
    pub signalling: Option<Box<Signalling>>,
    /// What a reset of the subflow says, where that is more than nothing.
    pub reset: Option<Box<Reset>>,
    /// No challenge ACK before this time.
    pub challenge_at: Instant,
    /// How many options went out one after another, and when the last one did.
    pub in_a_row: u8,
    /// Probes of its closed window since it was last open.
    pub window_probes: u8,
    /// The peer wants the subflow used as a backup (RFC 8684 §3.3.8).
    pub peer_backup: bool,
    /// The peer may have sent data on it: MP_JOIN came as far as the SYN/ACK.
    pub joined: bool,
    /// Whether a new subflow over the same path may do better (T of MP_TCPRST).
    pub transient: bool,
    pub last_signal_at: Instant,
}

/// Data that waits for the infinite mapping (RFC 8684 §3.7).
#[derive(Debug)]
pub struct FailedChecksum<P> {
    pub pieces: Vec<Piece<P>>,
    /// Place in the stream where the checksum failed.
    pub failed_at: Offset,
    /// Retransmissions of MP_FAIL.
    pub retries: u32,
    /// When MP_FAIL is due again.
    pub timer: Instant,
}

/// What a subflow has to signal, and when.
#[derive(Debug)]
pub struct Signalling {
    /// Options to send, each on a bare acknowledgment.
    pub options: VecDeque<MptcpOption>,
    /// When the next one may be.
    pub pause_until: Instant,
    /// A keep-alive is to be sent.
    pub keepalive_due: bool,
    /// When it will be.
    pub keepalive_at: Instant,
    /// Without a sign of life by then the subflow is closed: its address was withdrawn (RFC 8684 §3.4.2).
    pub removal_at: Instant,
}

impl Default for Signalling {
    fn default() -> Self {
        let options = VecDeque::new();
        Signalling {
            options,
            pause_until: Instant::NEVER,
            keepalive_due: false,
            keepalive_at: Instant::NEVER,
            removal_at: Instant::NEVER,
        }
    }
}

impl Signalling {
    /// When something is due.
    fn due_at(&self) -> Instant {
        self.pause_until.min(self.keepalive_at).min(self.removal_at)
    }

    fn is_idle(&self) -> bool {
        self.options.is_empty() && !self.keepalive_due && self.due_at().is_never()
    }
}

impl<P> SubflowContext<P> {
    pub fn new() -> Self {
        SubflowContext {
            held: None,
            mappings: BTreeMap::new(),
            verifying: None,
            signalling: None,
            reset: None,
            challenge_at: Instant::ZERO,
            in_a_row: 0,
            window_probes: 0,
            peer_backup: false,
            joined: false,
            transient: true,
            last_signal_at: Instant::ZERO,
        }
    }

    pub fn items_held(&self) -> usize {
        let verifying = self.verifying.as_ref().map_or(0, |v| v.pieces.len());
        let held = self.held.as_ref().map_or(0, |held| held.pieces.len());
        self.mappings.len() + self.signalling.as_ref().map_or(0, |s| s.options.len()) + verifying + held
    }

    /// When something is due at the level of MPTCP.
    pub fn due_at(&self) -> Instant {
        let fail_at = self.held.as_ref().map_or(Instant::NEVER, |held| held.timer);
        self.signalling.as_ref().map_or(Instant::NEVER, |s| s.due_at()).min(fail_at)
    }

    /// When the subflow is closed for want of a sign of life; never unless its address was withdrawn.
    pub fn removal_at(&self) -> Instant {
        self.signalling.as_ref().map_or(Instant::NEVER, |s| s.removal_at)
    }

    /// Options wait to be sent.
    pub fn has_signals(&self) -> bool {
        self.signalling.as_ref().is_some_and(|s| !s.options.is_empty())
    }

    /// Options that wait are not sent, or there are none: what is left without use gives its memory back.
    pub fn clear_signals(&mut self) {
        if let Some(signalling) = &mut self.signalling {
            signalling.options.clear();
            if signalling.is_idle() {
                self.signalling = None;
            }
        }
    }
}
