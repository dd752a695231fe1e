//! Configuration of a stack.

use std::net::IpAddr;

use serde::Deserialize;

/// An address of the stack and the device whose packets bear it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Address id (RFC 8684 §3.2).
    pub id: u8,
    /// Address.
    pub address: IpAddr,
    /// Number of the device.
    pub device: usize,
    /// Whether subflows from it are backups.
    #[serde(default)]
    pub backup: bool,
}

/// Configuration of a stack.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Addresses. Connections are opened from the first of the peer's family unless one is named.
    pub addresses: Vec<Address>,
    /// Of what plug-ins draw. Keys, nonces, initial sequence numbers and ports come from the operating system.
    pub seed: u64,
}
