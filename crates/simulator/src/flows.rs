//! What lies between the hosts: links, the routes over them, the packets on their way, and the flows they belong to.
//! A flow is one direction of one subflow; flows come in pairs, client to server (even) and server to client (odd).

use crate::SimulateError;
use crate::convert;
use crate::description::Description;
use crate::event_queue::EventQueue;
use crate::slab::Slab;
use crate::through_wire;
use network::{Ecn, Enqueue, Link, Packet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use transport::{Handle, Tuple};
use wire::{IPV4_HEADER_LEN, Segment, Span};

/// A connection of the description's kind `k` calls this port plus `k` of the server.
pub const FIRST_PORT: u16 = 1024;
/// The port from which every connection calls: addresses tell connections apart.
pub const CLIENT_PORT: u16 = 49_152;
/// The one address of all servers (TEST-NET-1, RFC 5737).
pub const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Clients have addresses in 10.0.0.0/8 (RFC 1918): one for each path of each connection, numbered from 10.0.0.1 in
/// the order of the connections and, within one, of its paths. The last is 10.255.255.254.
pub const CLIENT_ADDRESS_LIMIT: u32 = (1 << 24) - 2;
/// Ends a route.
const ROUTE_END: u32 = u32::MAX;

/// The address of the client's end number `index`, which must be below [`CLIENT_ADDRESS_LIMIT`].
pub fn client_address(index: u32) -> IpAddr {
    let [_, b, c, d] = (index + 1).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, b, c, d))
}

/// The number of a client's address; the inverse of [`client_address`].
pub fn client_index(address: IpAddr) -> Option<u32> {
    match address {
        IpAddr::V4(v4) if v4.octets()[0] == 10 => (v4.to_bits() & 0x00ff_ffff).checked_sub(1),
        _ => None,
    }
}

/// What a packet on a link stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tag {
    /// Its flow.
    pub flow: u32,
    /// The slot of its segment, and [`COUNTED`] when it carries data and left after the warm-up, so that it counts for
    /// the loss rate.
    slot: u32,
    /// The place in `Fabric::routes` of the link it is on.
    place: u32,
}

impl Tag {
    /// Whether the packet was marked on its way.
    #[inline]
    pub fn is_marked(self) -> bool {
        self.slot & MARKED != 0
    }
}

const COUNTED: u32 = 1 << 31;
/// Mark of a packet that arrived with CE (RFC 3168 §5).
const MARKED: u32 = 1 << 30;

/// One direction of a subflow.
#[derive(Clone, Copy)]
pub struct Flow {
    /// Where its route begins in `Fabric::routes`.
    route: u32,
    /// The endpoint it leads to.
    pub to: u32,
    /// The subflow there, once the first packet has found it.
    pub handle: Option<Handle>,
    /// Data segments sent since the warm-up.
    pub data_sent: u64,
    /// How many of those the network lost.
    pub data_lost: u64,
    /// Packets on their way.
    under_way: u32,
}

/// A subflow, as both its ends see it.
pub struct Subflow {
    /// Index of its connection.
    pub connection: u32,
    /// Index into the description's paths.
    pub path: u32,
    /// The client's end first, as everywhere.
    pub ends: [SocketAddr; 2],
    /// The name of the subflow at each end that has seen a packet of it.
    pub handles: [Option<Handle>; 2],
}

impl Subflow {
    /// The two addresses as side `side` (0 client, 1 server) sees them.
    pub fn tuple(&self, side: usize) -> Tuple {
        Tuple { local: self.ends[side], remote: self.ends[1 - side] }
    }
}

/// How far ahead of the present moment the head of a link lies as a rule: a full packet's time on most links.
fn span_ns(description: &Description) -> u64 {
    const FULL_PACKET_BITS: u64 = 1500 * 8;
    let directions = description.links.iter().flat_map(|link| [&link.down, &link.up]);
    let mut spans: Vec<u64> = directions
        .map(|way| way.delay_ns.saturating_add(FULL_PACKET_BITS.saturating_mul(1_000_000_000) / way.rate_bps.max(1)))
        .collect();
    spans.sort_unstable();
    spans.get(spans.len() * 3 / 4).copied().unwrap_or(0)
}

