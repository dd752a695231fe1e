//! The network between the hosts: links, the routes over them, packets in flight, and the flows that the packets belong
//! to. A flow is one direction of one subflow. Flows come in pairs, client to server (even) and server to client (odd).

use crate::SimulateError;
use crate::ahead::{Ahead, BATCH, Few};
pub use crate::arrived::Arrived;
use crate::arrived::{COUNTED, MARKED};
use crate::boxes::{Boxes, FIRST_CROSSING, Left};
use crate::event_queue::EventQueue;
use crate::in_flight::{self, InFlight, InPlace};
use crate::tap::Tapped;
use crate::through_wire;
use network::middlebox::{Ends, Way};
use network::{Ecn, Enqueue, Link, Medium, Packet, prefetch};
use scenario::convert;
use scenario::description::{self, Change, Description};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use transport::{Form, Handle, Outgoing, Sending, Tuple};
use wire::{Compact, IPV4_HEADER_LEN, SackBlocks, Segment, Span};

/// Connections of kind `k` in the description use this port plus `k` at the server.
pub const FIRST_PORT: u16 = 1024;
/// The client port of every connection. Connections differ in their addresses.
pub const CLIENT_PORT: u16 = 49_152;
/// The address of all servers that clients connect to (TEST-NET-1, RFC 5737). Further server addresses follow it.
pub const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Upper bound of the number of client addresses. Clients have addresses in 10.0.0.0/8 (RFC 1918), one for each path of
/// each connection, numbered from 10.0.0.1 in the order of the connections and, within one, of its paths. The last is
/// 10.255.255.254.
pub const CLIENT_ADDRESS_LIMIT: u32 = (1 << 24) - 2;
/// End of a route.
const ROUTE_END: u32 = u32::MAX;

/// The client address with number `index`, which must be below [`CLIENT_ADDRESS_LIMIT`].
pub fn client_address(index: u32) -> IpAddr {
    let [_, b, c, d] = (index + 1).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, b, c, d))
}

/// The server address with this number, starting with the one that clients connect to.
pub fn server_address(number: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(SERVER_ADDRESS.to_bits() + number as u32))
}

/// The number of a client address; the inverse of [`client_address`].
pub fn client_index(address: IpAddr) -> Option<u32> {
    match address {
        IpAddr::V4(v4) if v4.octets()[0] == 10 => (v4.to_bits() & 0x00ff_ffff).checked_sub(1),
        _ => None,
    }
}

/// The network's data on a packet on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tag {
    /// The slot of its segment, with the flag [`COUNTED`] if it carries data and was sent after the warm-up, so that it
    /// counts for the loss rate.
    slot: u32,
    /// Index in `Fabric::routes` of the link it is on.
    place: u32,
    /// The next route entry, kept here so that it can be prefetched.
    next: u32,
}

impl Tag {
    /// What the packet will need at the end of its link, for [`Fabric::look_ahead`]: the next link, or its slot with
    /// [`ENDS`].
    #[inline(always)]
    fn note(self) -> u32 {
        if self.next == ROUTE_END { self.slot | ENDS } else { self.next }
    }
}

/// With fewer flows than this (two per subflow), the memory that segments touch is in the cache anyway.
const FLOWS_MIN: usize = 1024;
/// Flag of [`Tag::note`]: the packet reaches the end of its route. Larger than any number of a link or crossing.
const ENDS: u32 = 1 << 31;

/// One direction of a subflow.
#[derive(Clone, Copy)]
pub struct Flow {
    /// Start of its route in `Fabric::routes`.
    route: u32,
    /// The endpoint that receives it.
    pub to: u32,
    /// The subflow at that endpoint, once the first packet has been assigned to it.
    pub handle: Option<Handle>,
    /// Data segments sent after the warm-up.
    pub data_sent: u64,
    /// How many of these the network lost.
    pub data_lost: u64,
    /// Packets in flight.
    under_way: u32,
}

impl Flow {
    /// One of its packets is no longer in flight.
    #[inline(always)]
    fn leaves(&mut self) {
        self.under_way -= 1;
    }
}

/// A subflow, as seen by both ends.
#[derive(Clone, Copy)]
pub struct Subflow {
    /// Index of the connection.
    pub connection: u32,
    /// Index into the description's connections, the kind.
    pub kind: u32,
    /// Index into the description's paths.
    pub path: u32,
    /// The client's end first.
    pub ends: [SocketAddr; 2],
    /// The subflow's handle at each end that has seen a packet of it.
    pub handles: [Option<Handle>; 2],
}

