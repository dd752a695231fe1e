//! Addresses and priorities: ADD_ADDR, REMOVE_ADDR, MP_PRIO, the flag C, limits (RFC 8684 §3.1–§3.4).

use std::net::{IpAddr, Ipv4Addr};

use crate::common::{CLIENT, Crossing, Log, MS, Pair, Path, SECOND, SERVER, finish, mptcp_options, transfer};
use transport::path_manager::{Binder, Choice, PathAction};
use transport::{Config, Event, Instant, LocalAddress, SubflowId};
use wire::{AddAddr, MpJoin, MptcpOption};

fn both(config: Config) -> [Config; 2] {
    [config.clone(), config]
}

/// The server begins to send so many bytes; the second subflow follows.
fn offer_on_two(pair: &mut Pair, bytes: u64) {
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(bytes);
    assert!(pair.run_until(SECOND, |p| p.saw(CLIENT, Event::SubflowEstablished(SubflowId(1)))));
}

fn second_server_address() -> LocalAddress {
    LocalAddress { id: 5, address: IpAddr::V4(Ipv4Addr::new(10, 9, 9, 10)), backup: false }
}

/// A server with two addresses that announces the other one; all ADD_ADDR that pass are logged with their sender.
fn announcing(paths: Vec<Path>) -> (Pair, Log<(usize, AddAddr)>) {
    let mut pair = Pair::new(1, both(Config::default()), paths);
    pair.hosts[SERVER].set_addresses(&[second_server_address()]);
    let log = Log::default();
    let seen = log.clone();
    pair.tap(move |_, side, _, s| {
        seen.borrow_mut().extend(mptcp_options(s).iter().filter_map(|o| match o {
            MptcpOption::AddAddr(add) => Some((side, *add)),
            _ => None,
        }));
        true
    });
    (pair, log)
}

#[test]
fn an_announced_address_is_echoed_once_and_joined() {
    let (mut pair, log) = announcing(vec![Path::clean(10 * MS)]);
    transfer(&mut pair, SERVER, 3_000_000);
    let log = log.borrow();
    let echo = AddAddr { echo: true, hmac: None, ..log[0].1 };
    assert_eq!(*log, [(SERVER, log[0].1), (CLIENT, echo)]);
    assert_eq!((log[0].1.id, log[0].1.address, log[0].1.port), (5, second_server_address().address, None));
    let client = pair.connection(CLIENT);
    assert_eq!(client.subflow_count(), 2);
    assert_eq!(client.tuple(SubflowId(1)).remote.ip(), second_server_address().address);
    assert!(client.statistics(SubflowId(1)).new_bytes_received > 500_000);
}

#[test]
fn an_announcement_is_repeated_until_its_echo_is_seen() {
    let (mut pair, log) = announcing(vec![Path::clean(10 * MS)]);
    let seen = log.clone();
    let mut echoes = 0;
    pair.tap(move |_, side, _, s| {
        let Some(MptcpOption::AddAddr(add)) = mptcp_options(s).first() else { return true };
        seen.borrow_mut().push((side, *add));
        echoes += u32::from(add.echo);
        !add.echo || echoes > 2
    });
    transfer(&mut pair, SERVER, 3_000_000);
    let sent = log.borrow().iter().filter(|(side, _)| *side == SERVER).count();
    assert_eq!(sent, 3, "two echoes were lost: {log:?}");
    assert_eq!(pair.connection(CLIENT).subflow_count(), 2, "the address is joined once");
}

#[test]
fn an_announcement_with_a_wrong_hmac_is_ignored() {
    let (mut pair, _) = announcing(vec![Path::clean(10 * MS)]);
    let echoes: Log<()> = Log::default();
    let seen = echoes.clone();
    pair.tap(move |_, _, _, s| {
        for option in s.options.rare.iter_mut().flat_map(|rare| &mut rare.mptcp) {
            if let MptcpOption::AddAddr(add) = option {
                match &mut add.hmac {
                    Some(hmac) => *hmac ^= 1,
                    None => seen.borrow_mut().push(()),
                }
            }
        }
        true
    });
    transfer(&mut pair, SERVER, 1_000_000);
    assert!(echoes.borrow().is_empty());
    assert_eq!(pair.connection(CLIENT).subflow_count(), 1);
}

