//! A running stack: a driver on its own thread, with a mailbox for commands and sockets for data.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use transport::path_manager::PathAction;
use transport::{Config, ConnectionId, Instant};

use super::device::{Counters, Device};
use super::driver::Driver;
use super::impairment::{Impair, Impairment};
use super::mailbox::{Command, Held, Mailbox};
use super::settings::Settings;
use super::shared::{Ended, Shared};
use super::socket::{Socket, SocketError};
use super::state::ConnectionState;
use crate::clock::Clock;

/// Maximum number of unfinished handshakes; one more drops the oldest (docs/decisions/0009).
const BACKLOG: usize = 4_096;
/// Maximum number of connections per port that wait to be accepted; one more is reset.
const ACCEPT_LIMIT: usize = 1_024;
/// How long a connection without a program may go without an acknowledgment from its peer.
const ORPHAN_NS: u64 = 60_000_000_000;

/// Our own stack on devices.
#[derive(Debug)]
pub struct Stack {
    mailbox: Arc<Mailbox>,
    thread: Mutex<Option<JoinHandle<Result<(), String>>>>,
}

impl Stack {
    /// Starts a stack on `devices`: one descriptor each, TUN devices without packet information.
    ///
    /// # Errors
    /// A descriptor is invalid, or no more descriptors are available.
    pub fn start(settings: &Settings, devices: Vec<OwnedFd>) -> std::io::Result<Stack> {
        let devices = devices.into_iter().map(Device::new).collect::<std::io::Result<Vec<_>>>()?;
        let mut driver = Driver::new(settings, devices);
        driver.limit_backlog(BACKLOG);
        let mailbox = Arc::new(Mailbox::new()?);
        let worker = Worker {
            driver,
            mailbox: Arc::clone(&mailbox),
            clock: Clock::start(),
            sockets: BTreeMap::new(),
            orphans: BTreeSet::new(),
        };
        let thread = std::thread::Builder::new().name("mptcplab-stack".to_owned()).spawn(move || worker.run())?;
        Ok(Stack { mailbox, thread: Mutex::new(Some(thread)) })
    }

    /// Opens a connection from the addresses with these identifiers, or from all. It is established later or fails.
    #[must_use]
    pub fn connect(&self, config: Config, from: Vec<u8>, remote: SocketAddr) -> Socket {
        let shared = Shared::opened();
        self.mailbox.post(Command::Connect { config: Box::new(config), from, remote, shared: Arc::clone(&shared) });
        Socket::new(shared, Arc::clone(&self.mailbox))
    }

    /// Accepts connections to a port on every address.
    pub fn listen(&self, port: u16, config: Config) {
        self.mailbox.post(Command::Listen { port, config: Box::new(config) });
    }

    /// The next connection to a port.
    ///
    /// # Errors
    /// None came in time, or the stack has ended.
    pub fn accept(&self, port: u16, timeout: Duration) -> Result<Socket, SocketError> {
        let accepted = self.mailbox.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = |all: &mut BTreeMap<u16, VecDeque<Arc<Shared>>>| {
            all.get(&port).is_none_or(VecDeque::is_empty) && !self.mailbox.is_over()
        };
        let wait = self.mailbox.arrived.wait_timeout_while(accepted, timeout, empty);
        let (mut accepted, _) = wait.unwrap_or_else(PoisonError::into_inner);
        let Some(shared) = accepted.get_mut(&port).and_then(VecDeque::pop_front) else {
            return Err(match self.mailbox.failure() {
                Some(why) => SocketError::Failed(why),
                None if self.mailbox.is_over() => SocketError::ShutDown,
                None => SocketError::TimedOut,
            });
        };
        shared.accept();
        self.mailbox.post(Command::Serve(Arc::clone(&shared)));
        Ok(Socket::new(shared, Arc::clone(&self.mailbox)))
    }

