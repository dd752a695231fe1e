//! Sockets in a host's namespace with the options of a scenario's connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, Protocol, SocketFlags, SocketType, sockopt};

use crate::namespace;
use crate::system;

/// Maximum unsent data in a socket before it accepts no more: enough for a sender that is late by some milliseconds,
/// little enough that a sender which stops has stopped.
const NOT_SENT_BYTES: i32 = 128 * 1024;

/// Options of the sockets of one kind of connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether to use Multipath TCP; otherwise TCP.
    pub mptcp: bool,
    /// Name of the congestion control in the kernel.
    pub congestion: String,
    /// Size of the receive buffer; if absent, the kernel's auto-tuning applies.
    pub receive_buffer_bytes: Option<u64>,
    /// Whether small segments are sent at once (TCP_NODELAY). Kernels whose Multipath TCP lacks this option delay them.
    pub no_delay: bool,
}

/// A listening socket.
pub fn listen(namespace: BorrowedFd<'_>, at: SocketAddr, options: &Options) -> io::Result<OwnedFd> {
    namespace::within(namespace, || listen_here(at, options))
}

/// A listening socket in the calling thread's namespace.
pub fn listen_here(at: SocketAddr, options: &Options) -> io::Result<OwnedFd> {
    let socket = open(at, options)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &at)?;
    net::listen(&socket, 4096)?;
    Ok(socket)
}

/// A socket that connects to `to` from the address `from`, and its local end, whose port the kernel has chosen. The
/// thread must be in the namespace.
pub fn call(from: IpAddr, to: SocketAddr, options: &Options) -> io::Result<(OwnedFd, SocketAddr)> {
    let socket = open(to, options)?;
    net::bind(&socket, &SocketAddr::new(from, 0))?;
    let local = SocketAddr::try_from(net::getsockname(&socket)?)?;
    match net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok((socket, local)),
        Err(error) => Err(error.into()),
    }
}

/// The next connection of a listening socket, if any, with the client's address.
pub fn accept(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, SocketAddr)>> {
    let socket = match net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        Ok(socket) => socket,
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let Some(peer) = net::getpeername(&socket)? else { return Ok(None) };
    let peer = SocketAddr::try_from(peer)?;
    Ok(Some((socket, SocketAddr::new(peer.ip().to_canonical(), peer.port()))))
}

/// Checks that a sending socket has the requested congestion control.
pub fn check_congestion(socket: &OwnedFd, asked: &str) -> io::Result<()> {
    let found = sockopt::tcp_congestion(socket)?;
    if found == asked {
        return Ok(());
    }
    Err(io::Error::other(format!("the kernel answers congestion control {found:?} where {asked:?} was set")))
}

/// Limits the unsent data in the socket.
pub fn bound_unsent(socket: &OwnedFd) -> io::Result<()> {
    match system::set_option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, NOT_SENT_BYTES) {
        // Multipath TCP sockets accept this from Linux 6.8 on. Before, a stop is delayed by the data in the buffer.
        // Which of the two errors a kernel returns differs even among releases of 6.1.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT)) => Ok(()),
        answer => answer,
    }
}

/// Closes the socket with a reset, regardless of the data it holds.
pub fn abort(socket: OwnedFd) {
    // A socket that does not accept the option is closed anyway.
    let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
}

fn open(to: SocketAddr, options: &Options) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = options.mptcp.then_some(net::ipproto::MPTCP);
    let protocol: Option<Protocol> = protocol.or(Some(net::ipproto::TCP));
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, protocol)?;
    sockopt::set_tcp_congestion(&socket, &options.congestion)?;
    check_congestion(&socket, &options.congestion)?;
    if let Some(bytes) = options.receive_buffer_bytes {
        sockopt::set_socket_recv_buffer_size_force(socket.as_fd(), usize::try_from(bytes).unwrap_or(usize::MAX))?;
    }
    if options.no_delay {
        let _ = sockopt::set_tcp_nodelay(&socket, true);
    }
    Ok(socket)
}
