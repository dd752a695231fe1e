//! Addresses and priorities: ADD_ADDR with HMAC and echo, REMOVE_ADDR, MP_PRIO (RFC 8684 §3.4, §3.3.8).

use std::net::SocketAddr;

use wire::{AddAddr, MptcpOption, Segment};

use super::connection::{Connection, Mode};
use super::reset::{ResetReason, mptcp_options};
use crate::path_manager::{PathEvent, RemoteAddress};
use crate::queue::Stream;
use crate::tcp::acknowledge::NEVER;

/// Addresses of the peer that are remembered; what goes beyond is not.
const MAX_REMOTE: usize = 16;
/// Address ids in one REMOVE_ADDR: what fits beside timestamps.
const MAX_REMOVED: usize = 8;

/// An address that we have announced.
#[derive(Clone, Copy, Debug)]
pub struct Announcement {
    option: AddAddr,
    /// How often it was sent.
    sent: u32,
    /// When it is due again; never once the echo was seen.
    next_ns: u64,
}

/// What a connection knows of addresses beyond those of its subflows.
#[derive(Debug, Default)]
pub struct Addresses {
    pub remote: Vec<RemoteAddress>,
    announced: Vec<Announcement>,
    /// Local ids that may not be used any more.
    pub withdrawn: Vec<u8>,
}

impl Addresses {
    /// Addresses of either side.
    pub fn len(&self) -> usize {
        self.remote.len() + self.announced.len() + self.withdrawn.len()
    }

    /// TCP is spoken, or nothing any more.
    pub fn forget_announcements(&mut self) {
        self.announced.clear();
    }
}

impl<P: Stream> Connection<P> {
    /// Tells the peer of a local address (RFC 8684 §3.4.1). Without a port it is the connection's.
    pub(super) fn announce(&mut self, now_ns: u64, local_id: u8, port: Option<u16>) {
        let Some(local) = self.local.iter().find(|a| a.id == local_id).copied() else { return };
        let Some(remote_key) = self.remote_key.filter(|_| self.mode == Mode::Mptcp) else { return };
        self.addresses.withdrawn.retain(|&id| id != local_id);
        let hmac = wire::keys::add_addr_hmac(self.local_key, remote_key, local_id, local.address, port);
        let option = AddAddr { echo: false, id: local_id, address: local.address, port, hmac: Some(hmac) };
        self.addresses.announced.retain(|a| a.option.id != local_id);
        self.addresses.announced.push(Announcement { option, sent: 0, next_ns: now_ns });
        self.announcement_timer(now_ns);
    }

    /// Sends what is due: "the sender … SHOULD retransmit the ADD_ADDR" until its echo is seen (RFC 8684 §3.4.1), with
    /// the intervals of a SYN.
    pub(super) fn announcement_timer(&mut self, now_ns: u64) {
        let Some(r) = self.signalling_subflow(None) else { return };
        let (rto_ns, most) = (self.subflows[r].rtt.base_rto_ns(), self.config.tcp.syn_retries);
        for i in 0..self.addresses.announced.len() {
            let announcement = &mut self.addresses.announced[i];
            if announcement.next_ns <= now_ns {
                let option = announcement.option;
                let wait_ns = rto_ns << announcement.sent.min(8);
                announcement.sent += 1;
                announcement.next_ns = if announcement.sent > most { NEVER } else { now_ns + wait_ns };
                self.signal(r, MptcpOption::AddAddr(option));
            }
        }
        self.arm_announcements();
    }

    pub(super) fn arm_announcements(&mut self) {
        let next_ns = self.addresses.announced.iter().map(|a| a.next_ns).min().unwrap_or(NEVER);
        self.arm_control(next_ns);
    }

    /// When an announcement is due.
    pub(super) fn announcement_due_ns(&self) -> u64 {
        self.addresses.announced.iter().map(|a| a.next_ns).min().unwrap_or(NEVER)
    }

    /// A local address is gone: the peer is told on another subflow, and those of the address are reset (RFC 8684
    /// §3.4.2: "the sending and receipt of this message SHOULD trigger the sending of RSTs by both hosts").
    pub(super) fn withdraw_address(&mut self, now_ns: u64, local_id: u8) {
        self.addresses.announced.retain(|a| a.option.id != local_id);
        if !self.addresses.withdrawn.contains(&local_id) {
            self.addresses.withdrawn.push(local_id);
        }
        if self.mode != Mode::Mptcp {
            return;
        }
        if let Some(r) = self.signalling_subflow(Some(local_id)) {
            self.signal(r, MptcpOption::RemoveAddr(vec![local_id]));
        }
        for r in 0..self.subflows.len() {
            if self.subflows[r].local_id == local_id && self.is_open(r) {
                self.reset_subflow(now_ns, r, ResetReason::Prohibited, false);
            }
        }
    }

