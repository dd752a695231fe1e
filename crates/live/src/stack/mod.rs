//! Our own transport on a real network: packets from and to file descriptors (TUN devices), the real clock, and sockets
//! for programs.
//!
//! - [`Driver`] moves packets between devices and the transport's [`transport::Host`]; it holds no clock and never waits.
//! - [`Stack`] runs a driver on its own thread and returns blocking [`Socket`]s.
//! - [`Impairment`] drops, delays, reorders and strips packets of a device, for tests of the transport.

mod budget;
mod bundle;
mod chunk;
mod device;
mod driver;
mod impairment;
mod mailbox;
mod mappings;
mod options;
mod settings;
mod shared;
mod socket;
mod state;
mod thread;

pub use chunk::{Chunk, ChunkQueue};
pub use device::{Counters, Device};
pub use driver::Driver;
pub use impairment::{Impair, Impairment};
pub use mailbox::Held;
pub use options::{Options, OptionsError};
pub use settings::{Address, Settings};
pub use shared::Ended;
pub use socket::{Socket, SocketError};
pub use state::{ConnectionState, SubflowState};
pub use thread::Stack;
