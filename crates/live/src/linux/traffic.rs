//! The programs of a run in real time: one thread opens, writes, reads and measures every connection. An engine
//! implements [`Endpoint`] to say which ends it has: both, each in its namespace, or one, with the other on another
//! machine.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use application::outcome::SubflowSamples;
use application::{Action, Amount, Application, CLIENT, Content, News, Runtime, SERVER};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt;
use scenario::description::{Connection, Description, Protocol};

use super::account::Account;
use super::sampling;
use super::socket::{self, Options};
use super::turn::{Buffers, Left};
use crate::clock::{Clock, sleep_exactly, timespec};
use crate::emulator::FlowKey;
use crate::engine::agenda::{self, Agenda, Due};

/// Maximum duration of a wait, so that a request to stop is noticed.
const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Tokens from this number on are callers; lower ones are ends of transfers.
const FIRST_CALLER: u64 = 1 << 62;
/// Tokens from this number on are listening sockets, by kind.
const FIRST_LISTENER: u64 = 1 << 63;
/// Maximum number of simultaneous connections in a run.
const TRANSFER_LIMIT: usize = 20_000;

/// The part of a run's connections that is on this machine.
pub trait Endpoint: Sized {
    /// One connection.
    type Transfer: Ends;

    /// Name of the kernel's congestion control for a kind of connection.
    fn congestion(&self, kind: usize) -> &str;

    /// The listening socket of a kind, if its server is here.
    fn listen(&self, kind: usize, options: &Options) -> io::Result<Option<OwnedFd>>;

    /// The initial agenda.
    fn agenda(&self, description: &Description, runtime: &Runtime<FlowKey>) -> Agenda {
        Agenda::new(description, runtime)
    }

    /// Sets up the thread before it begins.
    fn prepare(&self) {}

    /// Whether an application here receives the events of its transfers.
    fn hears(&self, _application: &Application<FlowKey>) -> bool {
        true
    }

