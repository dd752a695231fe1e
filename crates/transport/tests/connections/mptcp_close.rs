//! Ends of connections and of subflows: MP_FASTCLOSE, MP_TCPRST, DATA_FIN in its corner cases, and the time between
//! the last subflow and the next (RFC 8684 §3.3.3, §3.5, §3.6).

use crate::common::{CLIENT, Crossing, Log, MS, Pair, Path, SECOND, SERVER, finish, mptcp_options, transfer};
use transport::{Config, Event, Instant, ReceiveBuffer, SubflowId};
use wire::{Flags, MptcpOption};

fn both(config: Config) -> [Config; 2] {
    [config.clone(), config]
}

/// Two paths, both in use, the server sending so many bytes.
fn sending(config: Config, bytes: u64) -> Pair {
    let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS), Path::clean(15 * MS)]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(bytes);
    assert!(pair.run_until(SECOND, |p| p.saw(CLIENT, Event::SubflowEstablished(SubflowId(1)))));
    pair
}

#[test]
fn an_abort_is_a_fast_close_that_ends_the_connection_at_both_ends() {
    for side in [CLIENT, SERVER] {
        let mut pair = sending(Config::default(), u64::MAX);
        let resets: Log<(usize, usize, bool)> = Log::default();
        let seen = resets.clone();
        pair.tap(move |_, from, path, s| {
            if s.flags.rst() {
                let fast = mptcp_options(s).iter().any(|o| matches!(o, MptcpOption::MpFastclose { .. }));
                seen.borrow_mut().push((from, path, fast));
            }
            true
        });
        pair.run_until(SECOND, |_| false);
        pair.connection(side).abort(Instant::from_secs(1));
        assert!(pair.run_until(2 * SECOND, |p| p.saw(1 - side, Event::Aborted)), "{:?}", pair.events);
        assert!(pair.saw(side, Event::Aborted));
        assert_eq!(resets.borrow()[..2], [(side, 0, true), (side, 1, true)]);
        assert!(pair.connection(1 - side).is_over());
        pair.run_until(10 * SECOND, |_| false);
        assert!((0..2).all(|r| pair.saw(1 - side, Event::SubflowClosed(SubflowId(r)))));
    }
}

#[test]
fn a_lost_fast_close_is_told_again_to_whoever_goes_on_sending() {
    let mut pair = sending(Config::default(), u64::MAX);
    let mut lost = 0;
    pair.tap(move |_, _, _, s| {
        lost += u32::from(s.flags.rst());
        !s.flags.rst() || lost > 3
    });
    pair.run_until(SECOND, |_| false);
    pair.connection(CLIENT).abort(Instant::from_secs(1));
    assert!(pair.run_until(5 * SECOND, |p| p.saw(SERVER, Event::Aborted)));
}

#[test]
fn a_fast_close_with_a_wrong_key_is_an_ordinary_reset() {
    let mut pair = sending(Config::default(), 5_000_000);
    let mut done = false;
    pair.middlebox(move |now_ns, side, path, s| {
        let mut out = vec![Crossing::new(side, s.clone())];
        if now_ns > SECOND && side == CLIENT && path == 1 && !done {
            done = true;
            let mut reset = s;
            reset.flags = Flags::RST | Flags::ACK;
            let mptcp = vec![MptcpOption::MpFastclose { receiver_key: 1 }];
            reset.options.rare = Some(Box::new(wire::RareOptions { mptcp, ..Default::default() }));
            out.push(Crossing::new(side, reset));
        }
        out
    });
    finish(&mut pair, SERVER, 5_000_000);
    assert!(pair.saw(SERVER, Event::SubflowClosed(SubflowId(1))));
}

