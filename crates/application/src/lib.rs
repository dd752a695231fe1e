//! What the hosts' applications do, without a clock and without I/O: when a connection is opened, how much is written to it,
//! when it ends, and what is counted of it. The engines `sim`, `stack` and `linux` all drive this.
//!
//! Time is an argument. The driver reports what happened ([`Runtime::start`], [`Runtime::wake`], [`Runtime::hear`],
//! [`Runtime::stop`]) and carries out what comes out ([`Runtime::next_action`]). The state of one connection's data is a
//! [`Stream`], which stands in the driver's own record of the connection.

mod action;
pub mod arrivals;
pub mod content;
mod dialogue;
mod ftp;
mod mark;
pub mod outcome;
mod ping;
pub mod random;
mod record;
mod runtime;
mod script;
pub mod settings;
mod stream;
mod tally;
mod video;
mod web;

pub use action::Action;
pub use content::{Arrivals, Content, Size};
pub use mark::{Kept, Mark, Present, Warm};
pub use record::Record;
pub use runtime::{Application, Kind, Runtime};
pub use stream::{Amount, CLIENT, GROWTH_LIMIT_BYTES, News, SERVER, Stream};
pub use tally::{Tally, Told, Window, fraction};