impl Subflow {
    /// The two addresses as seen by side `side` (0 client, 1 server).
    pub fn tuple(&self, side: usize) -> Tuple {
        Tuple { local: self.ends[side], remote: self.ends[1 - side] }
    }
}

/// How far ahead the heads of links lie. This is the time of a full packet on the longest link if a calendar of that
/// length has few events per day (a packet then finds at most about one event per day), otherwise on most links.
fn span_ns(description: &Description) -> u64 {
    const FULL_PACKET_BITS: u64 = 1500 * 8;
    /// Events per day, with all links fully loaded, up to which a calendar is still faster than a heap.
    const EVENTS_A_DAY: f64 = 4.0;
    /// Up to this many events per day, a day mostly has no second event.
    const RARE_EVENTS_A_DAY: f64 = 0.25;
    /// Maximum number of doublings of the day. After them, a cache line of the calendar covers more than a hundred of
    /// the rarest events.
    const DOUBLINGS: usize = 8;
    // The opportunities of a trace are mostly soon enough.
    let rate_bps = |way: &description::Direction| way.trace.map_or(way.rate_bps.max(1), |_| u64::MAX);
    let directions: Vec<&description::Direction> =
        description.links.iter().flat_map(|link| [&link.down, &link.up]).collect();
    let mut spans: Vec<u64> = directions
        .iter()
        .map(|way| way.delay_ns.saturating_add(FULL_PACKET_BITS.saturating_mul(1_000_000_000) / rate_bps(way)))
        .collect();
    spans.sort_unstable();
    // A direction is no busier than the slowest links of the paths over it allow.
    let mut bits_per_s = vec![0.0; directions.len()];
    for crossed in description.paths.iter().flat_map(|path| [path.crossed(true), path.crossed(false)]) {
        let slowest = crossed.iter().map(|&link| rate_bps(directions[link as usize])).min().unwrap_or(0);
        crossed.iter().for_each(|&link| bits_per_s[link as usize] += slowest as f64);
    }
    let busiest = directions.iter().zip(&bits_per_s).map(|(way, &paths)| (rate_bps(way) as f64).min(paths));
    let events_per_ns = busiest.sum::<f64>() / FULL_PACKET_BITS as f64 * 1e-9;
    let is_sparse = |span_ns: u64| events_per_ns * EventQueue::day_ns(span_ns) as f64 <= EVENTS_A_DAY;
    let most = spans.get(spans.len() * 3 / 4).copied().unwrap_or(0);
    let span_ns = spans.iter().rev().copied().find(|&span_ns| span_ns <= most || is_sparse(span_ns)).unwrap_or(most);
    // Longer days if events are rare: otherwise each event would need its own cache line of the calendar.
    let doublings = std::iter::successors(Some(span_ns), |&span_ns| span_ns.checked_mul(2)).take(DOUBLINGS);
    let is_rare = |span_ns: u64| events_per_ns * EventQueue::day_ns(span_ns) as f64 <= RARE_EVENTS_A_DAY;
    doublings.take_while(|&span_ns| is_rare(span_ns)).last().unwrap_or(span_ns)
}

/// Links, routes, flows, and the event queue that drives them.
pub struct Fabric {
    pub queue: EventQueue,
    ahead: Ahead,
    /// Link `l` of the description: direction down at `2 l`, up at `2 l + 1`; then the stages before and after them.
    /// The indices are their event targets.
    pub links: Vec<Link<Tag>>,
    pub flows: Vec<Flow>,
    /// Flows `2 s` and `2 s + 1` are those of subflow `s`.
    pub subflows: Vec<Subflow>,
    /// Numbers of removed subflows, for reuse.
    free: Vec<u32>,
    pub packet_hops: u64,
    /// When `packet_hops` reaches this, links are asked to free memory.
    release_hops: u64,
    pub segments_delivered: u64,
    /// Whether the warm-up is over.
    pub measuring: bool,
    segments: InFlight,
    /// Packets sent by hosts, received by hosts, and lost in between.
    sent: u64,
    delivered: u64,
    lost: u64,
    /// All routes, consecutively: links and, from `FIRST_CROSSING` on, crossings of middleboxes. Each route ends with
    /// `ROUTE_END`.
    routes: Vec<u32>,
    /// For each path, the starts of its routes client to server and server to client.
    path_routes: Vec<[u32; 2]>,
    /// For each direction of a link, the stages before and after it.
    stages: Vec<[Option<u32>; 2]>,
    through_wire: bool,
    /// Whether packets go through the wire format or a tap is set. One flag, because it is tested for every packet.
    looked_at: bool,
    /// The middleboxes on links, if any. Their event target follows those of the links.
    boxes: Option<Box<Boxes>>,
    /// Half-duplex media, and the medium of each link. Their event target follows that of the middleboxes.
    media: (Vec<Medium>, Vec<Option<usize>>),
    /// The tap that sees every packet at the hosts, if any.
    tap: Option<Box<Tapped>>,
}

