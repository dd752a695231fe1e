//! The input from Python: the scenario, the devices, and the addresses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::RawFd;

use scenario::description::Description;
use serde::Deserialize;

use crate::engine::Port;

/// A run of the engine `stack`. The caller owns the descriptors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The scenario.
    pub description: Description,
    /// The emulator's devices.
    pub ports: Vec<Port>,
    /// The largest packet of any device.
    pub packet_bytes: usize,
    /// Descriptor of the clients' device or, if that host is the kernel's, of its namespace.
    pub client: RawFd,
    /// The same for the servers.
    pub server: RawFd,
    /// Which host is the kernel's, if any.
    #[serde(default)]
    pub kernel: Option<KernelHost>,
    /// The servers' address.
    pub server_address: Ipv4Addr,
    /// For each path of the description, the network of its clients, a /24.
    pub networks: Vec<Ipv4Addr>,
}

/// The host that is the kernel's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelHost {
    /// Whether it is the clients' host; otherwise it is the servers'.
    pub is_client: bool,
    /// The name of the congestion control of each kind of connection's sockets.
    pub congestion: Vec<String>,
}

/// Number of addresses that one connection may have on one path.
pub const PLACES: usize = 8;
/// Number of address groups in a /24.
const GROUPS: u32 = 31;
/// Connections of one group differ by their port. Between two of them there is room for subflows of the same address.
const FIRST_PORT: u16 = 2048;
const PORT_STEP: u16 = 16;
const PORTS: u32 = (u16::MAX - FIRST_PORT) as u32 / PORT_STEP as u32;
/// Connections of kind `k` in the description use this port plus `k`.
const SERVER_PORT: u16 = 1024;

impl Plan {
    /// All client addresses on all paths.
    pub fn client_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.networks.iter().flat_map(|network| {
            let last = GROUPS * PLACES as u32;
            (1..=last).map(|number| IpAddr::V4(Ipv4Addr::from_bits(network.to_bits() + number)))
        })
    }

    /// The address from which connection number `number` of the run connects on the path `path`, which is its
    /// `place`-th.
    pub fn client(&self, number: u32, path: usize, place: usize) -> IpAddr {
        let group = number / PORTS % GROUPS;
        let offset = 1 + group * PLACES as u32 + place as u32;
        IpAddr::V4(Ipv4Addr::from_bits(self.networks[path].to_bits() + offset))
    }

    /// The client port of connection number `number`.
    pub fn client_port(number: u32) -> u16 {
        FIRST_PORT + (number % PORTS) as u16 * PORT_STEP
    }

    /// The path of a client's address.
    pub fn path_of(&self, address: IpAddr) -> Option<usize> {
        let IpAddr::V4(address) = address else { return None };
        self.networks.iter().position(|network| network.to_bits() & !0xff == address.to_bits() & !0xff)
    }

    /// How many addresses the servers have.
    pub fn server_addresses(&self) -> usize {
        let told = self.description.connections.iter().filter_map(|each| each.kernel_paths.as_ref());
        told.map(|told| told.server_places.len()).max().unwrap_or(1)
    }

    /// The servers' address of this number, starting with the one that clients connect to.
    pub fn server_at(&self, number: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(self.server_address.to_bits() + number as u32))
    }

    /// The address and port to which connections of `kind` connect.
    pub fn server(&self, kind: usize) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(self.server_address), SERVER_PORT + kind as u16)
    }
}
