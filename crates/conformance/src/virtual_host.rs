//! Our transport in virtual time.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::path_manager::{self, PathAction};
use transport::{
    AbortReason, Config, Connection, ConnectionId, Event, Host, Instant, IpFields, LocalAddress, Protocol,
    ReceiveBuffer, Tuple, congestion,
};
use wire::{IpHeader, Segment};

use crate::case::{Action, Settings, Sight};
use crate::content;
use crate::subject::{Cannot, Subject};

/// Times may be missed by a tick of the timestamp clock.
const TOLERANCE_NS: u64 = 1_000_000;
/// A case may begin with a segment of an old connection, so time does not begin at 0.
const BEGINNING_NS: u64 = 1_000_000_000;

/// A host in virtual time.
pub struct VirtualHost {
    host: Host<Vec<u8>>,
    config: Config,
    addresses: Vec<LocalAddress>,
    now_ns: u64,
    connections: Vec<ConnectionId>,
    sent: VecDeque<(u64, Vec<u8>)>,
    written: u64,
    read: u64,
    events: Vec<Event>,
}

impl VirtualHost {
    /// A host as the case describes it.
    #[must_use]
    pub fn new(settings: &Settings) -> VirtualHost {
        let mut config = Config {
            protocol: if settings.mptcp { Protocol::Mptcp } else { Protocol::Tcp },
            mss: settings.mss,
            checksum: settings.checksum,
            join_first_address: settings.join_first_address,
            congestion: congestion::Choice::named("reno").expect("in the table"),
            ..Config::default()
        };
        if !settings.joins {
            config.path_manager = path_manager::Choice::named("default").expect("in the table");
        }
        if let Some(bytes) = settings.buffer {
            config.receive_buffer = ReceiveBuffer::Fixed(bytes);
        }
        config.tcp.sack = settings.sack;
        config.tcp.timestamps = settings.timestamps;
        config.tcp.nagle = settings.nagle;
        config.tcp.ecn = settings.ecn;
        config.tcp.syn_retries = settings.syn_retries;
        config.tcp.retries = settings.retries;
        config.ip = IpFields { hop_limit: settings.ttl, dscp: settings.dscp };
        let mut addresses = vec![LocalAddress { id: 0, address: IpAddr::from([10, 0, 0, 1]), backup: false }];
        addresses.extend(settings.addresses.iter().map(|&(id, address)| LocalAddress { id, address, backup: false }));
        let mut host = Host::new(Xoshiro256PlusPlus::seed_from_u64(7));
        host.set_addresses(&addresses);
        VirtualHost {
            host,
            config,
            addresses,
            now_ns: BEGINNING_NS,
            connections: Vec::new(),
            sent: VecDeque::new(),
            written: 0,
            read: 0,
            events: Vec::new(),
        }
    }

    /// The connection of the application: the first one.
    fn id(&self) -> Result<ConnectionId, Cannot> {
        self.connections.first().copied().ok_or_else(|| Cannot("there is no connection yet".to_owned()))
    }

    fn connection(&self) -> Option<&Connection<Vec<u8>>> {
        Some(self.host.connection(*self.connections.first()?))
    }

    fn deadline_ns(&self) -> u64 {
        self.connections.iter().map(|&id| self.host.connection(id).next_timeout().as_nanos()).min().unwrap_or(u64::MAX)
    }

    /// Puts on the wire what the host has to say.
    fn collect(&mut self) {
        let mut out = Vec::new();
        while let Some((tuple, segment)) = self.host.transmit() {
            out.push((tuple, IpFields::default(), segment));
        }
        for &id in &self.connections {
            let connection = self.host.connection_mut(id);
            while let Some((subflow, segment)) = connection.transmit(Instant::from_nanos(self.now_ns)) {
                out.push((connection.tuple(subflow), connection.ip_fields(), segment));
            }
            while let Some(event) = connection.poll_event() {
                if self.connections.first() == Some(&id) {
                    self.events.push(event);
                }
            }
        }
        for (tuple, IpFields { hop_limit, dscp }, segment) in out {
            let mut packet = Vec::new();
            let ip = IpHeader { hop_limit, dscp, ..IpHeader::new(tuple.local.ip(), tuple.remote.ip()) };
            wire::encode(&ip, &segment, &mut packet).expect("what the transport sends can be written");
            self.sent.push_back((self.now_ns - BEGINNING_NS, packet));
        }
    }

    fn has_event(&self, event: Event) -> bool {
        self.events.contains(&event)
    }

    fn state(&self, ends: (SocketAddr, SocketAddr)) -> &'static str {
        let tuple = Tuple { local: ends.0, remote: ends.1 };
        match self.host.subflow_at(tuple) {
            Some(at) => self.host.connection(at.connection).state(at.subflow),
            None => "CLOSED",
        }
    }
}

impl Subject for VirtualHost {
    fn now_ns(&self) -> u64 {
        self.now_ns - BEGINNING_NS
    }

    fn go_on(&mut self, until_ns: u64) -> bool {
        let until_ns = (until_ns + BEGINNING_NS).max(self.now_ns);
        loop {
            self.collect();
            if !self.sent.is_empty() {
                return true;
            }
            let at_ns = self.deadline_ns();
            if at_ns > until_ns {
                self.now_ns = until_ns;
                return false;
            }
            self.now_ns = at_ns.max(self.now_ns);
            for index in 0..self.connections.len() {
                let connection = self.host.connection_mut(self.connections[index]);
                if connection.next_timeout().as_nanos() <= self.now_ns {
                    connection.handle_timeout(Instant::from_nanos(self.now_ns));
                }
            }
        }
    }

