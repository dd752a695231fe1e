//! What a connection keeps of each subflow beside TCP's own state: mappings, control options to send, resets.

use std::collections::{BTreeMap, VecDeque};

use wire::MptcpOption;

use super::reset::Reset;
use super::verifying::{MapRange, Verifying};
use crate::place::Place;
use crate::reassembly::Piece;
use crate::tcp::acknowledge::NEVER;

/// What was sent last without a break: from here to the subflow's `snd_nxt`, one octet of sequence space is one of
/// the stream. This is what "contiguous" means for an infinite mapping (RFC 8684 §3.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    pub seq: u64,
    pub offset: Place,
}

/// State of one subflow at the level of MPTCP.
#[derive(Debug)]
#[repr(C)]
pub struct SubflowContext<P> {
    /// The present run of transmissions.
    pub run: Run,
    /// Place in the stream after the last byte received in order: where data without a mapping continues.
    pub next_offset: Place,
    /// Data sequence mappings that reach beyond the segment they came with, or are to be verified, by their start.
    pub mappings: BTreeMap<u64, MapRange>,
    /// A mapping whose data is not complete and whose checksum is not verified yet.
    pub verifying: Option<Box<Verifying<P>>>,
    /// After a checksum failure on the only subflow: data that waits for the infinite mapping (RFC 8684 §3.7).
    pub held: Option<Vec<Piece<P>>>,
    /// Place in the stream where the checksum failed.
    pub failed_at: Place,
    /// Retransmissions of MP_FAIL, or of the keep-alive.
    pub retries: u32,
    /// When MP_FAIL is due again.
    pub fail_timer_ns: u64,
    /// Options to send, each on a bare acknowledgment.
    pub signals: VecDeque<MptcpOption>,
    /// How many options went out one after another, and when the last one did.
    pub in_a_row: (u8, u64),
    /// When the next one may.
    pub signals_ns: u64,
    /// Probes of its closed window since it was last open.
    pub window_probes: u8,
    /// A keep-alive is to be sent.
    pub keepalive_due: bool,
    /// When it will be.
    pub keepalive_ns: u64,
    /// Without a sign of life by then the subflow is closed: its address was withdrawn (RFC 8684 §3.4.2).
    pub removal_ns: u64,
    /// The peer wants the subflow used as a backup (RFC 8684 §3.3.8).
    pub peer_backup: bool,
    /// The peer may have sent data on it: MP_JOIN came as far as the SYN/ACK.
    pub joined: bool,
    /// No challenge ACK before this time.
    pub challenge_ns: u64,
    /// What a reset of the subflow says.
    pub reset: Reset,
    /// Whether a new subflow over the same path may do better (T of MP_TCPRST).
    pub transient: bool,
}

impl<P> SubflowContext<P> {
    pub fn new() -> Self {
        SubflowContext {
            mappings: BTreeMap::new(),
            run: Run { seq: 1, offset: Place::FIRST },
            next_offset: Place::FIRST,
            verifying: None,
            held: None,
            failed_at: Place::FIRST,
            retries: 0,
            fail_timer_ns: NEVER,
            signals: VecDeque::new(),
            in_a_row: (0, 0),
            signals_ns: NEVER,
            window_probes: 0,
            keepalive_due: false,
            keepalive_ns: NEVER,
            removal_ns: NEVER,
            peer_backup: false,
            joined: false,
            challenge_ns: 0,
            reset: Reset::default(),
            transient: true,
        }
    }

    pub fn items_held(&self) -> usize {
        let verifying = self.verifying.as_ref().map_or(0, |v| v.pieces.len());
        let held = self.held.as_ref().map_or(0, Vec::len);
        self.mappings.len() + self.signals.len() + verifying + held
    }

    /// Data `[offset, offset + len)` of the stream goes out at `seq` for the first time.
    #[inline]
    pub fn sent(&mut self, seq: u64, offset: Place) {
        if offset.octets().wrapping_sub(self.run.offset.octets()) != seq - self.run.seq {
            self.run = Run { seq, offset };
        }
    }
}
