//! Requests from programs to the stack's thread.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use transport::Config;
use transport::path_manager::PathAction;

use super::budget::Budget;
use super::device::Counters;
use super::impairment::Impair;
use super::shared::Shared;
use super::state::ConnectionState;

/// A request from a program to the stack.
pub(super) enum Command {
    /// Open a connection.
    Connect { config: Box<Config>, from: Vec<u8>, remote: SocketAddr, shared: Arc<Shared> },
    /// Accept connections to a port.
    Listen { port: u16, config: Box<Config> },
    /// The program has read or written.
    Serve(Arc<Shared>),
    /// Reset the connection.
    Abort(Arc<Shared>),
    /// Perform an action of a path manager.
    Act(Arc<Shared>, PathAction),
    /// Return the state of a connection.
    Look(Arc<Shared>, Sender<ConnectionState>),
    /// Report what the stack holds.
    Tell(Sender<Held>),
    /// Report the counters of the devices.
    Count(Sender<Vec<Counters>>),
    /// Change the impairment of a device.
    Impair(usize, Box<Impair>),
    /// Stop the stack.
    Stop,
    /// Panic.
    #[cfg(test)]
    Panic,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Command")
    }
}

/// What a stack holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Held {
    /// Number of connections, including half-open ones.
    pub connections: usize,
    /// Connections whose handshake is unfinished.
    pub half_open: usize,
    /// Handshakes given up because too many were pending.
    pub dropped: u64,
    /// Subflow ends in TIME-WAIT.
    pub time_wait: usize,
    /// Bytes written and not acknowledged, or received and not read.
    pub bytes: u64,
}

/// Commands that the thread has not taken yet.
#[derive(Debug, Default)]
struct Commands {
    commands: Vec<Command>,
    /// Set when the thread has ended, so that no command will be taken. The text gives the reason unless the thread was
    /// told to end.
    over: Option<Option<Arc<str>>>,
}

/// Commands for the stack's thread, and the means to wake it.
#[derive(Debug)]
pub(super) struct Mailbox {
    pub(super) budget: Budget,
    commands: Mutex<Commands>,
    pub(super) wake: OwnedFd,
    /// Whether the thread was woken and has not looked yet.
    woken: AtomicBool,
    /// Connections to be accepted, by local port.
    pub(super) accepted: Mutex<BTreeMap<u16, VecDeque<Arc<Shared>>>>,
    pub(super) arrived: Condvar,
}

impl Mailbox {
    /// An empty mailbox.
    pub(super) fn new() -> std::io::Result<Mailbox> {
        Ok(Mailbox {
            budget: Budget::default(),
            commands: Mutex::default(),
            wake: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            woken: AtomicBool::new(false),
            accepted: Mutex::new(BTreeMap::new()),
            arrived: Condvar::new(),
        })
    }

    /// Posts a command to the thread and wakes it.
    pub(super) fn post(&self, command: Command) {
        {
            let mut waiting = self.waiting();
            if waiting.over.is_some() {
                return refuse(&command);
            }
            waiting.commands.push(command);
        }
        if !self.woken.swap(true, Ordering::AcqRel) {
            // A full counter wakes it too.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    /// Takes the waiting commands.
    pub(super) fn take(&self) -> Vec<Command> {
        if self.woken.swap(false, Ordering::AcqRel) {
            let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        }
        std::mem::take(&mut self.waiting().commands)
    }

    /// Reports that the thread has ended, with the reason unless it was told to. Wakes all current and future waiters.
    pub(super) fn end(&self, why: Option<Arc<str>>) {
        let left = {
            let mut waiting = self.waiting();
            waiting.over = Some(why);
            std::mem::take(&mut waiting.commands)
        };
        left.iter().for_each(refuse);
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        accepted.values().flatten().for_each(|shared| shared.shut_down());
        self.arrived.notify_all();
    }

    /// Whether the thread has ended.
    pub(super) fn is_over(&self) -> bool {
        self.waiting().over.is_some()
    }

    /// Why the thread has ended, if it was not told to.
    pub(super) fn failure(&self) -> Option<Arc<str>> {
        self.waiting().over.clone().flatten()
    }

    fn waiting(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rejects a command that will not be performed. A caller that waits for an answer gets none once its sender is
/// dropped.
fn refuse(command: &Command) {
    if let Command::Connect { shared, .. } | Command::Serve(shared) = command {
        shared.shut_down();
    }
}
