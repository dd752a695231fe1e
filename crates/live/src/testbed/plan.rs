//! An agent's part of a run, as the controller sends it.

use std::net::{IpAddr, SocketAddr};

use scenario::description::Description;
use serde::Deserialize;

use super::opening::TOKEN_BYTES;

/// Which end of every connection is played here.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Calls.
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
    /// Which end.
    pub end: End,
    /// Reading of this machine's CLOCK_MONOTONIC that is time 0.
    pub zero_ns: u64,
    /// The secret that opens data connections.
    pub token: [u8; TOKEN_BYTES],
    /// Of each kind of connection, in the description's order.
    pub hosts: Vec<Host>,
}

/// What one kind of connection needs to know.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The address that the client calls from.
    pub client: IpAddr,
    /// Where the server listens.
    pub server: SocketAddr,
    /// Name of the congestion control in the kernel.
    pub congestion: String,
    /// The client's addresses, each with the index of its path in the description.
    pub paths: Vec<(IpAddr, usize)>,
}

impl Host {
    /// The path of a subflow by the client's address. A box that translates addresses hides it from the server: then that
    /// of the first subflow is known, and of two paths the other.
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
