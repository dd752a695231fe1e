//! The input from Python: the scenario, and the hosts prepared for it.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;

use scenario::description::Description;
use serde::Deserialize;

use crate::engine::Port;

/// A run of the engine `linux`. Descriptors stay the caller's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The scenario.
    pub description: Description,
    /// The devices.
    pub ports: Vec<Port>,
    /// The largest packet of any device.
    pub packet_bytes: usize,
    /// Of each kind of connection, in the description's order, its two hosts.
    pub hosts: Vec<Hosts>,
    /// Reading of CLOCK_MONOTONIC at time 0, for programs that run alongside; if absent, as soon as all are ready.
    #[serde(default)]
    pub zero_ns: Option<u64>,
}

/// The hosts of one kind of connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Descriptor of the client's network namespace.
    pub client_namespace: RawFd,
    /// Descriptor of the server's.
    pub server_namespace: RawFd,
    /// The address that the client calls from.
    pub client: IpAddr,
    /// Where the server listens.
    pub server: SocketAddr,
    /// Name of the congestion control in the kernel.
    pub congestion: String,
    /// The client's addresses, each with the index of its path in the description.
    pub paths: Vec<(IpAddr, usize)>,
}
