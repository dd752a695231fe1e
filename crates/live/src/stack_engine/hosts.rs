//! The hosts and their programs: one thread opens, serves and measures every connection in real time.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use application::outcome::SubflowSamples;
use application::{Action, Amount, CLIENT, Kept, News, Runtime, SERVER, Stream, Tally, Window};
use rustix::event::{PollFd, PollFlags, poll};
use scenario::Plugins;
use scenario::convert;
use scenario::description::{Connection, Description};
use transport::{Config, ConnectionId, Instant, LocalAddress, SubflowId};

use super::kernel::Kernel;
use super::plan::{PLACES, Plan};
use super::transfer::{Subflow, Transfer};
use crate::clock::{Clock, sleep_exactly, timespec};
use crate::emulator::{FlowKey, Translations};
use crate::engine::RunError;
use crate::engine::agenda::{self, Agenda, Due};
use crate::stack::{Address, Device, Driver, Settings};
use crate::system;

/// Below the emulator's priority.
const FIFO_PRIORITY: i32 = 30;
/// Above programs with the default niceness.
const NICE: i32 = -10;
/// Maximum duration of a wait, so that a request to stop is noticed.
const LONGEST_WAIT_NS: u64 = 20_000_000;

/// Packets that one host receives before it is the other's turn.
const BATCH: usize = 32;

/// Both hosts.
pub struct StackHosts<'p> {
    pub plan: &'p Plan,
    pub description: &'p Description,
    pub clock: Clock,
    /// The clients behind NATs.
    pub translations: Translations,
    /// The hosts of all clients and of all servers. A host that is the kernel's has no devices and nothing to do here.
    pub drivers: [Driver; 2],
    pub kernel: Option<Kernel>,
    pub configs: Vec<[Config; 2]>,
    pub runtime: Runtime<FlowKey>,
    pub transfers: Vec<Option<Transfer>>,
    free: Vec<usize>,
    /// For each host, the transfer of each connection.
    transfer_of: [BTreeMap<ConnectionId, usize>; 2],
    /// Callers that the server has not seen yet, by the client's end.
    pub callers: BTreeMap<SocketAddr, usize>,
    /// Number of connections opened so far.
    opened: u32,
    pub agenda: Agenda,
    pub samples: SubflowSamples,
    /// Where the decisions of connections are written; and for each transfer, its number within its application.
    pub traces: Option<qlog::Folder>,
    trace_numbers: BTreeMap<usize, u32>,
    pub end_ns: u64,
}

