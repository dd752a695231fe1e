//! Measures what attacks cost the stack: memory, and the time of a legitimate transfer during the attack. Run by `make
//! soak-attack`; docs/security.md states the bounds.
//!
//! The attacker is a separate process whose standard input is the far end of one of the stack's devices (a pair of
//! datagram sockets in place of a TUN device, which needs no privileges). The legitimate peer uses another device of
//! the same stack.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // it measures in real time

mod multipath;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use live::stack::{Address, Chunk, Impair, Options, Settings, Socket, Stack};
use wire::{Checksums, Flags, IpHeader, Options as TcpOptions, RareOptions, Segment};

const LONG: Duration = Duration::from_secs(300);
const PORT: u16 = 80;
/// Address that attackers connect to.
const VICTIM: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
const VICTIM_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2);
const TRANSFER: usize = 128 << 20;
/// One-way delay between the legitimate peer and the stack.
const DELAY_NS: u64 = 10_000_000;
/// Window of the legitimate peer: with a round trip of 20 ms, 52 MB/s.
const WINDOW: u64 = 1 << 20;
const PACKETS_PER_SECOND: u64 = 100_000;
const ATTACK: Duration = Duration::from_secs(10);
const SLOW_PEERS: u16 = 1_000;
const SENDERS: u16 = 100;
const CHURN: u32 = 100_000;
/// The attacks, with the memory each may take in MiB. Data in sockets has a budget of 256 MiB and 64 KiB for each, and a
/// socket takes at most 1 MiB that its program has not read: what `window` fills, beside a window of 64 KiB each.
const ATTACKS: [(&str, f64); 11] = [
    ("syn", 32.0),
    ("syn-v6", 32.0),
    ("slow", 320.0),
    ("zero-window", 264.0),
    ("window", 32.0 + SENDERS as f64 * (1.0 + 1.0 / 16.0)),
    ("bytes", 32.0),
    ("holes", 64.0),
    ("mappings", 64.0),
    ("nonsense", 32.0),
    ("half-open", 32.0),
    ("server", 64.0),
];
const CHURN_KIND: &str = "churn";

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let known = |kind: &str| kind == CHURN_KIND || ATTACKS.iter().any(|&(name, _)| name == kind);
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["attacker", kind] => attack(kind),
        ["defend", CHURN_KIND] => churn(),
        ["defend", kind] => defend(kind),
        [] => all(&ATTACKS.map(|(name, _)| name)).and_then(|()| in_a_process_of_its_own(CHURN_KIND)),
        ref kinds if kinds.iter().all(|kind| known(kind)) => all(kinds),
        _ => Err(format!("usage: attack [{}|{CHURN_KIND}]...", ATTACKS.map(|(name, _)| name).join("|")).into()),
    }
}

fn all(kinds: &[&str]) -> Result<()> {
    println!(
        "{:<12} {:>12} {:>11} {:>11} {:>12} {:>10} {:>11} {:>8} {:>8} {:>6}",
        "attack",
        "packets/s",
        "before MiB",
        "at most MiB",
        "connections",
        "half-open",
        "sockets MiB",
        "alone s",
        "beside s",
        "times"
    );
    kinds.iter().try_for_each(|kind| in_a_process_of_its_own(kind))
}

/// The allocator keeps freed memory, so that one attack's memory would hide the next one's.
fn in_a_process_of_its_own(kind: &str) -> Result<()> {
    let status = Command::new(std::env::current_exe()?).args(["defend", kind]).status()?;
    if status.success() { Ok(()) } else { Err(format!("{kind}: {status}").into()) }
}

// The defence.

