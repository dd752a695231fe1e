//! Reads packet captures (pcapng and pcap), writes them (pcapng), and analyses TCP and Multipath TCP in them.
//!
//! Input may be any bytes: nothing panics, and damage or truncation is reported along with what could be read. The
//! crate uses no clock and opens no files: a capture is any [`std::io::Read`].

pub mod analysis;
mod error;
pub mod link;
mod reader;
mod source;
mod unpack;
mod writer;

pub use error::{Beginning, CaptureError};
pub use reader::{Interface, Packet, Reader};
pub use writer::{LINKTYPE_RAW, Writer};
