//! The counters of a subflow, and the flow that carries its data.

use application::{Mark, SERVER, Tally, Told, Window};

use super::transfer::{Subflow, Transfer};
use crate::emulator::FlowKey;
use crate::stack::Driver;

impl Subflow {
    /// The counters at `now_ns`.
    pub fn mark(&self, now_ns: u64, transfer: &Transfer, drivers: &[Driver; 2]) -> Mark {
        let statistics = |side: usize| {
            if let (None, Some(seen)) = (self.ids[side], self.kernel) {
                return Some(seen.statistics);
            }
            let (id, subflow) = (transfer.ids[side]?, self.ids[side]?);
            Some(drivers[side].connection(id).statistics(subflow))
        };
        Mark::at(now_ns, statistics(transfer.stream.sender), statistics(transfer.stream.receiver()))
    }

    /// The counts in `window`.
    pub fn tally(&self, transfer: &Transfer, drivers: &[Driver; 2], window: Window) -> Tally<FlowKey> {
        let mark = self.mark(window.to_ns, transfer, drivers);
        let told = match (self.ids[transfer.stream.sender], self.kernel) {
            (None, Some(seen)) => seen.told(),
            _ => Told::ALL,
        };
        let flow = self.flow(transfer, drivers);
        let tally = Tally::of(self.path as u32, &mark, &self.kept, told, window).with_flow(flow);
        let sender = transfer.stream.sender;
        match (transfer.ids[sender], self.ids[sender]) {
            (Some(id), Some(subflow)) => tally.with_timeouts(drivers[sender].connection(id).timeout_times(subflow)),
            _ => tally,
        }
    }

    /// The flow that carries the subflow's data.
    fn flow(&self, transfer: &Transfer, drivers: &[Driver; 2]) -> Option<FlowKey> {
        let of = |side: usize| Some(drivers[side].connection(transfer.ids[side]?).tuple(self.ids[side]?));
        let end = |address: std::net::SocketAddr| (address.ip(), address.port());
        let (source, destination) = match of(transfer.stream.sender) {
            // The client's own address, whatever address the server sees.
            Some(tuple) if transfer.stream.sender == SERVER => (tuple.local, self.client),
            Some(tuple) => (tuple.local, tuple.remote),
            None => of(transfer.stream.receiver()).map(|tuple| (tuple.remote, tuple.local))?,
        };
        Some(FlowKey { source: end(source), destination: end(destination) })
    }
}
