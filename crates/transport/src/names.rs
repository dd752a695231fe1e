//! What connections, subflows and their ends are called by.

use std::net::SocketAddr;

/// A connection of a host, until the host [forgets](Host::forget) it; then the id may name another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct ConnectionId(pub u32);

/// A subflow of a connection, in the order they were opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, serde::Serialize)]
pub struct SubflowId(pub u8);

/// Where a segment belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle {
    /// Connection.
    pub connection: ConnectionId,
    /// Subflow.
    pub subflow: SubflowId,
}

/// The two ends of a subflow as this host sees them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Tuple {
    /// This host's end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
}
