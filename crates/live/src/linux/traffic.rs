//! The programs of all hosts: one thread opens, writes, reads and looks at every connection of a scenario, by the machine's
//! clock. A socket stays in the namespace where it was made, so that one thread serves them all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt;
use simulator::description::{Application as Content, Description, Protocol};
use simulator::outcome::SubflowSamples;

use super::application::Application;
use super::plan::Hosts;
use super::socket::{self, Options};
use super::transfer::{Buffers, CLIENT, Left, SERVER, Transfer};
use super::{sampling, track::Tally};
use crate::clock::{Clock, sleep_exactly, timespec};
use crate::namespace;
use crate::system;

/// Below the emulator's.
const FIFO_PRIORITY: i32 = 30;
/// Ahead of programs that are not told otherwise.
const NICE: i32 = -10;
/// How long a wait is at most, so that the order to stop is heard.
const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Tokens from here on are listening sockets, by kind; below, transfers' ends.
const FIRST_LISTENER: u64 = 1 << 63;
/// How many connections one run may have at a time.
const TRANSFER_LIMIT: usize = 20_000;

/// What is due at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Action {
    Look,
    WarmUpEnds,
    Start(usize),
    Arrive(usize),
    Step(usize),
    Stop(usize),
}

/// A kind's two hosts, and how its sockets are made.
pub struct Pair<'p> {
    pub hosts: &'p Hosts,
    pub client: BorrowedFd<'p>,
    pub server: BorrowedFd<'p>,
}

/// All connections of a run.
pub struct Traffic<'p> {
    description: &'p Description,
    pairs: &'p [Pair<'p>],
    options: Vec<Options>,
    clock: Clock,
    waiting: OwnedFd,
    listeners: Vec<OwnedFd>,
    pub applications: Vec<Application>,
    pub transfers: Vec<Option<Transfer>>,
    free: Vec<usize>,
    /// Places that are free when the events at hand are through.
    freed: Vec<usize>,
    /// Who called and was not accepted yet, by kind and the client's end.
    callers: BTreeMap<(usize, SocketAddr), usize>,
    agenda: BinaryHeap<Reverse<(u64, Action)>>,
    /// Ends that used their turn up.
    again: Vec<(usize, usize)>,
    buffers: Buffers,
    look_ns: u64,
    pub samples: SubflowSamples,
}

