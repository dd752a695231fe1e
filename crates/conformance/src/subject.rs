//! What a case is played to.

use std::net::SocketAddr;

use crate::case::{Action, Sight};

/// Why something cannot be done or seen here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cannot(pub String);

/// A host with one application. Packets are whole, with their IP headers.
pub trait Subject {
    /// Time since the beginning of the case.
    fn now_ns(&self) -> u64;

    /// Lets time pass until the host has sent something, or until then; returns whether it did. What it does at that
    /// very moment is done.
    fn go_on(&mut self, until_ns: u64) -> bool;

    /// The next packet that the host has sent, and when.
    fn take(&mut self) -> Option<(u64, Vec<u8>)>;

    /// A packet arrives at the host.
    fn arrive(&mut self, packet: &[u8]);

    /// The application acts on its connection between these ends, the host's first.
    ///
    /// # Errors
    /// Where that is not possible.
    fn act(&mut self, action: Action, ends: (SocketAddr, SocketAddr)) -> Result<(), Cannot>;

    /// Whether the application sees this; otherwise what it sees instead. `ends` are those of the flow.
    ///
    /// # Errors
    /// Where that cannot be seen.
    fn see(&mut self, sight: &Sight, ends: (SocketAddr, SocketAddr)) -> Result<Result<(), String>, Cannot>;

    /// How long "at once" is, and by how much times may be missed.
    fn tolerance_ns(&self) -> u64;
}
