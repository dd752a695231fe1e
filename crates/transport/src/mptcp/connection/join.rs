//! How a subflow joins: MP_JOIN with its HMACs (RFC 8684 §3.2).

use std::cmp::Reverse;
use std::net::SocketAddr;

use wire::{MpJoin, Segment};

use super::{Connection, SUBFLOW_LIMIT};
use crate::config::KernelPaths;
use crate::mptcp::options::join_option;
use crate::mptcp::state::reset::ResetReason;
use crate::names::{SubflowId, Tuple};
use crate::queue::Sendable;
use crate::tcp::subflow::{Join, State, Subflow};
use crate::time::Instant;

/// Ports that need no registration (RFC 6335 §6).
const DYNAMIC_PORTS: std::ops::RangeInclusive<u16> = 49_152..=u16::MAX;

/// As many subflows may be half open, however few may be open.
const FEWEST_HALF_OPEN: u8 = 8;

impl<P: Sendable> Connection<P> {
    /// Opens a subflow from a local to a remote address. Nothing happens when MPTCP is not spoken, an address is
    /// unknown, or there are as many subflows as may be.
    pub(super) fn join(&mut self, now: Instant, local_id: u8, remote_id: u8, backup: bool) {
        let Some(local) = self.addresses.local(local_id) else { return };
        // The kernel's path manager counts for itself.
        let has_room = if self.config.kernel_paths.is_some() { self.has_free_id() } else { self.room_for_subflow() };
        if !self.may_join() || self.is_ending() || !has_room {
            return;
        }
        let Some(remote) = self.addresses.remote(remote_id) else { return };
        if remote_id != 0 && !self.addresses.may_try(now, self.config.max_subflows) {
            return;
        }
        if remote.address.is_ipv4() != local.address.is_ipv4() || self.addresses.is_withdrawn(local_id) {
            return;
        }
        // Another subflow from the same address needs its own port.
        let taken = self.subflows.iter().filter(|s| s.tuple().local.ip() == local.address).count() as u16;
        let port = self.addresses.port().wrapping_add(taken);
        let tuple = Tuple { local: SocketAddr::new(local.address, port), remote: remote.address };
        let iss = self.secrets.initial_sequence_number(now, tuple);
        let mut subflow = Subflow::new(tuple, iss, self.config.mss, &self.config.tcp);
        subflow.open_from(local_id, backup);
        subflow.learn_remote_id(remote_id);
        subflow.begin_join(Join { local_nonce: self.secrets.draw_u32(), ..Join::default() });
        self.set_clock(now);
        self.add_subflow(subflow);
    }

    fn room_for_subflow(&self) -> bool {
        self.has_room_beside(None) && self.has_free_id()
    }

    /// Whether one more subflow may be open. One in TIME-WAIT only waits for stray segments. One that the peer has begun to open,
    /// `r` among them, does not count: anybody who has seen the token can begin one.
    fn has_room_beside(&self, r: Option<usize>) -> bool {
        if let Some(kernel) = &self.config.kernel_paths {
            // One that this host closes, as when its address was withdrawn, counts no more.
            let counts = |&other: &usize| {
                Some(other) != r
                    && self.subflows[other].is_open()
                    && !self.subflows[other].is_fin_requested()
                    && !self.is_half_open(other)
            };
            return (1..self.subflows.len()).filter(counts).count() < usize::from(kernel.extra_subflows);
        }
        let half_open = (0..self.subflows.len()).filter(|&other| self.is_half_open(other) || Some(other) == r).count();
        self.live_subflows() - half_open < usize::from(self.config.max_subflows)
    }

    /// Whether the peer has begun to open a subflow and has not shown yet that it knows the keys.
    fn is_half_open(&self, r: usize) -> bool {
        let subflow = &self.subflows[r];
        subflow.state() == State::SynReceived && subflow.join().is_some() && !subflow.is_active_open()
    }