    /// Resets the connection.
    pub fn abort(&self, socket: &Socket) {
        self.mailbox.post(Command::Abort(Arc::clone(&socket.shared)));
    }

    /// Performs an action of a path manager on a connection.
    pub fn act(&self, socket: &Socket, action: PathAction) {
        self.mailbox.post(Command::Act(Arc::clone(&socket.shared), action));
    }

    /// The state of a connection; `None` before the stack has seen it, or after the stack has ended.
    #[must_use]
    pub fn look(&self, socket: &Socket) -> Option<ConnectionState> {
        let (sender, receiver) = channel();
        self.mailbox.post(Command::Look(Arc::clone(&socket.shared), sender));
        receiver.recv_timeout(Duration::from_secs(5)).ok().or_else(|| socket.shared.last())
    }

    /// What the stack holds; zeros after it has ended.
    #[must_use]
    pub fn held(&self) -> Held {
        let (sender, receiver) = channel();
        self.mailbox.post(Command::Tell(sender));
        receiver.recv_timeout(Duration::from_secs(5)).unwrap_or_default()
    }

    /// The counters of the devices; empty after the stack has ended.
    #[must_use]
    pub fn counters(&self) -> Vec<Counters> {
        let (sender, receiver) = channel();
        self.mailbox.post(Command::Count(sender));
        receiver.recv_timeout(Duration::from_secs(5)).unwrap_or_default()
    }

    /// Changes the impairment of a device's packets.
    pub fn impair(&self, device: usize, impair: Impair) {
        self.mailbox.post(Command::Impair(device, Box::new(impair)));
    }

