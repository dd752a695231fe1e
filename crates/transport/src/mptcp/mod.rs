//! One connection: Multipath TCP (RFC 8684) over its subflows; TCP is the case of one subflow and no options.

mod add_addr;
pub(crate) mod at_once;
mod checksum;
mod close;
mod connection;
mod data;
mod data_level;
mod dispatch;
mod fallback;
mod first_windows;
#[cfg(test)]
mod fixture;
mod handshake;
mod icmp;
mod join;
mod linux_receiver;
mod mp_fail;
mod mp_fastclose;
mod mp_prio;
mod options;
mod outgoing;
mod own_window;
mod paths;
mod plan;
mod probe;
mod receive;
mod reinject;
mod remove_addr;
mod reset;
mod signal;
mod smallest_rtt;
mod stale;
mod state;
mod timers;
mod tracing;
mod transmit;
mod tuning;

pub use connection::{Connection, Event, SUBFLOW_LIMIT};
pub use outgoing::{Form, Outgoing};
pub use state::ending::AbortReason;
pub use state::reset::ResetReason;
#[cfg(test)]
pub(crate) use state::waiting::Early;
