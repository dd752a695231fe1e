//! One connection's data: one end writes, the other reads at once and checks every byte.

use std::net::SocketAddr;

use bytes::Bytes;
use transport::{Connection, ConnectionId, Event, SubflowId};
use wire::{Payload, Span};

use super::kernel::{End, Seen};
use super::marks::Mark;
use crate::stack::Chunk;

/// The client's end.
pub const CLIENT: usize = 0;
/// The server's end.
pub const SERVER: usize = 1;

/// Written at once.
const PIECE_BYTES: u64 = 64 * 1024;
/// What the sender has written and not sent yet, at least, while there is more: schedulers see that much.
const AHEAD_BYTES: u64 = 1 << 20;

/// How much is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// As much as the connection takes, until it is stopped.
    Endless,
    /// So many bytes, then the end.
    Bytes(u64),
    /// What the application offers step by step, until it is stopped.
    Steps,
}

/// A subflow of a connection, as both ends have it.
pub struct Subflow {
    /// Its client's end, which tells it from all others.
    pub client: SocketAddr,
    pub path: usize,
    pub ids: [Option<SubflowId>; 2],
    /// What the kernel says of it, when it is one end.
    pub kernel: Option<Seen>,
    /// Where it stood at the end of the warm-up; zeros when it came later.
    pub warm: Mark,
    /// Integral of its window when its transfer became complete.
    pub completed_cwnd: Option<f64>,
    pub sampled_bytes: u64,
}

/// What one connection carries.
pub struct Transfer {
    pub application: usize,
    pub start_ns: u64,
    pub amount: Amount,
    /// The end that writes.
    pub sender: usize,
    pub ids: [Option<ConnectionId>; 2],
    /// The end that is the kernel's, if one is.
    pub kernel: Option<End>,
    /// Whether the kernel says that TCP is spoken where Multipath TCP was asked for.
    pub fallback: bool,
    pub subflows: Vec<Subflow>,
    pub established: bool,
    pub stopped: bool,
    /// A full segment's data, once the connection stands.
    pub step_bytes: u64,
    pub written: u64,
    pub offered: u64,
    pub closed: bool,
    pub bytes_read: u64,
    pub warm_bytes: u64,
    pub last_read_ns: u64,
    pub completion_ns: Option<u64>,
    /// The reader has come to the end, or the connection has failed.
    pub ended: bool,
    /// The ends that are done with the connection.
    pub over: [bool; 2],
    /// It has been told to its application that it ended.
    pub told: bool,
    /// A byte was wrong: its place.
    pub corrupt: Option<u64>,
}

impl Transfer {
    pub fn new(application: usize, start_ns: u64, amount: Amount, sender: usize) -> Transfer {
        Transfer {
            application,
            start_ns,
            amount,
            sender,
            ids: [None; 2],
            kernel: None,
            fallback: false,
            subflows: Vec::new(),
            established: false,
            stopped: false,
            step_bytes: 0,
            written: 0,
            offered: match amount {
                Amount::Endless => u64::MAX,
                Amount::Bytes(bytes) => bytes,
                Amount::Steps => 0,
            },
            closed: false,
            bytes_read: 0,
            warm_bytes: 0,
            last_read_ns: start_ns,
            completion_ns: None,
            ended: false,
            over: [false; 2],
            told: false,
            corrupt: None,
        }
    }

    /// The end that reads.
    pub fn receiver(&self) -> usize {
        1 - self.sender
    }

    /// Serves the connection's end `side`: reads, hears of events, writes.
    pub fn serve(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Chunk>) {
        while let Some(chunk) = connection.read() {
            self.read(now_ns, side, &chunk.0);
        }
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Established if side == self.sender => {
                    self.stands(connection.views().first().map_or(1, |view| u64::from(view.mss).max(1)));
                }
                Event::EndOfStream if side != self.sender => {
                    self.end_of_stream(now_ns);
                    connection.close(now_ns);
                }
                Event::Closed => self.over[side] = true,
                Event::Aborted => {
                    self.over[side] = true;
                    self.ended = true;
                }
                _ => {}
            }
        }
        if side == self.sender && self.established {
            self.write(now_ns, connection);
        }
    }

    /// The sender may write; `step_bytes` is a full segment's data.
    pub fn stands(&mut self, step_bytes: u64) {
        self.established = true;
        self.step_bytes = step_bytes;
        if self.amount == Amount::Steps {
            self.offered += self.step_bytes;
        }
    }

    fn write(&mut self, now_ns: u64, connection: &mut Connection<Chunk>) {
        while self.written < self.offered && connection.bytes_unsent() < AHEAD_BYTES {
            let len = (self.offered - self.written).min(PIECE_BYTES) as u32;
            let mut piece = vec![0; len as usize];
            Span { offset: self.written, len }.write_to(&mut piece);
            self.written += u64::from(len);
            connection.write(Chunk(Bytes::from(piece)));
        }
        let whole = self.written == self.offered && self.amount != Amount::Steps;
        if (whole || self.stopped) && !self.closed {
            self.closed = true;
            if self.stopped && self.amount != Amount::Steps {
                connection.withdraw();
            }
            connection.close(now_ns);
        }
    }

    pub fn read(&mut self, now_ns: u64, side: usize, bytes: &[u8]) {
        let due = Span { offset: self.bytes_read, len: bytes.len() as u32 };
        let mut expected = vec![0; bytes.len()];
        due.write_to(&mut expected);
        if side == self.sender || expected != bytes {
            self.corrupt.get_or_insert(self.bytes_read);
        }
        self.bytes_read += bytes.len() as u64;
        self.last_read_ns = now_ns;
        if self.amount == Amount::Bytes(self.bytes_read) {
            self.completion_ns = Some(now_ns);
        }
    }

    pub fn end_of_stream(&mut self, now_ns: u64) {
        match self.amount {
            _ if self.completion_ns.is_some() => {}
            Amount::Endless | Amount::Steps => self.completion_ns = Some(self.last_read_ns),
            Amount::Bytes(0) => self.completion_ns = Some(now_ns),
            // A file that was stopped before its last byte was sent never becomes complete.
            Amount::Bytes(_) => {}
        }
        self.ended = true;
    }

    /// Whether its application may still offer data.
    pub fn is_writing(&self) -> bool {
        self.established && !self.stopped && !self.over[self.sender]
    }

    /// One more step of a rate.
    pub fn offer_step(&mut self) {
        self.offered += self.step_bytes;
    }
}
