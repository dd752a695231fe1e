//! A TUN device: a network interface whose other end is a file descriptor that gives and takes IP packets. One queue, with
//! offloads: each packet has a header before it (see [`crate::offload`]), checksums may be missing, and what comes at once may
//! stand for many packets. The descriptor works from any namespace; the device goes when the last copy of it is closed,
//! shortly after (the kernel takes it down later).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::offload::{HEADER_LEN, OFFLOADS, UDP_OFFLOADS};
use crate::{namespace, system};

/// The longest name of an interface, without the closing NUL.
pub const NAME_LIMIT: usize = libc::IFNAMSIZ - 1;

/// The user's end of a TUN device; it never blocks.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    /// Whether packets have a header before them.
    header: bool,
}

impl Tun {
    /// Makes the device `name` in a network namespace. It is down and has no address; its queue towards us holds what
    /// the interface's `txqueuelen` says.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN or /dev/net/tun, with a name that is empty, too long or taken.
    pub fn create(namespace: BorrowedFd<'_>, name: &str) -> io::Result<Tun> {
        namespace::within(namespace, || {
            let tun = Tun::open(name, true)?;
            // Linux before 6.2 does not know UDP's, and cuts it itself.
            let _ = system::set_tun_offloads(&tun.fd, OFFLOADS | UDP_OFFLOADS);
            Ok(tun)
        })
    }

    /// The device `name` in the caller's network namespace, made if it is not there; with a header and TCP's offloads, or
    /// with neither.
    ///
    /// # Errors
    /// As [`Tun::create`].
    pub fn open(name: &str, offloads: bool) -> io::Result<Tun> {
        if name.is_empty() || name.len() > NAME_LIMIT {
            let problem = format!("an interface's name has 1 to {NAME_LIMIT} bytes, found {name:?}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let fd = rustix::fs::open("/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
        system::set_tun_interface(&fd, name, offloads)?;
        if offloads {
            system::set_tun_offloads(&fd, OFFLOADS)?;
        }
        Ok(Tun { fd, header: offloads })
    }

    /// Whether packets have a header before them, so that they may be unfinished and many at once.
    #[must_use]
    pub fn has_header(&self) -> bool {
        self.header
    }

    /// Takes what the host sends next into `buffer`, header first, and tells its length; `None` when there is nothing now.
    ///
    /// # Errors
    /// When the device is gone.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let skipped = if self.header { 0 } else { HEADER_LEN };
        buffer[..skipped].fill(0);
        match rustix::io::read(&self.fd, &mut buffer[skipped..]) {
            Ok(length) => Ok(Some(skipped + length)),
            // EIO: the interface is down, so it sends nothing.
            Err(Errno::AGAIN | Errno::INTR | Errno::IO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the host a packet with its header, and tells whether it took it: one that is down or has no memory does not.
    ///
    /// # Errors
    /// When the device is gone.
    #[inline]
    pub fn send(&self, frame: &[u8]) -> io::Result<bool> {
        let bytes = if self.header { frame } else { &frame[HEADER_LEN..] };
        loop {
            match rustix::io::write(&self.fd, bytes) {
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
    /// The descriptor of a device that was made elsewhere; it must not block. Of a TUN device it is asked whether packets have
    /// a header; those of another have none, and are whole.
    fn from(fd: OwnedFd) -> Tun {
        Tun { header: system::has_offload_header(&fd), fd }
    }
}

impl From<Tun> for OwnedFd {
    fn from(tun: Tun) -> OwnedFd {
        tun.fd
    }
}
