//! What `ip mptcp endpoint` and `ip mptcp limits` set: the vocabulary of the kernel's path manager.

use std::net::IpAddr;

/// A kernel whose path manager is modelled. Each is the long-term release of that name with the fixes of its stable series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kernel {
    /// 6.1.
    V6_1,
    /// 6.6.
    V6_6,
    /// 6.12.
    V6_12,
    /// 6.18.
    V6_18,
}

impl Kernel {
    /// Their names, the oldest first.
    pub const NAMES: &'static [&'static str] = &["6.1", "6.6", "6.12", "6.18"];

    /// The one of this name, which must be one of [`Kernel::NAMES`].
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [Kernel::V6_1, Kernel::V6_6, Kernel::V6_12, Kernel::V6_18];
        Self::NAMES.iter().position(|&each| each == name).map(|place| all[place])
    }

    /// Whether endpoints may be `laminar`.
    #[must_use]
    pub fn knows_laminar(self) -> bool {
        self >= Kernel::V6_18
    }

    /// Whether an endpoint `fullmesh` opens a subflow for each that exists, also to an address that it has reached already.
    #[must_use]
    pub fn repeats_fullmesh(self) -> bool {
        self < Kernel::V6_6
    }

    /// Whether an announcement is repeated after the largest retransmission timeout of the subflows, then twice that and so
    /// on, and not after [`Kernel::ANNOUNCE_AGAIN_NS`] each time.
    #[must_use]
    pub fn announces_by_rto(self) -> bool {
        self >= Kernel::V6_18
    }

    /// `net.mptcp.add_addr_timeout`.
    pub const ANNOUNCE_AGAIN_NS: u64 = 120_000_000_000;
    /// How often an announcement is repeated.
    pub const ANNOUNCE_REPEATS: u32 = 3;
}

/// What an endpoint is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags {
    /// The host opens a subflow from the address.
    pub subflow: bool,
    /// The host announces the address (ADD_ADDR).
    pub signal: bool,
    /// Subflows of the address are backups.
    pub backup: bool,
    /// Subflows to all addresses of the peer that are known, in place of the first one only.
    pub fullmesh: bool,
    /// The address from which an announced address of the peer is joined (6.18).
    pub laminar: bool,
}

/// An address in the path manager's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Its number, 1 to 255.
    pub id: u8,
    /// Whether it is the address of the connection's first subflow, which has id 0 there whatever its number.
    pub is_first: bool,
    /// What it is for.
    pub flags: Flags,
    /// Announced with this port, and listened on.
    pub port: Option<u16>,
}

/// `ip mptcp limits`, with the kernel's defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Subflows of a connection beside the first.
    pub subflows: u8,
    /// Announced addresses of the peer that are joined.
    pub add_addr_accepted: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { subflows: 2, add_addr_accepted: 0 }
    }
}

/// What a host's path manager has been told when a connection begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Whose rules hold.
    pub kernel: Kernel,
    /// How many subflows and addresses.
    pub limits: Limits,
    /// In the order in which they were added.
    pub endpoints: Vec<Endpoint>,
    /// Local ids of the addresses that the host's routing takes to reach addresses of the peer; 0, the first, for any other.
    pub sources: Vec<(IpAddr, u8)>,
}

impl Settings {
    /// A host that has been told nothing.
    #[must_use]
    pub fn untouched(kernel: Kernel) -> Self {
        Settings { kernel, limits: Limits::default(), endpoints: Vec::new(), sources: Vec::new() }
    }

    /// The endpoints in the kernel's order: those with a port come before the others, the last one added first.
    pub(super) fn in_order(&self) -> Vec<Endpoint> {
        let with_port = self.endpoints.iter().rev().filter(|each| each.port.is_some());
        with_port.chain(self.endpoints.iter().filter(|each| each.port.is_none())).copied().collect()
    }
}
