//! The main loop: takes events in their order, moves packets from link to link and into the hosts, and lets
//! connections and applications act.

use crate::agenda::{self, Agenda};
use crate::ahead;
use crate::endpoint::Endpoint;
use crate::event_queue::TARGET_LIMIT;
use crate::flows::{
    Arrived, CLIENT_ADDRESS_LIMIT, CLIENT_PORT, FIRST_PORT, Fabric, Flow, SERVER_ADDRESS, Subflow, client_address,
    client_index, server_address,
};
use crate::huge_pages::HugePages;
use crate::in_flight;
use crate::probe::{Probe, View};
use crate::tap::{Tap, Tapped};
use crate::traces::Traces;
use crate::transfer::Transfer;
use crate::{SimulateError, summary};
use application::{Action, Amount, Application, CLIENT, News, Runtime, SERVER, Stream, random};
use network::{Ecn, prefetch};
use scenario::Plugins;
use scenario::convert;
use scenario::description::{Connection, Description};
use scenario::outcome::Outcome;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use transport::{Config, ConnectionId, Form, Handle, Host, Instant, LocalAddress, Outgoing, Sending, Tuple};
use wire::{SackBlocks, Span};

type Step = Result<(), Box<SimulateError>>;

/// Ports from which the subflows of one connection that share an address may call: a connection numbers them with an
/// octet.
const PORTS_EACH: u16 = 256;

/// How many events pass between two questions whether to go on; a power of two.
const WATCH_EVENTS: u64 = 1 << 16;
/// So many samples and changes of links do; one takes as long as there are connections.
const WATCH_ACTIONS: u64 = 1 << 10;

/// A run: all its state.
pub struct World<'d> {
    description: &'d Description,
    now_ns: u64,
    /// Events that were not those of links; those are counted as hops.
    other_events: u64,
    fabric: Fabric,
    /// One machine for all clients, one for all servers.
    hosts: [Host<Span>; 2],
    runtime: Runtime<()>,
    /// One for each connection. Those of applications that repeat leave their places to others.
    transfers: Vec<Transfer>,
    /// Transfer `t` has its client's end at `2 t` and its server's at `2 t + 1`.
    endpoints: Vec<Endpoint>,
    /// Places of transfers that left.
    free: Vec<u32>,
    /// Transfers that are to leave when both ends are done with the connection and nothing of it is on its way.
    leaving: Vec<u32>,
    /// Subflows whose joins came to nothing and whose ids others have: of which transfer, and which.
    former: Vec<(u32, u32)>,
    /// Transfers, each with one that stands for a connection made by mistake of a subflow of it.
    strays: Vec<(u32, u32)>,
    /// Of each application, the number of the client's address on the first path and the port that its next connection
    /// calls from.
    callers: Vec<(u32, u16)>,
    /// How many client addresses are in use.
    addresses: u32,
    /// Of each kind of connection, the client's configuration and the server's.
    configs: Vec<[Arc<Config>; 2]>,
    agenda: Agenda,
    probe: Probe,
    traces: Option<Box<Traces>>,
    huge_pages: HugePages,
    /// The segment that is just being sent or received.
    outgoing: Outgoing<Span>,
    /// Event targets below are links; this one is that of all boxes, the next that of all media.
    boxes: u32,
    /// Event targets from here on are the applications'.
    first_application: u32,
    /// Event targets from here on are the endpoints' timers.
    first_timer: u32,
}

