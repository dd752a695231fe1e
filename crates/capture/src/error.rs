//! Errors of reading captures.

use std::fmt;

/// Why a file cannot be read as a capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file is not a capture.
    #[error("not a capture: {0}")]
    NotACapture(Beginning),
    /// The file is compressed and cannot be decompressed.
    #[error("{0}")]
    Packed(String),
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The first bytes of a file that is not a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning(pub Vec<u8>);

impl fmt::Display for Beginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = match self.0.as_slice() {
            [] => return f.write_str("the file is empty"),
            [0xa1, 0xb2, 0xc3 | 0x3c, ..] | [0xd4, 0xc3, 0xb2, 0xa1, ..] | [0x4d, 0x3c, 0xb2, 0xa1, ..] => {
                return write!(f, "the header of a pcap file is cut off after {} of its 24 bytes", self.0.len());
            }
            [0x42, 0x5a, 0x68, ..] => Some("bzip2: bunzip2 it first"),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some("LZ4: unlz4 it first"),
            [b'P', b'K', ..] => Some("a ZIP archive: unzip it first"),
            _ => None,
        };
        f.write_str("it begins with the bytes")?;
        for byte in self.0.iter().take(4) {
            write!(f, " {byte:02x}")?;
        }
        match known {
            Some(known) => write!(f, ", which is {known}"),
            None => {
                f.write_str("; pcapng begins with 0a 0d 0d 0a, pcap with d4 c3 b2 a1, 4d 3c b2 a1 or their reverse")
            }
        }
    }
}