impl Fabric {
    /// Addresses in each memory area that grows with the network.
    pub fn memory(&self) -> impl Iterator<Item = *const u8> {
        let packets = self.links.iter().filter_map(|link| link.head()).map(|packet| std::ptr::from_ref(packet).cast());
        let whole = [self.links.as_ptr().cast(), self.flows.as_ptr().cast()];
        whole.into_iter().chain(self.segments.memory()).chain(packets)
    }

    /// At the end of a run, drops the segments in flight.
    pub fn forget_segments(&mut self) {
        self.segments = InFlight::default();
    }

    /// Makes links free memory that their queues no longer need: most queues are long only while connections start.
    /// This is done so rarely that the loop over the links costs nothing noticeable.
    pub fn release_memory(&mut self) {
        const HOPS_A_LINK: u64 = 128;
        if self.packet_hops >= self.release_hops {
            self.release_hops = self.packet_hops + HOPS_A_LINK * self.links.len() as u64;
            self.links.iter_mut().for_each(Link::release_memory);
        }
    }

    pub fn new(description: &Description) -> Fabric {
        let mut boxes = Boxes::new(description);
        let stages = convert::stages(description);
        let links: Vec<Link<Tag>> = convert::links(description);
        let mut routes = Vec::new();
        let mut path_routes = Vec::new();
        for (number, path) in description.paths.iter().enumerate() {
            let [mut up, mut down] = [Vec::new(), Vec::new()];
            for (position, &link) in path.links.iter().enumerate() {
                // Link directions from client to server, usually up.
                let reversed = path.reversed.get(position).copied().unwrap_or(false);
                let crossed = 2 * link as u32 + u32::from(!reversed);
                up.push(crossed);
                down.push(crossed ^ 1);
                if let (Some(boxes), false) = (&mut boxes, description.links[link].middleboxes.is_empty()) {
                    let [upwards, downwards] = boxes.add_crossing(number, link);
                    up.push(upwards);
                    down.push(downwards);
                }
            }
            down.reverse();
            path_routes.push([up, down].map(|route| {
                let route = convert::with_stages(&route, &stages);
                let start = routes.len() as u32;
                if let Some(boxes) = &mut boxes {
                    let crossings = route.iter().enumerate().filter(|&(_, &entry)| entry >= FIRST_CROSSING);
                    crossings.for_each(|(position, &entry)| boxes.set_position(entry, position));
                }
                routes.extend(route);
                routes.push(ROUTE_END);
                start
            }));
        }
        let queue = EventQueue::new(links.len(), span_ns(description));
        Fabric {
            ahead: Ahead::new(description.links.len(), &queue),
            queue,
            links,
            flows: Vec::new(),
            subflows: Vec::new(),
            free: Vec::new(),
            packet_hops: 0,
            release_hops: 0,
            segments_delivered: 0,
            measuring: false,
            segments: InFlight::default(),
            sent: 0,
            delivered: 0,
            lost: 0,
            routes,
            path_routes,
            stages,
            through_wire: description.through_wire,
            looked_at: description.through_wire,
            boxes: boxes.map(Box::new),
            media: convert::media(description),
            tap: None,
        }
    }

    /// Creates both flows of a new subflow and returns the number of the one from client to server.
    pub fn open(&mut self, subflow: Subflow) -> u32 {
        let flows = self.flows_of(&subflow);
        if let Some(boxes) = &mut self.boxes {
            let number = self.free.last().copied().unwrap_or(self.subflows.len() as u32);
            let [client, server] = subflow.ends;
            boxes.open(number, subflow.path, Ends { client, server });
        }
        match self.free.pop() {
            Some(number) => {
                self.subflows[number as usize] = subflow;
                self.flows[2 * number as usize..][..2].copy_from_slice(&flows);
                2 * number
            }
            None => {
                self.subflows.push(subflow);
                self.flows.extend(flows);
                self.flows.len() as u32 - 2
            }
        }
    }

    /// Both flows of a subflow, before anything is sent.
    fn flows_of(&self, subflow: &Subflow) -> [Flow; 2] {
        let routes = self.path_routes[subflow.path as usize];
        // Endpoints: the client at 2 c, the server at 2 c + 1. The flow up leads to the server.
        let to = [2 * subflow.connection + 1, 2 * subflow.connection];
        [0, 1].map(|way| Flow {
            route: routes[way],
            to: to[way],
            handle: None,
            data_sent: 0,
            data_lost: 0,
            under_way: 0,
        })
    }

