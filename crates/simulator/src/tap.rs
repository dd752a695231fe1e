//! Packets as a capture on the hosts' interfaces would have them: every one that a host sends or receives, as bytes.
//! Each end of each path is an interface of its host.

use application::{CLIENT, SERVER};
use transport::Tuple;
use wire::{Ecn, IpHeader, Segment, Span};

/// An interface of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Interface {
    /// Index into the description's paths.
    pub path: u32,
    /// Whether it is the client's end of the path, else the server's.
    pub client: bool,
}

/// Sees the packets of a run.
pub trait Tap: Send {
    /// An IP packet leaves the host by `interface` or arrives there, at `now_ns` of virtual time.
    fn packet(&mut self, interface: Interface, now_ns: u64, bytes: &[u8]);

    /// The run is over.
    ///
    /// # Errors
    /// What kept the tap from doing its work, in words; the run has no outcome then.
    fn finish(&mut self) -> Result<(), String>;
}

/// A tap with the buffer it needs.
pub struct Tapped {
    tap: Box<dyn Tap>,
    bytes: Vec<u8>,
    error: Option<String>,
}

impl Tapped {
    pub fn new(tap: Box<dyn Tap>) -> Tapped {
        Tapped { tap, bytes: Vec::new(), error: None }
    }

    /// `segment` passes the interface of `side` on `path`; `tuple` has the ends as its sender sees them there.
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

    /// The run is over.
    pub fn finish(mut self) -> Result<(), String> {
        match self.error {
            Some(error) => Err(error),
            None => self.tap.finish(),
        }
    }
}
