//! What a program sees of a connection: a stream to write and to read. The stack's thread moves the bytes between the
//! socket and the transport.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use transport::{Connection, ConnectionId, Event};

use super::chunk::Chunk;
use super::thread::{Command, Mailbox};

/// Bytes a socket takes from its program before it blocks it, beside what the transport keeps.
const WRITE_LIMIT: usize = 1 << 20;
/// Bytes the transport keeps for transmission and retransmission; twice the largest receive buffer.
const UNACKNOWLEDGED_LIMIT: u64 = 12 << 20;
/// Bytes a socket holds for its program; the others stay in the transport's receive buffer and close its window.
const READ_LIMIT: usize = 1 << 20;

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Both directions in order.
    Closed,
    /// Reset by the peer, or given up.
    Aborted,
}

/// Why an operation did nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SocketError {
    /// Nothing happened in time.
    #[error("timed out")]
    TimedOut,
    /// The connection was reset, refused or given up.
    #[error("the connection was reset, refused or given up")]
    Aborted,
    /// The stack was shut down.
    #[error("the stack was shut down")]
    ShutDown,
}

/// What program and stack share of a connection.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    id: Option<ConnectionId>,
    to_send: VecDeque<Chunk>,
    to_send_bytes: usize,
    received: VecDeque<Chunk>,
    received_bytes: usize,
    /// The stack left data in the transport because the program did not read.
    more_to_read: bool,
    /// A command that makes the stack look at this socket is under way.
    announced: bool,
    close_requested: bool,
    closed_at_transport: bool,
    /// What the program says that it will have written in all, until the transport knows.
    flow_bytes: Option<u64>,
    established: bool,
    end_of_stream: bool,
    flushed: bool,
    ended: Option<Ended>,
    shut_down: bool,
    events: Vec<Event>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stack's part: moves bytes and tells what happened.
    pub(super) fn serve(&self, now_ns: u64, id: ConnectionId, connection: &mut Connection<Chunk>) {
        let mut state = self.lock();
        state.id = Some(id);
        state.announced = false;
        let mut news = false;
        while let Some(event) = connection.poll_event() {
            news = true;
            state.events.push(event);
            match event {
                Event::Established => state.established = true,
                Event::EndOfStream => state.end_of_stream = true,
                Event::Flushed => state.flushed = true,
                Event::Closed => state.ended = state.ended.or(Some(Ended::Closed)),
                Event::Aborted => state.ended = state.ended.or(Some(Ended::Aborted)),
                Event::SubflowEstablished(_) | Event::SubflowClosed(_) => {}
            }
        }
        if let Some(bytes) = state.flow_bytes.take() {
            connection.set_flow_size(bytes);
        }
        while !state.to_send.is_empty() && connection.bytes_unacknowledged() < UNACKNOWLEDGED_LIMIT {
            let Some(chunk) = state.to_send.pop_front() else { break };
            state.to_send_bytes -= chunk.0.len();
            connection.write(chunk);
            news = true;
        }
        if state.close_requested && state.to_send.is_empty() && !state.closed_at_transport {
            state.closed_at_transport = true;
            connection.close(now_ns);
        }
        state.more_to_read = true;
        while state.received_bytes < READ_LIMIT {
            let Some(chunk) = connection.read() else {
                state.more_to_read = false;
                break;
            };
            state.received_bytes += chunk.0.len();
            state.received.push_back(chunk);
            news = true;
        }
        if news {
            self.changed.notify_all();
        }
    }

    /// The stack is no more.
    pub(super) fn shut_down(&self) {
        self.lock().shut_down = true;
        self.changed.notify_all();
    }
}

/// A connection, for a program.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(super) shared: Arc<Shared>,
    pub(super) mailbox: Arc<Mailbox>,
}

impl Socket {
    /// Waits until `ready` gives something.
    fn wait<T>(&self, timeout: Duration, mut ready: impl FnMut(&mut State) -> Option<T>) -> Result<T, SocketError> {
        let mut found = None;
        let state = self.shared.lock();
        let wait = self.shared.changed.wait_timeout_while(state, timeout, |state| {
            found = ready(state);
            found.is_none() && !state.shut_down
        });
        let (state, _) = wait.unwrap_or_else(PoisonError::into_inner);
        match found {
            Some(found) => Ok(found),
            None if state.shut_down => Err(SocketError::ShutDown),
            None => Err(SocketError::TimedOut),
        }
    }

