//! The most that a queue holds.

use serde::Deserialize;

/// The most a queue holds, the packet being sent and the arriving one counted. An empty queue accepts any packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Bytes, headers included.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// It is a length, and no number of one unit.
impl algorithm::Field for Limit {
    fn of(value: algorithm::Value) -> Self {
        panic!("the limit of a queue has no default that does not depend on its rate, as {value}")
    }
}
