//! What a connection over the kernel's sockets is counted by, whether this machine has one of its ends or both.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use application::{Stream, Tally, Window};

use super::info::{self, Subflow};
use super::track::Track;
use crate::emulator::FlowKey;

/// A connection's data and subflows.
pub struct Account {
    /// Number of the application that opened it.
    pub application: u32,
    pub kind: usize,
    pub mptcp: bool,
    pub stream: Stream,
    pub tracks: Vec<Track>,
    pub fallback: bool,
}

impl Account {
    pub fn new((application, kind): (u32, usize), mptcp: bool, stream: Stream) -> Account {
        Account { application, kind, mptcp, stream, tracks: Vec::new(), fallback: false }
    }

    /// All so far belongs to the warm-up.
    pub fn warm_up_ends(&mut self, now_ns: u64) {
        self.stream.warm_up_ends();
        for track in &mut self.tracks {
            track.kept.warm = (&track.mark(now_ns)).into();
        }
    }

    /// The last byte has arrived.
    pub fn completed(&mut self, now_ns: u64) {
        for track in &mut self.tracks {
            track.kept.completed_cwnd = Some(track.mark(now_ns).cwnd_integral);
        }
    }

    /// What each subflow has counted.
    pub fn tallies(&self, warmup_ns: u64, end_ns: u64) -> Vec<Tally<FlowKey>> {
        let window = Window::of(self.stream.start_ns, self.stream.completion_ns, warmup_ns, end_ns);
        self.tracks.iter().map(|track| track.tally(window)).collect()
    }

    /// The subflows as the kernel shows them at `socket`, which speaks Multipath TCP if `mptcp`; `connected` if it has a
    /// peer.
    pub fn subflows(socket: &OwnedFd, mptcp: bool, connected: bool) -> io::Result<Vec<Subflow>> {
        if mptcp {
            match info::mptcp_subflows(socket.as_fd()) {
                // The accepted socket of a client that does not speak it is one of TCP.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                answer => return answer,
            }
        }
        if connected { info::tcp_subflow(socket.as_fd()) } else { Ok(Vec::new()) }
    }

    /// The subflow with this client's end; a new one if `path` knows the path it takes.
    pub fn track(
        &mut self,
        client: SocketAddr,
        seen: &Subflow,
        path: impl FnOnce() -> Option<usize>,
    ) -> Option<&mut Track> {
        let position = match self.tracks.iter().position(|track| track.is_of(client)) {
            Some(position) => position,
            None => {
                self.tracks.push(Track::new(seen, client, path()? as u32));
                self.tracks.len() - 1
            }
        };
        self.tracks.get_mut(position)
    }

    /// Asks the kernel whether the connection fell back to TCP, unless that is known.
    pub fn note_fallback(&mut self, socket: Option<&OwnedFd>) {
        if self.mptcp && !self.fallback {
            self.fallback = socket.is_some_and(|socket| info::fell_back(socket.as_fd()));
        }
    }
}