    /// Makes the stack look at this socket.
    fn announce(&self) {
        let id = {
            let mut state = self.shared.lock();
            if state.announced {
                return;
            }
            state.announced = state.id.is_some();
            state.id
        };
        if let Some(id) = id {
            self.mailbox.post(Command::Serve(id));
        }
    }

    /// The number of the connection; none before the stack has seen it.
    #[must_use]
    pub fn id(&self) -> Option<ConnectionId> {
        self.shared.lock().id
    }

    /// Waits until data can be carried.
    ///
    /// # Errors
    /// [`SocketError`]
    pub fn wait_established(&self, timeout: Duration) -> Result<(), SocketError> {
        let found = self.wait(timeout, |state| match (state.established, state.ended) {
            (true, _) => Some(Ok(())),
            (false, Some(_)) => Some(Err(SocketError::Aborted)),
            (false, None) => None,
        })?;
        self.announce();
        found
    }

    /// Waits for the end of the connection.
    ///
    /// # Errors
    /// [`SocketError`], but not for a connection that was aborted.
    pub fn wait_ended(&self, timeout: Duration) -> Result<Ended, SocketError> {
        self.wait(timeout, |state| state.ended)
    }

    /// Waits until all that was written, and the end of it, is acknowledged.
    ///
    /// # Errors
    /// [`SocketError`]
    pub fn wait_flushed(&self, timeout: Duration) -> Result<(), SocketError> {
        self.wait(timeout, |state| match (state.flushed, state.ended) {
            (true, _) => Some(Ok(())),
            (false, Some(Ended::Aborted)) => Some(Err(SocketError::Aborted)),
            _ => None,
        })?
    }

    /// Appends to the stream; waits while too much is on its way.
    ///
    /// # Errors
    /// [`SocketError`]; then nothing was appended.
    pub fn write(&self, chunk: Chunk, timeout: Duration) -> Result<(), SocketError> {
        let mut chunk = Some(chunk);
        self.wait(timeout, |state| {
            if state.ended.is_some() || state.close_requested {
                return Some(Err(SocketError::Aborted));
            }
            if state.to_send_bytes >= WRITE_LIMIT {
                return None;
            }
            let chunk = chunk.take()?;
            state.to_send_bytes += chunk.0.len();
            state.to_send.push_back(chunk);
            Some(Ok(()))
        })??;
        self.announce();
        Ok(())
    }

    /// The next bytes of the peer's stream, at most about `most`; none at its end.
    ///
    /// # Errors
    /// [`SocketError`]
    pub fn read(&self, most: usize, timeout: Duration) -> Result<Option<Vec<Chunk>>, SocketError> {
        let (chunks, refill) = self.wait(timeout, |state| {
            if state.received.is_empty() {
                // What the stack has left in the transport comes before the end; it was asked for when half was read.
                if state.more_to_read {
                    return None;
                }
                return match (state.end_of_stream, state.ended) {
                    (true, _) => Some((Ok(None), false)),
                    (false, Some(_)) => Some((Err(SocketError::Aborted), false)),
                    (false, None) => None,
                };
            }
            let (mut chunks, mut bytes) = (Vec::new(), 0);
            while state.received.front().is_some_and(|chunk| bytes == 0 || bytes + chunk.0.len() <= most) {
                bytes += state.received[0].0.len();
                chunks.extend(state.received.pop_front());
            }
            state.received_bytes -= bytes;
            let refill = state.more_to_read && state.received_bytes <= READ_LIMIT / 2;
            Some((Ok(Some(chunks)), refill))
        })?;
        if refill {
            self.announce();
        }
        chunks
    }

    /// The program will have written so many bytes in all before it closes: for schedulers that look at what is left.
    pub fn set_flow_size(&self, bytes: u64) {
        self.shared.lock().flow_bytes = Some(bytes);
        self.announce();
    }

    /// The program writes no more.
    pub fn close(&self) {
        self.shared.lock().close_requested = true;
        self.announce();
    }

    /// What has happened since the last call.
    #[must_use]
    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.shared.lock().events)
    }
}
