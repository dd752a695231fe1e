//! A device of the stack: a TUN device, or a descriptor that returns and accepts one IP packet at a time.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::impairment::{Fate, Impairment};
use crate::offload::{self, Cut, FRAME_LIMIT, HEADER_LEN};
use crate::tun::Tun;

/// Packet counters of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counters {
    /// Packets read from it.
    pub received: u64,
    /// Packets written to it.
    pub sent: u64,
    /// Packets it did not accept.
    pub refused: u64,
    /// Packets read that are not TCP segments or are corrupted.
    pub malformed: u64,
    /// Packets that the impairment dropped, in both directions.
    pub lost: u64,
    /// Packets that the impairment reordered, in both directions.
    pub reordered: u64,
    /// Packets whose options the impairment stripped, in both directions.
    pub stripped: u64,
}

/// A device with its impairment.
#[derive(Debug)]
pub struct Device {
    tun: Tun,
    impairment: Impairment,
    counters: Counters,
    /// The frame read last; `cut` is the state of splitting it.
    frame: Vec<u8>,
    frame_len: usize,
    cut: Option<Cut>,
    /// Buffer for a packet split off an outgoing frame.
    packet: Vec<u8>,
}

impl Device {
    /// Takes over a descriptor and makes it non-blocking.
    ///
    /// # Errors
    /// The error of `fcntl`.
    pub fn new(descriptor: OwnedFd) -> std::io::Result<Self> {
        let flags = fcntl_getfl(&descriptor)?;
        fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
        Ok(Device {
            tun: Tun::from(descriptor),
            impairment: Impairment::default(),
            counters: Counters::default(),
            frame: vec![0; FRAME_LIMIT],
            frame_len: 0,
            cut: None,
            packet: Vec::new(),
        })
    }

    /// The descriptor, for polling.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        (counters.lost, counters.reordered, counters.stripped) = self.impairment.counts();
        counters
    }

    /// Sets the impairment of later packets.
    pub fn impair(&mut self, impairment: Impairment) {
        self.impairment = impairment;
    }

    /// Counts a packet that arrived and could not be decoded.
    pub(super) fn count_malformed(&mut self) {
        self.counters.malformed += 1;
    }

    /// Reads the next packet into `buffer`, preceded by the device's header; `None` if no packet waits. Its checksum
    /// may be incomplete, which means that it has not left the machine.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn receive(&mut self, now_ns: u64, buffer: &mut [u8]) -> std::io::Result<Option<usize>> {
        loop {
            if let Some(packet) = self.impairment.take_inward(now_ns) {
                buffer[..HEADER_LEN].fill(0);
                buffer[HEADER_LEN..][..packet.len()].copy_from_slice(&packet);
                return Ok(Some(HEADER_LEN + packet.len()));
            }
            let Some(len) = self.cut.as_mut().and_then(|cut| cut.next(&self.frame[..self.frame_len], buffer)) else {
                let Some(len) = self.tun.receive(&mut self.frame)? else { return Ok(None) };
                self.frame_len = len;
                self.cut = Cut::new(&self.frame[..len]);
                if self.cut.is_none() {
                    self.counters.received += 1;
                    self.counters.malformed += 1;
                }
                continue;
            };
            self.counters.received += 1;
            if self.impairment.is_idle() {
                return Ok(Some(len));
            }
            offload::finish_checksum(&mut buffer[..len]);
            match self.impairment.inward(now_ns, &buffer[HEADER_LEN..len]) {
                Fate::Pass => return Ok(Some(len)),
                Fate::Gone => {}
            }
        }
    }

    /// Writes a frame that stands for `packets` packets. What the device does not accept is lost, as on any network,
    /// and counted.
    pub(super) fn send(&mut self, now_ns: u64, frame: &[u8], packets: usize) {
        if self.tun.has_header() && self.impairment.is_idle() {
            return self.write(frame, packets);
        }
        let Some(mut cut) = Cut::new(frame) else { return };
        let mut packet = std::mem::take(&mut self.packet);
        packet.resize(FRAME_LIMIT, 0);
        while let Some(len) = cut.next(frame, &mut packet) {
            let whole = &mut packet[..len];
            offload::finish_checksum(whole);
            if let Fate::Pass = self.impairment.outward(now_ns, &whole[HEADER_LEN..]) {
                self.write(whole, 1);
            }
        }
        self.packet = packet;
    }

    /// Writes the packets whose delay is over.
    pub(super) fn release(&mut self, now_ns: u64) {
        while let Some(packet) = self.impairment.take_outward(now_ns) {
            let mut frame = vec![0; HEADER_LEN];
            frame.extend_from_slice(&packet);
            self.write(&frame, 1);
        }
    }

    /// When the next packet's delay ends, or `u64::MAX`.
    pub(super) fn next_release_ns(&self) -> u64 {
        self.impairment.next_ns()
    }

    fn write(&mut self, frame: &[u8], packets: usize) {
        match self.tun.send(frame) {
            Ok(true) => self.counters.sent += packets as u64,
            _ => self.counters.refused += packets as u64,
        }
    }
}
