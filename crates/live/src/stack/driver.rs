//! Moves packets between devices and the transport. Time is an argument; nothing here waits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::{Config, Connection, ConnectionId, Host, Instant, LocalAddress, Outgoing, SubflowId, Tuple};
use wire::{Checksums, Ecn, EncodeError, IpHeader, Segment};

use super::bundle::{Bundle, Lane};
use super::chunk::Chunk;
use super::device::Device;
use super::mappings::Mappings;
use super::settings::{Address, Settings};
use crate::offload::{self, FRAME_LIMIT, HEADER_LEN};

/// Packets read from one device before their connections get their turn.
const BATCH: usize = 64;

/// State of a connection.
#[derive(Clone, Copy, Debug)]
struct Slot {
    touched: bool,
    timer_ns: u64,
    retired: bool,
    /// Whether a program has opened or accepted the connection.
    owned: bool,
}

const FREE: Slot = Slot { touched: false, timer_ns: u64::MAX, retired: false, owned: false };

/// A host with its devices. Its driver calls, in a loop: [`receive`](Self::receive),
/// [`handle_timeouts`](Self::handle_timeouts), and for every connection that [`next_touched`](Self::next_touched)
/// returns, after reading and writing, [`transmit`](Self::transmit). Then it waits for a device or for
/// [`next_ns`](Self::next_ns).
#[derive(Debug)]
pub struct Driver {
    host: Host<Chunk>,
    devices: Vec<Device>,
    addresses: Vec<Address>,
    device_of: BTreeMap<IpAddr, usize>,
    slots: Vec<Slot>,
    touched: VecDeque<ConnectionId>,
    timers: BTreeSet<(u64, u32)>,
    buffer: Vec<u8>,
    packet: Vec<u8>,
    outgoing: Outgoing<Chunk>,
    bundle: Bundle,
    /// For each connection, by subflow.
    mappings: Vec<Vec<Mappings>>,
    /// Whether incoming connections are limited and have no owner until they are accepted.
    limited: bool,
}

impl Driver {
    /// A host without connections. Path managers that announce addresses announce those whose identifier is not 0.
    /// Keys, nonces, initial sequence numbers and ports come from the operating system.
    #[must_use]
    pub fn new(settings: &Settings, devices: Vec<Device>) -> Self {
        let fill = |out: &mut [u8]| getrandom::fill(out).expect("the kernel's random numbers need no device");
        Self::with_host(settings, devices, Host::with_source(Xoshiro256PlusPlus::seed_from_u64(settings.seed), fill))
    }

    /// As [`new`](Self::new), but with keys, nonces, initial sequence numbers and ports derived from the seed: for
    /// reproducible tests, not for a network.
    #[must_use]
    pub fn predictable(settings: &Settings, devices: Vec<Device>) -> Self {
        Self::with_host(settings, devices, Host::new(Xoshiro256PlusPlus::seed_from_u64(settings.seed)))
    }

    fn with_host(settings: &Settings, devices: Vec<Device>, mut host: Host<Chunk>) -> Self {
        let addresses: Vec<LocalAddress> = settings.addresses.iter().map(local).collect();
        host.set_addresses(&addresses);
        Driver {
            host,
            device_of: settings.addresses.iter().map(|a| (a.address, a.device)).collect(),
            addresses: settings.addresses.clone(),
            devices,
            slots: Vec::new(),
            touched: VecDeque::new(),
            timers: BTreeSet::new(),
            buffer: vec![0; FRAME_LIMIT],
            packet: Vec::with_capacity(FRAME_LIMIT),
            outgoing: Outgoing::default(),
            bundle: Bundle::default(),
            mappings: Vec::new(),
            limited: false,
        }
    }

    /// The devices.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The device with this number, mutable. Panics if there is none.
    pub fn device_mut(&mut self, number: usize) -> &mut Device {
        &mut self.devices[number]
    }

    /// Accepts connections to a port on any address.
    pub fn listen(&mut self, port: u16, config: Config) {
        self.host.listen(port, config);
    }

