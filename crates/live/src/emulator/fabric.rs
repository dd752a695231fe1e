//! Packets from port to port over links. Time is an argument here: the tests hand in their own, the emulator's thread the
//! machine's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;

use network::{Enqueue, Link, Medium, Packet};
use simulator::convert;
use simulator::description::Description;
use simulator::link_meter::LinkMeter;
use simulator::outcome::{self, LinkSamples};

use super::header::{self, FlowKey, Header};
use super::pool::{Pool, Slot};
use super::{FlowCount, Network};

/// Ends a route.
const ROUTE_END: u32 = u32::MAX;
const NO_FLOW: u32 = u32::MAX;
/// Packets no device carries.
const LARGEST_PACKET: usize = 65_535;

/// What a packet on a link stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    slot: Slot,
    /// Where its route goes on in `Fabric::routes`.
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
pub struct Fabric<'d> {
    description: &'d Description,
    links: Vec<Link<Tag>>,
    /// Half-duplex media, and of each link its own.
    media: (Vec<Medium>, Vec<Option<usize>>),
    meter: LinkMeter,
    /// Heads of links, each with its link; one whose time is no longer the head's is skipped. Numbers behind the links are
    /// those of media, which are free then.
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    /// The earliest last.
    agenda: Vec<(u64, Action)>,
    /// Links one after another; each route ends with `ROUTE_END` and the port it leads to.
    routes: Vec<u32>,
    /// Of each port, by destination, where the route begins.
    starts: Vec<BTreeMap<IpAddr, u32>>,
    pool: Pool,
    /// Of each slot, the flow that it counts for.
    flow_of: Vec<u32>,
    flows: Vec<FlowCount>,
    flow_numbers: BTreeMap<FlowKey, u32>,
    /// The last flow of each port, which is mostly the next one too.
    last_flow: Vec<Option<(FlowKey, u32)>>,
    measuring: bool,
    /// Packets that came in.
    pub received: u64,
    /// Packets no route was found for.
    pub unrouted: u64,
}

impl<'d> Fabric<'d> {
    /// Idle links at time 0. `packet_bytes` is the largest packet that any port takes.
    ///
    /// # Errors
    /// What in `network` does not fit the description.
    pub fn new(description: &'d Description, network: &Network) -> Result<Fabric<'d>, String> {
        let stages = convert::stages(description);
        let mut routes = Vec::new();
        let mut starts = Vec::new();
        for (number, port) in network.ports.iter().enumerate() {
            let mut of_port = BTreeMap::new();
            for route in &port.routes {
                let place = || format!("port {number}, route to {}", route.destination);
                let path =
                    description.paths.get(route.path).ok_or_else(|| format!("{}: no path {}", place(), route.path))?;
                if route.port >= network.ports.len() {
                    return Err(format!("{}: no port {}", place(), route.port));
                }
                if of_port.insert(route.destination, routes.len() as u32).is_some() {
                    return Err(format!("{}: twice", place()));
                }
                routes.extend(convert::with_stages(&path.crossed(route.down), &stages));
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
        Ok(Fabric {
            description,
            meter: LinkMeter::new(description),
            heads: BinaryHeap::with_capacity(4 * links.len()),
            links,
            media: convert::media(description),
            agenda,
            routes,
            last_flow: vec![None; starts.len()],
            starts,
            pool: Pool::new(network.packet_bytes.min(LARGEST_PACKET)),
            flow_of: Vec::new(),
            flows: Vec::new(),
            flow_numbers: BTreeMap::new(),
            measuring: false,
            received: 0,
            unrouted: 0,
        })
    }

    /// When something is due next; `u64::MAX` when nothing is.
    pub fn next_ns(&self) -> u64 {
        let head_ns = self.heads.peek().map_or(u64::MAX, |&Reverse((at_ns, _))| at_ns);
        head_ns.min(self.agenda.last().map_or(u64::MAX, |&(at_ns, _)| at_ns))
    }

    /// Does all that is due by `now_ns`, each at its own time, and hands over packets at the end of their routes. A packet
    /// goes on to its next link at the moment that the link before says, however late this is called.
    pub fn advance(&mut self, now_ns: u64, deliver: &mut impl FnMut(Delivery)) {
        loop {
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
            if let Some(medium) = (link as usize).checked_sub(self.links.len()) {
                self.serve(at_ns, medium);
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
        let Some(&start) = self.starts[port].get(&header.destination) else { return self.no_route(slot) };
        self.flow_of[slot as usize] = match header.data {
            Some(key) if self.measuring => self.flow(port, key),
            _ => NO_FLOW,
        };
        self.forward(now_ns, Packet::new(Tag { slot, next: start }, size, 0, header.ecn));
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
            self.meter.change(at_ns, link, &event.set);
            let mut lost = Vec::new();
            self.links[link].change(at_ns, convert::change(&event.set), &mut |packet| lost.push(packet));
            lost.into_iter().for_each(|packet| self.lose(packet));
            self.schedule(link as u32);
        }
    }

    fn hop(&mut self, at_ns: u64, link: u32, deliver: &mut impl FnMut(Delivery)) {
        let mut packet = self.links[link as usize].deliver(at_ns);
        self.schedule(link);
        if packet.lost() {
            return self.lose(packet);
        }
        packet.tag.next += 1;
        if self.routes[packet.tag.next as usize] != ROUTE_END {
            return self.forward(at_ns, packet);
        }
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
        let pool = &mut self.pool;
        let flow = || header::flow_number(pool.packet(packet.tag.slot));
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
        let Fabric { media, links, heads, .. } = self;
        let medium = &mut media.0[number];
        let sends = medium.serve(at_ns, links, |link, next_ns| heads.push(Reverse((next_ns, link as u32))));
        if sends {
            heads.push(Reverse((medium.free_ns(), (links.len() + number) as u32)));
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

#[cfg(test)]
mod tests;