    /// Drops the oldest half-open subflow where there are as many as subflows may be open, or eight: like the backlog of a host, so that
    /// those in good faith, which are done in a round trip, have their turn.
    fn drop_oldest_half_open(&mut self, now: Instant) {
        let half_open = || (1..self.subflows.len()).filter(|&r| self.is_half_open(r));
        if half_open().count() < usize::from(self.config.max_subflows.max(FEWEST_HALF_OPEN)) {
            return;
        }
        // The timer began with the SYN/ACK.
        let age = |&r: &usize| (Reverse(self.subflows[r].retries()), self.subflows[r].timer());
        if let Some(oldest) = half_open().min_by_key(age) {
            self.fail_subflow(now, oldest, true);
        }
    }

    fn has_free_id(&self) -> bool {
        self.subflows.len() < SUBFLOW_LIMIT || self.reusable_id().is_some()
    }

    /// The ends of a subflow that is new to the host. Where a join would take a port that is in use between the same
    /// addresses, it takes the next one that is free; without any, it is given up and the answer is none.
    pub(crate) fn settle_port(&mut self, subflow: SubflowId, in_use: impl Fn(&Tuple) -> bool) -> Option<Tuple> {
        let r = subflow.0 as usize;
        let subflow = &self.subflows[r];
        let mut tuple = subflow.tuple();
        // Nobody has seen a segment of it.
        let unsent = subflow.is_unsent();
        if unsent && subflow.join().is_some() && in_use(&tuple) {
            let from = tuple.local.port();
            let after = DYNAMIC_PORTS.filter(|&port| port > from);
            let free = after.chain(DYNAMIC_PORTS.filter(|&port| port < from)).find(|&port| {
                tuple.local.set_port(port);
                !in_use(&tuple)
            });
            if free.is_none() {
                self.fail_subflow(self.clock(), r, true);
                return None;
            }
            self.subflows[r].set_tuple(tuple);
        }
        Some(tuple)
    }

    /// Whether a subflow has ended and what comes for it is a stray.
    pub(crate) fn is_closed(&self, subflow: SubflowId) -> bool {
        self.subflows[subflow.0 as usize].state() == State::Closed
    }

    /// Nothing more is to be said, or may be.
    fn is_ending(&self) -> bool {
        self.ending.has_finished() || (self.ending.is_end_acknowledged() && self.rx.ended())
    }

    /// The peer opens a subflow with our token. An error refuses it, with what the reset says and whether trying again
    /// makes sense.
    pub(crate) fn accept_join(
        &mut self,
        now: Instant,
        tuple: Tuple,
        syn: &Segment<P>,
    ) -> Result<SubflowId, (ResetReason, bool)> {
        let Some(&MpJoin::Syn { backup, address_id, nonce, .. }) = join_option(syn) else {
            return Err((ResetReason::MptcpError, false));
        };
        if !self.level.is_multipath() || self.is_ending() {
            return Err((ResetReason::MptcpError, false));
        }
        if !self.is_fully_established() {
            return Err((ResetReason::MptcpError, true));
        }
        let listens = |kernel: &KernelPaths| {
            let own = !self.is_initiator() && tuple.local.port() == self.addresses.port();
            own || kernel.ports.contains(&tuple.local.port())
        };
        if self.config.kernel_paths.as_ref().is_some_and(|kernel| !listens(kernel)) {
            return Err((ResetReason::Unspecified, false));
        }
        if !self.config.join_first_address && tuple.local == self.subflows[0].tuple().local {
            return Err((ResetReason::Prohibited, false)); // we set the flag C (RFC 8684 §3.1)
        }
        // The kernel asks for its limit when the join is complete.
        let has_room = if self.config.kernel_paths.is_some() { self.has_free_id() } else { self.room_for_subflow() };
        if !has_room {
            // Another one may end; the ids of those that have lived do not come back.
            return Err((ResetReason::Resources, self.has_free_id()));
        }
        self.drop_oldest_half_open(now);
        self.set_clock(now);
        let iss = self.secrets.initial_sequence_number(now, tuple);
        let mut subflow = Subflow::new(tuple, iss, self.config.mss, &self.config.tcp);
        if let Some(local) = self.addresses.local_at(tuple.local.ip()) {
            subflow.open_from(local.id, local.backup);
        }
        subflow.learn_remote_id(address_id);
        subflow.begin_join(Join { local_nonce: self.secrets.draw_u32(), remote_nonce: nonce, confirmed: false });
        subflow.accept();
        subflow.negotiate(&self.config, self.rx.window.scale(), syn);
        let r = self.add_subflow(subflow);
        self.contexts[r].peer_backup = backup;
        self.contexts[r].joined = true;
        self.update_backup(r);
        Ok(SubflowId(r as u8))
    }

