//! One connection with both its ends: what is offered, written and read.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use application::{CLIENT, SERVER, Stream};

use super::info::{self, Subflow};
use super::plan::Hosts;
use super::sampling::Sampled;
use super::track::Track;
use super::turn::{self, Buffers, Done, Left};
use crate::emulator::Translations;

/// A connection.
pub struct Transfer {
    /// Number of the application that opened it.
    pub application: u32,
    pub kind: usize,
    mptcp: bool,
    pub stream: Stream,
    /// Client and server; the latter is there when it was accepted.
    pub ends: [Option<OwnedFd>; 2],
    /// Whether the kernel has said that an end may write.
    pub writable: [bool; 2],
    pub tracks: Vec<Track>,
    pub fallback: bool,
    /// What its sender had sent again on another subflow when it was last looked at before a path ended.
    repeated_bytes: Option<u64>,
}

impl Transfer {
    pub fn new(application: u32, kind: usize, mptcp: bool, stream: Stream, socket: OwnedFd) -> Transfer {
        Transfer {
            application,
            kind,
            mptcp,
            stream,
            ends: [Some(socket), None],
            writable: [false; 2],
            tracks: Vec::new(),
            fallback: false,
            repeated_bytes: None,
        }
    }

    /// Writes what is offered, as far as the kernel takes it.
    pub fn write(&mut self, buffers: &Buffers) -> io::Result<Left> {
        let stream = &mut self.stream;
        let Some(socket) = &self.ends[stream.sender] else { return Ok(Left::Nothing) };
        turn::write(socket, stream, buffers)
    }

    /// Reads what has arrived; `now_ns` is asked when something has. An end of the stream is an error here: the
    /// receiver closes first.
    pub fn read(&mut self, buffers: &mut Buffers, now_ns: impl Fn() -> u64) -> io::Result<Left> {
        let stream = &mut self.stream;
        let Some(socket) = &self.ends[stream.receiver()] else { return Ok(Left::Nothing) };
        turn::read(socket, stream, buffers, now_ns)?.ok_or_else(|| early("the sender closed early"))
    }

    /// Writes questions, as far as the kernel takes them.
    pub fn ask(&mut self, buffers: &Buffers) -> io::Result<()> {
        let stream = &mut self.stream;
        let Some(socket) = &self.ends[stream.receiver()] else { return Ok(()) };
        turn::ask(socket, stream, buffers)
    }

    /// The end that answers hears what has arrived.
    pub fn hear(&mut self, buffers: &mut Buffers) -> io::Result<()> {
        let stream = &mut self.stream;
        let Some(socket) = &self.ends[stream.sender] else { return Ok(()) };
        loop {
            match turn::receive_some(socket, buffers)? {
                Done::Some([]) => return Err(early("who asks closed early")),
                Done::Some(bytes) => stream.hear(bytes.len() as u64),
                Done::Waits => return Ok(()),
            }
        }
    }

    /// Looks at all subflows, at both ends.
    pub fn measure(&mut self, now_ns: u64, hosts: &Hosts, translations: &Translations) -> io::Result<()> {
        for seen in self.subflows(self.stream.sender)? {
            let client = if self.stream.sender == CLIENT { seen.local } else { translations.inside(seen.remote) };
            if let Some(track) = self.track(client, &seen, hosts) {
                track.sender.says(now_ns, seen.tcp);
            }
        }
        for seen in self.subflows(self.stream.receiver())? {
            let client = if self.stream.sender == CLIENT { translations.inside(seen.remote) } else { seen.local };
            if let Some(track) = self.tracks.iter_mut().find(|track| track.is_of(client)) {
                track.received = track.received.max(seen.tcp.bytes_received);
            }
        }
        if self.mptcp && !self.fallback {
            self.fallback = self.ends[SERVER].as_ref().is_some_and(|socket| info::fell_back(socket.as_fd()));
        }
        Ok(())
    }

    /// Looks whether data was sent again on another subflow since a path ended at `end_ns`: noticed as late as it is looked
    /// at.
    pub fn notice(&mut self, now_ns: u64, end_ns: u64) {
        if self.stream.noticed_ns.is_some() || !self.mptcp {
            return;
        }
        let sender = self.ends[self.stream.sender].as_ref();
        let repeated = sender.and_then(|socket| info::repeated_bytes(socket.as_fd()));
        if now_ns <= end_ns {
            self.repeated_bytes = repeated;
            return;
        }
        self.stream.path_ends(end_ns);
        if repeated.zip(self.repeated_bytes).is_some_and(|(now, before)| now > before) {
            self.stream.noticed_ns = Some(now_ns);
        }
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

    fn track(&mut self, client: SocketAddr, seen: &Subflow, hosts: &Hosts) -> Option<&mut Track> {
        let position = self.tracks.iter().position(|track| track.is_of(client));
        let position = match position {
            Some(position) => position,
            None => {
                let &(_, path) = hosts.paths.iter().find(|(address, _)| *address == client.ip())?;
                self.tracks.push(Track::new(seen, client, path as u32));
                self.tracks.len() - 1
            }
        };
        self.tracks.get_mut(position)
    }
}

impl Sampled for Transfer {
    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    fn tracks_mut(&mut self) -> &mut [Track] {
        &mut self.tracks
    }
}

fn early(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}