impl<'p> Traffic<'p> {
    /// All servers listen; nobody has called yet.
    pub fn new(description: &'p Description, pairs: &'p [Pair<'p>], clock: Clock) -> io::Result<Traffic<'p>> {
        let waiting = epoll::create(CreateFlags::CLOEXEC)?;
        let mut options = Vec::new();
        let mut listeners = Vec::new();
        for (kind, (connection, pair)) in description.connections.iter().zip(pairs).enumerate() {
            let of_kind = Options {
                mptcp: connection.protocol == Protocol::Mptcp,
                congestion: pair.hosts.congestion.clone(),
                receive_buffer_bytes: connection.receive_buffer_bytes,
            };
            let listener = socket::listen(pair.server, pair.hosts.server, &of_kind)?;
            let token = EventData::new_u64(FIRST_LISTENER + kind as u64);
            epoll::add(&waiting, &listener, token, EventFlags::IN)?;
            options.push(of_kind);
            listeners.push(listener);
        }
        let applications = Application::all(description);
        let look_ns = sampling::interval_ns(description.sample_ns, applications.len());
        let mut agenda = BinaryHeap::new();
        agenda.push(Reverse((description.warmup_ns, Action::WarmUpEnds)));
        agenda.push(Reverse((look_ns, Action::Look)));
        for (number, application) in applications.iter().enumerate() {
            agenda.push(Reverse((application.start_ns, Action::Start(number))));
            agenda.extend(application.stop_ns.map(|stop_ns| Reverse((stop_ns, Action::Stop(number)))));
        }
        Ok(Traffic {
            description,
            pairs,
            options,
            clock,
            waiting,
            listeners,
            applications,
            transfers: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            callers: BTreeMap::new(),
            agenda,
            again: Vec::new(),
            buffers: Buffers::new(),
            look_ns,
            samples: SubflowSamples::default(),
        })
    }

    /// Goes on until the end of the scenario, or until `stop`; then every connection that still stands is looked at once
    /// more.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        sleep_exactly()?;
        // As the emulator, and behind it: a program that waits for the processor leaves windows unused and reads late. Without
        // the privilege it is as all are.
        if system::schedule_fifo(FIFO_PRIORITY).is_err() {
            let _ = rustix::process::setpriority_process(None, NICE);
        }
        let end_ns = self.description.duration_ns;
        let mut ready: Vec<Event> = Vec::with_capacity(256);
        loop {
            let now_ns = self.clock.now_ns();
            if now_ns >= end_ns || stop.load(Ordering::Relaxed) {
                break;
            }
            while let Some(&Reverse((at_ns, action))) = self.agenda.peek()
                && at_ns <= now_ns
            {
                self.agenda.pop();
                self.act(at_ns, action)?;
            }
            for (number, end) in std::mem::take(&mut self.again) {
                self.turn(number, end);
            }
            let next_ns = self.agenda.peek().map_or(end_ns, |&Reverse((at_ns, _))| at_ns.min(end_ns));
            let wait_ns = if self.again.is_empty() { next_ns.saturating_sub(self.clock.now_ns()) } else { 0 };
            ready.clear();
            let wait = timespec(wait_ns.min(LONGEST_WAIT_NS));
            match epoll::wait(&self.waiting, rustix::buffer::spare_capacity(&mut ready), Some(&wait)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &ready {
                self.ready(event.data.u64(), event.flags)?;
            }
            self.free.append(&mut self.freed);
        }
        let now_ns = self.clock.now_ns().min(end_ns);
        self.look(now_ns);
        Ok(())
    }

    fn act(&mut self, at_ns: u64, action: Action) -> io::Result<()> {
        match action {
            Action::Look => {
                self.look(at_ns);
                if let Some(sample_ns) = self.description.sample_ns
                    && at_ns.is_multiple_of(sample_ns)
                {
                    sampling::sample(self, at_ns, sample_ns);
                }
                self.agenda.push(Reverse((at_ns + self.look_ns, Action::Look)));
            }
            Action::WarmUpEnds => {
                self.look(at_ns);
                self.transfers.iter_mut().flatten().for_each(Transfer::warm_up_ends);
                for application in &mut self.applications {
                    application.warm_bytes = application.bytes_read;
                    application.tallies.iter_mut().for_each(Tally::warm_up_ends);
                }
            }
            Action::Start(number) => self.start(number, at_ns)?,
            Action::Arrive(number) => {
                if !self.applications[number].stopped {
                    self.arrive(number, at_ns)?;
                }
            }
            Action::Step(number) => self.step(number),
            Action::Stop(number) => self.stop(number),
        }
        Ok(())
    }

    fn start(&mut self, number: usize, at_ns: u64) -> io::Result<()> {
        let application = &self.applications[number];
        match application.content {
            Content::Bulk => self.open(number, u64::MAX, true, at_ns),
            Content::File { size_bytes } | Content::Requests { size_bytes, .. } => {
                self.open(number, size_bytes, false, at_ns)
            }
            Content::Rate { .. } => self.open(number, application.step_bytes, true, at_ns),
            Content::Flows { .. } => {
                let first_ns = application.arrivals.as_ref().map_or(u64::MAX, |arrivals| arrivals.next_ns());
                self.agenda.push(Reverse((first_ns, Action::Arrive(number))));
                Ok(())
            }
        }
    }

    /// The next flow comes.
    fn arrive(&mut self, number: usize, at_ns: u64) -> io::Result<()> {
        let Some(arrivals) = &mut self.applications[number].arrivals else { return Ok(()) };
        let size_bytes = arrivals.take();
        self.agenda.push(Reverse((arrivals.next_ns(), Action::Arrive(number))));
        self.open(number, size_bytes, false, at_ns)
    }

    fn open(&mut self, number: usize, offered: u64, open_ended: bool, at_ns: u64) -> io::Result<()> {
        if self.transfers.len() - self.free.len() >= TRANSFER_LIMIT {
            return Err(io::Error::other(format!("more than {TRANSFER_LIMIT} connections at one time")));
        }
        let application = &mut self.applications[number];
        let (kind, sender) = (application.kind, application.sender);
        let (pair, options) = (&self.pairs[kind], &self.options[kind]);
        namespace::enter(pair.client)?;
        let (socket, local) = socket::call(pair.hosts.client, pair.hosts.server, options)?;
        if sender == CLIENT {
            socket::bound_unsent(&socket)?;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.transfers.push(None);
            self.transfers.len() - 1
        });
        epoll::add(&self.waiting, &socket, token(place, CLIENT), interest())?;
        let mut transfer = Transfer::new(number, kind, options.mptcp, sender, at_ns, socket);
        (transfer.offered, transfer.open_ended) = (offered, open_ended);
        transfer.measured = at_ns >= self.description.warmup_ns;
        application.done.begun += u64::from(transfer.measured);
        application.transfers.push(place);
        self.transfers[place] = Some(transfer);
        self.callers.insert((kind, local), place);
        Ok(())
    }

    fn ready(&mut self, token: u64, flags: EventFlags) -> io::Result<()> {
        if token >= FIRST_LISTENER {
            return self.accept((token - FIRST_LISTENER) as usize);
        }
        let (number, end) = ((token / 2) as usize, (token % 2) as usize);
        let Some(transfer) = &mut self.transfers[number] else { return Ok(()) };
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            let error = transfer.ends[end].as_ref().map(sockopt::socket_error);
            if let Some(Ok(Err(error))) = error {
                self.fail(number, &error.into());
                return Ok(());
            }
        }
        if flags.contains(EventFlags::OUT) && !transfer.writable[end] {
            transfer.writable[end] = true;
            self.stands(number);
        }
        self.turn(number, end);
        Ok(())
    }

