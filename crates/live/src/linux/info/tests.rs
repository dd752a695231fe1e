//! On the running kernel, and on answers that kernels gave.

use super::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn tcp_info_of_a_loopback_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    client.write_all(&[7; 1000]).unwrap();
    server.read_exact(&mut [0; 1000]).unwrap();
    let [sender] = tcp_subflow(client.as_fd()).unwrap()[..] else { panic!("one subflow") };
    assert_eq!((sender.local, sender.remote), (client.local_addr().unwrap(), client.peer_addr().unwrap()));
    assert!(sender.tcp.cwnd_segments >= 2 && sender.tcp.data_segments_sent >= 1, "{sender:?}");
    let [receiver] = tcp_subflow(server.as_fd()).unwrap()[..] else { panic!("one subflow") };
    assert_eq!((receiver.tcp.bytes_received, receiver.tcp.retransmissions), (1000, 0));
    assert!(fell_back(client.as_fd()), "a plain TCP socket");
}

#[test]
fn addresses_of_both_families() {
    let mut storage = [0; 128];
    storage[..8].copy_from_slice(&[2, 0, 0, 80, 10, 0, 0, 1]);
    assert_eq!(address(&storage), Some("10.0.0.1:80".parse().unwrap()));
    storage[0] = 10;
    storage[8..24].copy_from_slice(&"2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
    assert_eq!(address(&storage), Some("[2001:db8::1]:80".parse().unwrap()));
    assert_eq!(address(&[0; 128]), None);
}

/// What Linux 6.18 answered at the sender of 100,000 bytes on two subflows: the array of `tcp_info`, asked for with 248 bytes
/// each, and `mptcp_info`.
fn recorded() -> [Vec<u8>; 2] {
    let mut lines = include_str!("linux-6.18.hex").lines().map(|line| {
        let digits = line.as_bytes().chunks_exact(2);
        digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
    });
    [lines.next().unwrap(), lines.next().unwrap()]
}

/// The same as a kernel answers that knows fewer bytes of each element, as long as it has been asked for more.
fn of_older(answer: &[u8], size: usize) -> Vec<u8> {
    let sizes = |size: usize| (size as u32).to_ne_bytes();
    let elements = answer[HEADER..].chunks_exact(248).flat_map(|element| &element[..size]);
    [&answer[..8], &sizes(size), &sizes(size)].concat().into_iter().chain(elements.copied()).collect()
}

#[test]
fn every_size_of_tcp_info_is_read_by_its_own() {
    let [answer, _] = recorded();
    // The sizes of Linux 5.5 to 6.1, 6.2 to 6.6, 6.7 on; what 6.18 has beyond was not asked for.
    for (size, counts_timeouts) in [(232, false), (240, false), (248, true)] {
        let answer = if size == 248 { answer.clone() } else { of_older(&answer, size) };
        let infos: Vec<TcpInfo> = split::<INFO>(&answer).iter().map(|(info, known)| read_info(info, *known)).collect();
        let [first, second] = infos[..] else { panic!("{size}: {} subflows", infos.len()) };
        assert_eq!((first.retransmissions, second.retransmissions), (0, 0), "{size}");
        assert_eq!((first.cwnd_segments, second.cwnd_segments), (13, 10), "{size}");
        assert_eq!(first.bytes_acked + second.bytes_acked, 100_000 + 2, "{size}: and the SYN of each");
        assert!(first.data_segments_sent > 0 && first.srtt_us > 0 && second.srtt_us > 0, "{size}: {infos:?}");
        assert_eq!((first.has_timeouts, second.has_timeouts), (counts_timeouts, counts_timeouts), "{size}");
    }
    assert!(split::<INFO>(&[0; HEADER + INFO]).is_empty(), "a kernel that says nothing");
}

#[test]
fn every_size_of_mptcp_info_is_read_by_its_own() {
    let [_, info] = recorded();
    // Linux 5.16 to 6.4 tell 44 or 48 bytes, 6.5 to 6.9 80, later ones 96.
    for (known, expected) in [(44, None), (48, None), (80, Some(0)), (96, Some(0))] {
        assert_eq!(read_repeated(&info, known), expected, "{known}");
    }
    assert_eq!(u64_at(&info, 56), 100_000, "bytes sent, where they stand");
}