#[test]
fn a_fast_close_on_an_acknowledgment_is_answered_with_resets() {
    // Option A of RFC 8684 §3.5, as another implementation may send it.
    let mut pair = sending(Config::default(), u64::MAX);
    let key: Log<u64> = Log::default();
    let mut done = false;
    let known = key.clone();
    pair.middlebox(move |now_ns, side, _, s| {
        let mut out = vec![Crossing::new(side, s.clone())];
        if now_ns > SECOND && side == CLIENT && !done {
            done = true;
            let mut close = s;
            let mptcp = vec![MptcpOption::MpFastclose { receiver_key: known.borrow()[0] }];
            close.options.rare = Some(Box::new(wire::RareOptions { mptcp, ..Default::default() }));
            out.push(Crossing::new(side, close));
        }
        out
    });
    // The server's key, from a connection that is made the same way.
    let mut twin = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS), Path::clean(15 * MS)]);
    let learnt = key.clone();
    twin.tap(move |_, side, _, s| {
        for option in mptcp_options(s) {
            if let (SERVER, MptcpOption::MpCapable(m)) = (side, option) {
                learnt.borrow_mut().extend(m.sender_key);
            }
        }
        true
    });
    twin.run_until(SECOND, |_| false);
    assert!(pair.run_until(2 * SECOND, |p| p.saw(SERVER, Event::Aborted)), "{:?}", key);
}

#[test]
fn a_data_fin_that_is_lost_comes_again_on_data_or_alone() {
    for lose in 1..8 {
        let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS); 2]);
        let mut lost = 0;
        pair.tap(move |_, side, _, s| {
            let fin = side == SERVER && s.options.dss.is_some_and(|d| d.data_fin);
            lost += u32::from(fin);
            !fin || lost > lose
        });
        transfer(&mut pair, SERVER, 50_000);
    }
}

#[test]
fn a_data_fin_passes_a_closed_window() {
    let config = Config { receive_buffer: ReceiveBuffer::Fixed(20_000), ..Config::default() };
    let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS)]);
    pair.reading[CLIENT] = false;
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(20_000);
    pair.run_until(2 * SECOND, |_| false);
    assert_eq!(pair.connection(CLIENT).bytes_in_order(), 20_000, "the window is full to the last byte");
    let now_ns = pair.now_ns;
    pair.connection(SERVER).close(Instant::from_nanos(now_ns));
    // Nothing is read, and yet the end of the stream arrives and is acknowledged: it takes no room.
    assert!(pair.run_until(3 * SECOND, |p| p.saw(SERVER, Event::Flushed)));
    pair.reading[CLIENT] = true;
    assert!(pair.run_until(60 * SECOND, |p| p.saw(CLIENT, Event::EndOfStream)));
    assert_eq!(pair.read[CLIENT], 20_000);
}