    /// Whether no packet of subflow `number` is in flight.
    pub fn is_quiet(&self, number: u32) -> bool {
        self.flows[2 * number as usize..][..2].iter().all(|flow| flow.under_way == 0)
    }

    /// The ends of a flow's subflow as seen by the host on side `side`.
    pub fn ends(&self, flow: u32, side: usize) -> Tuple {
        self.subflows[flow as usize / 2].tuple(side)
    }

    /// The host on side `side` has dropped the subflow on which it sent `flow`. Later packets are looked up anew.
    pub fn disown(&mut self, flow: u32, side: usize) {
        self.subflows[flow as usize / 2].handles[side] = None;
        self.flows[flow as usize ^ 1].handle = None;
    }

    /// Frees the number of a subflow. It must be quiet and have no sender any more.
    pub fn release(&mut self, number: u32) {
        debug_assert!(self.is_quiet(number), "subflow {number} is released with packets on their way");
        if let Some(boxes) = &mut self.boxes {
            boxes.release(number);
        }
        self.free.push(number);
    }

    /// The two addresses of subflow `number` as seen by side `side`. Behind a NAT the server sees another client
    /// address.
    pub fn tuple(&self, number: usize, side: usize) -> Tuple {
        match self.boxes.as_ref().filter(|_| side == 1).and_then(|boxes| boxes.server_ends(number as u32)) {
            Some(Ends { client, server }) => Tuple { local: server, remote: client },
            None => self.subflows[number].tuple(side),
        }
    }

    /// Sends what was written to `out` on `flow` to the first link of its route.
    #[inline(never)]
    pub fn send_outgoing(
        &mut self,
        now_ns: u64,
        flow: u32,
        form: Form,
        out: &mut Outgoing<Span>,
    ) -> Result<(), Box<SimulateError>> {
        if form == Form::Whole || self.looked_at {
            return self.send_expanded(now_ns, flow, form, out);
        }
        let (mut header_len, data_len) = (out.compact.header_len(), out.compact.payload.len);
        let slot = if form == Form::Compact {
            self.segments.insert(in_flight::tag(flow, out.sending), &out.compact)
        } else {
            let Some(slot) = self.segments.insert_selective(flow, &out.compact, &out.blocks) else {
                return self.send_expanded(now_ns, flow, form, out);
            };
            header_len += out.blocks.wire_len();
            slot
        };
        self.send_slot(now_ns, flow, slot, (header_len, data_len), out.ecn);
        Ok(())
    }

    /// As [`Self::send_outgoing`], for what is to be seen whole or does not fit into little room.
    fn send_expanded(
        &mut self,
        now_ns: u64,
        flow: u32,
        form: Form,
        out: &mut Outgoing<Span>,
    ) -> Result<(), Box<SimulateError>> {
        if form != Form::Whole {
            out.expand();
        }
        self.send(now_ns, (flow, out.sending), &mut out.segment, out.ecn)
    }

    /// Sends `segment` on `flow`, for the reason given, to the first link of its route. Takes the boxed parts out of `segment`.
    #[inline(never)]
    pub fn send(
        &mut self,
        now_ns: u64,
        (flow, sending): (u32, Sending),
        segment: &mut Segment<Span>,
        ecn: Ecn,
    ) -> Result<(), Box<SimulateError>> {
        if self.looked_at {
            self.look_at_sent(now_ns, flow, segment, ecn)?;
        }
        let lens = (segment.header_len(), segment.payload.len);
        let slot = self.segments.insert_any(in_flight::tag(flow, sending), segment);
        self.send_slot(now_ns, flow, slot, lens, ecn);
        Ok(())
    }

    /// Sends the segment in `slot`, with the given header and payload lengths, to the first link.
    #[inline(always)]
    fn send_slot(&mut self, now_ns: u64, flow: u32, slot: u32, (header_len, data_len): (usize, u32), ecn: Ecn) {
        self.sent += 1;
        let record = &mut self.flows[flow as usize];
        let counted = self.measuring && data_len > 0;
        record.data_sent += u64::from(counted);
        record.under_way += 1;
        let place = record.route;
        let first_link = self.routes[place as usize];
        let slot = slot | if counted { COUNTED } else { 0 };
        if first_link < FIRST_CROSSING {
            // Validation limits the MSS so that the size fits the 16-bit length field of IPv4.
            let size = (IPV4_HEADER_LEN + header_len) as u32 + data_len;
            self.enqueue::<true>(now_ns, first_link, (slot, place), size as u16, ecn);
        } else {
            self.cross(now_ns, first_link, slot, ecn);
        }
    }

