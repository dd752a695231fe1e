//! The first pass: packets one by one, each to its leg.

use super::leg::Leg;
use super::report::File;
use crate::link::{self, Network};
use crate::reader::Reader;
use crate::{CaptureError, Packet};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use wire::DecodeError;

/// How often one asks whether to go on, in packets; a power of two.
const WATCH_PACKETS: u64 = 1 << 16;

/// Where packets were captured: a file, an interface of it, and the number that SLL2 frames bear.
type Vantage = (u32, u32, u32);

/// Everything that was captured, by leg.
#[derive(Default)]
pub struct Collector {
    pub legs: Vec<Leg>,
    pub files: Vec<File>,
    pub vantages: Vec<String>,
    numbers: BTreeMap<Vantage, u32>,
    /// The leg that a packet between these two ends belongs to now.
    open: BTreeMap<(u32, [SocketAddr; 2]), usize>,
    last: Option<(u32, [SocketAddr; 2], usize)>,
    pub first_ns: Option<u64>,
    pub last_ns: u64,
}

impl Collector {
    /// Reads a capture to its end. `watch` is asked now and then whether to go on, with the bytes read so far; answers
    /// false when it ended that.
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
        let mut names: BTreeMap<u32, (u32, String)> = BTreeMap::new();
        let mut bytes = 0;
        while let Some(packet) = reader.next_packet()? {
            file.packets += 1;
            bytes += u64::from(packet.original_len);
            let place = (number, packet.interface as u32);
            if let Some(vantage) = self.packet(&mut file, place, &packet) {
                names.entry(vantage).or_insert((packet.interface as u32, String::new()));
            }
            if file.packets & (WATCH_PACKETS - 1) == 0 && !watch(bytes) {
                return Ok(false);
            }
        }
        for (vantage, (interface, _)) in names {
            let interface = reader.interfaces().get(interface as usize).map_or("", |known| known.name.as_str());
            let text = &mut self.vantages[vantage as usize];
            *text = if interface.is_empty() { name.to_owned() } else { interface.to_owned() };
        }
        file.damage = reader.damage().map(str::to_owned);
        self.files.push(file);
        Ok(true)
    }

    /// Takes a packet in; answers the number of the place where it was seen, when it is TCP.
    fn packet(&mut self, file: &mut File, (number, interface): (u32, u32), packet: &Packet) -> Option<u32> {
        let (ip, seen_by) = match link::network(packet.link_type, packet.bytes) {
            Network::Ip(ip, seen_by) => (ip, seen_by),
            Network::Other => {
                file.other += 1;
                return None;
            }
            Network::UnknownLink => {
                file.unknown_links.insert(packet.link_type);
                file.other += 1;
                return None;
            }
        };
        let captured = match wire::decode_headers(ip) {
            Ok(captured) => captured,
            Err(error) => {
                match error {
                    DecodeError::NotTcp { .. } => file.other += 1,
                    DecodeError::Fragment { .. } => file.fragments += 1,
                    _ => {
                        file.undecoded += 1;
                        file.first_error.get_or_insert_with(|| format!("packet {}: {error}", file.packets));
                    }
                }
                return None;
            }
        };
        file.tcp += 1;
        file.wrong_checksums += u64::from(captured.checksums == wire::ChecksumState::Wrong);
        self.first_ns = Some(self.first_ns.map_or(packet.time_ns, |first| first.min(packet.time_ns)));
        self.last_ns = self.last_ns.max(packet.time_ns);
        let next = self.numbers.len() as u32;
        let vantage = *self.numbers.entry((number, interface, seen_by)).or_insert_with(|| {
            self.vantages.push(String::new());
            next
        });
        let from = SocketAddr::new(captured.ip.src, captured.segment.src_port);
        let to = SocketAddr::new(captured.ip.dst, captured.segment.dst_port);
        let (tuple, side) = if from <= to { ([from, to], 0) } else { ([to, from], 1) };
        let leg = match self.last {
            Some((at, ends, leg)) if at == vantage && ends == tuple => Some(leg),
            _ => self.open.get(&(vantage, tuple)).copied(),
        };
        let leg = match leg {
            Some(leg) if !self.legs[leg].is_over_for(side, &captured) => leg,
            earlier => {
                let generation = earlier.map_or(0, |earlier| self.legs[earlier].generation + 1);
                self.legs.push(Leg::new(vantage, generation, tuple, side));
                self.open.insert((vantage, tuple), self.legs.len() - 1);
                self.legs.len() - 1
            }
        };
        self.last = Some((vantage, tuple, leg));
        self.legs[leg].add(packet.time_ns, side, captured);
        Some(vantage)
    }
}
