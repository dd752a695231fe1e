//! One subflow: TCP as RFC 9293 has it, with the recovery of RFC 6675.

pub mod acknowledge;
pub mod recovery;
pub mod rtt;
pub mod scoreboard;
pub mod subflow;
