//! The network between hosts: links with a queue, a rate, a propagation delay and loss. A link has no clock of its own:
//! the caller (the simulator in virtual time, the emulator in real time) passes the time, and asks when the next packet
//! arrives. All times are integer nanoseconds (`_ns`), rates are in bits per second (`_bps`), sizes are in bytes
//! including all headers.
//!
//! One event per hop: a first-in-first-out link knows the departure time of a packet when it is enqueued, so that only
//! the oldest packet of a link ([`Link::next_arrival_ns`]) needs an entry in the caller's event queue. The length of
//! the queue is computed when it is asked for, with each departure at its exact time. So are CoDel's decisions, which
//! are made when a packet reaches the head of the queue.
//!
//! [`middlebox`] contains middleboxes that modify segments; links do not inspect packets.
//!
//! ```
//! use network::{Ecn, Enqueue, Limit, Link, LinkConfig, LossConfig, Packet, QueueConfig, Xoshiro256PlusPlus};
//! use rand_core::SeedableRng;
//!
//! let queue = QueueConfig::drop_tail(Limit::Packets(20));
//! let config = LinkConfig { loss: LossConfig::None, ..LinkConfig::with_rate(10_000_000, 5_000_000, queue) };
//! let mut link = Link::new(config, Xoshiro256PlusPlus::seed_from_u64(1));
//! assert_eq!(link.enqueue(0, Packet::new(7_u64, 1_500, 0, Ecn::NotEct)), Enqueue::Accepted { first: true });
//! // 12,000 bits at 10 Mbit/s, then 5 ms of propagation.
//! assert_eq!(link.next_arrival_ns(), Some(1_200_000 + 5_000_000));
//! let packet = link.deliver(6_200_000);
//! assert_eq!((packet.tag, packet.departure_ns, packet.lost()), (7, 1_200_000, false));
//! ```

mod config;
mod counters;
mod disorder;
mod link;
pub mod loss;
mod medium;
pub mod middlebox;
mod packet;
pub mod prefetch;
mod probability;
mod propagation;
pub mod queue;
mod ring;
mod trace;
mod transmitter;

pub use algorithm::ConfigError;
pub use config::{Change, LinkConfig};
pub use counters::{Counters, DropReason, Enqueue};
pub use disorder::DisorderConfig;
pub use link::Link;
pub use loss::LossConfig;
pub use medium::{Medium, MediumConfig, Share};
pub use packet::{Ecn, Flow, Packet};
pub use queue::{Limit, QueueConfig};
pub use rand_xoshiro::Xoshiro256PlusPlus;
pub use trace::{Trace, TraceError};
pub use transmitter::BucketConfig;
