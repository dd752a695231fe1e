//! The hosts' applications, without a clock and without I/O: when a connection is opened, how much is written to it,
//! when it ends, and which measurements are taken. The engines `sim`, `stack` and `linux` all use this crate.
//!
//! Time is an argument. The driver reports events ([`Runtime::start`], [`Runtime::wake`], [`Runtime::take_news`],
//! [`Runtime::stop`]) and carries out the resulting actions ([`Runtime::next_action`]). A [`Stream`] holds the state of
//! one connection's data; the driver stores it in its own record of the connection.

mod action;
pub mod arrivals;
pub mod content;
mod dialogue;
mod ftp;
mod mark;
pub mod outcome;
mod ping;
pub mod random;
mod reader;
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
pub use reader::Stage;
pub use record::Record;
pub use runtime::{Application, Kind, Runtime};
pub use stream::{Amount, CLIENT, GROWTH_LIMIT_BYTES, News, SERVER, Stream};
pub use tally::{Tally, Told, Window, fraction};
