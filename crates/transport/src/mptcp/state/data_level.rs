//! What the stream goes over: one TCP connection (RFC 9293), or several subflows (RFC 8684).

use crate::Protocol;
use crate::queue::Sendable;
use crate::tcp::subflow::Subflow;

/// What the stream goes over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// TCP: asked for, or fallen back to.
    Single,
    /// Multipath TCP: offered, or agreed on.
    Multipath,
}

/// What the stream goes over, and whether that is settled.
#[derive(Clone, Copy, Debug)]
pub struct DataLevel {
    over: Over,
    /// The peer has shown that it has our key: DSS arrived (RFC 8684 §3.1).
    fully_established: bool,
}

impl DataLevel {
    /// As it is asked for.
    pub fn of(protocol: Protocol) -> Self {
        let over = match protocol {
            Protocol::Tcp => Over::Single,
            Protocol::Mptcp => Over::Multipath,
        };
        DataLevel { over, fully_established: false }
    }

    /// What it goes over. For the files of `data_level`: others ask what follows from it.
    #[inline(always)]
    pub fn over(self) -> Over {
        self.over
    }

    /// Whether the peer has shown that it has our key.
    pub fn is_fully_established(self) -> bool {
        self.fully_established
    }

    pub fn set_fully_established(&mut self) {
        self.fully_established = true;
    }

    /// Whether there is more than TCP: addresses, keys, a scheduler, data that goes out again on another subflow.
    #[inline(always)]
    pub fn is_multipath(self) -> bool {
        self.over == Over::Multipath
    }

    /// TCP from now on.
    pub fn become_single(&mut self) {
        self.over = Over::Single;
    }

    /// Whether the FIN of a TCP connection ends the stream, and its acknowledgment is that of the end.
    #[inline]
    pub fn ends_with_fin(self) -> bool {
        self.over == Over::Single
    }

    /// Whether the peer takes room back that it has told of: of several subflows the largest edge holds (RFC 8684 §3.3.5).
    #[inline(always)]
    pub fn window_shrinks(self) -> bool {
        self.over == Over::Single
    }

    /// The peer's window on a subflow; TCP knows it as that of the stream.
    #[inline(always)]
    pub fn hear_window<P: Sendable>(self, subflow: &mut Subflow<P>, ack: u64, window: u64) {
        if self.over == Over::Multipath {
            subflow.hear_window(ack, window);
        }
    }

    /// Whether text on a SYN belongs to the stream (RFC 9293 §3.10.7.2, §3.10.7.3). Multipath TCP gives it no place: it comes
    /// again.
    pub fn takes_text_on_syn(self) -> bool {
        self.over == Over::Single
    }

    /// The end of what a subflow may send, as its handshake ends: with TCP the window of the stream is this one.
    pub fn first_edge(self, told: u64) -> u64 {
        if self.over == Over::Single { u64::MAX } else { told }
    }
}
