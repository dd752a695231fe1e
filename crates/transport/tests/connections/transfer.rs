//! Behaviour of whole connections.

use crate::common::{CLIENT, MS, Pair, Path, SECOND, SERVER};
use transport::{Config, Event, Instant, Protocol, ReceiveBuffer, Receiver, SubflowId};

fn tcp() -> Config {
    Config {
        protocol: Protocol::Tcp,
        congestion: transport::congestion::Choice::named("reno").unwrap(),
        ..Config::default()
    }
}

fn mptcp() -> Config {
    Config::default()
}

fn both(config: Config) -> [Config; 2] {
    [config.clone(), config]
}

/// Sends `bytes` from `side`, closes, and runs until both ends are closed.
fn transfer(pair: &mut Pair, side: usize, bytes: u64) {
    assert!(pair.run_until(60 * SECOND, |p| p.saw(side, Event::Established)), "no handshake");
    pair.connection(side).offer(bytes);
    let now_ns = pair.now_ns;
    pair.connection(side).close(Instant::from_nanos(now_ns));
    let done = pair.run_until(600 * SECOND, |p| p.saw(CLIENT, Event::Closed) && p.saw(SERVER, Event::Closed));
    assert!(done, "stuck: read {:?}, events {:?}", pair.read, pair.events);
    assert_eq!(pair.read[1 - side], bytes);
    assert!(pair.saw(side, Event::Flushed));
}

#[test]
fn a_tcp_transfer_in_either_direction() {
    for side in [CLIENT, SERVER] {
        let mut pair = Pair::new(1, both(tcp()), vec![Path::clean(10 * MS)]);
        transfer(&mut pair, side, 1_000_000);
    }
}

#[test]
fn an_mptcp_transfer_uses_both_paths() {
    for side in [CLIENT, SERVER] {
        let mut pair = Pair::new(1, both(mptcp()), vec![Path::clean(10 * MS), Path::clean(20 * MS)]);
        transfer(&mut pair, side, 5_000_000);
        let receiver = pair.connection(1 - side);
        assert!(!receiver.is_fallback());
        assert_eq!(receiver.subflow_count(), 2);
        let new: Vec<_> = (0..2).map(|r| receiver.statistics(SubflowId(r)).new_bytes_received).collect();
        assert_eq!(new.iter().sum::<u64>(), 5_000_000);
        assert!(new.iter().all(|&n| n > 1_000_000), "{new:?}");
    }
}

/// Segments of data that leave in each round trip of the first four.
fn first_rounds(options: transport::TcpOptions) -> [usize; 4] {
    let path = Path { rate_bps: 0, ..Path::clean(50 * MS) };
    let mut pair = Pair::new(1, both(Config { tcp: options, ..tcp() }), vec![path]);
    let (log, sent) = std::sync::mpsc::channel();
    pair.tap(move |now_ns, side, _, s| {
        if side == CLIENT && s.payload.len > 0 {
            log.send(now_ns / (100 * MS)).unwrap();
        }
        true
    });
    pair.connection(CLIENT).offer(10_000_000);
    pair.run_until(450 * MS, |_| false);
    let sent: Vec<u64> = sent.try_iter().collect();
    std::array::from_fn(|n| sent.iter().filter(|&&round| round == n as u64 + 1).count())
}

#[test]
fn slow_start_ends_at_the_initial_threshold() {
    let first_rounds = |initial_ssthresh| {
        first_rounds(transport::TcpOptions { initial_ssthresh, segments_per_ack: 1, ..Default::default() })
    };
    assert_eq!(first_rounds(None), [10, 20, 40, 80]);
    // The window grows by the 6 of the first 10 that reach 16, then by one a round trip.
    assert_eq!(first_rounds(Some(16)), [10, 16, 17, 18]);
    // Below the initial window there is no slow start at all: 10 + 1/10 + 1/10.1 + … is 10.95 after 10 acknowledgments, 11.9
    // after the next 10.
    assert_eq!(first_rounds(Some(4)), [10, 10, 11, 12]);
}

/// Every second segment is acknowledged. Counted by bytes windows double; counted by acknowledgments 8 segments bring 4,
/// 12 bring 6, 18 bring 9.
#[test]
fn windows_grow_by_bytes_or_by_acknowledgments() {
    for (growth, rounds) in [(transport::Growth::Bytes, [8, 16, 32, 64]), (transport::Growth::Acks, [8, 12, 18, 27])] {
        let options = transport::TcpOptions { growth, initial_window: 8, quick_acks: 0, ..Default::default() };
        assert_eq!(first_rounds(options), rounds, "{growth:?}");
    }
}

