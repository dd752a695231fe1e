//! One end of a connection whose other end is on another machine: what is written and read here.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use application::{Amount, CLIENT, SERVER, Stream};
use rustix::net::{Shutdown, shutdown};

use super::opening::{self, Questions};
use super::plan::Host;
use crate::linux::info::{self, Subflow};
use crate::linux::sampling::Sampled;
use crate::linux::track::Track;
use crate::linux::turn::{self, Buffers, Done, Left, TURN_BYTES};

/// An end of a connection.
pub struct Half {
    /// Number of the application whose it is.
    pub application: u32,
    pub kind: usize,
    /// Which end this is, [`CLIENT`] or [`SERVER`].
    end: usize,
    mptcp: bool,
    pub stream: Stream,
    pub socket: Option<OwnedFd>,
    /// Whether the kernel has said that it may write.
    pub stands: bool,
    /// The client's opening and questions that wait to be written.
    outbox: Vec<u8>,
    /// Whether this end says no more.
    shut: bool,
    /// Whether it is to say no more when the outbox is empty.
    closing: bool,
    /// Whether the other end says no more.
    heard_end: bool,
    questions: Questions,
    /// The client's end of the first subflow, as it is seen here.
    first: Option<SocketAddr>,
    pub tracks: Vec<Track>,
    pub fallback: bool,
}

impl Half {
    pub fn new(
        (application, kind): (u32, usize),
        end: usize,
        mptcp: bool,
        stream: Stream,
        (socket, first): (OwnedFd, SocketAddr),
    ) -> Half {
        Half {
            application,
            kind,
            end,
            mptcp,
            stream,
            socket: Some(socket),
            stands: false,
            outbox: Vec::new(),
            shut: false,
            closing: false,
            heard_end: false,
            questions: Questions::default(),
            first: Some(first),
            tracks: Vec::new(),
            fallback: false,
        }
    }

    /// The client's end says this ahead of any data.
    pub fn say(&mut self, bytes: &[u8]) {
        self.outbox.extend_from_slice(bytes);
    }

    /// The client's end asks.
    pub fn ask(&mut self, question_bytes: u64, answer_bytes: u64) {
        self.stream.ask(question_bytes, answer_bytes);
        opening::ask(&mut self.outbox, question_bytes, answer_bytes);
    }

    /// Nothing more is to come from the sender. The client's end says so to a server that sends.
    pub fn stop(&mut self) {
        self.stream.stop();
        self.closing |= self.end == CLIENT && self.stream.sender == SERVER;
    }

    /// Writes and reads what can be; `now_ns` is asked when something has arrived. None: both ends are done with the
    /// connection.
    pub fn turn(&mut self, buffers: &mut Buffers, now_ns: impl Fn() -> u64) -> io::Result<Option<Left>> {
        if self.socket.is_none() || !self.stands {
            return Ok(Some(Left::Nothing));
        }
        let wrote = if self.flush()? { self.write(buffers)? } else { Left::Nothing };
        let read = if self.stream.sender == self.end {
            self.read_sender(buffers, &now_ns)?
        } else {
            self.read(buffers, &now_ns)?
        };
        // A question may have come meanwhile.
        let wrote = if wrote == Left::Nothing && self.stream.is_dialogue() { self.write(buffers)? } else { wrote };
        self.say_the_end()?;
        if self.is_over() {
            return Ok(None);
        }
        Ok(Some(if wrote == Left::More || read == Left::More { Left::More } else { Left::Nothing }))
    }

    /// Whether there is nothing more to do: the reader has all there will be, the sender knows it.
    fn is_over(&self) -> bool {
        if self.stream.sender == self.end { self.shut && self.heard_end } else { self.stream.ended }
    }

