//! Queries the kernel about a connection's subflows: the `tcp_info` of each, and its addresses. The structures are
//! those of linux/tcp.h and linux/mptcp.h, which have grown over time. Each answer states how many bytes of them the
//! kernel knows; that of an array also states the distance between its elements, which is smaller than requested on an
//! older kernel.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use crate::system::get_option;

const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;
/// `MPTCP_INFO_FLAG_FALLBACK`.
const FALLBACK: u32 = 1;
/// The kernel's limit of subflows in a connection: the first and eight more, since Linux 6.18 sixty-four more.
const SUBFLOWS: usize = 65;
/// `struct mptcp_subflow_data`, which precedes the elements.
const HEADER: usize = 16;
const INFO: usize = 248;
/// Two `sockaddr_storage`.
const ADDRESSES: usize = 256;

/// The used fields of `struct tcp_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    pub cwnd_segments: u32,
    pub srtt_us: u32,
    pub in_flight_segments: u32,
    pub retransmissions: u32,
    pub data_segments_sent: u32,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    /// 0 if the kernel does not count them: Linux 6.1 does not, 6.6.63 does.
    pub timeouts: u16,
    /// Whether the kernel counts timeouts.
    pub has_timeouts: bool,
}

/// Offset of `tcpi_total_rto` in `struct tcp_info`. A kernel reports it if it knows these two bytes.
const TOTAL_RTO: usize = 240;
/// The same for `struct mptcp_info`: `mptcpi_bytes_retrans`, since Linux 6.5.
const BYTES_RETRANS: usize = 48;

/// A subflow as seen by one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subflow {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub tcp: TcpInfo,
}

/// The current subflows of a socket of protocol IPPROTO_MPTCP; after a fallback, the only one.
pub fn mptcp_subflows(socket: BorrowedFd<'_>) -> io::Result<Vec<Subflow>> {
    // A subflow may come or go between the two calls: then try again.
    for _ in 0..3 {
        let infos = elements::<INFO>(socket, MPTCP_TCPINFO)?;
        let addresses = elements::<ADDRESSES>(socket, MPTCP_SUBFLOW_ADDRS)?;
        if infos.len() == addresses.len() {
            let both = infos.iter().zip(&addresses);
            return Ok(both.filter_map(|(info, ends)| subflow(info, ends)).collect());
        }
    }
    Ok(Vec::new())
}

/// The only subflow of a TCP socket.
pub fn tcp_subflow(socket: BorrowedFd<'_>) -> io::Result<Vec<Subflow>> {
    let mut info = [0; INFO];
    let length = get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    let tcp = read_info(&info, length);
    let local = SocketAddr::try_from(rustix::net::getsockname(socket)?)?;
    let Some(remote) = rustix::net::getpeername(socket)? else { return Ok(Vec::new()) };
    Ok(vec![Subflow { local, remote: SocketAddr::try_from(remote)?, tcp }])
}

/// Whether a socket of protocol IPPROTO_MPTCP, or one accepted from it, uses plain TCP.
pub fn fell_back(socket: BorrowedFd<'_>) -> bool {
    let mut info = [0; 80];
    match get_option(socket, SOL_MPTCP, MPTCP_INFO, &mut info) {
        // Six bytes and two of padding precede the flags.
        Ok(_) => u32_at(&info, 8) & FALLBACK != 0,
        // An accepted socket of a plain TCP client is a TCP socket.
        Err(error) => matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT)),
    }
}

/// Bytes that a socket of protocol IPPROTO_MPTCP has retransmitted at the MPTCP level; `None` before Linux 6.5, which
/// does not count them, and for a TCP socket.
pub fn repeated_bytes(socket: BorrowedFd<'_>) -> Option<u64> {
    let mut info = [0; 80];
    let known = get_option(socket, SOL_MPTCP, MPTCP_INFO, &mut info).ok()?;
    read_repeated(&info, known)
}

fn read_repeated(info: &[u8], known: usize) -> Option<u64> {
    (known >= BYTES_RETRANS + 8).then(|| u64_at(info, BYTES_RETRANS))
}

/// The elements of an option that returns an array, each with the number of its bytes that the kernel knows.
fn elements<const SIZE: usize>(socket: impl AsFd, option: i32) -> io::Result<Vec<([u8; SIZE], usize)>> {
    let mut buffer = vec![0; HEADER + SUBFLOWS * SIZE];
    buffer[0..4].copy_from_slice(&(HEADER as u32).to_ne_bytes());
    buffer[12..16].copy_from_slice(&(SIZE as u32).to_ne_bytes());
    get_option(socket, SOL_MPTCP, option, &mut buffer)?;
    Ok(split(&buffer))
}

/// Splits an answer into its elements. The kernel states their number, and has replaced the requested size by that of
/// its own structure if this is smaller.
fn split<const SIZE: usize>(answer: &[u8]) -> Vec<([u8; SIZE], usize)> {
    let count = (u32_at(answer, 4) as usize).min(SUBFLOWS);
    let size = (u32_at(answer, 12) as usize).min(SIZE);
    let known = (u32_at(answer, 8) as usize).min(size);
    if known == 0 {
        return Vec::new();
    }
    let whole = |bytes: &[u8]| {
        let mut element = [0; SIZE];
        element[..known].copy_from_slice(&bytes[..known]);
        (element, known)
    };
    answer[HEADER..].chunks_exact(size).take(count).map(whole).collect()
}

fn subflow(info: &([u8; INFO], usize), ends: &([u8; ADDRESSES], usize)) -> Option<Subflow> {
    let (local, remote) = ends.0.split_at(ADDRESSES / 2);
    Some(Subflow { local: address(local)?, remote: address(remote)?, tcp: read_info(&info.0, info.1) })
}

fn read_info(info: &[u8; INFO], known: usize) -> TcpInfo {
    let sent_and_not_acked = u32_at(info, 24);
    let left = u32_at(info, 28) + u32_at(info, 32);
    TcpInfo {
        cwnd_segments: u32_at(info, 80),
        srtt_us: u32_at(info, 68),
        in_flight_segments: (sent_and_not_acked + u32_at(info, 36)).saturating_sub(left),
        retransmissions: u32_at(info, 100),
        data_segments_sent: u32_at(info, 156),
        bytes_acked: u64_at(info, 120),
        bytes_received: u64_at(info, 128),
        timeouts: u16::from_ne_bytes([info[TOTAL_RTO], info[TOTAL_RTO + 1]]),
        has_timeouts: known >= TOTAL_RTO + 2,
    }
}

fn address(storage: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes([storage[2], storage[3]]);
    let ip = match i32::from(u16::from_ne_bytes([storage[0], storage[1]])) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(*storage[4..].first_chunk::<4>()?)),
        libc::AF_INET6 => IpAddr::V6(Ipv6Addr::from(*storage[8..].first_chunk::<16>()?)),
        _ => return None,
    };
    // A socket of the IPv6 family may carry IPv4.
    Some(SocketAddr::new(ip.to_canonical(), port))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk::<4>().map_or(0, |four| u32::from_ne_bytes(*four))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk::<8>().map_or(0, |eight| u64::from_ne_bytes(*eight))
}

#[cfg(test)]
mod tests;
