//! One end of every connection of a scenario, by this machine's clock. The client's end decides what happens, as the
//! applications say; the server's does what openings ask for.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use application::outcome::SubflowSamples;
use application::{Action, Amount, CLIENT, Content, News, Runtime, SERVER, Stream};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt;
use scenario::description::{Connection, Description, Protocol};

use super::callers::{Callers, Introduced};
use super::half::Half;
use super::opening::Opening;
use super::plan::{End, Plan};
use crate::clock::{Clock, sleep_exactly, timespec};
use crate::emulator::FlowKey;
use crate::engine::agenda::{self, Agenda, Due};
use crate::engine::kernel_step_bytes;
use crate::linux::sampling::{self, Sampled};
use crate::linux::socket::{self, Options};
use crate::linux::turn::{Buffers, Left};

/// How long a wait is at most, so that the order to stop is heard.
const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Tokens from here on are callers, by number; below, transfers.
const FIRST_CALLER: u64 = 1 << 62;
/// Tokens from here on are listening sockets, by kind.
const FIRST_LISTENER: u64 = 1 << 63;
/// How many connections one run may have at a time.
const TRANSFER_LIMIT: usize = 20_000;

/// This machine's part of a run.
pub struct Traffic<'p> {
    plan: &'p Plan,
    options: Vec<Options>,
    clock: Clock,
    waiting: OwnedFd,
    listeners: Vec<OwnedFd>,
    callers: Callers,
    /// Callers without the secret, or with an opening that the scenario has no place for.
    pub refused: u64,
    pub runtime: Runtime<FlowKey>,
    pub transfers: Vec<Option<Half>>,
    free: Vec<usize>,
    /// Places that are free when the events at hand are through.
    freed: Vec<usize>,
    agenda: Agenda,
    /// Those that used their turn up.
    again: Vec<usize>,
    buffers: Buffers,
    look_ns: u64,
    pub samples: SubflowSamples,
}

