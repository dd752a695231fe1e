//! Moves packets between ports over links. Time is an argument: the tests pass their own, the emulator's thread the
//! machine's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::net::IpAddr;

use network::middlebox::Way;
use network::{Enqueue, Link, Medium, Packet};
use scenario::convert;
use scenario::description::{Description, Path};
use scenario::link_meter::LinkMeter;
use scenario::outcome::{self, LinkSamples};

use super::boxes::{self, Boxes, FIRST_CROSSING, Journey, Left};
use super::header::{self, FlowKey, Header};
use super::pool::{Pool, Slot};
use super::{FlowCount, Network};
use crate::offload::{self, HEADER_LEN};

/// End of a route.
const ROUTE_END: u32 = u32::MAX;
const NO_FLOW: u32 = u32::MAX;
/// Upper bound of the length of a device's packets.
const LARGEST_PACKET: usize = 65_535;

/// A packet on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    slot: Slot,
    /// Index of the next route entry in `EmulatedLinks::routes`.
    next: u32,
}

/// An action of the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Sample,
    WarmUpEnds,
    Change(usize),
}

/// A packet at the end of its route.
pub struct Delivery<'a> {
    /// The outgoing port.
    pub port: usize,
    /// When it leaves the last link.
    pub due_ns: u64,
    /// The packet, preceded by the device's header.
    pub frame: &'a [u8],
}

/// The links of a description, the routes over them and the packets on them.
pub struct EmulatedLinks<'d> {
    description: &'d Description,
    links: Vec<Link<Tag>>,
    /// Half-duplex media, and the medium of each link.
    media: (Vec<Medium>, Vec<Option<usize>>),
    meter: LinkMeter,
    /// Times of the heads of links, each with its link. An entry whose time is no longer the head's is skipped. Numbers
    /// after those of the links stand for media that become idle, and numbers after these for chains that release what
    /// they hold.
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    /// Sorted with the earliest action last.
    agenda: Vec<(u64, Action)>,
    /// All routes, consecutively: links and, from `FIRST_CROSSING` on, crossings of middleboxes. Each route ends with
    /// `ROUTE_END` and its port.
    routes: Vec<u32>,
    /// For each port, the start of the route by destination.
    starts: Vec<BTreeMap<IpAddr, u32>>,
    /// The direction of the route that starts at this index.
    ways: BTreeMap<u32, Way>,
    /// The middleboxes on links, if any.
    boxes: Option<Box<Boxes>>,
    /// Packets that left a middlebox at the end of their route, or came in on a route without links.
    arrived: VecDeque<(u64, Packet<Tag>)>,
    /// For each direction of a link, the stages before and after it.
    stages: Vec<[Option<u32>; 2]>,
    pool: Pool,
    /// For each slot, the flow it counts for.
    flow_of: Vec<u32>,
    flows: Vec<FlowCount>,
    flow_numbers: BTreeMap<FlowKey, u32>,
    /// The last flow of each port, which is usually also the next.
    last_flow: Vec<Option<(FlowKey, u32)>>,
    /// For each port, whether packets from it were counted before at another port.
    inner: Vec<bool>,
    measuring: bool,
    /// Packets received.
    pub received: u64,
    /// Packets without a route.
    pub unrouted: u64,
}

