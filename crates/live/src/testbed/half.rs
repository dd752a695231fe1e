//! One end of a connection whose other end is on another machine.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use application::{Amount, CLIENT, SERVER};
use rustix::net::{Shutdown, shutdown};

use super::opening::{self, Questions};
use super::plan::Host;
use crate::clock::Clock;
use crate::linux::account::Account;
use crate::linux::socket;
use crate::linux::traffic::Ends;
use crate::linux::turn::{self, Buffers, Done, Left, TURN_BYTES};

/// An end of a connection.
pub struct Half {
    pub account: Account,
    /// Which end it is, [`CLIENT`] or [`SERVER`].
    end: usize,
    socket: Option<OwnedFd>,
    /// Whether the kernel has reported that the socket is writable.
    stands: bool,
    /// The client's opening and questions that wait to be written.
    outbox: Vec<u8>,
    /// Whether this end has closed its sending direction.
    shut: bool,
    /// Whether to close the sending direction when the outbox is empty.
    closing: bool,
    /// Whether the other end has closed its sending direction.
    heard_end: bool,
    questions: Questions,
    /// The client's end of the first subflow, as seen here.
    first: SocketAddr,
}

impl Half {
    pub fn new(account: Account, end: usize, (socket, first): (OwnedFd, SocketAddr)) -> Half {
        Half {
            account,
            end,
            socket: Some(socket),
            stands: false,
            outbox: Vec::new(),
            shut: false,
            closing: false,
            heard_end: false,
            questions: Questions::default(),
            first,
        }
    }

    /// Queues bytes of the client's end ahead of any data.
    pub fn say(&mut self, bytes: &[u8]) {
        self.outbox.extend_from_slice(bytes);
    }

    /// Whether nothing is left to do: the reader has all data, and the sender knows it.
    fn is_over(&self) -> bool {
        if self.account.stream.sender == self.end { self.shut && self.heard_end } else { self.account.stream.ended }
    }

    /// Writes the outbox; returns whether it is empty.
    fn flush(&mut self) -> io::Result<bool> {
        let Some(socket) = &self.socket else { return Ok(true) };
        let mut sent = 0;
        while sent < self.outbox.len() {
            match turn::send_some(socket, &self.outbox[sent..])? {
                Done::Some(bytes) => sent += bytes,
                Done::Waits => break,
            }
        }
        self.outbox.drain(..sent);
        if self.outbox.is_empty() {
            let asked = self.account.stream.to_ask();
            self.account.stream.wrote_question(asked);
        }
        Ok(self.outbox.is_empty())
    }

    /// Writes the offered data, as far as the kernel accepts it.
    fn write(&mut self, buffers: &Buffers) -> io::Result<Left> {
        let stream = &mut self.account.stream;
        let Some(socket) = self.socket.as_ref().filter(|_| stream.sender == self.end && self.outbox.is_empty()) else {
            return Ok(Left::Nothing);
        };
        turn::write(socket, stream, buffers)
    }