    /// Opens a connection from the addresses with these identifiers, or from all. The first address of the peer's
    /// family opens it. Returns `None` if there is no such address, no port is free, or the peer's address is not
    /// unicast (RFC 9293, MUST-46).
    pub fn connect(&mut self, now_ns: u64, config: Config, from: &[u8], remote: SocketAddr) -> Option<ConnectionId> {
        if !transport::is_unicast(remote.ip()) {
            return None;
        }
        let mut addresses: Vec<LocalAddress> =
            self.addresses.iter().filter(|a| from.is_empty() || from.contains(&a.id)).map(local).collect();
        let first = addresses.iter().position(|a| a.address.is_ipv4() == remote.is_ipv4())?;
        addresses.swap(0, first);
        // The address that opens the connection has identifier 0 (RFC 8684 §3.2); the others keep theirs.
        addresses[0].id = 0;
        for (place, other) in addresses.iter_mut().enumerate().skip(1) {
            if other.id == 0 {
                other.id = 128 + place as u8;
            }
        }
        self.host.expire(Instant::from_nanos(now_ns));
        let port = self.host.free_port(addresses[0].address, remote)?;
        Some(self.open(now_ns, config, &addresses, port, remote))
    }

    /// Opens a connection from `local[0]` and a port. The other addresses are left to the path manager. Panics if
    /// `local` is empty.
    pub fn open(
        &mut self,
        now_ns: u64,
        config: Config,
        local: &[LocalAddress],
        port: u16,
        remote: SocketAddr,
    ) -> ConnectionId {
        let id = self.host.connect(Instant::from_nanos(now_ns), config, local, port, remote);
        self.touch(id);
        self.slots[id.0 as usize].owned = true;
        id
    }

    /// Limits incoming connections as [`Host::limit_backlog`] does. Those whose handshake is complete are returned by
    /// [`next_accepted`](Self::next_accepted).
    pub fn limit_backlog(&mut self, half_open: usize) {
        self.host.limit_backlog(half_open);
        self.limited = true;
    }

    /// The next connection that a peer has opened. The caller then owns it.
    pub fn next_accepted(&mut self) -> Option<ConnectionId> {
        let id = self.host.next_accepted()?;
        self.touch(id);
        self.slots[id.0 as usize].owned = true;
        Some(id)
    }

    /// The host, read-only.
    #[must_use]
    pub fn host(&self) -> &Host<Chunk> {
        &self.host
    }

    /// Frees a connection that is over and has nothing left to read, report or send. Returns whether it was freed; its
    /// identifier may then be reused.
    pub fn release(&mut self, now_ns: u64, id: ConnectionId) -> bool {
        let released = self.host.rest(Instant::from_nanos(now_ns), id);
        if released {
            self.clear(id);
        }
        released
    }