    /// Moves the packet at the head of `link`, which has reached the far end, to the next link or, at the end of its
    /// route, to the host. In the latter case [`Fabric::take`] returns its segment. With `AHEAD`, the next event of the
    /// link is noted.
    #[inline(always)]
    pub fn hop<const AHEAD: bool>(&mut self, now_ns: u64, link: u32) -> Option<Arrived> {
        self.packet_hops += 1;
        let from = &mut self.links[link as usize];
        let packet = from.deliver(now_ns);
        let next_ns = from.next_arrival_or_max_ns();
        if next_ns != u64::MAX {
            let head = from.head().map(|head| head.tag);
            // A large network looks further ahead. In a small one this is the first load of a segment that is not in the
            // nearest cache, and there is time for it until the next packet arrives.
            if let Some(head) = head.filter(|head| !AHEAD && head.next == ROUTE_END) {
                self.segments.prefetch(head.slot & !COUNTED);
            }
            let note = if AHEAD { head.map_or(0, Tag::note) } else { 0 };
            self.queue.push_link(now_ns, next_ns, link, note);
        }
        let Tag { slot, place, next } = packet.tag;
        if packet.lost() {
            self.lose(slot);
            return None;
        }
        if next < FIRST_CROSSING {
            self.enqueue::<AHEAD>(now_ns, next, (slot, place + 1), packet.size, packet.ecn());
            return None;
        }
        if next != ROUTE_END {
            self.cross(now_ns, next, slot, packet.ecn());
            return None;
        }
        let arrived = Arrived::new(slot, packet.ce());
        if self.tap.is_some() {
            self.tap_arrived(now_ns, arrived, packet.ecn());
        }
        Some(arrived)
    }

    /// Whether [`Self::look_ahead`] is worthwhile.
    #[inline]
    pub fn looks_ahead(&self) -> bool {
        self.ahead.days().is_some()
    }

    /// Whether [`Self::look_along`] is worthwhile: with few links, and more flows than fit the cache.
    pub fn looks_along(&self) -> bool {
        !self.looks_ahead() && self.flows.len() >= FLOWS_MIN
    }

    /// Prefetches memory for packets that will reach the end of `link` soon. Returns the flows of two packets that end
    /// their routes there, the second sooner than the first.
    #[inline]
    pub fn look_along(&self, link: u32) -> [Option<u32>; 2] {
        let Some(link) = self.links.get(link as usize) else { return [None; 2] };
        let slot = |behind: u64| {
            let packet = link.behind_head(behind).filter(|packet| packet.tag.next == ROUTE_END);
            packet.map(|packet| packet.tag.slot & !COUNTED)
        };
        if let Some(slot) = slot(16) {
            self.segments.prefetch(slot);
        }
        if let Some(slot) = slot(12)
            && let Some(record) = self.flows.get(self.segments.flow(slot) as usize)
        {
            prefetch::lines::<_, 1>(record);
        }
        [8, 4].map(|behind| slot(behind).map(|slot| self.segments.flow(slot)))
    }

    /// Prefetches memory for coming events. Returns the flows of packets that will soon reach the end of their routes,
    /// the second set sooner than the first.
    #[inline(never)]
    pub fn look_ahead(&mut self, now_ns: u64) -> [Few; 2] {
        let Some(days) = self.ahead.days() else { return [Few::EMPTY; 2] };
        for &link in self.ahead.links.as_slice() {
            if let Some(link) = self.links.get(link as usize) {
                link.prefetch_head();
            }
        }
        let mut flows = Few::EMPTY;
        for &slot in self.ahead.slots.as_slice() {
            // The slot may be free by now or hold another packet.
            let flow = self.segments.flow(slot);
            flows.add(flow);
            if let Some(record) = self.flows.get(flow as usize) {
                prefetch::lines::<_, 1>(record);
            }
        }
        (self.ahead.links, self.ahead.slots) = (Few::EMPTY, Few::EMPTY);
        for _ in 0..BATCH {
            let Some((link, note)) = self.queue.following(&mut self.ahead.cursor, now_ns, days) else { break };
            if let Some(from) = self.links.get(link as usize) {
                from.prefetch_behind();
                self.ahead.links.add(link);
            }
            if let Some(onto) = self.links.get(note as usize) {
                onto.prefetch();
            } else if note & ENDS != 0 {
                self.segments.prefetch(note & !ENDS);
                self.ahead.slots.add(note & !ENDS);
            }
        }
        let [last, before] = self.ahead.flows;
        self.ahead.flows = [flows, last];
        [last, before]
    }

