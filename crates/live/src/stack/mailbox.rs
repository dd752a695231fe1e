//! Requests of programs to the stack's thread.

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

/// A request of a program to the stack.
pub(super) enum Command {
    /// Open a connection.
    Connect { config: Box<Config>, from: Vec<u8>, remote: SocketAddr, shared: Arc<Shared> },
    /// Accept connections to a port.
    Listen { port: u16, config: Box<Config> },
    /// The program has read or written.
    Serve(Arc<Shared>),
    /// Reset the connection.
    Abort(Arc<Shared>),
    /// Do what a path manager does.
    Act(Arc<Shared>, PathAction),
    /// Return the state of a connection.
    Look(Arc<Shared>, Sender<ConnectionState>),
    /// Tell what the stack holds.
    Tell(Sender<Held>),
    /// Tell what the devices have counted.
    Count(Sender<Vec<Counters>>),
    /// Change how a device's packets fare.
    Impair(usize, Box<Impair>),
    /// End.
    Stop,
    /// Fail.
    #[cfg(test)]
    Panic,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Command")
    }
}

/// The contents of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Held {
    /// Connections, half-open ones among them.
    pub connections: usize,
    /// Connections whose handshake is unfinished.
    pub half_open: usize,
    /// Handshakes that were given up because too many waited.
    pub dropped: u64,
    /// Ends of subflows in TIME-WAIT.
    pub time_wait: usize,
    /// Bytes that were written and are not acknowledged, or have come and were not read.
    pub bytes: u64,
}

/// Commands that nobody has looked at yet.
#[derive(Debug, Default)]
struct Waiting {
    commands: Vec<Command>,
    /// The thread has ended: there will be nobody to look. The text says why, unless it was told to.
    over: Option<Option<Arc<str>>>,
}

/// Commands to the stack's thread, and what wakes it.
#[derive(Debug)]
pub(super) struct Mailbox {
    pub(super) budget: Budget,
    commands: Mutex<Waiting>,
    pub(super) wake: OwnedFd,
    /// The thread was woken, and has not looked yet.
    woken: AtomicBool,
    /// Accepted connections by the port that they came to.
    pub(super) accepted: Mutex<BTreeMap<u16, VecDeque<Arc<Shared>>>>,
    pub(super) arrived: Condvar,
}

impl Mailbox {
    /// An empty one.
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

    /// Leaves a command for the thread, and wakes it.
    pub(super) fn post(&self, command: Command) {
        {
            let mut waiting = self.waiting();
            if waiting.over.is_some() {
                return refuse(&command);
            }
            waiting.commands.push(command);
        }
        if !self.woken.swap(true, Ordering::AcqRel) {
            // A full counter is a wake too.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    /// The commands that wait.
    pub(super) fn take(&self) -> Vec<Command> {
        if self.woken.swap(false, Ordering::AcqRel) {
            let _ = rustix::io::read(&self.wake, &mut [0; 8]);
        }
        std::mem::take(&mut self.waiting().commands)
    }

    /// The thread has ended, for a reason unless it was told to: wakes everybody who waits, or will.
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

    /// Why the thread has ended, where it was not told to.
    pub(super) fn failure(&self) -> Option<Arc<str>> {
        self.waiting().over.clone().flatten()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody will do it. Who waits for an answer gets none as soon as its sender is dropped.
fn refuse(command: &Command) {
    if let Command::Connect { shared, .. } | Command::Serve(shared) = command {
        shared.shut_down();
    }
}
