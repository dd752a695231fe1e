//! Path managers: which subflows a connection opens, announces and closes. One policy a file. A path manager takes
//! events and answers with actions; the transport performs them.

mod fullmesh;
mod passive;

pub use fullmesh::Fullmesh;
pub use passive::Passive;

use std::net::IpAddr;

/// An address of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalAddress {
    /// Address id (RFC 8684 §3.2); the one that opens the connection has id 0.
    pub id: u8,
    /// Address.
    pub address: IpAddr,
    /// Whether subflows from it are backups.
    pub backup: bool,
}

/// What a path manager is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathEvent {
    /// The peer has proved that it speaks MPTCP: subflows may be added.
    FullyEstablished,
    /// A subflow was established.
    SubflowEstablished {
        /// Its local address id.
        local_id: u8,
        /// Its remote address id.
        remote_id: u8,
    },
    /// A subflow is gone.
    SubflowClosed {
        /// Its local address id.
        local_id: u8,
        /// Its remote address id.
        remote_id: u8,
    },
}

/// What a path manager knows.
#[derive(Clone, Copy, Debug)]
pub struct PathContext<'a> {
    /// Whether this host opened the connection; only that side joins (as Linux does).
    pub initiator: bool,
    /// The addresses of this host, the connection's own first.
    pub local: &'a [LocalAddress],
    /// The peer's addresses by id that are known.
    pub remote_ids: &'a [u8],
}

/// What a path manager wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathAction {
    /// Open a subflow.
    Join {
        /// From this address.
        local_id: u8,
        /// To this address of the peer.
        remote_id: u8,
        /// With the backup flag.
        backup: bool,
    },
}

/// A path management policy.
pub trait PathPolicy: std::fmt::Debug + Send {
    /// Its name as in `mptcplab list path-managers`.
    fn name(&self) -> &'static str;

    /// Something happened: add what is to be done to `actions`.
    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>);
}

/// Which path manager a connection gets.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Opens nothing itself.
    Passive,
    /// Every local address with every remote one.
    Fullmesh,
    /// One from outside.
    Custom(fn() -> Box<dyn PathPolicy>),
}

/// A path manager: built-in, or from outside by its box.
#[derive(Debug)]
pub enum PathManager {
    /// Opens nothing itself.
    Passive(Passive),
    /// Every local address with every remote one.
    Fullmesh(Fullmesh),
    /// From outside.
    Custom(Box<dyn PathPolicy>),
}

impl PathManager {
    /// A fresh path manager.
    #[must_use]
    pub fn new(choice: &Choice) -> Self {
        match choice {
            Choice::Passive => PathManager::Passive(Passive),
            Choice::Fullmesh => PathManager::Fullmesh(Fullmesh),
            Choice::Custom(make) => PathManager::Custom(make()),
        }
    }

    pub(crate) fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        match self {
            PathManager::Passive(p) => p.on_event(event, context, actions),
            PathManager::Fullmesh(p) => p.on_event(event, context, actions),
            PathManager::Custom(p) => p.on_event(event, context, actions),
        }
    }
}
