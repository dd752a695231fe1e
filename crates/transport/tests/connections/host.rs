//! A host's table of connections: what is forgotten leaves nothing behind, ports do not collide, ids do not run out
//! unseen.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER, finish, mptcp_options};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use transport::path_manager::{Choice, PathAction};
use transport::{
    Config, ConnectionId, Event, Host, Instant, LocalAddress, Protocol, ResetReason, SUBFLOW_LIMIT, SubflowId, Tuple,
};
use wire::{MptcpOption, Segment, Span};

fn config(protocol: Protocol, path_manager: Choice) -> Config {
    Config { protocol, path_manager, ..Config::default() }
}

fn address(id: u8) -> LocalAddress {
    LocalAddress { id, address: IpAddr::V4(Ipv4Addr::new(10, 0, id, 2)), backup: false }
}

fn server() -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9)), 80)
}

/// Two hosts with nothing between them: what one sends arrives at once.
struct Joined {
    hosts: [Host<Span>; 2],
    now_ns: u64,
    /// The server's end of what came last.
    accepted: Option<ConnectionId>,
}

impl Joined {
    fn new(server: Config) -> Self {
        let host = |seed| Host::new(Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut hosts = [host(1), host(2)];
        hosts[SERVER].listen(80, server);
        Joined { hosts, now_ns: 0, accepted: None }
    }

    /// Lets these connections send all they have; answers how many segments that were.
    fn shuttle(&mut self, clients: &[ConnectionId]) -> usize {
        let mut segments = 0;
        loop {
            let mut under_way: Vec<(usize, Tuple, Segment<Span>)> = Vec::new();
            for side in [CLIENT, SERVER] {
                let ids = if side == CLIENT { clients.to_vec() } else { self.accepted.into_iter().collect() };
                for id in ids {
                    while let Some((subflow, segment)) =
                        self.hosts[side].connection_mut(id).transmit(Instant::from_nanos(self.now_ns))
                    {
                        under_way.push((side, self.hosts[side].connection(id).tuple(subflow), segment));
                    }
                }
                while let Some((tuple, segment)) = self.hosts[side].transmit() {
                    under_way.push((side, tuple, segment));
                }
            }
            if under_way.is_empty() {
                return segments;
            }
            segments += under_way.len();
            self.now_ns += MS;
            for (side, tuple, segment) in under_way {
                let seen = Tuple { local: tuple.remote, remote: tuple.local };
                let found = self.hosts[1 - side].receive(Instant::from_nanos(self.now_ns), seen, segment);
                if side == CLIENT {
                    self.accepted = found.map(|at| at.connection).or(self.accepted);
                }
            }
        }
    }
}

#[test]
fn ten_thousand_connections_one_after_another_leave_nothing_behind() {
    for protocol in [Protocol::Tcp, Protocol::Mptcp] {
        let config = config(protocol, Choice::with("ndiffports", [("subflows", 2_u64)]).unwrap());
        let mut net = Joined::new(config.clone());
        for n in 0..10_000_u32 {
            let port = 40_000 + (n % 20_000) as u16;
            let id = net.hosts[CLIENT].connect(
                Instant::from_nanos(net.now_ns),
                config.clone(),
                &[address(0)],
                port,
                server(),
            );
            net.accepted = None;
            net.shuttle(&[id]);
            net.hosts[CLIENT].connection_mut(id).offer(100);
            net.shuttle(&[id]);
            let peer = net.accepted.expect("the server has accepted it");
            assert!(id.0 < 2 && peer.0 < 2, "places are used again: {id:?}, {peer:?}");
            let subflows = net.hosts[CLIENT].connection(id).subflow_count();
            assert_eq!(subflows, if protocol == Protocol::Tcp { 1 } else { 2 });
            for (side, id) in [(CLIENT, id), (SERVER, peer)] {
                net.hosts[side].connection_mut(id).offer(3_000);
                net.hosts[side].connection_mut(id).close(Instant::from_nanos(net.now_ns));
            }
            net.shuttle(&[id]);
            for (side, id) in [(CLIENT, id), (SERVER, peer)] {
                let connection = net.hosts[side].connection_mut(id);
                while connection.read().is_some() {}
                assert!(!connection.is_forgettable(), "its events were not heard");
                let events: Vec<_> = std::iter::from_fn(|| connection.poll_event()).collect();
                assert!(events.contains(&Event::Closed), "{events:?}");
            }
            net.shuttle(&[id]);
            net.now_ns += 61 * SECOND;
            for (side, id) in [(CLIENT, id), (SERVER, peer)] {
                net.hosts[side].connection_mut(id).handle_timeout(Instant::from_nanos(net.now_ns));
                assert!(net.hosts[side].connection(id).is_forgettable());
                assert!(net.hosts[side].forget(id));
                assert!(!net.hosts[side].forget(id), "once is enough");
            }
            assert_eq!(net.hosts.each_ref().map(Host::connection_count), [0, 0]);
        }
    }
}

/// The same a thousandth of a second apart, with ports as on real packets: what is in TIME-WAIT takes a place that is
/// small and of bounded number, and its ends are used by nobody until it is over or has had to make room.
#[test]
fn connections_that_come_and_go_quickly_use_no_ends_twice() {
    for protocol in [Protocol::Tcp, Protocol::Mptcp] {
        let config = config(protocol, Choice::named("default").unwrap());
        let mut net = Joined::new(config.clone());
        let mut last_use = std::collections::BTreeMap::new();
        for n in 0..20_000_u32 {
            let port = net.hosts[CLIENT].free_port(address(0).address, server()).expect("there are enough");
            if let Some(before) = last_use.insert(port, n) {
                assert!(n - before > 16_384, "port {port} of connection {before} is taken by {n}");
            }
            let id = net.hosts[CLIENT].connect(
                Instant::from_nanos(net.now_ns),
                config.clone(),
                &[address(0)],
                port,
                server(),
            );
            net.accepted = None;
            net.shuttle(&[id]);
            let peer = net.accepted.expect("the server has accepted it");
            net.hosts[CLIENT].connection_mut(id).offer(100);
            net.hosts[CLIENT].connection_mut(id).close(Instant::from_nanos(net.now_ns));
            net.shuttle(&[id]);
            net.hosts[SERVER].connection_mut(peer).close(Instant::from_nanos(net.now_ns));
            net.shuttle(&[id]);
            for (side, id) in [(CLIENT, id), (SERVER, peer)] {
                let connection = net.hosts[side].connection_mut(id);
                while connection.read().is_some() || connection.poll_event().is_some() {}
            }
            net.shuttle(&[id]);
            for (side, id) in [(CLIENT, id), (SERVER, peer)] {
                assert!(net.hosts[side].rest(Instant::from_nanos(net.now_ns), id), "{n}: it is over");
            }
            let held = net.hosts.each_ref().map(|host| (host.connection_count(), host.time_wait_count() <= 16_384));
            assert_eq!(held, [(0, true); 2]);
        }
        let resting: usize = net.hosts.iter().map(Host::time_wait_count).sum();
        let seconds = net.now_ns / SECOND;
        assert!(resting > 0, "after {seconds} s some rest still");
        net.hosts.iter_mut().for_each(|host| host.expire(Instant::from_nanos(net.now_ns + 61 * SECOND)));
        assert_eq!(net.hosts.each_ref().map(Host::time_wait_count), [0, 0]);
    }
}

#[test]
fn what_comes_for_a_forgotten_connection_is_a_stray() {
    let config = config(Protocol::Tcp, Choice::named("default").unwrap());
    let mut net = Joined::new(config.clone());
    let id = net.hosts[CLIENT].connect(Instant::ZERO, config, &[address(0)], 40_000, server());
    net.shuttle(&[id]);
    let peer = net.accepted.take().unwrap();
    net.hosts[SERVER].forget(peer);
    net.hosts[CLIENT].connection_mut(id).offer(100);
    net.shuttle(&[id]);
    let client = net.hosts[CLIENT].connection_mut(id);
    let events: Vec<_> = std::iter::from_fn(|| client.poll_event()).collect();
    assert_eq!(events.last(), Some(&Event::Aborted), "reset: {events:?}");
}

#[test]
fn a_join_takes_a_port_that_nobody_has() {
    let config = config(Protocol::Mptcp, Choice::with("ndiffports", [("subflows", 3_u64)]).unwrap());
    let mut net = Joined::new(config.clone());
    // The first one would take 40001 and 40002 for its joins; the second connection calls from the former.
    let ids = [40_000, 40_001]
        .map(|port| (net.hosts[CLIENT].connect(Instant::ZERO, config.clone(), &[address(0)], port, server()), port));
    for (id, _) in ids {
        net.accepted = None;
        net.shuttle(&[id]);
        net.hosts[CLIENT].connection_mut(id).offer(100);
        net.shuttle(&[id]);
    }
    let mut ports = Vec::new();
    for (id, port) in ids {
        let connection = net.hosts[CLIENT].connection(id);
        let own: Vec<_> = (0..3).map(|r| connection.tuple(SubflowId(r)).local.port()).collect();
        assert_eq!(own[0], port);
        assert!(connection.views().iter().all(|v| v.active), "all three stand: {own:?}");
        ports.extend(own);
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 6, "{ports:?}");
    // 40001 was taken; what is looked for then has no registered meaning.
    assert!(ports.iter().all(|&p| p >= 49_152 || (40_000..=40_003).contains(&p)), "{ports:?}");
}

/// Until one seed stood for a fixed row of 1,024 ports, of which the next one took the first again, alive or not.
#[test]
fn a_port_is_free_until_all_are_taken() {
    let config = config(Protocol::Tcp, Choice::named("default").unwrap());
    let rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut host: Host<Span> = Host::with_source(rng, |out| out.fill(0x17));
    // Ports that are listened to are never taken, so that few remain.
    for port in 3_000..u16::MAX {
        host.listen(port, config.clone());
    }
    let mut taken = std::collections::BTreeSet::new();
    while let Some(port) = host.free_port(address(0).address, server()) {
        assert!((port < 3_000 || port == u16::MAX) && port >= 1024 && taken.insert(port), "{port}");
        host.connect(Instant::ZERO, config.clone(), &[address(0)], port, server());
    }
    assert_eq!(taken.len(), 3_000 - 1_024 + 1);
    // Towards another server all of them are free.
    assert!(host.free_port(address(0).address, SocketAddr::new(server().ip(), 81)).is_some());
}

/// Two hosts of one seed, each with its own source of random numbers, as two runs on real packets have.
#[test]
fn with_a_source_the_seed_tells_nothing() {
    let config = config(Protocol::Mptcp, Choice::named("default").unwrap());
    let syn_of = |salt: u8| {
        let calls = std::sync::atomic::AtomicU64::new(1);
        let fill = move |out: &mut [u8]| {
            let call = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for (at, byte) in out.iter_mut().enumerate() {
                *byte = (call >> (8 * (at % 8))) as u8 ^ salt;
            }
        };
        let mut host: Host<Span> = Host::with_source(Xoshiro256PlusPlus::seed_from_u64(4), fill);
        let port = host.free_port(address(0).address, server()).unwrap();
        let id = host.connect(Instant::ZERO, config.clone(), &[address(0)], 40_000, server());
        let (_, syn) = host.connection_mut(id).transmit(Instant::ZERO).unwrap();
        (port, syn.seq)
    };
    let (one, same, other) = (syn_of(1), syn_of(1), syn_of(2));
    assert_eq!(one, same);
    assert!(one.0 != other.0 && one.1 != other.1, "{one:?} {other:?}");
}

#[test]
fn a_port_whose_connection_is_closed_can_be_called_from_again() {
    let tcp = config(Protocol::Tcp, Choice::named("default").unwrap());
    let mut pair = Pair::new(3, [tcp.clone(), tcp.clone()], vec![Path::clean(10 * MS)]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(10_000);
    finish(&mut pair, SERVER, 10_000);
    // The server closed first: it keeps TIME-WAIT for a minute. It is not told to forget.
    let (now_ns, old) = (pair.now_ns + 61 * SECOND, pair.ids);
    pair.run_until(now_ns, |_| false);
    pair.read = [0; 2];
    pair.events = [Vec::new(), Vec::new()];
    pair.ids =
        [Some(pair.hosts[CLIENT].connect(Instant::from_nanos(now_ns), tcp, &[address(0)], 40_000, server())), None];
    assert!(pair.run_until(now_ns + 10 * SECOND, |p| p.saw(SERVER, Event::Established)), "its SYN is answered");
    assert_ne!(pair.ids, old);
    pair.connection(SERVER).offer(10_000);
    finish(&mut pair, SERVER, 10_000);
}

#[test]
fn a_join_beyond_the_ids_of_a_connection_is_refused_for_good() {
    let server = Config { max_subflows: u8::MAX, ..config(Protocol::Mptcp, Choice::named("default").unwrap()) };
    let client = Config { max_subflows: 2, ..server.clone() };
    let mut net = Joined::new(server);
    let local = [address(0), address(1)];
    let id = net.hosts[CLIENT].connect(Instant::ZERO, client, &local, 40_000, self::server());
    net.shuttle(&[id]);
    // The first data confirms MPTCP at both ends.
    net.hosts[CLIENT].connection_mut(id).offer(100);
    net.shuttle(&[id]);
    let peer = net.accepted.unwrap();
    net.hosts[CLIENT]
        .connection_mut(id)
        .act(Instant::from_nanos(net.now_ns), PathAction::Join { local_id: 1, remote_id: 0, backup: false });
    let (subflow, syn) =
        net.hosts[CLIENT].connection_mut(id).transmit(Instant::from_nanos(net.now_ns)).expect("the SYN of the join");
    let tuple = net.hosts[CLIENT].connection(id).tuple(subflow);
    let call = |net: &mut Joined, port: u16| {
        let from = SocketAddr::new(tuple.local.ip(), port);
        net.hosts[SERVER].receive(
            Instant::from_nanos(net.now_ns),
            Tuple { local: tuple.remote, remote: from },
            syn.clone(),
        )
    };
    for n in 1..SUBFLOW_LIMIT {
        let at = call(&mut net, 50_000 + n as u16).expect("there is room");
        assert_eq!((at.connection, at.subflow), (peer, SubflowId(n as u8)));
    }
    assert_eq!(call(&mut net, 60_000), None);
    let (_, reset) = net.hosts[SERVER].transmit().expect("a refusal");
    assert!(reset.flags.rst());
    let reason = ResetReason::Resources as u8;
    assert_eq!(mptcp_options(&reset), [MptcpOption::MpTcpRst { flags: 0, reason }], "and T is not set");
    // The connection lives on.
    net.accepted = Some(peer);
    net.hosts[CLIENT].connection_mut(id).offer(1_000);
    net.shuttle(&[id]);
    assert_eq!(net.hosts[SERVER].connection(peer).bytes_in_order(), 1_100);
}

#[test]
fn a_connection_whose_ids_are_used_up_opens_no_more_subflows_and_goes_on() {
    let config = config(Protocol::Mptcp, Choice::named("default").unwrap());
    let mut pair = Pair::new(5, [config.clone(), config], vec![Path::clean(5 * MS), Path::clean(5 * MS)]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(100);
    assert!(pair.run_until(SECOND, |p| p.read[CLIENT] == 100));
    for n in 0..70 {
        let path = if n % 2 == 0 { (1, 0) } else { (0, 0) };
        let now_ns = pair.now_ns;
        let (local_id, remote_id) = path;
        pair.connection(CLIENT)
            .act(Instant::from_nanos(now_ns), PathAction::Join { local_id, remote_id, backup: false });
        pair.run_until(now_ns + SECOND, |_| false);
        if n < 63 {
            assert_eq!(pair.connection(CLIENT).subflow_count(), n + 2);
            let last = pair.connection(SERVER).views().last().copied();
            assert!(last.is_some_and(|v| v.active), "round {n}");
        }
        pair.connection(SERVER).offer(20_000);
        // Make before break: the other path's subflow goes.
        let now_ns = pair.now_ns;
        if n < 63 {
            let other = if n % 2 == 0 { 0 } else { 1 };
            pair.connection(CLIENT)
                .act(Instant::from_nanos(now_ns), PathAction::Close { local_id: other, remote_id: 0 });
        }
        pair.run_until(now_ns + SECOND, |_| false);
    }
    assert_eq!([CLIENT, SERVER].map(|side| pair.connection(side).subflow_count()), [SUBFLOW_LIMIT; 2]);
    finish(&mut pair, SERVER, 100 + 70 * 20_000);
}

/// RFC 9293 §3.9.2.3: MUST-57, MUST-63. A reset would be an answer to a group.
#[test]
fn what_comes_from_or_for_a_group_is_discarded_without_an_answer() {
    let mut host: Host<Span> = Host::new(Xoshiro256PlusPlus::seed_from_u64(1));
    host.listen(80, Config { protocol: Protocol::Tcp, ..Config::default() });
    let [one, group, all, nobody] =
        ["10.0.0.2", "224.0.0.5", "255.255.255.255", "0.0.0.0"].map(|text| text.parse::<IpAddr>().unwrap());
    let mut receive = |remote, local, flags| {
        let tuple = Tuple { local: SocketAddr::new(local, 80), remote: SocketAddr::new(remote, 5_000) };
        let segment = Segment {
            src_port: 5_000,
            dst_port: 80,
            seq: 7,
            ack: 0,
            flags,
            window: 1_000,
            urgent: 0,
            options: wire::Options::default(),
            payload: Span { offset: 0, len: 0 },
        };
        let found = host.receive(Instant::ZERO, tuple, segment).is_some();
        (found, host.transmit().is_some())
    };
    for flags in [wire::Flags::SYN, wire::Flags::ACK] {
        for (remote, local) in [(group, one), (all, one), (nobody, one), (one, group), (one, all)] {
            assert_eq!(receive(remote, local, flags), (false, false), "{remote} to {local}");
        }
    }
    assert_eq!(receive(one, one, wire::Flags::ACK), (false, true), "a stray from one host is answered");
    assert_eq!(receive(one, one, wire::Flags::SYN), (true, false));
}

/// RFC 9293 §3.7.1, MUST-15.
#[test]
fn without_an_mss_option_the_least_of_the_address_family_is_assumed() {
    for (remote, mss) in [("10.0.0.2", 536), ("2001:db8::2", 1220), ("::ffff:10.0.0.2", 536)] {
        let mut host: Host<Span> = Host::new(Xoshiro256PlusPlus::seed_from_u64(1));
        host.listen(80, Config { protocol: Protocol::Tcp, ..Config::default() });
        let remote: IpAddr = remote.parse().unwrap();
        let tuple = Tuple { local: SocketAddr::new(remote, 80), remote: SocketAddr::new(remote, 5_000) };
        let syn = Segment {
            src_port: 5_000,
            dst_port: 80,
            seq: 7,
            ack: 0,
            flags: wire::Flags::SYN,
            window: 1_000,
            urgent: 0,
            options: wire::Options::default(),
            payload: Span { offset: 0, len: 0 },
        };
        let at = host.receive(Instant::ZERO, tuple, syn).unwrap();
        assert_eq!(host.connection(at.connection).views()[0].mss, mss, "{remote}");
    }
}

#[test]
fn a_forgotten_connection_leaves_its_id_to_the_next() {
    let mut host = Host::<Span>::new(Xoshiro256PlusPlus::seed_from_u64(1));
    let connect =
        |host: &mut Host<Span>, port| host.connect(Instant::ZERO, Config::default(), &[address(0)], port, server());
    let ids: Vec<u32> = (1..=3).map(|port| connect(&mut host, port).0).collect();
    assert_eq!(ids, [0, 1, 2]);
    assert!(host.forget(ConnectionId(1)));
    assert_eq!((host.connection_count(), host.has(ConnectionId(1))), (2, false));
    assert_eq!(connect(&mut host, 9), ConnectionId(1));
    assert_eq!(host.connection(ConnectionId(1)).tuple(SubflowId(0)).local, SocketAddr::new(address(0).address, 9));
    assert_eq!(host.connection_count(), 3);
}
