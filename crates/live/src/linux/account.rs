//! Accounting of a connection over kernel sockets, whether one of its ends or both are on this machine.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use application::{Stream, Tally, Window};

use super::info::{self, Subflow};
use super::track::Track;
use crate::emulator::FlowKey;

/// Data and subflows of a connection.
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

    /// Ends the warm-up: all counts so far belong to it.
    pub fn warm_up_ends(&mut self, now_ns: u64) {
        self.stream.warm_up_ends();
        for track in &mut self.tracks {
            track.kept.warm = (&track.mark(now_ns)).into();
        }
    }

    /// Reports that the last byte has arrived.
    pub fn completed(&mut self, now_ns: u64) {
        for track in &mut self.tracks {
            track.kept.completed_cwnd = Some(track.mark(now_ns).cwnd_integral);
        }
    }

    /// The counts of each subflow.
    pub fn tallies(&self, warmup_ns: u64, end_ns: u64) -> Vec<Tally<FlowKey>> {
        let window = Window::of(self.stream.start_ns, self.stream.last_ns(), warmup_ns, end_ns);
        self.tracks.iter().map(|track| track.tally(window)).collect()
    }

    /// The subflows that the kernel reports for `socket`, which uses Multipath TCP if `mptcp`; `connected` if it has a
    /// peer.
    pub fn subflows(socket: &OwnedFd, mptcp: bool, connected: bool) -> io::Result<Vec<Subflow>> {
        if mptcp {
            match info::mptcp_subflows(socket.as_fd()) {
                // The accepted socket of a client without Multipath TCP is a TCP socket.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                answer => return answer,
            }
        }
        if connected { info::tcp_subflow(socket.as_fd()) } else { Ok(Vec::new()) }
    }

    /// The subflow with this client's end. Creates it if `path` knows its path.
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