impl<'d> EmulatedLinks<'d> {
    /// Idle links at time 0. `packet_bytes` is the largest packet that any port accepts.
    ///
    /// # Errors
    /// How `network` contradicts the description.
    pub fn new(description: &'d Description, network: &Network) -> Result<EmulatedLinks<'d>, String> {
        let stages = convert::stages(description);
        let mut routes = Vec::new();
        let mut starts = Vec::new();
        let mut ways = BTreeMap::new();
        for (number, port) in network.ports.iter().enumerate() {
            let mut of_port = BTreeMap::new();
            for route in &port.routes {
                let place = || format!("port {number}, route to {}", route.destination);
                let of = |path| description.paths.get(path).ok_or_else(|| format!("{}: no path {path}", place()));
                let path = route.path.map(of).transpose()?;
                if route.port >= network.ports.len() {
                    return Err(format!("{}: no port {}", place(), route.port));
                }
                if of_port.insert(route.destination, routes.len() as u32).is_some() {
                    return Err(format!("{}: twice", place()));
                }
                ways.insert(routes.len() as u32, if route.down { Way::Down } else { Way::Up });
                let links = path.map(|path| crossed(description, path, route.down)).unwrap_or_default();
                routes.extend(convert::with_stages(&links, &stages));
                routes.extend([ROUTE_END, route.port as u32]);
            }
            starts.push(of_port);
        }
        let links = convert::links(description);
        let mut agenda = vec![(description.warmup_ns, Action::WarmUpEnds)];
        agenda.extend(description.events.iter().enumerate().map(|(n, event)| (event.at_ns, Action::Change(n))));
        if let Some(sample_ns) = description.sample_ns {
            let count = description.duration_ns / sample_ns;
            agenda.extend((1..=count).map(|number| (number * sample_ns, Action::Sample)));
        }
        // As in virtual time, a sample precedes other actions at its time. The sort is stable, and reversing the list
        // and taking from its end keep the order of equals.
        agenda.sort_by_key(|&(at_ns, action)| (at_ns, action != Action::Sample));
        agenda.reverse();
        Ok(EmulatedLinks {
            description,
            meter: LinkMeter::new(description),
            heads: BinaryHeap::with_capacity(4 * links.len()),
            links,
            media: convert::media(description),
            agenda,
            routes,
            stages,
            last_flow: vec![None; starts.len()],
            starts,
            ways,
            boxes: Boxes::new(description, &network.translations).map(Box::new),
            arrived: VecDeque::new(),
            pool: Pool::new(boxes::largest_packet(description, network.packet_bytes).min(LARGEST_PACKET)),
            flow_of: Vec::new(),
            flows: Vec::new(),
            flow_numbers: BTreeMap::new(),
            inner: network.ports.iter().map(|port| port.inner).collect(),
            measuring: false,
            received: 0,
            unrouted: 0,
        })
    }

    /// When the next action is due, or `u64::MAX`.
    pub fn next_ns(&self) -> u64 {
        if let Some(&(at_ns, _)) = self.arrived.front() {
            return at_ns;
        }
        let head_ns = self.heads.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
        head_ns.min(self.agenda.last().map_or(u64::MAX, |&(at_ns, _)| at_ns))
    }

    /// Performs all actions due by `now_ns`, each at its own time, and hands over packets at the end of their routes. A
    /// packet moves to its next link at the time the previous link computed, however late this is called.
    pub fn advance(&mut self, now_ns: u64, deliver: &mut impl FnMut(Delivery)) {
        loop {
            while let Some((at_ns, packet)) = self.arrived.pop_front() {
                self.arrive(at_ns, packet, deliver);
            }
            let head = self.heads.peek().map(|&Reverse(head)| head);
            if let Some(&(at_ns, action)) = self.agenda.last()
                && at_ns <= now_ns
                && head.is_none_or(|(head_ns, _)| at_ns <= head_ns)
            {
                self.agenda.pop();
                self.act(at_ns, action);
                continue;
            }
            let Some((at_ns, link)) = head else { return };
            if at_ns > now_ns {
                return;
            }
            self.heads.pop();
            if let Some(behind) = (link as usize).checked_sub(self.links.len()) {
                match behind.checked_sub(self.media.0.len()) {
                    None => self.serve(at_ns, behind),
                    Some(chain) => self.release(at_ns, chain),
                }
            } else if self.links[link as usize].next_arrival_or_max_ns() == at_ns {
                self.hop(at_ns, link, deliver);
            }
        }
    }

    /// Reserves memory for an incoming packet and its header.
    pub fn place(&mut self) -> Slot {
        let slot = self.pool.take();
        if self.flow_of.len() <= slot as usize {
            self.flow_of.resize(slot as usize + 1, NO_FLOW);
        }
        slot
    }

    /// The memory of a slot.
    pub fn memory(&mut self, slot: Slot) -> &mut [u8] {
        self.pool.memory(slot)
    }

    /// Frees a slot.
    pub fn give_back(&mut self, slot: Slot) {
        self.pool.give_back(slot);
    }

    /// Accepts the packet of `length` bytes in `slot` from `port` at `now_ns`. [`Self::advance`] must have been called
    /// for that time.
    pub fn accept(&mut self, now_ns: u64, port: usize, slot: Slot, length: usize) {
        self.received += 1;
        let Ok(size) = u16::try_from(length) else { return self.no_route(slot) };
        self.pool.set_length(slot, size);
        let Some(header) = Header::read(self.pool.packet(slot)) else { return self.no_route(slot) };
        let direct = self.starts[port].get(&header.destination).copied();
        let Some(start) = (if self.boxes.is_some() { self.embark(slot, direct) } else { direct }) else {
            return self.no_route(slot);
        };
        self.flow_of[slot as usize] = match header.data {
            Some(key) if self.measuring && !self.inner[port] => {
                let journey = self.boxes.as_ref().and_then(|boxes| boxes.journey(slot));
                self.flow(port, journey.map_or(key, |journey| boxes::as_the_client_calls_it(key, journey)))
            }
            _ => NO_FLOW,
        };
        let packet = Packet::new(Tag { slot, next: start }, size, 0, header.ecn);
        if self.routes[start as usize] == ROUTE_END {
            self.arrived.push_back((now_ns, packet));
        } else {
            self.forward(now_ns, packet);
        }
    }

    /// Counts something received that is not a packet.
    pub fn unreadable(&mut self) {
        self.received += 1;
        self.unrouted += 1;
    }

    /// Rows of all links from the warm-up to `end_ns`, their samples, and the data segments of each flow.
    pub fn finish(mut self, end_ns: u64) -> (Vec<outcome::Link>, LinkSamples, Vec<FlowCount>) {
        let (rows, samples) = self.meter.finish(self.description.warmup_ns, end_ns, &mut self.links);
        (rows, samples, self.flows)
    }

    /// Number of packets on links.
    #[cfg(test)]
    pub fn in_flight(&self) -> usize {
        self.pool.used()
    }

    fn act(&mut self, at_ns: u64, action: Action) {
        match action {
            Action::Sample => self.meter.sample(at_ns, &mut self.links),
            Action::WarmUpEnds => {
                self.meter.warm_up_ends(at_ns, &mut self.links);
                self.measuring = true;
            }
            Action::Change(number) => self.change(at_ns, number),
        }
    }

    fn change(&mut self, at_ns: u64, number: usize) {
        let event = &self.description.events[number];
        for (up, asked) in [(0, event.down), (1, event.up)] {
            if !asked {
                continue;
            }
            let link = 2 * event.link + up;
            self.meter.change(at_ns, link, &event.set.link);
            self.change_link(at_ns, link as u32, event.set.link);
            if let (Some(change), [Some(stage), _]) = (convert::shaper_change(&event.set), self.stages[link]) {
                self.change_link(at_ns, stage, change);
            }
        }
    }

    fn change_link(&mut self, at_ns: u64, link: u32, change: network::Change) {
        let mut lost = Vec::new();
        self.links[link as usize].change(at_ns, change, &mut |packet| lost.push(packet));
        lost.into_iter().for_each(|packet| self.lose(packet));
        self.schedule(link);
    }

    fn hop(&mut self, at_ns: u64, link: u32, deliver: &mut impl FnMut(Delivery)) {
        let mut packet = self.links[link as usize].deliver(at_ns);
        self.schedule(link);
        if packet.lost() {
            return self.lose(packet);
        }
        packet.tag.next += 1;
        if self.routes[packet.tag.next as usize] == ROUTE_END {
            self.arrive(at_ns, packet, deliver);
        } else {
            self.forward(at_ns, packet);
        }
    }

    /// Hands over a packet at the end of its route.
    fn arrive(&mut self, at_ns: u64, packet: Packet<Tag>, deliver: &mut impl FnMut(Delivery)) {
        let port = self.routes[packet.tag.next as usize + 1] as usize;
        if packet.ce() {
            header::mark_congestion(self.pool.packet(packet.tag.slot));
        }
        deliver(Delivery { port, due_ns: at_ns, frame: self.pool.frame(packet.tag.slot) });
        self.pool.give_back(packet.tag.slot);
    }

    /// Moves a packet onto the next link of its route.
    fn forward(&mut self, at_ns: u64, packet: Packet<Tag>) {
        let link = self.routes[packet.tag.next as usize];
        if link >= FIRST_CROSSING {
            return self.cross(at_ns, packet);
        }
        let pool = &mut self.pool;
        let flow = || header::flow_of(pool.packet(packet.tag.slot));
        match self.links[link as usize].enqueue_of(at_ns, packet, flow) {
            Enqueue::Accepted { first: false } => {}
            Enqueue::Accepted { first: true } => self.schedule(link),
            Enqueue::Disordered { reschedule, twice } => self.disordered(at_ns, link, packet, (reschedule, twice)),
            Enqueue::Waiting => {
                if let Some(&Some(medium)) = self.media.1.get(link as usize) {
                    self.serve(at_ns, medium);
                }
            }
            Enqueue::Dropped(_) => self.lose(packet),
        }
    }

    /// Handles a packet at a stage that reorders or duplicates packets.
    #[cold]
    fn disordered(&mut self, at_ns: u64, link: u32, packet: Packet<Tag>, (mut reschedule, twice): (bool, bool)) {
        if twice {
            let copy = self.place();
            let bytes = self.pool.frame(packet.tag.slot).to_vec();
            self.pool.memory(copy)[..bytes.len()].copy_from_slice(&bytes);
            self.pool.set_length(copy, packet.size);
            self.flow_of[copy as usize] = NO_FLOW;
            if let Some(boxes) = &mut self.boxes {
                boxes.note(copy, boxes.journey(packet.tag.slot));
            }
            let tag = Tag { slot: copy, next: packet.tag.next };
            let copy = Packet::new(tag, packet.size, 0, packet.ecn());
            let answer = self.links[link as usize].enqueue_copy(at_ns, copy);
            reschedule |= matches!(answer, Enqueue::Disordered { reschedule: true, .. });
        }
        if reschedule {
            self.schedule(link);
        }
    }

    /// Lets the medium serve the next packet if it is idle.
    fn serve(&mut self, at_ns: u64, number: usize) {
        let EmulatedLinks { media, links, heads, .. } = self;
        let medium = &mut media.0[number];
        let sends = medium.serve(at_ns, links, |link, next_ns| heads.push(Reverse((next_ns, link as u32))));
        if sends {
            heads.push(Reverse((medium.free_ns(), (links.len() + number) as u32)));
        }
    }

    /// Start of the route of a packet that comes in by `port`, if there are middleboxes. `direct` is the route by its
    /// destination, which a server does not know for a client behind a NAT.
    #[cold]
    fn embark(&mut self, slot: Slot, direct: Option<u32>) -> Option<u32> {
        let flow = header::tcp_flow(self.pool.packet(slot));
        let boxes = self.boxes.as_mut()?;
        let Some(start) = direct else {
            let journey = boxes.behind_nat(flow?)?;
            boxes.note(slot, Some(journey));
            return journey.routes[Way::Down as usize];
        };
        let journey = flow.map(|flow| {
            let route = &self.routes[start as usize..];
            let end = route.iter().position(|&entry| entry == ROUTE_END).unwrap_or_default();
            let back = self.starts[route[end + 1] as usize].get(&flow.source.0).copied();
            let (way, mut routes) = (self.ways[&start], [None; 2]);
            routes[way as usize] = Some(start);
            routes[way.back() as usize] = back;
            Journey { routes, ends: boxes::ends(flow, way) }
        });
        boxes.note(slot, journey);
        Some(start)
    }

    /// Processes the packet at the middleboxes that its route has reached.
    #[cold]
    fn cross(&mut self, at_ns: u64, packet: Packet<Tag>) {
        let Some(boxes) = &mut self.boxes else { unreachable!("a crossing is of a chain") };
        let Tag { slot, next } = packet.tag;
        let (chain, way) = crossing(self.routes[next as usize]);
        offload::finish_checksum(self.pool.frame(slot));
        let mut left = Vec::new();
        if !boxes.cross(at_ns, (chain, way), (slot, self.pool.packet(slot), packet.ce()), &mut left) {
            return self.go_on(at_ns, packet);
        }
        let flow = self.flow_of[slot as usize];
        self.pool.give_back(slot);
        self.leave(at_ns, chain, left, flow);
    }

    /// Releases segments whose holding time in a chain is over.
    #[cold]
    fn release(&mut self, at_ns: u64, chain: usize) {
        let Some(boxes) = &mut self.boxes else { unreachable!("a chain is of boxes") };
        let mut left = Vec::new();
        boxes.timeout(at_ns, chain, &mut left);
        self.leave(at_ns, chain, left, NO_FLOW);
    }

    /// Forwards the packets that leave a chain.
    fn leave(&mut self, at_ns: u64, chain: usize, left: Vec<Left>, flow: u32) {
        let due_ns = self.boxes.as_ref().and_then(|boxes| boxes.next_timeout_ns(chain));
        if let Some(due_ns) = due_ns {
            let number = self.links.len() + self.media.0.len() + chain;
            self.heads.push(Reverse((due_ns, number as u32)));
        }
        for Left { journey, way, packet: bytes, ecn, continues } in left {
            // A client that cannot be reached gets no answer from a middlebox either.
            let Some(next) = journey.routes[way as usize].and_then(|start| self.position(start, chain)) else {
                continue;
            };
            let slot = self.place();
            let Some(room) = self.pool.memory(slot).get_mut(..HEADER_LEN + bytes.len()) else {
                self.no_route(slot);
                continue;
            };
            room[..HEADER_LEN].fill(0);
            room[HEADER_LEN..].copy_from_slice(&bytes);
            let size = bytes.len() as u16;
            self.pool.set_length(slot, size);
            self.flow_of[slot as usize] = if continues { flow } else { NO_FLOW };
            if let Some(boxes) = &mut self.boxes {
                boxes.note(slot, Some(journey));
            }
            self.go_on(at_ns, Packet::new(Tag { slot, next }, size, 0, ecn));
        }
    }

    /// Where the route that starts at `start` crosses a chain.
    fn position(&self, start: u32, chain: usize) -> Option<u32> {
        let route = self.routes[start as usize..].iter().take_while(|&&entry| entry != ROUTE_END);
        let at = route.clone().position(|&entry| entry >= FIRST_CROSSING && crossing(entry).0 == chain)?;
        Some(start + at as u32)
    }

    /// Moves a packet from a crossing to the next route entry.
    fn go_on(&mut self, at_ns: u64, mut packet: Packet<Tag>) {
        packet.tag.next += 1;
        if self.routes[packet.tag.next as usize] == ROUTE_END {
            self.arrived.push_back((at_ns, packet));
        } else {
            self.forward(at_ns, packet);
        }
    }

    fn schedule(&mut self, link: u32) {
        let head_ns = self.links[link as usize].next_arrival_or_max_ns();
        if head_ns != u64::MAX {
            self.heads.push(Reverse((head_ns, link)));
        }
    }

    fn lose(&mut self, packet: Packet<Tag>) {
        let flow = self.flow_of[packet.tag.slot as usize];
        if flow != NO_FLOW {
            self.flows[flow as usize].data_lost += 1;
        }
        self.pool.give_back(packet.tag.slot);
    }

    #[cold]
    fn no_route(&mut self, slot: Slot) {
        self.unrouted += 1;
        self.pool.give_back(slot);
    }

    fn flow(&mut self, port: usize, key: FlowKey) -> u32 {
        let number = match self.last_flow[port] {
            Some((last, number)) if last == key => number,
            _ => *self.flow_numbers.entry(key).or_insert_with(|| {
                self.flows.push(FlowCount { key, data_sent: 0, data_lost: 0 });
                self.flows.len() as u32 - 1
            }),
        };
        self.last_flow[port] = Some((key, number));
        self.flows[number as usize].data_sent += 1;
        number
    }
}

/// The route entries of a path: directions of links, and the middleboxes at their server-side ends.
fn crossed(description: &Description, path: &Path, down: bool) -> Vec<u32> {
    let with_boxes = |direction: u32| {
        let link = direction / 2;
        let boxes = !description.links[link as usize].middleboxes.is_empty();
        let crossing = boxes.then_some(FIRST_CROSSING + 2 * link + u32::from(down));
        let link = Some(direction);
        if down { [crossing, link] } else { [link, crossing] }
    };
    path.crossed(down).into_iter().flat_map(with_boxes).flatten().collect()
}

/// The chain of a route entry, and the direction.
const fn crossing(entry: u32) -> (usize, Way) {
    let number = entry - FIRST_CROSSING;
    ((number / 2) as usize, if number.is_multiple_of(2) { Way::Up } else { Way::Down })
}

#[cfg(test)]
mod box_tests;
#[cfg(test)]
mod tests;
