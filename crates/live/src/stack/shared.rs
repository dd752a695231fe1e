//! The state that a program and the stack's thread share for a connection, and the thread's part of the work: it moves
//! bytes between this state and the transport.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use transport::{Connection, ConnectionId, Event, Instant};

use super::budget::Budget;
use super::chunk::Chunk;
use super::state::ConnectionState;

/// Bytes that the transport keeps for transmission and retransmission: twice the largest receive buffer.
const UNACKNOWLEDGED_LIMIT: u64 = 12 << 20;
/// Bytes that a socket holds for its program. Further data stays in the transport's receive buffer and closes its
/// window.
pub(super) const READ_LIMIT: usize = 1 << 20;

/// Number of events kept for a program that does not ask for them.
const EVENT_LIMIT: usize = 1_024;

/// How a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Both directions were closed in order.
    Closed,
    /// Reset by the peer, or given up.
    Aborted,
}

/// The state that program and stack share for a connection.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

/// The shared state while it is locked.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) id: Option<ConnectionId>,
    pub(super) to_send: VecDeque<Chunk>,
    pub(super) to_send_bytes: usize,
    pub(super) received: VecDeque<Chunk>,
    pub(super) received_bytes: usize,
    /// Whether the stack left data in the transport because the program did not read.
    pub(super) more_to_read: bool,
    /// Whether a command that makes the stack serve this socket is pending.
    pub(super) announced: bool,
    pub(super) close_requested: bool,
    closed_at_transport: bool,
    /// Total bytes that the program will write, as announced, until passed to the transport.
    pub(super) flow_bytes: Option<u64>,
    pub(super) established: bool,
    pub(super) end_of_stream: bool,
    pub(super) flushed: bool,
    pub(super) ended: Option<Ended>,
    pub(super) shut_down: bool,
    pub(super) events: Vec<Event>,
    /// Whether the program has accepted the connection. Until then nothing is read from it, so its window closes.
    accepted: bool,
    /// Whether the program has dropped the socket.
    pub(super) orphaned: bool,
    /// When the stack next checks whether the orphaned connection makes progress, and the unacknowledged bytes at the
    /// last check.
    orphan: Option<(u64, u64)>,
    /// State of the connection when the stack released it.
    pub(super) last: Option<ConnectionState>,
    /// Bytes written and not acknowledged when the stack last looked; then the amounts of both directions known to the
    /// budget.
    unacknowledged: u64,
    pub(super) sending: u64,
    receiving: u64,
}

impl State {
    /// Drops all data, which nobody will send or read.
    pub(super) fn abandon(&mut self, budget: &Budget) {
        (self.to_send, self.to_send_bytes, self.unacknowledged) = (VecDeque::new(), 0, 0);
        (self.received, self.received_bytes) = (VecDeque::new(), 0);
        self.note_held(budget);
    }

    /// Updates the budget after the data held here has changed.
    pub(super) fn note_held(&mut self, budget: &Budget) {
        let (sending, receiving) = (self.to_send_bytes as u64 + self.unacknowledged, self.received_bytes as u64);
        budget.change(&mut self.sending, sending);
        budget.change(&mut self.receiving, receiving);
    }
}

impl Shared {
    /// The state of a connection that the program opens.
    pub(super) fn opened() -> Arc<Shared> {
        let shared = Shared::default();
        shared.lock().accepted = true;
        Arc::new(shared)
    }

    /// The connection's identifier; `None` before the stack has seen it and after the stack has released it.
    pub(super) fn id(&self) -> Option<ConnectionId> {
        self.lock().id
    }

    /// Marks the connection as accepted by the program.
    pub(super) fn accept(&self) {
        self.lock().accepted = true;
    }

    /// How the connection ended, if it has.
    pub(super) fn ended(&self) -> Option<Ended> {
        self.lock().ended
    }

    /// Returns whether the program has just dropped the socket. The next check is due at `at_ns`.
    pub(super) fn orphan(&self, at_ns: u64) -> bool {
        let mut state = self.lock();
        let new = state.orphaned && state.orphan.is_none();
        if new {
            state.orphan = Some((at_ns, state.unacknowledged));
        }
        new
    }

    /// Time of the next check.
    pub(super) fn orphan_ns(&self) -> Option<u64> {
        self.lock().orphan.map(|(at_ns, _)| at_ns)
    }

    /// Whether the peer has acknowledged anything since the last check. The next check is at `at_ns`.
    pub(super) fn has_gone_on(&self, at_ns: u64) -> bool {
        let mut state = self.lock();
        let now = state.unacknowledged;
        state.orphan.replace((at_ns, now)).is_some_and(|(_, before)| now < before)
    }

    /// State of the connection when the stack released it.
    pub(super) fn last(&self) -> Option<ConnectionState> {
        self.lock().last.clone()
    }

    /// Reports that the stack has released the connection, whose identifier may be reused.
    pub(super) fn release(&self, last: ConnectionState, budget: &Budget) {
        let mut state = self.lock();
        (state.id, state.last, state.unacknowledged) = (None, Some(last), 0);
        (state.to_send, state.to_send_bytes) = (VecDeque::new(), 0);
        // A connection at rest has nothing left to read. Before the program accepts it, it has not asked for data.
        state.more_to_read = false;
        state.note_held(budget);
        if state.orphaned {
            state.abandon(budget);
        }
        self.changed.notify_all();
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stack's part: moves bytes and reports events.
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
                Event::SubflowEstablished(_)
                | Event::SubflowClosed(_)
                | Event::SoftError(..)
                | Event::Unresponsive(_) => {}
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
            while connection.read().is_some() {} // discard the data
            (state.received, state.received_bytes) = (VecDeque::new(), 0);
        }
        if state.close_requested && state.to_send.is_empty() && !state.closed_at_transport {
            state.closed_at_transport = true;
            connection.close(Instant::from_nanos(now_ns));
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

    /// Reports that the stack has ended.
    pub(super) fn shut_down(&self) {
        self.lock().shut_down = true;
        self.changed.notify_all();
    }
}