    /// The endpoint, handle and segment of a packet that has arrived, if the segment is compact and its receiver known.
    /// It is to be received in place and then released.
    #[inline]
    pub fn arrived_compact(&mut self, arrived: Arrived) -> Option<(u32, Handle, InPlace<'_>)> {
        let held = self.segments.compact(arrived.slot())?;
        let segment = &*held.segment;
        let flow = &mut self.flows[in_flight::flow_of(segment.tag) as usize];
        let handle = flow.handle?;
        flow.leaves();
        self.delivered += 1;
        self.segments_delivered += u64::from(segment.payload.len > 0);
        Some((flow.to, handle, held))
    }

    /// As [`Self::arrived_compact`], for an ACK with SACK blocks, to be released with [`Self::received`].
    pub fn arrived_selective(&mut self, arrived: Arrived) -> Option<(u32, Handle, &mut Compact<Span>, SackBlocks)> {
        let slot = arrived.slot();
        let flow = &mut self.flows[self.segments.flow(slot) as usize];
        let handle = flow.handle?;
        let (segment, blocks) = self.segments.selective(slot)?;
        flow.leaves();
        self.delivered += 1;
        Some((flow.to, handle, segment, blocks))
    }

    /// Releases a compact segment that was received.
    #[inline]
    pub fn received(&mut self, arrived: Arrived) {
        self.segments.received(arrived.slot());
    }

    /// The reason for which the segment just taken was sent; `None` with middleboxes, which create segments of their
    /// own.
    pub fn sending_of(&self, arrived: Arrived) -> Option<Sending> {
        self.boxes.is_none().then(|| in_flight::sending_of(self.segments.tag(arrived.slot())))
    }

    /// Moves the segment of a packet that has arrived into `segment`. Returns the flow's number and the flow.
    pub fn take(&mut self, arrived: Arrived, segment: &mut Segment<Span>) -> (u32, &Flow) {
        self.delivered += 1;
        let number = self.flow_of(arrived);
        self.segments.take(arrived.slot(), segment);
        self.segments_delivered += u64::from(segment.payload.len > 0);
        let flow = &mut self.flows[number as usize];
        flow.leaves();
        (number, flow)
    }

    fn flow_of(&self, arrived: Arrived) -> u32 {
        self.segments.flow(arrived.slot())
    }

    /// Puts the packet in slot `slot` onto `link`, which is entry `place` of the routes. Inlined by force, with the
    /// packet built here: passing it through memory costs more than the queue itself.
    #[inline(always)]
    fn enqueue<const AHEAD: bool>(&mut self, now_ns: u64, link: u32, (slot, place): (u32, u32), size: u16, ecn: Ecn) {
        let next = self.routes[place as usize + 1];
        let onto = &mut self.links[link as usize];
        let tag = Tag { slot, place, next };
        let segments = &self.segments;
        let subflows = &self.subflows;
        let flow = || {
            let number = segments.flow(slot & !(COUNTED | MARKED));
            // Both ends of a kind of connections count as hosts of their own.
            network::Flow { number: u64::from(number), hosts: [subflows[number as usize / 2].kind; 2] }
        };
        match onto.enqueue_of(now_ns, Packet::new(tag, size, 0, ecn), flow) {
            Enqueue::Accepted { first: false } => {}
            Enqueue::Accepted { first: true } => {
                let note = if AHEAD { tag.note() } else { 0 };
                self.queue.push_link(now_ns, onto.next_arrival_or_max_ns(), link, note);
            }
            other => self.not_under_way(now_ns, link, slot, other),
        }
    }

    /// Rare cases in one call: each further arm of the `match` above would cost registers for every packet.
    #[cold]
    #[inline(never)]
    fn not_under_way(&mut self, now_ns: u64, link: u32, slot: u32, answer: Enqueue) {
        match answer {
            Enqueue::Accepted { .. } => {}
            Enqueue::Waiting => self.serve_link(now_ns, link),
            Enqueue::Disordered { reschedule, .. } => self.disordered(now_ns, link, reschedule),
            Enqueue::Dropped(_) => self.lose(slot),
        }
    }

