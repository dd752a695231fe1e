//! Captures: what a simulation's hosts send and receive, written as pcapng.

use capture::Writer;
use simulator::description::Description;
use simulator::{Interface, Tap};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// One file for each interface of the hosts: the client's and the server's end of each path.
pub struct Files {
    writers: BTreeMap<Interface, Writer<BufWriter<File>>>,
    error: Option<io::Error>,
}

impl Files {
    /// Makes `client-PATH.pcapng` and `server-PATH.pcapng` in `directory`, which exists.
    pub fn create(directory: &Path, description: &Description, snap_length: u32) -> io::Result<Files> {
        let mut writers = BTreeMap::new();
        for (path, named) in (0..).zip(&description.paths) {
            for (client, side) in [(true, "client"), (false, "server")] {
                let name = format!("{side}-{}", named.name);
                let file = File::create_new(directory.join(format!("{name}.pcapng")))?;
                let mut writer = Writer::new(BufWriter::new(file), snap_length)?;
                writer.interface(&name)?;
                writers.insert(Interface { path, client }, writer);
            }
        }
        Ok(Files { writers, error: None })
    }
}

impl Tap for Files {
    fn packet(&mut self, interface: Interface, now_ns: u64, bytes: &[u8]) {
        let Some(writer) = self.writers.get_mut(&interface).filter(|_| self.error.is_none()) else { return };
        // An IPv4 packet has 65,535 bytes at most.
        if let Err(error) = writer.packet(0, now_ns, bytes, bytes.len() as u32) {
            self.error = Some(error);
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        let flushed = self.writers.values_mut().try_for_each(Writer::flush);
        match self.error.take().or(flushed.err()) {
            Some(error) => Err(error.to_string()),
            None => Ok(()),
        }
    }
}
