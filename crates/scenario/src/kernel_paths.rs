//! What a scenario tells the kernel's path manager, at both ends of a kind of connection: `[[endpoint]]` and `[limits]`.

use std::net::IpAddr;

use serde::Deserialize;
use transport::path_manager::Choice;
use transport::path_manager::linux::{Endpoint, Flags, Kernel, Limits, Settings};
use transport::{Config, LocalAddress};

/// Both ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelPaths {
    /// Whose rules hold.
    pub kernel: String,
    /// The client's, with an address for each path of the connection.
    pub client: Side,
    /// The server's.
    pub server: Side,
    /// For each address of the server, that which is called first: the place, among the paths of the connection, of the one
    /// that clients take to it.
    pub server_places: Vec<usize>,
}

/// One end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// `ip mptcp limits set subflows`.
    pub subflows: u8,
    /// `ip mptcp limits set add_addr_accepted`.
    pub add_addr_accepted: u8,
    /// `net.mptcp.allow_join_initial_addr_port`; without it the flag C is set.
    pub allow_join_initial_addr_port: bool,
    /// In the order in which they are added.
    pub endpoints: Vec<Named>,
}

/// An endpoint.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its number, from 1.
    pub id: u8,
    /// Which of the host's addresses.
    pub address: usize,
    /// What it is for, in the words of `ip mptcp endpoint`.
    pub flags: Vec<Flag>,
    /// Announced with this port.
    pub port: Option<u16>,
}

/// A word of `ip mptcp endpoint`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flag {
    /// Open a subflow from the address.
    Subflow,
    /// Announce it.
    Signal,
    /// Its subflows are backups.
    Backup,
    /// To all addresses of the peer.
    Fullmesh,
    /// Join announced addresses from it.
    Laminar,
}

impl Named {
    fn flags(&self) -> Flags {
        let has = |flag| self.flags.contains(&flag);
        Flags {
            subflow: has(Flag::Subflow),
            signal: has(Flag::Signal),
            backup: has(Flag::Backup),
            fullmesh: has(Flag::Fullmesh),
            laminar: has(Flag::Laminar),
        }
    }
}

impl Side {
    /// The id of an address: 0 for the first, and for one without an endpoint a number behind those of all endpoints. Those of the
    /// latter are exchanged on the wire for numbers in the order of their first use.
    #[must_use]
    pub fn id(&self, address: usize) -> u8 {
        if address == 0 {
            return 0;
        }
        if let Some(endpoint) = self.endpoints.iter().find(|each| each.address == address) {
            return endpoint.id;
        }
        let before = (1..address).filter(|&other| !self.endpoints.iter().any(|each| each.address == other)).count();
        self.first_without_endpoint().saturating_add(u8::try_from(before).unwrap_or(u8::MAX))
    }

    /// The lowest id of an address without an endpoint.
    fn first_without_endpoint(&self) -> u8 {
        self.endpoints.iter().map(|each| each.id).max().unwrap_or(0).saturating_add(1)
    }

    /// Whether subflows from an address are backups.
    #[must_use]
    pub fn is_backup(&self, address: usize) -> bool {
        self.endpoints.iter().any(|each| each.address == address && each.flags.contains(&Flag::Backup))
    }

    fn settings(&self, kernel: Kernel, sources: Vec<(IpAddr, u8)>) -> Settings {
        let endpoint = |each: &Named| Endpoint {
            id: each.id,
            is_first: each.address == 0 && each.port.is_none(),
            flags: each.flags(),
            port: each.port,
        };
        Settings {
            kernel,
            limits: Limits { subflows: self.subflows, add_addr_accepted: self.add_addr_accepted },
            endpoints: self.endpoints.iter().map(endpoint).collect(),
            sources,
        }
    }

    fn ports(&self) -> Vec<u16> {
        self.endpoints.iter().filter_map(|each| each.port).collect()
    }
}

impl KernelPaths {
    /// Gives both ends (the client's first) the kernel's path manager with what it was told; `server` says what the server's
    /// addresses are.
    ///
    /// # Panics
    /// When the kernel is none that [`Kernel`] names, which the reader of scenarios refuses.
    pub fn configure(&self, configs: &mut [Config; 2], server: impl Fn(usize) -> IpAddr) {
        let kernel = Kernel::named(&self.kernel).expect("a kernel that the path manager knows");
        let sources = self.server_places.iter().enumerate();
        let sources = sources.map(|(number, &place)| (server(number), self.client.id(place))).collect();
        for (config, side, sources) in
            configs.iter_mut().zip([&self.client, &self.server]).zip([sources, Vec::new()]).map(|((a, b), c)| (a, b, c))
        {
            let settings = side.settings(kernel, sources);
            config.path_manager =
                Choice::custom("linux", move |_| Box::new(transport::path_manager::linux::Linux::new(&settings)));
            config.kernel_paths = Some(transport::KernelPaths {
                extra_subflows: side.subflows,
                first_without_endpoint: side.first_without_endpoint(),
                ports: side.ports(),
                announce_again_ns: Kernel::ANNOUNCE_AGAIN_NS,
                announce_by_rto: kernel.announces_by_rto(),
                announce_repeats: Kernel::ANNOUNCE_REPEATS,
            });
            config.join_first_address = side.allow_join_initial_addr_port;
        }
        let addresses = self.server.endpoints.iter().map(|each| LocalAddress {
            id: each.id,
            address: server(each.address),
            backup: each.flags.contains(&Flag::Backup),
        });
        configs[1].addresses = addresses.collect();
    }
}
