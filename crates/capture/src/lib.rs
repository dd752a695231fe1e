//! Packet captures: read (pcapng and pcap), written (pcapng), and what they say about TCP and Multipath TCP.

mod writer;

pub use writer::{LINKTYPE_RAW, Writer};
