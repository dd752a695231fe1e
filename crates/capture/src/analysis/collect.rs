//! The first pass: sorts the packets one by one into logs, one log per pair of ends and observation point.

use super::log::Log;
use super::points::Point;
use super::report::{ClockStep, File};
use super::twice::Twice;
use crate::link::{self, Network};
use crate::reader::Reader;
use crate::{CaptureError, Packet};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use wire::DecodeError;

/// Number of packets between calls of `watch`; a power of two.
const WATCH_PACKETS: u64 = 1 << 16;
/// Maximum reordering in a file: packets of several queues may be written out of time order by up to this much.
const DISORDER_NS: u64 = 500_000_000;
/// If a connection is silent for this long and then continues, the clock was set forward.
const FORWARD_NS: u64 = 86_400_000_000_000;
/// Maximum number of clock steps listed per file.
const STEPS: usize = 16;

/// All captured packets, by observation point and pair of ends.
#[derive(Default)]
pub struct Collector {
    pub logs: Vec<Log>,
    pub files: Vec<File>,
    pub points: Vec<Point>,
    numbers: BTreeMap<(u32, u32, u32), u32>,
    open: BTreeMap<(u32, [SocketAddr; 2]), usize>,
    last: Option<(u32, [SocketAddr; 2], usize)>,
    twice: Twice,
}

/// State of the clock of one interface of a file.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    begun: bool,
    latest_ns: u64,
    /// Correction added to time stamps so that time continues across clock steps.
    step_ns: i64,
}

impl Collector {
    /// Reads a capture to its end. `watch` is called from time to time with the number of bytes read so far and returns
    /// whether to continue. Returns false if `watch` stopped the reading.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn read(
        &mut self,
        name: &str,
        source: impl Read,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool, CaptureError> {
        let number = self.files.len() as u32;
        let mut file = File { name: name.to_owned(), ..File::default() };
        let mut reader = Reader::new(source)?;
        let mut of_interface: BTreeMap<u32, u32> = BTreeMap::new();
        let mut clocks: Vec<Clock> = Vec::new();
        let mut bytes = 0;
        while let Some(packet) = reader.next_packet()? {
            file.packets += 1;
            bytes += u64::from(packet.original_len);
            let place = (number, packet.interface as u32);
            if clocks.len() <= packet.interface {
                clocks.resize(packet.interface + 1, Clock::default());
            }
            let clock = &mut clocks[packet.interface];
            if let Some(point) = self.packet(&mut file, place, &packet, clock) {
                of_interface.entry(point).or_insert(packet.interface as u32);
            }
            if file.packets & (WATCH_PACKETS - 1) == 0 && !watch(bytes) {
                return Ok(false);
            }
        }
        for (point, interface) in of_interface {
            let interface = reader.interfaces().get(interface as usize);
            let known = interface.map_or("", |known| known.name.as_str());
            let point = &mut self.points[point as usize];
            point.name = if known.is_empty() { name.to_owned() } else { known.to_owned() };
            point.link_type = interface.map_or(0, |known| known.link_type);
            name.clone_into(&mut point.file);
        }
        file.damage = reader.damage().map(str::to_owned);
        self.files.push(file);
        Ok(true)
    }

    /// Adds a packet. Returns the index of the observation point if the packet is TCP.
    fn packet(
        &mut self,
        file: &mut File,
        (number, interface): (u32, u32),
        packet: &Packet,
        clock: &mut Clock,
    ) -> Option<u32> {
        let (ip, seen_by) = match link::network(packet.link_type, packet.bytes) {
            Network::Ip(ip, seen_by) => (ip, seen_by),
            Network::NotRead(what) => {
                file.leave(what);
                return None;
            }
            Network::UnknownLink => {
                file.unknown_links.insert(packet.link_type);
                file.leave(link::name(packet.link_type));
                return None;
            }
        };
        let before = ip.as_ptr() as usize - packet.bytes.as_ptr() as usize;
        let mut frame_len = (packet.original_len as usize).max(packet.bytes.len()).saturating_sub(before);
        let mut ip = ip;
        let captured = loop {
            match wire::decode_frame(ip, frame_len) {
                Ok(captured) => break captured,
                Err(DecodeError::NotTcp { .. }) => match link::tunnelled(ip) {
                    Network::Ip(inner, _) => {
                        frame_len = frame_len.saturating_sub(inner.as_ptr() as usize - ip.as_ptr() as usize);
                        ip = inner;
                    }
                    Network::NotRead(what) => {
                        file.leave(what);
                        return None;
                    }
                    Network::UnknownLink => return None,
                },
                Err(DecodeError::Fragment { .. }) => {
                    file.fragments += 1;
                    return None;
                }
                Err(error) => {
                    file.undecoded += 1;
                    file.first_error.get_or_insert_with(|| format!("packet {}: {error}", file.packets));
                    return None;
                }
            }
        };
        file.tcp += 1;
        file.wrong_checksums += u64::from(captured.checksums == wire::ChecksumState::Wrong);
        file.lengths_of_frames += u64::from(captured.len_of_frame);
        file.lengths_beyond_frames += u64::from(captured.beyond_frame);
        let next = self.numbers.len() as u32;
        let point = *self.numbers.entry((number, interface, seen_by)).or_insert_with(|| {
            self.points.push(Point::default());
            next
        });
        let from = SocketAddr::new(captured.ip.src, captured.segment.src_port);
        let to = SocketAddr::new(captured.ip.dst, captured.segment.dst_port);
        let (tuple, side) = if from <= to { ([from, to], 0) } else { ([to, from], 1) };
        let log = match self.last {
            Some((at, ends, log)) if at == point && ends == tuple => Some(log),
            _ => self.open.get(&(point, tuple)).copied(),
        };
        let begun = log.is_some();
        let log = log.unwrap_or_else(|| {
            self.logs.push(Log::new(point, tuple));
            self.open.insert((point, tuple), self.logs.len() - 1);
            self.logs.len() - 1
        });
        self.last = Some((point, tuple, log));
        let goes_on = begun && !captured.segment.flags.syn();
        let time_ns = clock.time_ns(packet.time_ns, goes_on, file);
        if self.twice.is_known(log, side, time_ns, &captured, &self.logs[log]) {
            file.duplicates += 1;
            return Some(point);
        }
        self.logs[log].add(time_ns, side, captured);
        Some(point)
    }
}

impl Clock {
    /// The time of a packet as if the clock had not been set.
    fn time_ns(&mut self, stamp_ns: u64, goes_on: bool, file: &mut File) -> u64 {
        let time_ns = stamp_ns.saturating_add_signed(self.step_ns);
        let back_ns = self.latest_ns.saturating_sub(time_ns);
        let forward_ns = time_ns.saturating_sub(self.latest_ns);
        let was_set = self.begun && (back_ns > DISORDER_NS || (forward_ns > FORWARD_NS && goes_on));
        self.begun = true;
        if !was_set {
            self.latest_ns = self.latest_ns.max(time_ns);
            return time_ns;
        }
        let by_ns = i128::from(time_ns) - i128::from(self.latest_ns);
        let whole = i128::from(self.step_ns) - by_ns;
        self.step_ns = whole.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        file.clock_was_set += 1;
        if file.clock_steps.len() < STEPS {
            file.clock_steps.push(ClockStep { packet: file.packets, step_s: by_ns as f64 / 1e9 });
        }
        self.latest_ns
    }
}

impl File {
    /// Counts a packet that is not read, by its kind.
    fn leave(&mut self, what: &'static str) {
        self.other += 1;
        *self.not_read.entry(what).or_default() += 1;
    }
}
