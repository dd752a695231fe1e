//! A host that is the kernel's: sockets in a network namespace instead of our own stack. Its subflows are polled
//! periodically; everything else is as for our own.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use application::CLIENT;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use scenario::description::{Description, Protocol};
use wire::{Payload, Span};

use super::kernel_end::End;
use super::plan::Plan;
use super::transfer::Transfer;
use crate::emulator::Translations;
use crate::linux::info;
use crate::linux::socket::{self, Options};
use crate::namespace;

/// Interval between measurements of subflows.
pub const LOOK_NS: u64 = 20_000_000;
/// Tokens from this number on are listening sockets, by kind; lower ones are transfers.
const FIRST_LISTENER: u64 = 1 << 63;
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes read per turn.
const TURN_BYTES: usize = 1 << 20;

/// The kernel as a host.
pub struct Kernel {
    /// Which of the two hosts it is.
    pub side: usize,
    namespace: OwnedFd,
    options: Vec<Options>,
    listeners: Vec<OwnedFd>,
    waiting: OwnedFd,
    /// The clients behind NATs.
    translations: Translations,
    /// Transfers that used up their turn.
    pub again: Vec<usize>,
    buffer: Box<[u8]>,
}

/// An event on the kernel's side.
pub enum Happened {
    /// A client has connected: its own address and port, and its socket.
    Called(SocketAddr, OwnedFd),
    /// A transfer's socket is ready.
    Ready(usize, EventFlags),
}

impl Kernel {
    /// Sets up the host `side`; a server listens.
    pub fn new(
        plan: &Plan,
        side: usize,
        namespace: OwnedFd,
        congestion: &[String],
        translations: Translations,
    ) -> io::Result<Kernel> {
        let description: &Description = &plan.description;
        let waiting = epoll::create(CreateFlags::CLOEXEC)?;
        let (mut options, mut listeners) = (Vec::new(), Vec::new());
        for (kind, (connection, congestion)) in description.connections.iter().zip(congestion).enumerate() {
            let of_kind = Options {
                mptcp: connection.protocol == Protocol::Mptcp,
                congestion: congestion.clone(),
                receive_buffer_bytes: connection.receive_buffer_bytes,
                no_delay: false,
            };
            if side != CLIENT {
                let listener = socket::listen(namespace.as_fd(), plan.server(kind), &of_kind)?;
                let token = EventData::new_u64(FIRST_LISTENER + kind as u64);
                epoll::add(&waiting, &listener, token, EventFlags::IN)?;
                listeners.push(listener);
            }
            options.push(of_kind);
        }
        let buffer = vec![0; PIECE_BYTES].into();
        Ok(Kernel { side, namespace, options, listeners, waiting, translations, again: Vec::new(), buffer })
    }

    /// Moves the calling thread into the namespace in which sockets are created.
    pub fn enter(&self) -> io::Result<()> {
        namespace::enter(&self.namespace)
    }

