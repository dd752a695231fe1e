//! One connection: Multipath TCP (RFC 8684) over its subflows; TCP is the case of one subflow and no options.

mod connection;
mod first_windows;
mod options;
mod state;

pub(crate) use connection::at_once;
pub use connection::outgoing::{Form, Outgoing};
pub use connection::{Connection, Event, SUBFLOW_LIMIT};
pub use state::ending::AbortReason;
pub use state::reset::ResetReason;
#[cfg(test)]
pub(crate) use state::waiting::Early;
