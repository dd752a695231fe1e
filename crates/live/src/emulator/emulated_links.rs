//! Packets from port to port over links. Time is an argument here: the tests hand in their own, the emulator's thread the
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

/// Ends a route.
const ROUTE_END: u32 = u32::MAX;
const NO_FLOW: u32 = u32::MAX;
/// Packets no device carries.
const LARGEST_PACKET: usize = 65_535;

/// A packet on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    slot: Slot,
    /// Position of the rest of its route in `EmulatedLinks::routes`.
    next: u32,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Sample,
    WarmUpEnds,
    Change(usize),
}

/// A packet that has come to the end of its route.
pub struct Delivery<'a> {
    /// The port it leaves by.
    pub port: usize,
    /// When it leaves the last link.
    pub due_ns: u64,
    /// The packet, with the header of a device before it.
    pub frame: &'a [u8],
}

/// The links of a description, the routes over them and the packets on them.
pub struct EmulatedLinks<'d> {
    description: &'d Description,
    links: Vec<Link<Tag>>,
    /// Half-duplex media, and of each link its own.
    media: (Vec<Medium>, Vec<Option<usize>>),
    meter: LinkMeter,
    /// Heads of links, each with its link; one whose time is no longer the head's is skipped. Numbers behind the links are
    /// those of media, which are free then, and behind them those of chains of boxes, which let out what they hold.
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest last.
    agenda: Vec<(u64, Action)>,
    /// Links and, from `FIRST_CROSSING` on, crossings of boxes, one after another; each route ends with `ROUTE_END` and the
    /// port it leads to.
    routes: Vec<u32>,
    /// Of each port, by destination, where the route begins.
    starts: Vec<BTreeMap<IpAddr, u32>>,
    /// Which way the route goes that begins there.
    ways: BTreeMap<u32, Way>,
    /// The boxes on links, when there are any.
    boxes: Option<Box<Boxes>>,
    /// What came out of a box at the end of its route, or came in with no link before it.
    arrived: VecDeque<(u64, Packet<Tag>)>,
    /// Of each direction of a link, the stages before and behind it.
    stages: Vec<[Option<u32>; 2]>,
    pool: Pool,
    /// Of each slot, the flow that it counts for.
    flow_of: Vec<u32>,
    flows: Vec<FlowCount>,
    flow_numbers: BTreeMap<FlowKey, u32>,
    /// The last flow of each port, which is mostly the next one too.
    last_flow: Vec<Option<(FlowKey, u32)>>,
    /// Of each port, whether what comes in by it was counted before.
    inner: Vec<bool>,
    measuring: bool,
    /// Packets that came in.
    pub received: u64,
    /// Packets no route was found for.
    pub unrouted: u64,
}

impl<'d> EmulatedLinks<'d> {
    /// Idle links at time 0. `packet_bytes` is the largest packet that any port takes.
    ///
    /// # Errors
    /// What in `network` contradicts the description.
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
        // As in virtual time: a sample comes before what happens at its moment. Both steps keep or reverse the order of
        // equals.
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

    /// When something is due next; `u64::MAX` when nothing is.
    pub fn next_ns(&self) -> u64 {
        if let Some(&(at_ns, _)) = self.arrived.front() {
            return at_ns;
        }
        let head_ns = self.heads.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
        head_ns.min(self.agenda.last().map_or(u64::MAX, |&(at_ns, _)| at_ns))
    }

    /// Does all that is due by `now_ns`, each at its own time, and hands over packets at the end of their routes. A packet
    /// goes on to its next link at the moment that the link before says, however late this is called.
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

    /// Memory for a packet that is to come in, and the header before it.
    pub fn place(&mut self) -> Slot {
        let slot = self.pool.take();
        if self.flow_of.len() <= slot as usize {
            self.flow_of.resize(slot as usize + 1, NO_FLOW);
        }
        slot
    }

    /// The memory of a place.
    pub fn memory(&mut self, slot: Slot) -> &mut [u8] {
        self.pool.memory(slot)
    }

