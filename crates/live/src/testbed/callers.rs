//! Clients that have connected to a server but not yet sent their opening.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::opening::{OPENING_BYTES, Opening};

/// Maximum number of waiting callers; one more closes the connection that has waited longest.
const LIMIT: usize = 256;

struct Caller {
    socket: OwnedFd,
    peer: SocketAddr,
    kind: usize,
    said: [u8; OPENING_BYTES],
    length: usize,
}

/// A caller that has sent its opening.
pub struct Introduced {
    pub socket: OwnedFd,
    pub peer: SocketAddr,
    /// The kind of connection whose port it connected to.
    pub kind: usize,
    pub opening: Opening,
}

/// All waiting callers, numbered in the order of connecting.
#[derive(Default)]
pub struct Callers {
    waiting: BTreeMap<u64, Caller>,
    next: u64,
}

impl Callers {
    /// Adds a caller and returns its number.
    pub fn add(&mut self, kind: usize, socket: OwnedFd, peer: SocketAddr) -> u64 {
        if self.waiting.len() >= LIMIT {
            self.waiting.pop_first();
        }
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, Caller { socket, peer, kind, said: [0; OPENING_BYTES], length: 0 });
        number
    }

    /// The socket of a waiting caller.
    pub fn socket(&self, number: u64) -> Option<&OwnedFd> {
        self.waiting.get(&number).map(|caller| &caller.socket)
    }

    /// Reads from a caller, which is removed once it has sent a valid or an invalid opening.
    pub fn read(&mut self, number: u64) -> Option<Introduced> {
        let caller = self.waiting.get_mut(&number)?;
        while caller.length < OPENING_BYTES {
            match recv(&caller.socket, &mut caller.said[caller.length..], RecvFlags::empty()) {
                Ok((read, _)) if read > 0 => caller.length += read,
                Err(Errno::AGAIN) => return None,
                Err(Errno::INTR) => {}
                _ => {
                    self.waiting.remove(&number);
                    return None;
                }
            }
        }
        let Caller { socket, peer, kind, said, .. } = self.waiting.remove(&number)?;
        Opening::decode(&said).map(|opening| Introduced { socket, peer, kind, opening })
    }
}