#[test]
fn an_announced_port_is_joined() {
    let server = Config { path_manager: Choice::named("default").unwrap(), ..Config::default() };
    let mut pair = Pair::new(1, [Config::default(), server], vec![Path::clean(10 * MS)]);
    pair.hosts[SERVER].set_addresses(&[second_server_address()]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    let now_ns = pair.now_ns;
    pair.connection(SERVER).act(Instant::from_nanos(now_ns), PathAction::Announce { local_id: 5, port: Some(8080) });
    transfer(&mut pair, SERVER, 3_000_000);
    let client = pair.connection(CLIENT);
    let ports: Vec<_> = (0..client.subflow_count()).map(|r| client.tuple(SubflowId(r as u8)).remote.port()).collect();
    assert_eq!(ports, [80, 8080]);
}

#[test]
fn a_withdrawn_address_closes_its_subflows_at_both_ends() {
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(20 * MS)]);
    offer_on_two(&mut pair, 5_000_000);
    pair.run_until(2 * SECOND, |_| false);
    let removed: Log<Vec<u8>> = Log::default();
    let seen = removed.clone();
    // The address is gone: nothing of its path passes, not even the reset.
    let gone_ns = pair.now_ns;
    pair.tap(move |_, side, path, s| {
        for option in mptcp_options(s) {
            if let MptcpOption::RemoveAddr(ids) = option {
                assert_eq!((side, path), (CLIENT, 0));
                seen.borrow_mut().push(ids.clone());
            }
        }
        path == 0
    });
    pair.connection(CLIENT).act(Instant::from_nanos(gone_ns), PathAction::Withdraw { local_id: 1 });
    finish(&mut pair, SERVER, 5_000_000);
    assert_eq!(*removed.borrow(), [vec![1]]);
    let closed = |side: usize| {
        pair.events[side].iter().find(|(_, e)| *e == Event::SubflowClosed(SubflowId(1))).map(|&(at, _)| at - gone_ns)
    };
    assert_eq!(closed(CLIENT), Some(0));
    // Two retransmission timeouts without a sign of life; an ordinary death would take minutes.
    assert!(closed(SERVER).is_some_and(|at| at < 10 * SECOND), "{:?}", closed(SERVER));
    assert_eq!(pair.connection(CLIENT).subflow_count(), 2, "a withdrawn address is not joined again");
}

#[test]
fn a_removal_of_a_path_that_is_alive_does_not_close_it() {
    // An old or forged REMOVE_ADDR: the keep-alive is answered, so the subflow stays (RFC 8684 §3.4.2).
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(20 * MS)]);
    let mut forged = false;
    pair.middlebox(move |now_ns, side, path, segment| {
        let mut out = vec![Crossing::new(side, segment.clone())];
        if side == CLIENT && path == 0 && now_ns > SECOND && !forged && segment.payload.len == 0 {
            forged = true;
            let mut removal = segment;
            let mptcp = vec![MptcpOption::RemoveAddr(vec![1])];
            removal.options.rare = Some(Box::new(wire::RareOptions { mptcp, ..Default::default() }));
            out.push(Crossing::new(side, removal));
        }
        out
    });
    offer_on_two(&mut pair, 5_000_000);
    pair.run_until(4 * SECOND, |_| false);
    assert!(!pair.saw(SERVER, Event::SubflowClosed(SubflowId(1))));
    finish(&mut pair, SERVER, 5_000_000);
}

#[test]
fn a_change_of_priority_moves_the_data() {
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(20 * MS)]);
    offer_on_two(&mut pair, u64::MAX);
    let received = |p: &mut Pair| {
        let c = p.connection(CLIENT);
        [0, 1].map(|r| c.statistics(SubflowId(r)).new_bytes_received)
    };
    for (from, to, backup) in [(2, 4, true), (6, 8, false)] {
        let now_ns = pair.now_ns;
        pair.connection(CLIENT)
            .act(Instant::from_nanos(now_ns), PathAction::SetBackup { local_id: 0, remote_id: 0, backup });
        pair.run_until(from * SECOND, |_| false);
        let before = received(&mut pair);
        pair.run_until(to * SECOND, |_| false);
        let after = received(&mut pair);
        assert_eq!(after[0] - before[0] < 10_000, backup, "{before:?} {after:?}");
        assert!(after[1] - before[1] > 1_000_000, "{before:?} {after:?}");
    }
}

#[test]
fn the_backup_path_manager_keeps_the_second_path_idle_until_the_first_fails() {
    let config = Config { path_manager: Choice::named("backup").unwrap(), ..Config::default() };
    let mut first = Path::clean(10 * MS);
    first.dead_ns = vec![(3 * SECOND, u64::MAX)];
    let mut pair = Pair::new(1, both(config), vec![first, Path::clean(20 * MS)]);
    offer_on_two(&mut pair, 6_000_000);
    pair.run_until(3 * SECOND, |_| false);
    assert_eq!(pair.connection(CLIENT).statistics(SubflowId(1)).new_bytes_received, 0);
    let now_ns = pair.now_ns;
    pair.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(pair.run_until(60 * SECOND, |p| p.saw(SERVER, Event::Flushed)));
    assert_eq!(pair.read[CLIENT], 6_000_000);
}

