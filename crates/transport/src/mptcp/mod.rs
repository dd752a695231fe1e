//! One connection: Multipath TCP (RFC 8684) over its subflows; TCP is the case of one subflow and no options.

mod add_addr;
mod addresses;
mod behind_hole;
mod bound;
mod checksum;
mod close;
mod connection;
mod context;
mod data;
mod fallback;
mod handshake;
mod join;
mod mp_fail;
mod mp_fastclose;
mod mp_prio;
mod opportunistic;
mod options;
mod paths;
mod plain;
mod probe;
mod ready;
mod receive;
mod redundant;
mod reinjection;
mod remove_addr;
mod reset;
mod signal;
mod timers;
mod transmit;
mod waiting;
mod window;

pub use connection::{Connection, Event};
pub use join::SUBFLOW_LIMIT;
pub use reset::ResetReason;
pub use transmit::{Form, Outgoing};
#[cfg(test)]
pub(crate) use waiting::Early;