#[test]
fn no_window_grows_beyond_the_largest() {
    for (max_window, rounds) in [(12, [10, 12, 12, 12]), (4, [4, 4, 4, 4])] {
        let options = transport::TcpOptions { max_window: Some(max_window), ..Default::default() };
        assert_eq!(first_rounds(options), rounds);
    }
}

#[test]
fn the_last_data_carries_the_fin() {
    let mut pair = Pair::new(1, both(tcp()), vec![Path::clean(10 * MS)]);
    let (log, seen) = std::sync::mpsc::channel();
    pair.tap(move |_, side, _, s| {
        if side == SERVER && s.flags.fin() {
            log.send(s.payload.len).unwrap();
        }
        true
    });
    transfer(&mut pair, SERVER, 50_000);
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), [50_000 % 1448]);
}

#[test]
fn an_empty_stream_ends_in_order() {
    for config in [tcp(), mptcp()] {
        let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS)]);
        transfer(&mut pair, CLIENT, 0);
    }
}

#[test]
fn either_side_without_mptcp_means_tcp() {
    for (config, capable) in [([mptcp(), tcp()], CLIENT), ([tcp(), mptcp()], SERVER)] {
        let mut pair = Pair::new(1, config, vec![Path::clean(10 * MS), Path::clean(10 * MS)]);
        transfer(&mut pair, SERVER, 300_000);
        assert!(pair.connection(capable).is_fallback());
        assert_eq!(pair.connection(capable).subflow_count(), 1);
    }
}

#[test]
fn the_rtt_of_a_handshake_is_exact() {
    // SYN: 20 IP + 20 TCP + 4 MSS + 12 SACK-permitted and timestamps + 4 window scale = 60 bytes, 48 µs at 10 Mbit/s;
    // the SYN/ACK is as long. RTT at the client = 2 · (10 ms + 48 µs).
    let mut pair = Pair::new(1, both(tcp()), vec![Path::clean(10 * MS)]);
    assert!(pair.run_until(SECOND, |p| p.saw(CLIENT, Event::Established)));
    assert_eq!(pair.now_ns, 2 * (10 * MS + 48_000));
    let s = pair.connection(CLIENT).statistics(SubflowId(0));
    assert_eq!((s.rtt_sum_ns, s.rtt_samples), (u128::from(2 * (10 * MS + 48_000)), 1));
}

#[test]
fn a_lost_third_ack_is_repaired() {
    // The server sends first; the client's ACK with the keys is lost, so the SYN/ACK is repeated and answered.
    for config in [tcp(), mptcp()] {
        let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS), Path::clean(10 * MS)]);
        let mut lost = false;
        pair.tap(move |_, side, _, s| {
            let first_ack = side == CLIENT && !s.flags.syn() && !lost;
            lost |= first_ack;
            !first_ack
        });
        transfer(&mut pair, SERVER, 100_000);
        assert!(!pair.connection(SERVER).is_fallback());
    }
}

/// The kernel's connect() returns when the third ACK is on its way: no data goes with it.
#[test]
fn the_third_ack_of_linux_goes_ahead_of_the_data() {
    for (mut config, receiver) in
        [tcp(), mptcp()].into_iter().flat_map(|c| [(c.clone(), Receiver::Usual), (c, Receiver::Linux)])
    {
        config.tcp.receiver = receiver;
        let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS)]);
        let (log, seen) = std::sync::mpsc::channel();
        pair.tap(move |_, side, _, s| {
            if side == CLIENT && !s.flags.syn() {
                log.send(s.payload.len).unwrap();
            }
            true
        });
        pair.connection(CLIENT).offer(5_000);
        assert!(pair.run_until(SECOND, |p| p.read[SERVER] == 5_000));
        let lens: Vec<_> = seen.try_iter().take(2).collect();
        assert_eq!((lens[0] == 0, lens[1] > 1_000), (receiver == Receiver::Linux, true), "{receiver:?} {lens:?}");
    }
}

