//! All subflows opened at once, with keys that both ends know beforehand: outside RFC 8684, whose joins wait for the keys of
//! the first handshake. For comparing with simulators that do so ([`Config::joins_at_once`](crate::Config::joins_at_once)).

use std::net::SocketAddr;

use super::Connection;
use crate::names::Tuple;
use crate::path_manager::PathEvent;
use crate::queue::Sendable;
use crate::time::Instant;

/// The keys of a connection between these ends: the client's and the server's. No secret, and none is needed.
pub(crate) fn agreed_keys(client: SocketAddr, server: SocketAddr) -> [u64; 2] {
    [1, 2].map(|role: u64| {
        let mut key = role;
        for end in [client, server] {
            let address = match end.ip() {
                std::net::IpAddr::V4(address) => u64::from(u32::from(address)),
                std::net::IpAddr::V6(address) => (u128::from(address) ^ (u128::from(address) >> 64)) as u64,
            };
            for word in [address, u64::from(end.port())] {
                // The finalizer of SplitMix64.
                key = key.wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
                key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                key ^= key >> 31;
            }
        }
        key
    })
}

impl<P: Sendable> Connection<P> {
    /// Where that is asked for, knows the peer's key before any segment, and so may join and be joined.
    pub(super) fn begin_at_once(&mut self, now: Instant, tuple: Tuple) {
        if !self.config.joins_at_once || !self.level.is_multipath() {
            return;
        }
        let key = if self.is_initiator() {
            agreed_keys(tuple.local, tuple.remote)[1]
        } else {
            agreed_keys(tuple.remote, tuple.local)[0]
        };
        self.learn_key(key);
        self.set_fully_established();
        if self.is_initiator() {
            self.manage_paths(now, PathEvent::FullyEstablished);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_end_address_and_port() {
        let at = |last: u8, port: u16| SocketAddr::from(([10, 0, 0, last], port));
        let [client, server] = agreed_keys(at(1, 1000), at(2, 80));
        assert_ne!(client, server);
        assert_ne!(agreed_keys(at(1, 1001), at(2, 80))[0], client);
        assert_ne!(agreed_keys(at(3, 1000), at(2, 80))[0], client);
        assert_eq!(agreed_keys(at(1, 1000), at(2, 80)), [client, server]);
    }
}
