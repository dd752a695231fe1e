//! A program's view of a connection: a stream to write and to read.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use transport::Event;

use super::chunk::Chunk;
use super::mailbox::{Command, Mailbox};
use super::shared::{Ended, READ_LIMIT, Shared, State};

/// Bytes that a socket accepts from its program before it blocks, in addition to what the transport keeps.
const WRITE_LIMIT: usize = 1 << 20;

/// Why an operation failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SocketError {
    /// The timeout expired.
    #[error("timed out")]
    TimedOut,
    /// The connection was reset, refused or given up.
    #[error("the connection was reset, refused or given up")]
    Aborted,
    /// The stack was shut down.
    #[error("the stack was shut down")]
    ShutDown,
    /// The stack's thread has failed.
    #[error("the stack has failed: {0}")]
    Failed(Arc<str>),
}

/// A connection, for a program. Dropping the last clone closes the connection: written data is still sent, incoming
/// data is discarded, and a connection that has not ended a minute later is reset.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(super) shared: Arc<Shared>,
    pub(super) mailbox: Arc<Mailbox>,
    _owner: Arc<Owner>,
}

/// Closes the connection when it is dropped.
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

    /// Waits until `ready` returns a value.
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
            None if state.shut_down => Err(self.mailbox.failure().map_or(SocketError::ShutDown, SocketError::Failed)),
            None => Err(SocketError::TimedOut),
        }
    }

    /// Makes the stack serve this socket.
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

    /// Waits until the connection is established.
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
    /// [`SocketError`], except [`SocketError::Aborted`].
    pub fn wait_ended(&self, timeout: Duration) -> Result<Ended, SocketError> {
        self.wait(timeout, |state| state.ended)
    }

    /// Waits until all data written, and the end of the stream, are acknowledged.
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

    /// Appends to the stream. Waits while too much data is in flight.
    ///
    /// # Errors
    /// [`SocketError`]; nothing was appended then.
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

    /// The next bytes of the peer's stream, at most about `most`; `None` at its end.
    ///
    /// # Errors
    /// [`SocketError`]
    pub fn read(&self, most: usize, timeout: Duration) -> Result<Option<Vec<Chunk>>, SocketError> {
        let (chunks, refill) = self.wait(timeout, |state| {
            if state.received.is_empty() {
                // Data that the stack left in the transport comes before the end. It was asked for when half was read.
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

    /// Announces the total number of bytes that the program will write, for schedulers that use the remaining size.
    pub fn set_flow_size(&self, bytes: u64) {
        self.shared.lock().flow_bytes = Some(bytes);
        self.announce();
    }

    /// Closes the sending direction.
    pub fn close(&self) {
        self.shared.lock().close_requested = true;
        self.announce();
    }

    /// Takes the events since the last call.
    #[must_use]
    pub fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut self.shared.lock().events)
    }
}
