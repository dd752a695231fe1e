//! A machine's transport: its connections, which of them a segment belongs to, and who may open new ones.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use wire::{Compact, IcmpError, MpJoin, MptcpOption, Options, RareOptions, SackBlocks, Segment};

use crate::backlog::Backlog;
use crate::by_tuple::ByTuple;
use crate::mptcp::at_once::agreed_keys;
use crate::mptcp::{Connection, ResetReason};
use crate::names::{ConnectionId, Handle, SubflowId, Tuple};
use crate::queue::Sendable;
use crate::secrets::Secrets;
use crate::tcp::subflow::ResetAnswer;
use crate::time::Instant;
use crate::time_wait::{TimeWait, Verdict};
use crate::unicast::is_unicast;
use crate::{Config, LocalAddress};

/// RFC 6056 §3.2: "should use the whole range of available port numbers", the registered ones included.
const EPHEMERAL_PORTS: std::ops::RangeInclusive<u16> = 1024..=u16::MAX;

/// Resets and the like that wait to be sent are no more than these: a flood of strays must not pile up answers.
const MAX_OUTGOING: usize = 4_096;

/// A machine's transport.
#[derive(Debug)]
pub struct Host<P: Sendable> {
    secrets: Secrets,
    connections: Vec<Option<Connection<P>>>,
    /// Places of connections that were forgotten, the last one first.
    free: Vec<u32>,
    listeners: BTreeMap<u16, Arc<Config>>,
    addresses: Vec<LocalAddress>,
    by_tuple: ByTuple,
    /// By what [stands for](Secrets::blinded) the token.
    by_token: BTreeMap<u64, ConnectionId>,
    outgoing: VecDeque<(Tuple, Segment<P>)>,
    backlog: Option<Backlog>,
    time_wait: TimeWait<P>,
}

impl<P: Sendable> Host<P> {
    /// A host without connections, for simulation: keys, nonces and initial sequence numbers are drawn from `rng`, and who
    /// knows its seed knows them.
    #[must_use]
    pub fn new(rng: Xoshiro256PlusPlus) -> Self {
        Self::with(Secrets::seeded(rng))
    }

