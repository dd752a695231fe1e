//! The system calls that no crate has a safe form of; all `unsafe` of this crate. They make an interface, give it addresses
//! and set the options of sockets.

#![allow(unsafe_code)]

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use libc::{c_int, c_short, c_void};
use rustix::fs::{Mode, OFlags, open};

fn check(answer: c_int) -> io::Result<c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

fn request(name: &str) -> libc::ifreq {
    // SAFETY: all zeros is a value of this plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, &from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.as_bytes()) {
        *to = libc::c_char::from_ne_bytes([from]); // signed on x86, unsigned on ARM
    }
    request
}

/// A TUN device of the network namespace that the calling thread is in: whole packets, nothing left to us.
pub fn tun(name: &str) -> io::Result<OwnedFd> {
    let fd = open("/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which lives through the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    Ok(fd)
}

fn address(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    for (to, from) in data[2..6].iter_mut().zip(address.octets()) {
        *to = libc::c_char::from_ne_bytes([from]); // signed on x86, unsigned on ARM
    }
    libc::sockaddr { sa_family: libc::AF_INET as u16, sa_data: data }
}

/// Gives an interface, or a label of it, an address with a netmask of 24 bits, and brings it up.
pub fn configure(socket: impl AsFd, name: &str, with: Ipv4Addr) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    for (call, value) in [(libc::SIOCSIFADDR, with), (libc::SIOCSIFNETMASK, Ipv4Addr::new(255, 255, 255, 0))] {
        let mut request = request(name);
        request.ifr_ifru.ifru_addr = address(value);
        // SAFETY: the call reads one `ifreq`, which lives through it.
        check(unsafe { libc::ioctl(fd, call as _, &raw mut request) })?;
    }
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as c_short;
    // SAFETY: as above.
    check(unsafe { libc::ioctl(fd, libc::SIOCSIFFLAGS as _, &raw mut request) }).map(drop)
}

/// Sets a socket option that is one C integer.
pub fn set_option(socket: impl AsFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let (fd, length) = (socket.as_fd().as_raw_fd(), size_of::<c_int>() as libc::socklen_t);
    // SAFETY: the kernel reads `length` bytes of an integer that lives through the call.
    check(unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast::<c_void>(), length) }).map(drop)
}

/// Reads a socket option into `value` and tells how many bytes the kernel wrote.
pub fn get_option(socket: impl AsFd, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, which is the length of `value`, and then the new length.
    check(unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &raw mut length) })?;
    Ok(length as usize)
}

/// Closing resets the connection.
pub fn linger_zero(socket: impl AsFd) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let (fd, length) = (socket.as_fd().as_raw_fd(), size_of::<libc::linger>() as libc::socklen_t);
    // SAFETY: the kernel reads one `linger` that lives through the call.
    check(unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast::<c_void>(), length)
    })
    .map(drop)
}

/// How many bytes of a socket the peer has not acknowledged.
pub fn outstanding(socket: impl AsFd) -> io::Result<u64> {
    let mut bytes: c_int = 0;
    // SAFETY: the call writes one integer, which lives through it.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ as _, &raw mut bytes) })?;
    Ok(bytes.max(0) as u64)
}
