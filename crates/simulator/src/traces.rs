//! Writes the decisions of a run's connections, one file per end ([`qlog::Folder`]).

use application::{CLIENT, Runtime};
use qlog::{Folder, Of};
use scenario::description::Description;
use std::collections::BTreeMap;
use transport::Trace;

use crate::flows::client_index;
use crate::transfer::Transfer;

/// The traces of a run.
pub struct Traces {
    folder: Folder,
    /// By transfer, its number within its application.
    numbers: BTreeMap<u32, u32>,
}

impl Traces {
    pub fn new(folder: Folder) -> Traces {
        Traces { folder, numbers: BTreeMap::new() }
    }

    /// Reports that the client of transfer `number` opens its connection.
    pub fn opened(&mut self, number: u32, transfer: &Transfer) {
        self.numbers.insert(number, self.folder.next_number(transfer.application));
    }

    /// The trace of one end of a transfer.
    pub fn of(
        &self,
        description: &Description,
        runtime: &Runtime<()>,
        (number, transfer): (u32, &Transfer),
        side: usize,
    ) -> Box<dyn Trace> {
        let application = &runtime.applications[transfer.application as usize];
        let kind = application.kind as usize;
        let of = Of { kind, index: application.index, number: self.numbers.get(&number).copied().unwrap_or(0) };
        let (first, paths) = (transfer.first_address, description.connections[kind].paths.clone());
        let path_of = move |local: std::net::SocketAddr, remote: std::net::SocketAddr| {
            let client = if side == CLIENT { local } else { remote };
            let place = client_index(client.ip())?.checked_sub(first)?;
            paths.get(place as usize).copied()
        };
        self.folder.file(description, of, side == CLIENT, Box::new(path_of))
    }
}