    fn take(&mut self) -> Option<(u64, Vec<u8>)> {
        self.sent.pop_front()
    }

    fn arrive(&mut self, packet: &[u8]) {
        // What cannot be read is dropped, as the engine on real packets does.
        let Ok((ip, segment)) = wire::decode(packet) else {
            if let Some(error) = wire::decode_icmp(packet) {
                self.host.icmp(Instant::from_nanos(self.now_ns), &error);
                self.collect();
            }
            return;
        };
        let segment: Segment<Vec<u8>> = segment;
        let local = SocketAddr::new(ip.dst, segment.dst_port);
        let remote = SocketAddr::new(ip.src, segment.src_port);
        if let Some(at) = self.host.receive(Instant::from_nanos(self.now_ns), Tuple { local, remote }, segment)
            && !self.connections.contains(&at.connection)
        {
            self.connections.push(at.connection);
        }
        self.collect();
    }

    fn act(&mut self, action: Action, ends: (SocketAddr, SocketAddr)) -> Result<(), Cannot> {
        let now = Instant::from_nanos(self.now_ns);
        match action {
            Action::Listen => self.host.listen(ends.0.port(), self.config.clone()),
            Action::Connect => {
                let port = self.host.free_port(ends.0.ip(), ends.1).ok_or_else(|| Cannot("no port".to_owned()))?;
                let id = self.host.connect(now, self.config.clone(), &self.addresses.clone(), port, ends.1);
                self.connections.push(id);
            }
            _ => {
                let id = self.id()?;
                let connection = self.host.connection_mut(id);
                match action {
                    Action::Write(bytes) => {
                        connection.write(content::bytes(self.written, bytes as usize));
                        self.written += bytes;
                    }
                    Action::Read(most) => {
                        let mut got = 0;
                        while most.is_none_or(|most| got < most)
                            && let Some(piece) = connection.read()
                        {
                            got += piece.len() as u64;
                        }
                        self.read += got;
                    }
                    Action::Dscp(dscp) => {
                        connection.set_ip_fields(IpFields { dscp, ..connection.ip_fields() });
                    }
                    Action::Shutdown => connection.close(now),
                    Action::Close => connection.close_both(now),
                    Action::Abort => connection.abort(now),
                    Action::Announce(id) => {
                        connection.act(now, PathAction::Announce { local_id: id, port: None });
                    }
                    Action::Withdraw(id) => connection.act(now, PathAction::Withdraw { local_id: id }),
                    Action::Backup(backup) => {
                        connection.act(now, PathAction::SetBackup { local_id: 0, remote_id: 0, backup });
                    }
                    Action::Join(local_id, remote_id) => {
                        connection.act(now, PathAction::Join { local_id, remote_id, backup: false });
                    }
                    Action::Listen | Action::Connect => {}
                }
            }
        }
        self.collect();
        Ok(())
    }

    fn see(&mut self, sight: &Sight, ends: (SocketAddr, SocketAddr)) -> Result<Result<(), String>, Cannot> {
        let yes = |holds: bool, otherwise: String| if holds { Ok(()) } else { Err(otherwise) };
        if let Sight::State(_, wanted) = sight {
            let found = self.state(ends);
            return Ok(yes(found == wanted, format!("the state is {found}")));
        }
        let aborted = self.has_event(Event::Aborted);
        let Some(connection) = self.connection() else {
            return Ok(yes(*sight == Sight::Unestablished, "there is no connection".to_owned()));
        };
        Ok(match sight {
            Sight::Readable(bytes) => {
                let found = connection.bytes_in_order() - self.read;
                yes(found == *bytes, format!("{found} bytes can be read"))
            }
            Sight::End => {
                let left = connection.bytes_in_order() - self.read;
                yes(self.has_event(Event::EndOfStream) && left == 0, format!("{left} bytes are left and no end"))
            }
            Sight::Aborted(reason) => {
                let found = connection.abort_reason().map(|found| match found {
                    AbortReason::Refused => "refused",
                    AbortReason::Reset => "reset",
                    AbortReason::TimedOut => "timed-out",
                    AbortReason::FastClose => "fast-close",
                    AbortReason::Local => "by this host",
                });
                let fits = reason.as_deref().is_none_or(|wanted| found == Some(wanted));
                yes(aborted && fits, format!("aborted is {aborted}, the reason {found:?}"))
            }
            Sight::SoftError => {
                let told = self.events.iter().any(|event| matches!(event, Event::SoftError(..)));
                yes(told, "it was told of none".to_owned())
            }
            Sight::Unresponsive => {
                let told = self.events.iter().any(|event| matches!(event, Event::Unresponsive(_)));
                yes(told, "it was not told".to_owned())
            }
            Sight::Open => yes(!connection.is_over(), "the connection is over".to_owned()),
            Sight::Mptcp => yes(!connection.is_fallback(), "TCP is spoken".to_owned()),
            Sight::Tcp => {
                let tcp = self.config.protocol == Protocol::Tcp || connection.is_fallback();
                yes(tcp, "Multipath TCP is spoken".to_owned())
            }
            Sight::Established => yes(connection.is_established(), "it is not established".to_owned()),
            Sight::Unestablished => yes(!connection.is_established(), "it is established".to_owned()),
            Sight::Flushed => {
                let left = connection.bytes_unacknowledged();
                yes(left == 0, format!("{left} bytes are not acknowledged"))
            }
            Sight::State(..) => Ok(()),
        })
    }

    fn tolerance_ns(&self) -> u64 {
        TOLERANCE_NS
    }
}
