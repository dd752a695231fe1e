//! Connections with both ends on this machine, each in its own network namespace. A socket stays in the namespace in
//! which it was created, so that one thread serves them all.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};

use application::{Amount, CLIENT, SERVER, Stream};
use scenario::description::Description;

use super::account::Account;
use super::plan::Hosts;
use super::socket::{self, Options};
use super::traffic::{Endpoint, Traffic};
use super::transfer::Transfer;
use crate::emulator::Translations;
use crate::engine::kernel_step_bytes;
use crate::namespace;
use crate::system;

/// Below the emulator's priority.
const FIFO_PRIORITY: i32 = 30;
/// Above programs with the default niceness.
const NICE: i32 = -10;

/// The two hosts of a kind of connection, and their namespaces.
pub struct Pair<'p> {
    pub hosts: &'p Hosts,
    pub client: BorrowedFd<'p>,
    pub server: BorrowedFd<'p>,
}

/// The hosts of all kinds of connections.
pub struct Namespaces<'p> {
    pairs: &'p [Pair<'p>],
    /// The clients behind NATs.
    translations: Translations,
    /// For each kind, the times at which its paths end.
    path_ends: Vec<Vec<u64>>,
    /// Clients not yet accepted, by kind and the client's end.
    callers: BTreeMap<(usize, SocketAddr), usize>,
}

impl<'p> Namespaces<'p> {
    pub fn new(description: &Description, pairs: &'p [Pair<'p>], translations: Translations) -> Namespaces<'p> {
        let path_ends = description.connections.iter().map(|each| each.path_ends_ns(description)).collect();
        Namespaces { pairs, translations, path_ends, callers: BTreeMap::new() }
    }
}

impl Endpoint for Namespaces<'_> {
    type Transfer = Transfer;

    fn congestion(&self, kind: usize) -> &str {
        &self.pairs[kind].hosts.congestion
    }

    fn listen(&self, kind: usize, options: &Options) -> io::Result<Option<OwnedFd>> {
        let pair = &self.pairs[kind];
        // At every address: a subflow may come to another one that the server has announced.
        let at = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), pair.hosts.server.port());
        socket::listen(pair.server, at, options).map(Some)
    }

    /// Real-time priority like the emulator's, but lower: a program that waits for the processor leaves windows unused
    /// and reads late. Without the privilege, the thread runs with the default policy.
    fn prepare(&self) {
        if system::schedule_fifo(FIFO_PRIORITY).is_err() {
            let _ = rustix::process::setpriority_process(None, NICE);
        }
    }

    fn open(traffic: &mut Traffic<'_, Self>, number: u32, amount: Amount, at_ns: u64) -> io::Result<()> {
        let place = traffic.place()?;
        let application = &traffic.runtime.applications[number as usize];
        let (kind, sender) = (application.kind as usize, application.sender);
        let stream = Stream::new(at_ns, amount, sender).read_in(&application.reading);
        let (pair, options) = (&traffic.endpoint.pairs[kind], &traffic.options[kind]);
        namespace::enter(pair.client)?;
        let (socket, local) = socket::call(pair.hosts.client, pair.hosts.server, options)?;
        if sender == CLIENT {
            socket::bound_unsent(&socket)?;
        }
        traffic.watch(&socket, place, CLIENT)?;
        let account = Account::new((number, kind), options.mptcp, stream);
        traffic.transfers[place] = Some(Transfer::new(account, socket));
        traffic.runtime.opened(at_ns, number, place as u32);
        traffic.endpoint.callers.insert((kind, local), place);
        Ok(())
    }

    fn accept(traffic: &mut Traffic<'_, Self>, kind: usize, socket: OwnedFd, peer: SocketAddr) -> io::Result<()> {
        let Namespaces { callers, translations, .. } = &mut traffic.endpoint;
        let Some(number) = callers.remove(&(kind, translations.inside(peer))) else { return Ok(()) };
        let Some(transfer) = &traffic.transfers[number] else { return Ok(()) };
        if transfer.account.stream.sender == SERVER {
            socket::check_congestion(&socket, &traffic.options[kind].congestion)?;
            // A connection that fell back is a TCP connection and accepts the option too.
            socket::bound_unsent(&socket)?;
        }
        traffic.watch(&socket, number, SERVER)?;
        if let Some(transfer) = &mut traffic.transfers[number] {
            transfer.accepted(socket);
        }
        Self::stands(traffic, number);
        traffic.turn(number, SERVER);
        Ok(())
    }

    /// Lets the sender write once its end of the connection is established.
    fn stands(traffic: &mut Traffic<'_, Self>, number: usize) {
        let now_ns = traffic.clock.now_ns();
        let Some(transfer) = &mut traffic.transfers[number] else { return };
        let stream = &mut transfer.account.stream;
        if transfer.writable[stream.sender] && !stream.is_established() {
            stream.establish(now_ns, kernel_step_bytes(&traffic.description.connections[transfer.account.kind]));
            traffic.take_news(number);
        }
        let Some(transfer) = &mut traffic.transfers[number] else { return };
        let stream = &mut transfer.account.stream;
        if transfer.writable[CLIENT] && stream.is_dialogue() && stream.established_ns.is_none() {
            stream.establish_asker(now_ns);
            traffic.take_news(number);
        }
    }

    fn measure(&self, transfer: &mut Transfer, now_ns: u64) -> io::Result<()> {
        transfer.measure(now_ns, self.pairs[transfer.account.kind].hosts, &self.translations)
    }

    fn notice(&self, transfer: &mut Transfer, now_ns: u64) {
        let (kind, start_ns) = (transfer.account.kind, transfer.account.stream.start_ns);
        if let Some(&end_ns) = self.path_ends[kind].iter().find(|&&at_ns| at_ns > start_ns) {
            transfer.notice(now_ns, end_ns);
        }
    }

    fn closed(&mut self, number: usize) {
        self.callers.retain(|_, &mut place| place != number);
    }
}
