//! Two stacks connected by pairs of datagram sockets in place of TUN devices, which needs no privileges.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use live::stack::{Address, Chunk, Ended, Impair, Options, Settings, Socket, SocketError, Stack};

const LONG: Duration = Duration::from_secs(60);
const PORT: u16 = 80;

fn address(six: bool, path: u8, end: u8) -> IpAddr {
    if six {
        Ipv6Addr::new(0xfd00, 0, 0, path.into(), 0, 0, 0, end.into()).into()
    } else {
        Ipv4Addr::new(10, 0, path, end).into()
    }
}

/// Two stacks with two paths between them; the first opens connections, the second listens.
fn stacks(six: bool, impair: &Impair, options: &Options) -> [Stack; 2] {
    let pairs: Vec<_> = (0..2).map(|_| UnixDatagram::pair().unwrap()).collect();
    let ends = [1_u8, 2].map(|end| {
        let addresses = (0..2).map(|path| Address {
            id: path,
            address: address(six, path, end),
            device: path.into(),
            backup: false,
        });
        let settings = Settings { addresses: addresses.collect(), seed: end.into() };
        let device = |(near, far): &(UnixDatagram, UnixDatagram)| {
            OwnedFd::from(if end == 1 { near } else { far }.try_clone().unwrap())
        };
        Stack::start(&settings, pairs.iter().map(device).collect()).unwrap()
    });
    for device in 0..2 {
        ends[0].impair(device, Impair { seed: device as u64, ..impair.clone() });
    }
    ends[1].listen(PORT, options.config().unwrap());
    ends
}

fn content(bytes: usize, salt: u8) -> Vec<u8> {
    (0..bytes).map(|i| ((i * 2_654_435_761) >> 7) as u8 ^ salt).collect()
}

fn send(socket: &Socket, data: &[u8]) {
    for piece in data.chunks(10_000) {
        socket.write(Chunk::from(piece.to_vec()), LONG).unwrap();
    }
    socket.close();
}

fn receive(socket: &Socket) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(chunks) = socket.read(1 << 16, LONG).unwrap() {
        chunks.iter().for_each(|chunk| all.extend_from_slice(&chunk.0));
    }
    all
}

/// Exchanges data in both directions at the same time. Returns the state of the first end.
fn exchange(six: bool, impair: &Impair, options: &Options, bytes: usize) -> live::stack::ConnectionState {
    let [client, server] = stacks(six, impair, options);
    let near = client.connect(options.config().unwrap(), Vec::new(), SocketAddr::new(address(six, 0, 2), PORT));
    near.wait_established(LONG).unwrap();
    let far = server.accept(PORT, LONG).unwrap();
    let (up, down) = (content(bytes, 1), content(bytes / 2, 2));
    std::thread::scope(|scope| {
        scope.spawn(|| send(&near, &up));
        scope.spawn(|| send(&far, &down));
        scope.spawn(|| assert!(receive(&far) == up, "the bytes to the server differ"));
        assert!(receive(&near) == down, "the bytes to the client differ");
    });
    near.wait_flushed(LONG).unwrap();
    let state = client.look(&near).unwrap();
    assert_eq!(far.wait_ended(LONG), Ok(Ended::Closed));
    state
}

#[test]
fn every_byte_arrives_over_two_paths_that_lose_delay_and_reorder() {
    for (six, checksum) in [(false, true), (true, false)] {
        let impair = Impair { loss: 0.02, delay_ns: 500_000, reorder: 0.02, reorder_ns: 500_000, ..Impair::default() };
        let mss = Some(if six { 1440 } else { 1460 });
        let options = Options { checksum, mss, path_manager: Some("fullmesh".into()), ..Options::default() };
        let state = exchange(six, &impair, &options, 1_000_000);
        assert!(!state.fallback);
        let sent: Vec<u64> = state.subflows.iter().map(|subflow| subflow.segments_sent).collect();
        assert!(sent.len() >= 2 && sent.iter().filter(|&&segments| segments > 0).count() >= 2, "{sent:?}");
    }
}

#[test]
fn without_options_it_is_tcp() {
    let impair = Impair { strip_syn: true, ..Impair::default() };
    let state = exchange(false, &impair, &Options::default(), 100_000);
    assert!(state.fallback);
    assert_eq!(state.subflows.len(), 1);
}

/// The connection is over before the program reads, and more data has arrived than a socket holds: nothing is lost.
#[test]
fn a_late_reader_gets_all() {
    // What does not fit into the socket must fit into the window, regardless of how fast that would have grown.
    let options = Options { receive_buffer: Some(1 << 20), ..Options::default() };
    let [client, server] = stacks(false, &Impair::default(), &options);
    let near = client.connect(options.config().unwrap(), Vec::new(), SocketAddr::new(address(false, 0, 2), PORT));
    near.wait_established(LONG).unwrap();
    let far = server.accept(PORT, LONG).unwrap();
    let data = content(1_300_000, 3);
    far.close();
    send(&near, &data);
    assert_eq!(near.wait_ended(LONG), Ok(Ended::Closed));
    assert_eq!(far.wait_ended(LONG), Ok(Ended::Closed));
    let mut parts = Vec::new();
    // Reads everything that a socket holds, twice at once: the rest must be fetched first.
    while let Some(chunks) = far.read(1 << 21, LONG).unwrap() {
        parts.push(chunks);
    }
    let found: Vec<u8> = parts.concat().iter().flat_map(|chunk| chunk.0.to_vec()).collect();
    assert_eq!(found.len(), data.len());
    assert!(found == data);
}

