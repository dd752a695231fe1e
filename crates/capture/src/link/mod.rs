//! Finds the IP packet in a frame by the capture's link type (<https://www.tcpdump.org/linktypes.html>) and through the
//! encapsulations PPP, tags and tunnels. Frames that are not read are named, so that they can be counted.

mod ether;
mod nflog;
mod ppp;
mod tunnel;
mod wireless;

pub use tunnel::tunnelled;

/// The supported link types.
pub const KNOWN: [(u32, &str); 27] = [
    (0, "NULL"),
    (1, "Ethernet"),
    (9, "PPP"),
    (12, "RAW"),
    (14, "RAW"),
    (50, "PPP in HDLC"),
    (51, "PPPoE"),
    (101, "RAW"),
    (104, "Cisco HDLC"),
    (105, "802.11"),
    (108, "LOOP"),
    (113, "Linux SLL"),
    (127, "RadioTap"),
    (149, "PKTAP"),
    (166, "PPP with direction"),
    (192, "PPI"),
    (204, "PPP with direction"),
    (228, "IPV4"),
    (229, "IPV6"),
    (239, "NFLOG"),
    (242, "IP over InfiniBand"),
    (258, "PKTAP"),
    (276, "Linux SLL2"),
    (281, "Ethernet with Broadcom's switch tag"),
    (282, "Ethernet behind Broadcom's switch tag"),
    (284, "Ethernet with Marvell's switch tag"),
    (285, "Ethernet with Marvell's switch tag and EtherType"),
];

/// The network layer of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Network<'a> {
    /// An IP packet, and the number of the interface if the frame gives one (SLL2), else 0.
    Ip(&'a [u8], u32),
    /// Another protocol, or a frame too short to identify; a description of it.
    NotRead(&'static str),
    /// The link type is not one of [`KNOWN`].
    UnknownLink,
}

/// A frame too short to identify.
pub(crate) const CUT: Network<'static> = Network::NotRead("frames that are cut in their headers");

/// Finds the IP packet of a frame.
#[must_use]
pub fn network(link_type: u32, frame: &[u8]) -> Network<'_> {
    match link_type {
        12 | 14 | 101 | 228 | 229 => raw(frame),
        1 => ether::frame(frame),
        9 | 51 | 166 | 204 | 50 | 104 => ppp::frame(link_type, frame),
        113 => ether::at(frame, 14),
        276 => sll2(frame),
        0 | 108 => loopback(frame),
        105 => wireless::frame(frame),
        127 => wireless::radiotap(frame),
        149 | 258 => pktap(frame),
        192 => ppi(frame),
        239 => nflog::frame(frame),
        242 => infiniband(frame),
        // A switch tag: four bytes after or before the addresses, or eight with an EtherType of its own.
        281 | 282 | 284 => ether::at(frame, 16),
        285 => ether::at(frame, 20),
        _ => Network::UnknownLink,
    }
}

/// Name of an unsupported link type that may carry TCP in practice.
#[must_use]
pub const fn name(link_type: u32) -> &'static str {
    match link_type {
        6 => "Token Ring frames",
        10 => "FDDI frames",
        11 | 100 | 106 | 123 => "ATM frames",
        107 => "Frame Relay frames",
        119 => "802.11 frames with a Prism header",
        122 => "IP over Fibre Channel frames",
        129 => "ARCNET frames",
        138 => "IP over FireWire frames",
        163 => "802.11 frames with an AVS header",
        195 | 215 | 230 | 283 => "802.15.4 frames",
        189 | 220 | 249 => "USB frames",
        _ => "frames of a link type that is not read",
    }
}

/// The payload after an EtherType, for protocols carried by Ethernet that contain EtherTypes themselves.
pub(crate) fn after_ether_type(kind: u16, rest: &[u8]) -> Network<'_> {
    ether::payload(kind, rest)
}

/// An IP packet without a link-layer header.
pub(crate) fn raw(packet: &[u8]) -> Network<'_> {
    match packet.first().map(|first| first >> 4) {
        Some(4 | 6) => Network::Ip(packet, 0),
        Some(_) => Network::NotRead("packets of no IP version"),
        None => CUT,
    }
}

/// Linux cooked capture version 2: first the protocol, then the interface number. The header has 20 bytes.
fn sll2(frame: &[u8]) -> Network<'_> {
    let (Some(kind), Some(number), Some(rest)) =
        (frame.first_chunk::<2>(), frame.get(4..8).and_then(<[u8]>::first_chunk::<4>), frame.get(20..))
    else {
        return CUT;
    };
    match ether::payload(u16::from_be_bytes(*kind), rest) {
        Network::Ip(packet, _) => Network::Ip(packet, u32::from_be_bytes(*number)),
        other => other,
    }
}

/// The address family in four bytes, in the byte order of the capturing machine (NULL) or of the network (LOOP).
fn loopback(frame: &[u8]) -> Network<'_> {
    let Some(&family) = frame.first_chunk::<4>() else { return CUT };
    let family = u32::from_le_bytes(family).min(u32::from_be_bytes(family));
    // AF_INET, and the AF_INET6 of Linux, NetBSD, FreeBSD and macOS.
    match family {
        2 | 10 | 24 | 28 | 30 => raw(&frame[4..]),
        _ => Network::NotRead("frames of another address family than IP"),
    }
}

/// Apple's header: its length, the kind of record, and the link type of the frame that follows.
fn pktap(frame: &[u8]) -> Network<'_> {
    let word =
        |at: usize| frame.get(at..at + 4).and_then(<[u8]>::first_chunk::<4>).map(|four| u32::from_le_bytes(*four));
    let (Some(length), Some(link_type)) = (word(0), word(8)) else { return CUT };
    let Some(inner) = frame.get(length as usize..) else { return CUT };
    match link_type {
        // Nested headers of this kind are rejected, which bounds the recursion.
        149 | 192 | 258 => Network::NotRead("frames with headers in headers"),
        _ => network(link_type, inner),
    }
}

/// Per-packet information (CACE's PPI): version and flags, the header's length, the link type of the frame that
/// follows.
fn ppi(frame: &[u8]) -> Network<'_> {
    let Some((&[_, _, low, high, a, b, c, d], _)) = frame.split_first_chunk::<8>() else { return CUT };
    let Some(inner) = frame.get(usize::from(u16::from_le_bytes([low, high]))..) else { return CUT };
    match u32::from_le_bytes([a, b, c, d]) {
        149 | 192 | 258 => Network::NotRead("frames with headers in headers"),
        link_type => network(link_type, inner),
    }
}

/// A global route header of 40 bytes, then the EtherType and two reserved bytes (RFC 4391 §6).
fn infiniband(frame: &[u8]) -> Network<'_> {
    match frame.get(40..).and_then(<[u8]>::split_first_chunk::<4>) {
        Some((&[high, low, _, _], rest)) => ether::payload(u16::from_be_bytes([high, low]), rest),
        None => CUT,
    }
}

#[cfg(test)]
mod tests;