/// The stack under attack, the legitimate peer, and the attacker's end of the other device.
fn stage() -> Result<(Stack, Stack, UnixDatagram)> {
    let (near, far) = UnixDatagram::pair()?;
    let (attacked, attacker) = UnixDatagram::pair()?;
    let address = |address: [u8; 4], device, id| Address { id, address: address.into(), device, backup: false };
    let v6 = Address { id: 2, address: VICTIM_V6.into(), device: 1, backup: false };
    let addresses = vec![address([10, 0, 0, 2], 0, 0), address(VICTIM.octets(), 1, 1), v6];
    let server = Stack::start(&Settings { addresses, seed: 1 }, vec![near.into(), attacked.into()])?;
    let addresses = vec![address([10, 0, 0, 1], 0, 0)];
    let client = Stack::start(&Settings { addresses, seed: 2 }, vec![far.into()])?;
    server.listen(PORT, Options { receive_buffer: Some(WINDOW), ..Options::default() }.config()?);
    server.impair(0, Impair { delay_ns: DELAY_NS, ..Impair::default() });
    server.listen(PORT + 1, Options::default().config()?);
    Ok((server, client, attacker))
}

/// Transfers data from the client to the server on a new connection. Returns the duration.
fn transfer(server: &Stack, client: &Stack) -> Result<Duration> {
    let begun = Instant::now();
    let near = client.connect(Options::default().config()?, Vec::new(), ([10, 0, 0, 2], PORT).into());
    near.wait_established(LONG)?;
    let far = server.accept(PORT, LONG)?;
    std::thread::scope(|scope| -> Result<()> {
        let sender = scope.spawn(move || {
            let piece = Chunk::from(vec![7; 64 << 10]);
            (0..TRANSFER / piece.0.len()).try_for_each(|_| near.write(piece.clone(), LONG)).map(|()| near.close())
        });
        let mut got = 0;
        while let Some(chunks) = far.read(1 << 20, LONG)? {
            got += chunks.iter().map(|chunk| chunk.0.len()).sum::<usize>();
        }
        sender.join().map_err(|_| "the sender panicked")??;
        if got == TRANSFER { Ok(()) } else { Err(format!("{got} bytes of {TRANSFER} arrived").into()) }
    })?;
    Ok(begun.elapsed())
}

/// Resident memory of this process, MiB.
fn memory_mib() -> Result<f64> {
    let pages: f64 = std::fs::read_to_string("/proc/self/statm")?.split(' ').nth(1).ok_or("statm")?.parse()?;
    Ok(pages * 4096.0 / f64::from(1 << 20))
}

fn defend(kind: &str) -> Result<()> {
    let (server, client, attacker) = stage()?;
    transfer(&server, &client)?; // The first transfer is slower.
    let alone = transfer(&server, &client)?;
    let before_mib = memory_mib()?;
    let mut child: Child =
        Command::new(std::env::current_exe()?).args(["attacker", kind]).stdin(OwnedFd::from(attacker)).spawn()?;
    let begun = Instant::now();
    let (mut held, mut most_mib, mut victims) = (server.held(), before_mib, Vec::new());
    let beside = std::thread::scope(|scope| -> Result<Duration> {
        let beside = scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(1));
            transfer(&server, &client).map_err(|error| error.to_string())
        });
        while begun.elapsed() < ATTACK + Duration::from_secs(1) || !beside.is_finished() {
            play_program(kind, &server, &mut victims);
            let now = server.held();
            held.half_open = held.half_open.max(now.half_open);
            held.connections = held.connections.max(now.connections);
            held.bytes = held.bytes.max(now.bytes);
            most_mib = most_mib.max(memory_mib()?);
        }
        Ok(beside.join().map_err(|_| "the transfer panicked")??)
    })?;
    child.kill().ok();
    child.wait()?;
    let taken = server.counters()[1].received;
    println!(
        "{kind:<12} {:>12.0} {before_mib:>11.0} {most_mib:>11.0} {:>12} {:>10} {:>11.0} {:>8.2} {:>8.2} {:>6.2}",
        taken as f64 / begun.elapsed().as_secs_f64(),
        held.connections,
        held.half_open,
        held.bytes as f64 / f64::from(1 << 20),
        alone.as_secs_f64(),
        beside.as_secs_f64(),
        beside.as_secs_f64() / alone.as_secs_f64()
    );
    let bound_mib = ATTACKS.iter().find(|&&(name, _)| name == kind).map_or(0.0, |&(_, mib)| mib);
    if most_mib - before_mib > bound_mib {
        return Err(format!("{kind} took {:.0} MiB, more than {bound_mib} MiB", most_mib - before_mib).into());
    }
    Ok(())
}

