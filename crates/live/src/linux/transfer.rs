//! One connection with both its ends: what is offered, written and read.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::info::{self, Subflow};
use super::plan::Hosts;
use super::track::Track;

/// Index of the client among the ends; the server's is 1.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;
/// Written at once; the kernel's own scheduler gives a subflow bursts of this size.
const WRITE_BYTES: usize = 64 * 1024;
/// Written or read before others have their turn.
const TURN_BYTES: u64 = 4 << 20;

/// Memory to write from and read into.
pub struct Buffers {
    from: Box<[u8]>,
    into: Box<[u8]>,
}

impl Buffers {
    pub fn new() -> Buffers {
        Buffers { from: vec![0x5a; WRITE_BYTES].into(), into: vec![0; 4 * WRITE_BYTES].into() }
    }
}

/// What work on an end left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It has nothing more to do until the kernel says so.
    Nothing,
    /// It used its turn up.
    More,
}

/// A connection.
pub struct Transfer {
    /// Index of the application that opened it.
    pub application: usize,
    pub kind: usize,
    mptcp: bool,
    /// The end that writes.
    pub sender: usize,
    pub start_ns: u64,
    /// Client and server; the latter is there when it was accepted.
    pub ends: [Option<OwnedFd>; 2],
    /// Whether the kernel has said that an end may write.
    pub writable: [bool; 2],
    /// Bytes that the application has given, and whether there will be more.
    pub offered: u64,
    pub open_ended: bool,
    pub written: u64,
    pub read: u64,
    /// Read before the end of the warm-up.
    pub warm_read: u64,
    pub last_read_ns: u64,
    pub completion_ns: Option<u64>,
    pub tracks: Vec<Track>,
    pub fallback: bool,
    /// Whether it began after the warm-up.
    pub measured: bool,
}

impl Transfer {
    pub fn new(
        application: usize,
        kind: usize,
        mptcp: bool,
        sender: usize,
        start_ns: u64,
        socket: OwnedFd,
    ) -> Transfer {
        Transfer {
            application,
            kind,
            mptcp,
            sender,
            start_ns,
            ends: [Some(socket), None],
            writable: [false; 2],
            offered: 0,
            open_ended: false,
            written: 0,
            read: 0,
            warm_read: 0,
            last_read_ns: start_ns,
            completion_ns: None,
            tracks: Vec::new(),
            fallback: false,
            measured: false,
        }
    }

    /// Writes what is offered, as far as the kernel takes it.
    pub fn write(&mut self, buffers: &Buffers) -> io::Result<Left> {
        let Some(socket) = self.ends[self.sender].as_ref().filter(|_| self.writable[self.sender]) else {
            return Ok(Left::Nothing);
        };
        let turn_ends = self.written.saturating_add(TURN_BYTES);
        while self.written < self.offered {
            if self.written >= turn_ends {
                return Ok(Left::More);
            }
            let length = (self.offered - self.written).min(WRITE_BYTES as u64) as usize;
            match send(socket, &buffers.from[..length], SendFlags::NOSIGNAL) {
                Ok(sent) => self.written += sent as u64,
                Err(Errno::AGAIN) => return Ok(Left::Nothing),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Left::Nothing)
    }

    /// Reads what has arrived; `now_ns` is asked when something has. An end of the stream is an error here: the
    /// receiver closes first.
    pub fn read(&mut self, buffers: &mut Buffers, now_ns: impl Fn() -> u64) -> io::Result<Left> {
        let Some(socket) = self.ends[1 - self.sender].as_ref() else { return Ok(Left::Nothing) };
        let turn_ends = self.read + TURN_BYTES;
        loop {
            if self.read >= turn_ends {
                return Ok(Left::More);
            }
            match recv(socket, &mut *buffers.into, RecvFlags::empty()) {
                Ok((0, _)) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the sender closed early")),
                Ok((length, _)) => {
                    self.read += length as u64;
                    self.last_read_ns = now_ns();
                }
                Err(Errno::AGAIN) => return Ok(Left::Nothing),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether every byte there will be has arrived.
    pub fn is_whole(&self) -> bool {
        !self.open_ended && self.read >= self.offered
    }

    /// Looks at all subflows, at both ends.
    pub fn measure(&mut self, now_ns: u64, hosts: &Hosts) -> io::Result<()> {
        for seen in self.subflows(self.sender)? {
            let client = if self.sender == CLIENT { seen.local } else { seen.remote };
            if let Some(track) = self.track(client, &seen, hosts, now_ns) {
                track.sender_says(now_ns, seen.tcp);
            }
        }
        for seen in self.subflows(1 - self.sender)? {
            let client = if self.sender == CLIENT { seen.remote } else { seen.local };
            if let Some(track) = self.tracks.iter_mut().find(|track| track.is_of(client)) {
                track.received = track.received.max(seen.tcp.bytes_received);
            }
        }
        if self.mptcp && !self.fallback {
            self.fallback = self.ends[SERVER].as_ref().is_some_and(|socket| info::fell_back(socket.as_fd()));
        }
        Ok(())
    }

    /// All so far belongs to the warm-up.
    pub fn warm_up_ends(&mut self) {
        self.warm_read = self.read;
        self.tracks.iter_mut().for_each(Track::warm_up_ends);
    }

    fn subflows(&self, end: usize) -> io::Result<Vec<Subflow>> {
        let Some(socket) = &self.ends[end] else { return Ok(Vec::new()) };
        if self.mptcp && !(self.fallback && end == SERVER) {
            match info::mptcp_subflows(socket.as_fd()) {
                // The accepted socket of a client that does not speak it is one of TCP.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                answer => return answer,
            }
        }
        // A socket that is still calling has no peer.
        if end == CLIENT && !self.writable[CLIENT] { Ok(Vec::new()) } else { info::tcp_subflow(socket.as_fd()) }
    }

    fn track(&mut self, client: SocketAddr, seen: &Subflow, hosts: &Hosts, now_ns: u64) -> Option<&mut Track> {
        let position = self.tracks.iter().position(|track| track.is_of(client));
        let position = match position {
            Some(position) => position,
            None => {
                let &(_, path) = hosts.paths.iter().find(|(address, _)| *address == client.ip())?;
                self.tracks.push(Track::new(seen, client, path, now_ns));
                self.tracks.len() - 1
            }
        };
        self.tracks.get_mut(position)
    }
}
