//! Network namespaces, held by a file descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::system;

/// A new network namespace without a name: it lives as long as a descriptor, a device's or socket's owner, or a thread
/// holds it.
///
/// # Errors
/// Without CAP_SYS_ADMIN.
pub fn create() -> io::Result<OwnedFd> {
    apart(|| {
        system::unshare_network()?;
        Ok(File::open("/proc/thread-self/ns/net")?.into())
    })
}

/// What `work` returns in the namespace. It runs on a thread of its own, so that the calling one stays where it is; sockets
/// and devices that it opens stay in the namespace.
///
/// # Errors
/// When the namespace cannot be entered, or `work` fails.
pub fn within<T: Send>(namespace: BorrowedFd<'_>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    apart(|| {
        enter(namespace)?;
        work()
    })
}

/// Moves the calling thread into the namespace.
///
/// # Errors
/// Without CAP_SYS_ADMIN, or when the descriptor is not that of a network namespace.
pub fn enter(namespace: impl AsFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(answer) => answer,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