impl<'p> StackHosts<'p> {
    /// Makes all servers listen. No client has connected yet.
    pub fn new(
        plan: &'p Plan,
        plugins: &Plugins,
        hosts: [OwnedFd; 2],
        clock: Clock,
        translations: Translations,
    ) -> Result<StackHosts<'p>, RunError> {
        let description = &plan.description;
        if plan.networks.len() != description.paths.len() {
            return Err(RunError::Invalid("each path has a network of its clients".into()));
        }
        if let Some(many) = description.connections.iter().find(|each| each.paths.len() > PLACES) {
            return Err(RunError::Invalid(format!("connection \"{}\" has more than {PLACES} paths", many.name)));
        }
        let configs = convert::transports(description, plugins, |number| plan.server_at(number))
            .map_err(|error| RunError::Invalid(error.to_string()))?;
        let address = |address| Address { id: 0, address, device: 0, backup: false };
        let clients = plan.client_addresses().map(address).collect();
        let servers = (0..plan.server_addresses()).map(|number| address(plan.server_at(number))).collect();
        let mut kernel = None;
        let mut devices = [Vec::new(), Vec::new()];
        for (side, descriptor) in hosts.into_iter().enumerate() {
            match &plan.kernel {
                Some(host) if host.is_client == (side == CLIENT) => {
                    if host.congestion.len() != description.connections.len() {
                        return Err(RunError::Invalid("each kind of connection has a congestion control".into()));
                    }
                    let translations = translations.clone();
                    kernel = Some(Kernel::new(plan, side, descriptor, &host.congestion, translations)?);
                }
                _ => devices[side].push(Device::new(descriptor)?),
            }
        }
        let [client, server] = devices;
        let driver = |addresses, devices, salt: u64| {
            let settings = Settings { addresses, seed: description.seed.wrapping_mul(2).wrapping_add(salt) };
            Driver::new(&settings, devices)
        };
        let mut drivers = [driver(clients, client, 0), driver(servers, server, 1)];
        for (kind, config) in configs.iter().enumerate() {
            drivers[SERVER].listen(plan.server(kind).port(), config[SERVER].clone());
        }
        let kinds = description.connections.iter().map(Connection::kind);
        let runtime = Runtime::new(description.seed, description.warmup_ns, kinds);
        let mut agenda = Agenda::new(description, &runtime);
        if kernel.is_some() {
            agenda.push(0, Due::Look);
        }
        if let Some(sample_ns) = description.sample_ns {
            agenda.push(sample_ns, Due::Sample);
        }
        for (number, event) in description.events.iter().enumerate() {
            agenda.push(event.at_ns, Due::Change(number));
        }
        let columns = configs.iter().flat_map(|config| config[SERVER].congestion.columns());
        let samples = SubflowSamples::with_columns(columns);
        Ok(StackHosts {
            plan,
            description,
            clock,
            translations,
            drivers,
            kernel,
            configs,
            runtime,
            transfers: Vec::new(),
            free: Vec::new(),
            transfer_of: [BTreeMap::new(), BTreeMap::new()],
            callers: BTreeMap::new(),
            opened: 0,
            agenda,
            samples,
            traces: None,
            trace_numbers: BTreeMap::new(),
            end_ns: description.duration_ns,
        })
    }

    /// Runs until the end of the scenario, or until `stop`.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), RunError> {
        sleep_exactly()?;
        // Real-time priority like the emulator's, but lower: hosts that wait for the processor would be slow. The
        // thread sleeps whenever it has nothing to do. Without the privilege, it runs with the default policy.
        if system::schedule_fifo(FIFO_PRIORITY).is_err() {
            let _ = rustix::process::setpriority_process(None, NICE);
        }
        if let Some(kernel) = &self.kernel {
            kernel.enter()?;
        }
        let end_ns = self.description.duration_ns;
        loop {
            let now_ns = self.clock.now_ns();
            if now_ns >= end_ns || stop.load(Ordering::Relaxed) {
                break;
            }
            while let Some((at_ns, due)) = self.agenda.take(now_ns) {
                self.act(now_ns, at_ns, due);
            }
            self.carry_out(now_ns)?;
            let mut more = self.turn_kernel()?;
            for side in [CLIENT, SERVER] {
                more |= self.turn(side)?;
            }
            if !more && self.runtime.actions_waiting() == 0 {
                self.wait(end_ns)?;
            }
        }
        self.end_ns = self.clock.now_ns().min(end_ns);
        self.look(self.end_ns);
        Ok(())
    }

    /// Lets a host receive packets and serve its connections, each packet separately, so that packets acknowledged one
    /// by one in virtual time are so here too. Returns whether more packets may wait.
    fn turn(&mut self, side: usize) -> Result<bool, RunError> {
        if self.kernel.as_ref().is_some_and(|kernel| kernel.side == side) {
            return Ok(false);
        }
        for _ in 0..BATCH {
            let now_ns = self.clock.now_ns();
            let received = self.drivers[side].receive_one(now_ns, 0)?;
            self.drivers[side].handle_timeouts(now_ns);
            while let Some(id) = self.drivers[side].next_touched() {
                self.serve(now_ns, side, id)?;
            }
            self.drivers[side].transmit_others(now_ns).map_err(|error| RunError::Invalid(error.to_string()))?;
            if !received {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn wait(&mut self, end_ns: u64) -> io::Result<()> {
        let due_ns = self.agenda.next_ns().min(end_ns);
        let next_ns = self.drivers.iter().map(Driver::next_ns).fold(due_ns, u64::min);
        let wait_ns = next_ns.saturating_sub(self.clock.now_ns()).min(LONGEST_WAIT_NS);
        let devices = self.drivers.iter().flat_map(Driver::devices);
        let mut waiting: Vec<PollFd<'_>> =
            devices.map(|device| PollFd::from_borrowed_fd(device.descriptor(), PollFlags::IN)).collect();
        waiting.extend(self.kernel.as_ref().map(|kernel| PollFd::new(kernel.descriptor(), PollFlags::IN)));
        match poll(&mut waiting, Some(&timespec(wait_ns))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Serves a connection's end as far as possible.
    fn serve(&mut self, now_ns: u64, side: usize, id: ConnectionId) -> Result<(), RunError> {
        let number = match self.transfer_of[side].get(&id) {
            Some(&number) => number,
            None => {
                // A client has connected to the server.
                let remote = self.drivers[side].connection(id).tuple(SubflowId(0)).remote;
                let client = self.translations.inside(remote);
                let Some(number) = self.callers.remove(&client) else {
                    return self.transmit(now_ns, side, id);
                };
                self.transfer_of[side].insert(id, number);
                if let Some(transfer) = &mut self.transfers[number] {
                    transfer.ids[side] = Some(id);
                }
                self.trace_end(now_ns, side, id, number);
                number
            }
        };
        let Some(transfer) = self.transfers[number].as_mut() else { return self.transmit(now_ns, side, id) };
        transfer.serve(now_ns, side, self.drivers[side].serving(id));
        let stream = &mut transfer.stream;
        if stream.is_read_in_stages()
            && side != stream.sender
            && self.drivers[side].connection(id).peek().is_some()
            && let Some(at_ns) = stream.arrange_read(now_ns)
        {
            self.agenda.push(at_ns, Due::Read(number));
        }
        self.check(number)?;
        self.transmit(now_ns, side, id)?;
        self.note_subflows(side, id, number);
        self.take_news(now_ns, number);
        Ok(())
    }

    /// Fails if a byte of a transfer was wrong.
    pub fn check(&self, number: usize) -> Result<(), RunError> {
        let Some(transfer) = &self.transfers[number] else { return Ok(()) };
        if let Some(place) = transfer.corrupt {
            let name = &self.description.connections
                [self.runtime.applications[transfer.application as usize].kind as usize]
                .name;
            return Err(RunError::Hosts(io::Error::other(format!(
                "connection \"{name}\": byte {place} of its stream, or one soon after, is not the one that was sent"
            ))));
        }
        Ok(())
    }

    fn transmit(&mut self, now_ns: u64, side: usize, id: ConnectionId) -> Result<(), RunError> {
        self.drivers[side].transmit(now_ns, id).map_err(|error| RunError::Invalid(error.to_string()))
    }

    /// Records the subflows of an end that the transfer does not have yet.
    fn note_subflows(&mut self, side: usize, id: ConnectionId, number: usize) {
        let connection = self.drivers[side].connection(id);
        let Some(transfer) = &mut self.transfers[number] else { return };
        let known = transfer.subflows.iter().filter(|subflow| subflow.ids[side].is_some()).count();
        for place in known..connection.subflow_count() {
            let id = SubflowId(place as u8);
            let tuple = connection.tuple(id);
            let client = if side == CLIENT { tuple.local } else { self.translations.inside(tuple.remote) };
            match transfer.subflows.iter_mut().find(|subflow| subflow.client == client) {
                Some(subflow) => subflow.ids[side] = Some(id),
                None => {
                    let mut ids = [None; 2];
                    ids[side] = Some(id);
                    let path = self.plan.path_of(client.ip()).unwrap_or(0);
                    transfer.subflows.push(Subflow { client, path, ids, kernel: None, kept: Kept::default() });
                }
            }
        }
    }

    /// Reports the events of a transfer to its application.
    pub fn take_news(&mut self, now_ns: u64, number: usize) {
        let Some(mut transfer) = self.transfers[number].take() else { return };
        let news = transfer.stream.take_news();
        if !news.is_empty() {
            self.runtime.take_news(now_ns, transfer.application, (number as u32, &transfer.stream), news);
        }
        if news.has(News::COMPLETED) {
            if let Some(Kernel { side, .. }) = self.kernel {
                transfer.look(now_ns, side);
            }
            for place in 0..transfer.subflows.len() {
                let mark = transfer.subflows[place].mark(now_ns, &transfer, &self.drivers);
                transfer.subflows[place].kept.completed_cwnd = Some(mark.cwnd_integral);
            }
        }
        let repeats = self.runtime.applications[transfer.application as usize].content.repeats();
        self.transfers[number] = Some(transfer);
        if repeats && self.is_over(number) {
            self.leave(now_ns, number);
        }
    }

    /// Takes over the counts of a transfer that is over at both ends.
    fn leave(&mut self, now_ns: u64, number: usize) {
        let Some(transfer) = self.transfers[number].take() else { return };
        let tallies = self.tallies(&transfer, now_ns);
        let receiver = transfer.ids[transfer.stream.receiver()].map(|id| (transfer.stream.receiver(), id));
        let told = receiver.map(|(side, id)| self.drivers[side].connection(id));
        let told = told.map(|connection| (connection.out_of_order_delays(), connection.is_fallback()));
        let application = &mut self.runtime.applications[transfer.application as usize];
        application.record.add(&transfer.stream, tallies, told);
        application.record.fallback |= transfer.fallback;
        application.transfers.retain(|&own| own as usize != number);
        for side in [CLIENT, SERVER] {
            if let Some(id) = transfer.ids[side] {
                self.transfer_of[side].remove(&id);
                self.drivers[side].retire(id);
            }
        }
        self.callers.retain(|_, &mut caller| caller != number);
        self.free.push(number);
    }

    /// The counts of each subflow of a transfer.
    pub fn tallies(&self, transfer: &Transfer, end_ns: u64) -> Vec<Tally<FlowKey>> {
        let stream = &transfer.stream;
        let window = Window::of(stream.start_ns, stream.last_ns(), self.description.warmup_ns, end_ns);
        transfer.subflows.iter().map(|each| each.tally(transfer, &self.drivers, window)).collect()
    }

    fn act(&mut self, now_ns: u64, at_ns: u64, due: Due) {
        match due {
            Due::Look => self.look_and_go_on(now_ns, at_ns),
            Due::Sample => {
                self.look(now_ns);
                self.sample(at_ns);
                let sample_ns = self.description.sample_ns.unwrap_or(u64::MAX);
                self.agenda.push(at_ns.saturating_add(sample_ns), Due::Sample);
            }
            Due::WarmUpEnds => self.warm_up_ends(now_ns),
            Due::Change(number) => self.change(now_ns, number),
            Due::Read(number) => self.read_again(now_ns, number),
            Due::Start(_) | Due::Wake(_) | Due::Stop(_) => {
                let transfers = &self.transfers;
                agenda::tell(&mut self.runtime, due, |place| Some(&transfers[place as usize].as_ref()?.stream));
            }
        }
    }

    /// The application at the receiving end of a transfer reads again.
    fn read_again(&mut self, now_ns: u64, number: usize) {
        let Some(transfer) = &self.transfers[number] else { return };
        let side = transfer.stream.receiver();
        if let Some(id) = transfer.ids[side] {
            self.drivers[side].connection_mut(id).handle_timeout(Instant::from_nanos(now_ns));
            self.drivers[side].touch(id);
        }
    }

    /// Tells clients about address changes by an event, and senders that a path has ended.
    fn change(&mut self, now_ns: u64, number: usize) {
        let event = &self.description.events[number];
        for transfer in self.transfers.iter_mut().flatten() {
            let kind = self.runtime.applications[transfer.application as usize].kind as usize;
            let connection = &self.description.connections[kind];
            let sender = transfer.stream.sender;
            if connection.loses_path(self.description, event)
                && transfer.stream.path_ends(now_ns)
                && let Some(id) = transfer.ids[sender]
            {
                self.drivers[sender].connection_mut(id).watch_reinjections();
            }
            let Some(id) = transfer.ids[CLIENT] else { continue };
            for address in connection.addresses_on(self.description, event.link) {
                convert::tell(self.drivers[CLIENT].connection_mut(id), now_ns, address, &event.set);
            }
            self.drivers[CLIENT].touch(id);
        }
    }

    /// Performs the actions that applications have asked for so far. Actions they ask for in response are performed
    /// later, so that a connection that fails at once is not reopened forever.
    fn carry_out(&mut self, now_ns: u64) -> Result<(), RunError> {
        for _ in 0..self.runtime.actions_waiting() {
            match self.runtime.next_action() {
                Some(Action::Open { application, amount }) => self.open(now_ns, application, amount)?,
                Some(Action::Wake { application, at_ns }) => self.agenda.push(at_ns, Due::Wake(application)),
                Some(Action::Write { transfer }) => {
                    if let Some(transfer) = &mut self.transfers[transfer as usize] {
                        transfer.stream.offer_step();
                    }
                    self.touch_sender(transfer as usize);
                }
                Some(Action::Ask { transfer, question_bytes, answer_bytes }) => {
                    if let Some(asking) = &mut self.transfers[transfer as usize] {
                        asking.stream.ask(question_bytes, answer_bytes);
                    }
                    // A greeting is due at once at the other end.
                    self.touch_sender(transfer as usize);
                    if let Some(Some(Transfer { ids: [Some(id), _], .. })) = self.transfers.get(transfer as usize) {
                        self.drivers[CLIENT].touch(*id);
                    }
                }
                Some(Action::Stop { transfer }) => {
                    if let Some(transfer) = &mut self.transfers[transfer as usize] {
                        transfer.stream.stop();
                    }
                    self.touch_sender(transfer as usize);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Opens a connection for an application.
    fn open(&mut self, now_ns: u64, number: u32, amount: Amount) -> Result<(), RunError> {
        let application = &self.runtime.applications[number as usize];
        let (kind, sender) = (application.kind as usize, application.sender);
        let place = self.free.pop().unwrap_or_else(|| {
            self.transfers.push(None);
            self.transfers.len() - 1
        });
        self.runtime.opened(now_ns, number, place as u32);
        let reading = &self.runtime.applications[number as usize].reading;
        let mut transfer = Transfer::new(number, Stream::new(now_ns, amount, sender).read_in(reading));
        if self.kernel.as_ref().is_some_and(|kernel| kernel.side == CLIENT) {
            self.transfers[place] = Some(transfer);
            return self.call(place, kind);
        }
        let paths = &self.description.connections[kind].paths;
        let local: Vec<LocalAddress> = paths
            .iter()
            .enumerate()
            .map(|(at, &path)| LocalAddress {
                id: self.description.connections[kind].local_id(at),
                address: self.plan.client(self.opened, path, at),
                backup: self.description.connections[kind].is_backup(self.description, at),
            })
            .collect();
        let port = Plan::client_port(self.opened);
        self.opened = self.opened.wrapping_add(1);
        let config = self.configs[kind][CLIENT].clone();
        let id = self.drivers[CLIENT].open(now_ns, config, &local, port, self.plan.server(kind));
        transfer.ids[CLIENT] = Some(id);
        self.transfer_of[CLIENT].insert(id, place);
        self.callers.insert(SocketAddr::new(local[0].address, port), place);
        self.transfers[place] = Some(transfer);
        if let Some(folder) = &self.traces {
            self.trace_numbers.insert(place, folder.next_number(number));
            self.trace_end(now_ns, CLIENT, id, place);
        }
        Ok(())
    }

    /// Starts the trace of the connection at one end of transfer `place`.
    fn trace_end(&mut self, now_ns: u64, side: usize, id: ConnectionId, place: usize) {
        let (Some(folder), Some(transfer)) = (&self.traces, &self.transfers[place]) else { return };
        let application = &self.runtime.applications[transfer.application as usize];
        let number = self.trace_numbers.get(&place).copied().unwrap_or(0);
        let of = qlog::Of { kind: application.kind as usize, index: application.index, number };
        let (plan, translations) = (self.plan.clone(), self.translations.clone());
        let path_of = move |local: SocketAddr, remote: SocketAddr| {
            plan.path_of(if side == CLIENT { local } else { translations.inside(remote) }.ip())
        };
        let trace = folder.file(self.description, of, side == CLIENT, Box::new(path_of));
        self.drivers[side].serving(id).set_trace(Instant::from_nanos(now_ns), trace);
    }

    fn warm_up_ends(&mut self, now_ns: u64) {
        self.look(now_ns);
        for place in 0..self.transfers.len() {
            let Some(mut transfer) = self.transfers[place].take() else { continue };
            transfer.stream.warm_up_ends();
            for subflow in 0..transfer.subflows.len() {
                let mark = transfer.subflows[subflow].mark(now_ns, &transfer, &self.drivers);
                transfer.subflows[subflow].kept.warm = (&mark).into();
            }
            self.transfers[place] = Some(transfer);
        }
        self.runtime.warm_up_ends();
    }
}
