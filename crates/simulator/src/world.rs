//! The main loop: takes events in their order, moves packets from link to link and into the hosts, and lets
//! connections and applications act.

use crate::agenda::{Action, Agenda};
use crate::application::{Application, CLIENT, SERVER};
use crate::convert;
use crate::description::Description;
use crate::endpoint::Endpoint;
use crate::flows::{CLIENT_PORT, FIRST_PORT, Fabric, SERVER_ADDRESS, Subflow, Tag, client_address, client_index};
use crate::outcome::Outcome;
use crate::probe::{Probe, View};
use crate::{SimulateError, random, summary};
use std::net::{IpAddr, SocketAddr};
use transport::{Config, Handle, Host, LocalAddress, Tuple};
use wire::Span;

type Step = Result<(), Box<SimulateError>>;

/// How many events pass between two questions whether to go on; a power of two.
const WATCH_EVENTS: u64 = 1 << 16;

/// A run: all its state.
pub struct World<'d> {
    description: &'d Description,
    now_ns: u64,
    events: u64,
    fabric: Fabric,
    /// One machine for all clients, one for all servers.
    hosts: [Host<Span>; 2],
    /// Connection `c` has its client's end at `2 c` and its server's at `2 c + 1`.
    endpoints: Vec<Endpoint>,
    applications: Vec<Application>,
    /// Of each connection, the number of the client's address on its first path; the others follow.
    first_address: Vec<u32>,
    /// Of each kind of connection, the client's configuration and the server's.
    configs: Vec<[Config; 2]>,
    agenda: Agenda,
    probe: Probe,
    /// Event targets from here on are the endpoints' timers; those below are links.
    first_timer: u32,
}