impl<'p> Traffic<'p> {
    /// The server listens; nobody has called yet.
    pub fn new(plan: &'p Plan, clock: Clock) -> io::Result<Traffic<'p>> {
        let description = &plan.description;
        let waiting = epoll::create(CreateFlags::CLOEXEC)?;
        let mut options = Vec::new();
        let mut listeners = Vec::new();
        for (kind, (connection, host)) in description.connections.iter().zip(&plan.hosts).enumerate() {
            let of_kind = Options {
                mptcp: connection.protocol == Protocol::Mptcp,
                congestion: host.congestion.clone(),
                receive_buffer_bytes: connection.receive_buffer_bytes,
                no_delay: connection.application.is_dialogue(),
            };
            if plan.end == End::Server {
                let listener = socket::listen_here(host.server, &of_kind)?;
                let token = EventData::new_u64(FIRST_LISTENER + kind as u64);
                epoll::add(&waiting, &listener, token, EventFlags::IN)?;
                listeners.push(listener);
            }
            options.push(of_kind);
        }
        let kinds = description.connections.iter().map(Connection::kind);
        let runtime = Runtime::new(description.seed, description.warmup_ns, kinds);
        let look_ns = sampling::interval_ns(description.sample_ns, runtime.applications.len());
        let mut agenda = match plan.end {
            End::Client => Agenda::new(description, &runtime),
            End::Server => Agenda::measuring(description),
        };
        agenda.push(look_ns, Due::Look);
        Ok(Traffic {
            plan,
            options,
            clock,
            waiting,
            listeners,
            callers: Callers::default(),
            refused: 0,
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

    fn description(&self) -> &'p Description {
        &self.plan.description
    }

    /// Goes on until the end of the scenario, or until `stop`; then every connection that still stands is looked at once
    /// more.
    pub fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        sleep_exactly()?;
        let end_ns = self.description().duration_ns;
        let mut ready: Vec<Event> = Vec::with_capacity(256);
        loop {
            let now_ns = self.clock.now_ns();
            if now_ns >= end_ns || stop.load(Ordering::Relaxed) {
                break;
            }
            if self.clock.has_begun() {
                while let Some((at_ns, due)) = self.agenda.take(now_ns) {
                    self.act(at_ns, due);
                    self.carry_out(at_ns)?;
                }
                self.carry_out(now_ns)?;
            }
            for number in std::mem::take(&mut self.again) {
                self.turn(number);
            }
            let idle = self.again.is_empty() && self.runtime.actions_waiting() == 0;
            let next_ns = self.agenda.next_ns().min(end_ns);
            let wait_ns = match (idle, self.clock.has_begun()) {
                (true, true) => next_ns.saturating_sub(self.clock.now_ns()),
                (true, false) => self.clock.until_zero_ns(),
                _ => 0,
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
                if let Some(sample_ns) = self.description().sample_ns
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
                Some(Action::Write { transfer }) => self.change(transfer, |half| half.stream.offer_step()),
                Some(Action::Ask { transfer, question_bytes, answer_bytes }) => {
                    self.change(transfer, |half| half.ask(question_bytes, answer_bytes));
                }
                Some(Action::Stop { transfer }) => self.stop(transfer),
                None => {}
            }
        }
        Ok(())
    }

    fn change(&mut self, transfer: u32, what: impl FnOnce(&mut Half)) {
        if let Some(half) = &mut self.transfers[transfer as usize] {
            what(half);
            self.turn(transfer as usize);
        }
    }

    fn has_room(&self) -> bool {
        self.transfers.len() - self.free.len() < TRANSFER_LIMIT
    }

    fn place(&mut self) -> io::Result<usize> {
        if !self.has_room() {
            return Err(io::Error::other(format!("more than {TRANSFER_LIMIT} connections at one time")));
        }
        Ok(self.free.pop().unwrap_or_else(|| {
            self.transfers.push(None);
            self.transfers.len() - 1
        }))
    }

    /// The client opens a connection.
    fn open(&mut self, number: u32, amount: Amount, at_ns: u64) -> io::Result<()> {
        let application = &self.runtime.applications[number as usize];
        let (kind, sender) = (application.kind as usize, application.sender);
        let (host, options) = (&self.plan.hosts[kind], &self.options[kind]);
        let (socket, local) = match socket::call(host.client, host.server, options) {
            Ok(called) => called,
            // A network that cannot be reached now is a failure of this connection, not of the run.
            Err(error) => {
                let record = &mut self.runtime.applications[number as usize].record;
                record.failure.get_or_insert_with(|| error.to_string());
                return Ok(());
            }
        };
        let stream = Stream::new(at_ns, amount, sender);
        if stream.sender == CLIENT {
            socket::bound_unsent(&socket)?;
        }
        let mptcp = options.mptcp;
        let place = self.place()?;
        epoll::add(&self.waiting, &socket, token(place), interest())?;
        let opening = Opening { token: self.plan.token, application: number, amount, sender: stream.sender };
        let mut half = Half::new((number, kind), CLIENT, mptcp, stream, (socket, local));
        half.say(&opening.encode());
        self.transfers[place] = Some(half);
        self.runtime.opened(at_ns, number, place as u32);
        Ok(())
    }

    fn ready(&mut self, token: u64, flags: EventFlags) -> io::Result<()> {
        if token >= FIRST_LISTENER {
            return self.accept((token - FIRST_LISTENER) as usize);
        }
        if token >= FIRST_CALLER {
            return self.hear_caller(token - FIRST_CALLER);
        }
        let number = token as usize;
        let Some(half) = &mut self.transfers[number] else { return Ok(()) };
        if flags.intersects(EventFlags::ERR | EventFlags::HUP) {
            let error = half.socket.as_ref().map(sockopt::socket_error);
            if let Some(Ok(Err(error))) = error {
                self.fail(number, &error.into());
                return Ok(());
            }
        }
        if flags.contains(EventFlags::OUT) && !half.stands {
            self.stands(number);
        }
        self.turn(number);
        Ok(())
    }

    /// The connection stands: the sender may write, or the client ask.
    fn stands(&mut self, number: usize) {
        let now_ns = self.clock.now_ns();
        let Some(half) = &mut self.transfers[number] else { return };
        half.stands = true;
        if half.stream.is_dialogue() && self.plan.end == End::Client {
            half.stream.establish_asker(now_ns);
        } else {
            half.stream.establish(now_ns, kernel_step_bytes(&self.plan.description.connections[half.kind]));
        }
        self.hear(number);
    }

    /// What happened to a transfer has consequences: all for the client, for the server only that a rate begins.
    fn hear(&mut self, number: usize) {
        let Some(half) = &mut self.transfers[number] else { return };
        let (now_ns, news) = (self.clock.now_ns(), half.stream.take_news());
        if news.has(News::COMPLETED) {
            half.completed(now_ns);
        }
        let application = &self.runtime.applications[half.application as usize];
        if self.plan.end == End::Client || matches!(application.content, Content::Rate { .. }) {
            self.runtime.hear(now_ns, half.application, (number as u32, &half.stream), news);
        }
    }

    /// The sender of a transfer writes nothing more. What has a size is cut off.
    fn stop(&mut self, transfer: u32) {
        let Some(half) = &mut self.transfers[transfer as usize] else { return };
        let content = &self.runtime.applications[half.application as usize].content;
        if !matches!(content, Content::File { .. } | Content::Requests { .. }) {
            self.change(transfer, Half::stop);
            return;
        }
        half.stream.stop();
        if half.stream.completion_ns.is_none() {
            self.cut(transfer as usize);
        }
    }

    fn accept(&mut self, kind: usize) -> io::Result<()> {
        while let Some((socket, peer)) = socket::accept(&self.listeners[kind])? {
            let number = self.callers.add(kind, socket, peer);
            if let Some(socket) = self.callers.socket(number) {
                epoll::add(&self.waiting, socket, EventData::new_u64(FIRST_CALLER + number), EventFlags::IN)?;
            }
        }
        Ok(())
    }

    fn hear_caller(&mut self, number: u64) -> io::Result<()> {
        let Some(caller) = self.callers.hear(number) else { return Ok(()) };
        if self.is_due(&caller) {
            return self.take_in(caller);
        }
        self.refused += 1;
        Ok(())
    }

    /// Whether the scenario has a place for what a caller opens.
    fn is_due(&self, caller: &Introduced) -> bool {
        let opening = &caller.opening;
        let application = self.runtime.applications.get(opening.application as usize);
        opening.knows(&self.plan.token)
            && self.has_room()
            && application.is_some_and(|application| {
                application.kind as usize == caller.kind
                    && (opening.sender == application.sender || opening.amount == Amount::Answers)
                    && (opening.amount != Amount::Answers || application.content.is_dialogue())
                    && (opening.amount == Amount::Steps) == matches!(application.content, Content::Rate { .. })
                    && (application.content.repeats() || application.transfers.is_empty())
            })
    }

    /// The server's end of a connection begins.
    fn take_in(&mut self, caller: Introduced) -> io::Result<()> {
        let Introduced { socket, peer, kind, opening } = caller;
        let now_ns = self.clock.now_ns();
        let stream = Stream::new(now_ns, opening.amount, opening.sender);
        if stream.sender == SERVER {
            socket::check_congestion(&socket, &self.options[kind].congestion)?;
            socket::bound_unsent(&socket)?;
        }
        epoll::delete(&self.waiting, &socket)?;
        let place = self.place()?;
        epoll::add(&self.waiting, &socket, token(place), interest())?;
        let number = opening.application;
        self.transfers[place] =
            Some(Half::new((number, kind), SERVER, self.options[kind].mptcp, stream, (socket, peer)));
        self.runtime.applications[number as usize].transfers.push(place as u32);
        self.stands(place);
        self.turn(place);
        Ok(())
    }

    /// An end writes and reads what it can.
    fn turn(&mut self, number: usize) {
        let Some(half) = &mut self.transfers[number] else { return };
        let clock = self.clock;
        match half.turn(&mut self.buffers, || clock.now_ns()) {
            Ok(Some(Left::More)) => {
                self.again.push(number);
                self.hear(number);
            }
            Ok(Some(Left::Nothing)) => self.hear(number),
            Ok(None) => self.settle(number),
            Err(error) => self.fail(number, &error),
        }
    }

    /// Both ends have what they wanted.
    fn settle(&mut self, number: usize) {
        let Some(half) = &mut self.transfers[number] else { return };
        let now_ns = self.clock.now_ns();
        // What cannot be looked at any more stays as it was last seen.
        let _ = half.measure(now_ns, &self.plan.hosts[half.kind]);
        half.socket = None;
        self.over(number);
    }

    /// Ends a transfer at once.
    fn cut(&mut self, number: usize) {
        let Some(half) = &mut self.transfers[number] else { return };
        let Some(socket) = half.socket.take() else { return };
        let now_ns = self.clock.now_ns();
        half.socket = Some(socket);
        let _ = half.measure(now_ns, &self.plan.hosts[half.kind]);
        if let Some(socket) = half.socket.take() {
            socket::abort(socket);
        }
        half.stream.fail(half.stream.sender);
        self.over(number);
    }

    fn fail(&mut self, number: usize, error: &io::Error) {
        if let Some(half) = &self.transfers[number] {
            let application = &mut self.runtime.applications[half.application as usize];
            application.record.failure.get_or_insert_with(|| error.to_string());
        }
        self.cut(number);
    }

    /// A transfer's socket is closed: what repeats takes its counts and goes on.
    fn over(&mut self, number: usize) {
        self.hear(number);
        let Some(half) = &self.transfers[number] else { return };
        let application = &mut self.runtime.applications[half.application as usize];
        if !application.content.repeats() {
            return;
        }
        let tallies = half.tallies(self.plan.description.warmup_ns, self.clock.now_ns());
        application.record.add(&half.stream, tallies, None);
        application.record.fallback |= half.fallback;
        application.transfers.retain(|&place| place as usize != number);
        self.transfers[number] = None;
        self.freed.push(number);
    }

    /// Looks at every connection that stands.
    fn look(&mut self, now_ns: u64) {
        for half in self.transfers.iter_mut().flatten() {
            // One that is being torn down by the kernel does not answer; its own event tells.
            let _ = half.measure(now_ns, &self.plan.hosts[half.kind]);
        }
    }
}

fn token(number: usize) -> EventData {
    EventData::new_u64(number as u64)
}

fn interest() -> EventFlags {
    EventFlags::IN | EventFlags::OUT | EventFlags::ET
}