    /// Stops the stack. Open connections are dropped without notice to their peers.
    ///
    /// # Errors
    /// Why the stack had failed before.
    pub fn stop(&self) -> Result<(), String> {
        self.mailbox.post(Command::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread.map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => Err(words(&*panic)),
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

struct Worker {
    driver: Driver,
    mailbox: Arc<Mailbox>,
    clock: Clock,
    /// Connections that a program has opened or accepted, or that wait to be accepted.
    sockets: BTreeMap<ConnectionId, Arc<Shared>>,
    /// Connections without a program, by the time of their next check.
    orphans: BTreeSet<(u64, ConnectionId)>,
}

impl Worker {
    fn run(mut self) -> Result<(), String> {
        // Programs wait for this thread: however it ends, they are told.
        let ended = catch_unwind(AssertUnwindSafe(|| self.work())).unwrap_or_else(|panic| Err(words(&*panic)));
        self.mailbox.end(ended.as_ref().err().map(|why| why.as_str().into()));
        for socket in self.sockets.values() {
            socket.shut_down();
        }
        ended
    }

    fn work(&mut self) -> Result<(), String> {
        loop {
            let now_ns = self.clock.now_ns();
            for command in self.mailbox.take() {
                if let Command::Stop = command {
                    return Ok(());
                }
                self.obey(now_ns, command);
            }
            let more = self.driver.receive(now_ns).map_err(|error| format!("a device cannot be read: {error}"))?;
            self.driver.handle_timeouts(now_ns);
            self.end_orphans(now_ns);
            while let Some(id) = self.driver.next_accepted() {
                self.offer(now_ns, id);
            }
            while let Some(id) = self.driver.next_touched() {
                if let Some(socket) = self.sockets.get(&id) {
                    socket.serve(now_ns, id, self.driver.serving(id), &self.mailbox.budget);
                }
                self.driver.transmit(now_ns, id).map_err(|error| error.to_string())?;
                self.settle(now_ns, id);
            }
            self.driver.transmit_others(now_ns).map_err(|error| error.to_string())?;
            if !more {
                self.wait().map_err(|error| format!("waiting failed: {error}"))?;
            }
        }
    }

    /// Queues a connection opened by a peer for acceptance, unless too many are waiting.
    fn offer(&mut self, now_ns: u64, id: ConnectionId) {
        let port = self.driver.connection(id).tuple(transport::SubflowId(0)).local.port();
        let shared = Arc::new(Shared::default());
        let mut accepted = self.mailbox.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = accepted.entry(port).or_default();
        if waiting.len() >= ACCEPT_LIMIT {
            waiting.retain(|shared| shared.ended() != Some(Ended::Aborted));
        }
        if waiting.len() < ACCEPT_LIMIT {
            waiting.push_back(Arc::clone(&shared));
            self.mailbox.arrived.notify_all();
        } else {
            self.driver.connection_mut(id).abort(Instant::from_nanos(now_ns));
            self.driver.retire(id);
        }
        self.sockets.insert(id, shared);
    }

    /// Releases a connection that is over, and checks one without a program.
    fn settle(&mut self, now_ns: u64, id: ConnectionId) {
        let Some(socket) = self.sockets.get(&id) else { return };
        if !self.driver.host().has(id) {
            self.sockets.remove(&id); // refused before a program accepted it
        } else if self.driver.connection(id).is_at_rest() {
            if let Some(at_ns) = socket.orphan_ns() {
                self.orphans.remove(&(at_ns, id));
            }
            socket.release(ConnectionState::of(self.driver.connection(id)), &self.mailbox.budget);
            self.sockets.remove(&id);
            self.driver.release(now_ns, id);
        } else if socket.orphan(now_ns + ORPHAN_NS) {
            self.orphans.insert((now_ns + ORPHAN_NS, id));
        }
    }

    /// Resets connections without a program whose peers are silent.
    fn end_orphans(&mut self, now_ns: u64) {
        while let Some(&(at_ns, id)) = self.orphans.first().filter(|(at_ns, _)| *at_ns <= now_ns) {
            self.orphans.remove(&(at_ns, id));
            let Some(socket) = self.sockets.get(&id) else { continue };
            if socket.has_gone_on(now_ns + ORPHAN_NS) {
                self.orphans.insert((now_ns + ORPHAN_NS, id));
            } else {
                self.driver.connection_mut(id).abort(Instant::from_nanos(now_ns));
            }
        }
    }

    fn obey(&mut self, now_ns: u64, command: Command) {
        match command {
            Command::Connect { config, from, remote, shared } => {
                match self.driver.connect(now_ns, *config, &from, remote) {
                    Some(id) => _ = self.sockets.insert(id, shared),
                    None => shared.shut_down(),
                }
            }
            Command::Listen { port, config } => self.driver.listen(port, *config),
            Command::Serve(shared) => {
                if let Some(id) = self.id_of(&shared) {
                    self.driver.touch(id);
                }
            }
            Command::Abort(shared) => {
                if let Some(id) = self.id_of(&shared) {
                    self.driver.connection_mut(id).abort(Instant::from_nanos(now_ns));
                }
            }
            Command::Act(shared, action) => {
                if let Some(id) = self.id_of(&shared) {
                    self.driver.connection_mut(id).act(Instant::from_nanos(now_ns), action);
                }
            }
            Command::Look(shared, answer) => {
                if let Some(id) = self.id_of(&shared) {
                    let _ = answer.send(ConnectionState::of(self.driver.connection(id)));
                } // else the sender is dropped, which is the answer
            }
            Command::Tell(answer) => {
                let host = self.driver.host();
                let (half_open, dropped) = host.backlog_counts();
                let (connections, time_wait) = (host.connection_count(), host.time_wait_count());
                let bytes = self.mailbox.budget.held();
                let _ = answer.send(Held { connections, half_open, dropped, time_wait, bytes });
            }
            Command::Count(answer) => {
                let _ = answer.send(self.driver.devices().iter().map(Device::counters).collect());
            }
            Command::Impair(device, impair) => {
                if device < self.driver.devices().len() {
                    self.driver.device_mut(device).impair(Impairment::new(*impair));
                }
            }
            Command::Stop => {}
            #[cfg(test)]
            Command::Panic => panic!("on purpose"),
        }
    }

    /// The identifier of a socket's connection, while the stack has it.
    fn id_of(&self, shared: &Arc<Shared>) -> Option<ConnectionId> {
        shared.id().filter(|id| self.sockets.get(id).is_some_and(|known| Arc::ptr_eq(known, shared)))
    }

    fn wait(&mut self) -> std::io::Result<()> {
        let orphan_ns = self.orphans.first().map_or(u64::MAX, |&(at_ns, ..)| at_ns);
        let until_ns = self.driver.next_ns().min(orphan_ns).saturating_sub(self.clock.now_ns());
        let timeout = Timespec {
            tv_sec: (until_ns / 1_000_000_000).min(3_600) as i64,
            tv_nsec: (until_ns % 1_000_000_000) as i64,
        };
        let devices = self.driver.devices().iter();
        let mut waiting: Vec<PollFd<'_>> =
            devices.map(|device| PollFd::from_borrowed_fd(device.descriptor(), PollFlags::IN)).collect();
        waiting.push(PollFd::new(&self.mailbox.wake, PollFlags::IN));
        match poll(&mut waiting, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("its thread panicked: {}", text.unwrap_or("without a word"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;
    use crate::stack::{Address, Chunk, Options};

    const LONG: Duration = Duration::from_secs(60);

    /// A stack on a device whose other end is not read.
    fn alone() -> (Stack, UnixDatagram) {
        let (near, far) = UnixDatagram::pair().unwrap();
        let address = Address { id: 0, address: "10.0.0.1".parse().unwrap(), device: 0, backup: false };
        let settings = Settings { addresses: vec![address], seed: 1 };
        (Stack::start(&settings, vec![near.into()]).unwrap(), far)
    }

    /// No caller waits a minute for a thread that has ended, and every caller learns why: those already waiting, and
    /// later ones.
    #[test]
    fn a_thread_that_panics_wakes_everybody_with_the_error() {
        let (stack, _far) = alone();
        let config = || Options::default().config().unwrap();
        let remote = "10.0.0.2:80".parse().unwrap();
        stack.listen(80, config());
        let opened = stack.connect(config(), Vec::new(), remote);
        let why = SocketError::Failed("its thread panicked: on purpose".into());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| opened.wait_established(LONG));
            let accepts = scope.spawn(|| stack.accept(80, LONG).err());
            let reads = scope.spawn(|| opened.read(1, LONG).err());
            stack.mailbox.post(Command::Panic);
            assert_eq!(waits.join().unwrap(), Err(why.clone()));
            assert_eq!(accepts.join().unwrap(), Some(why.clone()));
            assert_eq!(reads.join().unwrap(), Some(why.clone()));
        });
        let later = stack.connect(config(), Vec::new(), remote);
        assert_eq!(later.wait_established(LONG), Err(why.clone()));
        assert_eq!(later.write(Chunk::from(vec![1]), LONG), Ok(()), "it is only put down");
        assert_eq!(later.wait_flushed(LONG), Err(why.clone()));
        assert_eq!(stack.accept(80, LONG).err(), Some(why));
        assert_eq!(stack.held(), Held::default());
        assert!(stack.look(&later).is_none());
        assert_eq!(stack.stop(), Err("its thread panicked: on purpose".into()));
    }

    #[test]
    fn a_stack_that_is_stopped_says_so() {
        let (stack, _far) = alone();
        let config = Options::default().config().unwrap();
        let opened = stack.connect(config, Vec::new(), "10.0.0.2:80".parse().unwrap());
        assert_eq!(stack.stop(), Ok(()));
        assert_eq!(opened.wait_established(LONG), Err(SocketError::ShutDown));
        assert_eq!(stack.accept(80, LONG).err(), Some(SocketError::ShutDown));
    }
}
