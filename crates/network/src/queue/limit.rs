//! The capacity of a queue.

use serde::Deserialize;

/// The capacity of a queue, including the packet being sent and the arriving one. An empty queue accepts any packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// In bytes, including headers.
    Bytes(u64),
    /// In packets.
    Packets(u64),
}

/// A limit may be given in several units, so it has no numeric value.
impl algorithm::Field for Limit {
    fn of(value: algorithm::Value) -> Self {
        panic!("the limit of a queue has no default that does not depend on its rate, as {value}")
    }
}
