//! The turn of an end at its socket: it writes offered data or reads what has arrived, until the kernel blocks or its
//! turn is used up.

use std::io;
use std::os::fd::OwnedFd;

use application::Stream;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Bytes per write. The kernel's own scheduler gives a subflow bursts of this size.
pub const WRITE_BYTES: usize = 64 * 1024;
/// Bytes written or read per turn.
pub const TURN_BYTES: u64 = 4 << 20;

/// Memory to write from and read into.
pub struct Buffers {
    from: Box<[u8]>,
    into: Box<[u8]>,
}

impl Buffers {
    pub fn new() -> Buffers {
        Buffers { from: vec![0x5a; WRITE_BYTES].into(), into: vec![0; 4 * WRITE_BYTES].into() }
    }
}

/// State of an end after its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It waits for the next event.
    Nothing,
    /// It used up its turn.
    More,
    /// Its application reads again at this time.
    Until(u64),
    /// All work on the connection is done.
    Over,
}

/// Result of a system call.
pub enum Done<T> {
    Some(T),
    /// The kernel cannot accept or return anything now.
    Waits,
}

/// Writes `bytes`, as far as the kernel accepts them. Returns the number accepted.
pub fn send_some(socket: &OwnedFd, bytes: &[u8]) -> io::Result<Done<usize>> {
    loop {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => return Ok(Done::Some(sent)),
            Err(Errno::AGAIN) => return Ok(Done::Waits),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reads what has arrived, at most `limit` bytes. An empty result means the end of the stream.
pub fn receive_some<'b>(socket: &OwnedFd, buffers: &'b mut Buffers, limit: usize) -> io::Result<Done<&'b [u8]>> {
    let limit = limit.min(buffers.into.len());
    loop {
        match recv(socket, &mut buffers.into[..limit], RecvFlags::empty()) {
            Ok((length, _)) => return Ok(Done::Some(&buffers.into[..length])),
            Err(Errno::AGAIN) => return Ok(Done::Waits),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes the offered data.
pub fn write(socket: &OwnedFd, stream: &mut Stream, buffers: &Buffers) -> io::Result<Left> {
    let turn_ends = stream.written().saturating_add(TURN_BYTES);
    while stream.to_write() > 0 {
        if stream.written() >= turn_ends {
            return Ok(Left::More);
        }
        let length = stream.to_write().min(WRITE_BYTES as u64) as usize;
        match send_some(socket, &buffers.from[..length])? {
            Done::Some(sent) => stream.wrote(sent as u64),
            Done::Waits => break,
        }
    }
    Ok(Left::Nothing)
}

/// Reads the data that the application takes now; `now_ns` is called if some has arrived. Returns `None` at the end of the
/// stream.
pub fn read(
    socket: &OwnedFd,
    stream: &mut Stream,
    buffers: &mut Buffers,
    now_ns: impl Fn() -> u64,
) -> io::Result<Option<Left>> {
    let turn_ends = stream.bytes_read + TURN_BYTES;
    while stream.bytes_read < turn_ends {
        let mut limit = usize::MAX;
        if stream.is_read_in_stages() {
            limit = usize::try_from(stream.takes(now_ns())).unwrap_or(usize::MAX);
            if limit == 0 {
                return Ok(Some(stream.arrange_read(now_ns()).map_or(Left::Nothing, Left::Until)));
            }
        }
        match receive_some(socket, buffers, limit)? {
            Done::Some([]) => return Ok(None),
            Done::Some(bytes) => stream.read(now_ns(), bytes.len() as u64),
            Done::Waits => return Ok(Some(Left::Nothing)),
        }
    }
    Ok(Some(Left::More))
}

/// Writes questions, which are small.
pub fn ask(socket: &OwnedFd, stream: &mut Stream, buffers: &Buffers) -> io::Result<()> {
    while stream.to_ask() > 0 {
        let length = stream.to_ask().min(WRITE_BYTES as u64) as usize;
        match send_some(socket, &buffers.from[..length])? {
            Done::Some(sent) => stream.wrote_question(sent as u64),
            Done::Waits => break,
        }
    }
    Ok(())
}
