//! TCP and Multipath TCP without I/O: time is an argument, segments go in and come out.
//!
//! A [`Host`] holds the connections of a machine, finds the one that a segment belongs to, and accepts new ones. A
//! [`Connection`] is MPTCP with its subflows, or TCP, which is a connection with one subflow and no MPTCP options.
//! Whoever drives it (a simulator in virtual time, a TUN device in real time) does this:
//!
//! 1. hand a segment that arrives to [`Host::receive`] (or to [`Host::receive_on`], when it knows the subflow);
//! 2. call [`Connection::transmit`] until it answers `None`, and put each segment on its way;
//! 3. call [`Connection::handle_timeout`] at [`Connection::next_timeout`], then step 2 again;
//! 4. hand ICMP errors about its segments to [`Host::icmp`];
//! 5. ask [`Connection::poll_event`] and [`Connection::read`] for what happened and what arrived.
//!
//! Nothing here knows a wall clock, draws from a global random source or iterates in hash order: the same calls give
//! the same segments. Keys, nonces and initial sequence numbers come from the seeded generator a host is made with, or from
//! a source given with [`Host::with_source`]. Times are [`Instant`]s of the driver's clock, windows are segments, data is
//! bytes.

mod backlog;
mod by_tuple;
mod config;
pub mod congestion;
mod draw;
mod ends;
mod host;
mod memory;
mod mptcp;
mod names;
mod numbers;
mod offset;
pub mod path_manager;
mod queue;
mod reassembly;
pub mod scheduler;
mod secrets;
mod slots;
mod statistics;
mod tcp;
mod time;
mod time_wait;
pub mod trace;
mod unicast;
mod waits;

#[cfg(test)]
mod algorithm_tests;

pub use ::algorithm;
pub use ::algorithm::plugin;
pub use config::{
    Config, Growth, IpFields, Kernel, KernelPaths, LossDetection, Protocol, ReceiveBuffer, Receiver, TcpOptions,
    Timers, WindowValidation,
};
pub use host::Host;
pub use mptcp::{AbortReason, Connection, Event, Form, Outgoing, ResetReason, SUBFLOW_LIMIT};
pub use names::{ConnectionId, Handle, SubflowId, Tuple};
pub use path_manager::LocalAddress;
pub use queue::{ByteQueue, Kept, SendQueue, Sendable, SpanLen, SpanQueue, worth_joining};
pub use statistics::{DelayHistogram, Statistics};
pub use time::{Duration, Instant};
pub use trace::{Trace, TraceEvent};
pub use unicast::is_unicast;
pub use waits::{Sending, WaitByteNs};
