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
    /// Its client's end, which tells it from all others.
    client: SocketAddr,
    /// The flow that carries its data.
    flow: FlowKey,
    pub path: u32,
    /// The sender's report.
    pub sender: Seen,
    /// Bytes that have arrived by this subflow.
    pub received: u64,
    pub kept: Kept,
}

impl Track {
    /// A subflow that its sender sees for the first time.
    pub fn new(seen: &Subflow, client: SocketAddr, path: u32) -> Track {
        let end = |address: SocketAddr| (address.ip(), address.port());
        // Its own address, whatever the server sees.
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

    /// Whether it is the one with this client's end.
    pub fn is_of(&self, client: SocketAddr) -> bool {
        self.client == client
    }

    /// Its counters at `now_ns`.
    pub fn mark(&self, now_ns: u64) -> Mark {
        let receiver = Statistics { new_bytes_received: self.received, ..Statistics::default() };
        Mark::at(now_ns, Some(self.sender.statistics), Some(receiver))
    }

    /// What it counted in `window`.
    pub fn tally(&self, window: Window) -> Tally<FlowKey> {
        let mark = self.mark(window.to_ns);
        Tally::of(self.path, &mark, &self.kept, self.sender.told(), window).with_flow(Some(self.flow))
    }
}
