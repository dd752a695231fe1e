//! The hosts and their programs: one thread opens, serves and looks at every connection, by the machine's clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use simulator::convert;
use simulator::description::{Application as Content, Description};
use simulator::outcome::SubflowSamples;
use transport::{Config, ConnectionId, LocalAddress, SubflowId};

use super::StackError;
use super::application::Application;
use super::kernel::Kernel;
use super::marks::{Mark, Tally};
use super::plan::{PLACES, Plan};
use super::transfer::{Amount, CLIENT, SERVER, Subflow, Transfer};
use crate::clock::{Clock, sleep_exactly, timespec};
use crate::stack::{Address, Device, Driver, Settings};
use crate::system;

/// Below the emulator's.
const FIFO_PRIORITY: i32 = 30;
/// Ahead of programs that are not told otherwise.
const NICE: i32 = -10;
/// How long a wait is at most, so that the order to stop is heard.
const LONGEST_WAIT_NS: u64 = 20_000_000;

/// Packets that one host takes in before the other has its turn.
const BATCH: usize = 32;

/// What is due at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Action {
    Look,
    Sample,
    WarmUpEnds,
    Start(usize),
    Arrive(usize),
    Step(usize),
    Stop(usize),
}

/// Both hosts.
pub struct World<'p> {
    pub plan: &'p Plan,
    pub description: &'p Description,
    pub clock: Clock,
    /// All clients, all servers.
    /// The kernel's has no devices, and nothing to do.
    pub drivers: [Driver; 2],
    pub kernel: Option<Kernel>,
    configs: Vec<[Config; 2]>,
    pub applications: Vec<Application>,
    pub transfers: Vec<Option<Transfer>>,
    free: Vec<usize>,
    /// By connection of each host, its transfer.
    transfer_of: [BTreeMap<ConnectionId, usize>; 2],
    /// Who called and is not known to the server yet, by the client's end.
    pub callers: BTreeMap<SocketAddr, usize>,
    /// Connections opened so far.
    opened: u32,
    pub agenda: BinaryHeap<Reverse<(u64, Action)>>,
    pub samples: SubflowSamples,
    pub end_ns: u64,
}