/// Links, routes, flows, and the event queue that drives them.
pub struct Fabric {
    pub queue: EventQueue,
    /// Link `l` of the description: direction down at `2 l`, up at `2 l + 1`. Their numbers are their event targets.
    pub links: Vec<Link<Tag>>,
    pub flows: Vec<Flow>,
    /// Flows `2 s` and `2 s + 1` are those of subflow `s`.
    pub subflows: Vec<Subflow>,
    /// Subflows whose numbers are to be given again.
    free: Vec<u32>,
    pub packet_hops: u64,
    pub segments_delivered: u64,
    /// Whether the warm-up is over.
    pub measuring: bool,
    segments: Slab<Segment<Span>>,
    /// Packets sent by hosts, received by hosts, lost between them.
    sent: u64,
    delivered: u64,
    lost: u64,
    /// Links one after another, each route ended by `ROUTE_END`.
    routes: Vec<u32>,
    /// For each path, where its routes client to server and server to client begin.
    path_routes: Vec<[u32; 2]>,
    through_wire: bool,
}

impl Fabric {
    pub fn new(description: &Description) -> Fabric {
        let mut routes = Vec::new();
        let mut path_routes = Vec::new();
        for path in &description.paths {
            let up = routes.len() as u32;
            // Link directions from client to server: as a rule those up.
            let crossed = |position: usize| {
                let reversed = path.reversed.get(position).copied().unwrap_or(false);
                2 * path.links[position] as u32 + u32::from(!reversed)
            };
            routes.extend((0..path.links.len()).map(crossed));
            routes.push(ROUTE_END);
            let down = routes.len() as u32;
            routes.extend((0..path.links.len()).rev().map(|position| crossed(position) ^ 1));
            routes.push(ROUTE_END);
            path_routes.push([up, down]);
        }
        Fabric {
            queue: EventQueue::new(2 * description.links.len(), span_ns(description)),
            links: convert::links(description),
            flows: Vec::new(),
            subflows: Vec::new(),
            free: Vec::new(),
            packet_hops: 0,
            segments_delivered: 0,
            measuring: false,
            segments: Slab::default(),
            sent: 0,
            delivered: 0,
            lost: 0,
            routes,
            path_routes,
            through_wire: description.through_wire,
        }
    }

    /// Makes both flows of a new subflow and answers the number of the one from client to server.
    pub fn open(&mut self, subflow: Subflow) -> u32 {
        let routes = self.path_routes[subflow.path as usize];
        // Endpoints: client at 2 c, server at 2 c + 1. The flow up leads to the server.
        let to = [2 * subflow.connection + 1, 2 * subflow.connection];
        let flow = |direction: usize| Flow {
            route: routes[direction],
            to: to[direction],
            handle: None,
            data_sent: 0,
            data_lost: 0,
            under_way: 0,
        };
        match self.free.pop() {
            Some(number) => {
                self.subflows[number as usize] = subflow;
                self.flows[2 * number as usize..][..2].copy_from_slice(&[flow(0), flow(1)]);
                2 * number
            }
            None => {
                self.subflows.push(subflow);
                self.flows.extend([flow(0), flow(1)]);
                self.flows.len() as u32 - 2
            }
        }
    }

    /// Whether no packet of subflow `number` is on its way.
    pub fn is_quiet(&self, number: u32) -> bool {
        self.flows[2 * number as usize..][..2].iter().all(|flow| flow.under_way == 0)
    }

    /// Gives the number of a subflow back; it must be quiet, and nobody sends on it any more.
    pub fn release(&mut self, number: u32) {
        debug_assert!(self.is_quiet(number), "subflow {number} is released with packets on their way");
        self.free.push(number);
    }

