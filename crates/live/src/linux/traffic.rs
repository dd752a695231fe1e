//! The programs of all hosts: one thread opens, writes, reads and looks at every connection of a scenario, by the machine's
//! clock. A socket stays in the namespace where it was made, so that one thread serves them all.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use application::outcome::SubflowSamples;
use application::{Action, Amount, CLIENT, Content, News, Runtime, SERVER, Stream};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt;
use scenario::description::{Connection, Description, Protocol};

use super::plan::Hosts;
use super::sampling::{self, Sampled};
use super::socket::{self, Options};
use super::transfer::Transfer;
use super::turn::{Buffers, Left};
use crate::clock::{Clock, sleep_exactly, timespec};
use crate::emulator::{FlowKey, Translations};
use crate::engine::agenda::{self, Agenda, Due};
use crate::engine::kernel_step_bytes;
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
    /// Clients behind NATs.
    translations: Translations,
    waiting: OwnedFd,
    listeners: Vec<OwnedFd>,
    /// Of each kind, when its paths end.
    path_ends: Vec<Vec<u64>>,
    pub runtime: Runtime<FlowKey>,
    pub transfers: Vec<Option<Transfer>>,
    free: Vec<usize>,
    /// Places that are free when the events at hand are through.
    freed: Vec<usize>,
    /// Who called and was not accepted yet, by kind and the client's end.
    callers: BTreeMap<(usize, SocketAddr), usize>,
    agenda: Agenda,
    /// Ends that used their turn up.
    again: Vec<(usize, usize)>,
    buffers: Buffers,
    look_ns: u64,
    pub samples: SubflowSamples,
}

