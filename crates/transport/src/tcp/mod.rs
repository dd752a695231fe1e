//! One subflow: TCP as RFC 9293 has it, with the loss detection of RFC 8985 or RFC 6675.

pub mod acknowledge;
pub mod arrival;
pub mod close;
pub mod ecn;
pub mod growth;
pub mod handshake;
pub mod losses;
pub mod notes;
pub mod pacing;
pub mod path_mtu;
pub mod rack;
pub mod ranges;
pub mod rate;
pub mod rcv_ssthresh;
pub mod receive;
pub mod recovery;
pub mod reorder;
pub mod rtt;
pub mod run;
pub mod scoreboard;
pub mod sender;
pub mod subflow;
pub mod timers;
pub mod transmit;
pub mod validation;
pub mod wholes;