    /// The descriptor to poll.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.waiting
    }

    /// The events since the last call.
    pub fn poll(&self) -> io::Result<Vec<Happened>> {
        let mut ready: Vec<Event> = Vec::with_capacity(64);
        let now = crate::clock::timespec(0);
        match epoll::wait(&self.waiting, rustix::buffer::spare_capacity(&mut ready), Some(&now)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut happened = Vec::new();
        for event in ready {
            let token = event.data.u64();
            let Some(kind) = token.checked_sub(FIRST_LISTENER) else {
                happened.push(Happened::Ready(token as usize, event.flags));
                continue;
            };
            while let Some((socket, client)) = socket::accept(&self.listeners[kind as usize])? {
                happened.push(Happened::Called(self.translations.inside(client), socket));
            }
        }
        Ok(happened)
    }

    /// Connects to a server from an address. Also returns the local end. The thread must have [entered](Self::enter).
    pub fn call(&self, kind: usize, from: std::net::IpAddr, to: SocketAddr) -> io::Result<(OwnedFd, SocketAddr)> {
        socket::call(from, to, &self.options[kind])
    }

    /// Makes a socket that of a transfer.
    pub fn adopt(&self, number: usize, kind: usize, socket: OwnedFd, transfer: &mut Transfer) -> io::Result<()> {
        let stands = self.side != CLIENT;
        if transfer.stream.sender == self.side {
            socket::check_congestion(&socket, &self.options[kind].congestion)?;
            socket::bound_unsent(&socket)?;
        }
        let interest = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.waiting, &socket, EventData::new_u64(number as u64), interest)?;
        let translations = self.translations.clone();
        transfer.kernel = Some(End { socket: Some(socket), mptcp: self.options[kind].mptcp, stands, translations });
        Ok(())
    }

    /// Lets a transfer's end read and write. Returns whether it has more to do.
    pub fn serve(&mut self, now_ns: u64, step_bytes: u64, transfer: &mut Transfer) -> bool {
        let Some(mut end) = transfer.kernel.take() else { return false };
        let side = self.side;
        if end.stands && transfer.stream.sender == side && !transfer.stream.is_established() {
            transfer.stream.establish(now_ns, step_bytes);
        }
        let done = match &end.socket {
            Some(socket) if end.stands => transfer.serve_socket(now_ns, side, socket, &mut self.buffer),
            _ => Ok(Done::Nothing),
        };
        match done {
            Ok(Done::Nothing | Done::More) => {}
            Ok(Done::Over) => {
                transfer.stream.end_is_over(side);
                transfer.look_at(&end, now_ns, side);
                end.socket = None;
            }
            Err(_) => {
                // Handled like an aborted connection of our own stack.
                transfer.stream.fail(now_ns, side, "the kernel reports an error");
                end.socket = None;
            }
        }
        transfer.kernel = Some(end);
        matches!(done, Ok(Done::More))
    }
}

/// State of a socket after its turn.
enum Done {
    Nothing,
    More,
    /// Nothing more will follow.
    Over,
}

impl Transfer {
    /// Records what the kernel reports about its end, if it has one.
    pub fn look(&mut self, now_ns: u64, side: usize) {
        if let Some(end) = self.kernel.take() {
            self.look_at(&end, now_ns, side);
            self.kernel = Some(end);
        }
    }

    /// Records what the kernel reports about the subflows now; `side` is the kernel's side.
    fn look_at(&mut self, end: &End, now_ns: u64, side: usize) {
        let Some(socket) = end.socket.as_ref().filter(|_| end.stands) else { return };
        self.fallback |= end.mptcp && info::fell_back(socket.as_fd());
        // If it can no longer be measured, the last measurement remains.
        let seen = match info::mptcp_subflows(socket.as_fd()) {
            Ok(seen) if end.mptcp => seen,
            _ => info::tcp_subflow(socket.as_fd()).unwrap_or_default(),
        };
        for each in seen {
            let client = if side == CLIENT { each.local } else { end.translations.inside(each.remote) };
            if let Some(subflow) = self.subflows.iter_mut().find(|subflow| subflow.client == client) {
                subflow.kernel.get_or_insert_default().says(now_ns, each.tcp);
            }
        }
    }

    fn serve_socket(&mut self, now_ns: u64, side: usize, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Done> {
        if side == self.stream.sender {
            self.send_to(socket, buffer)?;
        }
        for _ in 0..TURN_BYTES / PIECE_BYTES {
            match recv(socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => {
                    if side != self.stream.sender {
                        self.stream.end(now_ns);
                    }
                    return Ok(Done::Over);
                }
                Ok((length, _)) => self.read(now_ns, side, &buffer[..length]),
                Err(Errno::AGAIN) => return Ok(Done::Nothing),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Done::More)
    }

    /// Writes the offered data, as far as the kernel accepts it, and closes when there is no more.
    fn send_to(&mut self, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<()> {
        let stream = &mut self.stream;
        while stream.to_write() > 0 {
            let len = stream.to_write().min(buffer.len() as u64) as usize;
            Span { offset: stream.written(), len: len as u32 }.write_to(&mut buffer[..len]);
            match send(socket, &buffer[..len], SendFlags::NOSIGNAL) {
                Ok(sent) => stream.wrote(sent as u64),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if stream.take_close() {
            shutdown(socket, Shutdown::Write)?;
        }
        Ok(())
    }
}
