//! ADD_ADDR: an address is announced, with its HMAC, until the peer echoes it (RFC 8684 §3.4.1).

use std::net::{IpAddr, SocketAddr};

use wire::{AddAddr, MptcpOption};

use super::Connection;
use crate::names::Tuple;
use crate::path_manager::PathEvent;
use crate::queue::Sendable;
use crate::time::{Duration, Instant};
use crate::unicast::is_unicast;

/// Whether a peer at the far end of `first` may name this address as its own: an end of a connection, no broadcast address of a
/// subnet as hosts usually have them, and none that means another machine here than there. A host on the Internet is not to make
/// this one knock at the machines of the network that it is in (RFC 8684 §5); the other way round, a private address may well
/// stand beside a public one.
fn may_be_announced(address: IpAddr, first: Tuple) -> bool {
    let own_broadcast = match (address, first.local.ip(), first.remote.ip()) {
        (IpAddr::V4(theirs), local, remote) => [local, remote].iter().any(|known| {
            let IpAddr::V4(known) = known else { return false };
            theirs.octets()[3] == u8::MAX && theirs.octets()[..3] == known.octets()[..3] && theirs != *known
        }),
        _ => false,
    };
    is_unicast(address) && !own_broadcast && scope(address) >= scope(first.remote.ip())
}

/// From how far away an address can be reached: this host, this link, this site, anywhere.
fn scope(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(v4) if v4.is_loopback() => 0,
        IpAddr::V4(v4) if v4.is_link_local() => 1,
        // RFC 1918, and RFC 6598's for the networks of providers.
        IpAddr::V4(v4) if v4.is_private() || (v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64) => 2,
        IpAddr::V4(_) => 3,
        IpAddr::V6(v6) if v6.is_loopback() => 0,
        IpAddr::V6(v6) if v6.is_unicast_link_local() => 1,
        IpAddr::V6(v6) if v6.is_unique_local() => 2,
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(3, |v4| scope(v4.into())),
    }
}

impl<P: Sendable> Connection<P> {
    /// Tells the peer of a local address (RFC 8684 §3.4.1). Without a port it is the connection's.
    pub(super) fn announce(&mut self, now: Instant, local_id: u8, port: Option<u16>) {
        let Some(local) = self.addresses.local(local_id) else { return };
        let Some(remote_key) = self.peer_key() else { return };
        let hmac = wire::keys::add_addr_hmac(self.keys.local, remote_key, local_id, local.address, port);
        let option = AddAddr { echo: false, id: local_id, address: local.address, port, hmac: Some(hmac) };
        self.addresses.announce(now, option);
        self.announcement_timer(now);
    }

    /// Sends what is due: "the sender … SHOULD retransmit the ADD_ADDR" until its echo is seen (RFC 8684 §3.4.1), with
    /// the intervals of a SYN, or those of the kernel whose path manager it is.
    pub(super) fn announcement_timer(&mut self, now: Instant) {
        let Some(r) = self.signalling_subflow(None) else { return };
        let due = match &self.config.kernel_paths {
            Some(kernel) => {
                let rto = self.subflows.iter().map(|subflow| subflow.rtt().base_rto()).max().unwrap_or(Duration::MAX);
                let longest = Duration::from_nanos(kernel.announce_again_ns);
                let by_rto = kernel.announce_by_rto;
                let wait = |sent: u32| if by_rto { longest.min(rto.doubled(sent.min(8))) } else { longest };
                self.addresses.take_due(now, wait, kernel.announce_repeats)
            }
            None => {
                let rto = self.subflows[r].rtt().base_rto();
                self.addresses.take_due(now, |sent| rto.doubled(sent.min(8)), self.config.tcp.syn_retries)
            }
        };
        for option in due {
            self.signal(r, MptcpOption::AddAddr(option));
        }
        self.arm_control(self.addresses.next_due());
    }

    pub(super) fn receive_add_addr(&mut self, now: Instant, r: usize, add: &AddAddr) {
        let Some(remote_key) = self.peer_key() else { return };
        if add.echo {
            if self.is_fully_established() {
                self.addresses.echoed(add);
                self.manage_paths(now, PathEvent::AddressEchoed { local_id: add.id });
            }
            return;
        }
        // "If the HMAC … does not match, the option MUST be silently ignored" (RFC 8684 §3.4.1).
        let hmac = wire::keys::add_addr_hmac(remote_key, self.keys.local, add.id, add.address, add.port);
        if !add.hmac.is_some_and(|theirs| wire::keys::same_u64(theirs, hmac)) {
            return;
        }
        if self.config.kernel_paths.is_some() && self.is_initiator() {
            // As in the kernel: the peer has the keys, and an announcement with a port leaves no room for a DSS.
            self.note_fully_established(now);
        }
        if !self.is_fully_established() {
            return;
        }
        self.signal(r, MptcpOption::AddAddr(AddAddr { echo: true, hmac: None, ..*add }));
        let port = add.port.unwrap_or(self.subflows[0].tuple().remote.port());
        let address = SocketAddr::new(add.address, port);
        if !may_be_announced(add.address, self.subflows[0].tuple()) {
            return;
        }
        if self.addresses.learn(add.id, address) {
            self.manage_paths(now, PathEvent::AddressAdded { remote_id: add.id });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_names_no_address_nearer_than_its_own_and_no_group() {
        let first = |local: &str, remote: &str| Tuple {
            local: SocketAddr::new(local.parse().unwrap(), 40_000),
            remote: SocketAddr::new(remote.parse().unwrap(), 80),
        };
        for (local, remote, announced, may) in [
            ("192.168.1.2", "203.0.113.7", "203.0.113.8", true),
            ("192.168.1.2", "203.0.113.7", "192.168.1.1", false),
            ("192.168.1.2", "203.0.113.7", "100.64.0.1", false),
            ("192.168.1.2", "203.0.113.7", "127.0.0.1", false),
            ("192.168.1.2", "203.0.113.7", "169.254.169.254", false),
            ("192.168.1.2", "203.0.113.7", "2001:db8::1", true),
            ("192.168.1.2", "203.0.113.7", "fd00::1", false),
            ("192.168.1.2", "203.0.113.7", "::ffff:10.0.0.1", false),
            ("192.168.1.2", "203.0.113.7", "203.0.113.255", false),
            ("192.168.1.2", "192.168.1.3", "203.0.113.8", true),
            ("192.168.1.2", "192.168.1.3", "10.0.0.1", true),
            ("192.168.1.2", "192.168.1.3", "192.168.1.255", false),
            ("192.168.1.2", "192.168.1.3", "127.0.0.1", false),
            ("192.168.1.2", "192.168.1.3", "224.0.0.1", false),
            ("192.168.1.2", "192.168.1.3", "255.255.255.255", false),
            ("127.0.0.1", "127.0.0.1", "127.0.0.2", true),
            ("fe80::1", "fe80::2", "fe80::3", true),
            ("2001:db8::1", "2001:db8::2", "fe80::3", false),
            ("2001:db8::1", "2001:db8::2", "ff02::1", false),
        ] {
            let found = may_be_announced(announced.parse().unwrap(), first(local, remote));
            assert_eq!(found, may, "{remote} announces {announced}");
        }
    }
}