/// A program that never reads: the socket takes 1 MiB (and the piece that passes it), the receive window the rest.
#[test]
fn data_that_the_program_does_not_read_is_bounded() {
    const SOCKET: u64 = 1 << 20;
    let options = Options { protocol: Some("tcp".into()), receive_buffer: Some(1 << 16), ..Options::default() };
    let [client, server] = stacks(false, &Impair::default(), &options);
    let near = client.connect(options.config().unwrap(), Vec::new(), SocketAddr::new(address(false, 0, 2), PORT));
    let far = server.accept(PORT, LONG).unwrap();
    let data = content(3 << 20, 6);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&near, &data));
        eventually("the socket is full", || server.held().bytes >= SOCKET);
        let mut looks = 0; // what has no bound would grow
        eventually("it stays so", || {
            assert!(server.held().bytes <= SOCKET + 10_000, "{}", server.held().bytes);
            looks += 1;
            looks > 10
        });
        assert!(receive(&far) == data);
        sender.join().unwrap();
    });
}

/// The peer aborts before the program accepts. A reader is told at once and does not wait in vain.
#[test]
fn a_connection_that_was_reset_before_it_was_accepted_says_so() {
    let options = Options { protocol: Some("tcp".into()), ..Options::default() };
    let [client, server] = stacks(false, &Impair::default(), &options);
    let near = client.connect(options.config().unwrap(), Vec::new(), SocketAddr::new(address(false, 0, 2), PORT));
    near.wait_established(LONG).unwrap();
    eventually("the server has the connection", || {
        let held = server.held();
        held.connections == 1 && held.half_open == 0
    });
    client.abort(&near);
    eventually("the server has let go of the connection", || server.held().connections == 0);
    let far = server.accept(PORT, LONG).unwrap();
    assert_eq!(far.read(1, LONG), Err(SocketError::Aborted));
}

#[test]
fn a_stack_that_stops_tells_its_sockets() {
    let [client, server] = stacks(false, &Impair::default(), &Options::default());
    let near =
        client.connect(Options::default().config().unwrap(), Vec::new(), SocketAddr::new(address(false, 0, 2), PORT));
    near.wait_established(LONG).unwrap();
    assert!(near.read(1, Duration::from_millis(1)).unwrap_err().to_string().contains("timed out"));
    client.stop().unwrap();
    assert!(near.read(1, LONG).unwrap_err().to_string().contains("shut down"));
    server.stop().unwrap();
    // Nothing listens on the other port: the connection is refused.
    let [client, _server] = stacks(false, &Impair::default(), &Options::default());
    let refused = client.connect(
        Options::default().config().unwrap(),
        Vec::new(),
        SocketAddr::new(address(false, 0, 2), PORT + 1),
    );
    assert!(refused.wait_established(LONG).unwrap_err().to_string().contains("reset, refused"));
}

#[allow(clippy::disallowed_methods)] // stacks run in real time
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
}

/// Connections in sequence, each with data in both directions: what is over is freed at both ends.
#[test]
fn what_is_over_leaves_nothing_behind() {
    let options = Options::default();
    let [client, server] = stacks(false, &Impair::default(), &options);
    let mut last = None;
    for n in 0..50 {
        let near = client.connect(options.config().unwrap(), Vec::new(), SocketAddr::new(address(false, 0, 2), PORT));
        near.wait_established(LONG).unwrap();
        let far = server.accept(PORT, LONG).unwrap();
        send(&near, &content(1_000, n));
        send(&far, &content(2_000, n));
        assert!(receive(&far) == content(1_000, n) && receive(&near) == content(2_000, n));
        assert_eq!((near.wait_ended(LONG), far.wait_ended(LONG)), (Ok(Ended::Closed), Ok(Ended::Closed)));
        last = Some(near);
    }
    eventually("both stacks are empty", || client.held().connections + server.held().connections == 0);
    let time_wait = client.held().time_wait + server.held().time_wait;
    assert!((50..=400).contains(&time_wait), "every subflow rests at one end: {time_wait}");
    let state = client.look(&last.unwrap()).expect("how the last one ended is still known");
    assert!(state.over && state.bytes_received == 2_000, "{state:?}");
}

/// Dropping a socket closes it: written data arrives, and the connection ends.
#[test]
fn a_socket_that_is_dropped_is_closed() {
    let options = Options::default();
    let [client, server] = stacks(false, &Impair::default(), &options);
    let near = client.connect(options.config().unwrap(), Vec::new(), SocketAddr::new(address(false, 0, 2), PORT));
    near.wait_established(LONG).unwrap();
    let far = server.accept(PORT, LONG).unwrap();
    near.write(Chunk::from(content(100_000, 7)), LONG).unwrap();
    drop(near);
    assert!(receive(&far) == content(100_000, 7));
    drop(far);
    eventually("both stacks are empty", || client.held().connections + server.held().connections == 0);
}