    /// Clears all state for this identifier.
    fn clear(&mut self, id: ConnectionId) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            self.timers.remove(&(slot.timer_ns, id.0));
            *slot = Slot { touched: slot.touched, ..FREE };
        }
        if let Some(of) = self.mappings.get_mut(id.0 as usize) {
            of.clear();
        }
    }

    /// Retires a connection: it is freed as soon as no more packets can come for it. Its identifier must not be used
    /// any more.
    pub fn retire(&mut self, id: ConnectionId) {
        if let Some(slot) = self.slots.get_mut(id.0 as usize) {
            slot.retired = true;
        }
        self.touch(id);
    }

    /// The connection with this identifier. Panics if there is none.
    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> &Connection<Chunk> {
        self.host.connection(id)
    }

    /// The connection with this identifier, mutable, which marks it as touched. Panics if there is none.
    pub fn connection_mut(&mut self, id: ConnectionId) -> &mut Connection<Chunk> {
        self.touch(id);
        self.host.connection_mut(id)
    }

    /// The connection with this identifier, mutable, without marking it as touched. Panics if there is none.
    pub(crate) fn serving(&mut self, id: ConnectionId) -> &mut Connection<Chunk> {
        self.host.connection_mut(id)
    }

    /// Schedules the connection to be served: read, written, and made to transmit.
    pub fn touch(&mut self, id: ConnectionId) {
        let place = id.0 as usize;
        if self.slots.len() <= place {
            self.slots.resize(place + 1, FREE);
        }
        if !std::mem::replace(&mut self.slots[place].touched, true) {
            self.touched.push_back(id);
        }
    }

    /// The next connection with an event. Each is returned once until it is touched again.
    pub fn next_touched(&mut self) -> Option<ConnectionId> {
        loop {
            let id = self.touched.pop_front()?;
            self.slots[id.0 as usize].touched = false;
            if self.host.has(id) {
                return Some(id);
            }
        }
    }

    /// Receives the next packet of a device; returns whether there was one.
    ///
    /// # Errors
    /// The device is gone.
    pub fn receive_one(&mut self, now_ns: u64, number: usize) -> std::io::Result<bool> {
        let Some(len) = self.devices[number].receive(now_ns, &mut self.buffer)? else { return Ok(false) };
        self.receive_packet(now_ns, number, len);
        Ok(true)
    }

    /// Receives packets that wait at the devices, up to a limit. Returns whether more may wait. Packets that came
    /// together are acknowledged together.
    ///
    /// # Errors
    /// A device is gone.
    pub fn receive(&mut self, now_ns: u64) -> std::io::Result<bool> {
        let mut more = false;
        for number in 0..self.devices.len() {
            for taken in 1..=BATCH {
                let Some(len) = self.devices[number].receive(now_ns, &mut self.buffer)? else { break };
                self.receive_packet(now_ns, number, len);
                more |= taken == BATCH;
            }
        }
        Ok(more)
    }

    fn receive_packet(&mut self, now_ns: u64, device: usize, len: usize) {
        let frame = &self.buffer[..len];
        // An incomplete checksum cannot be wrong: the packet has not been changed since it was created.
        let checksums = if offload::is_unfinished(frame) { Checksums::Ignore } else { Checksums::Verify };
        let decoded = wire::decode_with(frame.get(HEADER_LEN..).unwrap_or_default(), checksums);
        let Some((ip, segment)) = decoded.ok().filter(|(ip, _)| self.device_of.contains_key(&ip.dst)) else {
            match wire::decode_icmp(frame.get(HEADER_LEN..).unwrap_or_default()) {
                Some(error) => {
                    if let Some(at) = self.host.icmp(Instant::from_nanos(now_ns), &error) {
                        self.touch(at.connection);
                    }
                }
                // Neighbour discovery and other packets that are not for us also end up here.
                None => self.devices[device].count_malformed(),
            }
            return;
        };
        let tuple = Tuple {
            local: SocketAddr::new(ip.dst, segment.dst_port),
            remote: SocketAddr::new(ip.src, segment.src_port),
        };
        if ip.ecn == Ecn::Ce
            && let Some(at) = self.host.subflow_at(tuple)
        {
            self.host.connection_mut(at.connection).congestion_experienced(at.subflow);
        }
        let acknowledged = segment.flags.ack().then_some(segment.ack);
        if let Some(at) = self.host.receive(Instant::from_nanos(now_ns), tuple, segment.map_payload(Chunk::from)) {
            if let Some(ack) = acknowledged {
                mappings_of(&mut self.mappings, at.connection, at.subflow).acknowledged(ack);
            }
            self.touch(at.connection);
        }
        if self.limited {
            for dropped in self.host.take_dropped() {
                self.clear(dropped);
            }
        }
    }

    /// Runs the timers that are due.
    pub fn handle_timeouts(&mut self, now_ns: u64) {
        self.host.expire(Instant::from_nanos(now_ns));
        while let Some(&(at_ns, id)) = self.timers.first() {
            if at_ns > now_ns {
                break;
            }
            self.timers.pop_first();
            self.slots[id as usize].timer_ns = u64::MAX;
            self.connection_mut(ConnectionId(id)).handle_timeout(Instant::from_nanos(now_ns));
        }
    }

    /// Sends everything that a connection has to send, and records when its next timer is due.
    ///
    /// # Errors
    /// A segment cannot be encoded as a packet, which is a fault of the transport.
    pub fn transmit(&mut self, now_ns: u64, id: ConnectionId) -> Result<(), EncodeError> {
        let mut lane = None;
        loop {
            let connection = self.host.connection_mut(id);
            let Some(subflow) = connection.transmit_into(Instant::from_nanos(now_ns), &mut self.outgoing) else {
                break;
            };
            let (ecn, fields) = (self.outgoing.ecn, connection.ip_fields());
            let next = Lane { tuple: connection.tuple(subflow), ecn, fields, connection: id, subflow };
            let standing = mappings_of(&mut self.mappings, id, subflow).apply(&mut self.outgoing.segment);
            if lane == Some(next) && self.bundle.add(&mut self.outgoing.segment, standing) {
                continue;
            }
            self.send_bundle(now_ns, lane)?;
            self.bundle.begin(&mut self.outgoing.segment, standing, next.ip().wire_len());
            lane = Some(next);
        }
        self.send_bundle(now_ns, lane)?;
        let slot = self.slots[id.0 as usize];
        // A failed handshake has no owner.
        let stillborn = self.limited && !slot.owned && self.host.connection(id).is_over();
        if (slot.retired || stillborn) && self.forget(now_ns, id) {
            return Ok(());
        }
        let timer = self.host.connection(id).next_timeout();
        let slot = &mut self.slots[id.0 as usize];
        if slot.timer_ns != timer.as_nanos() {
            self.timers.remove(&(slot.timer_ns, id.0));
            slot.timer_ns = timer.as_nanos();
            if !timer.is_never() {
                self.timers.insert((slot.timer_ns, id.0));
            }
        }
        Ok(())
    }

    /// Frees a connection without an owner, unless it still has something to send.
    fn forget(&mut self, now_ns: u64, id: ConnectionId) -> bool {
        let connection = self.host.connection_mut(id);
        while connection.read().is_some() || connection.poll_event().is_some() {}
        self.release(now_ns, id)
    }

    /// Sends segments that belong to no connection, and packets whose delay in an impairment is over.
    ///
    /// # Errors
    /// As [`transmit`](Self::transmit).
    pub fn transmit_others(&mut self, now_ns: u64) -> Result<(), EncodeError> {
        while let Some((tuple, segment)) = self.host.transmit() {
            self.send(now_ns, tuple, Ecn::NotEct, &segment)?;
        }
        for device in &mut self.devices {
            device.release(now_ns);
        }
        Ok(())
    }

    /// Sends the bundle.
    fn send_bundle(&mut self, now_ns: u64, lane: Option<Lane>) -> Result<(), EncodeError> {
        let Some(lane) = lane.filter(|_| !self.bundle.is_empty()) else { return Ok(()) };
        let Some(&device) = self.device_of.get(&lane.tuple.local.ip()) else { return Ok(()) };
        let packets = self.bundle.segments();
        let common = self.bundle.write(&lane.ip(), &mut self.packet)?;
        self.devices[device].send(now_ns, &self.packet, packets);
        if let Some(common) = common {
            mappings_of(&mut self.mappings, lane.connection, lane.subflow).keep(common);
        }
        Ok(())
    }

    fn send(&mut self, now_ns: u64, tuple: Tuple, ecn: Ecn, segment: &Segment<Chunk>) -> Result<(), EncodeError> {
        let Some(&device) = self.device_of.get(&tuple.local.ip()) else { return Ok(()) };
        self.packet.clear();
        self.packet.resize(HEADER_LEN, 0);
        let ip = IpHeader { ecn, ..IpHeader::new(tuple.local.ip(), tuple.remote.ip()) };
        wire::encode(&ip, segment, &mut self.packet)?;
        self.devices[device].send(now_ns, &self.packet, 1);
        Ok(())
    }

    /// When the next timer or release is due, or `u64::MAX`.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        let timer_ns = self.timers.first().map_or(u64::MAX, |&(at_ns, _)| at_ns);
        self.devices.iter().map(Device::next_release_ns).fold(timer_ns, u64::min)
    }
}

#[cfg(test)]
mod tests;

fn local(address: &Address) -> LocalAddress {
    LocalAddress { id: address.id, address: address.address, backup: address.backup }
}

fn mappings_of(all: &mut Vec<Vec<Mappings>>, id: ConnectionId, subflow: SubflowId) -> &mut Mappings {
    let (connection, subflow) = (id.0 as usize, usize::from(subflow.0));
    if all.len() <= connection {
        all.resize_with(connection + 1, Vec::new);
    }
    let of = &mut all[connection];
    if of.len() <= subflow {
        of.resize_with(subflow + 1, Mappings::default);
    }
    &mut of[subflow]
}