impl<'d> World<'d> {
    /// Everything as it stands before the first event. `description` has passed the checks of `validate`.
    pub fn new(description: &'d Description, plugins: &Plugins) -> Result<World<'d>, SimulateError> {
        let seed = description.seed;
        let configs = convert::transports(description, plugins, server_address)?;
        let configs: Vec<_> = configs.into_iter().map(|ends| ends.map(Arc::new)).collect();
        let host = |name| Host::new(random::generator(seed, name));
        let mut hosts = [host("host/client"), host("host/server")];
        let mut callers = Vec::new();
        let mut addresses = 0;
        for (kind, connection) in description.connections.iter().enumerate() {
            hosts[SERVER].listen(port(kind), configs[kind][SERVER].clone());
            for _ in 0..connection.count {
                callers.push((addresses, CLIENT_PORT));
                addresses += connection.paths.len() as u32;
            }
        }
        let columns = configs.iter().map(|config| config[SERVER].congestion.columns().to_vec()).collect();
        let runtime = Runtime::new(seed, description.warmup_ns, description.connections.iter().map(Connection::kind));
        let fabric = Fabric::new(description);
        Ok(World {
            now_ns: 0,
            other_events: 0,
            boxes: fabric.links.len() as u32,
            first_application: fabric.links.len() as u32 + 2,
            first_timer: (fabric.links.len() + 2 + runtime.applications.len()) as u32,
            fabric,
            hosts,
            transfers: Vec::new(),
            endpoints: Vec::new(),
            free: Vec::new(),
            leaving: Vec::new(),
            former: Vec::new(),
            strays: Vec::new(),
            callers,
            addresses,
            agenda: Agenda::new(description, &runtime.applications),
            runtime,
            configs,
            probe: Probe::new(description, columns),
            traces: None,
            huge_pages: HugePages::new(),
            outgoing: Outgoing::default(),
            description,
        })
    }

    /// From now on `tap` sees every packet at the hosts.
    pub fn tap(&mut self, tap: Box<dyn Tap>) {
        self.fabric.set_tap(Tapped::new(tap));
    }

    /// What connections decide from now on is written to the folder.
    pub fn trace(&mut self, folder: qlog::Folder) {
        self.traces = Some(Box::new(Traces::new(folder)));
    }

    /// The connection at `endpoint` exists: whoever wants to hears of it.
    fn trace_end(&mut self, endpoint: usize, id: ConnectionId) {
        if let Some(traces) = &self.traces {
            let (number, side) = (endpoint / 2, endpoint % 2);
            let of = (number as u32, &self.transfers[number]);
            let trace = traces.of(self.description, &self.runtime, of, side);
            self.hosts[side].connection_mut(id).set_trace(Instant::from_nanos(self.now_ns), trace);
        }
    }

    /// The tap has seen all; an error is what kept it from its work.
    pub fn untap(&mut self) -> Result<(), String> {
        self.fabric.take_tap().map_or(Ok(()), |tap| tap.finish())
    }

    /// Runs to the end of the description's duration.
    pub fn run(&mut self, watch: &mut dyn FnMut(u64) -> bool) -> Result<(), SimulateError> {
        let end_ns = self.description.duration_ns;
        let mut actions = 0_u64;
        loop {
            let due_ns = self.agenda.next_ns();
            self.run_events(due_ns.min(end_ns), watch).map_err(|error| *error)?;
            if due_ns > end_ns {
                self.fabric.assert_conserved();
                return Ok(());
            }
            self.now_ns = due_ns;
            while let Some(action) = self.agenda.take(due_ns) {
                self.act(action).map_err(|error| *error)?;
                actions += 1;
            }
            // Samples of a network in which nothing happens: it must hear all the same that it shall end.
            if actions >= WATCH_ACTIONS {
                actions = 0;
                if !watch(due_ns) {
                    return Err(SimulateError::Stopped { at_ns: due_ns });
                }
            }
        }
    }

    /// The outcome, at the end of the run.
    pub fn into_outcome(mut self) -> Outcome {
        // The rows come where these stood.
        self.fabric.forget_segments();
        let view = View {
            hosts: &self.hosts,
            applications: &mut self.runtime.applications,
            transfers: &mut self.transfers,
            fabric: &mut self.fabric,
        };
        let events = view.fabric.packet_hops + self.other_events;
        summary::outcome(self.probe, view, self.description.warmup_ns, self.description.duration_ns, events)
    }

    /// Handles all events before `until_ns`.
    fn run_events(&mut self, until_ns: u64, watch: &mut dyn FnMut(u64) -> bool) -> Step {
        self.fabric.queue.set_limit(until_ns);
        if self.fabric.looks_ahead() { self.run_events_as::<true>(watch) } else { self.run_events_as::<false>(watch) }
    }

    /// Handles all events before the queue's limit, and looks `AHEAD` of them.
    #[inline(never)]
    fn run_events_as<const AHEAD: bool>(&mut self, watch: &mut dyn FnMut(u64) -> bool) -> Step {
        let along = !AHEAD && self.fabric.looks_along();
        while let Some((at_ns, target)) = self.fabric.queue.pop() {
            debug_assert!(at_ns >= self.now_ns, "time went back from {} to {at_ns}", self.now_ns);
            self.now_ns = at_ns;
            if target >= self.boxes {
                self.other_event(at_ns, target, watch)?;
                continue;
            }
            if AHEAD && self.fabric.packet_hops.is_multiple_of(ahead::BATCH as u64) {
                self.look_ahead();
            }
            if along {
                let [first, second] = self.fabric.look_along(target);
                first.into_iter().for_each(|flow| self.look_at_connection(flow));
                second.into_iter().for_each(|flow| self.look_at_subflow(flow));
            }
            if let Some(arrived) = self.fabric.hop::<AHEAD>(at_ns, target) {
                self.receive(arrived)?;
            }
            if self.fabric.packet_hops & (WATCH_EVENTS - 1) == 0 {
                if AHEAD {
                    self.look_at_memory();
                }
                if !watch(at_ns) {
                    return Err(Box::new(SimulateError::Stopped { at_ns }));
                }
            }
        }
        Ok(())
    }

    /// An event that is not a link's. Apart, so that the loop over those is short.
    #[inline(never)]
    fn other_event(&mut self, at_ns: u64, target: u32, watch: &mut dyn FnMut(u64) -> bool) -> Step {
        self.other_events += 1;
        if self.other_events & (WATCH_EVENTS - 1) == 0 && !watch(at_ns) {
            return Err(Box::new(SimulateError::Stopped { at_ns }));
        }
        if target >= self.first_timer {
            return self.timer((target - self.first_timer) as usize);
        }
        if target == self.boxes + 1 {
            self.fabric.media_event(at_ns);
            return Ok(());
        }
        if target != self.boxes {
            return self.wake(target - self.first_application);
        }
        self.fabric.boxes_event(at_ns);
        while let Some(arrived) = self.fabric.arrived()? {
            self.receive(arrived)?;
        }
        Ok(())
    }

    /// Prepares the memory for the events to come.
    #[inline(never)]
    fn look_ahead(&mut self) {
        let [first, second] = self.fabric.look_ahead(self.now_ns);
        for &flow in first.as_slice() {
            self.look_at_connection(flow);
        }
        for &flow in second.as_slice() {
            self.look_at_subflow(flow);
        }
    }

    /// A packet will soon come to the end of `flow`.
    #[inline]
    fn look_at_connection(&self, flow: u32) {
        if let Some(&Flow { to, handle: Some(handle), .. }) = self.fabric.flows.get(flow as usize) {
            if let Some((place, bytes)) = self.hosts[to as usize % 2].memory_of_connection(handle.connection) {
                prefetch::bytes(place, bytes);
            }
            if let Some(endpoint) = self.endpoints.get(to as usize) {
                prefetch::lines::<_, 1>(endpoint);
            }
        }
    }

    /// A packet will very soon come to the end of `flow`.
    #[inline]
    fn look_at_subflow(&self, flow: u32) {
        if let Some(&Flow { to, handle: Some(handle), .. }) = self.fabric.flows.get(flow as usize)
            && let Some((place, bytes)) = self.hosts[to as usize % 2].memory_of_subflow(handle)
        {
            prefetch::bytes(place, bytes);
        }
    }

    /// Has links of a large network give memory back, and what there is put on huge pages, now and then. In a small one with
    /// very many connections memory comes and goes so quickly that it does not pay.
    #[cold]
    fn look_at_memory(&mut self) {
        let World { huge_pages, fabric, hosts, .. } = self;
        fabric.release_memory();
        huge_pages.look(fabric.packet_hops, || {
            let handles = fabric.flows.iter().filter_map(|flow| Some((flow.to, flow.handle?)));
            let subflows = handles.filter_map(|(to, handle)| hosts[to as usize % 2].memory_of_subflow(handle));
            fabric.memory().chain(subflows.map(|(place, _)| place))
        });
    }

    fn act(&mut self, action: agenda::Action) -> Step {
        let now_ns = self.now_ns;
        match action {
            agenda::Action::Sample => {
                let view = View {
                    hosts: &self.hosts,
                    applications: &mut self.runtime.applications,
                    transfers: &mut self.transfers,
                    fabric: &mut self.fabric,
                };
                self.probe.sample(now_ns, view);
                Ok(())
            }
            agenda::Action::WarmUpEnds => {
                self.runtime.warm_up_ends();
                let view = View {
                    hosts: &self.hosts,
                    applications: &mut self.runtime.applications,
                    transfers: &mut self.transfers,
                    fabric: &mut self.fabric,
                };
                self.probe.warm_up_ends(now_ns, view);
                Ok(())
            }
            agenda::Action::Change(number) => {
                let event = &self.description.events[number];
                for (changes, link) in [(event.down, 2 * event.link), (event.up, 2 * event.link + 1)] {
                    if changes {
                        self.probe.links.change(now_ns, link, &event.set.link);
                        self.fabric.change(now_ns, link as u32, event.set.link);
                        self.fabric.change_shaper(now_ns, link, &event.set);
                    }
                }
                self.change_addresses(number)
            }
            agenda::Action::Start(number) => {
                self.runtime.start(number as u32);
                self.carry_out()
            }
            agenda::Action::Stop(number) => {
                self.runtime.stop(number as u32);
                self.carry_out()
            }
        }
    }

    /// Clients hear what an event does to their addresses.
    fn change_addresses(&mut self, number: usize) -> Step {
        let (now_ns, event) = (self.now_ns, &self.description.events[number]);
        if !event.set.ends_paths() && event.set.address.is_none() && event.set.backup.is_none() {
            return Ok(());
        }
        for place in 0..self.transfers.len() {
            let transfer = &mut self.transfers[place];
            let kind =
                &self.description.connections[self.runtime.applications[transfer.application as usize].kind as usize];
            if kind.loses_path(self.description, event)
                && transfer.stray_of.is_none()
                && transfer.stream.path_ends(now_ns)
                && let Some(id) = self.endpoints[2 * place + transfer.stream.sender].id
            {
                self.hosts[transfer.stream.sender].connection_mut(id).watch_reinjections();
            }
            let Some(id) = self.endpoints[2 * place + CLIENT].id else { continue };
            let connection = self.hosts[CLIENT].connection_mut(id);
            for address in kind.addresses_on(self.description, event.link) {
                convert::tell(connection, now_ns, address, &event.set);
            }
            self.drive(2 * place + CLIENT)?;
        }
        Ok(())
    }

    /// The time has come that an application asked for.
    fn wake(&mut self, number: u32) -> Step {
        self.runtime.wake(number, |transfer| Some(&self.transfers[transfer as usize].stream));
        self.carry_out()
    }

    /// Does what applications want done.
    #[inline]
    fn carry_out(&mut self) -> Step {
        while let Some(action) = self.runtime.next_action() {
            match action {
                Action::Open { application, amount } => self.open(application as usize, amount)?,
                Action::Wake { application, at_ns } => {
                    self.fabric.queue.push(self.now_ns, at_ns, self.first_application + application);
                }
                Action::Write { transfer } => {
                    let stream = &mut self.transfers[transfer as usize].stream;
                    stream.offer_step();
                    let endpoint = 2 * transfer as usize + stream.sender;
                    if let Some(id) = self.endpoints[endpoint].id {
                        self.hosts[endpoint % 2].connection_mut(id).offer(stream.step_bytes);
                    }
                    self.drive(endpoint)?;
                }
                Action::Ask { transfer, question_bytes, answer_bytes } => {
                    self.ask(transfer as usize, question_bytes, answer_bytes)?;
                }
                Action::Stop { transfer } => {
                    let endpoint = 2 * transfer as usize + self.transfers[transfer as usize].stream.sender;
                    let id = self.endpoints[endpoint].id;
                    let connection = id.map(|id| self.hosts[endpoint % 2].connection_mut(id));
                    self.transfers[transfer as usize].stop(self.now_ns, connection);
                    self.drive(endpoint)?;
                }
            }
        }
        Ok(())
    }

    /// A client asks over a connection that stands.
    fn ask(&mut self, number: usize, question_bytes: u64, answer_bytes: u64) -> Step {
        let stream = &mut self.transfers[number].stream;
        stream.ask(question_bytes, answer_bytes);
        let due = stream.to_ask();
        stream.wrote_question(due);
        let endpoint = 2 * number + stream.receiver();
        if let Some(id) = self.endpoints[endpoint].id {
            self.hosts[endpoint % 2].connection_mut(id).offer(due);
        }
        self.drive(endpoint)
    }

    /// A server has heard what it is to answer.
    fn answer(&mut self, number: usize) -> Step {
        let stream = &mut self.transfers[number].stream;
        let due = stream.to_write();
        stream.wrote(due);
        let endpoint = 2 * number + stream.sender;
        if let Some(id) = self.endpoints[endpoint].id {
            self.hosts[endpoint % 2].connection_mut(id).offer(due);
        }
        self.drive(endpoint)
    }

    /// Opens a connection of this application.
    fn open(&mut self, application: usize, amount: Amount) -> Step {
        self.retire_transfers();
        let Application { kind, sender, .. } = self.runtime.applications[application];
        let kind = kind as usize;
        let described = &self.description.connections[kind];
        let paths = described.paths.len() as u32;
        let (first_address, from_port) = self.callers[application];
        // No two connections have both ends alike, ever: when the ports are used up, new addresses come.
        self.callers[application] = match from_port.checked_add(PORTS_EACH) {
            Some(next_port) => (first_address, next_port),
            None if self.addresses + paths > CLIENT_ADDRESS_LIMIT => return Err(self.too_many("no address is left")),
            None => {
                self.addresses += paths;
                (self.addresses - paths, CLIENT_PORT)
            }
        };
        let now_ns = self.now_ns;
        let stream = Stream::new(now_ns, amount, sender).read_in(&self.runtime.applications[application].reading);
        let transfer = Transfer::new(application as u32, first_address, stream);
        let number = self.place(transfer)? as usize;
        self.runtime.opened(now_ns, application as u32, number as u32);
        let addresses: Vec<LocalAddress> = (0..paths)
            .map(|path| LocalAddress {
                id: described.local_id(path as usize),
                address: client_address(first_address + path),
                backup: described.is_backup(self.description, path as usize),
            })
            .collect();
        let server = SocketAddr::new(IpAddr::V4(SERVER_ADDRESS), port(kind));
        let config = self.configs[kind][CLIENT].clone();
        let id = self.hosts[CLIENT].connect(Instant::from_nanos(now_ns), config, &addresses, from_port, server);
        self.endpoints[2 * number + CLIENT].open(id);
        if let Some(traces) = &mut self.traces {
            traces.opened(number as u32, &self.transfers[number]);
        }
        self.trace_end(2 * number + CLIENT, id);
        self.drive(2 * number + CLIENT)
    }

    /// Finds a place for a transfer: its number.
    fn place(&mut self, transfer: Transfer) -> Result<u32, Box<SimulateError>> {
        match self.free.pop() {
            Some(number) => {
                self.transfers[number as usize] = transfer;
                self.endpoints[2 * number as usize..][..2].fill_with(Endpoint::default);
                Ok(number)
            }
            None if self.first_timer as usize + self.endpoints.len() + 2 > TARGET_LIMIT => {
                Err(self.too_many("no timer is left"))
            }
            None => {
                self.transfers.push(transfer);
                self.endpoints.extend([Endpoint::default(), Endpoint::default()]);
                Ok(self.transfers.len() as u32 - 1)
            }
        }
    }

    fn too_many(&self, reason: &str) -> Box<SimulateError> {
        Box::new(SimulateError::TooMany { at_ns: self.now_ns, reason: reason.to_owned() })
    }

    /// What happened to a transfer has consequences.
    #[cold]
    fn take_news(&mut self, number: usize, news: News) -> Step {
        let transfer = &self.transfers[number];
        if transfer.stray_of.is_some() {
            return Ok(());
        }
        let place = transfer.application;
        self.runtime.take_news(self.now_ns, place, (number as u32, &transfer.stream), news);
        if news.has(News::ASKED) {
            self.answer(number)?;
        }
        if news.has(News::COMPLETED) {
            let view = View {
                hosts: &self.hosts,
                applications: &mut self.runtime.applications,
                transfers: &mut self.transfers,
                fabric: &mut self.fabric,
            };
            self.probe.completed(self.now_ns, number, &view);
        }
        let repeats = self.runtime.applications[place as usize].content.repeats();
        if news.has(News::OVER) && repeats && !self.leaving.contains(&(number as u32)) {
            self.leaving.push(number as u32);
        }
        self.carry_out()
    }

    /// Takes in what transfers have counted that are over at both ends, and gives their places to others.
    fn retire_transfers(&mut self) {
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.retain(|&number| !self.leave(number));
        self.leaving = leaving;
    }

    /// Whether the transfer has left.
    fn leave(&mut self, number: u32) -> bool {
        let transfer = &self.transfers[number as usize];
        // An end that never came to be and to which nothing is on its way will not be.
        let is_over =
            |side: usize| transfer.stream.over[side] || self.endpoints[2 * number as usize + side].id.is_none();
        let former = self.former.iter().filter(|&&(of, _)| of == number).map(|(_, subflow)| subflow);
        let is_quiet = transfer.subflows.iter().chain(former).all(|&subflow| self.fabric.is_quiet(subflow));
        let mut strays = self.strays.iter().filter(|&&(parent, _)| parent == number);
        let alone = strays.all(|&(_, stray)| self.transfers[stray as usize].stream.over.contains(&true));
        if !(is_over(CLIENT) && is_over(SERVER) && is_quiet && alone) {
            return false;
        }
        let (place, warmup_ns) = (transfer.application as usize, self.description.warmup_ns);
        let view = View {
            hosts: &self.hosts,
            applications: &mut self.runtime.applications,
            transfers: &mut self.transfers,
            fabric: &mut self.fabric,
        };
        let transfer = &view.transfers[number as usize];
        let tallies = summary::tallies(transfer, &self.probe, &view, warmup_ns, self.now_ns);
        let waited = summary::receiver(transfer, &view)
            .map(|receiver| (receiver.out_of_order_delays().clone(), receiver.is_fallback()));
        let application = &mut self.runtime.applications[place];
        let transfer = &mut self.transfers[number as usize];
        let waited = waited.as_ref().map(|(delays, fallback)| (delays, *fallback));
        application.record.add(&transfer.stream, tallies, waited);
        application.transfers.retain(|&own| own != number);
        for subflow in std::mem::take(&mut transfer.subflows) {
            self.fabric.release(subflow);
            self.probe.release(subflow);
        }
        for (_, subflow) in self.former.extract_if(.., |&mut (of, _)| of == number) {
            self.fabric.release(subflow);
        }
        // Nothing of it is on its way, so nobody will miss it: TIME-WAIT has nothing to wait for.
        for side in [CLIENT, SERVER] {
            if let Some(id) = std::mem::take(&mut self.endpoints[2 * number as usize + side]).id {
                self.hosts[side].forget(id);
            }
        }
        self.free.push(number);
        self.let_strays_go(number);
        true
    }

    /// As a transfer leaves, so do the connections that a host made by mistake of its subflows.
    fn let_strays_go(&mut self, number: u32) {
        for (_, stray) in self.strays.extract_if(.., |&mut (parent, _)| parent == number) {
            for side in [CLIENT, SERVER] {
                if let Some(id) = std::mem::take(&mut self.endpoints[2 * stray as usize + side]).id {
                    self.hosts[side].forget(id);
                }
            }
            self.free.push(stray);
        }
    }

    /// A packet reaches a host.
    #[inline(never)]
    fn receive(&mut self, arrived: Arrived) -> Step {
        let (to, id) = if let Some((to, handle, held)) = self.fabric.arrived_compact(arrived) {
            let host = &mut self.hosts[to as usize % 2];
            if arrived.is_marked() {
                host.connection_mut(handle.connection).congestion_experienced(handle.subflow);
            }
            let (beside, seq) = (held.segment.tag, held.segment.seq);
            let freed = host.receive_compact_on(
                Instant::from_nanos(self.now_ns),
                handle,
                held.segment,
                &SackBlocks::NONE,
                &mut self.outgoing.segment,
            );
            held.free_slot();
            if freed {
                let flow = in_flight::flow_of(beside);
                self.attribute(arrived, (flow, seq), to as usize % 2, handle);
            }
            (to, handle.connection)
        } else if let Some(receiver) = self.receive_selective(arrived) {
            receiver
        } else {
            return self.receive_any(arrived);
        };
        self.drive_on(to as usize, id)
    }

    /// [`Self::receive`] for an acknowledgment with SACK blocks. Returns whose it is; `None` if it is another segment.
    #[inline(never)]
    fn receive_selective(&mut self, arrived: Arrived) -> Option<(u32, ConnectionId)> {
        let (to, handle, segment, blocks) = self.fabric.arrived_selective(arrived)?;
        let host = &mut self.hosts[to as usize % 2];
        if arrived.is_marked() {
            host.connection_mut(handle.connection).congestion_experienced(handle.subflow);
        }
        host.receive_compact_on(Instant::from_nanos(self.now_ns), handle, segment, &blocks, &mut self.outgoing.segment);
        self.fabric.received(arrived);
        Some((to, handle.connection))
    }

    /// [`Self::receive`] for any segment.
    #[inline(never)]
    fn receive_any(&mut self, arrived: Arrived) -> Step {
        let (flow, &Flow { to, handle, .. }) = self.fabric.take(arrived, &mut self.outgoing.segment);
        let to = to as usize;
        let Some(handle) = handle else {
            self.receive_first(flow, to)?;
            return self.drive(to);
        };
        let host = &mut self.hosts[to % 2];
        if arrived.is_marked() {
            host.connection_mut(handle.connection).congestion_experienced(handle.subflow);
        }
        let seq = self.outgoing.segment.seq;
        host.receive_on(Instant::from_nanos(self.now_ns), handle, &mut self.outgoing.segment);
        if host.connection(handle.connection).has_freed() {
            self.attribute(arrived, (flow, seq), to % 2, handle);
        }
        self.drive(to)
    }

    /// A segment that was just received, of `flow` with this sequence number, freed bytes that had waited: it has beside it why
    /// it was sent. Behind boxes its sender is asked, who knows why the same data was sent last.
    #[cold]
    #[inline(never)]
    fn attribute(&mut self, arrived: Arrived, (flow, seq): (u32, u32), side: usize, handle: Handle) {
        let sending = self.fabric.sending_of(arrived).unwrap_or_else(|| {
            let sender = self.fabric.subflows[flow as usize / 2].handles[1 - side];
            let known = |at: Handle| self.hosts[1 - side].connection(at.connection).decision_on(at.subflow, seq);
            sender.map_or(Sending::First, known)
        });
        self.hosts[side].connection_mut(handle.connection).attribute(sending);
    }

    /// The first packet of a flow, taken: the host finds by address, port or token where it belongs, as a real one does.
    #[cold]
    fn receive_first(&mut self, flow: u32, to: usize) -> Step {
        let (number, side) = (flow as usize / 2, to % 2);
        let segment = std::mem::take(&mut self.outgoing.segment);
        let tuple = self.fabric.tuple(number, side);
        let found = self.hosts[side].receive(Instant::from_nanos(self.now_ns), tuple, segment);
        let subflow = &mut self.fabric.subflows[number];
        if let Some(handle) = found {
            if self.endpoints[to].id.is_some_and(|id| id != handle.connection) {
                self.stray(flow, to, handle)?;
                return self.drive(self.fabric.flows[flow as usize].to as usize);
            }
            assert!(
                subflow.handles[side].is_none_or(|known| known == handle),
                "a segment for {:?} found {handle:?}",
                subflow.handles[side]
            );
            subflow.handles[side] = Some(handle);
            self.fabric.flows[flow as usize].handle = Some(handle);
            if self.endpoints[to].id.is_none() {
                self.trace_end(to, handle.connection);
            }
            self.endpoints[to].open(handle.connection);
            if let Some(former) = self.endpoints[to].flow(handle.subflow).filter(|&former| former != flow ^ 1) {
                self.fabric.disown(former, side);
            }
            self.endpoints[to].set_flow(handle.subflow, flow ^ 1);
        }
        // Whoever is nobody's is answered with a reset, the way it came.
        while let Some((_, mut segment)) = self.hosts[side].transmit() {
            self.fabric.send(self.now_ns, (flow ^ 1, Sending::First), &mut segment, Ecn::NotEct)?;
        }
        Ok(())
    }

    /// A host took the first segment of a subflow for the beginning of another connection, because a box had taken its
    /// MP_JOIN away. That connection gets an end of its own here, which nobody writes to and nobody counts.
    #[cold]
    fn stray(&mut self, flow: u32, to: usize, handle: Handle) -> Step {
        let (parent, side) = ((to / 2) as u32, to % 2);
        let of = &self.transfers[parent as usize];
        let stream = Stream::new(self.now_ns, Amount::Bytes(0), 1 - side);
        let mut transfer = Transfer::new(of.application, of.first_address, stream);
        transfer.stray_of = Some(parent);
        let number = self.place(transfer)?;
        self.strays.push((parent, number));
        let endpoint = 2 * number + side as u32;
        self.endpoints[endpoint as usize].open(handle.connection);
        self.endpoints[endpoint as usize].set_flow(handle.subflow, flow ^ 1);
        let arrived = &mut self.fabric.flows[flow as usize];
        (arrived.to, arrived.handle) = (endpoint, Some(handle));
        Ok(())
    }

    /// The timer of `endpoint` fires. Connections move their timeouts with nearly every segment; the entry in the
    /// event queue stays where it is and is moved on when it fires too early.
    #[inline]
    fn timer(&mut self, endpoint: usize) -> Step {
        let end = &mut self.endpoints[endpoint];
        if end.timer_ns != self.now_ns {
            // A later entry, left over when an earlier one was made.
            return Ok(());
        }
        end.timer_ns = u64::MAX;
        let Some(id) = end.id else { return Ok(()) };
        let connection = self.hosts[endpoint % 2].connection_mut(id);
        // Unread data is there if the timer is that of an application that reads slowly.
        if connection.next_timeout().as_nanos() <= self.now_ns || connection.has_news() {
            connection.handle_timeout(Instant::from_nanos(self.now_ns));
        }
        if connection.has_news() || connection.has_due() {
            return self.drive(endpoint);
        }
        let timeout_ns = connection.next_timeout().as_nanos();
        if timeout_ns < end.timer_ns {
            let since_ns = end.set_timer(self.now_ns, timeout_ns, connection.receives_before_timers());
            self.fabric.queue.push(since_ns, end.timer_ns, self.first_timer + endpoint as u32);
        }
        Ok(())
    }

    /// Lets an endpoint do all it can: read, handle events, send, set its timer.
    #[inline(never)]
    fn drive(&mut self, endpoint: usize) -> Step {
        let Some(id) = self.endpoints[endpoint].id else { return Ok(()) };
        self.hosts[endpoint % 2].connection_mut(id);
        self.drive_on(endpoint, id)
    }

    /// As [`Self::drive`], of an endpoint whose host knows all subflows of its connection `id`.
    #[inline(always)]
    fn drive_on(&mut self, endpoint: usize, id: ConnectionId) -> Step {
        let (number, side, now_ns) = (endpoint / 2, endpoint % 2, self.now_ns);
        let mut connection = self.hosts[side].known_connection_mut(id);
        let mut transfer = &mut self.transfers[number];
        if let Err(misplaced) = transfer.poll(now_ns, side, connection) {
            let application = &self.runtime.applications[transfer.application as usize];
            let name = &self.description.connections[application.kind as usize].name;
            return Err(Box::new(misplaced.into_error(name, application.index)));
        }
        let mut end = &mut self.endpoints[endpoint];
        while let Some((subflow, form)) = connection.transmit_either(Instant::from_nanos(now_ns), &mut self.outgoing) {
            match end.flow(subflow) {
                Some(flow) if form != Form::Whole => {
                    self.fabric.send_outgoing(now_ns, flow, form, &mut self.outgoing)?;
                }
                known => {
                    self.send_whole(endpoint, Handle { connection: id, subflow }, known, form)?;
                    connection = self.hosts[side].known_connection_mut(id);
                    transfer = &mut self.transfers[number];
                    end = &mut self.endpoints[endpoint];
                }
            }
        }
        let timeout_ns = connection.next_timeout().as_nanos().min(transfer.next_read_ns(now_ns, side, connection));
        if timeout_ns < end.timer_ns {
            let since_ns = end.set_timer(now_ns, timeout_ns, connection.receives_before_timers());
            self.fabric.queue.push(since_ns, end.timer_ns, self.first_timer + endpoint as u32);
        }
        let news = transfer.take_news();
        if news.is_empty() { Ok(()) } else { self.take_news(number, news) }
    }

    /// Sends what `handle` of `endpoint` has written, which may be the first segment of a subflow. `known`: the flow of the
    /// subflow that had this id until now.
    #[inline(never)]
    fn send_whole(&mut self, endpoint: usize, handle: Handle, known: Option<u32>, form: Form) -> Step {
        let side = endpoint % 2;
        let tuple = self.hosts[side].connection(handle.connection).tuple(handle.subflow);
        // A SYN may be of another subflow that has the id of one whose join came to nothing.
        let flags = self.outgoing.segment.flags;
        let is_new = flags.syn() && !flags.ack();
        let flow = match known {
            Some(flow) if !is_new || self.fabric.ends(flow, side) == tuple => flow,
            former => self.open_flow(endpoint, tuple, handle, former),
        };
        self.fabric.send_outgoing(self.now_ns, flow, form, &mut self.outgoing)
    }

    /// A new subflow of `endpoint`, the first with its id or in place of that with the flow `former`. Returns its flow.
    #[cold]
    fn open_flow(&mut self, endpoint: usize, tuple: Tuple, handle: Handle, former: Option<u32>) -> u32 {
        let (number, side) = (endpoint / 2, endpoint % 2);
        let transfer = &mut self.transfers[number];
        let application = &mut self.runtime.applications[transfer.application as usize];
        let paths = &self.description.connections[application.kind as usize].paths;
        let of = (number as u32, application.kind);
        let opened = subflow_of(tuple, side, of, transfer.first_address, paths, handle);
        if application.content.repeats() {
            application.record.place(opened.path);
        }
        let flow = self.fabric.open(opened) + side as u32;
        if let Some(former) = former {
            // Its join came to nothing, and another one has its id.
            let number = former / 2;
            transfer.subflows.iter_mut().filter(|each| **each == number).for_each(|each| *each = flow / 2);
            self.fabric.disown(former, side);
            self.former.push((of.0, number));
        } else {
            transfer.subflows.push(flow / 2);
        }
        self.endpoints[endpoint].set_flow(handle.subflow, flow);
        flow
    }
}

/// The server's port for connections of `kind`.
fn port(kind: usize) -> u16 {
    // `validate` has counted the kinds.
    FIRST_PORT + kind as u16
}

/// A subflow that the end `side` has just begun: the client's address tells the path.
#[cold]
fn subflow_of(
    tuple: Tuple,
    side: usize,
    (connection, kind): (u32, u32),
    first_address: u32,
    paths: &[usize],
    handle: Handle,
) -> Subflow {
    let ends = if side == CLIENT { [tuple.local, tuple.remote] } else { [tuple.remote, tuple.local] };
    let position = client_index(ends[CLIENT].ip()).and_then(|index| index.checked_sub(first_address));
    let path = position.and_then(|position| paths.get(position as usize));
    let path = *path.unwrap_or_else(|| panic!("a subflow uses an address that is not its connection's: {tuple:?}"));
    let mut handles = [None; 2];
    handles[side] = Some(handle);
    Subflow { connection, kind, path: path as u32, ends, handles }
}

#[cfg(test)]
mod tests;
