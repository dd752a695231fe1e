//! A connection with both ends on this machine.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use application::{CLIENT, SERVER};

use super::account::Account;
use super::info::{self, Subflow};
use super::plan::Hosts;
use super::socket;
use super::traffic::Ends;
use super::turn::{self, Buffers, Done, Left};
use crate::clock::Clock;
use crate::emulator::Translations;

/// A connection.
pub struct Transfer {
    pub account: Account,
    /// The sockets of client and server; the latter exists once it was accepted.
    ends: [Option<OwnedFd>; 2],
    /// For each end, whether the kernel has reported that it may write.
    pub writable: [bool; 2],
    /// Bytes that the sender had reinjected at the last measurement before a path ended.
    repeated_bytes: Option<u64>,
}

impl Transfer {
    pub fn new(account: Account, socket: OwnedFd) -> Transfer {
        Transfer { account, ends: [Some(socket), None], writable: [false; 2], repeated_bytes: None }
    }

    /// Sets the socket that the server has accepted.
    pub fn accepted(&mut self, socket: OwnedFd) {
        self.ends[SERVER] = Some(socket);
        self.writable[SERVER] = true;
    }

    /// Writes the offered data, as far as the kernel accepts it.
    fn write(&mut self, buffers: &Buffers) -> io::Result<Left> {
        let stream = &mut self.account.stream;
        let Some(socket) = &self.ends[stream.sender] else { return Ok(Left::Nothing) };
        turn::write(socket, stream, buffers)
    }

    /// Reads what has arrived; `now_ns` is called if there is any. The end of the stream is an error here, because the
    /// receiver closes first.
    fn read(&mut self, buffers: &mut Buffers, now_ns: impl Fn() -> u64) -> io::Result<Left> {
        let stream = &mut self.account.stream;
        let Some(socket) = &self.ends[stream.receiver()] else { return Ok(Left::Nothing) };
        turn::read(socket, stream, buffers, now_ns)?.ok_or_else(|| early("the sender closed early"))
    }

    /// Writes questions, as far as the kernel accepts them.
    fn write_questions(&mut self, buffers: &Buffers) -> io::Result<()> {
        let stream = &mut self.account.stream;
        let Some(socket) = &self.ends[stream.receiver()] else { return Ok(()) };
        turn::ask(socket, stream, buffers)
    }

    /// Lets the answering end read what has arrived.
    fn read_questions(&mut self, buffers: &mut Buffers) -> io::Result<()> {
        let stream = &mut self.account.stream;
        let Some(socket) = &self.ends[stream.sender] else { return Ok(()) };
        loop {
            match turn::receive_some(socket, buffers, usize::MAX)? {
                Done::Some([]) => return Err(early("who asks closed early")),
                Done::Some(bytes) => stream.read_question(bytes.len() as u64),
                Done::Waits => return Ok(()),
            }
        }
    }

    /// Measures all subflows at both ends.
    pub fn measure(&mut self, now_ns: u64, hosts: &Hosts, translations: &Translations) -> io::Result<()> {
        let (sender, receiver) = (self.account.stream.sender, self.account.stream.receiver());
        let client = |end: usize, seen: &Subflow| {
            if end == CLIENT { seen.local } else { translations.inside(seen.remote) }
        };
        for seen in self.subflows(sender)? {
            let client = client(sender, &seen);
            let path = || hosts.paths.iter().find(|(address, _)| *address == client.ip()).map(|&(_, path)| path);
            if let Some(track) = self.account.track(client, &seen, path) {
                track.sender.says(now_ns, seen.tcp);
            }
        }
        for seen in self.subflows(receiver)? {
            if let Some(track) = self.account.track(client(receiver, &seen), &seen, || None) {
                track.received = track.received.max(seen.tcp.bytes_received);
            }
        }
        self.account.note_fallback(self.ends[SERVER].as_ref());
        Ok(())
    }

    /// Checks whether data was retransmitted at the MPTCP level since a path ended at `end_ns`. The resolution is the
    /// interval of the measurements.
    pub fn notice(&mut self, now_ns: u64, end_ns: u64) {
        if self.account.stream.noticed_ns.is_some() || !self.account.mptcp {
            return;
        }
        let sender = self.ends[self.account.stream.sender].as_ref();
        let repeated = sender.and_then(|socket| info::repeated_bytes(socket.as_fd()));
        if now_ns <= end_ns {
            self.repeated_bytes = repeated;
            return;
        }
        self.account.stream.path_ends(end_ns);
        if repeated.zip(self.repeated_bytes).is_some_and(|(now, before)| now > before) {
            self.account.stream.noticed_ns = Some(now_ns);
        }
    }

    fn subflows(&self, end: usize) -> io::Result<Vec<Subflow>> {
        let Some(socket) = &self.ends[end] else { return Ok(Vec::new()) };
        let mptcp = self.account.mptcp && !(self.account.fallback && end == SERVER);
        // A socket that is still connecting has no peer.
        Account::subflows(socket, mptcp, end == SERVER || self.writable[CLIENT])
    }
}

impl AsRef<Account> for Transfer {
    fn as_ref(&self) -> &Account {
        &self.account
    }
}

impl AsMut<Account> for Transfer {
    fn as_mut(&mut self) -> &mut Account {
        &mut self.account
    }
}

impl Ends for Transfer {
    fn socket(&self, end: usize) -> Option<&OwnedFd> {
        self.ends[end].as_ref()
    }

    fn may_write(&mut self, end: usize) -> bool {
        !std::mem::replace(&mut self.writable[end], true)
    }

    fn ask(&mut self, question_bytes: u64, answer_bytes: u64) {
        self.account.stream.ask(question_bytes, answer_bytes);
    }

    fn stop(&mut self) {
        self.account.stream.stop();
    }

    fn turn(&mut self, end: usize, buffers: &mut Buffers, clock: Clock) -> io::Result<Left> {
        let stream = &self.account.stream;
        let (is_sender, dialogue) = (stream.sender == end, stream.is_dialogue());
        if is_sender {
            if dialogue {
                self.read_questions(buffers)?;
            }
            return self.write(buffers);
        }
        if dialogue {
            self.write_questions(buffers)?;
        }
        let left = self.read(buffers, || clock.now_ns())?;
        let stream = &self.account.stream;
        let over = stream.is_all_read() && !stream.ended && self.ends[SERVER].is_some();
        Ok(if over { Left::Over } else { left })
    }

    fn close(&mut self) {
        self.account.stream.end(self.account.stream.last_read_ns);
        self.ends = [None, None];
    }

    fn abort(&mut self) {
        self.ends.iter_mut().filter_map(Option::take).for_each(socket::abort);
    }
}

fn early(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, what)
}