#[test]
fn a_lost_join_ack_is_repeated() {
    let mut pair = Pair::new(1, both(mptcp()), vec![Path::clean(10 * MS), Path::clean(10 * MS)]);
    let mut dropped = 0;
    pair.tap(move |_, side, path, s| {
        let third = side == CLIENT && path == 1 && !s.flags.syn() && dropped < 3;
        dropped += u32::from(third);
        !third
    });
    transfer(&mut pair, SERVER, 5_000_000);
    let second = pair.connection(CLIENT).statistics(SubflowId(1));
    assert!(second.new_bytes_received > 0, "the subflow was established in the end");
}

#[test]
fn a_join_with_a_wrong_hmac_is_refused() {
    use wire::{MpJoin, MptcpOption};
    for (victim, sender) in [("SYN/ACK", SERVER), ("ACK", CLIENT)] {
        let mut pair = Pair::new(1, both(mptcp()), vec![Path::clean(10 * MS), Path::clean(10 * MS)]);
        pair.tap(move |_, side, path, s| {
            if side == sender && path == 1 {
                for option in s.options.rare.iter_mut().flat_map(|rare| &mut rare.mptcp) {
                    match option {
                        MptcpOption::MpJoin(MpJoin::SynAck { hmac, .. }) => *hmac ^= 1,
                        MptcpOption::MpJoin(MpJoin::Ack { hmac }) => hmac[19] ^= 1,
                        _ => {}
                    }
                }
            }
            true
        });
        transfer(&mut pair, SERVER, 2_000_000);
        let s = pair.connection(CLIENT).statistics(SubflowId(1));
        assert_eq!(s.new_bytes_received, 0, "{victim} forged");
    }
}

#[test]
fn a_path_that_dies_is_survived_and_used_again_when_it_returns() {
    let mut second = Path::clean(20 * MS);
    second.dead_ns = vec![(SECOND, 4 * SECOND)];
    // The harness has no queue limits: a buffer of a few BDPs keeps the queues short.
    let config = Config { receive_buffer: ReceiveBuffer::Fixed(200_000), ..mptcp() };
    let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS), second]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(40_000_000);
    let used = |p: &mut Pair| p.connection(CLIENT).statistics(SubflowId(1)).new_bytes_received;
    pair.run_until(3 * SECOND, |_| false);
    let (while_dead, read_dead) = (used(&mut pair), pair.read[CLIENT]);
    pair.run_until(4 * SECOND, |_| false);
    assert_eq!(used(&mut pair), while_dead);
    assert!(pair.read[CLIENT] - read_dead > 900_000, "the other path goes on at its own speed");
    pair.run_until(12 * SECOND, |_| false);
    assert!(used(&mut pair) > while_dead + 1_000_000, "the path is used again");
    let s = pair.connection(SERVER).statistics(SubflowId(0));
    assert!(s.reinjections > 0);
}

#[test]
fn when_the_first_path_dies_for_good_the_second_finishes() {
    let mut first = Path::clean(10 * MS);
    first.dead_ns = vec![(SECOND, u64::MAX)];
    let mut pair = Pair::new(1, both(mptcp()), vec![first, Path::clean(20 * MS)]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(10_000_000);
    let now_ns = pair.now_ns;
    pair.connection(SERVER).close(Instant::from_nanos(now_ns));
    assert!(pair.run_until(60 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "read {:?}", pair.read);
    assert_eq!(pair.read[CLIENT], 10_000_000);
}

#[test]
fn a_slow_reader_closes_the_window_and_opens_it_again() {
    for config in [tcp(), mptcp()] {
        let config = Config { receive_buffer: ReceiveBuffer::Fixed(50_000), ..config };
        let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS)]);
        pair.reading[CLIENT] = false;
        assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
        pair.connection(SERVER).offer(200_000);
        let now_ns = pair.now_ns;
        pair.connection(SERVER).close(Instant::from_nanos(now_ns));
        pair.run_until(20 * SECOND, |_| false);
        let held = pair.connection(CLIENT).bytes_in_order();
        assert!((48_000..=50_000).contains(&held), "the buffer is filled and not overrun: {held}");
        // The window update that follows the reading is lost: a probe must find the window open.
        let opened = pair.now_ns;
        pair.tap(move |now, side, _, _| side != CLIENT || now > opened + 5 * MS);
        pair.reading[CLIENT] = true;
        assert!(pair.run_until(120 * SECOND, |p| p.saw(SERVER, Event::Flushed)), "read {:?}", pair.read);
        assert_eq!(pair.read[CLIENT], 200_000);
    }
}

