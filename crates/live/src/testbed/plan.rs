//! An agent's part of a run, as sent by the controller.

use std::net::{IpAddr, SocketAddr};

use scenario::description::Description;
use serde::Deserialize;

use super::opening::TOKEN_BYTES;

/// Which end of every connection this agent plays.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Connects.
    Client,
    /// Listens.
    Server,
}

/// One end of a run of the engine `testbed`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The scenario.
    pub description: Description,
    /// The end played here.
    pub end: End,
    /// Reading of this machine's CLOCK_MONOTONIC at time 0.
    pub zero_ns: u64,
    /// The secret that authorises data connections.
    pub token: [u8; TOKEN_BYTES],
    /// For each kind of connection, in the description's order.
    pub hosts: Vec<Host>,
}

/// The hosts of one kind of connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The address from which the client connects.
    pub client: IpAddr,
    /// The address and port on which the server listens.
    pub server: SocketAddr,
    /// Name of the congestion control in the kernel.
    pub congestion: String,
    /// The client's addresses, each with the index of its path in the description.
    pub paths: Vec<(IpAddr, usize)>,
}

impl Host {
    /// The path of a subflow by the client's address. A NAT hides that address from the server: then the path of the
    /// first subflow is known and, if there are two paths, the other is that of further subflows.
    pub fn path(&self, client: IpAddr, is_first: bool) -> Option<usize> {
        let known = self.paths.iter().find(|(address, _)| *address == client).map(|&(_, path)| path);
        known.or_else(|| match (&self.paths[..], is_first) {
            ([(_, first), ..], true) => Some(*first),
            ([_, (_, second)], false) => Some(*second),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_translator_two_paths_are_told_apart() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut host = Host {
            client: address("10.0.0.1"),
            server: "192.0.2.1:7414".parse().unwrap(),
            congestion: "cubic".into(),
            paths: vec![(address("10.0.0.1"), 4), (address("10.1.0.1"), 2)],
        };
        assert_eq!(host.path(address("10.1.0.1"), false), Some(2));
        assert_eq!(host.path(address("198.51.100.1"), true), Some(4));
        assert_eq!(host.path(address("198.51.100.1"), false), Some(2));
        host.paths.push((address("10.2.0.1"), 3));
        assert_eq!(host.path(address("198.51.100.1"), false), None, "which of two others it is cannot be known");
    }
}
