//! Middleboxes: devices between the hosts that modify segments. For a survey, and their effect on Multipath TCP, see C.
//! Raiciu et al., "How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP", NSDI 2012; M. Honda et
//! al., "Is it Still Possible to Extend TCP?", IMC 2011; RFC 8684 §3.7 and §6.
//!
//! A middlebox is at one point of a path, handles both directions ([`Way`]), and receives each segment
//! ([`Middlebox::process`]). Its output may be nothing, the segment, other segments, and segments in the opposite
//! direction, in order. Middleboxes act at once and add no delay, except for [`Coalescing`], which holds a segment for
//! a while: [`Middlebox::next_timeout_ns`] and [`Middlebox::handle_timeout`]. They identify connections by their two
//! ends and their SYNs. Segments of a connection whose SYN they did not see pass unchanged unless stated otherwise. A
//! middlebox keeps the state of a connection until a new SYN replaces it.
//!
//! Links do not know about middleboxes, so a scenario without middleboxes pays nothing for them.
//!
//! # Changes of payload
//!
//! Two operations are not part of [`wire::Payload`]: joining two payloads and altering one. They are in [`Malleable`],
//! for bytes and for spans. A span has no bytes, so an altered span is one at another offset, with the top bit of the
//! offset set ([`ALTERED`]). Its bytes, and so the DSS checksum, differ, and a receiver that checks the offset detects
//! that the data was changed.

pub mod captive;
mod chain;
pub mod coalescing;
mod malleable;
pub mod mss_clamping;
pub mod mtu_filter;
pub mod nat;
pub mod payload_rewriting;
pub mod proactive_acks;
pub mod reset_injection;
pub mod sequence_rewriting;
pub mod splitting;
pub mod strip;
pub mod syn_filter;

use std::net::{IpAddr, SocketAddr};

use algorithm::words;
use rand_xoshiro::Xoshiro256PlusPlus;
use wire::{Flags, Options, Segment};

pub use captive::Captive;
pub use chain::Chain;
pub use coalescing::Coalescing;
pub use malleable::{ALTERED, Malleable};
pub use mss_clamping::MssClamping;
pub use mtu_filter::MtuFilter;
pub use nat::Nat;
pub use payload_rewriting::PayloadRewriting;
pub use proactive_acks::ProactiveAcks;
pub use reset_injection::ResetInjection;
pub use sequence_rewriting::SequenceRewriting;
pub use splitting::Splitting;
pub use strip::{Strip, Stripped};
pub use syn_filter::{SynFilter, Unwanted};

words! {
    /// Direction of a segment.
    #[derive(PartialOrd, Ord)]
    pub enum Way {
        /// From client to server.
        Up = "up",
        /// From server to client.
        Down = "down",
    }
}

/// Maximum payload of an IPv4 packet with a header of 20 bytes and a TCP header of 60.
const MOST_CONTENT: i64 = 65_455;

