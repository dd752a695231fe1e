//! REMOVE_ADDR: an address is gone, and with it the subflows that give no sign of life (RFC 8684 §3.4.2).

use wire::MptcpOption;

use super::Connection;
use crate::mptcp::state::reset::ResetReason;
use crate::path_manager::PathEvent;
use crate::queue::Sendable;
use crate::time::{Duration, Instant};
use crate::trace::ReinjectionReason;

impl<P: Sendable> Connection<P> {
    /// The interface with a local address is gone, says whoever drives the connection: the path manager decides what is
    /// done about it.
    pub fn address_gone(&mut self, now: Instant, local_id: u8) {
        self.set_clock(now);
        self.usual.forget();
        self.manage_paths(now, PathEvent::LocalAddressRemoved { local_id });
    }

    /// It is there again.
    pub fn address_back(&mut self, now: Instant, local_id: u8) {
        self.set_clock(now);
        self.usual.forget();
        self.addresses.restore(local_id);
        self.manage_paths(now, PathEvent::LocalAddressAdded { local_id });
    }

    /// A local address is gone: the peer is told on another subflow, and those of the address are reset (RFC 8684
    /// §3.4.2: "the sending and receipt of this message SHOULD trigger the sending of RSTs by both hosts").
    pub(super) fn withdraw_address(&mut self, now: Instant, local_id: u8) {
        self.addresses.withdraw(local_id);
        if !self.level.is_multipath() {
            return;
        }
        let other = self.signalling_subflow(Some(local_id));
        // The kernel says it on the very subflow that goes, if it has no other.
        let same = if self.config.kernel_paths.is_some() { self.signalling_subflow(None) } else { None };
        if let Some(r) = other.or(same) {
            self.signal(r, MptcpOption::RemoveAddr(vec![local_id]));
        }
        for r in 0..self.subflows.len() {
            if self.subflows[r].local_id() == local_id && self.subflows[r].is_open() {
                if other.is_none() && Some(r) == same {
                    let at = now + Duration::NANOSECOND;
                    self.contexts[r].signalling.get_or_insert_default().removal_at = at;
                    self.arm_control(at);
                } else {
                    self.reset_subflow(now, r, ResetReason::Prohibited, false);
                }
            }
        }
    }

    /// "If there are no known addresses with that ID, it is silently ignored"; a host "SHOULD send a TCP keepalive on
    /// the path; if a response is received, the path SHOULD NOT be removed" (RFC 8684 §3.4.2).
    pub(super) fn receive_remove_addr(&mut self, now: Instant, id: u8) {
        let known = self.addresses.forget_remote(id);
        let mut used = false;
        for r in 0..self.subflows.len() {
            if self.subflows[r].remote_id() == id && self.subflows[r].is_open() {
                used = true;
                // What was under way when the address went is no sign of life: the keep-alive waits until it is through.
                let rtt = &self.subflows[r].rtt();
                let keepalive_at = now + rtt.srtt;
                let signalling = self.contexts[r].signalling.get_or_insert_default();
                signalling.keepalive_at = keepalive_at;
                signalling.removal_at = keepalive_at + 2 * rtt.base_rto();
                self.arm_control(keepalive_at);
                // Until then it is treated like one whose timer has expired: others carry what it has.
                self.views[r].potentially_failed = true;
                self.give_back(r, false);
                self.reinject_all(now, r, ReinjectionReason::AddressRemoved);
            }
        }
        if known || used {
            self.manage_paths(now, PathEvent::AddressRemoved { remote_id: id });
        }
    }

    /// Something came on a subflow whose address may have been withdrawn.
    #[cold]
    pub(super) fn sign_of_life(&mut self, r: usize) {
        if let Some(signalling) = self.contexts[r].signalling.as_mut().filter(|s| s.keepalive_at.is_never()) {
            signalling.removal_at = Instant::NEVER;
        }
    }

    /// A subflow whose address was withdrawn gave no sign of life.
    pub(super) fn removal_timer(&mut self, now: Instant, r: usize) {
        if self.subflows[r].is_open() {
            self.reset_subflow(now, r, ResetReason::Prohibited, false);
        }
    }
}