    /// Sends `segment` by `flow`: on to the first link of its route.
    #[inline]
    pub fn send(&mut self, now_ns: u64, flow: u32, segment: Segment<Span>, ecn: Ecn) -> Result<(), Box<SimulateError>> {
        let size = IPV4_HEADER_LEN + segment.header_len() + segment.payload.len as usize;
        if self.through_wire {
            let tuple = self.subflows[flow as usize / 2].tuple(flow as usize % 2);
            through_wire::check(tuple, &segment, size)?;
        }
        self.sent += 1;
        let record = &mut self.flows[flow as usize];
        let counted = self.measuring && segment.payload.len > 0;
        record.data_sent += u64::from(counted);
        record.under_way += 1;
        let place = record.route;
        let first_link = self.routes[place as usize];
        // Validation keeps the MSS small enough for the length field of IPv4, 16 bits.
        let size = size as u16;
        let slot = self.segments.insert(segment) | if counted { COUNTED } else { 0 };
        self.enqueue(now_ns, first_link, Packet::new(Tag { flow, slot, place }, size, 0, ecn));
        Ok(())
    }

    /// The packet at the head of `link` has reached the far end: on to the next link, or, at the end of its route, to
    /// the host; then its segment is to be taken with [`Fabric::take`].
    #[inline]
    pub fn hop(&mut self, now_ns: u64, link: u32) -> Option<Tag> {
        self.packet_hops += 1;
        let from = &mut self.links[link as usize];
        let mut packet = from.deliver(now_ns);
        let next_ns = from.next_arrival_or_max_ns();
        if next_ns != u64::MAX {
            self.queue.push_link(next_ns, link);
        }
        if packet.lost() {
            self.lose(packet);
            return None;
        }
        packet.tag.place += 1;
        let next_link = self.routes[packet.tag.place as usize];
        if next_link != ROUTE_END {
            self.enqueue(now_ns, next_link, packet);
            return None;
        }
        if packet.ce() {
            packet.tag.slot |= MARKED;
        }
        Some(packet.tag)
    }

    /// The segment of a packet that has arrived.
    #[inline]
    pub fn take(&mut self, arrived: Tag) -> Segment<Span> {
        let slot = arrived.slot & !(COUNTED | MARKED);
        self.delivered += 1;
        self.flows[arrived.flow as usize].under_way -= 1;
        self.segments_delivered += u64::from(self.segments.get(slot).is_some_and(|segment| segment.payload.len > 0));
        self.segments.take(slot)
    }

    // Inlined by force: a packet that is passed in memory costs more than the queue itself.
    #[inline(always)]
    fn enqueue(&mut self, now_ns: u64, link: u32, packet: Packet<Tag>) {
        let onto = &mut self.links[link as usize];
        match onto.enqueue(now_ns, packet) {
            Enqueue::Accepted { first: false } => {}
            Enqueue::Accepted { first: true } => self.queue.push_link(onto.next_arrival_or_max_ns(), link),
            Enqueue::Dropped(_) => self.lose(packet),
        }
    }

    /// Counts a packet that the network lost and frees its segment.
    fn lose(&mut self, packet: Packet<Tag>) {
        self.lost += 1;
        self.segments.take(packet.tag.slot & !COUNTED);
        let flow = &mut self.flows[packet.tag.flow as usize];
        flow.data_lost += u64::from(packet.tag.slot & COUNTED != 0);
        flow.under_way -= 1;
    }

    /// Changes a link and schedules its head anew.
    pub fn change(&mut self, now_ns: u64, link: u32, change: network::Change) {
        let mut lost = Vec::new();
        let changed = &mut self.links[link as usize];
        changed.change(now_ns, change, &mut |packet| lost.push(packet));
        let next_ns = changed.next_arrival_or_max_ns();
        self.queue.remove(link);
        if next_ns != u64::MAX {
            self.queue.push_link(next_ns, link);
        }
        for packet in lost {
            self.lose(packet);
        }
    }

    /// Panics unless every packet sent was delivered, was lost, or is on a link.
    pub fn assert_conserved(&self) {
        let in_flight = self.segments.len() as u64;
        let under_way: u64 = self.links.iter().map(Link::under_way).sum();
        assert_eq!(in_flight, under_way, "segments in flight, packets on links");
        assert_eq!(self.sent, self.delivered + self.lost + in_flight, "packets sent = delivered + lost + in flight");
    }
}

#[cfg(test)]
mod tests;