    /// Changes the priority of the subflows between two addresses and asks the peer to do the same (RFC 8684 §3.3.8).
    pub(super) fn set_backup(&mut self, local_id: u8, remote_id: u8, backup: bool) {
        for r in 0..self.subflows.len() {
            let subflow = &mut self.subflows[r];
            if (subflow.local_id, subflow.remote_id) == (local_id, remote_id) && subflow.backup != backup {
                subflow.backup = backup;
                self.update_backup(r);
                if self.mode == Mode::Mptcp && self.may_signal(r) {
                    self.signal(r, MptcpOption::MpPrio { backup });
                }
            }
        }
    }

    /// A subflow is a backup when either side wants it.
    pub(super) fn update_backup(&mut self, r: usize) {
        self.views[r].backup = self.subflows[r].backup || self.contexts[r].peer_backup;
        self.may_send = true;
    }

    /// The options of a segment in the window, DSS and those of handshakes and resets apart.
    pub(super) fn receive_options(&mut self, now_ns: u64, r: usize, segment: &Segment<P>) {
        for option in mptcp_options(segment) {
            match option {
                MptcpOption::AddAddr(add) => self.receive_add_addr(now_ns, r, add),
                MptcpOption::RemoveAddr(ids) => {
                    for &id in ids.iter().take(MAX_REMOVED) {
                        self.receive_remove_addr(now_ns, id);
                    }
                }
                MptcpOption::MpPrio { backup } => {
                    self.contexts[r].peer_backup = *backup;
                    self.update_backup(r);
                }
                MptcpOption::MpFail { dsn } => self.receive_fail(now_ns, r, *dsn),
                _ => {}
            }
        }
    }

    fn receive_add_addr(&mut self, now_ns: u64, r: usize, add: &AddAddr) {
        let Some(remote_key) = self.remote_key.filter(|_| self.mode == Mode::Mptcp && self.fully_established) else {
            return;
        };
        if add.echo {
            let known =
                |a: &Announcement| (a.option.id, a.option.address, a.option.port) == (add.id, add.address, add.port);
            for announcement in self.addresses.announced.iter_mut().filter(|a| known(a)) {
                announcement.next_ns = NEVER;
            }
            return;
        }
        // "If the HMAC … does not match, the option MUST be silently ignored" (RFC 8684 §3.4.1).
        let hmac = wire::keys::add_addr_hmac(remote_key, self.local_key, add.id, add.address, add.port);
        if add.hmac != Some(hmac) {
            return;
        }
        self.signal(r, MptcpOption::AddAddr(AddAddr { echo: true, hmac: None, ..*add }));
        let port = add.port.unwrap_or(self.subflows[0].tuple.remote.port());
        let address = SocketAddr::new(add.address, port);
        match self.addresses.remote.iter().find(|a| a.id == add.id) {
            // An id that stands for another address has to be removed first.
            Some(known) if known.address != address => return,
            Some(_) => {}
            None if self.addresses.remote.len() >= MAX_REMOTE => return,
            None => self.addresses.remote.push(RemoteAddress { id: add.id, address }),
        }
        self.manage_paths(now_ns, PathEvent::AddressAdded { remote_id: add.id });
    }

    /// "If there are no known addresses with that ID, it is silently ignored"; a host "SHOULD send a TCP keepalive on
    /// the path; if a response is received, the path SHOULD NOT be removed" (RFC 8684 §3.4.2).
    fn receive_remove_addr(&mut self, now_ns: u64, id: u8) {
        let before = self.addresses.remote.len();
        self.addresses.remote.retain(|a| a.id != id);
        let known = self.addresses.remote.len() < before;
        let mut used = false;
        for r in 0..self.subflows.len() {
            if self.subflows[r].remote_id == id && self.is_open(r) {
                used = true;
                // What was under way when the address went is no sign of life: the keep-alive waits until it is through.
                let rtt = &self.subflows[r].rtt;
                let keepalive_ns = now_ns + rtt.srtt_ns;
                self.contexts[r].keepalive_ns = keepalive_ns;
                self.contexts[r].removal_ns = keepalive_ns + 2 * rtt.base_rto_ns();
                self.removals = true;
                self.arm_control(keepalive_ns);
            }
        }
        if known || used {
            self.manage_paths(now_ns, PathEvent::AddressRemoved { remote_id: id });
        }
    }

    /// Something came on a subflow whose address may have been withdrawn.
    #[cold]
    pub(super) fn sign_of_life(&mut self, r: usize) {
        if self.contexts[r].keepalive_ns == NEVER {
            self.contexts[r].removal_ns = NEVER;
        }
        self.removals = self.contexts.iter().any(|c| c.removal_ns != NEVER);
    }

    /// A subflow whose address was withdrawn gave no sign of life.
    pub(super) fn removal_timer(&mut self, now_ns: u64, r: usize) {
        self.contexts[r].removal_ns = NEVER;
        if self.is_open(r) {
            self.reset_subflow(now_ns, r, ResetReason::Prohibited, false);
        }
    }
}