    /// A rate begins when its connection stands.
    fn stands(&mut self, number: usize) {
        let Some(transfer) = &self.transfers[number] else { return };
        let application = &mut self.applications[transfer.application];
        if matches!(application.content, Content::Rate { .. })
            && application.steps.is_none()
            && transfer.writable[transfer.sender]
        {
            application.steps = Some((self.clock.now_ns(), 0));
            self.agenda
                .extend(application.next_step_ns().map(|at_ns| Reverse((at_ns, Action::Step(transfer.application)))));
        }
    }

    fn step(&mut self, number: usize) {
        let application = &mut self.applications[number];
        let (Some(&place), false) = (application.transfers.first(), application.stopped) else { return };
        let Some((_, steps)) = &mut application.steps else { return };
        *steps += 1;
        let bytes = application.step_bytes;
        self.agenda.extend(application.next_step_ns().map(|at_ns| Reverse((at_ns, Action::Step(number)))));
        if let Some(transfer) = &mut self.transfers[place] {
            transfer.offered += bytes;
            let sender = transfer.sender;
            self.turn(place, sender);
        }
    }

    fn stop(&mut self, number: usize) {
        let application = &mut self.applications[number];
        application.stopped = true;
        let content = application.content;
        for place in application.transfers.clone() {
            let Some(transfer) = &mut self.transfers[place] else { continue };
            match content {
                Content::Bulk => transfer.offered = transfer.written,
                Content::File { .. } | Content::Requests { .. } => {
                    if transfer.completion_ns.is_none() {
                        self.cut(place);
                    }
                    continue;
                }
                Content::Rate { .. } => {}
                Content::Flows { .. } => continue,
            }
            transfer.open_ended = false;
            self.settle(place);
        }
        self.end_of_repeating(number);
    }

    fn accept(&mut self, kind: usize) -> io::Result<()> {
        while let Some((socket, peer)) = socket::accept(&self.listeners[kind])? {
            let Some(number) = self.callers.remove(&(kind, peer)) else { continue };
            let Some(transfer) = &mut self.transfers[number] else { continue };
            if transfer.sender == SERVER {
                socket::check_congestion(&socket, &self.options[kind].congestion)?;
                // A connection that fell back is one of TCP and takes it too.
                socket::bound_unsent(&socket)?;
            }
            epoll::add(&self.waiting, &socket, token(number, SERVER), interest())?;
            transfer.ends[SERVER] = Some(socket);
            transfer.writable[SERVER] = true;
            self.stands(number);
            self.turn(number, SERVER);
        }
        Ok(())
    }

