//! Network address and port translation: clients inside share one outside address (RFC 3022; RFC 5382 for TCP). This is
//! why Multipath TCP hosts identify addresses by address identifiers (RFC 8684 §3.4). Addresses in MPTCP options are
//! not translated.
//!
//! Each inside address and port has one outside port, regardless of the server (RFC 5382, REQ-1). Segments from a
//! server pass only if the client has contacted that server's address and port from there (the strictest filter, and
//! Linux's), so that no server can open a subflow to a client. Ports are assigned in order, each once.

use algorithm::{About, Declared, declared};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::{Transit, Way};

declared! {
    /// Settings of the middlebox.
    pub struct Config {}
}

/// The declaration of the middlebox.
pub(super) const ABOUT: About = About::new(
    "nat",
    "translates clients' addresses and ports; only the host that was contacted can reply",
    "RFC 3022; RFC 5382",
)
.parameters(Config::PARAMETERS);

/// Translates the client's address and port; drops segments without a mapping.
#[derive(Clone, Debug)]
pub struct Nat {
    outside: IpAddr,
    /// The next port to assign; `None` if all are in use.
    next_port: Option<u16>,
    /// Inside address and port by outside port, and the reverse mapping.
    inside: BTreeMap<u16, SocketAddr>,
    ports: BTreeMap<SocketAddr, u16>,
    /// Pairs of outside port and server that clients have contacted.
    called: BTreeSet<(u16, SocketAddr)>,
    dropped: u64,
}

impl Nat {
    /// Creates a NAT whose clients appear at address `outside`, with ports from `first_port` on.
    #[must_use]
    pub const fn new(outside: IpAddr, first_port: u16) -> Self {
        Self {
            outside,
            next_port: Some(first_port),
            inside: BTreeMap::new(),
            ports: BTreeMap::new(),
            called: BTreeSet::new(),
            dropped: 0,
        }
    }

    /// Number of segments dropped: inbound without a mapping, or outbound without a free port.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn process<P>(&mut self, mut transit: Transit<P>) -> Option<Transit<P>> {
        let translated = match transit.way {
            Way::Up => self.outward(transit.ends.client, transit.ends.server),
            Way::Down => self.inward(transit.ends.client, transit.ends.server),
        };
        let Some(client) = translated else {
            self.dropped += 1;
            return None;
        };
        transit.ends.client = client;
        match transit.way {
            Way::Up => transit.segment.src_port = client.port(),
            Way::Down => transit.segment.dst_port = client.port(),
        }
        Some(transit)
    }

    fn outward(&mut self, client: SocketAddr, server: SocketAddr) -> Option<SocketAddr> {
        let port = match self.ports.get(&client) {
            Some(&port) => port,
            None => {
                let port = self.next_port?;
                self.next_port = port.checked_add(1);
                self.ports.insert(client, port);
                self.inside.insert(port, client);
                port
            }
        };
        self.called.insert((port, server));
        Some(SocketAddr::new(self.outside, port))
    }

    fn inward(&self, client: SocketAddr, server: SocketAddr) -> Option<SocketAddr> {
        let known = client.ip() == self.outside && self.called.contains(&(client.port(), server));
        known.then(|| self.inside[&client.port()])
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, ends, syn};
    use super::*;

    const OUTSIDE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 1));

    #[test]
    fn a_client_has_one_port_outside_and_answers_find_back() {
        let mut nat = Nat::new(OUTSIDE, 5_000);
        let up = nat.process(syn(Way::Up, 1)).unwrap();
        assert_eq!(up.ends.client, SocketAddr::new(OUTSIDE, 5_000));
        assert_eq!((up.segment.src_port, up.segment.dst_port), (5_000, 80));
        assert_eq!(up.ends.server, ends().server);
        assert_eq!(up.segment.options, syn(Way::Up, 1).segment.options);
        // The answer goes to the outside address.
        let mut answer = data(Way::Down, 7, b"x");
        (answer.ends.client, answer.segment.dst_port) = (up.ends.client, 5_000);
        assert_eq!(nat.process(answer.clone()), Some(data(Way::Down, 7, b"x")));
        // The same client contacts another server: the same outside port, and that server may now answer.
        let other: SocketAddr = "198.51.100.9:443".parse().unwrap();
        answer.ends.server = other;
        assert_eq!(nat.process(answer.clone()), None);
        let mut call = syn(Way::Up, 1);
        call.ends.server = other;
        assert_eq!(nat.process(call).unwrap().ends.client.port(), 5_000);
        assert!(nat.process(answer).is_some());
        assert_eq!(nat.dropped(), 1);
    }

    #[test]
    fn what_nobody_inside_called_for_is_dropped_and_ports_end() {
        let mut nat = Nat::new(OUTSIDE, u16::MAX);
        assert_eq!(nat.process(syn(Way::Down, 1)), None, "to the inside address itself");
        assert!(nat.process(syn(Way::Up, 1)).is_some());
        let mut second = syn(Way::Up, 1);
        second.ends.client.set_port(2);
        assert_eq!(nat.process(second), None);
        assert!(nat.process(data(Way::Up, 2, b"x")).is_some(), "the first one keeps its port");
        assert_eq!(nat.dropped(), 2);
    }
}