    /// Writes the outbox; answers whether it is empty.
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
            let asked = self.stream.to_ask();
            self.stream.wrote_question(asked);
        }
        Ok(self.outbox.is_empty())
    }

    /// Writes what is offered, as far as the kernel takes it.
    fn write(&mut self, buffers: &Buffers) -> io::Result<Left> {
        let stream = &mut self.stream;
        let Some(socket) = self.socket.as_ref().filter(|_| stream.sender == self.end && self.outbox.is_empty()) else {
            return Ok(Left::Nothing);
        };
        turn::write(socket, stream, buffers)
    }

    fn say_the_end(&mut self) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let due = if self.stream.sender == self.end { self.stream.take_close() } else { self.closing && !self.shut };
        if due && self.outbox.is_empty() {
            shutdown(socket, Shutdown::Write)?;
            self.shut = true;
        }
        Ok(())
    }

    /// Reads data. Its end is the other's that says so, or the last byte of a size.
    fn read(&mut self, buffers: &mut Buffers, now_ns: &impl Fn() -> u64) -> io::Result<Left> {
        let stream = &mut self.stream;
        let Some(socket) = self.socket.as_ref() else { return Ok(Left::Nothing) };
        if let Some(left) = turn::read(socket, stream, buffers, now_ns)? {
            return Ok(left);
        }
        // Of data without a size the server is told by its end that the client has stopped.
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

    /// The sender reads questions, and that the other end is done.
    fn read_sender(&mut self, buffers: &mut Buffers, now_ns: &impl Fn() -> u64) -> io::Result<Left> {
        let Half { stream, questions, .. } = self;
        let Some(socket) = self.socket.as_ref() else { return Ok(Left::Nothing) };
        let mut read = 0;
        while read < TURN_BYTES {
            match turn::receive_some(socket, buffers)? {
                Done::Some([]) => {
                    self.peer_is_done(now_ns())?;
                    return Ok(Left::Nothing);
                }
                Done::Some(bytes) if stream.is_dialogue() => {
                    let heard = |question, answer| {
                        stream.ask(question, answer);
                        stream.hear(question);
                    };
                    let sense = questions.read(bytes, heard);
                    sense.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the client asks nonsense"))?;
                    read += bytes.len() as u64;
                }
                Done::Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "the receiver sent data")),
                Done::Waits => return Ok(Left::Nothing),
            }
        }
        Ok(Left::More)
    }

    /// A sender hears the end: a server's client wants no more, a client's server has everything.
    fn peer_is_done(&mut self, now_ns: u64) -> io::Result<()> {
        if self.heard_end {
            return Ok(());
        }
        self.heard_end = true;
        let stream = &mut self.stream;
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

    /// Looks at all subflows. What the sender has had acknowledged stands for what arrived, until the receiver is asked.
    pub fn measure(&mut self, now_ns: u64, host: &Host) -> io::Result<()> {
        let is_sender = self.stream.sender == self.end;
        for seen in self.subflows()? {
            let client = if self.end == CLIENT { seen.local } else { seen.remote };
            let Some(track) = self.track(client, &seen, host) else { continue };
            if is_sender {
                track.sender.says(now_ns, seen.tcp);
            }
            let arrived = if is_sender { seen.tcp.bytes_acked } else { seen.tcp.bytes_received };
            track.received = track.received.max(arrived);
        }
        if self.mptcp && !self.fallback && self.stands {
            self.fallback = self.socket.as_ref().is_some_and(|socket| info::fell_back(socket.as_fd()));
        }
        Ok(())
    }

    fn subflows(&self) -> io::Result<Vec<Subflow>> {
        // A socket that is still calling has no peer.
        let Some(socket) = self.socket.as_ref().filter(|_| self.stands) else { return Ok(Vec::new()) };
        if self.mptcp {
            match info::mptcp_subflows(socket.as_fd()) {
                // The accepted socket of a client that does not speak it is one of TCP.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                answer => return answer,
            }
        }
        info::tcp_subflow(socket.as_fd())
    }

    fn track(&mut self, client: SocketAddr, seen: &Subflow, host: &Host) -> Option<&mut Track> {
        let position = match self.tracks.iter().position(|track| track.is_of(client)) {
            Some(position) => position,
            None => {
                let path = host.path(client.ip(), self.first == Some(client))?;
                self.tracks.push(Track::new(seen, client, path as u32));
                self.tracks.len() - 1
            }
        };
        self.tracks.get_mut(position)
    }
}

impl Sampled for Half {
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
