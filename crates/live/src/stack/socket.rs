//! What a program sees of a connection: a stream to write and to read. The stack's thread moves the bytes between the
//! socket and the transport.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use transport::{Connection, ConnectionId, Event};

use super::budget::Budget;
use super::chunk::Chunk;
use super::state::ConnectionState;
use super::thread::{Command, Mailbox};

/// Bytes a socket takes from its program before it blocks it, beside what the transport keeps.
const WRITE_LIMIT: usize = 1 << 20;
/// Bytes the transport keeps for transmission and retransmission; twice the largest receive buffer.
const UNACKNOWLEDGED_LIMIT: u64 = 12 << 20;
/// Bytes a socket holds for its program; the others stay in the transport's receive buffer and close its window.
const READ_LIMIT: usize = 1 << 20;

/// Events that are kept for a program that does not ask for them.
const EVENT_LIMIT: usize = 1_024;

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
    /// The program has accepted the connection; before, nothing is read from it, so that its window closes.
    accepted: bool,
    /// The program has let go of the socket.
    orphaned: bool,
    /// When the stack looks whether the connection goes on without it, and what was unacknowledged at the last look.
    orphan: Option<(u64, u64)>,
    /// How the connection stood when the stack let go of it.
    last: Option<ConnectionState>,
    /// Bytes that were written and not acknowledged when the stack last looked, and what the budget knows of both directions.
    unacknowledged: u64,
    sending: u64,
    receiving: u64,
}

impl State {
    /// Nobody will send or read what is here.
    fn abandon(&mut self, budget: &Budget) {
        (self.to_send, self.to_send_bytes, self.unacknowledged) = (VecDeque::new(), 0, 0);
        (self.received, self.received_bytes) = (VecDeque::new(), 0);
        self.note_held(budget);
    }

    fn note_held(&mut self, budget: &Budget) {
        let (sending, receiving) = (self.to_send_bytes as u64 + self.unacknowledged, self.received_bytes as u64);
        budget.change(&mut self.sending, sending);
        budget.change(&mut self.receiving, receiving);
    }
}

impl Shared {
    /// Of a connection that the program opens.
    pub(super) fn opened() -> Arc<Shared> {
        let shared = Shared::default();
        shared.lock().accepted = true;
        Arc::new(shared)
    }

    /// The number of the connection; none before the stack has seen it, and after the stack has let go of it.
    pub(super) fn id(&self) -> Option<ConnectionId> {
        self.lock().id
    }

    /// The program takes the connection.
    pub(super) fn accept(&self) {
        self.lock().accepted = true;
    }

    /// Whether the connection ended, in order or not.
    pub(super) fn ended(&self) -> Option<Ended> {
        self.lock().ended
    }

    /// Answers whether the program has let go of the socket and that is new; it is to be looked at again at `at_ns`.
    pub(super) fn orphan(&self, at_ns: u64) -> bool {
        let mut state = self.lock();
        let new = state.orphaned && state.orphan.is_none();
        if new {
            state.orphan = Some((at_ns, state.unacknowledged));
        }
        new
    }

    /// When it is to be looked at again.
    pub(super) fn orphan_ns(&self) -> Option<u64> {
        self.lock().orphan.map(|(at_ns, _)| at_ns)
    }

    /// Whether the peer has acknowledged anything since the last look; the next one is at `at_ns`.
    pub(super) fn has_gone_on(&self, at_ns: u64) -> bool {
        let mut state = self.lock();
        let now = state.unacknowledged;
        state.orphan.replace((at_ns, now)).is_some_and(|(_, before)| now < before)
    }

    /// How the connection stood when the stack let go of it.
    pub(super) fn last(&self) -> Option<ConnectionState> {
        self.lock().last.clone()
    }

    /// The stack has let go of the connection: its number may soon be another's.
    pub(super) fn release(&self, last: ConnectionState, budget: &Budget) {
        let mut state = self.lock();
        (state.id, state.last, state.unacknowledged) = (None, Some(last), 0);
        (state.to_send, state.to_send_bytes) = (VecDeque::new(), 0);
        state.note_held(budget);
        if state.orphaned {
            state.abandon(budget);
        }
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stack's part: moves bytes and tells what happened.
    pub(super) fn serve(&self, now_ns: u64, id: ConnectionId, connection: &mut Connection<Chunk>, budget: &Budget) {
        let mut state = self.lock();
        state.id = Some(id);
        state.announced = false;
        let mut news = false;
        while let Some(event) = connection.poll_event() {
            news = true;
            if state.events.len() < EVENT_LIMIT {
                state.events.push(event);
            }
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
        let before = std::mem::replace(&mut state.unacknowledged, connection.bytes_unacknowledged());
        news |= state.unacknowledged < before;
        if state.orphaned {
            state.close_requested = true;
            while connection.read().is_some() {} // for nobody
            (state.received, state.received_bytes) = (VecDeque::new(), 0);
        }
        if state.close_requested && state.to_send.is_empty() && !state.closed_at_transport {
            state.closed_at_transport = true;
            connection.close(now_ns);
        }
        state.more_to_read = true;
        while state.accepted && state.received_bytes < READ_LIMIT && budget.allows(state.received_bytes as u64) {
            let Some(chunk) = connection.read() else {
                state.more_to_read = false;
                break;
            };
            state.received_bytes += chunk.0.len();
            state.received.push_back(chunk);
            news = true;
        }
        state.note_held(budget);
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

/// A connection, for a program. When the last clone is dropped the connection is closed: what was written is still sent,
/// what comes is read for nobody, and what has not ended a minute later is reset.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(super) shared: Arc<Shared>,
    pub(super) mailbox: Arc<Mailbox>,
    _owner: Arc<Owner>,
}

/// The program's hold of a connection.
#[derive(Debug)]
struct Owner {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.orphaned = true;
        if state.last.is_some() || state.shut_down {
            state.abandon(&self.mailbox.budget);
            return;
        }
        drop(state);
        self.mailbox.post(Command::Serve(Arc::clone(&self.shared)));
    }
}

impl Socket {
    pub(super) fn new(shared: Arc<Shared>, mailbox: Arc<Mailbox>) -> Socket {
        let owner = Owner { shared: Arc::clone(&shared), mailbox: Arc::clone(&mailbox) };
        Socket { shared, mailbox, _owner: Arc::new(owner) }
    }

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
        {
            let mut state = self.shared.lock();
            if state.announced || state.id.is_none() {
                return;
            }
            state.announced = true;
        }
        self.mailbox.post(Command::Serve(Arc::clone(&self.shared)));
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
            if state.to_send_bytes >= WRITE_LIMIT || !self.mailbox.budget.allows(state.sending) {
                return None;
            }
            let chunk = chunk.take()?;
            state.to_send_bytes += chunk.0.len();
            state.to_send.push_back(chunk);
            state.note_held(&self.mailbox.budget);
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
            state.note_held(&self.mailbox.budget);
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
