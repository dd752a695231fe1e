//! One subflow: TCP as RFC 9293 has it, with the loss detection of RFC 8985 or RFC 6675.

pub mod acknowledge;
pub mod arrival;
pub mod earned;
pub mod ecn;
pub mod losses;
pub mod notes;
pub mod pacing;
pub mod rack;
pub mod ranges;
pub mod rate;
pub mod recovery;
pub mod reorder;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod subflow;
mod too_big;
pub mod validation;
pub mod wholes;
