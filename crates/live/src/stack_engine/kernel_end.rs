//! The end of a transfer that is a kernel socket.

use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;
use rustix::net::sockopt;

use crate::emulator::Translations;

/// The end of a transfer in the kernel.
pub struct End {
    /// `None` if it is closed.
    pub socket: Option<OwnedFd>,
    pub mptcp: bool,
    /// Whether the connection is established.
    pub stands: bool,
    pub translations: Translations,
}

impl End {
    /// Handles events that the kernel reports for the socket. Returns whether it failed.
    pub fn events(&mut self, flags: EventFlags) -> bool {
        self.stands |= flags.contains(EventFlags::OUT);
        let failed = flags.intersects(EventFlags::ERR | EventFlags::HUP)
            && self.socket.as_ref().is_some_and(|socket| !matches!(sockopt::socket_error(socket), Ok(Ok(()))));
        if failed {
            self.socket = None;
        }
        failed
    }
}
