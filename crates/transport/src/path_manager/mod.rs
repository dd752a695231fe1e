//! Path managers: which subflows a connection opens, announces and closes. One policy a file, which declares it, and a
//! line in the table below (docs/add-an-algorithm.md). A path manager takes events and answers with actions; the transport performs them, and ignores what is impossible: an unknown address, a
//! subflow too many, anything once TCP is spoken.

mod backup;
mod binder;
pub mod contract;
mod fullmesh;
pub mod linux;
mod ndiffports;
mod passive;

built_in! {
    /// A path manager: built-in, or from outside by its box.
    enum PathManager, dyn PathPolicy:
    passive::Passive,
    fullmesh::Fullmesh,
    ndiffports::Ndiffports,
    binder::Binder,
    backup::Backup,
    linux::Linux: Box<Linux>,
}

use std::net::{IpAddr, SocketAddr};

use crate::algorithm::{self, Family, Row, built_in};
use crate::time::Instant;

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

/// An address of the peer: of the first subflow (id 0), or announced by ADD_ADDR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteAddress {
    /// Address id.
    pub id: u8,
    /// Address and port to join.
    pub address: SocketAddr,
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
    /// A subflow is gone, or could not be opened.
    SubflowClosed {
        /// Its local address id.
        local_id: u8,
        /// Its remote address id.
        remote_id: u8,
        /// Whether trying again makes sense: a timeout, or a reset that does not exclude it (T of MP_TCPRST, RFC 8684
        /// §3.6). False when it was closed in order.
        transient: bool,
    },
    /// The peer announced an address, or did so again.
    AddressAdded {
        /// Its id.
        remote_id: u8,
    },
    /// The peer has echoed an announcement of ours.
    AddressEchoed {
        /// Id of the address.
        local_id: u8,
    },
    /// The peer withdrew an address.
    AddressRemoved {
        /// Its id.
        remote_id: u8,
    },
    /// An address of this host is gone, its interface with it.
    LocalAddressRemoved {
        /// Its id.
        local_id: u8,
    },
    /// An address of this host that was gone is there again.
    LocalAddressAdded {
        /// Its id.
        local_id: u8,
    },
    /// The time of [`PathAction::WakeAt`] has come.
    Timer,
}

/// What a path manager knows.
#[derive(Clone, Copy, Debug)]
pub struct PathContext<'a> {
    /// Now.
    pub now: Instant,
    /// Whether this host opened the connection; the others' ports take no subflows, so only that side joins.
    pub initiator: bool,
    /// The addresses of this host that may be used, the connection's own first.
    pub local: &'a [LocalAddress],
    /// The peer's addresses that are known and may be joined.
    pub remote: &'a [RemoteAddress],
    /// The subflows that are open or being opened: local and remote address id.
    pub open: &'a [(u8, u8)],
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
    /// Tell the peer of an address (ADD_ADDR, RFC 8684 §3.4.1).
    Announce {
        /// The address.
        local_id: u8,
        /// Its port, when it is not the connection's.
        port: Option<u16>,
    },
    /// An address cannot be used any more: tell the peer (REMOVE_ADDR, RFC 8684 §3.4.2) and close its subflows.
    Withdraw {
        /// The address.
        local_id: u8,
    },
    /// Make subflows backups, or active ones again (MP_PRIO, RFC 8684 §3.3.8).
    SetBackup {
        /// Their local address.
        local_id: u8,
        /// Their remote address.
        remote_id: u8,
        /// Which of both.
        backup: bool,
    },
    /// Close subflows in order.
    Close {
        /// Their local address.
        local_id: u8,
        /// Their remote address.
        remote_id: u8,
    },
    /// Send [`PathEvent::Timer`] at this time.
    WakeAt {
        /// When.
        at: Instant,
    },
}

/// A path management policy.
pub trait PathPolicy: std::fmt::Debug + Send {
    /// Its name as in `mptcplab list path-managers`.
    fn name(&self) -> &'static str;

    /// Something happened: add what is to be done to `actions`.
    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>);
}

/// The path managers.
#[derive(Debug)]
pub struct PathManagers;

impl Family for PathManagers {
    const NOUN: &'static str = "path manager";
    type Built = PathManager;
    type Outside = dyn PathPolicy;

    fn table() -> &'static [Row<PathManager>] {
        TABLE
    }

    fn outside(algorithm: Box<dyn PathPolicy>) -> PathManager {
        PathManager::Custom(algorithm)
    }
}

/// Which path manager a connection gets.
pub type Choice = algorithm::Choice<PathManagers>;

/// How many subflows it opens unasked, if the user can set that: its parameter `subflows`.
#[must_use]
pub fn subflows_asked_for(choice: &Choice) -> Option<u8> {
    let given = choice.given()?;
    given.has("subflows").then(|| u8::try_from(given.whole("subflows")).unwrap_or(u8::MAX))
}

impl PathPolicy for PathManager {
    fn name(&self) -> &'static str {
        each!(self, p => p.name())
    }

    fn on_event(&mut self, event: PathEvent, context: &PathContext<'_>, actions: &mut Vec<PathAction>) {
        each!(self, p => p.on_event(event, context, actions));
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! What the tests of the policies share.

    use super::*;
    use std::net::Ipv4Addr;

    pub fn local(id: u8) -> LocalAddress {
        LocalAddress { id, address: IpAddr::V4(Ipv4Addr::new(10, 0, id, 2)), backup: false }
    }

    pub fn remote(id: u8) -> RemoteAddress {
        RemoteAddress { id, address: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, id, 9)), 80) }
    }

    pub fn join(local_id: u8, remote_id: u8) -> PathAction {
        PathAction::Join { local_id, remote_id, backup: false }
    }

    pub fn closed(local_id: u8, remote_id: u8) -> PathEvent {
        PathEvent::SubflowClosed { local_id, remote_id, transient: true }
    }

    pub fn ask(policy: &mut dyn PathPolicy, event: PathEvent, context: &PathContext<'_>) -> Vec<PathAction> {
        let mut actions = Vec::new();
        policy.on_event(event, context, &mut actions);
        actions
    }
}