impl<'d> World<'d> {
    /// Everything as it stands before the first event. `description` has passed the checks of `validate`.
    pub fn new(description: &'d Description) -> Result<World<'d>, SimulateError> {
        let seed = description.seed;
        let configs = description.connections.iter().map(convert::transport).collect::<Result<Vec<_>, _>>()?;
        let host = |name| Host::new(random::generator(seed, name));
        let mut hosts = [host("host/client"), host("host/server")];
        let mut applications = Vec::new();
        let mut first_address = Vec::new();
        let mut addresses = 0;
        for (kind, connection) in description.connections.iter().enumerate() {
            hosts[SERVER].listen(port(kind), configs[kind][SERVER].clone());
            for index in 0..connection.count {
                let name = format!("connection/{}/{index}/start", connection.name);
                let start_ns = random::uniform_ns(&mut random::generator(seed, &name), connection.start_ns);
                applications.push(Application::new(kind as u32, index, start_ns, connection));
                first_address.push(addresses);
                addresses += connection.paths.len() as u32;
            }
        }
        let fabric = Fabric::new(description);
        Ok(World {
            now_ns: 0,
            events: 0,
            first_timer: fabric.links.len() as u32,
            fabric,
            hosts,
            endpoints: (0..2 * applications.len()).map(|_| Endpoint::default()).collect(),
            agenda: Agenda::new(description, &applications),
            applications,
            first_address,
            configs,
            probe: Probe::new(description),
            description,
        })
    }

    /// Runs to the end of the description's duration.
    pub fn run(&mut self, watch: &mut dyn FnMut(u64) -> bool) -> Result<(), SimulateError> {
        let end_ns = self.description.duration_ns;
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
            }
        }
    }

    /// The outcome, at the end of the run.
    pub fn into_outcome(mut self) -> Outcome {
        let view = View { hosts: &self.hosts, applications: &self.applications, fabric: &mut self.fabric };
        summary::outcome(self.probe, view, self.description.warmup_ns, self.description.duration_ns, self.events)
    }

    /// Handles all events before `until_ns`.
    fn run_events(&mut self, until_ns: u64, watch: &mut dyn FnMut(u64) -> bool) -> Step {
        while let Some((at_ns, target)) = self.fabric.queue.pop_before(until_ns) {
            debug_assert!(at_ns >= self.now_ns, "time went back from {} to {at_ns}", self.now_ns);
            self.now_ns = at_ns;
            self.events += 1;
            if self.events & (WATCH_EVENTS - 1) == 0 && !watch(at_ns) {
                return Err(Box::new(SimulateError::Stopped { at_ns }));
            }
            if target >= self.first_timer {
                self.timer((target - self.first_timer) as usize)?;
            } else if let Some(arrived) = self.fabric.hop(at_ns, target) {
                self.receive(arrived)?;
            }
        }
        Ok(())
    }

    fn act(&mut self, action: Action) -> Step {
        let now_ns = self.now_ns;
        match action {
            Action::Sample => {
                let view = View { hosts: &self.hosts, applications: &self.applications, fabric: &mut self.fabric };
                self.probe.sample(now_ns, view);
                Ok(())
            }
            Action::WarmUpEnds => {
                let view = View { hosts: &self.hosts, applications: &self.applications, fabric: &mut self.fabric };
                self.probe.warm_up_ends(now_ns, view);
                Ok(())
            }
            Action::Change(number) => {
                let event = &self.description.events[number];
                for (changes, link) in [(event.down, 2 * event.link), (event.up, 2 * event.link + 1)] {
                    if changes {
                        self.probe.change(now_ns, link, &event.set);
                        self.fabric.change(now_ns, link as u32, convert::change(&event.set));
                    }
                }
                Ok(())
            }
            Action::Start(connection) => self.start(connection),
            Action::Stop(connection) => self.stop(connection),
        }
    }

    fn start(&mut self, connection: usize) -> Step {
        let kind = self.applications[connection].kind as usize;
        let first_address = self.first_address[connection];
        let addresses: Vec<LocalAddress> = (0..self.description.connections[kind].paths.len() as u32)
            .map(|path| LocalAddress { id: path as u8, address: client_address(first_address + path), backup: false })
            .collect();
        let server = SocketAddr::new(IpAddr::V4(SERVER_ADDRESS), port(kind));
        let config = self.configs[kind][CLIENT].clone();
        let id = self.hosts[CLIENT].connect(self.now_ns, config, &addresses, CLIENT_PORT, server);
        self.endpoints[2 * connection + CLIENT].open(id);
        self.drive(2 * connection + CLIENT)
    }

    fn stop(&mut self, connection: usize) -> Step {
        let application = &mut self.applications[connection];
        let endpoint = 2 * connection + application.sender;
        match self.endpoints[endpoint].id {
            None => {
                application.stop(self.now_ns, None);
                Ok(())
            }
            Some(id) => {
                let sender = self.hosts[application.sender].connection_mut(id);
                application.stop(self.now_ns, Some(sender));
                self.drive(endpoint)
            }
        }
    }

    /// A packet reaches a host.
    #[inline]
    fn receive(&mut self, arrived: Tag) -> Step {
        let flow = &self.fabric.flows[arrived.flow as usize];
        let to = flow.to as usize;
        match flow.handle {
            Some(handle) => self.hosts[to % 2].receive_on(self.now_ns, handle, self.fabric.take(arrived)),
            None => self.receive_first(arrived, to)?,
        }
        self.drive(to)
    }

    /// The first packet of a flow: the host finds by address, port or token where it belongs, as a real one does.
    #[cold]
    fn receive_first(&mut self, arrived: Tag, to: usize) -> Step {
        let (number, side) = (arrived.flow as usize / 2, to % 2);
        let segment = self.fabric.take(arrived);
        let subflow = &mut self.fabric.subflows[number];
        let found = self.hosts[side].receive(self.now_ns, subflow.tuple(side), segment);
        if let Some(handle) = found {
            assert!(
                subflow.handles[side].is_none_or(|known| known == handle),
                "a segment for {:?} found {handle:?}",
                subflow.handles[side]
            );
            subflow.handles[side] = Some(handle);
            self.fabric.flows[arrived.flow as usize].handle = Some(handle);
            self.endpoints[to].open(handle.connection);
            self.endpoints[to].set_flow(handle.subflow, arrived.flow ^ 1);
        }
        // Whoever is nobody's is answered with a reset, the way it came.
        while let Some((_, segment)) = self.hosts[side].transmit() {
            self.fabric.send(self.now_ns, arrived.flow ^ 1, segment)?;
        }
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
        if connection.next_timeout_ns() <= self.now_ns {
            connection.handle_timeout(self.now_ns);
        }
        self.drive(endpoint)
    }

    /// Lets an endpoint do all it can: read, handle events, send, set its timer.
    fn drive(&mut self, endpoint: usize) -> Step {
        let (number, side, now_ns) = (endpoint / 2, endpoint % 2, self.now_ns);
        let Some(id) = self.endpoints[endpoint].id else { return Ok(()) };
        let connection = self.hosts[side].connection_mut(id);
        let application = &mut self.applications[number];
        let was_complete = application.completion_ns.is_some();
        if let Err(misplaced) = application.poll(now_ns, side, connection) {
            let name = &self.description.connections[application.kind as usize].name;
            return Err(Box::new(misplaced.into_error(name, application.index)));
        }
        let completed = !was_complete && application.completion_ns.is_some();
        while let Some((subflow, segment)) = connection.transmit(now_ns) {
            let flow = match self.endpoints[endpoint].flow(subflow) {
                Some(flow) => flow,
                None => {
                    let paths = &self.description.connections[application.kind as usize].paths;
                    let tuple = connection.tuple(subflow);
                    let handle = Handle { connection: id, subflow };
                    let opened = open(tuple, side, number as u32, self.first_address[number], paths, handle);
                    let flow = self.fabric.open(opened) + side as u32;
                    application.subflows.push(flow / 2);
                    self.endpoints[endpoint].set_flow(subflow, flow);
                    flow
                }
            };
            self.fabric.send(now_ns, flow, segment)?;
        }
        let timeout_ns = connection.next_timeout_ns();
        let end = &mut self.endpoints[endpoint];
        if timeout_ns < end.timer_ns {
            end.timer_ns = timeout_ns.max(now_ns);
            self.fabric.queue.push(end.timer_ns, self.first_timer + endpoint as u32);
        }
        if completed {
            let view = View { hosts: &self.hosts, applications: &self.applications, fabric: &mut self.fabric };
            self.probe.completed(now_ns, number, &view);
        }
        Ok(())
    }
}

/// The server's port for connections of `kind`.
fn port(kind: usize) -> u16 {
    // `validate` has counted the kinds.
    FIRST_PORT + kind as u16
}

/// A subflow that the end `side` has just begun: the client's address tells the path.
#[cold]
fn open(tuple: Tuple, side: usize, connection: u32, first_address: u32, paths: &[usize], handle: Handle) -> Subflow {
    let ends = if side == CLIENT { [tuple.local, tuple.remote] } else { [tuple.remote, tuple.local] };
    let position = client_index(ends[CLIENT].ip()).and_then(|index| index.checked_sub(first_address));
    let path = position.and_then(|position| paths.get(position as usize));
    let path = *path.unwrap_or_else(|| panic!("a subflow uses an address that is not its connection's: {tuple:?}"));
    let mut handles = [None; 2];
    handles[side] = Some(handle);
    Subflow { connection, path: path as u32, ends, handles }
}
