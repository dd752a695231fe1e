//! Attackers that open Multipath TCP connections and then misbehave.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use wire::{
    AddAddr, Checksums, DataNumber, Dss, Flags, Mapping, MpCapable, MpJoin, MptcpOption, Options, RareOptions, Segment,
    keys,
};

use super::{PACKETS_PER_SECOND, PORT, Result, SENDERS, VICTIM};

const ISS: u32 = 1_000;
const KEY: u64 = 0x0123_4567_89ab_cdef;
/// Payload bytes per segment.
const LEN: u64 = 1_000;

/// The attacker's view of a connection.
struct Peer {
    from: SocketAddr,
    to: SocketAddr,
    /// The number that acknowledges the host's SYN; then the host's key.
    ack: u32,
    key: u64,
}

fn options(mptcp: Vec<MptcpOption>, mss: Option<u16>) -> Options {
    let rare = Some(Box::new(RareOptions { mptcp, mss, window_scale: mss.map(|_| 7), ..RareOptions::default() }));
    Options { rare, ..Options::default() }
}

fn capable(sender_key: Option<u64>, receiver_key: Option<u64>) -> MptcpOption {
    MptcpOption::MpCapable(MpCapable { version: 1, flags: 1, sender_key, receiver_key, data: None })
}

fn key_of(segment: &Segment<Vec<u8>>) -> Option<u64> {
    segment.options.rare.iter().flat_map(|rare| &rare.mptcp).find_map(|option| match option {
        MptcpOption::MpCapable(capable) => capable.sender_key,
        _ => None,
    })
}

fn send(device: &UnixDatagram, from: SocketAddr, to: SocketAddr, segment: Segment<Vec<u8>>) -> Result<()> {
    let mut packet = Vec::new();
    let segment = Segment { src_port: from.port(), dst_port: to.port(), ..segment };
    wire::encode(&wire::IpHeader::new(from.ip(), to.ip()), &segment, &mut packet)?;
    let _ = device.send(&packet); // Packets that the device does not take are lost.
    Ok(())
}

impl Peer {
    /// A connection from this port, established with one byte of data.
    fn open(device: &UnixDatagram, port: u16, window: u16) -> Result<Peer> {
        let (from, to) = (SocketAddr::from(([10, 1, 0, 1], port)), SocketAddr::from((VICTIM, PORT + 1)));
        let mut buffer = [0; 2_048];
        let answer = loop {
            let options = options(vec![capable(None, None)], Some(1_460));
            send(device, from, to, Segment { seq: ISS, flags: Flags::SYN, options, window, ..Segment::default() })?;
            let Ok(len) = device.recv(&mut buffer) else { continue };
            let (_, answer) = wire::decode_with(&buffer[..len], Checksums::Verify)?;
            if answer.flags.syn() && answer.dst_port == port {
                break answer;
            }
        };
        let key = key_of(&answer).ok_or("the SYN/ACK has no key")?;
        let peer = Peer { from, to, ack: answer.seq.wrapping_add(1), key };
        let options = options(vec![capable(Some(KEY), Some(key))], None);
        peer.say(device, Segment { seq: ISS + 1, options, window, ..Segment::default() })?;
        peer.data(device, 0, 0, 1, window)?;
        Ok(peer)
    }

    fn say(&self, device: &UnixDatagram, segment: Segment<Vec<u8>>) -> Result<()> {
        send(device, self.from, self.to, Segment { ack: self.ack, flags: Flags::ACK, ..segment })
    }

    /// Sends `len` bytes at a subflow offset, mapped to a stream offset.
    fn data(&self, device: &UnixDatagram, place: u64, stream: u64, len: u64, window: u16) -> Result<()> {
        let number = |key, place: u64| DataNumber::Long(keys::idsn(key).wrapping_add(1 + place));
        let mapping = Mapping { dsn: number(KEY, stream), ssn: place as u32 + 1, len: len as u16, checksum: None };
        let dss = Dss { data_ack: Some(number(self.key, 0)), mapping: Some(mapping), data_fin: false };
        let options = Options { dss: Some(dss), ..Options::default() };
        let seq = (ISS + 1).wrapping_add(place as u32);
        self.say(device, Segment { seq, options, payload: vec![7; len as usize], window, ..Segment::default() })
    }
}

/// Calls `send_one` for each of many connections in turn, repeatedly, at a fixed rate.
fn each(
    device: &UnixDatagram,
    end: Instant,
    window: u16,
    send_one: fn(&UnixDatagram, &Peer, u64) -> Result<()>,
) -> Result<()> {
    device.set_read_timeout(Some(Duration::from_millis(200)))?;
    let peers: Vec<Peer> = (0..SENDERS).map(|port| Peer::open(device, 5_000 + port, window)).collect::<Result<_>>()?;
    device.set_nonblocking(true)?;
    let (begun, mut sent, mut buffer) = (Instant::now(), 0, [0; 2_048]);
    for n in 0.. {
        for peer in &peers {
            while sent > begun.elapsed().as_micros() as u64 * PACKETS_PER_SECOND / 1_000_000 {
                std::thread::sleep(Duration::from_micros(100));
            }
            sent += 1;
            send_one(device, peer, n)?;
            while device.recv(&mut buffer).is_ok() {}
        }
        if Instant::now() > end {
            break;
        }
    }
    Ok(())
}

