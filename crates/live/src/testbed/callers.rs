//! Who has called a server and has not yet said what for.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::opening::{OPENING_BYTES, Opening};

/// How many may wait at a time; beyond, the one that has waited longest is hung up on.
const LIMIT: usize = 256;

struct Caller {
    socket: OwnedFd,
    peer: SocketAddr,
    kind: usize,
    said: [u8; OPENING_BYTES],
    length: usize,
}

/// A caller that has named its purpose.
pub struct Introduced {
    pub socket: OwnedFd,
    pub peer: SocketAddr,
    /// The kind of connection whose port it called.
    pub kind: usize,
    pub opening: Opening,
}

/// All of them, by number in the order of calling.
#[derive(Default)]
pub struct Callers {
    waiting: BTreeMap<u64, Caller>,
    next: u64,
}

impl Callers {
    /// Takes one in, and returns its number.
    pub fn add(&mut self, kind: usize, socket: OwnedFd, peer: SocketAddr) -> u64 {
        if self.waiting.len() >= LIMIT {
            self.waiting.pop_first();
        }
        let number = self.next;
        self.next += 1;
        self.waiting.insert(number, Caller { socket, peer, kind, said: [0; OPENING_BYTES], length: 0 });
        number
    }

    /// The socket of a caller that is connected.
    pub fn socket(&self, number: u64) -> Option<&OwnedFd> {
        self.waiting.get(&number).map(|caller| &caller.socket)
    }

    /// Hears what one says; it leaves when that is an opening, or none.
    pub fn hear(&mut self, number: u64) -> Option<Introduced> {
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
