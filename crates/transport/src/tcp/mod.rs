//! One subflow: TCP as RFC 9293 has it, with the loss detection of RFC 8985 or RFC 6675.

pub mod acknowledge;
pub mod arrival;
pub mod control;
pub mod detection;
pub mod ecn;
pub mod fins;
pub mod growth;
pub mod losses;
pub mod notes;
pub mod opening;
pub mod pacing;
pub mod rack;
pub mod ranges;
pub mod rate;
pub mod rcv_ssthresh;
pub mod recovery;
pub mod reorder;
pub mod rtt;
pub mod run;
pub mod scoreboard;
pub mod socket_queue;
pub mod subflow;
pub mod tso;
pub mod validation;
pub mod wheel;
pub mod wholes;