#[test]
fn both_directions_may_fill_their_windows_at_once() {
    // Both ends have sent all that the other's window allows when everything is lost for a while: every ACK now stands
    // at the edge of the window, and must be taken.
    for config in [tcp(), mptcp()] {
        let config = Config { receive_buffer: ReceiveBuffer::Fixed(20_000), ..config };
        let mut path = Path::clean(100 * MS);
        path.dead_ns = (1..20).map(|i| (i * SECOND, i * SECOND + 250 * MS)).collect();
        let mut pair = Pair::new(1, both(config), vec![path]);
        assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
        for side in [CLIENT, SERVER] {
            pair.connection(side).offer(500_000);
            let now_ns = pair.now_ns;
            pair.connection(side).close(Instant::from_nanos(now_ns));
        }
        let done = pair.run_until(60 * SECOND, |p| p.saw(CLIENT, Event::Flushed) && p.saw(SERVER, Event::Flushed));
        assert!(done, "read {:?}", pair.read);
        assert!(pair.segments < 5_000, "ends that disagree must not answer each other for ever: {}", pair.segments);
    }
}

#[test]
fn a_small_shared_buffer_bounds_what_is_in_flight() {
    // The window is the connection's: with 100 kB, the sum over both subflows is never more.
    let config = Config { receive_buffer: ReceiveBuffer::Fixed(100_000), ..mptcp() };
    let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS), Path::clean(200 * MS)]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    pair.connection(SERVER).offer(u64::MAX);
    let mut most = 0;
    pair.run_until(10 * SECOND, |p| {
        let c = p.connection(SERVER);
        most = most.max(c.views().iter().map(|v| v.in_flight * v.mss).sum::<u32>());
        false
    });
    assert!(most <= 100_000, "{most}");
    assert!(most > 90_000, "and it is used: {most}");
}

#[test]
fn a_reset_ends_a_tcp_connection_and_only_a_subflow_of_an_mptcp_connection() {
    let mut pair = Pair::new(1, both(tcp()), vec![Path::clean(10 * MS)]);
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
    let now_ns = pair.now_ns;
    pair.connection(CLIENT).abort(Instant::from_nanos(now_ns));
    assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Aborted)));
    assert!(pair.saw(CLIENT, Event::Aborted));

    let mut pair = Pair::new(1, both(mptcp()), vec![Path::clean(10 * MS), Path::clean(10 * MS)]);
    let mut done = false;
    pair.tap(move |now, side, path, s| {
        if side == CLIENT && path == 1 && now > SECOND && !done {
            done = true;
            s.flags = wire::Flags::RST | wire::Flags::ACK;
        }
        true
    });
    transfer(&mut pair, SERVER, 10_000_000);
    assert!(pair.events[SERVER].iter().any(|&(at, e)| at < 2 * SECOND && e == Event::SubflowClosed(SubflowId(1))));
}

#[test]
fn a_syn_to_nobody_is_refused() {
    let mut pair = Pair::new(1, both(tcp()), vec![Path::clean(10 * MS)]);
    pair.tap(|_, side, _, s| {
        if side == CLIENT {
            s.dst_port = 81;
        }
        true
    });
    // The tap changes the port in the header only; the demultiplexer goes by the tuple, so change that instead.
    let remote = std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 9, 9)), 81);
    let local = [transport::LocalAddress {
        id: 0,
        address: std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
        backup: false,
    }];
    let id = pair.hosts[CLIENT].connect(Instant::ZERO, tcp(), &local, 50_000, remote);
    pair.ids[CLIENT] = Some(id);
    assert!(pair.run_until(SECOND, |p| p.saw(CLIENT, Event::Aborted)));
    assert!(pair.now_ns < 30 * MS, "refused after one round trip, not after a timeout");
}

#[test]
fn a_mark_reduces_the_window_once_and_nothing_is_retransmitted() {
    // The harness has no IP header: it marks by telling the receiver, as a driver does.
    for ecn in [true, false] {
        let mut config = tcp();
        config.tcp.ecn = ecn;
        let mut pair = Pair::new(1, both(config), vec![Path::clean(10 * MS)]);
        assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
        pair.connection(SERVER).offer(1_000_000);
        let now_ns = pair.now_ns;
        pair.connection(SERVER).close(Instant::from_nanos(now_ns));
        pair.run_until(now_ns + 50 * MS, |_| false);
        let before = pair.connection(SERVER).views()[0].cwnd;
        pair.connection(CLIENT).congestion_experienced(SubflowId(0));
        pair.run_until(now_ns + 120 * MS, |_| false);
        let s = pair.connection(SERVER).statistics(SubflowId(0));
        assert_eq!(s.marks, u64::from(ecn));
        let after = pair.connection(SERVER).views()[0];
        if ecn {
            assert!(after.ssthresh.is_finite() && after.ssthresh >= before / 2.0);
        } else {
            assert!(after.ssthresh.is_infinite());
        }
        assert!(pair.run_until(60 * SECOND, |p| p.saw(SERVER, Event::Flushed)));
        assert_eq!(pair.connection(SERVER).statistics(SubflowId(0)).retransmissions, 0);
        assert_eq!(pair.read[CLIENT], 1_000_000);
    }
}

