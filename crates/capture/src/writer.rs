//! Writes pcapng files (draft-ietf-opsawg-pcapng) with one section: raw IP packets of named interfaces, with nanosecond
//! time stamps.

use std::io::{self, Write};

/// Link type RAW: the packet begins with its IP header.
pub const LINKTYPE_RAW: u16 = 101;

/// Upper bound of the length of IPv4 packets and of IPv6 packets without jumbograms, with a margin.
const PACKET_LIMIT: u32 = 1 << 18;

/// Writes packets, little-endian on every machine, so that the same packets give the same bytes.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    interfaces: u32,
    snap_length: u32,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file. At most `snap_length` bytes of each packet are kept; 0 keeps all.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn new(out: W, snap_length: u32) -> io::Result<Self> {
        let mut writer = Writer { out, interfaces: 0, snap_length, block: Vec::new() };
        // Byte-order magic, version 1.0, section length not specified.
        writer.block.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        writer.block.extend_from_slice(&[1, 0, 0, 0]);
        writer.block.extend_from_slice(&[0xff; 8]);
        writer.option(4, b"mptcplab");
        writer.end_of_options();
        writer.finish_block(0x0a0d_0d0a)?;
        Ok(writer)
    }

    /// Adds an interface and returns its number.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn interface(&mut self, name: &str) -> io::Result<u32> {
        self.block.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
        self.block.extend_from_slice(&[0, 0]);
        self.block.extend_from_slice(&self.snap_length.to_le_bytes());
        self.option(2, name.as_bytes());
        self.option(9, &[9]); // if_tsresol: 10^-9 s
        self.end_of_options();
        self.finish_block(1)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Adds a packet of length `original_len`, of which `bytes` were captured.
    ///
    /// # Errors
    /// The errors of `out`, and [`io::ErrorKind::InvalidInput`] for an interface that was not added.
    pub fn packet(&mut self, interface: u32, time_ns: u64, bytes: &[u8], original_len: u32) -> io::Result<()> {
        if interface >= self.interfaces {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no interface {interface}")));
        }
        let limit = if self.snap_length == 0 { PACKET_LIMIT } else { self.snap_length };
        let kept = &bytes[..bytes.len().min(limit as usize)];
        for word in [interface, (time_ns >> 32) as u32, time_ns as u32, kept.len() as u32, original_len] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        self.block.extend_from_slice(kept);
        self.pad();
        self.finish_block(6)
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.block.extend_from_slice(&code.to_le_bytes());
        self.block.extend_from_slice(&(value.len() as u16).to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
    }

    fn end_of_options(&mut self) {
        self.block.extend_from_slice(&[0; 4]);
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn finish_block(&mut self, kind: u32) -> io::Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.block.clear();
        self.out.write_all(&length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Block by block as drawn in the specification.
    #[test]
    fn the_bytes_of_a_small_file() {
        let mut writer = Writer::new(Vec::new(), 5).unwrap();
        assert_eq!(writer.interface("a").unwrap(), 0);
        writer.packet(0, 0x1_0000_0002, &[9, 8, 7, 6, 5, 4, 3], 1500).unwrap();
        assert_eq!(writer.packet(1, 0, &[], 0).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let file = writer.into_inner();
        let section = [&[0x0a, 0x0d, 0x0d, 0x0a, 44, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]];
        let section = [section.concat(), b"\x04\0\x08\0mptcplab\0\0\0\0\x2c\0\0\0".to_vec()].concat();
        let interface =
            b"\x01\0\0\0\x28\0\0\0\x65\0\0\0\x05\0\0\0\x02\0\x01\0a\0\0\0\x09\0\x01\0\x09\0\0\0\0\0\0\0\x28\0\0\0";
        let packet = b"\x06\0\0\0\x28\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x05\0\0\0\xdc\x05\0\0\x09\x08\x07\x06\x05\0\0\0\x28\0\0\0";
        assert_eq!(file, [&section[..], &interface[..], &packet[..]].concat());
    }
}
