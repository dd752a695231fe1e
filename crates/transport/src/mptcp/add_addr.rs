//! ADD_ADDR: an address is announced, with its HMAC, until the peer echoes it (RFC 8684 §3.4.1).

use std::net::SocketAddr;

use wire::{AddAddr, MptcpOption};

use super::connection::Connection;
use super::state::fallback::Mode;
use crate::path_manager::PathEvent;
use crate::queue::Stream;

impl<P: Stream> Connection<P> {
    /// Tells the peer of a local address (RFC 8684 §3.4.1). Without a port it is the connection's.
    pub(super) fn announce(&mut self, now_ns: u64, local_id: u8, port: Option<u16>) {
        let Some(local) = self.addresses.local(local_id) else { return };
        let Some(remote_key) = self.keys.remote.filter(|_| self.mode == Mode::Mptcp) else { return };
        let hmac = wire::keys::add_addr_hmac(self.keys.local, remote_key, local_id, local.address, port);
        let option = AddAddr { echo: false, id: local_id, address: local.address, port, hmac: Some(hmac) };
        self.addresses.announce(now_ns, option);
        self.announcement_timer(now_ns);
    }

    /// Sends what is due: "the sender … SHOULD retransmit the ADD_ADDR" until its echo is seen (RFC 8684 §3.4.1), with
    /// the intervals of a SYN.
    pub(super) fn announcement_timer(&mut self, now_ns: u64) {
        let Some(r) = self.signalling_subflow(None) else { return };
        let (rto_ns, most) = (self.subflows[r].rtt.base_rto_ns(), self.config.tcp.syn_retries);
        for option in self.addresses.take_due(now_ns, rto_ns, most) {
            self.signal(r, MptcpOption::AddAddr(option));
        }
        self.arm_control(self.addresses.next_due_ns());
    }

    pub(super) fn receive_add_addr(&mut self, now_ns: u64, r: usize, add: &AddAddr) {
        let Some(remote_key) = self.keys.remote.filter(|_| self.mode == Mode::Mptcp && self.fully_established) else {
            return;
        };
        if add.echo {
            self.addresses.echoed(add);
            return;
        }
        // "If the HMAC … does not match, the option MUST be silently ignored" (RFC 8684 §3.4.1).
        let hmac = wire::keys::add_addr_hmac(remote_key, self.keys.local, add.id, add.address, add.port);
        if !add.hmac.is_some_and(|theirs| wire::keys::same_u64(theirs, hmac)) {
            return;
        }
        self.signal(r, MptcpOption::AddAddr(AddAddr { echo: true, hmac: None, ..*add }));
        let port = add.port.unwrap_or(self.subflows[0].tuple().remote.port());
        let address = SocketAddr::new(add.address, port);
        if self.addresses.learn(add.id, address) {
            self.manage_paths(now_ns, PathEvent::AddressAdded { remote_id: add.id });
        }
    }
}