impl<'p> Traffic<'p> {
    /// All servers listen; nobody has called yet.
    pub fn new(
        description: &'p Description,
        pairs: &'p [Pair<'p>],
        clock: Clock,
        translations: Translations,
    ) -> io::Result<Traffic<'p>> {
        let waiting = epoll::create(CreateFlags::CLOEXEC)?;
        let mut options = Vec::new();
        let mut listeners = Vec::new();
        for (kind, (connection, pair)) in description.connections.iter().zip(pairs).enumerate() {
            let of_kind = Options {
                mptcp: connection.protocol == Protocol::Mptcp,
                congestion: pair.hosts.congestion.clone(),
                receive_buffer_bytes: connection.receive_buffer_bytes,
                no_delay: connection.application.is_dialogue(),
            };
            let listener = socket::listen(pair.server, pair.hosts.server, &of_kind)?;
            let token = EventData::new_u64(FIRST_LISTENER + kind as u64);
            epoll::add(&waiting, &listener, token, EventFlags::IN)?;
            options.push(of_kind);
            listeners.push(listener);
        }
        let kinds = description.connections.iter().map(Connection::kind);
        let runtime = Runtime::new(description.seed, description.warmup_ns, kinds);
        let look_ns = sampling::interval_ns(description.sample_ns, runtime.applications.len());
        let mut agenda = Agenda::new(description, &runtime);
        agenda.push(look_ns, Due::Look);
        Ok(Traffic {
            description,
            pairs,
            options,
            clock,
            translations,
            waiting,
            listeners,
            path_ends: description.connections.iter().map(|each| each.path_ends_ns(description)).collect(),
            runtime,
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
            while let Some((at_ns, due)) = self.agenda.take(now_ns) {
                self.act(at_ns, due);
                self.carry_out(at_ns)?;
            }
            self.carry_out(now_ns)?;
            for (number, end) in std::mem::take(&mut self.again) {
                self.turn(number, end);
            }
            let idle = self.again.is_empty() && self.runtime.actions_waiting() == 0;
            let next_ns = self.agenda.next_ns().min(end_ns);
            let wait_ns = if idle { next_ns.saturating_sub(self.clock.now_ns()) } else { 0 };
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

    fn act(&mut self, at_ns: u64, due: Due) {
        match due {
            Due::Look | Due::Sample => {
                self.look(at_ns);
                if let Some(sample_ns) = self.description.sample_ns
                    && at_ns.is_multiple_of(sample_ns)
                {
                    let Traffic { runtime, transfers, samples, .. } = self;
                    sampling::sample(runtime, transfers, samples, (at_ns, sample_ns));
                }
                self.agenda.push(at_ns + self.look_ns, Due::Look);
            }
            Due::WarmUpEnds => {
                self.look(at_ns);
                self.transfers.iter_mut().flatten().for_each(|transfer| transfer.warm_up_ends(at_ns));
                self.runtime.warm_up_ends();
            }
            Due::Change(_) | Due::Start(_) | Due::Wake(_) | Due::Stop(_) => {
                let transfers = &self.transfers;
                agenda::tell(&mut self.runtime, due, |place| Some(&transfers[place as usize].as_ref()?.stream));
            }
        }
    }

    /// Does what applications want done by now. What they want because of that has its turn later, so that a connection
    /// that fails at once does not open another for ever.
    fn carry_out(&mut self, at_ns: u64) -> io::Result<()> {
        for _ in 0..self.runtime.actions_waiting() {
            match self.runtime.next_action() {
                Some(Action::Open { application, amount }) => self.open(application, amount, at_ns)?,
                Some(Action::Wake { application, at_ns }) => self.agenda.push(at_ns, Due::Wake(application)),
                Some(Action::Write { transfer }) => {
                    if let Some(writing) = &mut self.transfers[transfer as usize] {
                        writing.stream.offer_step();
                        let sender = writing.stream.sender;
                        self.turn(transfer as usize, sender);
                    }
                }
                Some(Action::Ask { transfer, question_bytes, answer_bytes }) => {
                    if let Some(asking) = &mut self.transfers[transfer as usize] {
                        asking.stream.ask(question_bytes, answer_bytes);
                        self.turn(transfer as usize, CLIENT);
                        // A greeting is due at once at the other end.
                        self.turn(transfer as usize, SERVER);
                    }
                }
                Some(Action::Stop { transfer }) => self.stop(transfer as usize),
                None => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, number: u32, amount: Amount, at_ns: u64) -> io::Result<()> {
        if self.transfers.len() - self.free.len() >= TRANSFER_LIMIT {
            return Err(io::Error::other(format!("more than {TRANSFER_LIMIT} connections at one time")));
        }
        let application = &self.runtime.applications[number as usize];
        let (kind, sender) = (application.kind as usize, application.sender);
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
        let stream = Stream::new(at_ns, amount, sender);
        self.transfers[place] = Some(Transfer::new(number, kind, options.mptcp, stream, socket));
        self.runtime.opened(at_ns, number, place as u32);
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

    /// The sender may write when its end of the connection stands.
    fn stands(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        let now_ns = self.clock.now_ns();
        if transfer.writable[transfer.stream.sender] && !transfer.stream.is_established() {
            transfer.stream.establish(now_ns, kernel_step_bytes(&self.description.connections[transfer.kind]));
            self.hear(number);
        }
        let Some(transfer) = &mut self.transfers[number] else { return };
        if transfer.writable[CLIENT] && transfer.stream.is_dialogue() && transfer.stream.established_ns.is_none() {
            transfer.stream.establish_asker(now_ns);
            self.hear(number);
        }
    }

    /// What happened to a transfer has consequences.
    fn hear(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        let (now_ns, news) = (self.clock.now_ns(), transfer.stream.take_news());
        if news.has(News::COMPLETED) {
            transfer.completed(now_ns);
        }
        self.runtime.hear(now_ns, transfer.application, (number as u32, &transfer.stream), news);
    }

    /// The sender of a transfer writes nothing more. What has a size is cut off.
    fn stop(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        transfer.stream.stop();
        let content = &self.runtime.applications[transfer.application as usize].content;
        if !matches!(content, Content::File { .. } | Content::Requests { .. }) {
            self.settle(number);
        } else if transfer.stream.completion_ns.is_none() {
            self.cut(number);
        }
    }

    fn accept(&mut self, kind: usize) -> io::Result<()> {
        while let Some((socket, peer)) = socket::accept(&self.listeners[kind])? {
            let Some(number) = self.callers.remove(&(kind, self.translations.inside(peer))) else { continue };
            let Some(transfer) = &mut self.transfers[number] else { continue };
            if transfer.stream.sender == SERVER {
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
        let sender = transfer.stream.sender;
        let (clock, buffers) = (self.clock, &mut self.buffers);
        let dialogue = transfer.stream.is_dialogue();
        let left = match (sender == end, dialogue) {
            (true, false) => transfer.write(buffers),
            (true, true) => transfer.hear(buffers).and_then(|()| transfer.write(buffers)),
            (false, false) => transfer.read(buffers, || clock.now_ns()),
            (false, true) => transfer.ask(buffers).and_then(|()| transfer.read(buffers, || clock.now_ns())),
        };
        match left {
            Ok(Left::More) => self.again.push((number, end)),
            Ok(Left::Nothing) => {}
            Err(error) => {
                self.fail(number, &error);
                return;
            }
        }
        if dialogue {
            self.hear(number);
        }
        if end != sender {
            self.settle(number);
        }
    }

    /// Ends a transfer that has all its bytes.
    fn settle(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        if !transfer.stream.is_all_read() || transfer.stream.ended || transfer.ends[SERVER].is_none() {
            return;
        }
        let now_ns = self.clock.now_ns();
        // What cannot be looked at any more stays as it was last seen.
        let _ = transfer.measure(now_ns, self.pairs[transfer.kind].hosts, &self.translations);
        transfer.stream.end(transfer.stream.last_read_ns);
        transfer.ends = [None, None];
        self.over(number);
    }

    /// Ends a transfer at once.
    fn cut(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        if transfer.stream.ended {
            return;
        }
        let now_ns = self.clock.now_ns();
        let _ = transfer.measure(now_ns, self.pairs[transfer.kind].hosts, &self.translations);
        for socket in transfer.ends.iter_mut().filter_map(Option::take) {
            socket::abort(socket);
        }
        transfer.stream.fail(transfer.stream.sender);
        self.over(number);
    }

    fn fail(&mut self, number: usize, error: &io::Error) {
        if let Some(transfer) = &self.transfers[number] {
            let application = &mut self.runtime.applications[transfer.application as usize];
            application.record.failure.get_or_insert_with(|| error.to_string());
        }
        self.cut(number);
    }

    /// A transfer's sockets are closed: what repeats takes its counts and goes on.
    fn over(&mut self, number: usize) {
        self.callers.retain(|_, &mut place| place != number);
        self.hear(number);
        let Some(transfer) = &self.transfers[number] else { return };
        let application = &mut self.runtime.applications[transfer.application as usize];
        if !application.content.repeats() {
            return;
        }
        let tallies = transfer.tallies(self.description.warmup_ns, self.clock.now_ns());
        application.record.add(&transfer.stream, tallies, None);
        application.record.fallback |= transfer.fallback;
        application.transfers.retain(|&place| place as usize != number);
        self.transfers[number] = None;
        self.freed.push(number);
    }

    /// Looks at every connection that stands.
    fn look(&mut self, now_ns: u64) {
        for transfer in self.transfers.iter_mut().flatten() {
            let hosts = self.pairs[transfer.kind].hosts;
            // One that is being torn down by the kernel does not answer; its own event tells.
            let _ = transfer.measure(now_ns, hosts, &self.translations);
            let start_ns = transfer.stream.start_ns;
            if let Some(&end_ns) = self.path_ends[transfer.kind].iter().find(|&&at_ns| at_ns > start_ns) {
                transfer.notice(now_ns, end_ns);
            }
        }
    }
}

fn token(number: usize, end: usize) -> EventData {
    EventData::new_u64((2 * number + end) as u64)
}

fn interest() -> EventFlags {
    EventFlags::IN | EventFlags::OUT | EventFlags::ET
}
