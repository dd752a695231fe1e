//! Packet captures: read (pcapng and pcap), written (pcapng), and what they say about TCP and Multipath TCP.
//!
//! Any bytes may come as a capture: nothing panics, and what is damaged or cut off is reported with what could be read
//! of it. No clock and no files here: a capture is anything that can be read.

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