    /// An end writes or reads what it can.
    fn turn(&mut self, number: usize, end: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        let left = if transfer.sender == end {
            transfer.write(&self.buffers)
        } else {
            let clock = self.clock;
            transfer.read(&mut self.buffers, || clock.now_ns())
        };
        match left {
            Ok(Left::More) => self.again.push((number, end)),
            Ok(Left::Nothing) => {}
            Err(error) => {
                self.fail(number, &error);
                return;
            }
        }
        if end != self.transfers[number].as_ref().map_or(end, |transfer| transfer.sender) {
            self.settle(number);
        }
    }

    /// Ends a transfer that has all its bytes.
    fn settle(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        if !transfer.is_whole() || transfer.completion_ns.is_some() || transfer.ends[SERVER].is_none() {
            return;
        }
        let now_ns = self.clock.now_ns();
        // What cannot be looked at any more stays as it was last seen.
        let _ = transfer.measure(now_ns, self.pairs[transfer.kind].hosts);
        transfer.completion_ns = Some(transfer.last_read_ns);
        transfer.ends = [None, None];
        self.over(number);
    }

    /// Ends a transfer at once.
    fn cut(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        let now_ns = self.clock.now_ns();
        let _ = transfer.measure(now_ns, self.pairs[transfer.kind].hosts);
        for socket in transfer.ends.iter_mut().filter_map(Option::take) {
            socket::abort(socket);
        }
        self.over(number);
    }

    fn fail(&mut self, number: usize, error: &io::Error) {
        if let Some(transfer) = &self.transfers[number] {
            self.applications[transfer.application].failure.get_or_insert_with(|| error.to_string());
        }
        self.cut(number);
    }

    /// A transfer's sockets are closed: what repeats takes its counts and goes on.
    fn over(&mut self, number: usize) {
        self.callers.retain(|_, &mut place| place != number);
        let Some(transfer) = &self.transfers[number] else { return };
        let (which, now_ns) = (transfer.application, self.clock.now_ns());
        let application = &mut self.applications[which];
        application.last_read_ns = application.last_read_ns.max(transfer.last_read_ns);
        if !application.repeats() {
            application.completion_ns = transfer.completion_ns;
            return;
        }
        for track in &transfer.tracks {
            application.add(Tally::of(track));
        }
        application.bytes_read += transfer.read;
        application.warm_bytes += transfer.warm_read;
        application.fallback |= transfer.fallback;
        if let (Some(at_ns), true) = (transfer.completion_ns, transfer.measured) {
            application.done.start_s.push(transfer.start_ns as f64 / 1e9);
            application.done.size_bytes.push(transfer.offered);
            application.done.completion_s.push((at_ns - transfer.start_ns) as f64 / 1e9);
        }
        application.transfers.retain(|&place| place != number);
        self.transfers[number] = None;
        self.freed.push(number);
        self.end_of_repeating(which);
        if let (Content::Requests { .. }, false) = (self.applications[which].content, self.applications[which].stopped)
        {
            // By the agenda, so that a request that fails at once does not call the next from within itself.
            self.agenda.push(Reverse((now_ns, Action::Start(which))));
        }
    }

    fn end_of_repeating(&mut self, number: usize) {
        let application = &mut self.applications[number];
        if application.repeats() && application.stopped && application.transfers.is_empty() {
            application.completion_ns = Some(application.last_read_ns);
        }
    }

    /// Looks at every connection that stands.
    fn look(&mut self, now_ns: u64) {
        for transfer in self.transfers.iter_mut().flatten() {
            let hosts = self.pairs[transfer.kind].hosts;
            // One that is being torn down by the kernel does not answer; its own event tells.
            let _ = transfer.measure(now_ns, hosts);
        }
    }
}

fn token(number: usize, end: usize) -> EventData {
    EventData::new_u64((2 * number + end) as u64)
}

fn interest() -> EventFlags {
    EventFlags::IN | EventFlags::OUT | EventFlags::ET
}