    /// The SYN/ACK to our MP_JOIN. A wrong HMAC closes the subflow with a reset (RFC 8684 §3.2).
    pub(super) fn join_answered(&mut self, now: Instant, r: usize, segment: &Segment<P>) {
        let join = self.subflows[r].join().unwrap_or_default();
        let (local, remote) = (self.keys.local, self.keys.remote.unwrap_or(0));
        match join_option(segment) {
            Some(&MpJoin::SynAck { backup, address_id, hmac, nonce })
                if wire::keys::same_u64(
                    hmac,
                    wire::keys::join_hmac_syn_ack(local, remote, join.local_nonce, nonce),
                ) =>
            {
                self.addresses.tried_well();
                let subflow = &mut self.subflows[r];
                subflow.begin_join(Join { remote_nonce: nonce, ..join });
                subflow.learn_remote_id(address_id);
                self.contexts[r].peer_backup = backup;
                self.contexts[r].joined = true;
                self.synchronise(now, r, segment);
                if self.config.joins_at_once {
                    // Data may follow at once: the peer asks for no HMAC.
                    self.subflows[r].confirm_join();
                    self.become_established(now, r);
                    self.owe_acknowledgment(r);
                    return;
                }
                // The third ACK is sent until the fourth arrives (RFC 8684 §3.2).
                let deadline = self.subflows[r].await_fourth_ack(now);
                self.owe_acknowledgment(r);
                self.wake_by(deadline);
            }
            // "If the HMAC is wrong … with the MPTCP-specific error"; without any option the path is not capable, and
            // the subflow is closed as well (RFC 8684 §3.2, §3.7).
            Some(_) => self.reset_subflow(now, r, ResetReason::MptcpError, false),
            None => self.reset_subflow(now, r, ResetReason::Middlebox, false),
        }
    }

    /// The third ACK of a subflow that the peer opens: whether its HMAC is right. One that is wrong closes the
    /// subflow; one without HMAC is ignored, for the right one may be on its way.
    pub(super) fn join_confirmed(&mut self, now: Instant, r: usize, segment: &Segment<P>) -> bool {
        let join = self.subflows[r].join().unwrap_or_default();
        let (local, remote) = (self.keys.local, self.keys.remote.unwrap_or(0));
        match join_option(segment) {
            None if self.config.joins_at_once => {
                self.subflows[r].confirm_join();
                true
            }
            Some(MpJoin::Ack { hmac })
                if wire::keys::same(
                    hmac,
                    &wire::keys::join_hmac_ack(remote, local, join.remote_nonce, join.local_nonce),
                ) =>
            {
                if !self.has_room_beside(Some(r)) {
                    self.reset_subflow(now, r, ResetReason::Resources, true);
                    return false;
                }
                self.subflows[r].confirm_join();
                true
            }
            Some(_) => {
                self.reset_subflow(now, r, ResetReason::MptcpError, false);
                false
            }
            None => false,
        }
    }

    /// The fourth ACK: the subflow that we opened may carry data.
    pub(super) fn join_acknowledged(&mut self, now: Instant, r: usize) {
        let subflow = &mut self.subflows[r];
        if subflow.take_fourth_ack() {
            if subflow.is_fin_requested() {
                self.due.attention.insert(r); // the connection ended meanwhile
            } else {
                self.become_established(now, r);
            }
        }
    }
}