#[test]
fn two_ends_may_open_at_once() {
    // Both call connect with each other's address and port: the SYNs cross (RFC 9293 figure 8).
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    let ends = [Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 3)].map(|a| SocketAddr::new(IpAddr::V4(a), 5_000));
    for config in [tcp(), mptcp()] {
        let mut pair = Pair::new(1, both(config.clone()), vec![Path::clean(10 * MS)]);
        for side in [CLIENT, SERVER] {
            let local = [transport::LocalAddress { id: 0, address: ends[side].ip(), backup: false }];
            pair.ids[side] =
                Some(pair.hosts[side].connect(Instant::ZERO, config.clone(), &local, 5_000, ends[1 - side]));
        }
        let established = |p: &mut Pair| p.saw(CLIENT, Event::Established) && p.saw(SERVER, Event::Established);
        assert!(pair.run_until(SECOND, established), "{:?}", pair.events);
        assert!(pair.now_ns < 25 * MS, "two crossings, no timeout");
        for side in [CLIENT, SERVER] {
            pair.connection(side).offer(100_000);
            let now_ns = pair.now_ns;
            pair.connection(side).close(Instant::from_nanos(now_ns));
        }
        let closed = |p: &mut Pair| p.saw(CLIENT, Event::Closed) && p.saw(SERVER, Event::Closed);
        assert!(pair.run_until(60 * SECOND, closed), "{:?}", pair.events);
        assert_eq!(pair.read, [100_000; 2]);
    }
}

#[test]
fn nagle_holds_back_short_segments_and_not_without() {
    for (nagle, segments) in [(true, 3), (false, 10)] {
        let mut config = tcp();
        config.tcp.nagle = nagle;
        let mut pair = Pair::new(1, both(config), vec![Path::clean(50 * MS)]);
        assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
        // Ten writes of 100 bytes, 20 ms apart, over an RTT of 100 ms.
        for i in 0..10 {
            pair.connection(SERVER).offer(100);
            let until_ns = pair.now_ns + 20 * MS;
            pair.run_until(until_ns, |_| false);
            let _ = i;
        }
        assert!(pair.run_until(2 * SECOND, |p| p.read[CLIENT] == 1000));
        assert_eq!(pair.connection(SERVER).statistics(SubflowId(0)).data_segments_sent, segments);
    }
}

#[test]
fn pacing_spreads_a_window_over_the_round_trip() {
    for (pacing, spread) in [(false, 0..12 * MS), (true, 40 * MS..100 * MS)] {
        let mut config = tcp();
        config.tcp.pacing = pacing;
        let mut pair = Pair::new(1, both(config), vec![Path::clean(50 * MS)]);
        assert!(pair.run_until(SECOND, |p| p.saw(SERVER, Event::Established)));
        let (log, seen) = std::sync::mpsc::channel();
        pair.tap(move |now, side, _, s| {
            if side == SERVER && s.payload.len > 0 {
                log.send(now).unwrap();
            }
            true
        });
        pair.connection(SERVER).offer(43_440);
        let now_ns = pair.now_ns;
        pair.connection(SERVER).close(Instant::from_nanos(now_ns));
        assert!(pair.run_until(60 * SECOND, |p| p.saw(SERVER, Event::Flushed)));
        let times: Vec<u64> = seen.try_iter().collect();
        assert_eq!(times.len(), 30);
        // The first ten leave at once. Their acknowledgments come within 11 ms, and bring two segments each, which pacing spreads.
        assert!(times[..10].iter().all(|&t| t == times[0]), "{times:?}");
        assert!(spread.contains(&(times[29] - times[10])), "{times:?}");
        assert!(times[10..].chunks(2).all(|pair| pair[0] == pair[1]), "{times:?}");
    }
}