/// The program on the attacked stack: it accepts connections, writes to slow peers without end, and never reads.
fn play_program(kind: &str, server: &Stack, victims: &mut Vec<Socket>) {
    while let Ok(socket) = server.accept(PORT + 1, Duration::ZERO) {
        victims.push(socket);
    }
    if kind == "server" && victims.len() < usize::from(SENDERS) {
        let config = Options::default().config().expect("the defaults");
        victims.push(server.connect(config, vec![1], ([10, 1, 0, 1], PORT + 1).into()));
    }
    if kind == "slow" || kind == "zero-window" {
        for socket in victims.iter() {
            let _ = socket.write(Chunk::from(vec![9; 8 << 10]), Duration::ZERO);
        }
    }
    std::thread::sleep(Duration::from_millis(50));
}

// The attacker.

fn attack(kind: &str) -> Result<()> {
    let device = UnixDatagram::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let end = Instant::now() + Duration::from_secs(120); // The parent kills it earlier.
    match kind {
        "syn" => flood(&device, end, |n| Ipv4Addr::from_bits(0x0b00_0000 + n as u32).into()),
        "syn-v6" => flood(&device, end, |n| Ipv6Addr::from_bits((0x2001_0db8_0002 << 80) + u128::from(n)).into()),
        "zero-window" => multipath::zero_window(&device, end),
        "holes" => multipath::holes(&device, end),
        "mappings" => multipath::mappings(&device, end),
        "nonsense" => multipath::nonsense(&device, end),
        "half-open" => multipath::half_open(&device, end),
        "server" => multipath::server(&device, end),
        "slow" => stand_still(device, end),
        "window" => send_at_will(&device, end, |n| (u64::from(n) * 1_460, 1_460)),
        // Every other byte from the end of a window to its beginning, repeatedly.
        _ => send_at_will(&device, end, |n| (60_000 - 2 * (u64::from(n) % 30_000), 1)),
    }
}

fn packet(from: SocketAddr, segment: Segment<Vec<u8>>) -> Result<Vec<u8>> {
    let mut packet = Vec::new();
    let segment = Segment { src_port: from.port(), dst_port: PORT + 1, window: 60_000, ..segment };
    let victim: IpAddr = if from.is_ipv4() { VICTIM.into() } else { VICTIM_V6.into() };
    wire::encode(&IpHeader::new(from.ip(), victim), &segment, &mut packet)?;
    Ok(packet)
}

fn syn(seq: u32) -> Segment<Vec<u8>> {
    let rare = Some(Box::new(RareOptions { mss: Some(1_460), window_scale: Some(7), ..RareOptions::default() }));
    Segment { seq, flags: Flags::SYN, options: TcpOptions { rare, ..TcpOptions::default() }, ..Segment::default() }
}