    /// A host without connections, for real packets. `fill` writes random bytes that nobody can guess, the operating system's;
    /// keys, nonces and the key behind initial sequence numbers (RFC 6528) are drawn from it. `rng` is for plug-ins.
    #[must_use]
    pub fn with_source(rng: Xoshiro256PlusPlus, fill: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Self {
        Self::with(Secrets::system(rng, Box::new(fill)))
    }

    fn with(secrets: Secrets) -> Self {
        Host {
            secrets,
            connections: Vec::new(),
            free: Vec::new(),
            listeners: BTreeMap::new(),
            addresses: Vec::new(),
            by_tuple: ByTuple::default(),
            by_token: BTreeMap::new(),
            outgoing: VecDeque::new(),
            backlog: None,
            time_wait: TimeWait::new(),
        }
    }

    /// From now on at most `half_open` connections that strangers have begun may wait for the end of their handshakes: one
    /// more, and the oldest is forgotten without a word, which the driver hears of from [`Host::take_dropped`]. Those whose
    /// handshake is over come out of [`Host::next_accepted`]. Without this, as in a simulation, there is no limit.
    pub fn limit_backlog(&mut self, half_open: usize) {
        self.backlog = Some(Backlog::new(half_open));
    }

    /// A connection that a peer has opened and whose handshake is over; each once. For a host with a
    /// [limited backlog](Host::limit_backlog).
    pub fn next_accepted(&mut self) -> Option<ConnectionId> {
        self.backlog.as_mut()?.next_accepted()
    }

    /// Half-open connections that were forgotten since the last call. Their ids may already name others.
    pub fn take_dropped(&mut self) -> Vec<ConnectionId> {
        self.backlog.as_mut().map_or_else(Vec::new, Backlog::take_dropped)
    }

    /// How many connections are half-open, and how many had to go before their handshake was over.
    pub fn backlog_counts(&self) -> (usize, u64) {
        self.backlog.as_ref().map_or((0, 0), Backlog::counts)
    }

    /// How many subflows are in TIME-WAIT without their connection.
    pub fn time_wait_count(&self) -> usize {
        self.time_wait.len()
    }

    /// Accepts connections to `port` on any address, each made with `config`.
    pub fn listen(&mut self, port: u16, config: impl Into<Arc<Config>>) {
        self.listeners.insert(port, config.into());
    }

    /// The addresses of this host that connections accepted from now on may use and announce; their ids are not 0, which
    /// is the id of the address that a connection came to.
    pub fn set_addresses(&mut self, addresses: &[LocalAddress]) {
        self.addresses = addresses.to_vec();
    }

    /// Opens a connection from `local[0]` and `local_port`; its SYN comes out of [`Connection::transmit`]. The other
    /// addresses are the path manager's. No other subflow may have these ends: see [`Host::is_in_use`] and
    /// [`Host::free_port`]. Panics when `local` is empty.
    pub fn connect(
        &mut self,
        now: Instant,
        config: impl Into<Arc<Config>>,
        local: &[LocalAddress],
        local_port: u16,
        remote: SocketAddr,
    ) -> ConnectionId {
        let config = config.into();
        let tuple = Tuple { local: SocketAddr::new(local[0].address, local_port), remote };
        let (mut key, secrets) = self.draw_key();
        if config.joins_at_once {
            key = agreed_keys(tuple.local, tuple.remote)[0];
        }
        let connection = Connection::open(now, config, local, tuple, key, secrets);
        let id = self.add(connection);
        self.adopt_new_subflows(id);
        id
    }

    /// A port for a connection from a local address: a random one (RFC 6056 §3.3.1), or the next one after it that no subflow
    /// between these ends has and nobody listens on. None: all are in use.
    pub fn free_port(&mut self, local: IpAddr, remote: SocketAddr) -> Option<u16> {
        let count = EPHEMERAL_PORTS.count() as u32;
        let first = self.secrets.draw_u32() % count;
        (0..count).map(|step| *EPHEMERAL_PORTS.start() + ((first + step) % count) as u16).find(|port| {
            let tuple = Tuple { local: SocketAddr::new(local, *port), remote };
            !self.is_in_use(tuple) && !self.listeners.contains_key(port)
        })
    }

    /// Whether a subflow between these ends is open, or past its end but not past its TIME-WAIT.
    pub fn is_in_use(&self, tuple: Tuple) -> bool {
        self.by_tuple.get(&tuple).is_some_and(|at| !self.connection(at.connection).is_closed(at.subflow))
            || self.time_wait.contains(&tuple)
    }

    /// A key whose token no connection of this host has (RFC 8684 §3.1), and a source for the connection's draws.
    fn draw_key(&mut self) -> (u64, Secrets) {
        let key = loop {
            let key = self.secrets.draw_u64();
            if !self.by_token.contains_key(&self.secrets.blinded(wire::keys::token(key))) {
                break key;
            }
        };
        (key, self.secrets.for_connection())
    }

    fn add(&mut self, connection: Connection<P>) -> ConnectionId {
        let id = ConnectionId(self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() as u32 - 1
        }));
        if let Some(token) = connection.local_token() {
            self.by_token.insert(self.secrets.blinded(token), id);
        }
        self.connections[id.0 as usize] = Some(connection);
        id
    }

    /// Enters the subflows that a connection opened since the last call, so that their segments find it.
    #[cold]
    fn adopt_new_subflows(&mut self, id: ConnectionId) {
        let connection = self.connections[id.0 as usize].as_mut().expect(KNOWN);
        for (tuple, subflow) in connection.take_reclaimed() {
            if self.by_tuple.get(&tuple) == Some(Handle { connection: id, subflow }) {
                self.by_tuple.remove(&tuple);
            }
        }
        while let Some(subflow) = connection.next_unadopted() {
            let by_tuple = &mut self.by_tuple;
            if let Some(tuple) = connection.settle_port(subflow, |tuple| by_tuple.contains(tuple)) {
                by_tuple.insert(tuple, Handle { connection: id, subflow });
            }
        }
    }

    /// A segment from the network. Finds its subflow, or opens one: a connection for a SYN to a listening port, a
    /// subflow for an MP_JOIN with a known token. A stray is answered with a reset, which waits in
    /// [`Host::transmit`], and the answer is `None`.
    pub fn receive(&mut self, now: Instant, tuple: Tuple, mut segment: Segment<P>) -> Option<Handle> {
        let opens = segment.flags.syn() && !segment.flags.ack() && !segment.flags.rst();
        if let Some(at) = self.by_tuple.get(&tuple) {
            if !(opens && self.connection(at.connection).is_closed(at.subflow)) {
                self.receive_on(now, at, &mut segment);
                if self.backlog.as_ref().is_some_and(|backlog| backlog.is_half_open(at.connection)) {
                    self.note_handshake(at.connection);
                }
                return Some(at);
            }
            // The peer uses the port again: what was here is closed, and closed is as if it were not (RFC 9293 §3.3.2).
            self.by_tuple.remove(&tuple);
        }
        if !is_unicast(tuple.local.ip()) || !is_unicast(tuple.remote.ip()) {
            return None; // RFC 9293 §3.9.2.3, MUST-57 and MUST-63: without an answer, which would go to a group
        }
        match self.time_wait.receive(now, tuple, &segment) {
            Some(Verdict::Answer(answer)) => {
                if let Some(answer) = answer {
                    self.say(tuple, answer);
                }
                return None;
            }
            Some(Verdict::Open) | None => {}
        }
        if opens {
            let join = segment.options.rare.as_ref().and_then(|rare| {
                rare.mptcp.iter().find_map(|o| match o {
                    MptcpOption::MpJoin(MpJoin::Syn { token, .. }) => Some(*token),
                    _ => None,
                })
            });
            match join {
                Some(token) => match self.accept_join(now, tuple, token, &segment) {
                    Ok(handle) => return Some(handle),
                    Err((reason, transient)) => {
                        self.refuse(tuple, &segment, Some(reason.option(transient)));
                        return None;
                    }
                },
                None => {
                    if let Some(handle) = self.accept(now, tuple, &segment) {
                        return Some(handle);
                    }
                }
            }
        }
        let control = segment.flags.syn() || segment.flags.ack();
        if control || !self.listeners.contains_key(&tuple.local.port()) {
            self.refuse(tuple, &segment, None); // LISTEN drops what has neither SYN nor ACK (RFC 9293 §3.10.7.2, fourth)
        }
        None
    }

    /// An ICMP error has come to this host. Finds the subflow whose segment it quotes (RFC 9293, MUST-54), which
    /// [judges it](Connection::icmp).
    pub fn icmp(&mut self, now: Instant, error: &IcmpError) -> Option<Handle> {
        let at = self.subflow_at(Tuple { local: error.local, remote: error.remote })?;
        self.connection_mut(at.connection).icmp(now, at.subflow, error);
        if self.backlog.as_ref().is_some_and(|backlog| backlog.is_half_open(at.connection)) {
            self.note_handshake(at.connection);
        }
        Some(at)
    }

    fn accept(&mut self, now: Instant, tuple: Tuple, syn: &Segment<P>) -> Option<Handle> {
        let config = self.listeners.get(&tuple.local.port())?.clone();
        if let Some(oldest) = self.backlog.as_mut().and_then(Backlog::make_room) {
            self.forget(oldest);
        }
        let (mut key, secrets) = self.draw_key();
        if config.joins_at_once {
            key = agreed_keys(tuple.remote, tuple.local)[1];
        }
        let connection = Connection::accept(now, config, &self.addresses, tuple, key, secrets, syn);
        let id = self.add(connection);
        if let Some(backlog) = &mut self.backlog {
            backlog.begin(id);
        }
        self.adopt_new_subflows(id);
        Some(Handle { connection: id, subflow: SubflowId(0) })
    }

    fn accept_join(
        &mut self,
        now: Instant,
        tuple: Tuple,
        token: u32,
        syn: &Segment<P>,
    ) -> Result<Handle, (ResetReason, bool)> {
        // RFC 8684 §3.2: an unknown token is refused with a reset that names an MPTCP-specific error.
        let id = *self.by_token.get(&self.secrets.blinded(token)).ok_or((ResetReason::MptcpError, false))?;
        let subflow = self.connection_mut(id).accept_join(now, tuple, syn)?;
        self.adopt_new_subflows(id);
        Ok(Handle { connection: id, subflow })
    }

    /// RFC 9293 §3.10.7.1: a segment for nobody is answered with a reset.
    fn refuse(&mut self, tuple: Tuple, segment: &Segment<P>, why: Option<MptcpOption>) {
        let Some(ResetAnswer { seq, ack, flags }) = ResetAnswer::to(segment) else { return };
        let rare = why.map(|why| Box::new(RareOptions { mptcp: vec![why], ..RareOptions::default() }));
        let reset = Segment {
            src_port: tuple.local.port(),
            dst_port: tuple.remote.port(),
            seq,
            ack,
            flags,
            window: 0,
            urgent: 0,
            options: Options { rare, ..Options::default() },
            payload: P::empty(),
        };
        self.say(tuple, reset);
    }

    /// Sends a segment that belongs to no connection; when too many wait, it is as if it were lost.
    fn say(&mut self, tuple: Tuple, segment: Segment<P>) {
        if self.outgoing.len() < MAX_OUTGOING {
            self.outgoing.push_back((tuple, segment));
        }
    }

    /// Something has come for a half-open connection.
    fn note_handshake(&mut self, id: ConnectionId) {
        let connection = self.connection(id);
        let (established, over) = (connection.is_established(), connection.is_over());
        if let Some(backlog) = self.backlog.as_mut().filter(|_| established || over) {
            backlog.end(id, established);
        }
    }

    /// Frees a connection that is over, of which nothing is left to read, to hear or to send, as [`Host::forget`] does, but
    /// keeps the ends of its subflows that are in TIME-WAIT for the rest of that time. Answers whether it could be done.
    pub fn rest(&mut self, now: Instant, id: ConnectionId) -> bool {
        let Some(connection) = self.connections.get_mut(id.0 as usize).and_then(Option::as_mut) else { return false };
        if !connection.is_at_rest() {
            return false;
        }
        let resting = connection.take_resting(now);
        self.forget(id);
        for (tuple, resting) in resting {
            self.time_wait.insert(tuple, resting);
        }
        true
    }

    /// Forgets what was in TIME-WAIT long enough.
    pub fn expire(&mut self, now: Instant) {
        self.time_wait.expire(now);
    }

    /// A segment from the network for a subflow that the driver knows already. Its content is taken out of it.
    pub fn receive_on(&mut self, now: Instant, at: Handle, segment: &mut Segment<P>) {
        let connection = self.connections[at.connection.0 as usize].as_mut().expect(KNOWN);
        connection.receive(now, at.subflow, segment);
        if connection.has_unadopted() {
            self.adopt_new_subflows(at.connection);
        }
    }

    /// As [`Self::receive_on`], for a segment in little room, or a bare acknowledgment with SACK blocks; `whole` is written over if
    /// need be. Answers [`Connection::has_freed`].
    #[inline(always)]
    pub fn receive_compact_on(
        &mut self,
        now: Instant,
        at: Handle,
        segment: &mut Compact<P>,
        blocks: &SackBlocks,
        whole: &mut Segment<P>,
    ) -> bool {
        let connection = self.connections[at.connection.0 as usize].as_mut().expect(KNOWN);
        connection.receive_compact(now, at.subflow, segment, blocks, whole);
        let freed = connection.has_freed();
        if connection.has_unadopted() {
            self.adopt_new_subflows(at.connection);
        }
        freed
    }

    /// Where a connection stands in memory, and how many bytes it takes there: for a driver that knows to whom the next
    /// segments go, and has them brought into the cache.
    #[inline]
    pub fn memory_of_connection(&self, id: ConnectionId) -> Option<(*const u8, usize)> {
        let place = std::ptr::from_ref(self.connections.get(id.0 as usize)?);
        Some((place.cast(), Connection::<P>::HOT_BYTES))
    }

    /// As [`Self::memory_of_connection`], for a subflow; the connection must be looked at for this.
    #[inline]
    pub fn memory_of_subflow(&self, at: Handle) -> Option<(*const u8, usize)> {
        self.connections.get(at.connection.0 as usize)?.as_ref()?.memory_of(at.subflow)
    }

    /// The subflow with these ends.
    pub fn subflow_at(&self, tuple: Tuple) -> Option<Handle> {
        self.by_tuple.get(&tuple)
    }

    /// Segments that belong to no connection: resets in answer to strays.
    pub fn transmit(&mut self) -> Option<(Tuple, Segment<P>)> {
        self.outgoing.pop_front()
    }

    /// A connection. Panics when there is none with this id.
    pub fn connection(&self, id: ConnectionId) -> &Connection<P> {
        self.connections[id.0 as usize].as_ref().expect(KNOWN)
    }

    /// A connection, to act on it. Panics when there is none with this id.
    #[inline]
    pub fn connection_mut(&mut self, id: ConnectionId) -> &mut Connection<P> {
        if self.connections[id.0 as usize].as_ref().expect(KNOWN).has_unadopted() {
            self.adopt_new_subflows(id); // opened by a timer or by the application
        }
        self.connections[id.0 as usize].as_mut().expect(KNOWN)
    }

    /// As [`Self::connection_mut`], where nothing can have opened a subflow since that was called, or since a segment was
    /// received for it.
    #[inline]
    pub fn known_connection_mut(&mut self, id: ConnectionId) -> &mut Connection<P> {
        let connection = self.connections[id.0 as usize].as_mut().expect(KNOWN);
        debug_assert!(!connection.has_unadopted());
        connection
    }

    /// Frees a connection with all it holds, whatever its state; its id goes to a later one. What still comes for it is
    /// a stray and answered with a reset, so a driver does this when [`Connection::is_forgettable`] says so, or when it
    /// knows that nothing is on its way any more. Answers whether there was one with this id.
    pub fn forget(&mut self, id: ConnectionId) -> bool {
        let place = self.connections.get_mut(id.0 as usize);
        let Some(connection) = place.and_then(Option::take) else { return false };
        for subflow in 0..connection.subflow_count() {
            let tuple = connection.tuple(SubflowId(subflow as u8));
            if self.by_tuple.get(&tuple).is_some_and(|at| at.connection == id) {
                self.by_tuple.remove(&tuple);
            }
        }
        // A connection that fell back to TCP was entered with its token all the same.
        let token = self.secrets.blinded(wire::keys::token(connection.local_key()));
        if self.by_token.get(&token) == Some(&id) {
            self.by_token.remove(&token);
        }
        if let Some(backlog) = &mut self.backlog {
            backlog.end(id, false);
        }
        self.free.push(id.0);
        true
    }

    /// Whether the id names a connection that was not forgotten.
    pub fn has(&self, id: ConnectionId) -> bool {
        self.connections.get(id.0 as usize).is_some_and(Option::is_some)
    }

    /// How many connections there are that were not forgotten.
    pub fn connection_count(&self) -> usize {
        self.connections.len() - self.free.len()
    }
}

/// Why an id must name a connection.
const KNOWN: &str = "the id names a connection that was not forgotten";
