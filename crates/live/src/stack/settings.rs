//! Configuration of a stack.

use std::net::IpAddr;

use serde::Deserialize;

/// An address of the stack and its device.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Address identifier (RFC 8684 §3.2).
    pub id: u8,
    /// The address.
    pub address: IpAddr,
    /// Index of the device.
    pub device: usize,
    /// Whether subflows from it are backups.
    #[serde(default)]
    pub backup: bool,
}

/// Configuration of a stack.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The addresses. Connections are opened from the first address of the peer's family unless one is named.
    pub addresses: Vec<Address>,
    /// Seed for plug-ins. Keys, nonces, initial sequence numbers and ports come from the operating system.
    pub seed: u64,
}
