//! MP_PRIO: a subflow becomes a backup, or ceases to be one (RFC 8684 §3.3.8).

use wire::MptcpOption;

use super::Connection;
use crate::queue::Sendable;
use crate::time::Instant;

impl<P: Sendable> Connection<P> {
    /// Changes the priority of all subflows of a local address, as when its network becomes metered.
    pub fn set_address_backup(&mut self, now: Instant, local_id: u8, backup: bool) {
        self.set_clock(now);
        self.usual.forget();
        for r in 0..self.subflows.len() {
            if self.subflows[r].local_id() == local_id && self.subflows[r].is_open() {
                self.set_backup(local_id, self.subflows[r].remote_id(), backup);
            }
        }
    }

    /// Changes the priority of the subflows between two addresses and asks the peer to do the same (RFC 8684 §3.3.8).
    pub(super) fn set_backup(&mut self, local_id: u8, remote_id: u8, backup: bool) {
        for r in 0..self.subflows.len() {
            let subflow = &mut self.subflows[r];
            if (subflow.local_id(), subflow.remote_id()) == (local_id, remote_id) && subflow.is_backup() != backup {
                subflow.set_backup(backup);
                self.update_backup(r);
                if self.level.is_multipath() && self.may_signal(r) {
                    self.signal(r, MptcpOption::MpPrio { backup });
                }
            }
        }
    }

    /// The peer asks for a subflow to be used as a backup, or no longer as one.
    pub(super) fn receive_prio(&mut self, r: usize, backup: bool) {
        self.contexts[r].peer_backup = backup;
        self.update_backup(r);
    }

    /// A subflow is a backup when either side wants it.
    pub(super) fn update_backup(&mut self, r: usize) {
        self.views[r].backup = self.subflows[r].is_backup() || self.contexts[r].peer_backup;
        self.due.data = true;
    }
}