    /// A packet came to the stage `link`, which reorders or duplicates packets.
    #[cold]
    #[inline(never)]
    fn disordered(&mut self, now_ns: u64, link: u32, mut reschedule: bool) {
        if let Some(packet) = self.links[link as usize].comes_twice() {
            let slot = packet.tag.slot & !(COUNTED | MARKED);
            let beside = self.segments.tag(slot);
            let mut copy = self.segments.get(slot);
            let slot = self.segments.insert_any(beside, &mut copy);
            // No host sent it, but it is counted as sent.
            self.sent += 1;
            self.flows[in_flight::flow_of(beside) as usize].under_way += 1;
            let tag = Tag { slot, ..packet.tag };
            let copy = Packet::new(tag, packet.size, 0, packet.ecn());
            let answer = self.links[link as usize].enqueue_copy(now_ns, copy);
            reschedule |= matches!(answer, Enqueue::Disordered { reschedule: true, .. });
        }
        if reschedule {
            self.queue.remove(link);
            self.queue.push_link(now_ns, self.links[link as usize].next_arrival_or_max_ns(), link, 0);
        }
    }

    /// A packet on `link` waits for the medium.
    #[cold]
    #[inline(never)]
    fn serve_link(&mut self, now_ns: u64, link: u32) {
        if let Some(&Some(medium)) = self.media.1.get(link as usize) {
            self.serve(now_ns, medium);
        }
    }

    /// The event of the media: the idle ones serve the next packet.
    pub fn media_event(&mut self, now_ns: u64) {
        (0..self.media.0.len()).for_each(|medium| self.serve(now_ns, medium));
    }

