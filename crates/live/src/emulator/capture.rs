//! Captures what a host sends and receives at a port as pcapng while the emulation runs.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use capture::Writer;

use crate::offload::{self, HEADER_LEN};

/// Written out in chunks of this size, which take tens of microseconds of the emulator's thread.
const BUFFER_BYTES: usize = 1 << 16;

/// A requested capture.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The file, which must not exist yet.
    pub file: PathBuf,
    /// Name of the interface.
    pub name: String,
    /// Bytes kept of each packet; 0 keeps all.
    pub snap_length: u32,
}

/// The captures of all ports that have one.
#[derive(Debug, Default)]
pub struct Captures {
    /// Empty if nothing is captured.
    of_ports: Vec<Option<Writer<BufWriter<File>>>>,
}

impl Captures {
    /// Creates the files.
    ///
    /// # Errors
    /// A file cannot be created.
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

    /// Records a packet, preceded by the device's header, that comes in by this port. If there are any captures, its
    /// checksum is completed first, so that it is valid in every capture on its way.
    pub fn incoming(&mut self, port: usize, time_ns: u64, frame: &mut [u8]) -> io::Result<()> {
        if !self.of_ports.is_empty() {
            offload::finish_checksum(frame);
        }
        self.packet(port, time_ns, frame)
    }

    /// Records a packet, preceded by the device's header, that passes this port.
    pub fn packet(&mut self, port: usize, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        match (self.of_ports.get_mut(port), frame.get(HEADER_LEN..)) {
            (Some(Some(writer)), Some(packet)) => writer.packet(0, time_ns, packet, packet.len() as u32),
            _ => Ok(()),
        }
    }

    /// Flushes the buffers.
    pub fn finish(mut self) -> io::Result<()> {
        self.of_ports.iter_mut().flatten().try_for_each(Writer::flush)
    }
}