    /// The place is not needed.
    pub fn give_back(&mut self, slot: Slot) {
        self.pool.give_back(slot);
    }

    /// The packet of `length` bytes in `slot` comes in by `port` at `now_ns`; [`Self::advance`] has been called for that
    /// time.
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

    /// Something came in that is no packet.
    pub fn unreadable(&mut self) {
        self.received += 1;
        self.unrouted += 1;
    }

    /// Rows of all links from the warm-up to `end_ns`, their samples, and the data segments of each flow.
    pub fn finish(mut self, end_ns: u64) -> (Vec<outcome::Link>, LinkSamples, Vec<FlowCount>) {
        let (rows, samples) = self.meter.finish(self.description.warmup_ns, end_ns, &mut self.links);
        (rows, samples, self.flows)
    }

    /// Packets that came in, and those that are still on links.
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

    /// The packet is at the end of its route.
    fn arrive(&mut self, at_ns: u64, packet: Packet<Tag>, deliver: &mut impl FnMut(Delivery)) {
        let port = self.routes[packet.tag.next as usize + 1] as usize;
        if packet.ce() {
            header::mark_congestion(self.pool.packet(packet.tag.slot));
        }
        deliver(Delivery { port, due_ns: at_ns, frame: self.pool.frame(packet.tag.slot) });
        self.pool.give_back(packet.tag.slot);
    }

    /// Onto the link where its route goes on.
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

    /// A packet came to a stage that changes the order of its packets, or has them twice.
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

    /// The medium serves the next if it is free.
    fn serve(&mut self, at_ns: u64, number: usize) {
        let EmulatedLinks { media, links, heads, .. } = self;
        let medium = &mut media.0[number];
        let sends = medium.serve(at_ns, links, |link, next_ns| heads.push(Reverse((next_ns, link as u32))));
        if sends {
            heads.push(Reverse((medium.free_ns(), (links.len() + number) as u32)));
        }
    }

    /// Where the route of a packet begins that comes in by `port`, when there are boxes; `direct` is what its destination
    /// says, which a server does not know of a client behind a NAT.
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

    /// The packet meets the boxes at which its route is.
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

    /// Releases what a chain no longer holds.
    #[cold]
    fn release(&mut self, at_ns: u64, chain: usize) {
        let Some(boxes) = &mut self.boxes else { unreachable!("a chain is of boxes") };
        let mut left = Vec::new();
        boxes.timeout(at_ns, chain, &mut left);
        self.leave(at_ns, chain, left, NO_FLOW);
    }

    /// Forwards what leaves a chain.
    fn leave(&mut self, at_ns: u64, chain: usize, left: Vec<Left>, flow: u32) {
        let due_ns = self.boxes.as_ref().and_then(|boxes| boxes.next_timeout_ns(chain));
        if let Some(due_ns) = due_ns {
            let number = self.links.len() + self.media.0.len() + chain;
            self.heads.push(Reverse((due_ns, number as u32)));
        }
        for Left { journey, way, packet: bytes, ecn, continues } in left {
            // A client that cannot be reached gets no answer from a box either.
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

    /// Where the route that begins at `start` meets a chain.
    fn position(&self, start: u32, chain: usize) -> Option<u32> {
        let route = self.routes[start as usize..].iter().take_while(|&&entry| entry != ROUTE_END);
        let at = route.clone().position(|&entry| entry >= FIRST_CROSSING && crossing(entry).0 == chain)?;
        Some(start + at as u32)
    }

    /// From a crossing to what comes after it.
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

/// What a packet crosses on a path: directions of links, and the boxes that stand at their ends on the server's side.
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

/// The chain of an entry of a route, and the way.
const fn crossing(entry: u32) -> (usize, Way) {
    let number = entry - FIRST_CROSSING;
    ((number / 2) as usize, if number.is_multiple_of(2) { Way::Up } else { Way::Down })
}

#[cfg(test)]
mod box_tests;
#[cfg(test)]
mod tests;
