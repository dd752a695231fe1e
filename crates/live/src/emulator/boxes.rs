//! Middleboxes on the emulator's routes. Packets are decoded before a chain and passed to it; its output is encoded
//! with new checksums. Anything but a TCP segment with a valid checksum passes unchanged, because middleboxes know only
//! TCP.
//!
//! Addresses are those in the packets, so a chain sees what the chains before it wrote. What cannot be read from a
//! packet is kept per subflow in a [`Journey`]: the routes of both directions. For packets from a server that has only
//! seen a translated address, journeys are found by the outside address.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use network::Ecn;
use network::middlebox::{Chain, Ends, Transit, Way};
use scenario::chains;
use scenario::description::{Description, MiddleboxConfig};
use wire::IpHeader;

use super::header::FlowKey;
use super::pool::Slot;

/// Route entries from this number on are crossings of chains: twice the link's number, plus 1 on the way down.
pub const FIRST_CROSSING: u32 = 1 << 31;

/// Maximum length of the headers of a middlebox's packet: IPv6 and a full TCP header.
const HEADERS_BYTES: usize = 40 + 60;

/// The clients behind NATs: their own address by the one that servers see. Written by the emulator's thread, read by
/// the hosts'.
#[derive(Clone, Debug, Default)]
pub struct Translations(Arc<Mutex<BTreeMap<SocketAddr, SocketAddr>>>);

impl Translations {
    /// The client's own address and port for the one that a server sees; the same if there is no NAT.
    #[must_use]
    pub fn inside(&self, outside: SocketAddr) -> SocketAddr {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.get(&outside).copied().unwrap_or(outside)
    }

    fn note(&self, outside: SocketAddr, inside: SocketAddr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(outside, inside);
    }
}

/// A TCP flow between two ports of the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Journey {
    /// Starts of the routes up and down. The second is `None` if there is no route back to the client.
    pub routes: [Option<u32>; 2],
    /// The ends as seen by the client.
    pub ends: Ends,
}

/// A packet that leaves a chain.
#[derive(Debug)]
pub struct Left {
    pub journey: Journey,
    pub way: Way,
    pub packet: Vec<u8>,
    pub ecn: Ecn,
    /// Whether it continues the packet that came in and counts for its flow.
    pub continues: bool,
}

/// All chains of a description.
pub struct Boxes {
    chains: Vec<Chain<Vec<u8>>>,
    /// The journey of the packet in each slot.
    journeys: Vec<Option<Journey>>,
    /// Journeys by the ends that a server sees, if these are not the client's own.
    outside: BTreeMap<Ends, Journey>,
    /// Journeys by chain, direction, and the ends of a packet that leaves the chain, for packets that a chain held.
    leaving: BTreeMap<(usize, Way, Ends), Journey>,
    /// The ECN field of segments that a chain may hold.
    held_ecn: BTreeMap<(usize, Way, Journey), Ecn>,
    translations: Translations,
}

impl Boxes {
    /// The chains; `None` if no link has middleboxes.
    pub fn new(description: &Description, translations: &Translations) -> Option<Boxes> {
        description.links.iter().any(|link| !link.middleboxes.is_empty()).then(|| Boxes {
            chains: chains::of(description),
            journeys: Vec::new(),
            outside: BTreeMap::new(),
            leaving: BTreeMap::new(),
            held_ecn: BTreeMap::new(),
            translations: translations.clone(),
        })
    }

    /// Sets the journey of the packet in `slot`; `None` if it is not a TCP segment.
    pub fn note(&mut self, slot: Slot, journey: Option<Journey>) {
        let place = slot as usize;
        if self.journeys.len() <= place {
            self.journeys.resize(place + 1, None);
        }
        self.journeys[place] = journey;
    }

    /// The journey of the packet in `slot`.
    pub fn journey(&self, slot: Slot) -> Option<Journey> {
        self.journeys.get(slot as usize).copied().flatten()
    }

    /// The journey of a packet from a server to a client that it knows by a translated address.
    pub fn behind_nat(&self, flow: FlowKey) -> Option<Journey> {
        self.outside.get(&Ends { client: end(flow.destination), server: end(flow.source) }).copied()
    }

    /// When a chain releases what it holds, if it holds anything.
    pub fn next_timeout_ns(&self, chain: usize) -> Option<u64> {
        self.chains[chain].next_timeout_ns()
    }

