//! Network namespaces, each held by a file descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::system;

/// Creates a network namespace without a name. It lives as long as a descriptor, a device, a socket or a thread holds
/// it.
///
/// # Errors
/// Without CAP_SYS_ADMIN.
pub fn create() -> io::Result<OwnedFd> {
    apart(|| {
        system::unshare_network()?;
        Ok(File::open("/proc/thread-self/ns/net")?.into())
    })
}

/// Runs `work` in the namespace and returns its result. It runs on its own thread, so that the caller's namespace does
/// not change. Sockets and devices that it opens stay in the namespace.
///
/// # Errors
/// The namespace cannot be entered, or `work` fails.
pub fn within<T: Send>(namespace: BorrowedFd<'_>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    apart(|| {
        enter(namespace)?;
        work()
    })
}

/// Moves the calling thread into the namespace.
///
/// # Errors
/// Without CAP_SYS_ADMIN, or if the descriptor is not a network namespace.
pub fn enter(namespace: impl AsFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(answer) => answer,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
