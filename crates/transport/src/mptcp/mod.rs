//! One connection: Multipath TCP (RFC 8684) over its subflows; TCP is the case of one subflow and no options.

mod close;
mod connection;
mod data;
mod handshake;
mod join;
mod probe;
mod receive;
mod reinjection;
mod timers;
mod transmit;
mod window;

pub use connection::{Connection, Event};