/// SYNs from many addresses at a fixed rate. Packets that the device does not take are lost.
fn flood(device: &UnixDatagram, end: Instant, address: fn(u64) -> IpAddr) -> Result<()> {
    device.set_nonblocking(true)?;
    let (begun, mut sent, mut buffer) = (Instant::now(), 0_u64, [0; 2_048]);
    while Instant::now() < end {
        let due = (begun.elapsed().as_micros() as u64 * PACKETS_PER_SECOND / 1_000_000).min(sent + 64);
        while sent < due {
            let from = SocketAddr::new(address(sent), 1_024 + (sent % 60_000) as u16);
            let _ = device.send(&packet(from, syn(sent as u32))?);
            sent += 1;
        }
        while device.recv(&mut buffer).is_ok() {} // Discard the answers.
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(())
}

/// Connections that acknowledge and never read.
fn stand_still(device: UnixDatagram, end: Instant) -> Result<()> {
    let address = Address { id: 0, address: [10, 1, 0, 1].into(), device: 0, backup: false };
    let stack = Stack::start(&Settings { addresses: vec![address], seed: 3 }, vec![device.into()])?;
    let mut sockets = Vec::new();
    for _ in 0..SLOW_PEERS {
        sockets.push(stack.connect(Options::default().config()?, Vec::new(), (VICTIM, PORT + 1).into()));
    }
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    Ok(())
}

/// Sends a packet, waiting until the device takes it.
fn send(device: &UnixDatagram, end: Instant, packet: &[u8]) {
    while device.send(packet).is_err() && Instant::now() < end {
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Connections whose `n`th segment carries the bytes of `place(n)` in the stream, regardless of the window. No packet is
/// lost: at a first hole the stack would stop taking data, at a time that depends on the machine's load.
fn send_at_will(device: &UnixDatagram, end: Instant, place: fn(u32) -> (u64, usize)) -> Result<()> {
    const ISS: u32 = 1_000;
    device.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut peers = Vec::new();
    let mut buffer = [0; 2_048];
    for port in 0..SENDERS {
        let from = SocketAddr::from(([10, 1, 0, 1], 5_000 + port));
        let answer = loop {
            device.send(&packet(from, syn(ISS))?)?;
            let Ok(len) = device.recv(&mut buffer) else { continue };
            let (_, answer) = wire::decode_with(&buffer[..len], Checksums::Verify)?;
            if answer.flags.syn() && answer.dst_port == from.port() {
                break answer;
            }
        };
        let ack = answer.seq.wrapping_add(1);
        device.send(&packet(from, Segment { seq: ISS + 1, ack, flags: Flags::ACK, ..Segment::default() })?)?;
        peers.push((from, ack));
    }
    device.set_nonblocking(true)?;
    let (begun, mut sent) = (Instant::now(), 0);
    for n in 0.. {
        while sent > begun.elapsed().as_micros() as u64 * PACKETS_PER_SECOND / 1_000_000 {
            std::thread::sleep(Duration::from_micros(100));
        }
        sent += peers.len() as u64;
        for &(from, ack) in &peers {
            let (at, len) = place(n);
            let seq = (ISS + 1).wrapping_add(at as u32);
            let segment = Segment { seq, ack, flags: Flags::ACK, payload: vec![7; len], ..Segment::default() };
            send(device, end, &packet(from, segment)?);
            while device.recv(&mut buffer).is_ok() {}
        }
        if Instant::now() > end {
            break;
        }
    }
    Ok(())
}

// Connections in sequence.

fn churn() -> Result<()> {
    let (server, client, _attacker) = stage()?;
    server.impair(0, Impair::default());
    let begun = Instant::now();
    let mut first_mib = 0.0;
    for n in 1..=CHURN {
        let near = client.connect(Options::default().config()?, Vec::new(), ([10, 0, 0, 2], PORT).into());
        near.wait_established(LONG)?;
        let far = server.accept(PORT, LONG)?;
        near.write(Chunk::from(vec![7; 100]), LONG)?;
        near.close();
        while far.read(1 << 16, LONG)?.is_some() {}
        far.close();
        near.wait_ended(LONG)?;
        // By now the number of connections in TIME-WAIT has reached its limit.
        if n == CHURN / 4 {
            first_mib = memory_mib()?;
        }
        if n % (CHURN / 4) == 0 {
            let (held, peer) = (client.held(), server.held());
            println!(
                "churn: {n} connections in {:.1} s; memory {:.0} MiB; {} and {} connections, {} and {} in TIME-WAIT",
                begun.elapsed().as_secs_f64(),
                memory_mib()?,
                held.connections,
                peer.connections,
                held.time_wait,
                peer.time_wait
            );
        }
    }
    println!("churn: {:+.1} MiB between a quarter and all of {CHURN} connections", memory_mib()? - first_mib);
    Ok(())
}
