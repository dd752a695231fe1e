//! Real time: TUN devices in network namespaces, the link emulator between them (the links of crate `network` driven by
//! the machine's clock), and the hosts that send and receive there. Linux only.
//!
//! Nothing here outlives the process: a namespace held only by file descriptors and a TUN device disappear when their
//! last descriptor is closed, and the kernel closes all descriptors of a process when it ends, however it ends.

pub mod clock;
pub mod emulator;
pub mod engine;
pub mod linux;
pub mod namespace;
pub mod offload;
pub mod stack;
pub mod stack_engine;
mod system;
pub mod testbed;
pub mod tun;
