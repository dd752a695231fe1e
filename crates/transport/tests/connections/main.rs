//! Whole connections between hosts, in virtual time. One program: what each would compile anew is compiled once.
#![allow(missing_docs)]

mod common;

mod bound;
mod host;
mod laws;
mod limits;
mod mptcp_addresses;
mod mptcp_checksum;
mod mptcp_close;
mod mptcp_fallback;
mod mptcp_middlebox;
mod mptcp_mutation;
mod mptcp_scripted;
mod needless_timeouts;
mod property;
mod receive_window;
mod recovery;
mod scheduler_context;
mod schedulers;
mod send_plan;
mod sender_laws;
mod tcp_scripted;
mod tcp_timeouts;
mod tracing;
mod transfer;
mod window_validation;
