//! The input from Python: the scenario, and the hosts set up for it.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;

use scenario::description::Description;
use serde::Deserialize;

use crate::engine::Port;

/// A run of the engine `linux`. The caller owns the descriptors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The scenario.
    pub description: Description,
    /// The emulator's devices.
    pub ports: Vec<Port>,
    /// The largest packet of any device.
    pub packet_bytes: usize,
    /// The two hosts of each kind of connection, in the description's order.
    pub hosts: Vec<Hosts>,
    /// Reading of CLOCK_MONOTONIC at time 0, for programs that run alongside. If absent, time 0 is when all are ready.
    #[serde(default)]
    pub zero_ns: Option<u64>,
}

/// The hosts of one kind of connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Descriptor of the client's network namespace.
    pub client_namespace: RawFd,
    /// Descriptor of the server's network namespace.
    pub server_namespace: RawFd,
    /// The address from which the client connects.
    pub client: IpAddr,
    /// The address and port on which the server listens.
    pub server: SocketAddr,
    /// Name of the congestion control in the kernel.
    pub congestion: String,
    /// The client's addresses, each with the index of its path in the description.
    pub paths: Vec<(IpAddr, usize)>,
}