impl Way {
    /// The opposite direction.
    #[must_use]
    pub const fn back(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// The two ends of a connection or subflow, as seen at one point of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// The destination of segments on their way down.
    pub client: SocketAddr,
    /// The destination of segments on their way up.
    pub server: SocketAddr,
}

impl Ends {
    /// Source and destination of a segment in the direction `way`.
    #[must_use]
    pub const fn of(&self, way: Way) -> (SocketAddr, SocketAddr) {
        match way {
            Way::Up => (self.client, self.server),
            Way::Down => (self.server, self.client),
        }
    }
}

/// A segment at a middlebox. Its ports are those of `ends`.
#[derive(Clone, Debug, PartialEq)]
pub struct Transit<P> {
    /// Direction of the segment.
    pub way: Way,
    /// The two hosts' addresses and ports.
    pub ends: Ends,
    /// The segment.
    pub segment: Segment<P>,
}

impl<P: Malleable> Transit<P> {
    /// A segment without options or payload that the box itself sends.
    fn bare(way: Way, ends: Ends, seq: u32, ack: u32, flags: Flags) -> Self {
        let (source, destination) = ends.of(way);
        let (src_port, dst_port) = (source.port(), destination.port());
        let options = Options::default();
        let segment =
            Segment { src_port, dst_port, seq, ack, flags, window: 0, urgent: 0, options, payload: P::empty() };
        Self { way, ends, segment }
    }
}

algorithm::kinds! {
    /// Settings of a middlebox.
    #[derive(Copy)]
    pub enum MiddleboxConfig of "middlebox" {
        Strip(Strip) = strip::ABOUT,
        Nat(nat::Config) = nat::ABOUT,
        SequenceRewriting(sequence_rewriting::Config) = sequence_rewriting::ABOUT,
        Splitting(splitting::Config) = splitting::ABOUT,
        Coalescing(coalescing::Config) = coalescing::ABOUT,
        PayloadRewriting(payload_rewriting::Config) = payload_rewriting::ABOUT,
        ProactiveAcks(proactive_acks::Config) = proactive_acks::ABOUT,
        ResetInjection(reset_injection::Config) = reset_injection::ABOUT,
        SynFilter(SynFilter) = syn_filter::ABOUT,
        Captive(Captive) = captive::ABOUT,
        MssClamping(MssClamping) = mss_clamping::ABOUT,
        MtuFilter(MtuFilter) = mtu_filter::ABOUT,
    }
}

/// The first port that a NAT assigns; well-known ports are not used.
const FIRST_OUTSIDE_PORT: u16 = 1024;

/// A middlebox.
#[derive(Clone, Debug)]
pub enum Middlebox<P> {
    /// Removes Multipath TCP options.
    Strip(Strip),
    /// Translates the clients' addresses.
    Nat(Nat),
    /// Rewrites each connection's initial sequence numbers.
    SequenceRewriting(SequenceRewriting),
    /// Splits segments into smaller ones.
    Splitting(Splitting),
    /// Merges two segments into one.
    Coalescing(Coalescing<P>),
    /// Rewrites payload, including its length.
    PayloadRewriting(PayloadRewriting),
    /// Acknowledges before the receiver does.
    ProactiveAcks(ProactiveAcks),
    /// Resets connections.
    ResetInjection(ResetInjection),
    /// Drops SYNs of Multipath TCP.
    SynFilter(SynFilter),
    /// Drops payload.
    Captive(Captive),
    /// Lowers the MSS that is announced.
    MssClamping(MssClamping),
    /// Drops long packets.
    MtuFilter(MtuFilter),
}

impl<P: Malleable> Middlebox<P> {
    /// Creates a middlebox with these settings. `random` returns its own random number stream and `outside` an address
    /// of its own; each is called only if needed.
    pub fn new(
        config: &MiddleboxConfig,
        random: impl FnOnce() -> Xoshiro256PlusPlus,
        outside: impl FnOnce() -> IpAddr,
    ) -> Self {
        match *config {
            MiddleboxConfig::Strip(strip) => Self::Strip(strip),
            MiddleboxConfig::Nat(_) => Self::Nat(Nat::new(outside(), FIRST_OUTSIDE_PORT)),
            MiddleboxConfig::SequenceRewriting(config) => {
                Self::SequenceRewriting(SequenceRewriting::new(config.sack, random()))
            }
            MiddleboxConfig::Splitting(config) => Self::Splitting(Splitting::new(config.max_bytes)),
            MiddleboxConfig::Coalescing(config) => Self::Coalescing(Coalescing::new(config.hold_ns, config.max_bytes)),
            MiddleboxConfig::PayloadRewriting(config) => {
                Self::PayloadRewriting(PayloadRewriting::new(config.way, config.at_byte, config.growth_bytes))
            }
            MiddleboxConfig::ProactiveAcks(_) => Self::ProactiveAcks(ProactiveAcks::new()),
            MiddleboxConfig::ResetInjection(config) => Self::ResetInjection(ResetInjection::new(config.after_bytes)),
            MiddleboxConfig::SynFilter(filter) => Self::SynFilter(filter),
            MiddleboxConfig::Captive(captive) => Self::Captive(captive),
            MiddleboxConfig::MssClamping(clamping) => Self::MssClamping(clamping),
            MiddleboxConfig::MtuFilter(filter) => Self::MtuFilter(filter),
        }
    }

    /// Processes a segment at `now_ns`. The output is appended to `out`. Time must not decrease from call to call.
    pub fn process(&mut self, now_ns: u64, transit: Transit<P>, out: &mut Vec<Transit<P>>) {
        match self {
            Self::Strip(strip) => out.push(strip.process(transit)),
            Self::Nat(nat) => out.extend(nat.process(transit)),
            Self::SequenceRewriting(rewriting) => out.push(rewriting.process(transit)),
            Self::Splitting(splitting) => splitting.process(transit, out),
            Self::Coalescing(coalescing) => coalescing.process(now_ns, transit, out),
            Self::PayloadRewriting(rewriting) => out.push(rewriting.process(transit)),
            Self::ProactiveAcks(proxy) => proxy.process(transit, out),
            Self::ResetInjection(injection) => injection.process(transit, out),
            Self::SynFilter(filter) => out.extend(filter.process(transit)),
            Self::Captive(captive) => out.extend(captive.process(now_ns, transit)),
            Self::MssClamping(clamping) => out.push(clamping.process(transit)),
            Self::MtuFilter(filter) => out.extend(filter.process(transit)),
        }
    }

    /// When [`Self::handle_timeout`] must be called unless a segment arrives before; `None` if no segment is held.
    #[must_use]
    pub fn next_timeout_ns(&self) -> Option<u64> {
        match self {
            Self::Coalescing(coalescing) => coalescing.next_timeout_ns(),
            _ => None,
        }
    }

    /// Releases segments whose holding time ends by `now_ns`.
    pub fn handle_timeout(&mut self, now_ns: u64, out: &mut Vec<Transit<P>>) {
        if let Self::Coalescing(coalescing) = self {
            coalescing.handle_timeout(now_ns, out);
        }
    }
}

/// Whether `a` is after `b` (RFC 9293 §3.4).
const fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests;
