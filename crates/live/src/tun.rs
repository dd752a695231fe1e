//! A TUN device: a network interface whose other end is a file descriptor that returns and accepts IP packets. It has
//! one queue and uses offloads: each packet is preceded by a header (see [`crate::offload`]), checksums may be
//! incomplete, and one frame may stand for many packets. The descriptor works from any namespace. The device disappears
//! shortly after the last copy of the descriptor is closed (the kernel removes it asynchronously).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::offload::{HEADER_LEN, OFFLOADS, UDP_OFFLOADS};
use crate::{namespace, system};

/// Maximum length of an interface name, without the terminating NUL.
pub const NAME_LIMIT: usize = libc::IFNAMSIZ - 1;

/// The user's end of a TUN device. It never blocks.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    /// Whether packets are preceded by a header.
    header: bool,
}

impl Tun {
    /// Creates the device `name` in a network namespace. It is down and has no address. Its queue towards us has the
    /// length of the interface's `txqueuelen`.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN or /dev/net/tun; or with a name that is empty, too long or in use.
    pub fn create(namespace: BorrowedFd<'_>, name: &str) -> io::Result<Tun> {
        namespace::within(namespace, || {
            let tun = Tun::open(name, true)?;
            // Linux before 6.2 lacks UDP segmentation offload and segments UDP itself.
            let _ = system::set_tun_offloads(&tun.fd, OFFLOADS | UDP_OFFLOADS);
            Ok(tun)
        })
    }

    /// Opens the device `name` in the caller's network namespace and creates it if it does not exist; with a header and
    /// TCP offloads, or with neither.
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

    /// Whether packets are preceded by a header, so that they may be incomplete or stand for many.
    #[must_use]
    pub fn has_header(&self) -> bool {
        self.header
    }

    /// Reads the next frame from the host into `buffer`, header first, and returns its length; `None` if there is none
    /// now.
    ///
    /// # Errors
    /// The device is gone.
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

    /// Writes a frame to the host. Returns whether the host accepted it, which it does not if it is down or out of
    /// memory.
    ///
    /// # Errors
    /// The device is gone.
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
    /// Wraps the descriptor of a device created elsewhere, which must be non-blocking. A TUN device is queried for a
    /// header; packets of other descriptors have none and are complete.
    fn from(fd: OwnedFd) -> Tun {
        Tun { header: system::has_offload_header(&fd), fd }
    }
}

impl From<Tun> for OwnedFd {
    fn from(tun: Tun) -> OwnedFd {
        tun.fd
    }
}
