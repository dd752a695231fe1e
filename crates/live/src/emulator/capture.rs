//! Captures what a host sends and receives at a port, as pcapng, while the emulation runs.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use capture::Writer;

use crate::offload::{self, HEADER_LEN};

/// Written out this much at a time: tens of microseconds of the emulator's thread.
const BUFFER_BYTES: usize = 1 << 16;

/// A capture that is asked for.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The file, which does not exist yet.
    pub file: PathBuf,
    /// The interface's name.
    pub name: String,
    /// Bytes kept of each packet; 0 keeps all.
    pub snap_length: u32,
}

/// The captures of all ports that have one.
#[derive(Debug, Default)]
pub struct Captures {
    /// Empty when nothing is captured.
    of_ports: Vec<Option<Writer<BufWriter<File>>>>,
}

impl Captures {
    /// Makes the files.
    ///
    /// # Errors
    /// When one cannot be made.
    pub fn create<'a>(asked: impl Iterator<Item = Option<&'a Asked>>) -> io::Result<Captures> {
        let open = |asked: &Asked| {
            let file = BufWriter::with_capacity(BUFFER_BYTES, File::create_new(&asked.file)?);
            let mut writer = Writer::new(file, asked.snap_length)?;
            writer.interface(&asked.name)?;
            Ok(writer)
        };
        let of_ports: Vec<_> = asked.map(|asked| asked.map(open).transpose()).collect::<io::Result<_>>()?;
        let any = of_ports.iter().any(Option::is_some);
        Ok(Captures { of_ports: if any { of_ports } else { Vec::new() } })
    }

    /// A packet comes in by this port, with the header of a device before it. Where anything is captured at all its checksum
    /// is finished first, so that it is whole in every capture on its way.
    pub fn incoming(&mut self, port: usize, time_ns: u64, frame: &mut [u8]) -> io::Result<()> {
        if !self.of_ports.is_empty() {
            offload::finish_checksum(frame);
        }
        self.packet(port, time_ns, frame)
    }

    /// A packet passes this port, with the header of a device before it.
    pub fn packet(&mut self, port: usize, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        match (self.of_ports.get_mut(port), frame.get(HEADER_LEN..)) {
            (Some(Some(writer)), Some(packet)) => writer.packet(0, time_ns, packet, packet.len() as u32),
            _ => Ok(()),
        }
    }

    /// Writes out what waits in memory.
    pub fn finish(mut self) -> io::Result<()> {
        self.of_ports.iter_mut().flatten().try_for_each(Writer::flush)
    }
}
