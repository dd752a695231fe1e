//! Reads capture files as a stream: pcapng (draft-ietf-opsawg-pcapng) and pcap, in either byte order.
//!
//! This is our own parser because the packets of several files are requested one by one, and because damage or
//! truncation must be reported with its offset and not as an error: everything before it is read.

use crate::CaptureError;
use crate::error::Beginning;
use crate::source::Source;
use crate::unpack::Unpacked;
use std::io::Read;

/// Maximum length of a block or packet. A larger length is a sign of damage.
const BLOCK_LIMIT: usize = 1 << 24;
const SECTION: u32 = 0x0a0d_0d0a;

/// An interface of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name of the interface; empty if the capture gives none.
    pub name: String,
    /// Link type, see [`crate::link`].
    pub link_type: u32,
    clock: Clock,
}

/// Unit and offset of time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    /// Units per second.
    units: u64,
    offset_s: i64,
}

impl Clock {
    fn to_ns(self, stamp: u64) -> u64 {
        let ns = match self.units {
            1_000_000_000 => i128::from(stamp),
            1_000_000 => i128::from(stamp) * 1000,
            units => i128::from(stamp) * 1_000_000_000 / i128::from(units),
        };
        (ns + i128::from(self.offset_s) * 1_000_000_000).clamp(0, i128::from(u64::MAX)) as u64
    }
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Capture time in nanoseconds, usually since 1970.
    pub time_ns: u64,
    /// Index into [`Reader::interfaces`].
    pub interface: usize,
    /// Link type of the interface.
    pub link_type: u32,
    /// Length of the packet on the network.
    pub original_len: u32,
    /// The captured bytes.
    pub bytes: &'a [u8],
}

/// The file format.
#[derive(Clone, Copy)]
enum Format {
    Pcapng,
    Pcap { nanoseconds: bool },
}

/// Reads packets one by one.
pub struct Reader<R: Read> {
    source: Source<Unpacked<R>>,
    format: Format,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Index of the first interface of the current section.
    section: usize,
    last_ns: u64,
    damage: Option<String>,
}

/// A parsed block.
enum Block {
    Packet { interface: usize, time_ns: u64, original_len: u32, at: usize, len: usize },
    Other,
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a capture.
    ///
    /// # Errors
    /// [`CaptureError::NotACapture`] for other files, and the errors of `inner`.
    pub fn new(inner: R) -> Result<Reader<R>, CaptureError> {
        let mut source = Source::new(Unpacked::new(inner)?);
        let beginning = source.peek(24)?.to_vec();
        if beginning.len() < 24
            && let Some(failure) = source.inner().failure()
        {
            return Err(CaptureError::Packed(failure));
        }
        let not = |beginning: &[u8]| CaptureError::NotACapture(Beginning(beginning.to_vec()));
        let Some(&magic) = beginning.first_chunk::<4>() else { return Err(not(&beginning)) };
        let (format, big_endian) = match u32::from_be_bytes(magic) {
            // The section header gives the byte order.
            SECTION => (Format::Pcapng, false),
            0xa1b2_c3d4 => (Format::Pcap { nanoseconds: false }, true),
            0xd4c3_b2a1 => (Format::Pcap { nanoseconds: false }, false),
            0xa1b2_3c4d => (Format::Pcap { nanoseconds: true }, true),
            0x4d3c_b2a1 => (Format::Pcap { nanoseconds: true }, false),
            _ => return Err(not(&beginning)),
        };
        let mut reader =
            Reader { source, format, big_endian, interfaces: Vec::new(), section: 0, last_ns: 0, damage: None };
        if let Format::Pcap { nanoseconds } = format {
            let header = reader.source.take(24);
            if header.len() < 24 {
                return Err(not(header));
            }
            let units = if nanoseconds { 1_000_000_000 } else { 1_000_000 };
            // The upper bits describe a frame check sequence, which follows the packet and is not read.
            let link_type = number(header, 20, big_endian) & 0xffff;
            let clock = Clock { units, offset_s: 0 };
            reader.interfaces.push(Interface { name: String::new(), link_type, clock });
        }
        Ok(reader)
    }