#[test]
fn ndiffports_opens_subflows_that_differ_in_their_port() {
    let config =
        Config { path_manager: Choice::with("ndiffports", [("subflows", 4_u64)]).unwrap(), ..Config::default() };
    let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS), Path::clean(10 * MS)]);
    transfer(&mut pair, SERVER, 5_000_000);
    let client = pair.connection(CLIENT);
    let local: Vec<_> = (0..4).map(|r| client.tuple(SubflowId(r)).local).collect();
    assert!(local.iter().all(|l| l.ip() == local[0].ip()));
    assert_eq!(local.iter().map(|l| l.port()).collect::<Vec<_>>(), [40_000, 40_001, 40_002, 40_003]);
    assert!((0..4).all(|r| client.statistics(SubflowId(r)).new_bytes_received > 200_000));
}

#[test]
fn binder_uses_the_paths_of_its_gateways_only() {
    let config =
        Config { path_manager: Choice::custom("binder", |_| Box::new(Binder::new(vec![2]))), ..Config::default() };
    let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS); 3]);
    transfer(&mut pair, SERVER, 2_000_000);
    let client = pair.connection(CLIENT);
    assert_eq!(client.subflow_count(), 2);
    assert_eq!(client.tuple(SubflowId(1)).local.ip(), IpAddr::V4(Ipv4Addr::new(10, 0, 2, 2)));
}

#[test]
fn the_flag_c_forbids_joins_to_the_first_address_and_not_to_announced_ones() {
    let server = Config { join_first_address: false, ..Config::default() };
    let mut pair = Pair::new(1, [Config::default(), server.clone()], vec![Path::clean(10 * MS); 2]);
    transfer(&mut pair, SERVER, 1_000_000);
    assert_eq!(pair.connection(CLIENT).subflow_count(), 1);

    let mut pair = Pair::new(1, [Config::default(), server], vec![Path::clean(10 * MS); 2]);
    pair.hosts[SERVER].set_addresses(&[second_server_address()]);
    transfer(&mut pair, SERVER, 1_000_000);
    let client = pair.connection(CLIENT);
    assert_eq!(client.subflow_count(), 3, "both local addresses with the announced one");
    assert!((1..3).all(|r| client.tuple(SubflowId(r)).remote.ip() == second_server_address().address));
}

/// The client's own machine, and everybody on a network, are no addresses of a server; it is told that they were heard.
#[test]
fn an_address_that_a_peer_may_not_have_is_echoed_and_not_joined() {
    for address in [[127, 0, 0, 9], [224, 0, 0, 1], [10, 9, 9, 255]] {
        let mut pair = Pair::new(1, [Config::default(), Config::default()], vec![Path::clean(10 * MS)]);
        pair.hosts[SERVER].set_addresses(&[LocalAddress { id: 5, address: IpAddr::from(address), backup: false }]);
        let said: Log<&str> = Log::default();
        let seen = said.clone();
        pair.tap(move |_, side, _, s| {
            seen.borrow_mut().extend(mptcp_options(s).iter().filter_map(|option| match option {
                MptcpOption::AddAddr(add) if side == CLIENT && add.echo => Some("echo"),
                MptcpOption::MpJoin(_) => Some("join"),
                _ => None,
            }));
            true
        });
        transfer(&mut pair, SERVER, 200_000);
        assert_eq!(said.take(), ["echo"], "{address:?}");
    }
}

/// A server names one address after the other, withdraws it and names the next: the client knocks at eight of them, and then at
/// one a second.
#[test]
fn a_server_has_its_client_send_few_syns_to_whom_it_names() {
    let mut pair = Pair::new(1, [Config::default(), Config::default()], vec![Path::clean(10 * MS)]);
    let named: Vec<LocalAddress> =
        (1..=200).map(|id| LocalAddress { id, address: IpAddr::from([10, 8, 8, id]), backup: false }).collect();
    pair.hosts[SERVER].set_addresses(&named);
    // Each attempt has a nonce of its own; a SYN that is sent again has the same.
    let nonces: Log<u32> = Log::default();
    let seen = nonces.clone();
    pair.tap(move |_, side, _, s| {
        let nonce = mptcp_options(s).iter().find_map(|option| match option {
            MptcpOption::MpJoin(MpJoin::Syn { nonce, .. }) if side == CLIENT => Some(*nonce),
            _ => None,
        });
        seen.borrow_mut().extend(nonce);
        nonce.is_none()
    });
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(100_000);
    pair.run_until(SECOND, |_| false);
    let began_ns = pair.now_ns;
    for id in 1..=200_u8 {
        let now_ns = pair.now_ns;
        if id > 8 {
            pair.connection(SERVER).act(Instant::from_nanos(now_ns), PathAction::Withdraw { local_id: id - 8 });
        }
        pair.connection(SERVER).act(Instant::from_nanos(now_ns), PathAction::Announce { local_id: id, port: None });
        pair.run_until(now_ns + 40 * MS, |_| false);
    }
    assert!(pair.now_ns - began_ns >= 8 * SECOND);
    let mut attempts = nonces.take();
    let syns = attempts.len();
    attempts.sort_unstable();
    attempts.dedup();
    assert!((8..=8 + 9).contains(&attempts.len()), "{} attempts", attempts.len());
    assert!(syns <= 4 * attempts.len(), "{syns} SYNs");
}