/// A window that stays zero: everything the host writes has to wait.
pub fn zero_window(device: &UnixDatagram, end: Instant) -> Result<()> {
    each(device, end, 0, |device, peer, _| peer.say(device, Segment { seq: ISS + 2, window: 0, ..Segment::default() }))
}

/// Data in order on the subflow, but only every other part of the stream.
pub fn holes(device: &UnixDatagram, end: Instant) -> Result<()> {
    each(device, end, 60_000, |device, peer, n| peer.data(device, 1 + n * 100, 101 + n * 200, 100, 60_000))
}

/// Mappings that contradict earlier ones for the same bytes.
pub fn mappings(device: &UnixDatagram, end: Instant) -> Result<()> {
    each(device, end, 60_000, |device, peer, n| {
        let place = 1 + n / 4 * (LEN / 2);
        peer.data(device, place + n % 3, 1 + n.wrapping_mul(7_919) % 50_000, LEN - n % 7, 60_000)
    })
}

/// Meaningless address announcements, removals and DSS options, in turn.
pub fn nonsense(device: &UnixDatagram, end: Instant) -> Result<()> {
    each(device, end, 60_000, |device, peer, n| {
        let address = IpAddr::V4(Ipv4Addr::from_bits(0x0a01_0000 + n as u32));
        let hmac = keys::add_addr_hmac(KEY, peer.key, n as u8, address, None);
        let announced =
            AddAddr { echo: n % 5 == 0, id: n as u8, address, port: None, hmac: (n % 5 != 0).then_some(hmac) };
        let options = match n % 3 {
            0 => options(vec![MptcpOption::AddAddr(announced)], None),
            1 => {
                let mapping = Mapping { dsn: DataNumber::Long(n << 32), ssn: n as u32, len: n as u16, checksum: None };
                let dss =
                    Dss { data_ack: Some(DataNumber::Long(n << 40)), mapping: Some(mapping), data_fin: n % 2 == 0 };
                Options { dss: Some(dss), ..Options::default() }
            }
            _ => {
                let dss = Dss { data_ack: Some(DataNumber::Short(n as u32)), mapping: None, data_fin: false };
                Options { dss: Some(dss), ..Options::default() }
            }
        };
        peer.say(device, Segment { seq: ISS + 2, options, window: 60_000, ..Segment::default() })
    })
}

/// Joins with the right token from ever new ports, which are never completed.
pub fn half_open(device: &UnixDatagram, end: Instant) -> Result<()> {
    each(device, end, 60_000, |device, peer, n| {
        let from = SocketAddr::from(([10, 1, 0, 3 + (n / 60_000) as u8], 1_024 + (n % 60_000) as u16));
        let join = MpJoin::Syn { backup: false, address_id: 1, token: keys::token(peer.key), nonce: n as u32 };
        let options = options(vec![MptcpOption::MpJoin(join)], Some(1_460));
        let syn = Segment { seq: ISS, flags: Flags::SYN, options, window: 60_000, ..Segment::default() };
        send(device, from, peer.to, syn)
    })
}

/// A server that answers every SYN, then announces one address after another and acknowledges data never sent.
pub fn server(device: &UnixDatagram, end: Instant) -> Result<()> {
    device.set_read_timeout(Some(Duration::from_millis(1)))?;
    let (mut clients, mut buffer, mut n) = (Vec::new(), [0; 65_536], 0_u64);
    while Instant::now() < end {
        if let Ok(len) = device.recv(&mut buffer)
            && let Ok((header, segment)) = wire::decode_with(&buffer[..len], Checksums::Verify)
        {
            let (from, to) =
                (SocketAddr::new(header.dst, segment.dst_port), SocketAddr::new(header.src, segment.src_port));
            let ack = segment.seq.wrapping_add(1);
            if segment.flags.syn() && key_of(&segment).is_none() {
                let options = options(vec![capable(Some(KEY), None)], Some(1_460));
                let flags = Flags::SYN | Flags::ACK;
                send(
                    device,
                    from,
                    to,
                    Segment { seq: ISS, ack, flags, options, window: 60_000, ..Segment::default() },
                )?;
            } else if let Some(key) = key_of(&segment)
                && clients.len() < usize::from(SENDERS)
            {
                clients.push(Peer { from, to, ack: segment.seq, key });
            }
        }
        for peer in &clients {
            n += 1;
            let address = IpAddr::V4(Ipv4Addr::from_bits(0x0a01_0000 + n as u32));
            let hmac = keys::add_addr_hmac(KEY, peer.key, n as u8, address, None);
            let announced = AddAddr { echo: false, id: n as u8, address, port: None, hmac: Some(hmac) };
            let options = options(vec![MptcpOption::AddAddr(announced)], None);
            peer.say(device, Segment { seq: ISS + 1, options, window: 60_000, ..Segment::default() })?;
            peer.data(device, n % 50_000, n.wrapping_mul(7_919) % 500_000, 100, 60_000)?;
        }
    }
    Ok(())
}
