//! A subflow between two kernels, both of which are polled.

use std::net::SocketAddr;

use application::{Kept, Mark, Tally, Window};
use transport::Statistics;

use super::info::Subflow;
use crate::emulator::FlowKey;
use crate::engine::seen::Seen;

/// One subflow.
#[derive(Clone, Debug)]
pub struct Track {
    /// The client's end, which identifies the subflow.
    client: SocketAddr,
    /// The flow that carries the data.
    flow: FlowKey,
    pub path: u32,
    /// The report of the sender.
    pub sender: Seen,
    /// Bytes that arrived on this subflow.
    pub received: u64,
    pub kept: Kept,
}

impl Track {
    /// A subflow that its sender reports for the first time.
    pub fn new(seen: &Subflow, client: SocketAddr, path: u32) -> Track {
        let end = |address: SocketAddr| (address.ip(), address.port());
        // The client's own address, whatever address the server sees.
        let destination = if seen.local == client { seen.remote } else { client };
        Track {
            client,
            flow: FlowKey { source: end(seen.local), destination: end(destination) },
            path,
            sender: Seen::default(),
            received: 0,
            kept: Kept::default(),
        }
    }

    /// Whether this is the subflow with this client's end.
    pub fn is_of(&self, client: SocketAddr) -> bool {
        self.client == client
    }

    /// The counters at `now_ns`.
    pub fn mark(&self, now_ns: u64) -> Mark {
        let receiver = Statistics { new_bytes_received: self.received, ..Statistics::default() };
        Mark::at(now_ns, Some(self.sender.statistics), Some(receiver))
    }

    /// The counts in `window`.
    pub fn tally(&self, window: Window) -> Tally<FlowKey> {
        let mark = self.mark(window.to_ns);
        Tally::of(self.path, &mark, &self.kept, self.sender.told(), window).with_flow(Some(self.flow))
    }
}
