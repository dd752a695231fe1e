//! One connection's data: one end writes, the other reads, at once unless its application reads slowly, and checks every byte.

use std::net::SocketAddr;

use application::{Amount, Kept, Stream};
use bytes::Bytes;
use transport::{AbortReason, Connection, ConnectionId, Event, Instant, SubflowId};
use wire::{Payload, Span};

use super::kernel_end::End;
use crate::engine::seen::Seen;
use crate::stack::Chunk;

/// Bytes per write.
const PIECE_BYTES: u64 = 64 * 1024;
/// Minimum of data written but not sent, as long as there is more, so that schedulers see this much.
const AHEAD_BYTES: u64 = 1 << 20;

/// A subflow of a connection, at both ends.
pub struct Subflow {
    /// The client's end, which identifies the subflow.
    pub client: SocketAddr,
    pub path: usize,
    pub ids: [Option<SubflowId>; 2],
    /// What the kernel reports about it, if one end is the kernel's.
    pub kernel: Option<Seen>,
    pub kept: Kept,
}

/// The data of one connection.
pub struct Transfer {
    pub application: u32,
    pub stream: Stream,
    pub ids: [Option<ConnectionId>; 2],
    /// The end that is the kernel's, if one is.
    pub kernel: Option<End>,
    /// Whether the kernel reports a fallback to TCP.
    pub fallback: bool,
    pub subflows: Vec<Subflow>,
    /// Stream offset of a wrong byte, if there was one.
    pub corrupt: Option<u64>,
}

impl Transfer {
    pub fn new(application: u32, stream: Stream) -> Transfer {
        Transfer {
            application,
            stream,
            ids: [None; 2],
            kernel: None,
            fallback: false,
            subflows: Vec::new(),
            corrupt: None,
        }
    }

    /// Serves the connection's end `side`: reads, handles events, writes.
    pub fn serve(&mut self, now_ns: u64, side: usize, connection: &mut Connection<Chunk>) {
        let in_stages = self.stream.is_read_in_stages() && side != self.stream.sender;
        while (!in_stages || self.stream.takes(now_ns) > 0)
            && let Some(chunk) = connection.read()
        {
            self.read(now_ns, side, &chunk.0);
        }
        let stream = &mut self.stream;
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Established if side == stream.sender => {
                    stream.establish(now_ns, connection.views().first().map_or(1, |view| u64::from(view.mss).max(1)));
                    if let Amount::Bytes(size_bytes) = stream.amount() {
                        // Only a part is written in advance.
                        connection.set_flow_size(size_bytes);
                    }
                }
                Event::Established => stream.establish_asker(now_ns),
                Event::EndOfStream if in_stages && connection.peek().is_some() => stream.end_waits(),
                Event::EndOfStream if side != stream.sender => {
                    stream.end(now_ns);
                    connection.close(Instant::from_nanos(now_ns));
                }
                Event::Flushed if side == stream.sender => stream.flush(now_ns),
                Event::SubflowClosed(_) | Event::SubflowEstablished(_) if side == stream.sender => {
                    stream.set_interrupted(now_ns, connection.is_interrupted());
                }
                Event::Closed => stream.end_is_over(side),
                Event::Aborted => {
                    let why = connection.abort_reason().unwrap_or(AbortReason::Local);
                    stream.fail(now_ns, side, why.words());
                }
                _ => {}
            }
        }
        if in_stages && connection.peek().is_none() && stream.take_waiting_end() {
            stream.end(now_ns);
            connection.close(Instant::from_nanos(now_ns));
        }
        if side == stream.sender {
            self.write(now_ns, connection);
        } else {
            self.write_questions(connection);
        }
    }

    fn write_questions(&mut self, connection: &mut Connection<Chunk>) {
        let stream = &mut self.stream;
        while stream.to_ask() > 0 {
            let len = stream.to_ask().min(PIECE_BYTES) as u32;
            connection.write(piece(stream.asked(), len));
            stream.wrote_question(u64::from(len));
        }
    }

    fn write(&mut self, now_ns: u64, connection: &mut Connection<Chunk>) {
        let stream = &mut self.stream;
        while stream.to_write() > 0 && connection.bytes_unsent() < AHEAD_BYTES {
            let len = stream.to_write().min(PIECE_BYTES) as u32;
            connection.write(piece(stream.written(), len));
            stream.wrote(u64::from(len));
        }
        if stream.take_close() {
            if stream.is_stopped() && !stream.keeps_its_word() {
                connection.withdraw();
            }
            connection.close(Instant::from_nanos(now_ns));
        }
    }

    pub fn read(&mut self, now_ns: u64, side: usize, bytes: &[u8]) {
        let stream = &mut self.stream;
        let asked = side == stream.sender && stream.is_dialogue();
        let place = if asked { stream.question_bytes_read() } else { stream.bytes_read };
        let due = Span { offset: place, len: bytes.len() as u32 };
        let mut expected = vec![0; bytes.len()];
        due.write_to(&mut expected);
        if side == stream.sender && !asked || expected != bytes {
            self.corrupt.get_or_insert(place);
        }
        if asked {
            return stream.read_question(bytes.len() as u64);
        }
        stream.read(now_ns, bytes.len() as u64);
    }
}

/// Bytes of a stream from `offset` on.
fn piece(offset: u64, len: u32) -> Chunk {
    let mut piece = vec![0; len as usize];
    Span { offset, len }.write_to(&mut piece);
    Chunk(Bytes::from(piece))
}