    /// Passes the packet in `slot` through a chain and adds the output to `out`. Returns false, without effect, if
    /// middleboxes cannot read the packet.
    pub fn cross(
        &mut self,
        now_ns: u64,
        (chain, way): (usize, Way),
        (slot, packet, congested): (Slot, &[u8], bool),
        out: &mut Vec<Left>,
    ) -> bool {
        let (Some(journey), Ok((ip, segment))) = (self.journey(slot), wire::decode(packet)) else { return false };
        let (source, destination) =
            (SocketAddr::new(ip.src, segment.src_port), SocketAddr::new(ip.dst, segment.dst_port));
        let ends = match way {
            Way::Up => Ends { client: source, server: destination },
            Way::Down => Ends { client: destination, server: source },
        };
        let ecn = if congested { Ecn::Ce } else { ip.ecn };
        let mut transits = Vec::new();
        self.chains[chain].process(now_ns, Transit { way, ends, segment }, &mut transits);
        // A packet made of two is marked if one of them was (RFC 3168 §5.3).
        let held = self.held_ecn.remove(&(chain, way, journey));
        let joined = held.filter(|&held| held == Ecn::Ce).unwrap_or(ecn);
        if self.chains[chain].next_timeout_ns().is_some() {
            let passes = transits.iter().any(|transit| transit.way == way);
            self.held_ecn.insert((chain, way, journey), if passes { ecn } else { joined });
        }
        let mut continues = true;
        for transit in transits {
            let same_way = transit.way == way;
            let ip = IpHeader { ecn: joined, ..ip };
            if transit.way == Way::Up {
                self.learn(chain, ends, transit.ends, journey);
            }
            let counts = same_way && std::mem::take(&mut continues);
            let header = if same_way { ip } else { IpHeader::new(ip.src, ip.dst) };
            out.extend(encoded(journey, header, &transit, counts));
        }
        true
    }

    /// Releases the segments whose holding time in a chain is over.
    pub fn timeout(&mut self, now_ns: u64, chain: usize, out: &mut Vec<Left>) {
        let mut transits = Vec::new();
        self.chains[chain].handle_timeout(now_ns, &mut transits);
        for transit in transits {
            let Some(&journey) = self.leaving.get(&(chain, transit.way, transit.ends)) else { continue };
            let ecn = self.held_ecn.remove(&(chain, transit.way, journey)).unwrap_or_default();
            let (source, destination) = transit.ends.of(transit.way);
            let header = IpHeader { ecn, ..IpHeader::new(source.ip(), destination.ip()) };
            out.extend(encoded(journey, header, &transit, false));
        }
    }

    /// Records that a flow which enters a chain with the ends `before` leaves it with `after`.
    fn learn(&mut self, chain: usize, before: Ends, after: Ends, journey: Journey) {
        if self.leaving.insert((chain, Way::Up, after), journey) == Some(journey) {
            return;
        }
        self.leaving.insert((chain, Way::Down, before), journey);
        if after.client != before.client {
            self.outside.insert(after, journey);
            self.translations.note(after.client, journey.ends.client);
        }
    }
}

/// The segment as a packet; `None` if the packet would exceed the maximum length of IP.
fn encoded(journey: Journey, header: IpHeader, transit: &Transit<Vec<u8>>, continues: bool) -> Option<Left> {
    let (source, destination) = transit.ends.of(transit.way);
    let header = IpHeader { src: source.ip(), dst: destination.ip(), ..header };
    let mut packet = Vec::with_capacity(header.wire_len() + 60 + transit.segment.payload.len());
    wire::encode(&header, &transit.segment, &mut packet).ok()?;
    Some(Left { journey, way: transit.way, packet, ecn: header.ecn, continues })
}

/// The largest packet that the middleboxes of a description make of packets of up to `packet_bytes`.
pub fn largest_packet(description: &Description, packet_bytes: usize) -> usize {
    let boxes = description.links.iter().flat_map(|link| &link.middleboxes);
    boxes.fold(packet_bytes, |largest, of_link| match *of_link {
        MiddleboxConfig::Coalescing(config) => largest.max(HEADERS_BYTES + usize::from(config.max_bytes)),
        MiddleboxConfig::PayloadRewriting(config) => largest + usize::try_from(config.growth_bytes).unwrap_or(0),
        _ => largest,
    })
}

/// Both ends of a flow that travels in the direction `way`.
pub fn ends(flow: FlowKey, way: Way) -> Ends {
    match way {
        Way::Up => Ends { client: end(flow.source), server: end(flow.destination) },
        Way::Down => Ends { client: end(flow.destination), server: end(flow.source) },
    }
}

/// The flow with the client's own address, whatever address a server sees.
pub fn as_the_client_calls_it(flow: FlowKey, journey: Journey) -> FlowKey {
    let Ends { client, server } = journey.ends;
    let pair = |end: SocketAddr| (end.ip(), end.port());
    if end(flow.source) == client { flow } else { FlowKey { source: pair(server), destination: pair(client) } }
}

fn end((address, port): (std::net::IpAddr, u16)) -> SocketAddr {
    SocketAddr::new(address, port)
}
