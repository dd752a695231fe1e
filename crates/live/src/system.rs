//! System calls without a safe wrapper in any crate; all `unsafe` code of this crate.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use libc::{IFF_NO_PI, IFF_TUN, IFF_VNET_HDR, c_int, c_short, c_ulong};

fn check(answer: c_int) -> io::Result<c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Attaches the descriptor of /dev/net/tun to the interface `name`, with one queue and, if `header`, a `virtio_net_hdr`
/// before each IP packet. `name` must be shorter than `IFNAMSIZ`.
pub fn set_tun_interface(fd: impl AsFd, name: &str, header: bool) -> io::Result<()> {
    // SAFETY: all zeros is a value of this plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, &from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.as_bytes()) {
        *to = libc::c_char::from_ne_bytes([from]); // signed on x86, unsigned on ARM
    }
    let flags = IFF_TUN | IFF_NO_PI | if header { IFF_VNET_HDR } else { 0 };
    request.ifr_ifru.ifru_flags = flags as c_short;
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which lives through the call.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) }).map(drop)
}

/// Sets the offloads that a TUN interface may leave to the reader (`TUN_F_…` of linux/if_tun.h).
pub fn set_tun_offloads(fd: impl AsFd, offloads: u32) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    check(unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNSETOFFLOAD as _, c_ulong::from(offloads)) }).map(drop)
}

/// Whether packets of this descriptor are preceded by a `virtio_net_hdr`. False for a descriptor that is not a TUN
/// device.
pub fn has_offload_header(fd: impl AsFd) -> bool {
    // SAFETY: all zeros is a value of this plain C structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // SAFETY: TUNGETIFF writes one `ifreq`, which lives through the call; other descriptors reject it.
    let answer = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TUNGETIFF as _, &raw mut request) };
    // SAFETY: every bit pattern is an integer.
    answer == 0 && c_int::from(unsafe { request.ifr_ifru.ifru_flags }) & IFF_VNET_HDR != 0
}

/// Moves the calling thread into a new network namespace.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: CLONE_NEWNET touches no memory and no descriptors of the process.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Gives the calling thread the real-time class SCHED_FIFO with this priority. Threads that it creates do not inherit
/// it.
pub fn schedule_fifo(priority: c_int) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the structure lives through the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameter) })
        .map(drop)
}

/// Reads a socket option into `value`. Returns the number of bytes that the kernel wrote.
pub fn get_option(socket: impl AsFd, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut length =
        libc::socklen_t::try_from(value.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, which is the length of `value`, and then the new length.
    check(unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &raw mut length) })?;
    Ok(length as usize)
}

/// Sets a socket option whose value is a C integer.
pub fn set_option(socket: impl AsFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of an integer that lives through the call.
    check(unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), length) }).map(drop)
}
