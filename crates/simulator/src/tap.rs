//! Packets as a capture on the hosts' interfaces would see them: every packet that a host sends or receives, as bytes.
//! Each end of each path is an interface of its host.

use application::{CLIENT, SERVER};
use transport::Tuple;
use wire::{Ecn, IpHeader, Segment, Span};

/// An interface of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Interface {
    /// Index into the description's paths.
    pub path: u32,
    /// True at the client's end of the path, false at the server's.
    pub client: bool,
}

/// Sees the packets of a run.
pub trait Tap: Send {
    /// An IP packet leaves or reaches the host on `interface` at `now_ns` of virtual time.
    fn packet(&mut self, interface: Interface, now_ns: u64, bytes: &[u8]);

    /// Ends the capture.
    ///
    /// # Errors
    /// Why the tap failed, in words. The run then has no outcome.
    fn finish(&mut self) -> Result<(), String>;
}

/// A tap with its encoding buffer.
pub struct Tapped {
    tap: Box<dyn Tap>,
    bytes: Vec<u8>,
    error: Option<String>,
}

impl Tapped {
    pub fn new(tap: Box<dyn Tap>) -> Tapped {
        Tapped { tap, bytes: Vec::new(), error: None }
    }

    /// Reports that `segment` passes the interface of `side` on `path`. `tuple` has the sender's view of the ends at
    /// that point.
    pub fn see(&mut self, now_ns: u64, at: (u32, usize), tuple: Tuple, segment: &Segment<Span>, ecn: Ecn) {
        let header = IpHeader { ecn, ..IpHeader::new(tuple.local.ip(), tuple.remote.ip()) };
        self.bytes.clear();
        if let Err(error) = wire::encode(&header, segment, &mut self.bytes) {
            self.error.get_or_insert_with(|| format!("a segment cannot be encoded: {error}"));
            return;
        }
        debug_assert!(at.1 == CLIENT || at.1 == SERVER);
        self.tap.packet(Interface { path: at.0, client: at.1 == CLIENT }, now_ns, &self.bytes);
    }

    /// Ends the capture.
    pub fn finish(mut self) -> Result<(), String> {
        match self.error {
            Some(error) => Err(error),
            None => self.tap.finish(),
        }
    }
}