#[test]
fn both_sides_close_at_once() {
    let mut pair = Pair::new(1, both(Config::default()), vec![Path::clean(10 * MS); 2]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    for side in [CLIENT, SERVER] {
        pair.connection(side).offer(300_000);
        let now_ns = pair.now_ns;
        pair.connection(side).close(Instant::from_nanos(now_ns));
    }
    assert!(pair.run_until(60 * SECOND, |p| p.saw(CLIENT, Event::Closed) && p.saw(SERVER, Event::Closed)));
    assert_eq!(pair.read, [300_000; 2]);
}

/// All subflows are reset from the middle of the network, at both ends.
fn cut_all(pair: &mut Pair, at_ns: u64) {
    let mut done = [[false; 2]; 2];
    pair.middlebox(move |now_ns, side, path, s| {
        let mut out = vec![Crossing::new(side, s.clone())];
        if now_ns > at_ns && !done[side][path] && s.flags.ack() && !s.flags.syn() {
            done[side][path] = true;
            let mut reset = s;
            reset.flags = Flags::RST | Flags::ACK;
            reset.payload = wire::Span::default();
            reset.options = wire::Options::default();
            out = vec![Crossing::new(side, reset)];
        }
        out
    });
}

#[test]
fn without_a_subflow_the_connection_waits_and_goes_on_with_a_new_one() {
    let mut pair = sending(Config::default(), 10_000_000);
    cut_all(&mut pair, SECOND);
    finish(&mut pair, SERVER, 10_000_000);
    let client = pair.connection(CLIENT);
    assert!(client.subflow_count() > 2, "new subflows have joined");
    let later = (2..client.subflow_count()).map(|r| client.statistics(SubflowId(r as u8)).new_bytes_received);
    let later: Vec<_> = later.collect();
    assert!(later.iter().sum::<u64>() > 1_000_000, "{later:?} {:?}", pair.events);
}

#[test]
fn a_subflow_joins_after_a_long_interruption_and_the_end_is_told_again() {
    // Both paths die while the last data and the DATA_FIN are under way, for 20 s; resets make that known at once.
    let mut paths = vec![Path::clean(10 * MS), Path::clean(15 * MS)];
    for path in &mut paths {
        path.dead_ns = vec![(1_050 * MS, 21 * SECOND)];
    }
    let mut pair = Pair::new(1, both(Config::default()), paths);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(2_500_000);
    pair.run_until(SECOND, |_| false);
    cut_all(&mut pair, SECOND);
    let now_ns = pair.now_ns;
    pair.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(pair.run_until(70 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "{:?}", pair.events);
    assert_eq!(pair.read[CLIENT], 2_500_000);
}

#[test]
fn a_connection_that_nobody_joins_again_is_aborted_after_its_time() {
    for keep_s in [0, 5, 60] {
        let config = Config { keep_without_subflow_ns: keep_s * SECOND, ..Config::default() };
        let mut pair = sending(config, u64::MAX);
        cut_all(&mut pair, SECOND);
        let mut cut = None;
        // No SYN passes any more.
        pair.tap(|_, _, _, s| !s.flags.syn());
        pair.run_until(200 * SECOND, |p| {
            if cut.is_none() && (0..2).all(|r| p.saw(SERVER, Event::SubflowClosed(SubflowId(r)))) {
                cut = Some(p.now_ns);
            }
            p.saw(SERVER, Event::Aborted)
        });
        let aborted = pair.events[SERVER].iter().find(|(_, e)| *e == Event::Aborted).map(|&(at, _)| at);
        assert_eq!(aborted, cut.map(|at| at + keep_s * SECOND));
    }
}

#[test]
fn a_reset_for_an_unknown_subflow_is_ignored_and_an_unknown_token_is_refused() {
    let mut pair = sending(Config::default(), 1_000_000);
    let first = pair.connection(CLIENT).tuple(SubflowId(0));
    let stranger = transport::Tuple { local: first.remote, remote: "10.0.0.77:999".parse().unwrap() };
    let mut segment = wire::Segment { flags: Flags::RST | Flags::ACK, ..Default::default() };
    let now_ns = pair.now_ns;
    assert!(pair.hosts[SERVER].receive(Instant::from_nanos(now_ns), stranger, segment.clone()).is_none());
    assert!(pair.hosts[SERVER].transmit().is_none());
    segment.flags = Flags::SYN;
    let join = wire::MpJoin::Syn { backup: false, address_id: 9, token: 12345, nonce: 1 };
    let mptcp = vec![MptcpOption::MpJoin(join)];
    segment.options.rare = Some(Box::new(wire::RareOptions { mptcp, ..Default::default() }));
    assert!(pair.hosts[SERVER].receive(Instant::from_nanos(now_ns), stranger, segment).is_none());
    let (_, refusal) = pair.hosts[SERVER].transmit().expect("it is answered");
    assert!(refusal.flags.rst());
    assert_eq!(mptcp_options(&refusal), [MptcpOption::MpTcpRst { flags: 0, reason: 1 }]);
    finish(&mut pair, SERVER, 1_000_000);
}

#[test]
fn waiting_is_attributed_to_the_subflow_that_was_late() {
    // Loss keeps the first path's window small, so that the second, with ten times the delay, is used too.
    let first = Path { loss: 10, ..Path::clean(10 * MS) };
    let mut pair = Pair::new(1, both(Config::default()), vec![first, Path::clean(100 * MS)]);
    transfer(&mut pair, SERVER, 5_000_000);
    let client = pair.connection(CLIENT);
    let s: Vec<_> = (0..2).map(|r| client.statistics(SubflowId(r))).collect();
    let (others, own) =
        (s[0].others_waited_byte_ns + s[1].others_waited_byte_ns, s[0].own_waited_byte_ns + s[1].own_waited_byte_ns);
    assert_eq!(others + own, client.out_of_order_delays().sum_byte_ns(), "every byte·ns is attributed once");
    assert!(s[1].others_waited_byte_ns > 10 * s[0].others_waited_byte_ns, "the slow path is the late one: {s:?}");
    assert!(s[0].own_waited_byte_ns > 0, "what was lost made the rest of its own subflow wait");
    assert_eq!(s[1].own_waited_byte_ns, 0, "nothing was lost on the second");
}
