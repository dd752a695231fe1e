//! Tests on the running kernel, and on recorded answers of kernels.

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

/// Recorded answers of kernels at the sender of 100,000 bytes on two subflows (`python -m studies kernel-infos`), with
/// the expected result: bytes of `tcp_info` that they know of those requested, whether they count timeouts, bytes of
/// `mptcp_info`.
const RECORDED: [(&str, usize, bool, usize); 4] = [
    (include_str!("linux-6.1.hex"), 232, false, 48),
    (include_str!("linux-6.6.hex"), 248, true, 80),
    (include_str!("linux-6.12.hex"), 248, true, 96),
    (include_str!("linux-6.18.hex"), 248, true, 96),
];

/// The recorded answer to one option.
fn recorded(text: &str, option: &str) -> Vec<u8> {
    let line = text.lines().find_map(|line| line.strip_prefix(option)).expect("each was recorded");
    let digits = line.trim().as_bytes().chunks_exact(2);
    digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

#[test]
fn what_kernels_answered_is_read() {
    for (text, size, counts_timeouts, bytes_of_mptcp_info) in RECORDED {
        let name = text.lines().next().unwrap();
        let infos = split::<INFO>(&recorded(text, "tcp_info"));
        let ends = split::<ADDRESSES>(&recorded(text, "addresses"));
        let subflows: Vec<Subflow> = infos.iter().zip(&ends).filter_map(|(info, ends)| subflow(info, ends)).collect();
        let [first, second] = subflows[..] else { panic!("{name}: {subflows:?}") };
        assert!(infos.iter().all(|(_, known)| *known == size), "{name}");
        assert_eq!(first.remote.ip(), Ipv4Addr::LOCALHOST, "{name}");
        assert_eq!(second.remote.ip(), Ipv4Addr::new(10, 9, 9, 1), "{name}");
        let acked = first.tcp.bytes_acked + second.tcp.bytes_acked;
        assert!((100_000..=100_002).contains(&acked), "{name}: {acked}, with the SYN of each");
        for tcp in [first.tcp, second.tcp] {
            assert_eq!((tcp.retransmissions, tcp.timeouts, tcp.in_flight_segments), (0, 0, 0), "{name}: {tcp:?}");
            assert!(tcp.cwnd_segments >= 10 && tcp.srtt_us > 0, "{name}: {tcp:?}");
            assert_eq!((tcp.bytes_received, tcp.has_timeouts), (0, counts_timeouts), "{name}: {tcp:?}");
        }
        assert!(first.tcp.data_segments_sent > 0, "{name}: {subflows:?}");
        let info = recorded(text, "mptcp_info");
        assert_eq!(info.len(), bytes_of_mptcp_info, "{name}");
        assert_eq!(read_repeated(&info, info.len()), (bytes_of_mptcp_info >= 56).then_some(0), "{name}");
        if info.len() >= 64 {
            assert_eq!(u64_at(&info, 56), 100_000, "{name}: bytes sent, where they stand");
        }
    }
    assert!(split::<INFO>(&[0; HEADER + INFO]).is_empty(), "a kernel that says nothing");
}

/// Other kernels report other prefixes of the same structures, which only grow.
#[test]
fn every_size_between_is_read_by_its_own() {
    let answer = recorded(RECORDED[3].0, "tcp_info");
    for size in [192, 224, 232, 240, 244, 248] {
        let sizes = (size as u32).to_ne_bytes();
        let elements = answer[HEADER..].chunks_exact(INFO).flat_map(|element| &element[..size]);
        let older: Vec<u8> = answer[..8].iter().chain(&sizes).chain(&sizes).chain(elements).copied().collect();
        let infos: Vec<TcpInfo> = split::<INFO>(&older).iter().map(|(info, known)| read_info(info, *known)).collect();
        let whole: Vec<TcpInfo> = split::<INFO>(&answer).iter().map(|(info, known)| read_info(info, *known)).collect();
        assert_eq!(infos.len(), 2, "{size}");
        for (info, whole) in infos.iter().zip(&whole) {
            assert_eq!(*info, TcpInfo { has_timeouts: size >= 242, ..*whole }, "{size}");
        }
    }
    let info = recorded(RECORDED[3].0, "mptcp_info");
    for (known, expected) in [(43, None), (48, None), (80, Some(0)), (88, Some(0)), (96, Some(0))] {
        assert_eq!(read_repeated(&info, known), expected, "{known}");
    }
}
