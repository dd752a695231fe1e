//! A transfer's end that is the kernel's: a socket.

use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;
use rustix::net::sockopt;

use crate::emulator::Translations;

/// A transfer's end in the kernel.
pub struct End {
    /// None when it is closed.
    pub socket: Option<OwnedFd>,
    pub mptcp: bool,
    /// Whether the connection stands.
    pub stands: bool,
    pub translations: Translations,
}

impl End {
    /// The kernel reports these events of the socket; returns whether it failed.
    pub fn hear(&mut self, flags: EventFlags) -> bool {
        self.stands |= flags.contains(EventFlags::OUT);
        let failed = flags.intersects(EventFlags::ERR | EventFlags::HUP)
            && self.socket.as_ref().is_some_and(|socket| !matches!(sockopt::socket_error(socket), Ok(Ok(()))));
        if failed {
            self.socket = None;
        }
        failed
    }
}