    /// Opens a connection for an application.
    fn open(traffic: &mut Traffic<'_, Self>, application: u32, amount: Amount, at_ns: u64) -> io::Result<()>;

    /// Handles a connection that the server of a kind has accepted.
    fn accept(traffic: &mut Traffic<'_, Self>, kind: usize, socket: OwnedFd, peer: SocketAddr) -> io::Result<()>;

    /// Handles data from a caller that is [watched](Traffic::watch_caller).
    fn hear_caller(_traffic: &mut Traffic<'_, Self>, _caller: u64) -> io::Result<()> {
        Ok(())
    }

    /// Reports that an end of a transfer may write from now on.
    fn stands(traffic: &mut Traffic<'_, Self>, number: usize);

    /// Queries the kernel about a transfer.
    fn measure(&self, transfer: &mut Self::Transfer, now_ns: u64) -> io::Result<()>;

    /// Records further observations of a transfer at each measurement.
    fn notice(&self, _transfer: &mut Self::Transfer, _now_ns: u64) {}

    /// Reports that the sockets of a transfer are closed.
    fn closed(&mut self, _number: usize) {}
}

/// The part of one connection that is on this machine.
pub trait Ends: AsRef<Account> + AsMut<Account> {
    /// The socket of an end, while it is open here.
    fn socket(&self, end: usize) -> Option<&OwnedFd>;

    /// The kernel reports that an end may write. Returns whether this is the first report.
    fn may_write(&mut self, end: usize) -> bool;

    /// The client asks a question.
    fn ask(&mut self, question_bytes: u64, answer_bytes: u64);

    /// Stops the sender.
    fn stop(&mut self);

    /// Lets an end write or read what it can.
    fn turn(&mut self, end: usize, buffers: &mut Buffers, clock: Clock) -> io::Result<Left>;

    /// Closes the open sockets after everything is done.
    fn close(&mut self);

    /// Resets the open sockets.
    fn abort(&mut self);
}

/// All connections of a run, as far as they are on this machine.
pub struct Traffic<'p, E: Endpoint> {
    pub description: &'p Description,
    pub endpoint: E,
    pub options: Vec<Options>,
    pub clock: Clock,
    waiting: OwnedFd,
    listeners: Vec<OwnedFd>,
    pub runtime: Runtime<FlowKey>,
    pub transfers: Vec<Option<E::Transfer>>,
    free: Vec<usize>,
    /// Indices that become free after the current batch of events.
    freed: Vec<usize>,
    agenda: Agenda,
    /// Ends that used up their turn.
    again: Vec<(usize, usize)>,
    buffers: Buffers,
    look_ns: u64,
    pub samples: SubflowSamples,
}

impl<'p, E: Endpoint> Traffic<'p, E> {
    /// Makes all servers here listen. No client has connected yet.
    pub fn new(description: &'p Description, endpoint: E, clock: Clock) -> io::Result<Traffic<'p, E>> {
        let waiting = epoll::create(CreateFlags::CLOEXEC)?;
        let mut options = Vec::new();
        let mut listeners = Vec::new();
        for (kind, connection) in description.connections.iter().enumerate() {
            let of_kind = Options {
                mptcp: connection.protocol == Protocol::Mptcp,
                congestion: endpoint.congestion(kind).into(),
                receive_buffer_bytes: connection.receive_buffer_bytes,
                no_delay: connection.application.is_dialogue(),
            };
            if let Some(listener) = endpoint.listen(kind, &of_kind)? {
                let token = EventData::new_u64(FIRST_LISTENER + kind as u64);
                epoll::add(&waiting, &listener, token, EventFlags::IN)?;
                listeners.push(listener);
            }
            options.push(of_kind);
        }
        let kinds = description.connections.iter().map(Connection::kind);
        let runtime = Runtime::new(description.seed, description.warmup_ns, kinds);
        let look_ns = sampling::interval_ns(description.sample_ns, runtime.applications.len());
        let mut agenda = endpoint.agenda(description, &runtime);
        agenda.push(look_ns, Due::Look);
        Ok(Traffic {
            description,
            endpoint,
            options,
            clock,
            waiting,
            listeners,
            runtime,
            transfers: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            agenda,
            again: Vec::new(),
            buffers: Buffers::new(),
            look_ns,
            samples: SubflowSamples::default(),
        })
    }

    /// Runs until the end of the scenario or until `stop`, then measures all open connections once more.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        sleep_exactly()?;
        self.endpoint.prepare();
        let end_ns = self.description.duration_ns;
        let mut ready: Vec<Event> = Vec::with_capacity(256);
        loop {
            let now_ns = self.clock.now_ns();
            if now_ns >= end_ns || stop.load(Ordering::Relaxed) {
                break;
            }
            // The clock shows 0 until then: a SYN that waits for the links would be a long round trip to its host.
            let begun = self.clock.has_begun();
            if begun {
                while let Some((at_ns, due)) = self.agenda.take(now_ns) {
                    self.act(at_ns, due);
                    self.carry_out(at_ns)?;
                }
                self.carry_out(now_ns)?;
            }
            for (number, end) in std::mem::take(&mut self.again) {
                self.turn(number, end);
            }
            let idle = self.again.is_empty() && self.runtime.actions_waiting() == 0;
            let next_ns = self.agenda.next_ns().min(end_ns);
            let wait_ns = match (idle, begun) {
                (true, true) => next_ns.saturating_sub(self.clock.now_ns()),
                (true, false) => self.clock.until_zero_ns(),
                (false, _) => 0,
            };
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
                self.transfers.iter_mut().flatten().for_each(|transfer| transfer.as_mut().warm_up_ends(at_ns));
                self.runtime.warm_up_ends();
            }
            Due::Read(number) => {
                let receiver = self.transfers[number].as_ref().map(|transfer| transfer.as_ref().stream.receiver());
                receiver.into_iter().for_each(|receiver| self.turn(number, receiver));
            }
            Due::Change(_) | Due::Start(_) | Due::Wake(_) | Due::Stop(_) => {
                let transfers = &self.transfers;
                let stream = |place: u32| Some(&transfers[place as usize].as_ref()?.as_ref().stream);
                agenda::tell(&mut self.runtime, due, stream);
            }
        }
    }

    /// Performs the actions that applications have asked for so far. Actions they ask for in response are performed
    /// later, so that a connection that fails at once is not reopened forever.
    fn carry_out(&mut self, at_ns: u64) -> io::Result<()> {
        for _ in 0..self.runtime.actions_waiting() {
            match self.runtime.next_action() {
                Some(Action::Open { application, amount }) => E::open(self, application, amount, at_ns)?,
                Some(Action::Wake { application, at_ns }) => self.agenda.push(at_ns, Due::Wake(application)),
                Some(Action::Write { transfer }) => {
                    if let Some(writing) = &mut self.transfers[transfer as usize] {
                        let stream = &mut writing.as_mut().stream;
                        stream.offer_step();
                        let sender = stream.sender;
                        self.turn(transfer as usize, sender);
                    }
                }
                Some(Action::Ask { transfer, question_bytes, answer_bytes }) => {
                    if let Some(asking) = &mut self.transfers[transfer as usize] {
                        asking.ask(question_bytes, answer_bytes);
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

    /// Whether one more connection may be opened.
    pub fn has_room(&self) -> bool {
        self.transfers.len() - self.free.len() < TRANSFER_LIMIT
    }

    /// A free index among the transfers.
    pub fn place(&mut self) -> io::Result<usize> {
        if !self.has_room() {
            return Err(io::Error::other(format!("more than {TRANSFER_LIMIT} connections at one time")));
        }
        Ok(self.free.pop().unwrap_or_else(|| {
            self.transfers.push(None);
            self.transfers.len() - 1
        }))
    }

    /// Registers an end of a transfer for events.
    pub fn watch(&self, socket: &OwnedFd, number: usize, end: usize) -> io::Result<()> {
        let token = EventData::new_u64((2 * number + end) as u64);
        Ok(epoll::add(&self.waiting, socket, token, EventFlags::IN | EventFlags::OUT | EventFlags::ET)?)
    }

    /// Registers a caller that is not a transfer yet for events.
    pub fn watch_caller(&self, socket: &OwnedFd, caller: u64) -> io::Result<()> {
        Ok(epoll::add(&self.waiting, socket, EventData::new_u64(FIRST_CALLER + caller), EventFlags::IN)?)
    }

    /// Unregisters a caller.
    pub fn leave_caller(&self, socket: &OwnedFd) -> io::Result<()> {
        Ok(epoll::delete(&self.waiting, socket)?)
    }

    fn ready(&mut self, token: u64, flags: EventFlags) -> io::Result<()> {
        if token >= FIRST_LISTENER {
            let kind = (token - FIRST_LISTENER) as usize;
            while let Some((socket, peer)) = socket::accept(&self.listeners[kind])? {
                E::accept(self, kind, socket, peer)?;
            }
            return Ok(());
        }
        if token >= FIRST_CALLER {
            return E::hear_caller(self, token - FIRST_CALLER);
        }
        let (number, end) = ((token / 2) as usize, (token % 2) as usize);
        let Some(transfer) = &mut self.transfers[number] else { return Ok(()) };
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            let error = transfer.socket(end).map(sockopt::socket_error);
            if let Some(Ok(Err(error))) = error {
                self.fail(number, &error.into());
                return Ok(());
            }
        }
        if flags.contains(EventFlags::OUT) && transfer.may_write(end) {
            E::stands(self, number);
        }
        self.turn(number, end);
        Ok(())
    }

    /// Reports the events of a transfer to its application.
    pub fn take_news(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        let (now_ns, account) = (self.clock.now_ns(), transfer.as_mut());
        let news = account.stream.take_news();
        if news.has(News::COMPLETED) {
            account.completed(now_ns);
        }
        if self.endpoint.hears(&self.runtime.applications[account.application as usize]) {
            self.runtime.take_news(now_ns, account.application, (number as u32, &account.stream), news);
        }
    }

    /// Stops the sender of a transfer. A transfer of a given size is cut off.
    fn stop(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        transfer.stop();
        let account = transfer.as_ref();
        let content = &self.runtime.applications[account.application as usize].content;
        if !matches!(content, Content::File { .. } | Content::Requests { .. }) {
            let receiver = account.stream.receiver();
            self.turn(number, receiver);
        } else if account.stream.completion_ns.is_none() {
            self.cut(number);
        }
    }

    /// Lets an end write or read what it can.
    pub fn turn(&mut self, number: usize, end: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        let dialogue = transfer.as_ref().stream.is_dialogue();
        match transfer.turn(end, &mut self.buffers, self.clock) {
            Ok(left) => {
                match left {
                    Left::More => self.again.push((number, end)),
                    Left::Until(at_ns) => self.agenda.push(at_ns, Due::Read(number)),
                    Left::Nothing | Left::Over => {}
                }
                if left != Left::Over || dialogue {
                    self.take_news(number);
                }
                if left == Left::Over {
                    self.settle(number);
                }
            }
            Err(error) => self.fail(number, &error),
        }
    }

    /// Closes a transfer that is done.
    fn settle(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        // If it can no longer be measured, the last measurement remains.
        let _ = self.endpoint.measure(transfer, self.clock.now_ns());
        transfer.close();
        self.over(number);
    }

    /// Aborts a transfer.
    fn cut(&mut self, number: usize) {
        let Some(transfer) = &mut self.transfers[number] else { return };
        if transfer.socket(CLIENT).is_none() {
            return;
        }
        let _ = self.endpoint.measure(transfer, self.clock.now_ns());
        transfer.abort();
        let stream = &mut transfer.as_mut().stream;
        stream.abandon(stream.sender);
        self.over(number);
    }

    fn fail(&mut self, number: usize, error: &io::Error) {
        if let Some(transfer) = &mut self.transfers[number] {
            let application = &mut self.runtime.applications[transfer.as_ref().application as usize];
            application.record.failure.get_or_insert_with(|| error.to_string());
            let (now_ns, stream) = (self.clock.now_ns(), &mut transfer.as_mut().stream);
            stream.fail(now_ns, stream.sender, "the kernel reports an error");
        }
        self.cut(number);
    }

    /// Handles the closing of a transfer's sockets: an application that repeats takes over its counts and continues.
    fn over(&mut self, number: usize) {
        self.endpoint.closed(number);
        self.take_news(number);
        let Some(transfer) = &self.transfers[number] else { return };
        let account = transfer.as_ref();
        let application = &mut self.runtime.applications[account.application as usize];
        if !application.content.repeats() {
            return;
        }
        let tallies = account.tallies(self.description.warmup_ns, self.clock.now_ns());
        application.record.add(&account.stream, tallies, None);
        application.record.fallback |= account.fallback;
        application.transfers.retain(|&place| place as usize != number);
        self.transfers[number] = None;
        self.freed.push(number);
    }

    /// Measures all open connections.
    fn look(&mut self, now_ns: u64) {
        for transfer in self.transfers.iter_mut().flatten() {
            // A connection that the kernel is tearing down does not answer; its own event reports that.
            let _ = self.endpoint.measure(transfer, now_ns);
            self.endpoint.notice(transfer, now_ns);
        }
    }
}