    fn serve(&mut self, now_ns: u64, number: usize) {
        let medium = &mut self.media.0[number];
        let queue = &mut self.queue;
        let sends = medium.serve(now_ns, &mut self.links, |link, next_ns| {
            queue.push_link(now_ns, next_ns, link as u32, 0);
        });
        if sends {
            queue.push(now_ns, medium.free_ns(), self.links.len() as u32 + 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_at_sent(
        &mut self,
        now_ns: u64,
        flow: u32,
        segment: &Segment<Span>,
        ecn: Ecn,
    ) -> Result<(), Box<SimulateError>> {
        let size = IPV4_HEADER_LEN + segment.header_len() + segment.payload.len as usize;
        let (number, side) = (flow as usize / 2, flow as usize % 2);
        let tuple = self.tuple(number, side);
        if self.through_wire {
            through_wire::check(tuple, segment, size)?;
        }
        if let Some(tap) = &mut self.tap {
            tap.see(now_ns, (self.subflows[number].path, side), tuple, segment, ecn);
        }
        Ok(())
    }

    /// Sets the tap, which sees every packet at the hosts.
    pub fn set_tap(&mut self, tap: Tapped) {
        self.tap = Some(Box::new(tap));
        self.looked_at = true;
    }

    /// Removes and returns the tap.
    pub fn take_tap(&mut self) -> Option<Box<Tapped>> {
        self.looked_at = self.through_wire;
        self.tap.take()
    }

    #[cold]
    #[inline(never)]
    fn tap_arrived(&mut self, now_ns: u64, arrived: Arrived, ecn: Ecn) {
        // The flow up is even and arrives at the server.
        let flow = self.flow_of(arrived) as usize;
        let (number, side) = (flow / 2, 1 - flow % 2);
        let Tuple { local, remote } = self.tuple(number, side);
        let segment = self.segments.get(arrived.slot());
        if let Some(tap) = &mut self.tap {
            let sent = Tuple { local: remote, remote: local };
            tap.see(now_ns, (self.subflows[number].path, side), sent, &segment, ecn);
        }
    }

    /// Counts a packet that the network lost and frees its segment.
    fn lose(&mut self, slot: u32) {
        self.lost += 1;
        let flow = self.segments.remove(slot & !COUNTED);
        let flow = &mut self.flows[flow as usize];
        flow.data_lost += u64::from(slot & COUNTED != 0);
        flow.leaves();
    }

    /// A packet reaches the middleboxes of route entry `entry`.
    #[cold]
    #[inline(never)]
    fn cross(&mut self, now_ns: u64, entry: u32, slot: u32, ecn: Ecn) {
        let Some(mut boxes) = self.boxes.take() else { unreachable!("a crossing without boxes") };
        let flow = self.segments.flow(slot & !COUNTED);
        let mut segment = Segment::default();
        self.segments.take(slot & !COUNTED, &mut segment);
        self.flows[flow as usize].under_way -= 1;
        let mut out = Vec::new();
        boxes.cross(now_ns, entry, flow / 2, (segment, ecn, slot & COUNTED != 0), &mut out);
        self.go_on(now_ns, boxes, out);
    }

    /// The event of the middleboxes: releases what they hold. Segments for hosts are then in [`Fabric::arrived`].
    pub fn boxes_event(&mut self, now_ns: u64) {
        let Some(mut boxes) = self.boxes.take() else { return };
        if boxes.timer_ns <= now_ns {
            boxes.timer_ns = u64::MAX;
        }
        let mut out = Vec::new();
        boxes.timeout(now_ns, &mut out);
        self.go_on(now_ns, boxes, out);
    }

    /// The next packet that reached the end of its route through middleboxes, for [`Fabric::take`].
    pub fn arrived(&mut self) -> Result<Option<Arrived>, Box<SimulateError>> {
        let Some(boxes) = &mut self.boxes else { return Ok(None) };
        match boxes.error.take() {
            Some(error) => Err(error),
            None => Ok(boxes.arrived.pop_front()),
        }
    }

    /// Forwards the segments that left middleboxes, and puts the middleboxes back in place.
    fn go_on(&mut self, now_ns: u64, mut boxes: Box<Boxes>, out: Vec<Left>) {
        for Left { subflow, position, transit, ecn, counted } in out {
            let flow = 2 * subflow + u32::from(transit.way == Way::Down);
            let mut segment = transit.segment;
            let size = IPV4_HEADER_LEN + segment.header_len() + segment.payload.len as usize;
            let Ok(packet_size) = u16::try_from(size) else {
                // It exceeds the maximum length of an IPv4 packet.
                boxes.entered += 1;
                continue;
            };
            if self.through_wire {
                let (local, remote) = transit.ends.of(transit.way);
                let checked = through_wire::check(Tuple { local, remote }, &segment, size);
                boxes.error = boxes.error.or(checked.err());
            }
            self.flows[flow as usize].under_way += 1;
            let slot = self.segments.insert_any(flow, &mut segment) | if counted { COUNTED } else { 0 };
            let place = self.flows[flow as usize].route + u32::from(position);
            let next = self.routes[place as usize];
            if next != ROUTE_END {
                // A chain is always followed by a link, never by another chain.
                self.enqueue::<true>(now_ns, next, (slot, place), packet_size, ecn);
                continue;
            }
            if let Some(tap) = &mut self.tap {
                let at = (self.subflows[subflow as usize].path, usize::from(transit.way == Way::Up));
                let (local, remote) = transit.ends.of(transit.way);
                let segment = self.segments.get(slot & !COUNTED);
                tap.see(now_ns, at, Tuple { local, remote }, &segment, ecn);
            }
            boxes.arrived.push_back(Arrived::new(slot, ecn == Ecn::Ce));
        }
        let due_ns = match boxes.arrived.is_empty() && boxes.error.is_none() {
            true => boxes.next_timeout_ns().max(now_ns),
            false => now_ns,
        };
        if due_ns < boxes.timer_ns {
            boxes.timer_ns = due_ns;
            self.queue.push(now_ns, due_ns, self.links.len() as u32);
        }
        self.boxes = Some(boxes);
    }

    /// Changes a link and reschedules its head.
    pub fn change(&mut self, now_ns: u64, link: u32, change: network::Change) {
        let mut lost = Vec::new();
        let changed = &mut self.links[link as usize];
        changed.change(now_ns, change, &mut |packet| lost.push(packet));
        let next_ns = changed.next_arrival_or_max_ns();
        self.queue.remove(link);
        if next_ns != u64::MAX {
            self.queue.push_link(now_ns, next_ns, link, 0);
        }
        for packet in lost {
            self.lose(packet.tag.slot);
        }
    }

    /// Changes the shaper before a link's direction, if `change` concerns it. `validate` has checked that there is one.
    pub fn change_shaper(&mut self, now_ns: u64, link: usize, change: &Change) {
        if let (Some(change), Some(&[Some(stage), _])) = (convert::shaper_change(change), self.stages.get(link)) {
            self.change(now_ns, stage, change);
        }
    }

    /// Panics unless every packet sent was delivered, was lost, or is in flight.
    pub fn assert_conserved(&self) {
        let in_flight = self.segments.len() as u64;
        let under_way: u64 = self.links.iter().map(Link::under_way).sum();
        let (arrived, entered, left) =
            self.boxes.as_ref().map_or((0, 0, 0), |boxes| (boxes.arrived.len() as u64, boxes.entered, boxes.left));
        assert_eq!(in_flight, under_way + arrived, "segments in flight, packets on links");
        let accounted = self.delivered + self.lost + entered + in_flight;
        assert_eq!(self.sent + left, accounted, "packets sent = delivered + lost + in flight");
    }
}

#[cfg(test)]
mod tests;