impl<'p> World<'p> {
    /// All servers listen; nobody has called yet.
    pub fn new(plan: &'p Plan, hosts: [OwnedFd; 2], clock: Clock) -> Result<World<'p>, StackError> {
        let description = &plan.description;
        if plan.networks.len() != description.paths.len() {
            return Err(StackError::Invalid("each path has a network of its clients".into()));
        }
        if let Some(many) = description.connections.iter().find(|each| each.paths.len() > PLACES) {
            return Err(StackError::Invalid(format!("connection «{}» has more than {PLACES} paths", many.name)));
        }
        let configs = description
            .connections
            .iter()
            .map(|connection| convert::transport(connection).map_err(|error| StackError::Invalid(error.to_string())))
            .collect::<Result<Vec<_>, _>>()?;
        let address = |address| Address { id: 0, address, device: 0, backup: false };
        let clients = plan.client_addresses().map(address).collect();
        let servers = vec![address(plan.server_address.into())];
        let mut kernel = None;
        let mut devices = [Vec::new(), Vec::new()];
        for (side, descriptor) in hosts.into_iter().enumerate() {
            match &plan.kernel {
                Some(host) if host.is_client == (side == CLIENT) => {
                    if host.congestion.len() != description.connections.len() {
                        return Err(StackError::Invalid("each kind of connection has a congestion control".into()));
                    }
                    kernel = Some(Kernel::new(plan, side, descriptor, &host.congestion)?);
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
        let applications = Application::all(description);
        let mut agenda = BinaryHeap::new();
        if kernel.is_some() {
            agenda.push(Reverse((0, Action::Look)));
        }
        agenda.push(Reverse((description.warmup_ns, Action::WarmUpEnds)));
        agenda.extend(description.sample_ns.map(|sample_ns| Reverse((sample_ns, Action::Sample))));
        for (number, application) in applications.iter().enumerate() {
            agenda.push(Reverse((application.start_ns, Action::Start(number))));
            agenda.extend(application.stop_ns.map(|stop_ns| Reverse((stop_ns, Action::Stop(number)))));
        }
        Ok(World {
            plan,
            description,
            clock,
            drivers,
            kernel,
            configs,
            applications,
            transfers: Vec::new(),
            free: Vec::new(),
            transfer_of: [BTreeMap::new(), BTreeMap::new()],
            callers: BTreeMap::new(),
            opened: 0,
            agenda,
            samples: SubflowSamples::default(),
            end_ns: description.duration_ns,
        })
    }

    /// Goes on until the end of the scenario, or until `stop`.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), StackError> {
        sleep_exactly()?;
        // As the emulator, and behind it: hosts that wait for the processor would be slow ones. The thread sleeps whenever
        // it has nothing to do. Without the privilege it is as all are.
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
            while let Some(&Reverse((at_ns, action))) = self.agenda.peek()
                && at_ns <= now_ns
            {
                self.agenda.pop();
                self.act(now_ns, at_ns, action)?;
            }
            let mut more = self.turn_kernel()?;
            for side in [CLIENT, SERVER] {
                more |= self.turn(side)?;
            }
            if !more {
                self.wait(end_ns)?;
            }
        }
        self.end_ns = self.clock.now_ns().min(end_ns);
        self.look(self.end_ns);
        Ok(())
    }

    /// A host takes in packets and serves its connections, each packet by itself: what would be acknowledged one by one
    /// in virtual time is so here. Answers whether more packets may wait.
    fn turn(&mut self, side: usize) -> Result<bool, StackError> {
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
            self.drivers[side].transmit_others(now_ns).map_err(|error| StackError::Invalid(error.to_string()))?;
            if !received {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn wait(&mut self, end_ns: u64) -> io::Result<()> {
        let due_ns = self.agenda.peek().map_or(end_ns, |&Reverse((at_ns, _))| at_ns.min(end_ns));
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

    /// Lets a connection's end do all it can.
    fn serve(&mut self, now_ns: u64, side: usize, id: ConnectionId) -> Result<(), StackError> {
        let number = match self.transfer_of[side].get(&id) {
            Some(&number) => number,
            None => {
                // Someone has called the server.
                let client = self.drivers[side].connection(id).tuple(SubflowId(0)).remote;
                let Some(number) = self.callers.remove(&client) else {
                    return self.transmit(now_ns, side, id);
                };
                self.transfer_of[side].insert(id, number);
                if let Some(transfer) = &mut self.transfers[number] {
                    transfer.ids[side] = Some(id);
                }
                number
            }
        };
        let Some(transfer) = self.transfers[number].as_mut() else { return self.transmit(now_ns, side, id) };
        let was_complete = transfer.completion_ns.is_some();
        transfer.serve(now_ns, side, self.drivers[side].serving(id));
        self.check(number)?;
        self.transmit(now_ns, side, id)?;
        self.note_subflows(side, id, number);
        self.hear(now_ns, number, was_complete);
        Ok(())
    }

    /// Fails when a byte of a transfer was wrong.
    pub fn check(&self, number: usize) -> Result<(), StackError> {
        let Some(transfer) = &self.transfers[number] else { return Ok(()) };
        if let Some(place) = transfer.corrupt {
            let name = &self.description.connections[self.applications[transfer.application].kind].name;
            return Err(StackError::Hosts(io::Error::other(format!(
                "connection «{name}»: byte {place} of its stream, or one soon after, is not the one that was sent"
            ))));
        }
        Ok(())
    }

    fn transmit(&mut self, now_ns: u64, side: usize, id: ConnectionId) -> Result<(), StackError> {
        self.drivers[side].transmit(now_ns, id).map_err(|error| StackError::Invalid(error.to_string()))
    }

    /// Enters the subflows that an end has and the transfer does not know from it.
    fn note_subflows(&mut self, side: usize, id: ConnectionId, number: usize) {
        let connection = self.drivers[side].connection(id);
        let Some(transfer) = &mut self.transfers[number] else { return };
        let known = transfer.subflows.iter().filter(|subflow| subflow.ids[side].is_some()).count();
        for place in known..connection.subflow_count() {
            let id = SubflowId(place as u8);
            let tuple = connection.tuple(id);
            let client = if side == CLIENT { tuple.local } else { tuple.remote };
            match transfer.subflows.iter_mut().find(|subflow| subflow.client == client) {
                Some(subflow) => subflow.ids[side] = Some(id),
                None => {
                    let mut ids = [None; 2];
                    ids[side] = Some(id);
                    let path = self.plan.path_of(client.ip()).unwrap_or(0);
                    transfer.subflows.push(Subflow {
                        client,
                        path,
                        ids,
                        kernel: None,
                        warm: Mark::default(),
                        completed_cwnd: None,
                        sampled_bytes: 0,
                    });
                }
            }
        }
    }

    /// What happened to a transfer has consequences.
    pub fn hear(&mut self, now_ns: u64, number: usize, was_complete: bool) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        let place = transfer.application;
        let application = &mut self.applications[place];
        if matches!(application.content, Content::Rate { .. }) && application.steps.is_none() && transfer.is_writing() {
            application.steps = Some((now_ns, 0));
            let next_ns = application.next_step_ns(transfer.step_bytes);
            self.agenda.extend(next_ns.map(|at_ns| Reverse((at_ns, Action::Step(place)))));
        }
        if let (false, Some(at_ns)) = (was_complete, transfer.completion_ns) {
            let cut_off = application.stopped && matches!(application.content, Content::Requests { .. });
            if application.repeats() && !cut_off && transfer.start_ns >= self.description.warmup_ns {
                application.done.start_s.push(transfer.start_ns as f64 / 1e9);
                application.done.size_bytes.push(transfer.bytes_read);
                application.done.completion_s.push((at_ns - transfer.start_ns) as f64 / 1e9);
            }
            if let Some(mut complete) = self.transfers[number].take() {
                if let Some(Kernel { side, .. }) = self.kernel {
                    complete.look(now_ns, side);
                }
                for place in 0..complete.subflows.len() {
                    let mark = Mark::at(now_ns, &complete.subflows[place], &complete, &self.drivers);
                    complete.subflows[place].completed_cwnd = Some(mark.cwnd_integral);
                }
                self.transfers[number] = Some(complete);
            }
        }
        let Some(transfer) = &mut self.transfers[number] else { return };
        let application = &mut self.applications[place];
        if transfer.ended && !transfer.told {
            transfer.told = true;
            if matches!(application.content, Content::Requests { .. }) && !application.stopped {
                self.agenda.push(Reverse((now_ns, Action::Start(place))));
            }
        }
        if application.repeats() && self.is_over(number) {
            self.leave(now_ns, number);
        }
    }

    /// Takes in what a transfer has counted that is over at both ends.
    fn leave(&mut self, now_ns: u64, number: usize) {
        let Some(transfer) = self.transfers[number].take() else { return };
        let tallies = self.tallies(&transfer, now_ns);
        let receiver = transfer.receiver();
        let application = &mut self.applications[transfer.application];
        tallies.into_iter().for_each(|tally| application.add(tally));
        if let Some(id) = transfer.ids[receiver] {
            let connection = self.drivers[receiver].connection(id);
            application.delays.merge(connection.out_of_order_delays());
            application.fallback |= connection.is_fallback();
        }
        application.fallback |= transfer.fallback;
        application.bytes_read += transfer.bytes_read;
        application.warm_bytes += transfer.warm_bytes;
        application.last_read_ns = application.last_read_ns.max(transfer.last_read_ns);
        application.transfers.retain(|&own| own != number);
        for side in [CLIENT, SERVER] {
            if let Some(id) = transfer.ids[side] {
                self.transfer_of[side].remove(&id);
                self.drivers[side].retire(id);
            }
        }
        self.callers.retain(|_, &mut caller| caller != number);
        self.free.push(number);
    }

    /// What each subflow of a transfer has counted.
    pub fn tallies(&self, transfer: &Transfer, end_ns: u64) -> Vec<Tally> {
        let from_ns = transfer.start_ns.max(self.description.warmup_ns);
        let to_ns = transfer.completion_ns.unwrap_or(end_ns).min(end_ns);
        transfer.subflows.iter().map(|each| Tally::of(each, transfer, &self.drivers, from_ns, to_ns)).collect()
    }

    fn act(&mut self, now_ns: u64, at_ns: u64, action: Action) -> Result<(), StackError> {
        match action {
            Action::Look => self.look_and_go_on(now_ns, at_ns),
            Action::Sample => {
                self.look(now_ns);
                self.sample(at_ns);
                let sample_ns = self.description.sample_ns.unwrap_or(u64::MAX);
                self.agenda.push(Reverse((at_ns.saturating_add(sample_ns), Action::Sample)));
            }
            Action::WarmUpEnds => self.warm_up_ends(now_ns),
            Action::Start(number) => match &self.applications[number].arrivals {
                Some(arrivals) => self.agenda.push(Reverse((arrivals.next_ns(), Action::Arrive(number)))),
                None if self.applications[number].stopped => {}
                None => self.open(now_ns, number, self.applications[number].amount())?,
            },
            Action::Arrive(number) => {
                let application = &mut self.applications[number];
                if let (Some(arrivals), false) = (&mut application.arrivals, application.stopped) {
                    let amount = Amount::Bytes(arrivals.take());
                    self.agenda.push(Reverse((arrivals.next_ns(), Action::Arrive(number))));
                    self.open(now_ns, number, amount)?;
                }
            }
            Action::Step(number) => self.step(number),
            Action::Stop(number) => self.stop(number),
        }
        Ok(())
    }

    /// Opens a connection of an application.
    fn open(&mut self, now_ns: u64, number: usize, amount: Amount) -> Result<(), StackError> {
        let application = &mut self.applications[number];
        let (kind, sender) = (application.kind, application.sender);
        application.done.begun += u64::from(now_ns >= self.description.warmup_ns);
        let place = self.free.pop().unwrap_or_else(|| {
            self.transfers.push(None);
            self.transfers.len() - 1
        });
        application.transfers.push(place);
        let mut transfer = Transfer::new(number, now_ns, amount, sender);
        if self.kernel.as_ref().is_some_and(|kernel| kernel.side == CLIENT) {
            self.transfers[place] = Some(transfer);
            return self.call(place, kind);
        }
        let paths = &self.description.connections[kind].paths;
        let local: Vec<LocalAddress> = paths
            .iter()
            .enumerate()
            .map(|(at, &path)| LocalAddress {
                id: at as u8,
                address: self.plan.client(self.opened, path, at),
                backup: false,
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
        Ok(())
    }

    /// The next step of a rate.
    fn step(&mut self, number: usize) {
        let application = &mut self.applications[number];
        let (Some(&place), false) = (application.transfers.first(), application.stopped) else { return };
        let Some(transfer) = self.transfers[place].as_mut().filter(|transfer| transfer.is_writing()) else { return };
        transfer.offer_step();
        if let Some((_, steps)) = &mut application.steps {
            *steps += 1;
        }
        let next_ns = application.next_step_ns(transfer.step_bytes);
        self.agenda.extend(next_ns.map(|at_ns| Reverse((at_ns, Action::Step(number)))));
        self.touch_sender(place);
    }

    fn stop(&mut self, number: usize) {
        let application = &mut self.applications[number];
        application.stopped = true;
        if matches!(application.content, Content::Flows { .. }) {
            return;
        }
        for place in application.transfers.clone() {
            if let Some(transfer) = &mut self.transfers[place] {
                transfer.stopped = true;
                self.touch_sender(place);
            }
        }
    }

    fn warm_up_ends(&mut self, now_ns: u64) {
        self.look(now_ns);
        for place in 0..self.transfers.len() {
            let Some(mut transfer) = self.transfers[place].take() else { continue };
            transfer.warm_bytes = transfer.bytes_read;
            for subflow in 0..transfer.subflows.len() {
                transfer.subflows[subflow].warm =
                    Mark::at(now_ns, &transfer.subflows[subflow], &transfer, &self.drivers);
            }
            self.transfers[place] = Some(transfer);
        }
        for application in &mut self.applications {
            application.warm_bytes = application.bytes_read;
            application.tallies.iter_mut().for_each(Tally::warm_up_ends);
        }
    }
}