    fn say_the_end(&mut self) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let due = if self.account.stream.sender == self.end {
            self.account.stream.take_close()
        } else {
            self.closing && !self.shut
        };
        if due && self.outbox.is_empty() {
            shutdown(socket, Shutdown::Write)?;
            self.shut = true;
        }
        Ok(())
    }

    /// Reads data. The stream ends when the other end closes it, or with the last byte of its size.
    fn read(&mut self, buffers: &mut Buffers, now_ns: &impl Fn() -> u64) -> io::Result<Left> {
        let stream = &mut self.account.stream;
        let Some(socket) = self.socket.as_ref() else { return Ok(Left::Nothing) };
        if let Some(left) = turn::read(socket, stream, buffers, now_ns)? {
            return Ok(left);
        }
        // For data without a size, the end tells the server that the client has stopped.
        let expected = match stream.amount() {
            Amount::Bytes(_) => stream.is_all_read(),
            Amount::Endless | Amount::Steps | Amount::Answers => self.end == SERVER || stream.is_stopped(),
        };
        self.heard_end = true;
        if !expected {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the sender closed early"));
        }
        stream.end(stream.last_read_ns);
        Ok(Left::Nothing)
    }

    /// Lets the sender read questions and the end of the other side's stream.
    fn read_sender(&mut self, buffers: &mut Buffers, now_ns: &impl Fn() -> u64) -> io::Result<Left> {
        let Half { account, questions, .. } = self;
        let stream = &mut account.stream;
        let Some(socket) = self.socket.as_ref() else { return Ok(Left::Nothing) };
        let mut read = 0;
        while read < TURN_BYTES {
            match turn::receive_some(socket, buffers, usize::MAX)? {
                Done::Some([]) => {
                    self.peer_is_done(now_ns())?;
                    return Ok(Left::Nothing);
                }
                Done::Some(bytes) if stream.is_dialogue() => {
                    let complete = |question, answer| {
                        stream.ask(question, answer);
                        stream.read_question(question);
                    };
                    let sense = questions.read(bytes, complete);
                    sense.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the client asks nonsense"))?;
                    read += bytes.len() as u64;
                }
                Done::Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "the receiver sent data")),
                Done::Waits => return Ok(Left::Nothing),
            }
        }
        Ok(Left::More)
    }

    /// Handles the end of the other side's stream at a sender: a server's client wants no more, or a client's server
    /// has everything.
    fn peer_is_done(&mut self, now_ns: u64) -> io::Result<()> {
        if self.heard_end {
            return Ok(());
        }
        self.heard_end = true;
        let stream = &mut self.account.stream;
        if self.end == SERVER {
            stream.stop();
        } else if !self.shut {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed early"));
        }
        if self.shut {
            let written = stream.written();
            if stream.bytes_read == 0 && written > 0 {
                stream.read(now_ns, written);
            }
            stream.end(stream.last_read_ns);
        }
        Ok(())
    }

    /// Measures all subflows. Acknowledged data counts as arrived until the receiver reports.
    pub fn measure(&mut self, now_ns: u64, host: &Host) -> io::Result<()> {
        let is_sender = self.account.stream.sender == self.end;
        // A socket that is still connecting has no peer.
        let Some(socket) = self.socket.as_ref().filter(|_| self.stands) else { return Ok(()) };
        for seen in Account::subflows(socket, self.account.mptcp, true)? {
            let client = if self.end == CLIENT { seen.local } else { seen.remote };
            let path = || host.path(client.ip(), self.first == client);
            let Some(track) = self.account.track(client, &seen, path) else { continue };
            if is_sender {
                track.sender.says(now_ns, seen.tcp);
            }
            let arrived = if is_sender { seen.tcp.bytes_acked } else { seen.tcp.bytes_received };
            track.received = track.received.max(arrived);
        }
        self.account.note_fallback(Some(socket));
        Ok(())
    }
}

impl AsRef<Account> for Half {
    fn as_ref(&self) -> &Account {
        &self.account
    }
}

impl AsMut<Account> for Half {
    fn as_mut(&mut self) -> &mut Account {
        &mut self.account
    }
}

impl Ends for Half {
    fn socket(&self, _end: usize) -> Option<&OwnedFd> {
        self.socket.as_ref()
    }

    fn may_write(&mut self, _end: usize) -> bool {
        !std::mem::replace(&mut self.stands, true)
    }

    fn ask(&mut self, question_bytes: u64, answer_bytes: u64) {
        self.account.stream.ask(question_bytes, answer_bytes);
        opening::ask(&mut self.outbox, question_bytes, answer_bytes);
    }

    /// Stops; the client's end tells a sending server.
    fn stop(&mut self) {
        self.account.stream.stop();
        self.closing |= self.end == CLIENT && self.account.stream.sender == SERVER;
    }

    fn turn(&mut self, _end: usize, buffers: &mut Buffers, clock: Clock) -> io::Result<Left> {
        if self.socket.is_none() || !self.stands {
            return Ok(Left::Nothing);
        }
        let now_ns = || clock.now_ns();
        let wrote = if self.flush()? { self.write(buffers)? } else { Left::Nothing };
        let read = if self.account.stream.sender == self.end {
            self.read_sender(buffers, &now_ns)?
        } else {
            self.read(buffers, &now_ns)?
        };
        // A question may have arrived in the meantime.
        let asked = wrote == Left::Nothing && self.account.stream.is_dialogue();
        let wrote = if asked { self.write(buffers)? } else { wrote };
        self.say_the_end()?;
        if self.is_over() {
            return Ok(Left::Over);
        }
        Ok(if wrote == Left::More || read == Left::More { Left::More } else { Left::Nothing })
    }

    fn close(&mut self) {
        self.socket = None;
    }

    fn abort(&mut self) {
        self.socket.take().into_iter().for_each(socket::abort);
    }
}