    /// The interfaces known so far. More may follow with the packets.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Why and where reading ended before the end of the file: it is truncated or damaged.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// The next packet; `None` at the end, or where the file is damaged ([`Reader::damage`]).
    ///
    /// # Errors
    /// The errors of the underlying reader.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        let (found, length) = loop {
            let (block, length) = match self.format {
                Format::Pcap { .. } => match self.record()? {
                    Some(found) => found,
                    None => return Ok(None),
                },
                Format::Pcapng => match self.block()? {
                    Some(found) => found,
                    None => return Ok(None),
                },
            };
            if matches!(block, Block::Packet { .. }) {
                break (block, length);
            }
            self.source.take(length);
        };
        let Block::Packet { interface, time_ns, original_len, at, len } = found else { return Ok(None) };
        self.last_ns = time_ns;
        let link_type = self.interfaces[interface].link_type;
        let bytes = &self.source.take(length)[at..at + len];
        Ok(Some(Packet { time_ns, interface, link_type, original_len, bytes }))
    }

    fn damaged(&mut self, what: &str) {
        let offset = self.source.offset();
        if let Some(failure) = self.source.inner().failure() {
            self.damage = Some(format!("{failure}: what follows byte {offset} of the capture is not read"));
            return;
        }
        self.damage = Some(format!("{what} at byte {offset}: what follows is not read"));
    }

    /// The next record of a pcap file, which is completely in the source's buffer, and its length.
    fn record(&mut self) -> Result<Option<(Block, usize)>, CaptureError> {
        let big = self.big_endian;
        let header = self.source.peek(16)?;
        if header.len() < 16 {
            if !header.is_empty() || self.source.inner().failure().is_some() {
                self.damaged("the file is cut off in the header of a packet");
            }
            return Ok(None);
        }
        let [seconds, fraction, len, original_len] = [0, 4, 8, 12].map(|at| number(header, at, big));
        let len = len as usize;
        if len > BLOCK_LIMIT {
            self.damaged(&format!("a packet of {len} bytes"));
            return Ok(None);
        }
        if self.source.peek(16 + len)?.len() < 16 + len {
            self.damaged("the file is cut off in a packet");
            return Ok(None);
        }
        let clock = self.interfaces[0].clock;
        let stamp = u64::from(seconds) * clock.units + u64::from(fraction);
        let time_ns = clock.to_ns(stamp);
        Ok(Some((Block::Packet { interface: 0, time_ns, original_len, at: 16, len }, 16 + len)))
    }

    /// The next block of a pcapng file, which is completely in the source's buffer, and its length.
    fn block(&mut self) -> Result<Option<(Block, usize)>, CaptureError> {
        let head = self.source.peek(12)?;
        if head.len() < 12 {
            if !head.is_empty() || self.source.inner().failure().is_some() {
                self.damaged("the file is cut off in the head of a block");
            }
            return Ok(None);
        }
        let magic: [u8; 4] = *head[8..].first_chunk().unwrap_or(&[0; 4]);
        // The section's block type reads the same in either byte order.
        let is_section = number(head, 0, true) == SECTION;
        if is_section {
            match u32::from_be_bytes(magic) {
                0x1a2b_3c4d => self.big_endian = true,
                0x4d3c_2b1a => self.big_endian = false,
                found => {
                    self.damaged(&format!("a section with the byte-order magic {found:08x}"));
                    return Ok(None);
                }
            }
        }
        let big = self.big_endian;
        let head = self.source.peek(12)?;
        let (kind, length) = (number(head, 0, big), number(head, 4, big) as usize);
        if !(12..=BLOCK_LIMIT).contains(&length) {
            self.damaged(&format!("a block that claims {length} bytes"));
            return Ok(None);
        }
        // Some writers leave the padding out of the length.
        let length = length.next_multiple_of(4);
        let section = self.section;
        let block = self.source.peek(length)?;
        if block.len() < length {
            self.damaged("the file is cut off in a block");
            return Ok(None);
        }
        // Without the block head and the trailing length.
        let body = &block[8..length - 4];
        let field = |at: usize| (body.len() >= at + 4).then(|| number(body, at, big));
        let found = match kind {
            SECTION => {
                self.section = self.interfaces.len();
                Some(Block::Other)
            }
            1 => interface(body, big).map(|interface| {
                self.interfaces.push(interface);
                Block::Other
            }),
            // Enhanced packet block, and the obsolete packet block with 16 bits of interface and 16 of drops.
            2 | 6 => (|| {
                let id = if kind == 6 { field(0)? } else { u32::from(short(body, 0, big)) };
                let interface = section.checked_add(id as usize)?;
                let clock = self.interfaces.get(interface)?.clock;
                let time_ns = clock.to_ns(u64::from(field(4)?) << 32 | u64::from(field(8)?));
                let (len, original_len) = (field(12)? as usize, field(16)?);
                (len <= body.len() - 20).then_some(Block::Packet { interface, time_ns, original_len, at: 28, len })
            })(),
            // Simple packet block: no time stamp, always on the section's first interface.
            3 => (|| {
                self.interfaces.get(section)?;
                let original_len = field(0)?;
                let len = (original_len as usize).min(body.len() - 4);
                Some(Block::Packet { interface: section, time_ns: self.last_ns, original_len, at: 12, len })
            })(),
            _ => Some(Block::Other),
        };
        match found {
            Some(found) => Ok(Some((found, length))),
            None => {
                self.damaged(&format!("a block of kind {kind} that contradicts itself"));
                Ok(None)
            }
        }
    }
}

/// An interface description block.
fn interface(body: &[u8], big_endian: bool) -> Option<Interface> {
    let mut found = Interface {
        name: String::new(),
        link_type: u32::from(short(body.get(..8)?, 0, big_endian)),
        clock: Clock { units: 1_000_000, offset_s: 0 },
    };
    let mut at = 8;
    while let Some(head) = body.get(at..at + 4) {
        let (code, len) = (short(head, 0, big_endian), usize::from(short(head, 2, big_endian)));
        let Some(value) = body.get(at + 4..at + 4 + len) else { break };
        match (code, value) {
            (0, _) => break,
            (2, name) => found.name = String::from_utf8_lossy(name).into_owned(),
            // A power of ten or of two. A resolution that exceeds 64 bits is invalid.
            (9, [exponent]) if exponent & 0x80 == 0 => found.clock.units = 10_u64.checked_pow(u32::from(*exponent))?,
            (9, [exponent]) => found.clock.units = 1_u64.checked_shl(u32::from(exponent & 0x7f))?,
            (14, seconds) if len == 8 => {
                let bytes: [u8; 8] = *seconds.first_chunk()?;
                found.clock.offset_s = if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) };
            }
            _ => {}
        }
        at += 4 + len.next_multiple_of(4);
    }
    Some(found)
}

/// The 32-bit number at `at`, which must be in range.
fn number(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// The 16-bit number at `at`; missing bytes count as 0.
fn short(bytes: &[u8], at: usize, big_endian: bool) -> u16 {
    let bytes = [bytes.get(at).copied().unwrap_or(0), bytes.get(at + 1).copied().unwrap_or(0)];
    if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}
