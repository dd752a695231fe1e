//! Where packets come from and go to: a file descriptor that takes and gives one IP packet at a time, as a TUN device
//! without packet information does.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::impairment::{Fate, Impairment};

/// What a device counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Packets read from it.
    pub received: u64,
    /// Packets written to it.
    pub sent: u64,
    /// Packets it did not take.
    pub refused: u64,
    /// Packets read that are no TCP segments, or damaged.
    pub malformed: u64,
    /// Packets that the impairment lost, both ways.
    pub lost: u64,
    /// Packets that the impairment let others overtake, both ways.
    pub reordered: u64,
    /// Packets from which the impairment took options, both ways.
    pub stripped: u64,
}

/// A device with its impairment.
#[derive(Debug)]
pub struct Device {
    file: File,
    impairment: Impairment,
    counters: Counters,
}

/// The most of an IP packet.
pub const PACKET_LIMIT: usize = 65_536;

impl Device {
    /// Takes over a descriptor and makes it non-blocking.
    ///
    /// # Errors
    /// What `fcntl` says.
    pub fn new(descriptor: OwnedFd) -> std::io::Result<Self> {
        let flags = fcntl_getfl(&descriptor)?;
        fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
        Ok(Device { file: File::from(descriptor), impairment: Impairment::default(), counters: Counters::default() })
    }

    /// The descriptor, to wait for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// What it has counted.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        (counters.lost, counters.reordered, counters.stripped) = self.impairment.counts();
        counters
    }

    /// From now on packets fare so.
    pub fn impair(&mut self, impairment: Impairment) {
        self.impairment = impairment;
    }

    /// A packet that arrived and could not be read.
    pub(super) fn count_malformed(&mut self) {
        self.counters.malformed += 1;
    }

    /// Reads the next packet into `buffer`; none when no packet waits.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn receive(&mut self, now_ns: u64, buffer: &mut [u8]) -> std::io::Result<Option<usize>> {
        loop {
            if let Some(packet) = self.impairment.take_inward(now_ns) {
                buffer[..packet.len()].copy_from_slice(&packet);
                return Ok(Some(packet.len()));
            }
            let len = match (&self.file).read(buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.counters.received += 1;
            match self.impairment.inward(now_ns, &buffer[..len]) {
                Fate::Pass => return Ok(Some(len)),
                Fate::Gone => {}
            }
        }
    }

    /// Writes a packet. One that the device does not take is lost, as on any network, and counted.
    pub(super) fn send(&mut self, now_ns: u64, packet: &[u8]) {
        if let Fate::Pass = self.impairment.outward(now_ns, packet) {
            self.write(packet);
        }
    }

    /// Writes the packets whose delay is over.
    pub(super) fn release(&mut self, now_ns: u64) {
        while let Some(packet) = self.impairment.take_outward(now_ns) {
            self.write(&packet);
        }
    }

    /// When the next packet's delay is over; `u64::MAX`: there is none.
    pub(super) fn next_release_ns(&self) -> u64 {
        self.impairment.next_ns()
    }

    fn write(&mut self, packet: &[u8]) {
        match (&self.file).write(packet) {
            Ok(len) if len == packet.len() => self.counters.sent += 1,
            _ => self.counters.refused += 1,
        }
    }
}