#[test]
fn joins_beyond_the_limit_are_refused_for_lack_of_resources() {
    let server = Config { max_subflows: 2, ..Config::default() };
    let mut pair = Pair::new(1, [Config::default(), server], vec![Path::clean(10 * MS); 4]);
    let reasons: Log<(usize, u8, u8)> = Log::default();
    let seen = reasons.clone();
    pair.tap(move |_, side, _, s| {
        if let Some(MptcpOption::MpTcpRst { flags, reason }) = mptcp_options(s).first() {
            assert!(s.flags.rst());
            seen.borrow_mut().push((side, *flags, *reason));
        }
        true
    });
    transfer(&mut pair, SERVER, 1_000_000);
    let server = pair.connection(SERVER);
    let established = |r: &u8| server.statistics(SubflowId(*r)).established_ns > 0;
    assert_eq!((0..server.subflow_count() as u8).filter(established).count(), 2);
    // Two are refused, and again after a second, as the condition may pass.
    assert!(reasons.borrow().len() >= 2 && reasons.borrow().iter().all(|r| *r == (SERVER, 1, 2)), "{reasons:?}");
}

/// An interface goes down and comes back: its subflow is closed, and another is opened from its address (RFC 8684 §3.4.2:
/// the address may be announced and used again).
#[test]
fn an_interface_that_comes_back_is_joined_again() {
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(20 * MS)]);
    offer_on_two(&mut pair, u64::MAX);
    pair.run_until(2 * SECOND, |_| false);
    let gone_ns = pair.now_ns;
    pair.connection(CLIENT).address_gone(Instant::from_nanos(gone_ns), 1);
    pair.run_until(3 * SECOND, |_| false);
    assert!(pair.saw(CLIENT, Event::SubflowClosed(SubflowId(1))));
    assert_eq!(pair.connection(CLIENT).subflow_count(), 2, "the address is gone");
    let back_ns = pair.now_ns;
    pair.connection(CLIENT).address_back(Instant::from_nanos(back_ns), 1);
    pair.run_until(4 * SECOND, |_| false);
    assert!(pair.saw(CLIENT, Event::SubflowEstablished(SubflowId(2))));
    assert!(pair.connection(CLIENT).statistics(SubflowId(2)).new_bytes_received > 0);
}

/// RFC 8684 §3.3.8: a network becomes metered, and the peer is asked to use the subflows of its address as backups only; once,
/// however often that is said.
#[test]
fn the_subflows_of_a_metered_address_become_backups() {
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(20 * MS)]);
    let asked: Log<(usize, bool)> = Log::default();
    let seen = asked.clone();
    pair.tap(move |_, side, path, s| {
        seen.borrow_mut().extend(mptcp_options(s).iter().filter_map(|o| match o {
            MptcpOption::MpPrio { backup } if side == CLIENT => Some((path, *backup)),
            _ => None,
        }));
        true
    });
    offer_on_two(&mut pair, u64::MAX);
    for _ in 0..2 {
        let now_ns = pair.now_ns;
        pair.connection(CLIENT).set_address_backup(Instant::from_nanos(now_ns), 1, true);
    }
    pair.run_until(2 * SECOND, |_| false);
    let received = |p: &mut Pair, r: u8| p.connection(CLIENT).statistics(SubflowId(r)).new_bytes_received;
    let before = [0, 1].map(|r| received(&mut pair, r));
    pair.run_until(4 * SECOND, |_| false);
    assert!(received(&mut pair, 0) - before[0] > 1_000_000);
    assert_eq!(received(&mut pair, 1), before[1]);
    assert_eq!(asked.borrow().len(), 1);
    assert!(asked.borrow()[0].1);
}
