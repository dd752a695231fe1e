//! A TUN device: a network interface whose other end is a file descriptor that gives and takes IP packets. One queue, no
//! offloads: packets come segmented and with their checksums. The descriptor works from any namespace; the device goes when
//! the last copy of it is closed, shortly after (the kernel takes it down later).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use crate::namespace;
use crate::system;

/// The longest name of an interface, without the closing NUL.
pub const NAME_LIMIT: usize = libc::IFNAMSIZ - 1;

/// The user's end of a TUN device; it never blocks.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
}

impl Tun {
    /// Makes the device `name` in a network namespace. It is down and has no address; its queue towards us holds what
    /// the interface's `txqueuelen` says.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN or /dev/net/tun, with a name that is empty, too long or taken.
    pub fn create(namespace: BorrowedFd<'_>, name: &str) -> io::Result<Tun> {
        if name.is_empty() || name.len() > NAME_LIMIT {
            let problem = format!("an interface's name has 1 to {NAME_LIMIT} bytes, found {name:?}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        namespace::within(namespace, || {
            let fd = open("/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
            system::set_tun_interface(&fd, name)?;
            Ok(Tun { fd })
        })
    }

    /// Takes the next packet that the host sends into `buffer` and tells its length; `None` when there is none now.
    ///
    /// # Errors
    /// When the device is gone.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.fd, buffer) {
            Ok(length) => Ok(Some(length)),
            // EIO: the interface is down, so it sends nothing.
            Err(Errno::AGAIN | Errno::INTR | Errno::IO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the host a packet, and tells whether it took it: one that is down or has no memory does not.
    ///
    /// # Errors
    /// When the device is gone.
    #[inline]
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        loop {
            match rustix::io::write(&self.fd, packet) {
                Ok(_) => return Ok(true),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::IO | Errno::INVAL | Errno::NOBUFS | Errno::NOMEM) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<OwnedFd> for Tun {
    /// The descriptor of a TUN device that was made elsewhere; it must not block.
    fn from(fd: OwnedFd) -> Tun {
        Tun { fd }
    }
}

impl From<Tun> for OwnedFd {
    fn from(tun: Tun) -> OwnedFd {
        tun.fd
    }
}
